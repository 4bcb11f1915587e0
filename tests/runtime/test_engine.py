"""One delivery in, one outcome out: the seven steps, in their order."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from runtime.budget import Budget
from runtime.context import JobContext
from runtime.delivery import Delivery
from runtime.engine import CLOCK_SKEW, UNKNOWN_GRACE, UNKNOWN_WAIT
from runtime.envelope import Envelope
from runtime.job import Job, JobClass, upcast
from runtime.ledger import Claim
from runtime.outcome import MAX_WAIT, Defer, Kind, Outcome, Permanent, Retry
from runtime.policy import fixed, linear

from .helpers import NOW, JobSet, Work, body, delivery, engine, handle, job_of, nothing, raising, seconds


def at(moment: Any) -> str:
    return str(moment.isoformat())


def test_a_job_that_returns_has_succeeded() -> None:
    report = handle(job_of(lambda args, ctx: args.label), body("a"))
    assert report.outcome == Outcome(Kind.SUCCEEDED, result="a")
    assert report.attempt == 1
    assert report.run_seconds is not None


def test_what_is_no_job_is_dead_at_once_and_nothing_runs() -> None:
    ran: list[Work] = []
    report = handle(job_of(lambda args, ctx: ran.append(args)), "hello")
    assert (report.outcome.kind, report.outcome.reason) == (Kind.DEAD, "undecodable")
    assert (ran, report.envelope, report.attempt, report.run_seconds) == ([], None, 0, None)


def test_a_job_before_its_time_waits_for_exactly_the_rest() -> None:
    outcome = handle(job_of(nothing), body(not_before=at(NOW + seconds(90)))).outcome
    assert outcome == Outcome(Kind.DEFER, "not_due", seconds(90))


def test_a_wait_longer_than_a_message_can_be_hidden_is_taken_in_steps() -> None:
    outcome = handle(job_of(nothing), body(not_before=at(NOW + timedelta(days=3)))).outcome
    assert outcome == Outcome(Kind.DEFER, "not_due", MAX_WAIT)


def test_a_job_whose_time_has_come_runs() -> None:
    assert handle(job_of(nothing), body(not_before=at(NOW))).outcome.kind is Kind.SUCCEEDED


@pytest.mark.parametrize(("regenerable", "kind"), [(True, Kind.DISCARDED), (False, Kind.PARKED)])
def test_past_its_deadline_a_job_is_not_started(regenerable: bool, kind: Kind) -> None:
    ran: list[Work] = []
    job = job_of(lambda args, ctx: ran.append(args), regenerable=regenerable)
    outcome = handle(job, body(expires_at=at(NOW - CLOCK_SKEW - seconds(0.001)))).outcome
    assert outcome == Outcome(kind, "expired")
    assert ran == []


def test_the_deadline_forgives_clocks_that_differ() -> None:
    assert handle(job_of(nothing), body(expires_at=at(NOW - CLOCK_SKEW))).outcome.kind is Kind.SUCCEEDED


@pytest.mark.parametrize(("regenerable", "kind"), [(True, Kind.DISCARDED), (False, Kind.PARKED)])
def test_no_retry_is_planned_for_after_the_deadline(regenerable: bool, kind: Kind) -> None:
    job = job_of(raising(ValueError()), retry=fixed(seconds(100), max_attempts=5), regenerable=regenerable)
    outcome = handle(job, body(expires_at=at(NOW + seconds(50)))).outcome
    assert (outcome.kind, outcome.reason) == (kind, "no_time_before_deadline")
    assert outcome.error is not None
    assert outcome.error.name == "ValueError"
    assert handle(job, body(expires_at=at(NOW + seconds(150)))).outcome.kind is Kind.RETRY


@pytest.mark.parametrize(("receives", "wait"), [(1, 15), (2, 30), (3, 60), (5, 240), (6, 300), (40, 300)])
def test_an_unknown_job_waits_for_the_deploy_that_brings_it(receives: int, wait: int) -> None:
    outcome = handle(job_of(nothing), body(job="other.job"), receive_count=receives).outcome
    assert outcome == Outcome(Kind.DEFER, "unknown_job", seconds(wait))
    assert UNKNOWN_WAIT[0] <= seconds(wait) <= UNKNOWN_WAIT[1]


def test_an_unknown_job_is_parked_after_the_grace() -> None:
    sent = (NOW - UNKNOWN_GRACE).timestamp()
    assert handle(job_of(nothing), body(job="other.job"), sent_at=sent).outcome == Outcome(Kind.PARKED, "unknown_job")


@pytest.mark.parametrize(("age", "kind"), [(timedelta(minutes=14), Kind.DEFER), (UNKNOWN_GRACE, Kind.PARKED)])
def test_the_grace_counts_from_publishing_when_the_queue_says_nothing(age: timedelta, kind: Kind) -> None:
    text = body(job="other.job", enqueued_at=at(NOW - age))
    assert handle(job_of(nothing), text, sent_at=None).outcome.kind is kind


def test_a_module_that_does_not_import_defers_its_jobs_only() -> None:
    class Broken(JobSet):
        def find(self, name: str) -> JobClass | None:
            if name == "broken":
                raise ImportError("no module named secret")
            return super().find(name)

    subject = engine(job_of(nothing))
    subject.registry = Broken(job_of(nothing))
    broken = subject.handle(delivery(body(job="broken"))).outcome
    assert (broken.kind, broken.reason) == (Kind.DEFER, "import_failed")
    assert broken.error is not None
    assert broken.error.name == "ImportError"
    assert subject.handle(delivery()).outcome.kind is Kind.SUCCEEDED


def test_a_newer_payload_waits_for_newer_code() -> None:
    assert handle(job_of(nothing, version=2), body(v=3)).outcome.reason == "newer_version"
    assert handle(job_of(nothing, version=3), body(v=3)).outcome.kind is Kind.SUCCEEDED


def test_a_payload_that_does_not_fit_the_model_is_dead_and_the_note_names_places_not_values() -> None:
    outcome = handle(job_of(nothing), body(payload={"label": {"secret": 1}})).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEAD, "invalid_payload")
    assert outcome.error is not None
    assert outcome.error.message == "label: string_type"


class Amount(BaseModel):
    model_config = ConfigDict(strict=True)
    cents: int
    currency: str


class Lifted(Job[Amount, str]):
    name = "lifted"
    version = 3

    @upcast(1, 2)
    def cents(raw: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {**{k: v for k, v in raw.items() if k != "euros"}, "cents": raw["euros"] * 100}

    @upcast(2, 3)
    def currency(raw: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {**raw, "currency": "EUR"}

    def run(self, args: Amount, ctx: JobContext) -> str:
        return f"{args.cents} {args.currency}"


@pytest.mark.parametrize(
    ("version", "payload"), [(1, {"euros": 7}), (2, {"cents": 700}), (3, {"cents": 700, "currency": "EUR"})]
)
def test_old_payloads_are_lifted_step_by_step(version: int, payload: dict[str, Any]) -> None:
    assert handle(Lifted, body(job="lifted", v=version, payload=payload)).outcome.result == "700 EUR"


def test_an_upcaster_that_raises_is_dead_at_once() -> None:
    outcome = handle(Lifted, body(job="lifted", v=1, payload={})).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEAD, "upcast_failed")


def test_strict_models_take_what_json_can_hold() -> None:
    from datetime import date
    from decimal import Decimal

    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date
        price: Decimal

    class StrictJob(Job[Strict, Any]):
        name = "strict"

        def run(self, args: Strict, ctx: JobContext) -> Any:
            return args.day, args.price

    outcome = handle(StrictJob, body(job="strict", payload={"day": "2030-02-01", "price": "9.90"})).outcome
    assert outcome.result == (date(2030, 2, 1), Decimal("9.90"))


def test_a_job_answers_to_its_former_names() -> None:
    assert handle(job_of(nothing, aliases=("old.name",)), body(job="old.name")).outcome.kind is Kind.SUCCEEDED


def test_attempts_are_those_of_the_message_and_those_before_it() -> None:
    seen: list[int] = []
    job = job_of(lambda args, ctx: seen.append(ctx.attempt))
    assert handle(job, body(attempts_before=4), receive_count=3).attempt == 7
    assert seen == [7]


@pytest.mark.parametrize("error", [ValueError(), Retry(), Retry(seconds(3)), Defer(seconds(3))])
def test_on_its_last_receive_a_message_is_dead_lettered_with_a_reason(error: Exception) -> None:
    job = job_of(raising(error), retry=fixed(seconds(1), max_attempts=100))
    assert handle(job, receive_count=9, max_receive_count=10).outcome.kind in (Kind.RETRY, Kind.DEFER)
    outcome = handle(job, receive_count=10, max_receive_count=10).outcome
    assert outcome.kind is Kind.DEAD
    assert outcome.reason.startswith("receives_exhausted (")
    assert outcome.error is not None


def test_success_on_the_last_receive_stays_success() -> None:
    assert handle(job_of(nothing), receive_count=10, max_receive_count=10).outcome.kind is Kind.SUCCEEDED


class Recording:
    """A ledger that tells in which order it was asked."""

    keeps_parked = True

    def __init__(self, journal: list[str], answer: Outcome | None = None, finish: Outcome | None = None) -> None:
        self.journal, self.answer, self.ending = journal, answer, finish

    def is_cancelled(self, claim: Claim) -> bool:
        return False

    def progress(self, claim: Claim, done: int, total: int) -> None:
        self.journal.append(f"progress {done}/{total}")

    def acquire(self, envelope: Envelope, delivery: Delivery, lease: timedelta) -> Claim | Outcome:
        self.journal.append(f"acquire {envelope.id}")
        return self.answer or Claim(2, "record", "me")

    def finish(self, claim: Claim, delivery: Delivery, outcome: Outcome, *, ran: bool) -> Outcome:
        self.journal.append(f"finish {claim.attempt} {outcome.kind}")
        return self.ending or outcome


def test_the_outcome_is_recorded_before_the_caller_learns_of_it() -> None:
    journal: list[str] = []
    job = job_of(lambda args, ctx: journal.append(f"run {ctx.attempt}"))
    report = engine(job, ledger=Recording(journal)).handle(delivery(body("a")))
    assert journal == ["acquire job-a", "run 2", "finish 2 succeeded"]
    assert report.attempt == 2


def test_a_duplicate_is_not_run() -> None:
    journal: list[str] = []
    ledger = Recording(journal, answer=Outcome(Kind.DUPLICATE, "done_before"))
    report = engine(job_of(lambda args, ctx: journal.append("run")), ledger=ledger).handle(delivery())
    assert (report.outcome.kind, journal) == (Kind.DUPLICATE, ["acquire job-"])


def test_a_job_lost_to_another_owner_stays_lost_even_on_the_last_receive() -> None:
    ledger = Recording([], finish=Outcome(Kind.LOST, "other_owner"))
    report = engine(job_of(nothing), ledger=ledger).handle(delivery(receive_count=10, max_receive_count=10))
    assert report.outcome.kind is Kind.LOST


def test_what_was_not_run_is_not_claimed() -> None:
    journal: list[str] = []
    subject = engine(job_of(nothing), ledger=Recording(journal))
    for text in ("hello", body(job="other"), body(payload={"label": 1}), body(not_before=at(NOW + seconds(9)))):
        subject.handle(delivery(text))
    assert journal == []


def test_without_time_left_a_job_is_not_started() -> None:
    ran: list[str] = []
    subject = engine(job_of(lambda args, ctx: ran.append(args.label), timeout=seconds(20)))
    clock = [60.0]
    budget = Budget(lambda: clock[0])
    assert subject.handle(delivery(body("a")), budget).outcome.kind is Kind.SUCCEEDED
    clock[0] = 24.0  # 19 without the reserve of 5, less than the job may take
    assert subject.handle(delivery(body("b")), budget).outcome == Outcome(Kind.DEFER, "no_time_left", seconds(0))
    clock[0] = 26.0
    assert subject.handle(delivery(body("c")), budget).outcome.kind is Kind.SUCCEEDED
    assert ran == ["a", "c"]


def test_the_first_job_of_an_invocation_always_starts() -> None:
    assert engine(job_of(nothing, timeout=seconds(900))).handle(delivery(), Budget(lambda: 6.0)).outcome.kind is (
        Kind.SUCCEEDED
    )


def test_a_context_tells_the_job_about_itself() -> None:
    seen: dict[str, Any] = {}

    def act(args: Work, ctx: JobContext) -> None:
        seen.update(id=ctx.job_id, attempts=ctx.max_attempts, tenant=ctx.tenant, correlation=ctx.correlation)
        seen.update(now=ctx.now(), remaining=ctx.remaining(), envelope=ctx.envelope.job)

    handle(job_of(act, retry=linear(step=seconds(1), max_attempts=7), timeout=seconds(30)), body("a", tenant="t"))
    assert seconds(9) < seen.pop("remaining") <= seconds(30)
    assert seen == {
        "id": "job-a",
        "attempts": 7,
        "tenant": "t",
        "correlation": "job-a",  # of a job that nobody gave one: its own id
        "now": NOW,
        "envelope": "probe",
    }


def test_follow_up_jobs_inherit_tenant_and_correlation_unless_given() -> None:
    sent: list[dict[str, Any]] = []

    def prepare(job: JobClass, args: BaseModel, **options: Any) -> None:
        sent.append({name: options[name] for name in ("tenant", "correlation", "delay") if name in options})

    def act(args: Work, ctx: JobContext) -> None:
        ctx.enqueue(Lifted, args, delay=seconds(1))
        ctx.enqueue(Lifted, args, tenant="other", correlation=None)

    engine(job_of(act), prepare=prepare).handle(delivery(body(tenant="t", correlation="c")))
    assert sent == [
        {"tenant": "t", "correlation": "c", "delay": seconds(1)},
        {"tenant": "other", "correlation": None},
    ]


def test_progress_and_listed_fields_reach_the_report() -> None:
    report = handle(job_of(lambda args, ctx: ctx.progress(3, 9), log_fields=("label",)), body("a"))
    assert report.log_fields == {"label": "a", "progress_done": 3, "progress_total": 9}


def test_a_permanent_failure_needs_no_attempts() -> None:
    outcome = handle(job_of(raising(Permanent("gone")))).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEAD, "gone")
