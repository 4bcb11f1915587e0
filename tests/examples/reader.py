"""What a reader of an example makes of it: a generated project with the example's jobs and their tests in the place of
the sample ones.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.local_aws import project
from tests.local_aws.paths import EXAMPLES
from tests.local_aws.project import Project

ANSWERS = {
    "points-ledger": {"project_name": "Loyalty Jobs", "first_workload": "points"},
    "slow-reports": {"project_name": "Report Jobs", "first_workload": "reports", "consumer": "ecs"},
}


def make(example: str, into: Path) -> Project:
    made = project.generate(into, ANSWERS[example])
    made.use_jobs(EXAMPLES / example / "jobs")
    # The sample tests go with the sample jobs that they test.
    (made.folder / "tests" / "test_lambda_function.py").unlink(missing_ok=True)
    tests = made.folder / "tests" / "jobs"
    shutil.rmtree(tests)
    shutil.copytree(EXAMPLES / example / "tests" / "jobs", tests, ignore=project.CACHES)
    return made
