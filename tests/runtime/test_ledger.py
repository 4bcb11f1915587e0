"""Each rule of the ledger by example, with a clock that the test moves."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from runtime import Defer, Job, JobContext, Park, fixed, records
from runtime.failure import Failure
from runtime.ledger import KEEP, MAX_RESULT_BYTES, Claim, LostClaimError, reference
from runtime.outcome import Kind, Outcome
from runtime.publisher import Published, Publisher, PublishError
from runtime.records import Cancelled, JobStatus
from runtime.settlement import Settlement
from runtime.table import ConditionFailedError
from runtime.unique import AlreadyQueuedError, publish_unique

from .model.bench import CONFIG, START, Bench, Nothing

DONE = Outcome(Kind.SUCCEEDED)
DEAD = Outcome(Kind.DEAD, "hopeless", error=Failure("Boom", "text"))
PARKED = Outcome(Kind.PARKED, "ask")
RETRY = Outcome(Kind.RETRY, "error", timedelta(seconds=60))
DEFER = Outcome(Kind.DEFER, "busy", timedelta(seconds=60))
REF = "shop##1"


@pytest.fixture
def bench() -> Bench:
    return Bench()


class Acting(Job[Nothing, Any]):
    """``acts`` are done one after the other, one a run; then it succeeds."""

    name = "job"
    retry = fixed(timedelta(seconds=10), max_attempts=3)
    acts: ClassVar[list[Callable[[JobContext], Any]]] = []
    runs: ClassVar[list[int]] = []

    def run(self, args: Nothing, ctx: JobContext) -> Any:
        self.runs.append(ctx.attempt)
        return self.acts.pop(0)(ctx) if self.acts else None


@pytest.fixture
def acting() -> type[Acting]:
    class Fresh(Acting):
        name = "job"
        acts: ClassVar[list[Callable[[JobContext], Any]]] = []
        runs: ClassVar[list[int]] = []

    return Fresh


def fail(ctx: JobContext) -> None:
    raise OSError("busy")


# A worker dies, or is thought dead


def test_a_job_whose_worker_died_waits_for_the_lease_and_runs_again(bench: Bench) -> None:
    message = bench.message()
    assert bench.claim(message).attempt == 1
    bench.wait(seconds=119)
    early = bench.acquire(message)
    assert (early.kind, early.reason) == (Kind.DEFER, "in_progress")
    assert timedelta(seconds=1) <= early.delay <= timedelta(seconds=6)
    bench.wait(seconds=1, milliseconds=1)
    claim = bench.claim(message)
    assert (claim.attempt, claim.crashes) == (2, 1)


def test_the_lease_is_kept_in_milliseconds_and_its_last_one_still_holds(bench: Bench) -> None:
    message = bench.message()
    bench.claim(message)
    assert bench.item["lease"] == START.timestamp() * 1000 + 120_000
    bench.wait(minutes=2)
    assert bench.acquire(message).reason == "in_progress"
    bench.wait(milliseconds=1)
    assert bench.claim(message).attempt == 2


def test_the_time_to_live_is_in_seconds(bench: Bench) -> None:
    bench.claim(bench.message())
    assert bench.item["ttl"] == int((START + KEEP).timestamp())


@pytest.mark.parametrize("remaining", [0.0, -3.0, 0.5, 900.0])
def test_a_lease_is_written_whatever_time_is_left(bench: Bench, acting: type[Acting], remaining: float) -> None:
    leases: list[int] = []
    acting.acts.append(lambda ctx: leases.append(bench.item["lease"]))
    bench.handle(acting, bench.message(), remaining)
    assert leases == [START.timestamp() * 1000 + max(0.0, remaining) * 1000 + 5_000]


def test_without_a_lambda_context_the_job_says_how_long_its_lease_is(bench: Bench, acting: type[Acting]) -> None:
    leases: list[int] = []
    acting.acts.append(lambda ctx: leases.append(bench.item["lease"]))
    acting.lease = timedelta(minutes=7)
    bench.handle(acting, bench.message())
    assert leases == [(START + timedelta(minutes=7)).timestamp() * 1000]


@pytest.mark.parametrize("state", ["RUNNING", "DONE", "DEAD", "RETRY"])
def test_an_expired_record_that_dynamodb_has_not_deleted_counts_as_absent(bench: Bench, state: str) -> None:
    message = bench.message()
    if state == "RUNNING":
        bench.claim(message)
    else:
        bench.end(message, {"DONE": DONE, "DEAD": DEAD, "RETRY": RETRY}[state])
    bench.wait(days=30)
    claim = bench.claim(bench.message(payload={"amount": 2}))
    assert (claim.attempt, claim.crashes) == (1, 0)
    assert bench.item["ttl"] == int((bench.time + KEEP).timestamp())


def test_a_host_whose_clock_is_fast_takes_over_early_but_only_one_of_the_two_counts(bench: Bench) -> None:
    message, fast = bench.message(), bench.ledger_with_clock(timedelta(minutes=5))
    first = bench.claim(message)
    second = bench.claim(message, fast)
    assert bench.ledger.finish(first, message, DONE, ran=True).kind is Kind.LOST
    assert fast.finish(second, message, DONE, ran=True) == DONE


FENCED: dict[str, Callable[[Bench, Claim], Any]] = {
    "finish": lambda bench, claim: bench.ledger.finish(claim, bench.message(), DONE, ran=True),
    "progress": lambda bench, claim: bench.ledger.progress(claim, 1, 1),
    "mark_effect": lambda bench, claim: bench.ledger.mark_effect(claim, "step", "begun"),
    "commit": lambda bench, claim: bench.ledger.commit(claim, [], ["x"], None),
}


@pytest.mark.parametrize("write", FENCED)
@pytest.mark.parametrize("after", ["takeover", "success", "death", "redrive"])
def test_no_write_of_an_old_owner_counts(bench: Bench, write: str, after: str) -> None:
    message = bench.message()
    old = bench.claim(message)
    bench.wait(minutes=3)
    if after == "takeover":
        bench.claim(message)
    else:
        bench.end(message, DONE if after == "success" else DEAD)
    if after == "redrive":
        bench.claim(bench.message(generation=1))
    before = dict(bench.item)
    try:
        outcome = FENCED[write](bench, old)
    except (LostClaimError, ConditionFailedError):
        pass
    else:
        assert outcome.kind is Kind.LOST
    assert bench.item == before


def test_a_result_that_could_not_be_recorded_is_no_error_of_the_job(bench: Bench, acting: type[Acting]) -> None:
    message = bench.message()
    acting.acts.append(lambda ctx: setattr(bench.table, "fault", "refused"))
    outcome = bench.handle(acting, message).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEFER, "ledger_unavailable")
    bench.wait(minutes=3)
    assert bench.handle(acting, replace(message, receive_count=2)).outcome.kind is Kind.SUCCEEDED


# Answers that are lost while the write was done, after which the SDK asks again


def test_a_repeated_claim_is_the_same_claim(bench: Bench) -> None:
    bench.table.fault = "repeated"
    claim = bench.claim(bench.message())
    assert (claim.attempt, claim.crashes) == (1, 0)
    assert bench.item["starts"] == 1


def test_a_repeated_claim_of_a_redriven_job_is_the_same_claim(bench: Bench) -> None:
    bench.end(bench.message(), DEAD)
    bench.wait(minutes=1)
    message, writes = bench.message(), bench.table.writes

    def repeat_the_second() -> None:  # the first is the one that is refused
        if bench.table.writes == writes + 1:
            bench.table.fault = "repeated"

    bench.table.before = repeat_the_second
    claim = bench.acquire(message)
    bench.table.before = lambda: None
    assert isinstance(claim, Claim)
    assert bench.ledger.finish(claim, message, DONE, ran=True) == DONE


@pytest.mark.parametrize("outcome", [DONE, DEAD, PARKED, RETRY, DEFER], ids=lambda outcome: outcome.kind)
def test_a_repeated_outcome_is_recorded_once(bench: Bench, outcome: Outcome) -> None:
    message = bench.message()
    claim = bench.claim(message)
    bench.table.fault = "repeated"
    assert bench.ledger.finish(claim, message, outcome, ran=True) == outcome
    assert bench.item["starts"] == (0 if outcome is DEFER else 1)
    assert bench.item.get("ends", 0) == (0 if outcome is DEFER else 1)


# Attempts, deferrals, crashes


def test_a_retry_waits_for_its_time_unless_its_own_message_comes(bench: Bench) -> None:
    own, other = bench.message(), bench.message()
    bench.end(own, RETRY)
    waiting = bench.acquire(other)
    assert (waiting.kind, waiting.reason) == (Kind.DEFER, "not_due")
    assert timedelta(seconds=60) <= waiting.delay <= timedelta(seconds=65)
    assert bench.claim(own).attempt == 2
    bench.table.items.clear()
    bench.end(own, RETRY)
    bench.wait(seconds=60)
    assert bench.claim(other).attempt == 2


def test_a_deferral_uses_up_no_attempt(bench: Bench) -> None:
    message = bench.message()
    for _ in range(20):
        bench.end(message, DEFER)
    claim = bench.claim(message)
    assert (claim.attempt, claim.crashes) == (1, 0)


def test_attempts_end_where_the_policy_says(bench: Bench, acting: type[Acting]) -> None:
    acting.acts += [fail] * 10
    message, kinds = bench.message(), []
    for receive in range(1, 6):
        kinds.append(bench.handle(acting, replace(message, receive_count=receive)).outcome.kind)
        bench.wait(minutes=1)
    assert kinds[:3] == [Kind.RETRY, Kind.RETRY, Kind.DEAD]
    assert acting.runs == [1, 2, 3]


def test_crashes_use_up_attempts_too(bench: Bench, acting: type[Acting]) -> None:
    acting.max_crashes = 10
    message = bench.message()
    for _ in range(3):
        bench.claim(message)
        bench.wait(minutes=3)
    outcome = bench.handle(acting, message).outcome
    assert (outcome.kind, outcome.reason, acting.runs) == (Kind.DEAD, "attempts_exhausted", [])


def test_after_so_many_crashes_the_job_is_dead(bench: Bench, acting: type[Acting]) -> None:
    acting.retry = fixed(timedelta(seconds=1), max_attempts=10)
    acting.max_attempts, acting.max_crashes = 10, 2
    acting.acts.append(fail)
    message = bench.message()
    bench.claim(message)
    bench.wait(minutes=3)
    assert bench.handle(acting, message).outcome.kind is Kind.RETRY  # one crash: it may run
    bench.wait(minutes=3)
    bench.claim(message)
    bench.wait(minutes=3)
    outcome = bench.handle(acting, message).outcome
    assert (outcome.kind, outcome.reason, acting.runs) == (Kind.DEAD, "crash_loop", [2])


def test_where_a_second_run_could_do_harm_a_crash_parks(bench: Bench, acting: type[Acting]) -> None:
    acting.after_crash = "park"
    message = bench.message()
    bench.claim(message)
    bench.wait(minutes=3)
    outcome = bench.handle(acting, message).outcome
    assert (outcome.kind, outcome.reason, acting.runs) == (Kind.PARKED, "crashed", [])


# The end, late duplicates, redrives


@pytest.mark.parametrize("generation", [0, 1, 7])
def test_done_is_final(bench: Bench, generation: int) -> None:
    bench.end(bench.message(), DONE)
    bench.wait(days=20)
    again = bench.acquire(bench.message(generation=generation))
    assert (again.kind, again.reason) == (Kind.DUPLICATE, "done")


def test_a_redrive_that_took_over_a_waiting_job_runs_once(bench: Bench) -> None:
    """The generation of the last claim counts: else its own redelivery would look like a further redrive."""
    bench.end(bench.message(), RETRY)
    bench.wait(minutes=2)
    redriven = bench.message(generation=1)
    bench.end(redriven, DEAD)
    again = bench.acquire(redriven)
    assert (again.kind, again.reason) == (Kind.DEAD, "hopeless")


def test_a_death_whose_letter_may_not_have_been_sent_is_lettered_again(bench: Bench) -> None:
    message = bench.message()
    bench.end(message, DEAD)
    assert bench.acquire(message) == DEAD


def test_a_late_duplicate_does_not_wake_the_dead_and_is_never_dropped(bench: Bench) -> None:
    """Its twin may have died before it sent the letter: better two letters than none."""
    duplicate = bench.message()
    bench.wait(minutes=1)
    bench.end(bench.message(), DEAD)
    assert bench.acquire(duplicate).kind is Kind.DEAD


@pytest.mark.parametrize("how", ["later", "generation", "letter"])
def test_a_redriven_job_begins_anew(bench: Bench, how: str) -> None:
    first = bench.message()
    bench.claim(first)
    bench.wait(minutes=3)
    bench.end(first, DEAD)
    if how == "later":  # the queue gave it a new id and a new time
        bench.wait(seconds=6)
        message = bench.message()
    elif how == "generation":
        message = bench.message(generation=1)
    else:  # at once: only the attribute of the letter says so
        message = replace(bench.message(), attributes={"dead": {"DataType": "String", "StringValue": "{}"}})
    claim = bench.claim(message)
    assert (claim.attempt, claim.crashes) == (1, 0)
    assert not {"reason", "error", "outcome_at", "ends", "listed"} & set(bench.item)


@pytest.mark.parametrize("outcome", [PARKED, Outcome(Kind.DISCARDED, "stale")], ids=lambda outcome: outcome.kind)
def test_only_a_higher_generation_brings_back_what_is_parked_or_discarded(bench: Bench, outcome: Outcome) -> None:
    bench.end(bench.message(), outcome)
    bench.wait(days=1)
    assert bench.acquire(bench.message()).kind in (Kind.DUPLICATE, Kind.DISCARDED)
    assert bench.claim(bench.message(generation=1)).attempt == 1


def test_what_was_dropped_does_not_stand_in_the_way_of_a_newer_one(bench: Bench) -> None:
    bench.end(bench.message(key="k", id="1"), Outcome(Kind.DISCARDED, "expired"))
    bench.end(bench.message(key="k", id="2"), Outcome(Kind.DISCARDED, "cancelled"))
    assert bench.acquire(bench.message(key="k", id="3")).kind is Kind.DISCARDED


def test_what_is_parked_is_kept_whole_and_without_limit_of_time(bench: Bench) -> None:
    message = bench.message(payload={"amount": 5})
    bench.end(message, PARKED)
    assert bench.item["body"] == message.body
    assert bench.item["listed"] == "shop#PARKED"
    assert "ttl" not in bench.item
    bench.wait(days=400)
    assert bench.acquire(bench.message(payload={"amount": 5})).kind is Kind.DUPLICATE


def test_a_redrive_of_another_job_does_not_throw_away_a_parked_one_of_the_same_key(bench: Bench) -> None:
    bench.end(bench.message(key="k", id="1"), PARKED)
    other = bench.message(key="k", id="2", payload={"amount": 2}, generation=1)
    assert bench.acquire(other).reason == "key_conflict"
    mended = bench.message(key="k", id="1", payload={"amount": 3}, generation=1)  # released with its payload corrected
    assert bench.claim(mended).attempt == 1


@pytest.mark.parametrize("outcome", [None, RETRY, DONE], ids=["running", "retrying", "done"])
def test_another_payload_under_the_same_key_is_a_conflict(bench: Bench, outcome: Outcome | None) -> None:
    first, second = bench.message(key="k"), bench.message(key="k", id="2", payload={"amount": 2})
    if outcome is None:
        bench.claim(first)
    else:
        bench.end(first, outcome)
    bench.wait(minutes=5)
    conflict = bench.acquire(second)
    assert (conflict.kind, conflict.reason) == (Kind.DEAD, "key_conflict")


def test_a_job_keeps_its_record_under_a_new_name(bench: Bench) -> None:
    runs: list[str] = []

    class Renamed(Job[Nothing, None]):
        name = "new"
        aliases = ("old",)
        key = "account"

        def run(self, args: Nothing, ctx: JobContext) -> None:
            runs.append(ctx.job_id)

    engine = bench.engine(Renamed)
    for job_id, name in (("1", "old"), ("2", "new")):
        engine.handle(bench.message(name, id=job_id, key="a", payload={"account": "a"}))
    assert runs == ["1"]


def test_the_order_of_a_payloads_fields_makes_no_difference(bench: Bench) -> None:
    bench.end(bench.message(payload={"a": 1, "b": {"c": 1, "d": 2}}), DONE)
    assert bench.acquire(bench.message(payload={"b": {"d": 2, "c": 1}, "a": 1})).reason == "done"


def test_a_job_without_ledger_is_parked_in_the_dead_letter_queue(bench: Bench, acting: type[Acting]) -> None:
    acting.ledger = False

    def park(ctx: JobContext) -> None:
        raise Park("ask")

    acting.acts.append(park)
    letters: list[dict[str, Any]] = []

    class Sqs:
        def send_message(self, **letter: Any) -> None:
            letters.append(letter)

    report = bench.handle(acting, bench.message())
    observer: Any = None
    assert Settlement(Sqs, CONFIG, observer, parks=True).settle(report) is None
    assert len(letters) == 1


# Status, cancel, unique


def test_status_follows_the_job(bench: Bench) -> None:
    message = bench.message()

    def status() -> JobStatus:
        return records.status(bench.table, REF)

    assert status() == JobStatus("unknown")
    claim = bench.claim(message)
    assert (status().state, status().attempt) == ("running", 1)
    bench.ledger.progress(claim, 3, 3)
    assert (status().done, status().total) == (3, 3)
    bench.ledger.finish(claim, message, Outcome(Kind.RETRY, "error", timedelta(0), Failure("Boom", "")), ran=True)
    assert (status().state, status().reason, status().error) == ("retrying", "error", "Boom")
    bench.end(message, Outcome(Kind.SUCCEEDED, result={"sum": 3}))
    assert (status().state, status().result, status().attempt) == ("done", {"sum": 3}, 2)
    assert status().updated_at == START


@pytest.mark.parametrize("result", [object(), "x" * (MAX_RESULT_BYTES + 1), "\ud800"], ids=["object", "large", "text"])
def test_a_result_that_cannot_be_kept_does_no_harm(bench: Bench, result: object) -> None:
    bench.end(bench.message(), Outcome(Kind.SUCCEEDED, result=result))
    assert records.status(bench.table, REF).state == "done"
    assert "result" not in bench.item
    assert bench.item["result_error"]


def test_cancel_in_every_state(bench: Bench, acting: type[Acting]) -> None:
    def cancel() -> Cancelled:
        return records.cancel(bench.table, REF, bench.time)

    message = bench.message()
    assert cancel() is Cancelled.STOPPED  # nothing known of it: it will not start
    assert cancel() is Cancelled.TOO_LATE
    assert bench.handle(acting, message).outcome == Outcome(Kind.DISCARDED, "cancelled")
    bench.table.items.clear()
    bench.end(message, RETRY)
    assert cancel() is Cancelled.STOPPED
    assert bench.handle(acting, message).outcome == Outcome(Kind.DISCARDED, "cancelled")
    bench.table.items.clear()
    claim = bench.claim(message)
    assert not bench.ledger.is_cancelled(claim)
    assert cancel() is Cancelled.ASKED
    assert bench.ledger.is_cancelled(claim)
    assert records.status(bench.table, REF).cancel_requested
    bench.ledger.finish(claim, message, RETRY, ran=True)  # it did not listen, and failed
    assert bench.handle(acting, message).outcome == Outcome(Kind.DISCARDED, "cancelled")
    for outcome in (DONE, DEAD, PARKED):
        bench.table.items.clear()
        bench.end(message, outcome)
        assert cancel() is Cancelled.TOO_LATE
    assert acting.runs == []


class Key(Job[Nothing, None]):
    name = "keyed"
    key = "account"

    def run(self, args: Nothing, ctx: JobContext) -> None:
        raise Defer(timedelta(0))


class Sender(Publisher):
    """Hands every message to the test, or refuses it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(CONFIG, "w", lambda service: None, bench.now)
        self.refuses = False

    def publish(self, message: Any) -> Published:
        if self.refuses:
            raise PublishError("not now")
        return Published(message.id, True)


def publish(bench: Bench, sender: Sender, job_id: str, *, join: bool = False) -> Published:
    return publish_unique(bench.ledger, sender, sender.message(Key, Nothing(), job_id=job_id), join=join)


def test_a_unique_job_is_refused_or_joined_until_it_has_ended(bench: Bench) -> None:
    sender = Sender(bench)
    payload = {"account": "a", "amount": 1}
    message = bench.message("keyed", id="1", key="a", payload=payload)
    assert publish(bench, sender, "1") == Published("1", True)
    for state in ("queued", "running", "retrying"):
        assert records.status(bench.table, "shop#keyed#a").state == state
        with pytest.raises(AlreadyQueuedError, match="queued or running") as refused:
            publish(bench, sender, "2")
        assert refused.value.job_id == "1"
        assert publish(bench, sender, "3", join=True) == Published("1", True)
        if state == "queued":
            claim = bench.claim(message)
        elif state == "running":
            bench.ledger.finish(claim, message, RETRY, ran=True)
    bench.end(message, Outcome(Kind.SUCCEEDED, result=1))
    assert publish(bench, sender, "4") == Published("4", True)
    assert records.status(bench.table, "shop#keyed#a") == JobStatus("queued")
    again = bench.claim(bench.message("keyed", id="4", key="a", payload=payload))
    assert (again.attempt, again.crashes) == (1, 0)


def test_a_parked_job_keeps_its_key(bench: Bench) -> None:
    """Registering another would throw away what waits for a human."""
    bench.end(bench.message("keyed", key="a", payload={"account": "a", "amount": 1}), PARKED)
    assert publish(bench, Sender(bench), "2", join=True) == Published("1", True)
    assert "body" in bench.item


@pytest.mark.parametrize("how", ["the producer died", "the send failed"])
def test_a_registration_that_nothing_follows_blocks_nobody_and_swallows_nothing(bench: Bench, how: str) -> None:
    sender = Sender(bench)
    if how == "the send failed":
        sender.refuses = True
        with pytest.raises(PublishError):
            publish(bench, sender, "1")
        sender.refuses = False
        assert publish(bench, sender, "2").id == "2"
        return
    publish(bench, sender, "1")
    other = bench.message("keyed", id="2", key="a", payload={"account": "a", "amount": 1})
    assert bench.claim(other).attempt == 1  # the same work, published without `unique`
    bench.table.items.clear()
    publish(bench, sender, "1")
    bench.wait(hours=1)
    assert publish(bench, sender, "3").id == "3"


def test_long_keys_are_hashed_and_do_not_meet_job_ids() -> None:
    long = reference("shop", "job", "1", "k" * 201)
    assert long == reference("shop", "job", "2", "k" * 201)
    assert len(long) < 100
    assert reference("shop", "job", "1", "k" * 200).endswith("k")
    assert reference("shop", "job", "1", None) != reference("shop", "job", "1", "1")


def test_a_state_that_only_a_later_version_knows_is_left_to_it(bench: Bench, acting: type[Acting]) -> None:
    message = bench.message()
    bench.end(message, RETRY)
    bench.table.items[REF]["state"] = "ARCHIVED"
    outcome = bench.handle(acting, message).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEFER, "unknown_state")
