"""Delays beyond what a queue can keep: through the delay machine, whose clock is scaled here so that twenty minutes
take five seconds.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.local_aws.engine import Aws
from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

SOON = 40
DELAY = timedelta(minutes=20)
SCALE = 1 / 240


@pytest.fixture(autouse=True)
def scaled_waits(aws: Aws) -> Iterator[None]:
    """State machines wait a 240th of the time."""
    scale(aws, SCALE)
    yield
    scale(aws, 1)


def test_a_job_delayed_by_twenty_minutes_runs_once_when_it_is_due(stack: Stack) -> None:
    before, started = time.time(), executions(stack, "webhooks")
    job_id = stack.publish_one("probes.patient", {"label": "later"}, delay_seconds=DELAY.total_seconds())
    published = time.time()
    assert stack.depth("webhooks") == 0  # the machine has it, not the queue
    (execution,) = executions(stack, "webhooks") - started
    due = datetime.fromisoformat(inputs(stack, execution)["at"]).timestamp()
    assert before + DELAY.total_seconds() <= due <= published + DELAY.total_seconds() + 1

    wait_for(lambda: stack.outcomes_of(job_id), timeout=SOON, what="the delayed job runs")
    (line,) = stack.lines_of(job_id)
    assert line["outcome"] == "succeeded"
    assert line["attempt"] == line["receive_count"] == 1  # not received early and put back
    assert datetime.fromisoformat(line["timestamp"]).timestamp() >= before + DELAY.total_seconds() * SCALE
    wait_for(lambda: state_of(stack, execution) == "SUCCEEDED", timeout=SOON, what="the machine has ended")
    assert stack.depth("webhooks") == 0


def test_publishing_a_delayed_job_again_starts_nothing(stack: Stack) -> None:
    started, job_id = executions(stack, "webhooks"), f"same-{time.time_ns()}"

    def publish(label: str) -> str:
        options = {"delay_seconds": DELAY.total_seconds(), "job_id": job_id}
        return stack.publish_one("probes.patient", {"label": label}, **options)

    assert publish("same") == publish("same") == job_id  # while it waits
    (execution,) = executions(stack, "webhooks") - started
    wait_for(lambda: stack.outcomes_of(job_id) == ["succeeded"], timeout=SOON, what="it runs")
    wait_for(lambda: state_of(stack, execution) == "SUCCEEDED", timeout=SOON, what="the machine has ended")
    assert publish("same") == job_id  # and when it has been delivered
    with pytest.raises(RuntimeError, match="JobIdConflict"):  # another job under its id is told, not dropped
        publish("another")
    time.sleep(2 + DELAY.total_seconds() * SCALE)  # what a second execution would have taken
    assert executions(stack, "webhooks") - started == {execution}
    assert stack.outcomes_of(job_id) == ["succeeded"]


def test_a_delayed_job_of_a_fifo_workload_keeps_its_group(stack: Stack) -> None:
    group = f"delayed-{time.time_ns()}"
    payloads = [{"label": "dead", "group": group, "permanent": True}, {"label": "good", "group": group}]
    options = {"delay_seconds": DELAY.total_seconds()}
    (results,) = stack.publish([{"job": "probes.ordered", "payloads": payloads, **options}])
    assert all(result.ok for result in results)
    dead, good = (result.id for result in results)
    wait_for(lambda: stack.outcomes_of(good) == ["succeeded"], timeout=SOON, what="the good one succeeds")
    letter = wait_for(lambda: stack.dead_letter_of(dead), timeout=SOON, what="the dead letter of the other one")
    assert letter is not None
    assert letter.group == group


def test_a_large_job_waits_in_the_bucket(stack: Stack) -> None:
    started, padding = executions(stack, "webhooks"), "0123456789" * 30_000
    payload = {"label": "large", "padding": padding}
    job_id = stack.publish_one("probes.patient", payload, delay_seconds=DELAY.total_seconds())
    (execution,) = executions(stack, "webhooks") - started
    assert len(json.dumps(inputs(stack, execution))) < 4096  # a pointer
    wait_for(lambda: stack.outcomes_of(job_id) == ["succeeded"], timeout=SOON, what="it succeeds")


def test_a_retry_further_away_than_a_message_can_be_hidden_comes_back_through_the_machine(
    stack: Stack, aws: Aws
) -> None:
    wait = timedelta(hours=13)  # SQS hides a message for 12 at most
    scale(aws, 8 / wait.total_seconds())
    before, started = time.time(), executions(stack, "webhooks")
    job_id = stack.publish_one("probes.patient", {"label": "tomorrow", "come_back_after_hours": 13})
    wait_for(lambda: stack.outcomes_of(job_id) == ["retry"], timeout=SOON, what="the first attempt")
    (execution,) = executions(stack, "webhooks") - started
    assert datetime.fromisoformat(inputs(stack, execution)["at"]).timestamp() >= before + wait.total_seconds()
    wait_for(lambda: stack.depth("webhooks") == 0, timeout=SOON, what="the queue has let go of it")
    record = stack.record_of(job_id)
    assert record is not None
    assert record["state"] == "RETRY"
    assert record["not_before"] / 1000 >= before + wait.total_seconds()

    make_due(stack, record["pk"])  # as the scaled machine does for the message
    wait_for(lambda: stack.outcomes_of(job_id) == ["retry", "succeeded"], timeout=SOON, what="the second attempt")
    assert [line["attempt"] for line in stack.lines_of(job_id)] == [1, 2]


@pytest.mark.parametrize(
    ("job", "delay", "remedy"),
    [
        ("probes.standard", DELAY, "Set `delay = true` on the workload in Terraform"),
        ("probes.patient", timedelta(days=400), "Publish the job later"),
    ],
)
def test_what_nobody_could_honour_is_refused_when_published(
    stack: Stack, job: str, delay: timedelta, remedy: str
) -> None:
    with pytest.raises(RuntimeError, match=remedy):
        stack.publish_one(job, {"label": "refused"}, delay_seconds=delay.total_seconds())


def scale(aws: Aws, factor: float) -> None:
    """Of the Wait states that begin from now on."""
    request = urllib.request.Request(
        f"{aws.endpoint}/_ministack/config",
        data=json.dumps({"stepfunctions._SFN_WAIT_SCALE": factor}).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.load(answer)["applied"], "the local AWS did not take the setting"


def make_due(stack: Stack, record: str) -> None:
    stack.aws.client("dynamodb").update_item(
        TableName=stack.publisher_environment["JOBS_TABLE"],
        Key={"pk": {"S": record}},
        UpdateExpression="SET not_before = :now",
        ExpressionAttributeValues={":now": {"N": str(round(time.time() * 1000))}},
    )


def executions(stack: Stack, workload: str) -> set[str]:
    machine = stack.workloads[workload]["delay_machine"]["arn"]
    pages = stack.aws.client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=machine)
    return {execution["executionArn"] for page in pages for execution in page["executions"]}


def inputs(stack: Stack, execution: str) -> dict[str, Any]:
    described = stack.aws.client("stepfunctions").describe_execution(executionArn=execution)
    found: dict[str, Any] = json.loads(described["input"])
    return found


def state_of(stack: Stack, execution: str) -> str:
    return str(stack.aws.client("stepfunctions").describe_execution(executionArn=execution)["status"])
