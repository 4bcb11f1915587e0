"""What the breaker is for, in small: a seeded outage on a virtual clock. The numbers are exact, not measured."""

from dataclasses import replace
from math import log

import pytest

from tests.benchmarks.outage import CONTENTION, RAMPED, UNRAMPED, Case, contend, simulate

BACKLOG = Case(jobs=600, workers=40)
STEADY = Case(scenario="steady", workers=40)
CONSUMERS = pytest.mark.parametrize("stops", [False, True], ids=["puts off", "stops receiving"])


@CONSUMERS
def test_a_backlog_survives_an_outage_that_would_have_dead_lettered_all_of_it(stops: bool) -> None:
    without, with_breaker = simulate(BACKLOG, 1), simulate(replace(BACKLOG, breaker=RAMPED, stops=stops), 1)
    assert without.dead == BACKLOG.jobs
    assert with_breaker.dead == 0
    assert with_breaker.done == BACKLOG.jobs
    assert with_breaker.failed <= BACKLOG.workers + 10 + BACKLOG.down / 15
    assert with_breaker.wasted <= without.wasted / 25


@CONSUMERS
@pytest.mark.parametrize("mode", ["fast", "timeout", "late"])
@pytest.mark.parametrize("policy", ["linear", "full jitter"])
def test_a_steady_stream_loses_nothing(mode: str, policy: str, stops: bool) -> None:
    case = replace(STEADY, mode=mode, policy=policy)
    without, with_breaker = simulate(case, 2), simulate(replace(case, breaker=RAMPED, stops=stops), 2)
    assert without.dead > 0 or mode == "late"
    assert with_breaker.dead == 0
    assert with_breaker.wasted < without.wasted / 2


def test_more_receives_mean_less_delay() -> None:
    five, ten = (simulate(replace(STEADY, breaker=RAMPED, receives=receives), 1) for receives in (5, 10))
    assert five.dead == ten.dead == 0
    assert ten.recovered < five.recovered


@CONSUMERS
def test_recovery_is_noticed_within_a_minute(stops: bool) -> None:
    case = replace(BACKLOG, jobs=2000)
    assert simulate(replace(case, breaker=RAMPED, stops=stops), 1).makespan <= 10 + 2000 / 40 * 4 + 1


@CONSUMERS
def test_starts_after_recovery_stay_below_the_ramp(stops: bool) -> None:
    starts = simulate(replace(BACKLOG, breaker=RAMPED, stops=stops), 3).starts
    probe, *others = sorted(starts)
    for number, moment in enumerate(others, 1):
        elapsed = moment - probe
        assert number <= (2**elapsed - 1) / log(2) + 1


@CONSUMERS
def test_a_fragile_dependency_refuses_few_starts_after_the_outage(stops: bool) -> None:
    fragile = replace(BACKLOG, jobs=2000, workers=100, limit=5, stops=stops)
    ramped, unramped = (simulate(replace(fragile, breaker=rule), 1) for rule in (RAMPED, UNRAMPED))
    assert ramped.rejected <= 20
    assert ramped.rejected <= unramped.rejected / 10
    assert ramped.dead == 0


def test_the_simulation_depends_on_nothing_but_its_seed() -> None:
    case = replace(STEADY, breaker=RAMPED)
    assert simulate(case, 5) == simulate(case, 5)
    assert simulate(case, 5) != simulate(case, 6)


def test_full_jitter_settles_contention_with_fewer_calls_and_sooner_than_doubling() -> None:
    rounds = range(10)
    (calls, time), (jittered_calls, jittered_time) = (
        tuple(sum(values) for values in zip(*(contend(CONTENTION[name], 100, seed) for seed in rounds), strict=True))
        for name in ("exponential", "full jitter")
    )
    assert jittered_calls <= 0.45 * calls
    assert jittered_time <= 0.10 * time
