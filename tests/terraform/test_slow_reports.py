"""examples/slow-reports: 2,030 reports in a night of four hours, simulated with the numbers that the example plans, and
the figures of its README.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.local_aws.paths import EXAMPLES

from . import scaling_simulation
from .harness import Terraform, report
from .scaling_simulation import MINUTE, START_SECONDS, Day, Policy, Service, Step, simulate

pytestmark = pytest.mark.xdist_group("terraform-slow-reports")

REPORTS = 2030
WINDOW = 4 * 3600
SECONDS = 240
REACTION = 2 * MINUTE + START_SECONDS  # a metric, an alarm, a task
MAX_TASKS = 40
GRID = f"""
module "scaling" {{
  source   = "../../modules/ecs-scaling"
  for_each = toset(["30", "35", "{MAX_TASKS}", "60"])

  name        = "reports"
  max_tasks   = tonumber(each.key)
  job_seconds = {SECONDS}
}}

output "scaling" {{ value = {{ for tasks, module in module.scaling : tasks => module.scaling }} }}
"""
README = (EXAMPLES / "slow-reports" / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def planned(tf: Terraform) -> Policy:
    """What the example tells the autoscaler."""
    tf.init("examples/slow-reports")
    (run,) = tf.test("examples/slow-reports", only="night.tftest.hcl", verbose=True)
    assert run.status == "pass", report([run])

    def only(kind: str, index: str | None = None) -> dict[str, Any]:
        changes = run.plan["resource_changes"]
        (found,) = [c["change"]["after"] for c in changes if c["type"] == kind and c.get("index") == index]
        return dict(found)

    target = only("aws_appautoscaling_target")
    alarm = only("aws_cloudwatch_metric_alarm", "work")
    (scaling,) = only("aws_appautoscaling_policy", "work")["step_scaling_policy_configuration"]
    steps = [
        Step(
            float(step["metric_interval_lower_bound"]),
            float(step["metric_interval_upper_bound"]) if step["metric_interval_upper_bound"] else None,
            step["scaling_adjustment"],
        )
        for step in scaling["step_adjustment"]
    ]
    return Policy(
        min_tasks=target["min_capacity"],
        max_tasks=target["max_capacity"],
        threshold=alarm["threshold"],
        idle_minutes=alarm["evaluation_periods"],
        steps=tuple(sorted(steps, key=lambda step: step.tasks)),
    )


@pytest.fixture(scope="module")
def policies(tf: Terraform) -> dict[int, Policy]:
    """The same with other numbers of max_tasks."""
    folder = tf.tree / "tests" / "slow-reports-grid"
    folder.mkdir()
    (folder / "main.tf").write_text(GRID)
    tf.checked("init", "-backend=false", "-input=false", "-no-color", folder="tests/slow-reports-grid")
    tf.checked("apply", "-auto-approve", "-input=false", "-no-color", folder="tests/slow-reports-grid")
    found = json.loads(tf.checked("output", "-json", "scaling", folder="tests/slow-reports-grid"))
    return {int(tasks): Policy.of(scaling) for tasks, scaling in found.items()}


def varying(seed: int) -> Callable[[], float]:
    """Three to five minutes, four on average."""
    chance = random.Random(seed)
    return lambda: chance.uniform(0.75 * SECONDS, 1.25 * SECONDS)


def night(policy: Policy, seconds: Callable[[], float], reports: int = REPORTS) -> Day:
    """All of them at midnight, and then nothing."""
    return simulate(policy, [0.0] * reports, seconds, slots=1, until=8 * 3600)


@pytest.fixture
def told_to_go(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks are asked to go while they have a report, each time the fleet changes."""
    found: list[int] = []

    class Watched(Service):
        def scale(self, wanted: int, now: float) -> None:
            super().scale(wanted, now)
            found.append(sum(task.leaving and task.running > 0 for task in self.tasks))

    monkeypatch.setattr(scaling_simulation, "Service", Watched)
    return found


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5])
def test_the_night_is_over_in_time(seed: int | None, planned: Policy, told_to_go: list[int]) -> None:
    day = night(planned, varying(seed) if seed is not None else lambda: SECONDS)
    assert len(day.waits) == REPORTS
    assert day.finished <= WINDOW - 30 * MINUTE  # half an hour is for what nobody has foreseen
    # From nothing, by itself, never above the ceiling, and back to nothing.
    assert day.wanted[0] == 0
    assert min(day.waits) <= REACTION
    assert max(day.wanted) == day.most_running == MAX_TASKS
    back = MINUTE * max(minute + 1 for minute, tasks in enumerate(day.wanted) if tasks)
    assert back <= day.finished + (planned.idle_minutes + 2) * MINUTE
    assert day.turns == 1
    # The fleet shrinks so late that no task is stopped which has a report.
    assert told_to_go
    assert sum(told_to_go) == 0


def test_the_night_bears_interruptions(planned: Policy) -> None:
    """Spot takes tasks away. Every tenth report is interrupted, its task runs for two minutes more and another one has
    to be started; the report goes on with the page it was at.
    """
    chance, seconds = random.Random(6), varying(7)

    def interrupted_now_and_then() -> float:
        return seconds() + (2 * MINUTE + REACTION if chance.random() < 0.1 else 0)

    assert night(planned, interrupted_now_and_then).finished <= WINDOW


def test_on_other_days_a_report_starts_within_a_quarter_of_an_hour(planned: Policy) -> None:
    assert [planned.step(reports) for reports in (1, 2, 3, 10)] == [1, 1, 2, 5]  # one task for every two reports
    for reports in (1, 2, 10, 50, 120):
        day = night(planned, lambda: SECONDS, reports)
        assert max(day.waits) <= 900, reports
        assert day.wanted[-1] == 0


def test_the_simulation_notices_too_few_tasks(policies: dict[int, Policy]) -> None:
    assert night(policies[30], lambda: SECONDS).finished > WINDOW


def test_the_simulation_notices_a_fleet_that_shrinks_too_early(planned: Policy, told_to_go: list[int]) -> None:
    night(replace(planned, idle_minutes=2), lambda: SECONDS)
    assert sum(told_to_go) > 0


def test_the_readmes_arithmetic() -> None:
    work, time = REPORTS * SECONDS, WINDOW - REACTION
    tasks = math.ceil(work / time)
    assert f"{REPORTS:,} x {SECONDS} s = {work:,} s" in README
    assert f"{work:,} s ÷ {time:,} s = {work / time:.1f}, so {tasks} tasks" in README
    assert tasks == 35


def test_the_readmes_figures(planned: Policy, policies: dict[int, Policy]) -> None:
    assert planned == policies[MAX_TASKS]
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (\d+) h \| (\d+) \|$", README, re.MULTILINE)
    assert rows == [row(tasks, policies[tasks]) for tasks in sorted(policies)]


def row(tasks: int, policy: Policy) -> tuple[str, ...]:
    day = night(policy, varying(1))
    left = WINDOW - day.finished
    spare = f"{left / MINUTE:.0f} min" if left >= 0 else f"{-left / MINUTE:.0f} min late"
    back = max(minute + 1 for minute, wanted in enumerate(day.wanted) if wanted)
    minutes = round(day.finished / MINUTE)
    return (
        str(tasks),
        f"{minutes // 60} h {minutes % 60:02} min",
        spare,
        f"{day.task_seconds / 3600:.0f}",
        f"{back - minutes}",
    )
