"""The generated Terraform is formatted for every combination of answers and valid against this repository's module."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hcl2
import pytest

from tests.local_aws.provider_source import environment

from .baking import COMBINATIONS, CONSUMERS, REPOSITORY, Baker, Project


def terraform(folder: Path, *arguments: str) -> str:
    variables, _ = environment(
        {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "TF_VAR_", "TF_CLI_ARGS"))}
    )
    done = subprocess.run(
        ["terraform", *arguments, "-no-color"],
        cwd=folder,
        env={**variables, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"terraform {' '.join(arguments)} failed:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def module_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root module and its parts, at a path with a space and an accent, without what working on them leaves."""
    copy = tmp_path_factory.mktemp("checkout") / "my ünit" / "module"
    copy.mkdir(parents=True)
    for file in REPOSITORY.glob("*.tf"):
        shutil.copy2(file, copy)
    ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*", "tests")
    shutil.copytree(REPOSITORY / "modules", copy / "modules", ignore=ignored)
    return copy


def test_every_combination_is_formatted(baker: Baker, tmp_path: Path) -> None:
    longest = {"project_slug": "s" * 30, "package_name": "p" * 40, "first_workload": "w" * 24, "consumer": "both"}
    baker.bake(tmp_path / "longest", longest)
    for python, architecture, consumer in COMBINATIONS:
        answers = {"python_version": python, "architecture": architecture, "consumer": consumer}
        baker.bake(tmp_path / f"{python}-{architecture}-{consumer}", answers)
    assert terraform(tmp_path, "fmt", "-check", "-recursive") == ""


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_it_is_valid_against_the_module(baker: Baker, tmp_path: Path, module_copy: Path, consumer: str) -> None:
    slug = "s" * 30
    source = Path(os.path.relpath(module_copy, tmp_path / "a b" / "ü" / slug / "terraform")).as_posix()
    answers = {"project_slug": slug, "package_name": "p" * 40, "first_workload": "w" * 24, "module_source": source}
    project = baker.bake(tmp_path / "a b" / "ü", {**answers, "consumer": consumer})
    (project.folder / "dist").mkdir()
    (project.folder / "dist" / "lambda.zip").touch()  # the module wants to see that it was built
    terraform(project.folder / "terraform", "init", "-input=false", "-backend=false")
    assert "Success" in terraform(project.folder / "terraform", "validate")
    if consumer == "both":  # it has either kind of workload
        gives_workers_their_environment(project)


def gives_workers_their_environment(project: Project) -> None:
    """Applied to a provider that only pretends: what `make worker` reads holds all that a worker is told on ECS."""
    folder = project.folder / "terraform"
    text = project.text("terraform/workloads.tf").replace("# delay = true", "delay = true")
    (folder / "workloads.tf").write_text(text, encoding="utf-8")
    (folder / "tests").mkdir()
    (folder / "tests" / "environment.tftest.hcl").write_text(ENVIRONMENT, encoding="utf-8")
    assert "1 passed, 0 failed" in terraform(folder, "test")


ENVIRONMENT = f"""
mock_provider "aws" {{
  source = "{(REPOSITORY / "tests" / "terraform" / "mocks").as_posix()}"
}}

variables {{
  image              = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/jobs:1"
  ecs_cluster_arn    = "arn:aws:ecs:eu-west-1:123456789012:cluster/main"
  subnet_ids         = ["subnet-1"]
  security_group_ids = ["sg-1"]
}}

run "apply" {{
  assert {{
    condition     = alltrue([for key, given in output.worker_environment : given["JOBS_WORKLOAD"] == key])
    error_message = jsonencode(output.worker_environment)
  }}

  assert {{
    condition = alltrue([for given in output.worker_environment : length(setsubtract([
      "AWS_DEFAULT_REGION", "JOBS_APP", "JOBS_DELAY_MACHINE_ARN", "JOBS_DLQ_URL", "JOBS_FIFO_TOPIC_ARN",
      "JOBS_MAX_MESSAGE_BYTES", "JOBS_MAX_RECEIVE_COUNT", "JOBS_QUEUE_URL", "JOBS_TABLE", "JOBS_TOPIC_ARN",
      "POWERTOOLS_SERVICE_NAME",
    ], keys(given))) == 0])
    error_message = jsonencode(output.worker_environment)
  }}

  assert {{
    condition     = keys(output.worker_environment) == keys(output.workloads)
    error_message = jsonencode(keys(output.worker_environment))
  }}
}}
"""


def workloads(project: Project) -> dict[str, Any]:
    (local,) = hcl2.loads(project.text("terraform/workloads.tf"))["locals"]
    return {key.strip('"'): value for key, value in local["workloads"].items() if not key.startswith("__")}


def test_every_workload_that_a_job_names_is_there(each: Project) -> None:
    code = "from my_jobs.app import app; print(*[job.workload or app.workload for job in app.registry.scan()])"
    assert set(each.python("-c", code).stdout.split()) == set(workloads(each))


def test_what_takes_long_runs_on_ecs_and_the_rest_where_it_was_asked_for(projects: Mapping[str, Project]) -> None:
    kinds = {
        consumer: {key: kind for key, workload in workloads(project).items() for kind in workload if kind in CONSUMERS}
        for consumer, project in projects.items()
    }
    assert kinds == {
        "lambda": {"default": "lambda"},
        "ecs": {"default": "ecs"},
        "both": {"default": "lambda", "slow": "ecs"},
    }
    assert 'workload = "slow"' in projects["both"].text("src/my_jobs/jobs/exports.py")


def test_the_module_knows_every_field(projects: Mapping[str, Project]) -> None:
    # Terraform drops the fields of an object that a module's variable does not declare, without a word.
    declared = (REPOSITORY / "variables.tf").read_text(encoding="utf-8")
    for kind, workload in (("lambda", "default"), ("ecs", "slow")):
        known = re.search(
            rf"^    {kind} += (?:optional\()?object\(\{{\n(.*?)^    \}}\)", declared, re.DOTALL | re.MULTILINE
        )
        assert known is not None
        fields = set(re.findall(r"^      (\w+) +=", known[1], re.MULTILINE))
        assert {field for field in workloads(projects["both"])[workload][kind] if not field.startswith("__")} <= fields


def test_the_readme_gives_every_variable_that_has_no_default(projects: Mapping[str, Project]) -> None:
    for consumer, project in projects.items():
        blocks = [hcl2.loads(text) for text in re.findall(r"```hcl\n(.*?)```", project.text("README.md"), re.DOTALL)]
        given = {name for block in blocks for name in block if not name.startswith("__")}
        variables = hcl2.loads(project.text("terraform/variables.tf"))["variable"]
        required = {name.strip('"') for variable in variables for name, v in variable.items() if "default" not in v}
        assert given == required, consumer


def test_the_handler_is_the_function_that_the_project_has(project: Project) -> None:
    module, _, function = workloads(project)["default"]["lambda"]["handler"].strip('"').rpartition(".")
    done = project.python("-c", f"import {module} as module; print(callable(module.{function}))")
    assert done.stdout.strip() == "True"
    assert (project.folder / "terraform" / "../dist").resolve() == project.folder / "dist"
    assert "ZIP := dist/lambda.zip" in project.text("Makefile")
    assert '"${path.module}/../dist/lambda.zip"' in project.text("terraform/workloads.tf")
