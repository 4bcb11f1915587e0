"""What Terraform sees after an apply, and what a new job costs it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.local_aws.project import Project
from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

NEW_JOB = '''"""A subject that was not there when the stack was applied."""

from pydantic import BaseModel

from ..runtime import Job, JobContext


class Greeting(BaseModel):
    name: str


class Greet(Job[Greeting, None]):
    name = "greetings.greet"
    workload = "webhooks"

    def run(self, args: Greeting, ctx: JobContext) -> None: ...
'''

# What the provider reads back from a function whose code has changed; nothing of it is configuration.
OF_THE_CODE = {
    "source_code_hash",
    "code_sha256",
    "last_modified",
    "qualified_arn",
    "qualified_invoke_arn",
    "version",
    "source_code_size",
}


def test_a_plan_after_the_apply_is_empty(stack: Stack) -> None:
    assert stack.terraform.plan_is_empty(), stack.terraform.tail()


def test_a_new_job_class_needs_no_terraform_change(stack: Stack, consumer: Project, artifact: Path) -> None:
    configuration = _digests(stack.terraform.folder)
    (consumer.jobs / "greetings.py").write_text(NEW_JOB, encoding="utf-8")
    consumer.package_for(stack.aws.python, artifact)

    changes = stack.terraform.planned_changes()
    assert changes, "the new code would not be deployed"
    for address, change in changes.items():
        assert ".aws_lambda_function." in address, address
        assert change["actions"] == ["update"], address
        assert change["attributes"] <= OF_THE_CODE, address

    stack.terraform.apply()
    assert _digests(stack.terraform.folder) == configuration
    job_id = stack.publish_one("greetings.greet", {"name": "you"})
    wait_for(lambda: stack.outcomes_of(job_id) == ["succeeded"], timeout=60, what="the new job succeeds")
    assert stack.terraform.plan_is_empty(), stack.terraform.tail()


def _digests(folder: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*.tf"))}
