"""examples/slow-reports on the local AWS, which keeps task definitions and runs none: here the worker is started as the
container would, with the environment that the applied task definition has.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.examples import reader
from tests.local_aws import engine
from tests.local_aws.process import Supervised, children
from tests.local_aws.stack import Stack, wait_for
from tests.local_aws.terraform import Terraform

pytestmark = pytest.mark.xdist_group("slow-reports")

SOON = 40
STATUS = """\
import json, sys
from report_jobs.app import app
from report_jobs.jobs.reports import RenderReport
found = app.status(job=RenderReport, key=sys.argv[1])
print(json.dumps({name: getattr(found, name) for name in ("state", "attempt", "reason", "result", "done", "total")}))
"""


@dataclass
class Worker:
    process: Supervised

    @property
    def output(self) -> str:
        return self.process.output.read_text()

    def lines(self) -> list[dict[str, Any]]:
        """What it has said about reports."""
        found = [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]
        return [line for line in found if "outcome" in line]

    def ends(self) -> int:
        return self.process.wait(SOON)

    def told_to_stop(self) -> None:
        (worker,) = children(self.process.pid)
        os.kill(worker, signal.SIGTERM)


@dataclass
class Reporting:
    stack: Stack
    folder: Path
    workers: ExitStack

    def container(self) -> dict[str, Any]:
        """As ECS would start it."""
        ecs = self.stack.aws.client("ecs")
        arn = self.service()["taskDefinition"]
        (found,) = ecs.describe_task_definition(taskDefinition=arn)["taskDefinition"]["containerDefinitions"]
        return dict(found)

    def service(self) -> dict[str, Any]:
        service = self.stack.workloads["reports"]["service"]
        found = self.stack.aws.client("ecs").describe_services(
            cluster=service["cluster_name"], services=[service["name"]]
        )
        return dict(found["services"][0])

    def start(self, *arguments: str) -> Worker:
        container = self.container()
        assert container["command"] == ["worker"]
        environment = {variable["name"]: variable["value"] for variable in container["environment"]}
        process = Supervised(
            [sys.executable, "-m", self.stack.project.package, *container["command"], *arguments],
            env=self.stack.aws.environment(
                **environment, PYTHONPATH=str(self.stack.project.source), TMPDIR=str(self.folder)
            ),
            cwd=self.folder,
            output=self.folder / f"worker-{time.time_ns()}.log",
        )
        return Worker(self.workers.enter_context(process))

    def order(self, reports: list[str], **options: Any) -> None:
        payloads = [{"report": report, **options} for report in reports]
        (results,) = self.stack.publish([{"job": "reports.render", "payloads": payloads}])
        assert all(result.ok for result in results)

    def status(self, report: str) -> dict[str, Any]:
        """As whoever ordered it asks."""
        done = subprocess.run(
            [sys.executable, "-c", STATUS, report],
            env=self.stack.aws.environment(
                **self.stack.publisher_environment, PYTHONPATH=str(self.stack.project.source)
            ),
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def pages(self, report: str) -> list[str]:
        bucket = self.stack.outputs["bucket"]
        listed = self.stack.aws.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"reports/{report}/")
        return [item["Key"].rpartition("/")[2] for item in listed.get("Contents", [])]


@pytest.fixture(scope="module")
def reporting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reporting]:
    """examples/slow-reports, applied."""
    folder = tmp_path_factory.mktemp("slow reports")
    project = reader.make("slow-reports", folder / "project")
    with engine.aws() as aws, ExitStack() as workers:
        variables = {
            "name": "paper",
            "region": aws.region,
            "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/report-jobs:1.0.0",
            "subnet_ids": ["subnet-0123456789abcdef0"],
            "security_group_ids": ["sg-0123456789abcdef0"],
            "protected": False,
        }
        terraform = Terraform.of_example("slow-reports", folder / "terraform", aws, variables)
        terraform.init()
        terraform.apply()
        stack = Stack(aws, terraform, project)
        stack.refresh()
        yield Reporting(stack, folder, workers)


def test_a_plan_after_the_apply_is_empty(reporting: Reporting) -> None:
    assert reporting.stack.terraform.plan_is_empty(), reporting.stack.terraform.tail()


def test_it_begins_with_no_task_on_spot(reporting: Reporting) -> None:
    service = reporting.service()
    assert service["desiredCount"] == 0
    assert [entry["capacityProvider"] for entry in service["capacityProviderStrategy"]] == ["FARGATE_SPOT"]
    container = reporting.container()
    environment = {variable["name"]: variable["value"] for variable in container["environment"]}
    assert container["stopTimeout"] == 120
    assert (environment["JOBS_LEASE_SECONDS"], environment["JOBS_STOP_TIMEOUT_SECONDS"]) == ("120", "120")


def test_reports_are_rendered_and_their_results_are_read(reporting: Reporting) -> None:
    reports = [f"acme-{number}/2026-11" for number in range(5)]
    reporting.order(reports, page_count=3, seconds_per_page=0.2)
    reporting.order(reports[:1], page_count=3, seconds_per_page=0.2)  # ordered twice, rendered once
    worker = reporting.start("--exit-when-idle", "3")
    assert worker.ends() == 0, worker.output
    outcomes = sorted((line["outcome"], line["fields"]["report"]) for line in worker.lines())
    assert outcomes == [("duplicate", reports[0]), *(("succeeded", report) for report in reports)]
    for report in reports:
        status = reporting.status(report)
        assert (status["state"], status["attempt"], status["done"], status["total"]) == ("done", 1, 3, 3)
        location = f"s3://{reporting.stack.outputs['bucket']}/reports/{report}/"
        assert status["result"] == {"pages": 3, "location": location, "kept": 0}
        assert reporting.pages(report) == ["0001.txt", "0002.txt", "0003.txt"]
    assert reporting.stack.depth("reports") == 0


def test_a_worker_that_has_to_go_gives_back_the_rest_and_another_goes_on(reporting: Reporting) -> None:
    reports = [f"long-{number}/2026-11" for number in range(2)]
    reporting.order(reports, page_count=10, seconds_per_page=0.4)
    worker = reporting.start()
    first = wait_for(
        lambda: next((report for report in reports if len(reporting.pages(report)) >= 3), None),
        timeout=SOON,
        what="the first pages are there",
    )
    assert first is not None
    worker.told_to_stop()
    told = time.monotonic()
    assert worker.ends() == 0, worker.output
    assert time.monotonic() - told < 10  # at the end of the page, not of the stop timeout
    (line,) = worker.lines()
    assert (line["outcome"], line["reason"], line["fields"]["report"]) == ("defer", "worker_stopping", first)
    kept = len(reporting.pages(first))
    assert 3 <= kept < 10

    # Given back: another one has both at once, not when a lease is over, and this was no attempt.
    other = reporting.start("--exit-when-idle", "3")
    assert other.ends() == 0, other.output
    assert [line["outcome"] for line in other.lines()] == ["succeeded", "succeeded"]
    status = reporting.status(first)
    assert (status["state"], status["attempt"], status["result"]["kept"]) == ("done", 1, kept)
    assert len(reporting.pages(first)) == 10
    assert reporting.stack.depth("reports") == 0
