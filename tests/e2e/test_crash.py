"""`kill -9` in the middle of a batch."""

from __future__ import annotations

import json
import time

import pytest

from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")


def test_a_process_killed_in_mid_batch_loses_nothing_and_repeats_nothing_finished(stack: Stack) -> None:
    mark = f"crash-{time.time_ns()}"
    killer = f"{mark}-4"
    # Delayed alike: they become visible together and are taken as one batch of ten.
    entries = [
        {
            "Id": str(number),
            "DelaySeconds": 2,
            "MessageBody": json.dumps(
                {
                    "id": f"{mark}-{number}",
                    "job": "probes.standard",
                    "payload": {"label": mark, "kill_on_attempt": int(number == 4)},
                }
            ),
        }
        for number in range(10)
    ]
    stack.aws.client("sqs").send_message_batch(QueueUrl=stack.workloads["calendar"]["queue"]["url"], Entries=entries)
    ids = [f"{mark}-{number}" for number in range(10)]
    wait_for(
        lambda: all("succeeded" in stack.outcomes_of(job_id) for job_id in ids),
        timeout=90,
        what="all ten jobs succeed, the killed one in its second attempt",
    )
    (line,) = stack.lines_of(killer)
    assert line["receive_count"] == 2  # the first receive ended with the process
    before_the_kill = [job_id for job_id in ids if stack.lines_of(job_id)[0]["receive_count"] == 1]
    assert before_the_kill, "nothing had finished before the kill, so the test proves nothing"
    # The whole batch comes back, since nothing of it was acknowledged: what the records know to be done is a duplicate.
    wait_for(lambda: stack.depth("calendar") == 0, timeout=40, what="the queue is empty")
    assert not [letter for letter in stack.dead_letters() if mark in letter.body]
    ran_again = [job_id for job_id in before_the_kill if stack.outcomes_of(job_id) != ["succeeded", "duplicate"]]
    assert not ran_again
