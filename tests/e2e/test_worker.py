"""The worker as a process: killed, wedged, told to stop. Two queues and a table on AWS, made for these tests alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer

from tests.local_aws.engine import Aws
from tests.local_aws.project import Project
from tests.local_aws.stack import wait_for

pytestmark = pytest.mark.xdist_group("worker")

LEASE_SECONDS = 4
STALL_SECONDS = 2  # of the jobs in probe-jobs/working.py
SLACK_SECONDS = 2.5  # for the polls of a local AWS, and for a machine that is busy


@dataclass
class Site:
    """A queue with its dead-letter queue, a table, and the workers on them."""

    aws: Aws
    project: Project
    folder: Path
    queue: str
    dlq: str
    table: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
        """A worker. Its output is in ``output(worker)``."""
        environment = self.aws.environment(
            PYTHONPATH=str(self.project.source),
            JOBS_WORKLOAD="calendar",
            JOBS_APP="worker-tests",
            JOBS_QUEUE_URL=self.queue,
            JOBS_DLQ_URL=self.dlq,
            JOBS_TABLE=self.table,
            JOBS_MAX_RECEIVE_COUNT="10",
            JOBS_LEASE_SECONDS=str(LEASE_SECONDS),
            JOBS_LIVENESS_FILE=str(self.folder / "alive"),
            **settings,
        )
        package = self.project.package
        main = f"from {package}.app import app; from {package}.runtime.worker_cli import main; main(app)"
        with (self.folder / f"worker-{len(self.workers)}.log").open("wb") as sink:
            worker = subprocess.Popen(
                [sys.executable, "-c", main, "worker", *arguments],
                env=environment,
                cwd=self.folder,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.workers.append(worker)
        return worker

    def output(self, worker: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
        text = (self.folder / f"worker-{self.workers.index(worker)}.log").read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def send(self, label: str, job: str = "working.thread", group: str = "", **payload: Any) -> None:
        ordered = {"MessageGroupId": group, "MessageDeduplicationId": label} if group else {}
        content = {"label": label, "journal": str(self.journal), "table": self.table, **payload}
        text = json.dumps({"id": label, "job": job, "payload": content})
        self.aws.client("sqs").send_message(QueueUrl=self.queue, MessageBody=text, **ordered)

    def did(self, what: str, label: str) -> list[dict[str, Any]]:
        text = self.journal.read_text() if self.journal.exists() else ""
        entries = [json.loads(line) for line in text.splitlines()]
        return [entry for entry in entries if (entry["what"], entry["label"]) == (what, label)]

    def wait_for_starts(self, number: int) -> None:
        def begun() -> bool:
            return self.journal.exists() and self.journal.read_text().count('"start"') >= number

        wait_for(begun, timeout=40, what=f"{number} runs begin", pause=0.02)

    def wait_for(self, what: str, label: str, number: int = 1, timeout: float = 30.0) -> dict[str, Any]:
        wait_for(lambda: len(self.did(what, label)) >= number, timeout=timeout, what=f"{label}: {what}", pause=0.05)
        return self.did(what, label)[number - 1]

    def item(self, key: str) -> dict[str, Any]:
        answer = self.aws.client("dynamodb").get_item(TableName=self.table, Key={"pk": {"S": key}}, ConsistentRead=True)
        read = TypeDeserializer()
        return {name: read.deserialize(value) for name, value in answer.get("Item", {}).items()}

    def record(self, label: str) -> dict[str, Any]:
        return self.item(f"worker-tests##{label}")

    def effects(self, label: str) -> int:
        return int(self.item(f"effect {label}").get("applied", 0))

    def is_empty(self) -> bool:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.aws.client("sqs").get_queue_attributes(QueueUrl=self.queue, AttributeNames=list(names))
        return sum(int(answer["Attributes"][name]) for name in names) == 0

    def wait_until_empty(self) -> None:
        wait_for(self.is_empty, timeout=30, what="the queue is empty", pause=0.2)


@pytest.fixture
def site(aws: Aws, consumer: Project, tmp_path: Path) -> Iterator[Site]:
    name = f"worker-{time.time_ns()}"
    sqs, dynamodb = aws.client("sqs"), aws.client("dynamodb")
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    dlq = sqs.create_queue(QueueName=f"{name}-dlq")["QueueUrl"]
    dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.get_waiter("table_exists").wait(TableName=name)
    found = Site(aws, consumer, tmp_path, queue, dlq, name)
    yield found
    for worker in found.workers:
        worker.kill()
        worker.wait()
    sqs.delete_queue(QueueUrl=queue)
    sqs.delete_queue(QueueUrl=dlq)
    dynamodb.delete_table(TableName=name)


def test_another_worker_takes_over_from_one_that_was_killed(site: Site) -> None:
    workers = [site.start(), site.start()]
    site.send("killed", seconds=4)
    victim = site.wait_for("start", "killed")["pid"]
    time.sleep(2.5)  # in mid-job, after a renewal
    killed_at = time.time()
    next(worker for worker in workers if worker.pid == victim).kill()
    taken = site.wait_for("start", "killed", 2)
    passed = taken["at"] - killed_at
    print(f"taken over {passed:.1f} s after the kill, with a lease of {LEASE_SECONDS} s")
    assert taken["pid"] != victim
    assert passed < LEASE_SECONDS + SLACK_SECONDS
    site.wait_for("end", "killed")
    site.wait_until_empty()
    assert site.effects("killed") == 1
    assert (site.record("killed")["state"], site.record("killed")["starts"]) == ("DONE", 2)


def test_whatever_is_killed_no_job_is_lost_and_no_effect_doubled(site: Site) -> None:
    labels = [f"{number}" for number in range(80)]
    for label in labels:
        site.send(label, seconds=0.3)
    workers = [site.start(JOBS_SLOTS="4"), site.start(JOBS_SLOTS="4")]
    for round_number in range(4):
        site.wait_for_starts(10 * (round_number + 1))
        workers[round_number % 2].kill()
        workers[round_number % 2] = site.start(JOBS_SLOTS="4")
    site.wait_until_empty()
    records = [site.record(label) for label in labels]
    crashes = sum(int(record["starts"]) - int(record["ends"]) for record in records)
    print(f"{len(labels)} jobs, 4 workers killed, {crashes} runs cut off")
    assert {record["state"] for record in records} == {"DONE"}
    assert [site.effects(label) for label in labels] == [1] * len(labels)
    assert crashes > 0  # else the test would prove nothing


def test_a_wedged_job_is_let_go(site: Site) -> None:
    workers = [site.start(), site.start()]
    site.send("wedged", hang_first=True)
    begun = site.wait_for("start", "wedged")
    taken = site.wait_for("start", "wedged", 2)
    passed = taken["at"] - begun["at"]
    print(f"taken over {passed:.1f} s after it stood still; stall_after {STALL_SECONDS} s, lease {LEASE_SECONDS} s")
    assert taken["pid"] != begun["pid"]
    assert passed < STALL_SECONDS + LEASE_SECONDS + SLACK_SECONDS
    first = next(worker for worker in workers if worker.pid == begun["pid"])
    assert first.wait(timeout=25) == 3
    told = [line.get("message") for line in site.output(first)]
    assert told.index("job stalled") < told.index("job let go")
    site.wait_until_empty()
    assert site.effects("wedged") == 1


def test_a_job_that_ends_within_the_grace_is_neither_lost_nor_repeated(site: Site) -> None:
    first = site.start(JOBS_STOP_TIMEOUT_SECONDS="30")
    site.send("long", seconds=20)
    begun = site.wait_for("start", "long")
    for label in ("next", "next but one"):
        site.send(label)
    time.sleep(1)
    first.send_signal(signal.SIGTERM)
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=30) == 0
    ended = site.wait_for("end", "long")
    print(f"told to stop after 1 s, ended after {time.time() - begun['at']:.1f} s, its job took 20 s")
    assert ended["pid"] == begun["pid"]
    second = site.start("--exit-when-idle", "1")
    assert second.wait(timeout=30) == 0
    assert site.is_empty()
    for label in ("long", "next", "next but one"):
        assert (len(site.did("start", label)), site.effects(label)) == (1, 1)
        assert site.record(label)["starts"] == 1


def test_a_job_that_does_not_end_within_the_grace_is_given_back(site: Site) -> None:
    first = site.start(JOBS_STOP_TIMEOUT_SECONDS="8")
    site.send("longer", seconds=6)
    begun = site.wait_for("start", "longer")
    told_at = time.time()
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=8) == 0
    took = time.time() - told_at
    record = site.record("longer")
    assert (record["state"], record["reason"], record["starts"]) == ("RETRY", "shutdown", 0)
    second = site.start()
    wait_for(lambda: site.output(second), timeout=20, what="the second worker works", pause=0.02)
    ready_at = time.time()
    taken = site.wait_for("start", "longer", 2)
    passed = taken["at"] - ready_at
    print(f"gave back and ended {took:.1f} s after SIGTERM (of 8); the next worker had it after {passed:.1f} s")
    assert taken["pid"] == second.pid != begun["pid"]
    assert taken["attempt"] == 1
    assert passed < 1.5  # not after a lease
    site.wait_for("end", "longer")
    site.wait_until_empty()
    assert site.effects("longer") == 1


def test_a_group_of_a_fifo_queue_keeps_its_order(site: Site) -> None:
    sqs = site.aws.client("sqs")
    plain, site.queue = (
        site.queue,
        sqs.create_queue(QueueName=f"{site.table}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"],
    )
    try:
        for label in ("1", "2", "3"):
            site.send(label, group="g", fail_first=label == "1")
        worker = site.start("--exit-when-idle", "3", JOBS_SLOTS="4")
        site.wait_for("end", "3")
        assert worker.wait(timeout=30) == 0
        entries = [json.loads(line) for line in site.journal.read_text().splitlines()]
        assert [(entry["label"], entry["what"]) for entry in entries] == [
            ("1", "start"),
            *((label, what) for label in "123" for what in ("start", "end")),
        ]
        assert site.is_empty()
    finally:
        sqs.delete_queue(QueueUrl=site.queue)
        site.queue = plain


def test_an_isolated_job_keeps_its_record_and_survives_a_crash(site: Site) -> None:
    worker = site.start(JOBS_STOP_TIMEOUT_SECONDS="12")  # so short polls, and a fast end
    site.send("apart", "working.process", seconds=5)
    site.send("crashing", "working.process", crash_first=True)
    site.wait_for("end", "crashing", timeout=60)
    site.wait_until_empty()
    begun = site.did("start", "apart") + site.did("start", "crashing")
    assert worker.pid not in {entry["pid"] for entry in begun}
    assert len({entry["pid"] for entry in begun}) == 3
    assert (site.effects("apart"), site.effects("crashing")) == (1, 1)
    assert [entry["attempt"] for entry in site.did("start", "crashing")] == [1, 2]
    assert site.record("apart")["done"] > 0
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0
    outcomes = [(line["job_id"], line["outcome"]) for line in site.output(worker) if "outcome" in line]
    assert sorted(outcomes) == [("apart", "succeeded"), ("crashing", "lost"), ("crashing", "succeeded")]
    counted = [line for line in site.output(worker) if "_aws" in line]
    assert sum(line.get("JobCrashed", 0) for line in counted) == 1


def test_the_health_check_and_an_idle_end(site: Site) -> None:
    assert site.start("--check").wait(timeout=20) == 1
    site.send("one")
    working = site.start("--exit-when-idle", "2")
    site.wait_for("end", "one")
    assert site.start("--check").wait(timeout=20) == 0
    assert working.wait(timeout=20) == 0
    ended = site.output(working)
    assert [line["message"] for line in ended if "message" in line] == [
        "worker started",
        "job succeeded",
        "worker ended",
    ]
    assert site.effects("one") == 1
