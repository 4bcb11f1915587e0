"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local_aws import project
from tests.local_aws.interpreters import FunctionPython, function_python
from tests.local_aws.paths import EXAMPLES
from tests.local_aws.project import Project

# What a project adds for workloads without a queue, see its docs/workloads.md.
DIRECT_FUNCTION = "from .app import app\n\nhandler = app.direct_handler()\n"
PROBES = Path(__file__).parent / "e2e" / "probe-jobs"


@pytest.fixture(scope="session")
def lambda_python() -> FunctionPython:
    """The interpreter that packaged handlers run on."""
    return function_python()


@pytest.fixture(scope="session")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A generated project with the demo's jobs and the probes. The folder's name has a space, as a user's may."""
    answers = {"project_name": "Acme Jobs", "package_name": "acme_jobs", "first_workload": "calendar"}
    generated = project.generate(tmp_path_factory.mktemp("generated project"), answers)
    generated.use_jobs(EXAMPLES / "complete" / "jobs")
    generated.add_jobs(PROBES)
    (generated.jobs.parent / "direct_function.py").write_text(DIRECT_FUNCTION, encoding="utf-8")
    return generated


@pytest.fixture(scope="session")
def lambda_zip(consumer: Project, lambda_python: FunctionPython, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's Lambda zip, built for this machine."""
    return consumer.package_for(lambda_python, tmp_path_factory.mktemp("the zip") / "lambda.zip")
