"""Changing one workload must not touch the others: read from the plans, which Terraform's own assertions cannot see."""

from __future__ import annotations

import re

import pytest

from .harness import Run, Terraform, report

pytestmark = pytest.mark.xdist_group("terraform-change")


@pytest.fixture(scope="module")
def runs(tf: Terraform) -> dict[str, Run]:
    return {run.name: run for run in tf.test(tests="tests/terraform", only="change.tftest.hcl", verbose=True)}


def changes(run: Run) -> dict[str, set[str]]:
    """Action => the workloads and schedules it happens to; "dashboard" shows them all, "" belongs to none."""
    found: dict[str, set[str]] = {}
    for change in run.plan["resource_changes"]:
        workload = re.search(r'\["([^"]+)"\]', change["address"])
        for action in set(change["change"]["actions"]) - {"no-op"}:
            shared = "dashboard" if change["address"].startswith("module.dashboard[0].") else ""
            found.setdefault(action, set()).add(workload[1] if workload else shared)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("remove_a", {"delete": {"a"}, "update": {"dashboard"}}),
        ("reorder", {}),
        ("add_d", {"create": {"d"}, "update": {"dashboard"}}),
        ("rename_b", {"delete": {"b"}, "create": {"b2"}, "update": {"dashboard"}}),
        # A mocked provider plans an update where the real one plans a replacement; either way it is c alone.
        ("turn_c_into_fifo", {"update": {"c", "nightly", "dashboard"}}),
        ("turn_delay_of_c_on", {"create": {"c"}, "update": {"c", "dashboard"}}),
        ("add_a_schedule", {"create": {"a", "hourly"}}),  # the schedule, and the role's permission for its workload
    ],
)
def test_only_the_changed_workload_changes(runs: dict[str, Run], name: str, expected: dict[str, set[str]]) -> None:
    assert runs[name].status == "pass", report([runs[name]])
    assert changes(runs[name]) == expected
