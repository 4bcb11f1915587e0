"""Order within a group, independence of groups.

The local AWS hands out one FIFO batch at a time over all groups; AWS runs groups at once. What is asserted holds for
both: the order within a group, and that a group behind a failing head is not overtaken by itself and does not hold up
another.
"""

from __future__ import annotations

import time

import pytest

from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")


def test_a_failing_head_holds_up_its_own_group_and_no_other(stack: Stack) -> None:
    mark = f"{time.time_ns()}"
    failing, healthy = f"failing-{mark}", f"healthy-{mark}"
    payloads = [
        {"label": f"{number}", "group": group, "fail_attempts": 2 if (group, number) == (failing, 0) else 0}
        for number in range(3)
        for group in (failing, healthy)
    ]
    (results,) = stack.publish([{"job": "probes.ordered", "payloads": payloads}])
    ids = [result.id for result in results]
    wait_for(
        lambda: all("succeeded" in stack.outcomes_of(job_id) for job_id in ids), timeout=90, what="both groups finish"
    )
    lines = [line for line in stack.log_lines() if line["job_id"] in ids]
    done = {
        group: [line["fields"]["label"] for line in lines if _is(line, group) and line["outcome"] == "succeeded"]
        for group in (failing, healthy)
    }
    assert done == {failing: ["0", "1", "2"], healthy: ["0", "1", "2"]}
    ran = [(line["fields"]["label"], line["outcome"]) for line in lines if _is(line, failing)]
    assert ran[:3] == [("0", "retry"), ("0", "retry"), ("0", "succeeded")]  # the tail was not even started before
    last_healthy = max(line["timestamp"] for line in lines if _is(line, healthy))
    first_success_of_failing = min(
        line["timestamp"] for line in lines if _is(line, failing) and line["outcome"] == "succeeded"
    )
    assert last_healthy < first_success_of_failing


def test_a_permanent_failure_is_dead_lettered_with_its_group_and_the_group_goes_on(stack: Stack) -> None:
    group = f"poison-{time.time_ns()}"
    payloads = [{"label": f"{number}", "group": group, "permanent": number == 0} for number in range(2)]
    (results,) = stack.publish([{"job": "probes.ordered", "payloads": payloads}])
    first, second = (result.id for result in results)
    wait_for(lambda: stack.outcomes_of(second) == ["succeeded"], timeout=60, what="the second job succeeds")
    letter = wait_for(lambda: stack.dead_letter_of(first), timeout=30, what="the dead letter of the first")
    assert letter is not None
    assert letter.group == group
    assert letter.note["reason"] == "asked_to"


def _is(line: dict[str, dict[str, str]], group: str) -> bool:
    return line.get("fields", {}).get("group") == group
