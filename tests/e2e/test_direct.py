"""A workload without a queue, put together from its modules, with IAM policies and TLS enforced: topic, function, delay
machine, dead letters.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from runtime.direct_entry import job_bodies

from tests.local_aws import engine
from tests.local_aws.project import HOST_ARCHITECTURE, Project
from tests.local_aws.stack import Stack, wait_for
from tests.local_aws.terraform import Terraform

pytestmark = pytest.mark.xdist_group("direct")  # an engine and a stack of its own

CONFIGURATION = Path(__file__).parent / "direct-stack"
SOON = 60
LEASE = 15  # of a run that was killed: the function's timeout, and five seconds


@pytest.fixture(scope="module")
def direct(consumer: Project, lambda_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with engine.aws(auth_tls=True) as aws:
        folder = tmp_path_factory.mktemp("direct stack")
        artifact = lambda_zip if aws.python else consumer.package_for(None, folder / "lambda.zip")
        variables = {
            "name": "direct",
            "region": aws.region,
            "artifact": str(artifact),
            "handler": f"{consumer.package}.direct_function.handler",
            "architecture": HOST_ARCHITECTURE if aws.python else "arm64",
        }
        stack = Stack(aws, Terraform.of_folder(CONFIGURATION, folder / "terraform", aws, variables), consumer)
        stack.terraform.init()
        try:
            stack.terraform.apply()
            stack.refresh()
            yield stack
        finally:
            if aws.is_real:
                stack.terraform.destroy()


def test_a_plan_after_the_apply_is_empty(direct: Stack) -> None:
    assert direct.terraform.plan_is_empty(), direct.terraform.tail()


def test_a_job_that_fails_twice_comes_again_through_the_machine(direct: Stack) -> None:
    before = executions(direct)
    job_id = direct.publish_one("probes.direct", {"label": "twice", "fail_attempts": 2})
    wait_for(lambda: "succeeded" in direct.outcomes_of(job_id), timeout=SOON, what="the third attempt succeeds")
    lines = direct.lines_of(job_id)
    assert [(line["outcome"], line["attempt"]) for line in lines] == [("retry", 1), ("retry", 2), ("succeeded", 3)]
    moments = [datetime.fromisoformat(line["timestamp"]).timestamp() for line in lines]
    assert all(later - earlier >= 1 for earlier, later in itertools.pairwise(moments))
    assert len(executions(direct) - before) == 2
    assert direct.dead_letter_of(job_id) is None


def test_a_job_that_cannot_succeed_is_a_letter_with_its_reason(direct: Stack) -> None:
    job_id = direct.publish_one("probes.direct", {"label": "dead", "permanent": True})
    letter = wait_for(lambda: direct.dead_letter_of(job_id), timeout=SOON, what="the dead letter")
    assert letter is not None
    assert (letter.note["reason"], letter.note["attempt"]) == ("asked_to", 1)
    assert letter.note["source"] == direct.publisher_environment["JOBS_TOPIC_ARN"]
    assert letter.attributes["workload"] == "alerts"
    assert job_bodies(letter.body) == [letter.body]


def test_a_run_that_is_killed_is_kept_and_counts_when_it_is_sent_again(direct: Stack) -> None:
    job_id = direct.publish_one("probes.direct", {"label": "killed", "kill_on_attempt": 1})
    record = wait_for(lambda: record_of(direct, job_id), timeout=SOON, what="Lambda's record of the killed run")
    assert record is not None
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 1  # Lambda has not tried it again
    assert direct.outcomes_of(job_id) == []  # no code was left to say anything
    time.sleep(3)
    assert direct.outcomes_of(job_id) == []

    (body,) = job_bodies(json.dumps(record))
    direct.publish_raw("alerts", body)
    wait_for(lambda: "succeeded" in direct.outcomes_of(job_id), timeout=SOON + LEASE, what="it succeeds")
    *earlier, last = direct.lines_of(job_id)
    assert {line["reason"] for line in earlier} <= {"in_progress"}  # until the lease of the killed run has ended
    assert last["attempt"] == 2


def test_what_is_published_twice_runs_once(direct: Stack) -> None:
    job_id = f"twice-{time.time_ns()}"
    for _ in range(2):
        direct.publish_one("probes.direct", {"label": "same"}, job_id=job_id)
    wait_for(
        lambda: {"succeeded", "duplicate"} <= set(direct.outcomes_of(job_id)), timeout=SOON + LEASE, what="both end"
    )
    assert direct.outcomes_of(job_id).count("succeeded") == 1


def test_what_is_no_job_is_a_letter(direct: Stack) -> None:
    body = f"no job {time.time_ns()}"
    direct.publish_raw("alerts", body)
    wait_for(lambda: [letter for letter in direct.dead_letters() if letter.body == body], timeout=SOON, what="a letter")
    (letter,) = (letter for letter in direct.dead_letters() if letter.body == body)
    assert letter.note["reason"] == "undecodable"


def test_a_short_delay_is_kept_by_the_machine(direct: Stack) -> None:
    before, published = executions(direct), time.time()
    job_id = direct.publish_one("probes.direct", {"label": "later"}, delay_seconds=4)
    assert len(executions(direct) - before) == 1
    wait_for(lambda: direct.outcomes_of(job_id) == ["succeeded"], timeout=SOON, what="it runs")
    (line,) = direct.lines_of(job_id)
    assert datetime.fromisoformat(line["timestamp"]).timestamp() >= published + 4


def test_another_workloads_jobs_do_not_arrive(direct: Stack) -> None:
    body = json.dumps({"id": f"other-{time.time_ns()}", "job": "probes.direct", "payload": {"label": "other"}})
    direct.publish_raw("other", body)
    good = direct.publish_one("probes.direct", {"label": "good"})
    wait_for(lambda: direct.outcomes_of(good) == ["succeeded"], timeout=SOON, what="a job published after it")
    assert direct.outcomes_of(json.loads(body)["id"]) == []


def test_nothing_was_denied(direct: Stack) -> None:
    log = "\n".join(direct.raw_log("alerts"))
    assert "AccessDenied" not in log
    assert "not settled" not in log


def executions(stack: Stack) -> set[str]:
    machine = stack.workloads["alerts"]["delay_machine"]["arn"]
    pages = stack.aws.client("stepfunctions").get_paginator("list_executions").paginate(stateMachineArn=machine)
    return {execution["executionArn"] for page in pages for execution in page["executions"]}


def record_of(stack: Stack, job_id: str) -> dict[str, Any] | None:
    """Lambda's record of a failed invocation of this job."""
    for letter in stack.dead_letters():
        if job_id in letter.body and "requestPayload" in letter.body:
            found: dict[str, Any] = json.loads(letter.body)
            return found
    return None
