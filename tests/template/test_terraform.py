"""The generated Terraform is formatted for every combination of answers and valid against this repository's module."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

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


def test_the_handler_is_the_function_that_the_project_has(project: Project) -> None:
    (local,) = hcl2.loads(project.text("terraform/workloads.tf"))["locals"]
    (workload,) = (value for key, value in local["workloads"].items() if key.strip('"') == "default")
    module, _, function = workload["lambda"]["handler"].strip('"').rpartition(".")
    done = project.python("-c", f"import {module} as module; print(callable(module.{function}))")
    assert done.stdout.strip() == "True"
    assert (project.folder / "terraform" / "../dist").resolve() == project.folder / "dist"
    assert "ZIP := dist/lambda.zip" in project.text("Makefile")
    assert '"${path.module}/../dist/lambda.zip"' in project.text("terraform/workloads.tf")
