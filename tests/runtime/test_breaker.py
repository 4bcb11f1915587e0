"""The circuit breaker: each rule by an example, then what must hold whatever happens."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log
from random import Random
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from moto import mock_aws
from runtime.breaker import Admission, Breaker, Breakers, Gate
from runtime.breaker_pause import MappingPause
from runtime.breaker_state import Ask, Dependency, Failed, Grant, Phase, State, Succeeded, step, wait
from runtime.dynamodb import DynamoTable
from runtime.outcome import MAX_WAIT, Defer, Kind, Permanent
from runtime.policy import decide, full_jitter
from runtime.table import KEY, MemoryTable, Update

SMTP = Dependency("smtp")
START = datetime(2030, 1, 1, 12, tzinfo=UTC)
PROPERTIES = hypothesis_settings(max_examples=100, deadline=None, derandomize=True, database=None)


class SmtpBusyError(Exception):
    pass


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def skewed(self, seconds: float) -> Callable[[], datetime]:
        return lambda: self.now() + timedelta(seconds=seconds)


class CountingTable(MemoryTable):
    """Counts requests; ``broken`` answers none."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0
        self.broken = False

    def update(self, update: Update) -> dict[str, Any]:
        self.writes += 1
        if self.broken:
            raise ConnectionError("no table")
        return super().update(update)

    def get(self, key: str) -> dict[str, Any] | None:
        self.reads += 1
        if self.broken:
            raise ConnectionError("no table")
        return super().get(key)

    @property
    def calls(self) -> tuple[int, int]:
        return self.reads, self.writes


class World:
    """A table, a clock, and as many processes as a test asks for."""

    def __init__(self, rule: Dependency = SMTP) -> None:
        self.rule, self.clock, self.table = rule, Clock(), CountingTable()
        self.opened: list[Phase] = []

    def breakers(self, skew: float = 0.0, seed: int = 1) -> Breakers:
        return Breakers(
            "app",
            self.table,
            self.clock.skewed(skew),
            Random(seed),
            lambda _, state: self.opened.append(state.phase),
        )

    def breaker(self, skew: float = 0.0) -> Breaker:
        return self.breakers(skew).of(self.rule)

    def fail(self, breaker: Breaker, times: int = 1) -> None:
        for number in range(times):
            admission = breaker.ask(f"failing-{number}")
            assert admission is not None
            breaker.failed(admission)

    def open(self, breaker: Breaker) -> None:
        self.fail(breaker, self.rule.failures)

    @property
    def item(self) -> dict[str, Any]:
        return self.table.items[f"app##breaker#{self.rule.name}"]


@pytest.fixture
def world() -> World:
    return World()


# Counting


def test_a_closed_breaker_without_failures_writes_nothing_and_reads_once_in_two_seconds(world: World) -> None:
    breaker = world.breaker()
    for tenth in range(100):
        world.clock.seconds = tenth / 10
        admission = breaker.ask(f"job-{tenth}")
        assert admission is not None
        assert admission.grant is Grant.FREE
        breaker.succeeded(admission)
    assert world.table.calls == (5, 0)


def test_failures_of_all_workers_count_together(world: World) -> None:
    workers = [world.breaker() for _ in range(10)]
    for worker in workers:
        world.fail(worker)
    assert world.item["state"] == "OPEN"
    assert workers[-1].ask("next") is None


def test_it_opens_at_the_last_failure_and_not_before(world: World) -> None:
    breaker = world.breaker()
    world.fail(breaker, 9)
    assert breaker.ask("job") is not None
    world.fail(breaker)
    assert breaker.ask("job") is None


def test_each_failure_is_one_write_and_the_one_that_opens_is_two(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    assert world.table.calls == (1, 11)


def test_a_success_in_between_starts_the_count_anew(world: World) -> None:
    breaker, other = world.breaker(), world.breaker()
    world.fail(breaker, 9)
    world.clock.seconds += 3
    admission = other.ask("well")
    assert admission is not None
    other.succeeded(admission)
    world.fail(breaker, 9)
    assert world.item["state"] == "CLOSED"


def test_names_of_two_applications_and_dependencies_are_apart(world: World) -> None:
    world.open(world.breaker())
    assert Breakers("other", world.table, world.clock.now).of(SMTP).ask("job") is not None
    assert world.breakers().of("crm").ask("job") is not None
    assert world.breakers().of("smtp").ask("job") is None


# Open


def test_an_open_circuit_lets_one_run_through_per_interval(world: World) -> None:
    workers = [world.breaker() for _ in range(5)]
    world.open(workers[0])
    let_through = []
    for second in range(61):
        world.clock.seconds = second
        for number, worker in enumerate(workers):
            if worker.ask(f"job-{second}-{number}"):
                let_through.append(second)
    assert let_through == [15, 30, 45, 60]


def test_probes_go_round_but_a_lonely_job_probes_again_an_interval_later(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    world.clock.seconds = 15
    assert breaker.ask("poison") is not None
    world.clock.seconds = 30
    assert breaker.ask("poison") is None
    assert breaker.ask("other") is not None
    world.clock.seconds = 45
    assert breaker.ask("poison") is None
    assert breaker.ask("other") is None
    world.clock.seconds = 60
    assert breaker.ask("poison") is not None


def test_a_failed_probe_costs_one_write_and_is_told(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    world.clock.seconds = 15
    before = world.table.writes
    admission = breaker.ask("probe")
    assert admission is not None
    assert admission.grant is Grant.PROBE
    assert breaker.failed(admission)
    assert world.table.writes == before + 1
    assert world.opened == [Phase.OPEN, Phase.OPEN]


def test_workers_that_lose_the_race_for_the_probe_know_the_winner_without_a_read(world: World) -> None:
    first, second = world.breaker(), world.breaker()
    world.open(first)
    world.clock.seconds = 14.9
    assert second.ask("warm the cache") is None
    world.clock.seconds = 15
    assert first.ask("a") is not None
    before = world.table.calls
    assert second.ask("b") is None
    assert world.table.calls == (before[0], before[1] + 1)
    assert second.ask("c") is None
    assert world.table.calls == (before[0], before[1] + 1)


def test_late_failures_of_runs_from_before_change_nothing(world: World) -> None:
    breaker = world.breaker()
    admission = breaker.ask("slow")
    assert admission is not None
    world.open(breaker)
    state = dict(world.item)
    assert breaker.failed(admission)
    breaker.succeeded(admission)
    assert world.item == state


# Ramp


def recovered(world: World, breaker: Breaker) -> None:
    world.open(breaker)
    world.clock.seconds += 15
    admission = breaker.ask("probe")
    assert admission is not None
    breaker.succeeded(admission)
    assert world.item["state"] == "RAMP"


def starts(world: World, breaker: Breaker, seconds: float) -> list[float]:
    """The moments at which a breaker that is asked every 10 ms lets a run through."""
    begin, found = world.clock.seconds, []
    for tick in range(int(seconds * 100)):
        world.clock.seconds = begin + tick / 100
        if breaker.ask(f"job-{tick}"):
            found.append(tick / 100)
    world.clock.seconds = begin + seconds
    return found


def test_starts_double_each_second_after_recovery_until_it_is_closed(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    found = starts(world, breaker, 6)
    for number, moment in enumerate(found, 1):
        assert number <= (2**moment - 1) / log(2) + 1, "starts so far against the integral of the rate"
    per_second = [sum(second <= moment < second + 1 for moment in found) for second in range(6)]
    assert per_second[5] >= 12
    starts(world, breaker, 3)
    before = world.table.writes
    for _ in range(1000):
        assert breaker.ask("job") is not None
    assert world.table.writes == before


def test_what_nobody_used_in_the_ramp_does_not_add_up(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    world.clock.seconds += 30
    assert len(starts(world, breaker, 1)) <= 3


def test_the_rate_does_not_grow_beyond_what_is_used(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    for number in range(18):
        world.clock.seconds += 3
        assert breaker.ask(f"job-{number}") is not None
    assert world.item["rate"] == 1000
    assert len(starts(world, breaker, 1)) <= 1


def test_a_quiet_ramp_ends_after_a_minute(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    world.clock.seconds += 61
    assert all(breaker.ask("job") for _ in range(50))


def test_a_failure_in_the_ramp_halves_the_rate_once_for_all_that_started_before(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    starts(world, breaker, 4)
    admissions: list[Admission] = []
    while len(admissions) < 3:
        world.clock.seconds += 0.01
        if admission := breaker.ask("job"):
            admissions.append(admission)
    rate = world.item["rate"]
    assert breaker.failed(admissions[0])
    halved = world.item["rate"]
    assert rate / 2 <= halved <= rate
    assert world.item["wary"]
    assert all(breaker.failed(admission) for admission in admissions[1:])
    assert world.item["rate"] == halved
    assert world.item["state"] == "RAMP"


def test_a_failure_at_the_lowest_rate_opens_it_again(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    failed = 0
    while world.item["state"] == "RAMP" and failed < 5:
        world.clock.seconds += 0.1
        if admission := breaker.ask(f"job-{world.clock.seconds}"):
            assert breaker.failed(admission)
            failed += 1
    assert failed <= 2
    assert world.opened == [Phase.OPEN, Phase.OPEN]
    assert breaker.ask("next") is None


def test_the_first_failure_after_a_ramp_counts_as_one(world: World) -> None:
    breaker = world.breaker()
    recovered(world, breaker)
    world.clock.seconds += 100
    world.fail(breaker)
    assert (world.item["state"], world.item["failures"]) == ("CLOSED", 1)
    world.fail(breaker, 9)
    assert world.item["state"] == "OPEN"


# A table that does not answer


def test_it_lets_everything_through_when_the_table_does_not_answer(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    world.table.broken = True
    world.clock.seconds += 3
    admission = breaker.ask("job")
    assert admission is not None
    assert not breaker.failed(admission)
    breaker.succeeded(admission)
    before = world.table.calls
    for _ in range(100):
        breaker.ask("job")
    assert world.table.calls == before, "it asks a broken table no more often than a working one"


def test_a_probe_whose_election_is_not_answered_runs(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    world.clock.seconds = 14
    assert breaker.ask("warm the cache") is None
    world.clock.seconds = 15
    world.table.broken = True
    admission = breaker.ask("job")
    assert admission is not None
    assert admission.grant is Grant.FREE


def test_an_item_of_a_newer_version_of_the_code_counts_as_closed(world: World) -> None:
    world.table.items["app##breaker#smtp"] = {"pk": "app##breaker#smtp", "state": "HALF", "version": 7}
    assert world.breaker().ask("job") is not None


def test_a_whole_cycle_in_dynamodb() -> None:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1")
        client.create_table(
            TableName="jobs",
            KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        clock = Clock()
        breakers = [Breakers("app", DynamoTable("jobs", lambda: client), clock.now, Random(n)) for n in range(3)]
        workers = [process.of(SMTP) for process in breakers]
        for number in range(10):
            admission = workers[number % 3].ask(f"job-{number}")
            assert admission is not None
            workers[number % 3].failed(admission)
        clock.seconds = 15
        admissions = [worker.ask(f"probe-{number}") for number, worker in enumerate(workers)]
        probe, *refused = admissions
        assert refused == [None, None]
        assert probe is not None
        assert probe.grant is Grant.PROBE
        workers[0].succeeded(probe)
        clock.seconds = 18
        grants = [admission and admission.grant for admission in (worker.ask("job") for worker in workers)]
        assert grants == [Grant.RAMP, None, None]
        clock.seconds = 80
        assert all(worker.ask("job") for worker in workers for _ in range(5))


# How long to wait


@given(
    down=st.integers(0, 20_000),
    left=st.one_of(st.none(), st.integers(0, 20)),
    until=st.integers(0, 15_000),
    phase=st.sampled_from(list(Phase)),
)
@PROPERTIES
def test_a_job_is_put_off_past_the_next_probe_and_within_what_a_queue_can_keep(
    down: int, left: int | None, until: int, phase: Phase
) -> None:
    now = 10**12
    state = State(phase, since=now - down * 1000, next_at=now + until, rate=1000)
    delay = wait(state, now, SMTP, left, Random(1))
    assert timedelta(0) < delay <= MAX_WAIT
    if state.at(now, SMTP) is not Phase.CLOSED:
        assert delay >= timedelta(milliseconds=until) + SMTP.probe_every / 2


@pytest.mark.parametrize("receives", [4, 5, 10, 20])
@pytest.mark.parametrize("seed", range(20))
def test_the_receives_that_are_left_outlast_half_an_hour(receives: int, seed: int) -> None:
    random, now, opened = Random(seed), 5_000, 0
    for receive in range(1, receives):
        state = State(Phase.OPEN, since=opened, next_at=now + random.randrange(15_000))
        now += round(wait(state, now, SMTP, receives - receive, random).total_seconds() * 1000)
    assert now >= 30 * 60_000


def test_jobs_that_are_put_off_together_come_back_spread(world: World) -> None:
    breaker = world.breaker()
    world.open(breaker)
    waits = sorted(breaker.wait(4).total_seconds() for _ in range(1000))
    assert max(sum(second <= value < second + 1 for value in waits) for second in range(60)) < 150


# The gate of one run


def through(world: World, breakers: Breakers, run: str = "job", left: int | None = 5) -> Gate | Defer:
    return breakers.open_gate([world.rule], run, left)


def test_a_job_is_put_off_before_it_starts_while_a_dependency_is_down(world: World) -> None:
    breakers = world.breakers()
    world.open(breakers.of(SMTP))
    refused = through(world, breakers)
    assert isinstance(refused, Defer)
    assert refused.reason == "circuit_open:smtp"
    assert refused.delay >= timedelta(seconds=15)


def test_a_failing_body_counts_and_passes_on_what_it_raised_while_closed(world: World) -> None:
    breakers = world.breakers()
    for number in range(4):
        gate = through(world, breakers, f"job-{number}")
        assert isinstance(gate, Gate)
        with pytest.raises(ConnectionError), gate.guard("smtp"):
            raise ConnectionError("down")
        assert isinstance(gate.failed(ConnectionError("down")), ConnectionError)
    assert world.item["failures"] == 4, "an error that a guard has counted is not counted again"


def test_half_way_to_opening_a_failure_is_the_dependency_s_and_uses_up_no_attempt(world: World) -> None:
    breakers = world.breakers()
    for number in range(9):
        gate = through(world, breakers, f"job-{number}")
        assert isinstance(gate, Gate)
        with pytest.raises(ConnectionError if number < 4 else Defer) as raised, gate.guard("smtp"):
            raise ConnectionError("down")
        assert number < 4 or str(raised.value) == "dependency_down:smtp"
    assert world.item["state"] == "CLOSED"


def test_the_failure_that_opens_it_and_a_failing_probe_use_up_no_attempt(world: World) -> None:
    breakers = world.breakers()
    world.fail(breakers.of(SMTP), 9)
    for seconds in (0, 15):
        world.clock.seconds = seconds
        gate = through(world, breakers, f"job-{seconds}")
        assert isinstance(gate, Gate)
        with pytest.raises(Defer) as raised, gate.guard("smtp"):
            raise TimeoutError("no answer")
        outcome = decide(raised.value, 3, retry=full_jitter(), on={}, regenerable=False, random=Random(1))
        assert outcome.kind is Kind.DEFER
        assert isinstance(raised.value.__cause__, TimeoutError)


def test_a_run_that_started_before_is_stopped_at_its_call(world: World) -> None:
    breakers = world.breakers()
    gate = through(world, breakers)
    assert isinstance(gate, Gate)
    world.open(breakers.of(SMTP))
    called = False
    with pytest.raises(Defer), gate.guard("smtp"):
        called = True
    assert not called


def test_a_run_that_was_let_through_as_a_probe_may_call_again_and_again(world: World) -> None:
    breakers = world.breakers()
    world.open(breakers.of(SMTP))
    world.clock.seconds = 15
    gate = through(world, breakers)
    assert isinstance(gate, Gate)
    for _ in range(20):
        with gate.guard("smtp"):
            pass
    assert world.item["state"] == "RAMP"


def test_what_counts(world: World) -> None:
    breakers = world.breakers()
    default, own = breakers.of("smtp"), breakers.of(Dependency("crm", counts=(SmtpBusyError,)))
    assert default.counts(ConnectionResetError())
    assert default.counts(TimeoutError())
    throttled = ClientError({"Error": {"Code": "ThrottlingException", "Message": ""}}, "SendEmail")
    assert default.counts(throttled)
    assert not default.counts(ValueError())
    assert not default.counts(SmtpBusyError())
    assert not default.counts(Permanent("mailbox_gone"))
    assert own.counts(SmtpBusyError())
    assert not own.counts(ConnectionError())


def test_an_ignored_exception_is_an_answer(world: World) -> None:
    breakers = world.breakers()
    world.fail(breakers.of(SMTP), 3)
    gate = through(world, breakers)
    assert isinstance(gate, Gate)
    with pytest.raises(ConnectionRefusedError), gate.guard("smtp", ignore=(ConnectionRefusedError,)):
        raise ConnectionRefusedError("this address only")
    assert world.item["failures"] == 0


def test_an_exception_that_does_not_count_says_nothing(world: World) -> None:
    breakers = world.breakers()
    world.fail(breakers.of(SMTP), 3)
    gate = through(world, breakers)
    assert isinstance(gate, Gate)
    with pytest.raises(ValueError, match="own bug"), gate.guard("smtp"):
        raise ValueError("own bug")
    assert world.item["failures"] == 3


def test_without_a_guard_the_run_itself_speaks_for_its_only_dependency(world: World) -> None:
    breakers = world.breakers()
    for number in range(10):
        gate = through(world, breakers, f"job-{number}")
        assert isinstance(gate, Gate)
        ended = gate.failed(ConnectionError("down"))
        assert isinstance(ended, ConnectionError if number < 4 else Defer)
    world.clock.seconds = 15
    gate = through(world, breakers, "probe")
    assert isinstance(gate, Gate)
    gate.succeeded()
    assert world.item["state"] == "RAMP"


def test_an_error_outside_the_guard_is_not_held_against_a_dependency_that_answered(world: World) -> None:
    gate = through(world, world.breakers())
    assert isinstance(gate, Gate)
    with gate.guard("smtp"):
        pass
    assert isinstance(gate.failed(ConnectionError("another service")), ConnectionError)
    assert world.table.writes == 0


def test_with_several_dependencies_only_declared_exceptions_tell_which(world: World) -> None:
    breakers = world.breakers()
    smtp, crm = Dependency("smtp", counts=(SmtpBusyError,)), Dependency("crm")
    gate = breakers.open_gate([smtp, crm], "job")
    assert isinstance(gate, Gate)
    assert isinstance(gate.failed(ConnectionError()), ConnectionError)
    assert world.table.writes == 0
    gate = breakers.open_gate([smtp, crm], "job")
    assert isinstance(gate, Gate)
    gate.failed(SmtpBusyError())
    assert set(world.table.items) == {"app##breaker#smtp"}


def test_no_probe_is_lost_on_a_run_that_another_dependency_refuses(world: World) -> None:
    breakers = world.breakers()
    world.open(breakers.of(SMTP))
    world.clock.seconds = 10
    crm = breakers.of("crm")
    for number in range(10):
        admission = crm.ask(f"job-{number}")
        assert admission is not None
        crm.failed(admission)
    world.clock.seconds = 15
    refused = breakers.open_gate(["smtp", "crm"], "job")
    assert isinstance(refused, Defer)
    assert refused.reason == "circuit_open:crm"
    assert breakers.of("smtp").ask("another") is not None


def test_a_worker_that_polls_knows_how_long_it_can_rest(world: World) -> None:
    breaker = world.breaker()
    assert breaker.rest() == timedelta(0)
    world.open(breaker)
    assert breaker.rest() == timedelta(seconds=15)
    world.clock.seconds = 15
    assert breaker.rest() == timedelta(0)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"name": "Smtp Server"}, "the name must match"),
        ({"failures": 0}, "failures=0 must be 1 or more"),
        ({"probe_every": timedelta(0)}, "probe_every"),
        ({"ramp_start": 0.0}, "ramp_start"),
        ({"ramp_for": timedelta(0)}, "ramp_for"),
        ({"outlast": timedelta(hours=13)}, "outlast"),
        ({"cache": timedelta(seconds=15)}, "cache"),
        ({"counts": (503,)}, "counts"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Dependency(**{"name": "smtp", **options})


# Whatever happens

SKEWS = st.lists(st.integers(-60, 60), min_size=1, max_size=5)


def play(world: World, skews: list[int], moves: list[tuple[int, int, bool]]) -> Iterator[tuple[float, int, Grant]]:
    """Workers with skewed clocks ask at random moments; each run ends at once, well or not. Yields what was granted."""
    workers = [world.breaker(skew) for skew in skews]
    for number, (milliseconds, who, well) in enumerate(moves):
        world.clock.seconds += milliseconds / 1000
        breaker = workers[who % len(workers)]
        admission = breaker.ask(f"job-{number}")
        if admission is not None:
            yield world.clock.seconds, who % len(workers), admission.grant
            if well:
                breaker.succeeded(admission)
            else:
                breaker.failed(admission)


MOVES = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 4), st.booleans()), max_size=150)
DOWN = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 4), st.just(False)), min_size=30, max_size=150)


@given(workers=st.integers(1, 5), moves=DOWN)
@PROPERTIES
def test_never_more_than_one_probe_in_an_interval(workers: int, moves: list[tuple[int, int, bool]]) -> None:
    world = World()
    probes = [moment for moment, _, grant in play(world, [0] * workers, moves) if grant is Grant.PROBE]
    assert all(later - earlier >= 15 - 1e-6 for earlier, later in pairwise(probes))


@given(skews=SKEWS, moves=DOWN)
@PROPERTIES
def test_skewed_clocks_add_at_most_one_probe_each(skews: list[int], moves: list[tuple[int, int, bool]]) -> None:
    world = World()
    probes = [moment for moment, _, grant in play(world, skews, moves) if grant is Grant.PROBE]
    if probes:
        assert len(probes) <= (probes[-1] - probes[0]) / 15 + 1 + len(set(skews))


@given(moves=MOVES, asks=st.lists(st.integers(1, 400), min_size=20, max_size=200), workers=st.integers(1, 5))
@PROPERTIES
def test_starts_stay_below_the_ramp(moves: list[tuple[int, int, bool]], asks: list[int], workers: int) -> None:
    world = World()
    for _ in play(world, [0] * workers, moves):
        pass
    processes = [world.breaker() for _ in range(workers)]
    world.clock.seconds += 3
    while world.item["state"] != "OPEN" if world.table.items else True:
        world.clock.seconds += 0.5
        if admission := processes[0].ask("open it"):
            processes[0].failed(admission)
    world.clock.seconds += 200
    admission = processes[0].ask("probe")
    assert admission is not None
    processes[0].succeeded(admission)
    begin, granted = world.clock.seconds, 0
    for number, milliseconds in enumerate(asks):
        world.clock.seconds += milliseconds / 1000
        elapsed = world.clock.seconds - begin
        if State.of(world.item).at(round(world.clock.now().timestamp() * 1000), SMTP) is not Phase.RAMP:
            break
        granted += processes[number % workers].ask(f"job-{number}") is not None
        assert granted <= (2**elapsed - 1) / log(2) + 1


@given(skews=SKEWS, moves=MOVES)
@PROPERTIES
def test_it_closes_in_bounded_time_once_the_dependency_is_well(
    skews: list[int], moves: list[tuple[int, int, bool]]
) -> None:
    world = World()
    for _ in play(world, skews, moves):
        pass
    difference = max(skews) - min(skews)
    well = [(500, number, True) for number in range(2 * (2 * 15 + 60 + 2 * difference + 10))]
    for _ in play(world, skews, well):
        pass
    assert all(world.breaker(skew).ask("job") for skew in skews for _ in range(20))


@given(moves=MOVES)
@PROPERTIES
def test_without_failures_nothing_is_written(moves: list[tuple[int, int, bool]]) -> None:
    world = World()
    granted = list(play(world, [0, 30, -30], [(milliseconds, who, True) for milliseconds, who, _ in moves]))
    assert len(granted) == len(moves)
    assert world.table.writes == 0


EVENTS = st.one_of(
    st.builds(Ask, st.sampled_from("abc")),
    st.builds(Succeeded, st.integers(0, 50), st.sampled_from(list(Grant))),
    st.builds(Failed, st.integers(0, 50)),
)


@given(events=st.lists(st.tuples(st.integers(-60_000, 60_000), EVENTS), max_size=100))
@PROPERTIES
def test_every_change_but_the_count_raises_the_version_and_can_be_stored(
    events: list[tuple[int, Ask | Succeeded | Failed]],
) -> None:
    state, now = State(), 10**12
    for elapsed, event in events:
        now += elapsed
        after = step(state, event, now, SMTP).state
        if after is not state:
            counted = after.phase is state.phase is Phase.CLOSED
            assert after.version == state.version + 1 or counted
            assert State.of(after.item()) == after
        state = after


# Pausing the event source mapping

MAPPING = "0f5dd8b8-2b2f-4f3e-9d3c-1a2b3c4d5e6f"
PARAMETER = "/jobs/shop-email/event-source-mapping"
ROLE = "arn:aws-cn:iam::123456789012:role/resume"


class Aws:
    """Stubbed clients that share one order of expected calls."""

    def __init__(self) -> None:
        options = {
            "region_name": "eu-central-1",
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "testing",
        }
        self.clients = {name: boto3.client(name, **options) for name in ("ssm", "scheduler", "lambda")}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        self.order: list[str] = []
        for stub in self.stubs.values():
            stub.activate()
        answer = {"Parameter": {"Name": PARAMETER, "Value": MAPPING}}
        self.stubs["ssm"].add_response("get_parameter", answer, {"Name": PARAMETER})

    def client(self, service: str) -> Any:
        self.order.append(service)
        return self.clients[service]

    def expect_schedule(self, at: datetime) -> dict[str, Any]:
        return {
            "Name": f"resume-{MAPPING}-{int(at.timestamp())}",
            "GroupName": "jobs",
            "ScheduleExpression": f"at({at:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": "arn:aws-cn:scheduler:::aws-sdk:lambda:updateEventSourceMapping",
                "RoleArn": ROLE,
                "Input": json.dumps({"Uuid": MAPPING, "Enabled": True}, separators=(",", ":")),
                "RetryPolicy": {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 30},
            },
        }

    def schedule_made(self, at: datetime) -> None:
        answer = {"ScheduleArn": "arn:aws-cn:scheduler:eu-central-1:123456789012:schedule/jobs/x"}
        self.stubs["scheduler"].add_response("create_schedule", answer, self.expect_schedule(at))

    def schedule_refused(self, code: str) -> None:
        self.stubs["scheduler"].add_client_error("create_schedule", code)

    def paused(self) -> None:
        self.stubs["lambda"].add_response(
            "update_event_source_mapping", {"UUID": MAPPING}, {"UUID": MAPPING, "Enabled": False}
        )

    def done(self) -> None:
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()


def opened(clock: Clock, seconds: float = 15) -> State:
    return State(Phase.OPEN, next_at=round((clock.seconds + seconds + START.timestamp()) * 1000))


@pytest.fixture
def aws() -> Aws:
    return Aws()


def pause_of(aws: Aws, now: Callable[[], datetime]) -> MappingPause:
    environment = {
        "JOBS_MAPPING_PARAMETER": PARAMETER,
        "JOBS_SCHEDULER_ROLE_ARN": ROLE,
        "JOBS_SCHEDULE_GROUP": "jobs",
    }
    pause = MappingPause.from_environment(aws.client, now, environment)
    assert pause is not None
    return pause


@pytest.mark.parametrize(
    ("now", "probe", "resume"), [(0.0, 15.0, 60), (25.0, 15.0, 60), (31.0, 15.0, 120), (0.0, 100.0, 120)]
)
def test_a_pause_is_scheduled_to_end_before_it_begins(aws: Aws, now: float, probe: float, resume: int) -> None:
    clock = Clock()
    clock.seconds = now
    aws.schedule_made(START + timedelta(seconds=resume))
    aws.paused()
    pause_of(aws, clock.now)(SMTP, opened(clock, probe))
    assert aws.order == ["ssm", "scheduler", "lambda"]
    aws.done()


def test_a_schedule_that_stands_already_is_enough(aws: Aws) -> None:
    aws.schedule_refused("ConflictException")
    aws.paused()
    clock = Clock()
    pause_of(aws, clock.now)(SMTP, opened(clock))
    aws.done()


def test_nothing_is_paused_without_a_schedule(aws: Aws) -> None:
    aws.schedule_refused("AccessDeniedException")
    clock = Clock()
    with pytest.raises(ClientError, match="AccessDenied"):
        pause_of(aws, clock.now)(SMTP, opened(clock))
    assert aws.order == ["ssm", "scheduler"]


def test_a_pause_is_not_begun_when_its_end_is_near(aws: Aws) -> None:
    clock = Clock()
    aws.schedule_made(START + timedelta(seconds=60))
    moments = iter([0.0, 50.0])
    pause_of(aws, lambda: START + timedelta(seconds=next(moments)))(SMTP, opened(clock))
    assert aws.order == ["ssm", "scheduler"]


@pytest.mark.parametrize("missing", ["JOBS_MAPPING_PARAMETER", "JOBS_SCHEDULER_ROLE_ARN"])
def test_a_workload_without_pause_has_none(aws: Aws, missing: str) -> None:
    environment = {"JOBS_MAPPING_PARAMETER": PARAMETER, "JOBS_SCHEDULER_ROLE_ARN": ROLE}
    del environment[missing]
    assert MappingPause.from_environment(aws.client, Clock().now, environment) is None


def test_a_breaker_pauses_when_it_opens_and_goes_on_if_that_fails(world: World, aws: Aws) -> None:
    aws.schedule_made(START + timedelta(seconds=60))
    aws.paused()
    breaker = Breakers("app", world.table, world.clock.now, Random(1), pause_of(aws, world.clock.now)).of(SMTP)
    world.open(breaker)
    aws.done()
    world.clock.seconds = 15
    admission = breaker.ask("probe")
    assert admission is not None
    aws.schedule_refused("ServiceQuotaExceededException")
    with suppress(Exception):
        assert breaker.failed(admission)
    aws.done()
