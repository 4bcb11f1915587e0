"""From publishing to each of the ends a job can come to, through topic, queue, event source mapping and a real
process.
"""

from __future__ import annotations

import json
import time

import pytest

from tests.local_aws.stack import DeadLetter, Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

SOON = 40  # seconds: visibility is 30 s in this stack, the time until the work of a killed process comes back
LATER = 75


def settled(stack: Stack, job_id: str, timeout: float = SOON) -> list[str]:
    return (
        wait_for(
            lambda: (found := stack.outcomes_of(job_id)) and found[-1] not in ("retry", "defer") and found,
            timeout=timeout,
            what=f"job {job_id} settles",
        )
        or []
    )


def dead_letter(stack: Stack, job_id: str) -> DeadLetter:
    found = wait_for(lambda: stack.dead_letter_of(job_id), timeout=SOON, what=f"dead letter of {job_id}")
    assert found is not None
    return found


def test_a_published_job_succeeds_once(stack: Stack) -> None:
    job_id = stack.publish_one("probes.standard", {"label": "plain"})
    assert settled(stack, job_id) == ["succeeded"]
    (line,) = stack.lines_of(job_id)
    assert line["job"] == "probes.standard"
    assert line["workload"] == "calendar"
    assert line["fields"]["label"] == "plain"


def test_a_job_that_fails_twice_is_retried_by_its_policy_and_succeeds(stack: Stack) -> None:
    job_id = stack.publish_one("probes.standard", {"label": "twice", "fail_attempts": 2})
    assert settled(stack, job_id) == ["retry", "retry", "succeeded"]
    lines = stack.lines_of(job_id)
    assert [line["attempt"] for line in lines] == [1, 2, 3]
    assert [line["error"] for line in lines[:2]] == ["BrokenError", "BrokenError"]
    # The visibility timeout of the queue is 30 s: only a visibility change by the runtime brings it back after 1 s.
    assert _seconds_between(lines[0], lines[2]) < 20


def test_a_permanent_failure_is_dead_lettered_at_once_with_reason_and_the_same_body(stack: Stack) -> None:
    body = json.dumps(
        {"id": f"perm-{time.time_ns()}", "job": "probes.standard", "payload": {"label": "\u00fc", "permanent": True}},
        indent=3,
    )
    stack.publish_raw("calendar", body)
    job_id = json.loads(body)["id"]
    assert settled(stack, job_id) == ["dead"]
    letter = dead_letter(stack, job_id)
    assert letter.body == body  # byte for byte: the odd spaces too
    assert letter.workload == "calendar"
    assert letter.note["reason"] == "asked_to"
    assert letter.note["attempt"] == 1
    assert letter.note["source"] == stack.workloads["calendar"]["queue"]["arn"]
    assert letter.attributes["workload"] == "calendar"  # what a redrive through the topic would need


def test_a_job_that_always_fails_ends_when_its_attempts_are_used_up(stack: Stack) -> None:
    job_id = stack.publish_one("probes.standard", {"label": "always", "fail_attempts": 99})
    assert settled(stack, job_id, LATER) == ["retry", "retry", "retry", "dead"]
    assert dead_letter(stack, job_id).note["reason"] == "attempts_exhausted"


@pytest.mark.parametrize("body", [" ", "null", "42", '{"job": null}', "[]", "\ufeff{}", '{"job": "probes.standard"}x'])
def test_a_body_that_is_no_job_is_dead_lettered_and_does_not_hurt_its_neighbours(stack: Stack, body: str) -> None:
    # Delayed alike, so that they become visible together and share a batch.
    queue = stack.workloads["calendar"]["queue"]["url"]
    marks = [f"neighbour-{time.time_ns()}-{number}" for number in range(2)]
    bodies = [_job(marks[0]), body, _job(marks[1])]
    entries = [{"Id": str(n), "MessageBody": text, "DelaySeconds": 1} for n, text in enumerate(bodies)]
    sent = stack.aws.client("sqs").send_message_batch(QueueUrl=queue, Entries=entries)
    odd = next(entry["MessageId"] for entry in sent["Successful"] if entry["Id"] == "1")
    for mark in marks:
        assert settled(stack, mark) == ["succeeded"]
    line = wait_for(
        lambda: next((line for line in stack.log_lines() if line["message_id"] == odd), None),
        timeout=SOON,
        what="the odd body settles",
    )
    assert line is not None
    assert line["outcome"] == "dead"
    letters = wait_for(
        lambda: [letter for letter in stack.dead_letters() if letter.body == body], timeout=SOON, what="its letter"
    )
    assert letters[0].note["reason"] == line["reason"]


def test_a_delay_goes_straight_to_the_queue_and_is_kept(stack: Stack) -> None:
    before = time.time()
    job_id = stack.publish_one("probes.standard", {"label": "later"}, delay_seconds=4)
    assert settled(stack, job_id) == ["succeeded"]
    (line,) = stack.lines_of(job_id)
    assert _time(line) - before >= 4
    assert line["receive_count"] == 1  # held back by DelaySeconds, not received and put back


def _job(job_id: str) -> str:
    return json.dumps({"id": job_id, "job": "probes.standard", "payload": {"label": job_id}})


def _time(line: dict[str, str]) -> float:
    from datetime import datetime

    return datetime.fromisoformat(line["timestamp"]).timestamp()


def _seconds_between(first: dict[str, str], last: dict[str, str]) -> float:
    return _time(last) - _time(first)
