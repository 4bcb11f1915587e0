"""One local AWS and one applied stack for all tests here: an apply costs more than a minute of the provider's own
waiting.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local_aws import deploy, engine
from tests.local_aws.engine import Aws
from tests.local_aws.project import Project
from tests.local_aws.stack import Stack

# They use what only the local engine has: switches that kill its function processes or scale its clock, the freedom to
# put metrics into the namespaces of AWS's services, and functions that reach a server on loopback.
LOCAL_ONLY = [
    "test_alarms.py",
    "test_chaos.py",
    "test_delays.py",
    "test_points_ledger.py",
    "test_seed_product.py",
    "test_slow_reports.py",
]
collect_ignore = LOCAL_ONLY if os.environ.get("JOBS_TEST_ENDPOINT") else []


@pytest.fixture(scope="session")
def aws() -> Iterator[Aws]:
    with engine.aws() as found:
        yield found


@pytest.fixture(scope="session")
def artifact(aws: Aws, lambda_zip: Path, consumer: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip that the stack is applied with, at a path of its own: a test puts a new one in its place."""
    target = tmp_path_factory.mktemp("artifact") / "lambda.zip"
    if aws.python is None:  # managed runtimes ask for Lambda's own processor, not for this machine's
        return consumer.package_for(None, target)
    shutil.copy2(lambda_zip, target)
    return target


@pytest.fixture(scope="session")
def stack(aws: Aws, consumer: Project, artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """examples/complete, applied."""
    folder = tmp_path_factory.mktemp("complete stack")
    prepared = deploy.prepare("complete", folder, aws, consumer, artifact, name="e2e")
    prepared.terraform.init()
    try:
        prepared.terraform.apply()
        prepared.refresh()
        yield prepared
    finally:
        if aws.is_real:  # a local AWS is thrown away as a whole; that a destroy leaves nothing is a test of its own
            prepared.terraform.destroy()
