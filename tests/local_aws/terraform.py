"""Apply an example of this repository to the AWS at hand, from a copy, so that nothing lands in the work tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import provider_source
from .engine import Aws
from .paths import EXAMPLES, MODULES, REPOSITORY
from .process import CommandFailedError, run, run_for_code

# Every SQS resource costs the provider 25 s of fixed waiting; with these many at once the cost is the longest chain,
# not the sum.
PARALLELISM = "-parallelism=20"

LOCAL_PROVIDER = """\
  # A local AWS has no account behind it to check, and answers 5xx to what it lacks: with the default of 25 retries
  # that is a hang. A few are needed: it closes idle connections, now and then one that is just being used again.
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = false
  s3_use_path_style           = true
  max_retries                 = 4
"""

COPIED = shutil.ignore_patterns("tests", ".terraform", ".terraform.lock.hcl", "*.tfstate*", "__pycache__")


@dataclass
class Terraform:
    """One root configuration in a working folder of its own."""

    folder: Path  # the root configuration's copy
    aws: Aws
    variables: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_example(cls, name: str, into: Path, aws: Aws, variables: Mapping[str, Any]) -> Terraform:
        return cls.of_folder(EXAMPLES / name, into, aws, variables)

    @classmethod
    def of_folder(cls, configuration: Path, into: Path, aws: Aws, variables: Mapping[str, Any]) -> Terraform:
        """Copy the root module, its modules and one configuration of this repository into a folder, in the places
        their relative sources expect.
        """
        into.mkdir(parents=True, exist_ok=True)
        for file in REPOSITORY.glob("*.tf"):
            shutil.copy2(file, into)
        shutil.copytree(MODULES, into / "modules", ignore=COPIED, dirs_exist_ok=True)
        folder = into / configuration.relative_to(REPOSITORY)
        shutil.copytree(configuration, folder, ignore=COPIED, dirs_exist_ok=True)
        return cls(folder, aws, variables)

    def init(self) -> None:
        if not self.aws.is_real:
            self._point_at_local_aws()
        self._run("init", "-input=false", "-no-color")

    def apply(self) -> None:
        self._run("apply", "-auto-approve", "-input=false", "-no-color", PARALLELISM)

    def destroy(self) -> None:
        self._run("destroy", "-auto-approve", "-input=false", "-no-color", PARALLELISM)

    def plan_is_empty(self) -> bool:
        """False means there are changes; the plan's text is in the log."""
        code = run_for_code(
            ["terraform", "plan", "-detailed-exitcode", "-input=false", "-no-color", PARALLELISM],
            env=self._environment(),
            cwd=self.folder,
            output=self.log,
        )
        if code not in (0, 2):
            raise CommandFailedError(f"terraform plan failed (exit code {code}):\n{self.tail()}")
        return code == 0

    def planned_changes(self) -> dict[str, dict[str, Any]]:
        """What an apply would do now: address -> {"actions", "attributes"}, the attributes being those whose value
        differs.
        """
        self._run("plan", "-out=planned", "-input=false", "-no-color", PARALLELISM)
        found = {}
        for change in json.loads(self._read("show", "-json", "planned")).get("resource_changes", []):
            actions = change["change"]["actions"]
            if actions not in (["no-op"], ["read"]):
                before, after = change["change"]["before"] or {}, change["change"]["after"] or {}
                unknown = change["change"].get("after_unknown") or {}
                differing = {key for key in {*before, *after} if before.get(key) != after.get(key)}
                differing |= {key for key, value in unknown.items() if value is True}
                found[change["address"]] = {"actions": actions, "attributes": differing}
        return found

    def outputs(self) -> dict[str, Any]:
        return {name: output["value"] for name, output in json.loads(self._read("output", "-json")).items()}

    def resources(self) -> list[str]:
        """Addresses in the state, data sources excluded."""
        listed = self._read("state", "list").splitlines()
        return [address for address in listed if ".data." not in f".{address}"]

    @property
    def log(self) -> Path:
        return self.folder.parent / f"{self.folder.name}.terraform.log"

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _run(self, *arguments: str) -> None:
        run(
            ["terraform", *arguments],
            env=self._environment(),
            cwd=self.folder,
            output=self.log,
            what=f"terraform {arguments[0]} in {self.folder.name}",
        )

    def _read(self, *arguments: str) -> str:
        done = subprocess.run(
            ["terraform", *arguments],
            env=self._environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            raise CommandFailedError(f"terraform {arguments[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        passed_on = {k: v for k, v in os.environ.items() if k.startswith(("TF_", "PROVIDER_MIRROR", "XDG_"))}
        found, _why = provider_source.environment(self.aws.environment(**passed_on))
        if not self.aws.is_real:
            # A proxy setting or a shared configuration of the caller must not come between Terraform and loopback.
            found |= {"NO_PROXY": "127.0.0.1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        found |= {f"TF_VAR_{key}": _as_variable(value) for key, value in self.variables.items()}
        return {**found, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}

    def _point_at_local_aws(self) -> None:
        """The endpoint comes by AWS_ENDPOINT_URL; what has no variable comes in a generated file beside the example's
        own.
        """
        has_block = any('provider "aws"' in file.read_text() for file in self.folder.glob("*.tf"))
        name = "local_aws_override.tf" if has_block else "local_aws.tf"
        (self.folder / name).write_text(f'provider "aws" {{\n{LOCAL_PROVIDER}}}\n')


def _as_variable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
