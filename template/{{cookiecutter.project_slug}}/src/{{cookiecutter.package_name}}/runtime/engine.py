"""One delivery in, one outcome out. This is the heart; it knows no queue and no Lambda.

The seven steps of ``Engine._decide`` are the contract. What follows them is done by the caller, in this order: the side
message of the outcome (``settlement``), then the acknowledgement. A crash anywhere means that the message comes again,
never that it is lost.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from .budget import Budget
from .context import JobContext
from .delivery import Delivery
from .envelope import Envelope, NotAJobError, decode, locations
from .execute import JobTimeout, execute
from .failure import Failure
from .job import JobClass
from .ledger import Claim, Ledger, NoLedger
from .outcome import MAX_WAIT, Kind, Outcome
from .policy import decide
from .registry import Registry

if TYPE_CHECKING:
    from .context import Enqueue
    from .observability import Instruments

CLOCK_SKEW = timedelta(
    seconds=5
)  # producer and consumer clocks differ: a deadline counts as passed only after this much more
TIME_IS_UP_SECONDS = 0.1
UNKNOWN_GRACE = timedelta(minutes=15)  # a rolling deploy: jobs of the new version arrive while old consumers still run
UNKNOWN_WAIT = (timedelta(seconds=15), timedelta(minutes=5))


NOT_STARTED = Outcome(Kind.DEFER, "not_started", timedelta(0))
SUCCEEDED = Outcome(Kind.SUCCEEDED)


@dataclass(slots=True)
class Report:
    """What became of one delivery: its outcome, and what was learnt on the way for log line and dead letter."""

    delivery: Delivery
    outcome: Outcome = NOT_STARTED
    envelope: Envelope | None = None
    job: JobClass | None = None
    attempt: int = 0
    run_seconds: float | None = None
    finished_at: datetime | None = None
    log_fields: Mapping[str, Any] = field(default_factory=dict)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Engine:
    """Turns deliveries into outcomes.

    Args:
        registry: wire names and their classes.
        enqueue: publishes the follow-up jobs of ``ctx.enqueue``.
        instruments: the Logger and Metrics of ``ctx``.
        ledger: owner of the jobs' state.
        now: the clock; aware, UTC.
        random: source of jitter.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        enqueue: "Enqueue",
        instruments: "Instruments",
        ledger: Ledger | None = None,
        now: Callable[[], datetime] = utc_now,
        random: Random | None = None,
    ) -> None:
        self.registry = registry
        self.ledger: Ledger = ledger or NoLedger()
        self._enqueue = enqueue
        self._instruments = instruments
        self._now = now
        self._random = random or SystemRandom()
        self._longest: dict[str, float] = {}  # seconds of the longest run of each job in this process

    def handle(self, delivery: Delivery, budget: Budget | None = None) -> Report:
        """Take one message through the seven steps.

        Args:
            delivery: the message.
            budget: the time of the invocation; None means no limit.
        """
        report = Report(delivery)
        outcome = self._decide(report, budget)
        if outcome.kind in (Kind.RETRY, Kind.DEFER) and delivery.is_last_receive:
            # One receive more and the queue would move the message itself, without a word why.
            outcome = Outcome(Kind.DEAD, f"receives_exhausted ({outcome.reason})", error=outcome.error)
        report.outcome = outcome
        report.finished_at = self._now()
        return report

    def _decide(self, report: Report, budget: Budget | None) -> Outcome:
        delivery = report.delivery

        # 1. Decode the header. The payload stays untouched, so that a job with a broken payload still has a name.
        try:
            envelope = report.envelope = decode(delivery.body)
        except NotAJobError as error:
            return Outcome(Kind.DEAD, error.reason, error=Failure.of(error))

        # 2. Due yet?
        now = self._now()
        if envelope.not_before is not None and envelope.not_before > now:
            return Outcome(Kind.DEFER, "not_due", min(envelope.not_before - now, MAX_WAIT))

        # 3. Find the class, then apply its rule for a passed deadline.
        try:
            job = report.job = self.registry.find(envelope.job)
        except BaseException as error:  # the job's module does not import: a broken deploy, which the next one mends
            return self._unknown(envelope, delivery, now, "import_failed", error)
        if job is None:
            return self._unknown(envelope, delivery, now, "unknown_job")
        if _is_past(envelope, now):
            return Outcome(Kind.DISCARDED if job.regenerable else Kind.PARKED, "expired")

        # 4. Payload: lift an old version, validate.
        if envelope.v > job.version:
            return self._unknown(envelope, delivery, now, "newer_version")
        try:
            raw = _lifted(job, envelope)
        except BaseException as error:  # an upcaster is a pure function: it will always raise
            return Outcome(Kind.DEAD, "upcast_failed", error=Failure.of(error))
        try:
            args = _validated(job, raw)
        except ValidationError as invalid:
            return Outcome(Kind.DEAD, "invalid_payload", error=Failure("ValidationError", locations(invalid)))
        except BaseException as error:  # a validator of the model raised something of its own
            return Outcome(Kind.DEAD, "invalid_payload", error=Failure.of(error))
        if job.log_fields:
            report.log_fields = {name: getattr(args, name) for name in job.log_fields}

        # 5. Claim the job, if there is time to run it.
        needed = max(self._longest.get(job.name, 0.0), job.timeout.total_seconds() if job.timeout else 0.0)
        if budget is not None and not budget.allows(needed):
            return Outcome(Kind.DEFER, "no_time_left", timedelta(0))
        claim = self.ledger.acquire(job, envelope, delivery)
        if isinstance(claim, Outcome):
            return claim
        report.attempt = claim.attempt

        # 6. Run it, and classify what it raised.
        outcome = self._run(job, args, claim, report, budget)
        if outcome.kind is Kind.RETRY and outcome.delay is not None and _is_past(envelope, self._now() + outcome.delay):
            outcome = Outcome(
                Kind.DISCARDED if job.regenerable else Kind.PARKED, "no_time_before_deadline", error=outcome.error
            )

        # 7. Record the outcome before anything is sent or acknowledged.
        return self.ledger.finish(claim, envelope, outcome)

    def _run(self, job: JobClass, args: BaseModel, claim: Claim, report: Report, budget: Budget | None) -> Outcome:
        envelope = report.envelope
        assert envelope is not None
        own_limit = job.timeout.total_seconds() if job.timeout else None
        left = None if budget is None else max(budget.left(), 0.05)
        limit = left if own_limit is None or (left is not None and left < own_limit) else own_limit
        started = time.monotonic()
        context = JobContext(
            envelope=envelope,
            attempt=claim.attempt,
            max_attempts=job.retry.max_attempts,
            now=self._now,
            remaining=lambda: float("inf") if limit is None else limit - (time.monotonic() - started),
            enqueue=self._enqueue,
            instruments=self._instruments,
            job_name=job.name,
        )
        squeezed = budget is not None and budget.runs > 0 and limit is not None and limit != own_limit
        if budget is not None:
            budget.runs += 1
        try:
            result = execute(lambda: job().run(args, context), limit)
        # Everything, SystemExit and MemoryError included: one job's end must not be the end of its neighbours.
        except BaseException as error:
            if isinstance(error, JobTimeout) and squeezed and budget is not None and budget.left() < TIME_IS_UP_SECONDS:
                # It was stopped by the end of the invocation, after its neighbours had used up most of it: not its
                # fault.
                return Outcome(Kind.DEFER, "no_time_left", timedelta(0), Failure.of(error))
            return decide(
                error,
                claim.attempt,
                retry=job.retry,
                on=job.on,
                regenerable=job.regenerable,
                random=self._random,
            )
        else:
            return SUCCEEDED if result is None else Outcome(Kind.SUCCEEDED, result=result)
        finally:
            seconds = report.run_seconds = time.monotonic() - started
            self._longest[job.name] = max(seconds, self._longest.get(job.name, 0.0))
            if context.total is not None:
                report.log_fields = {
                    **report.log_fields,
                    "progress_done": context.done,
                    "progress_total": context.total,
                }
            self._instruments.end_of_run()

    def _unknown(
        self, envelope: Envelope, delivery: Delivery, now: datetime, reason: str, error: BaseException | None = None
    ) -> Outcome:
        """No code here for this job. Give a rolling deploy time to bring it, then keep the job for a human."""
        failure = Failure.of(error) if error is not None else None
        if delivery.sent_at is not None:
            first_seen = datetime.fromtimestamp(delivery.sent_at, UTC)
        else:
            first_seen = envelope.enqueued_at or now
        if now - first_seen < UNKNOWN_GRACE:
            shortest, longest = UNKNOWN_WAIT
            return Outcome(
                Kind.DEFER, reason, min(longest, shortest * 2 ** min(delivery.receive_count - 1, 10)), failure
            )
        return Outcome(Kind.PARKED, reason, error=failure)


def _is_past(envelope: Envelope, moment: datetime) -> bool:
    return envelope.expires_at is not None and moment - CLOCK_SKEW > envelope.expires_at


def _lifted(job: JobClass, envelope: Envelope) -> dict[str, Any]:
    raw, version = envelope.payload, envelope.v
    while version in job.upcasters:
        version, lift = job.upcasters[version]
        raw = lift(dict(raw))
    return raw


def _validated(job: JobClass, raw: dict[str, Any]) -> BaseModel:
    try:
        return job.payload_model.model_validate(raw)
    except ValidationError:
        # Strict fields accept a date or a Decimal only as Python objects here, but as text when read from JSON: what
        # counts is JSON.
        return job.payload_model.model_validate_json(to_json(raw))
