"""The numbers of modules/ecs-scaling, proved on a grid, on bursts and on simulated days."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import dataclass
from typing import Any

import pytest

from .harness import Terraform
from .scaling_simulation import MINUTE, START_SECONDS, Day, Policy, simulate

pytestmark = pytest.mark.xdist_group("terraform-scaling")

GRID = """
variable "grid" { type = map(map(number)) }

module "scaling" {
  source   = "../../modules/ecs-scaling"
  for_each = var.grid

  name                = each.key
  min_tasks           = each.value.min_tasks
  max_tasks           = each.value.max_tasks
  job_seconds         = each.value.job_seconds
  max_latency_seconds = each.value.max_latency_seconds
  slots               = each.value.slots
}

output "scaling" { value = { for key, module in module.scaling : key => module.scaling } }
"""
REACTION = 2 * MINUTE + START_SECONDS


@dataclass(frozen=True)
class Case:
    min_tasks: int
    max_tasks: int
    job_seconds: float
    max_latency_seconds: int
    slots: int

    def __str__(self) -> str:
        return "-".join(str(value) for value in vars(self).values())


CASES = [
    Case(*values)
    for values in itertools.product((0, 2), (1, 20, 21, 60, 5000), (0.5, 7, 60, 240, 3600), (180, 900, 14400), (1, 4))
    if values[0] <= values[1]
]
# Those whose largest burst is small enough to be simulated job by job.
BURSTS = [
    case
    for case in CASES
    if case.max_tasks <= 60 and case.max_tasks * case.slots * case.max_latency_seconds / case.job_seconds < 5000
]


@pytest.fixture(scope="module")
def scalings(tf: Terraform) -> dict[Case, dict[str, Any]]:
    """What the module computes, all cases in one run of Terraform."""
    folder = tf.tree / "tests" / "scaling-grid"
    folder.mkdir()
    (folder / "main.tf").write_text(GRID)
    (folder / "grid.auto.tfvars.json").write_text(json.dumps({"grid": {str(case): vars(case) for case in CASES}}))
    tf.checked("init", "-backend=false", "-input=false", "-no-color", folder="tests/scaling-grid")
    tf.checked("apply", "-auto-approve", "-input=false", "-no-color", folder="tests/scaling-grid")
    found = json.loads(tf.checked("output", "-json", "scaling", folder="tests/scaling-grid"))
    return {case: found[str(case)] for case in CASES}


def burst(case: Case, scaling: dict[str, Any], at: float = 600.0) -> Day:
    """The largest burst, and then nothing."""
    arrivals = [at] * int(scaling["largest_burst"])
    hours = at + 6 * case.max_latency_seconds + 6 * case.job_seconds + 3600
    return simulate(Policy.of(scaling), arrivals, lambda: case.job_seconds, case.slots, hours)


def back_at_minimum(day: Day, case: Case) -> int:
    """When the fleet had come down for the last time: a metric and the idle minutes after the last job."""
    return MINUTE * max((minute + 1 for minute, tasks in enumerate(day.wanted) if tasks != case.min_tasks), default=0)


def test_steps_cover_every_depth_once_and_only_rise(scalings: dict[Case, dict[str, Any]]) -> None:
    for case, scaling in scalings.items():
        steps = scaling["steps"]
        assert 1 <= len(steps) <= 20, case
        assert (steps[0]["lower"], steps[-1]["upper"]) == (0, None), case
        assert all(before["upper"] == after["lower"] for before, after in itertools.pairwise(steps)), case
        assert all(before["tasks"] < after["tasks"] for before, after in itertools.pairwise(steps)), case
        assert steps[0]["tasks"] == max(1, case.min_tasks), case
        assert steps[-1]["tasks"] == case.max_tasks, case


def test_one_message_wakes_one_task_and_no_depth_more_than_the_maximum(scalings: dict[Case, dict[str, Any]]) -> None:
    for case, scaling in scalings.items():
        policy = Policy.of(scaling)
        assert policy.step(1) == max(1, case.min_tasks), case
        for depth in {1, 2, scaling["backlog_per_task"], scaling["backlog_per_task"] + 1, scaling["largest_burst"]}:
            needed = math.ceil(depth / scaling["backlog_per_task"])
            assert max(1, case.min_tasks) <= policy.step(depth) <= case.max_tasks, case
            assert policy.step(depth) >= min(needed, case.max_tasks), case
        assert policy.step(10 * scaling["largest_burst"]) == case.max_tasks, case


def test_the_share_of_a_task_is_done_in_time(scalings: dict[Case, dict[str, Any]]) -> None:
    for case, scaling in scalings.items():
        rounds = scaling["backlog_per_task"] / case.slots
        assert rounds >= 1, case
        assert rounds == int(rounds), case
        assert rounds == 1 or rounds * case.job_seconds <= case.max_latency_seconds - REACTION, case


def test_the_largest_burst_is_most_of_what_the_tasks_can_do(scalings: dict[Case, dict[str, Any]]) -> None:
    for case, scaling in scalings.items():
        rounds = max(1, (case.max_latency_seconds - REACTION) // case.job_seconds)
        able = case.max_tasks * case.slots * rounds
        assert 0.75 * (able - case.max_tasks * case.slots) <= scaling["largest_burst"] <= able, case


def test_the_steps_of_a_large_fleet_are_at_most_as_coarse_as_their_number_demands(
    scalings: dict[Case, dict[str, Any]],
) -> None:
    for case, scaling in scalings.items():
        tasks = [step["tasks"] for step in scaling["steps"]]
        first = max(1, case.min_tasks)
        ratio = (case.max_tasks / first) ** (1 / 19)
        for before, after in itertools.pairwise(tasks):
            assert after <= before + 1 or after <= before * ratio + ratio + 1, (case, before, after)


@pytest.mark.parametrize("case", BURSTS, ids=str)
def test_the_largest_burst_starts_in_time_and_leaves_nothing_running(
    case: Case, scalings: dict[Case, dict[str, Any]]
) -> None:
    day = burst(case, scalings[case])
    assert len(day.waits) == scalings[case]["largest_burst"]
    assert max(day.waits) <= max(case.max_latency_seconds, REACTION)
    assert day.most_running <= case.max_tasks * case.slots
    assert min(day.wanted) == day.wanted[0] == day.wanted[-1] == case.min_tasks
    assert max(day.wanted) == case.max_tasks or case.min_tasks  # a minimum may be done before anybody has looked
    assert day.turns <= 1  # up, and then down
    assert back_at_minimum(day, case) <= day.finished + (scalings[case]["idle_minutes"] + 2) * MINUTE


@pytest.mark.parametrize("second", [0, 1, 29, 59])
def test_the_first_message_wakes_a_task(second: int, scalings: dict[Case, dict[str, Any]]) -> None:
    case = Case(0, 20, 60, 900, 1)
    day = simulate(Policy.of(scalings[case]), [6000.0 + second], lambda: 60.0, 1, 9000)
    assert day.waits[0] <= REACTION
    assert max(day.wanted) == 1


def test_without_a_message_nothing_ever_runs(scalings: dict[Case, dict[str, Any]]) -> None:
    day = simulate(Policy.of(scalings[Case(0, 20, 60, 900, 1)]), [], lambda: 60.0, 1, 24 * 3600)
    assert set(day.wanted) == {0}
    assert day.task_seconds == 0


DAYS = [
    Case(0, 20, 60, 900, 1),
    Case(2, 20, 60, 900, 4),
    Case(0, 60, 240, 900, 1),
    Case(0, 20, 7, 180, 1),
    Case(0, 60, 3600, 900, 4),
    Case(0, 60, 240, 14400, 1),
]


def traffic(case: Case, scaling: dict[str, Any], seed: int) -> list[float]:
    """A day from midnight: a curve with its peak at two in the afternoon, a burst in the morning and one in the
    evening, and from ten in the evening on nothing.
    """
    chance = random.Random(seed)
    peak = 0.4 * case.max_tasks * case.slots / case.job_seconds  # jobs a second
    arrivals, now = [], 0.0
    while now < 22 * 3600:
        now += chance.expovariate(peak)
        if chance.random() < (1 - math.cos(2 * math.pi * (now - 2 * 3600) / 86400)) / 2:
            arrivals.append(now)
    for hour in (5, 20):
        arrivals += [hour * 3600 + 17.0] * (scaling["largest_burst"] // 3)
    return sorted(arrivals)


@pytest.mark.parametrize("case", DAYS, ids=str)
def test_a_day(case: Case, scalings: dict[Case, dict[str, Any]]) -> None:
    scaling, chance = scalings[case], random.Random(7)
    arrivals = traffic(case, scaling, seed=11)
    day = simulate(
        Policy.of(scaling), arrivals, lambda: case.job_seconds * chance.uniform(0.5, 1.5), case.slots, 30 * 3600
    )
    assert len(day.waits) == len(arrivals)
    assert day.wait(0.95) <= case.max_latency_seconds
    assert day.most_running <= case.max_tasks * case.slots
    assert case.min_tasks == min(day.wanted) <= max(day.wanted) <= case.max_tasks
    assert day.wanted[-1] == case.min_tasks
    assert back_at_minimum(day, case) <= day.finished + (scaling["idle_minutes"] + 2) * MINUTE
    # A fleet that has grown keeps its size for the idle minutes at least, so it cannot turn more often than this.
    assert day.turns <= 2 * (len(day.wanted) / scaling["idle_minutes"] + 1)
    print(f"{case}: {len(arrivals)} jobs, p95 {day.wait(0.95):.0f} s, longest {day.wait(1):.0f} s, {day.turns} turns")


def test_a_steady_load_keeps_a_steady_fleet(scalings: dict[Case, dict[str, Any]]) -> None:
    """One job every 20 s, each of about 60 s: three tasks are right, and one more or less comes and goes seldom."""
    case = Case(0, 20, 60, 900, 1)
    chance = random.Random(3)
    arrivals = [20.0 * n + chance.uniform(0, 5) for n in range(24 * 180)]
    day = simulate(Policy.of(scalings[case]), arrivals, lambda: 60 * chance.uniform(0.5, 1.5), 1, 24 * 3600)
    settled = day.wanted[30:]
    assert set(settled) <= {2, 3, 4}
    assert day.turns <= 24  # once an hour


def test_the_simulation_notices_a_share_that_is_too_large(scalings: dict[Case, dict[str, Any]]) -> None:
    """max_latency / job_seconds alone, without the fleet's shrinking, does not keep the promise."""
    case = Case(0, 60, 240, 14400, 1)
    share = case.max_latency_seconds / case.job_seconds / scalings[case]["backlog_per_task"]
    steps = [
        step | {"lower": step["lower"] * share, "upper": step["upper"] and step["upper"] * share}
        for step in scalings[case]["steps"]
    ]
    naive = scalings[case] | {"steps": steps}
    assert max(burst(case, naive).waits) > case.max_latency_seconds


def test_the_simulation_notices_a_fleet_that_flaps(scalings: dict[Case, dict[str, Any]]) -> None:
    """Without the idle minutes a noisy load makes it turn every few minutes."""
    case = Case(0, 20, 60, 900, 1)
    hasty = scalings[case] | {"idle_minutes": 1}
    arrivals = traffic(case, scalings[case], seed=11)
    turns = [
        simulate(Policy.of(scaling), arrivals, lambda: 60.0, 1, 30 * 3600).turns for scaling in (scalings[case], hasty)
    ]
    assert turns[1] > 1.5 * turns[0], turns
