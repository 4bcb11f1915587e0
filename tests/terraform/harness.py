"""Run Terraform in a copy of the tree, so that no lock file and no .terraform folder lands in the work tree.

`terraform test` starts the AWS provider anew for every run block, a second each. Here one provider stays up for the
whole session (its -debug mode, which prints how Terraform can attach to it): seven times faster. That is safe because
every test mocks the provider, so nothing ever configures it.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.local_aws import provider_source
from tests.local_aws.paths import CACHE, REPOSITORY
from tests.local_aws.process import Supervised

LEFT_OUT = shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.py", "__pycache__", "jobs")


@dataclass
class Run:
    """One run block: what Terraform said about it and, when asked for, its plan or state."""

    file: str
    name: str
    status: str = "unknown"
    plan: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Terraform:
    tree: Path
    env: dict[str, str]

    def run(self, *arguments: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments], cwd=self.tree / folder, env=self.env, text=True, capture_output=True, check=False
        )

    def checked(self, *arguments: str, folder: str = ".") -> str:
        done = self.run(*arguments, folder=folder)
        assert done.returncode == 0, f"terraform {' '.join(arguments)} failed in {folder}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def init(self, folder: str = ".", tests: str = "tests") -> None:
        self.checked("init", "-backend=false", "-input=false", "-no-color", f"-test-directory={tests}", folder=folder)

    def test(self, folder: str = ".", tests: str = "tests", only: str = "", verbose: bool = False) -> list[Run]:
        """`terraform test` of one folder, or of one file; verbose adds plans and states, at 14 MB of JSON a run."""
        options = [f"-test-directory={tests}"]
        options += [f"-filter={tests}/{only}"] if only else []
        options += ["-verbose"] if verbose else []
        done = self.run("test", "-json", *options, folder=folder)
        runs: dict[tuple[str, str], Run] = {}
        for line in done.stdout.splitlines():
            message = json.loads(line)
            key = (message.get("@testfile", ""), message.get("@testrun", ""))
            if key[1]:
                _note(runs.setdefault(key, Run(*key)), message)
            else:
                assert message["@level"] != "error", f"terraform test failed in {folder}:\n{line}"
        assert runs, f"terraform test ran nothing in {folder}:\n{done.stdout}{done.stderr}"
        return list(runs.values())


def _note(run: Run, message: dict[str, Any]) -> None:
    match message["type"]:
        case "test_run":
            run.status = message["test_run"].get("status", run.status)
        case "test_plan":
            run.plan = message["test_plan"]
        case "test_state":
            run.state = message["test_state"]
        case "diagnostic" if message["@level"] == "error":
            run.errors.append(f"{message['diagnostic']['summary']}: {message['diagnostic'].get('detail', '')}")


@contextmanager
def session(into: Path) -> Iterator[Terraform]:
    """A copy of the tree and a provider that serves it."""
    if shutil.which("terraform") is None:
        raise RuntimeError("terraform is not on PATH: install Terraform 1.9 or newer to run these tests")
    env, _ = provider_source.environment()
    env["CHECKPOINT_DISABLE"] = "1"
    terraform = Terraform(_copy_tree(into / "jobs"), env)
    log = into / "provider.log"
    command = [str(_provider_binary(terraform)), "-debug"]
    with Supervised(command, env={k: v for k, v in env.items() if k != "TF_LOG"}, cwd=into, output=log) as provider:
        terraform.env["TF_REATTACH_PROVIDERS"] = _attachment(provider)
        yield terraform


def _copy_tree(into: Path) -> Path:
    """The root module, the modules, the examples and the test files, in the places their relative sources expect."""
    into.mkdir()
    for file in REPOSITORY.glob("*.tf"):
        shutil.copy2(file, into)
    for folder in ("modules", "examples", "tests/terraform"):
        shutil.copytree(REPOSITORY / folder, into / folder, ignore=LEFT_OUT)
    return into


def _provider_binary(terraform: Terraform) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "terraform-init.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a plugin cache is not safe for two `terraform init` at once
        terraform.init("modules/topic")
    installed = terraform.tree / "modules/topic/.terraform/providers" / provider_source.PROVIDER
    return next(installed.glob("*/*/terraform-provider-aws_*")).resolve()


def _attachment(provider: Supervised) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and provider.running:
        if found := re.search(r"TF_REATTACH_PROVIDERS='(.+)'", provider.output.read_text()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"the AWS provider did not start in its -debug mode:\n{provider.tail()}")


def report(runs: list[Run]) -> str:
    return "\n".join(f"{run.file} {run.name}: {run.status}\n" + "\n".join(run.errors) for run in runs)


def resources(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every managed resource of a state, those of nested modules too."""
    module = state.get("root_module", state)
    yield from (resource for resource in module.get("resources", []) if resource["mode"] == "managed")
    for child in module.get("child_modules", []):
        yield from resources(child)
