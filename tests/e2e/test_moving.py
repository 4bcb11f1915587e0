"""A job class moves from one workload to another while its messages are under way, as docs/workloads.md tells it."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.local_aws.project import Project
from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

OLD, NEW = "calendar", "calls"
SOON = 60


@contextmanager
def paused(stack: Stack, workload: str) -> Iterator[None]:
    """Its messages wait in their queue meanwhile."""
    client, mapping = stack.aws.client("lambda"), stack.workloads[workload]["event_source_mapping"]["id"]
    client.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        wait_for(
            lambda: client.get_event_source_mapping(UUID=mapping)["State"] == "Disabled", timeout=SOON, what="a pause"
        )
        yield
    finally:
        client.update_event_source_mapping(UUID=mapping, Enabled=True)


def moved(project: Project, into: Path) -> Project:
    """The producers' code after the move: the class says its new workload."""
    folder = into / "moved"
    shutil.copytree(project.folder, folder)
    copy = Project(folder, project.package)
    probes = copy.jobs / "probes.py"
    before = probes.read_text(encoding="utf-8")
    head, _, tail = before.partition('    name = "probes.moving"\n')
    after = tail.replace(f'workload = "{OLD}"', f'workload = "{NEW}"')
    assert after != tail, "the class has no workload to change"
    probes.write_text(f'{head}    name = "probes.moving"\n{after}', encoding="utf-8")
    return copy


def test_a_class_that_moves_loses_no_message_and_repeats_none(stack: Stack, tmp_path: Path) -> None:
    waiting = stack.publish_one("probes.moving", {"label": "delayed"}, delay_seconds=8)
    retried = stack.publish_one("probes.moving", {"label": "retried", "fail_attempts": 2})
    with paused(stack, OLD):
        before = [waiting, retried, *(result.id for result in stack.publish([_requests("before")])[0])]

        after_the_move = Stack(stack.aws, stack.terraform, moved(stack.project, tmp_path), stack.outputs)
        after = [result.id for result in after_the_move.publish([_requests("after")])[0]]
        wait_for(lambda: _done(stack, after), timeout=SOON, what="the new workload runs what was published after")
        assert stack.depth(OLD) >= 15  # what was published before is still under way
    wait_for(lambda: _done(stack, before), timeout=SOON, what="the old workload runs what was published before")
    time.sleep(3)  # for a second run, if there were one

    lines = {job_id: stack.lines_of(job_id) for job_id in (*before, *after)}
    succeeded = {job_id: [line for line in found if line["outcome"] == "succeeded"] for job_id, found in lines.items()}
    assert {len(found) for found in succeeded.values()} == {1}  # none lost, none twice
    assert Counter(succeeded[job_id][0]["workload"] for job_id in before) == {OLD: 17}
    assert Counter(succeeded[job_id][0]["workload"] for job_id in after) == {NEW: 15}
    assert [line["outcome"] for line in lines[retried]] == ["retry", "retry", "succeeded"]
    assert not [letter for letter in stack.dead_letters() if letter.job_id in lines]


def _requests(label: str) -> dict[str, Any]:
    """Fifteen jobs, of which one fails once."""
    payloads = [{"label": f"{label}-{number}", "fail_attempts": int(number == 0)} for number in range(15)]
    return {"job": "probes.moving", "payloads": payloads}


def _done(stack: Stack, job_ids: list[str]) -> bool:
    ended = {line["job_id"] for line in stack.log_lines() if line["outcome"] == "succeeded"}
    return set(job_ids) <= ended
