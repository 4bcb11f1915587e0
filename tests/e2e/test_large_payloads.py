"""Payloads that no message can hold: through the bucket, the topic and the queue to the job."""

from __future__ import annotations

import hashlib
import json
import time

import pytest

from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

SOON = 40
PADDING = "0123456789" * 30_000  # 300 KB; topic and queue take 256 KiB
DIGEST = hashlib.sha256(PADDING.encode()).hexdigest()


def test_a_payload_of_300_kb_arrives_whole_among_small_ones(stack: Stack) -> None:
    before = objects(stack)
    payloads = [{"label": "small"}, {"label": "large", "padding": PADDING}, {"label": "small"}]
    (results,) = stack.publish([{"job": "probes.standard", "payloads": payloads}])
    assert all(result.ok for result in results)
    succeed(stack, *(result.id for result in results))
    large = stack.record_of(results[1].id)
    assert large is not None
    assert json.loads(large["result"]) == DIGEST
    assert len(objects(stack) - before) == 1  # kept for a redelivery or a redrive: its consumer does not delete it


def test_a_large_payload_of_a_fifo_workload_keeps_its_place(stack: Stack) -> None:
    group = f"large-{time.time_ns()}"
    payloads = [
        {"label": f"{number}", "group": group, "padding": PADDING if number == 1 else ""} for number in range(3)
    ]
    (results,) = stack.publish([{"job": "probes.ordered", "payloads": payloads}])
    ids = [result.id for result in results]
    succeed(stack, *ids)
    done = [line["fields"]["label"] for line in stack.log_lines() if line["job_id"] in ids]
    assert done == ["0", "1", "2"]


def test_a_payload_that_is_gone_is_dead_lettered_with_the_reason_and_hurts_no_neighbour(stack: Stack) -> None:
    before = objects(stack)
    # Held back by the queue, so that the object can be removed before the job starts.
    payloads = [{"label": "before"}, {"label": "gone", "padding": PADDING}, {"label": "after"}]
    (results,) = stack.publish([{"job": "probes.standard", "payloads": payloads, "delay_seconds": 5}])
    first, gone, last = (result.id for result in results)
    (key,) = objects(stack) - before
    stack.aws.client("s3").delete_object(Bucket=bucket(stack), Key=key)

    succeed(stack, first, last)
    letter = wait_for(lambda: stack.dead_letter_of(gone), timeout=SOON, what="the dead letter")
    assert letter is not None
    assert letter.note["reason"] == "claim_gone"
    assert json.loads(letter.body)["claim"]["key"] == key  # still says where the payload was
    assert stack.outcomes_of(gone) == ["dead"]


def succeed(stack: Stack, *ids: str) -> None:
    wait_for(
        lambda: all(stack.outcomes_of(job_id) == ["succeeded"] for job_id in ids), timeout=SOON, what="they succeed"
    )


def bucket(stack: Stack) -> str:
    return stack.publisher_environment["JOBS_CLAIM_BUCKET"]


def objects(stack: Stack) -> set[str]:
    pages = stack.aws.client("s3").get_paginator("list_objects_v2")
    found = pages.paginate(Bucket=bucket(stack), Prefix=stack.publisher_environment["JOBS_CLAIM_PREFIX"])
    return {item["Key"] for page in found for item in page.get("Contents", [])}
