"""examples/seed-product as its reader gets it: its jobs pass the checks and the tests of a generated project, and what
its README says of them is so.
"""

from __future__ import annotations

import re

import pytest

from tests.template.baking import Project
from tests.template.test_checks import check

from .products import SEED_PRODUCT, seed_product


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(seed_product(tmp_path_factory.mktemp("seed product")).folder)


def test_its_jobs_pass_the_checks_of_a_project_and_their_own_tests(product: Project) -> None:
    assert re.search(r"^\d+ passed in", check(product), re.MULTILINE)


def test_the_readme_lists_every_job_with_its_workload(product: Project) -> None:
    code = (
        "from seed_jobs.app import app\n"
        "for job in app.registry.scan(): print(job.name, job.workload or app.workload, job.__name__)"
    )
    jobs = {tuple(line.split()) for line in product.python("-c", code).stdout.splitlines()}
    assert len(jobs) == 15
    readme = (SEED_PRODUCT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z.-]+)` \| `([a-z]+)` \| \[`(\w+)`\]\(jobs/(\w+\.py)\) \|", readme, re.MULTILINE)
    assert {(name, workload, job) for name, workload, job, _ in listed} == jobs
    assert len(listed) == 15
    for _, _, job, file in listed:
        assert f"class {job}(Job[" in (SEED_PRODUCT / "jobs" / file).read_text(encoding="utf-8")


def test_the_readme_lists_every_schedule() -> None:
    readme = (SEED_PRODUCT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([a-z-]+)` \| `((?:cron|rate)\([^`]+\))`", readme, re.MULTILINE))
    _, _, schedules = (SEED_PRODUCT / "main.tf").read_text(encoding="utf-8").partition("\n  schedules = {\n")
    planned = re.findall(r"^    ([a-z-]+) = \{\n(?:.*\n)*?      expression +=\s+\"(.+)\"$", schedules, re.MULTILINE)
    assert listed == set(planned)
    assert len(listed) == 6
