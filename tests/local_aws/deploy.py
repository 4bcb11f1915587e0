"""Put a generated consumer and an example of this repository together into a stack."""

from __future__ import annotations

from pathlib import Path

from .engine import Aws
from .project import HOST_ARCHITECTURE, Project
from .stack import Stack
from .terraform import Terraform


def prepare(example: str, into: Path, aws: Aws, project: Project, artifact: Path, *, name: str) -> Stack:
    """A stack that is ready to apply: the example's own files, and variables that say where the zip is and what it
    was built for.
    """
    variables = {
        "name": name,
        "region": aws.region,
        "artifact": str(artifact),
        "handler": project.handler,
        "architecture": HOST_ARCHITECTURE if aws.python else "arm64",
        "protected": False,  # what is applied here is destroyed again, job records and payloads included
    }
    return Stack(aws, Terraform.of_example(example, into, aws, variables), project)


def is_available() -> bool:
    """Whether Terraform is installed here."""
    import shutil

    return shutil.which("terraform") is not None
