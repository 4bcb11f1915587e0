"""One delivery in, one outcome out. This is the heart; it knows no queue and no Lambda.

The seven steps of ``Engine._decide`` are the contract. What follows them is done by the caller, in this order: the side
message of the outcome (``settlement``), then the acknowledgement. A crash anywhere means that the message comes again,
never that it is lost.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from .budget import Budget
from .claims import ClaimError, ClaimStore, fault_outcome, not_configured
from .context import JobContext
from .delivery import Delivery
from .effects import Effects
from .envelope import Envelope, NotAJobError, decode, locations
from .execute import JobTimeout, execute
from .failure import Failure
from .job import JobClass
from .key import business_key
from .ledger import Claim, JobLedger, Ledger, Leftover, LostClaimError, NoLedger
from .outcome import MAX_WAIT, Defer, Kind, Outcome, Park
from .policy import decide
from .registry import Registry

if TYPE_CHECKING:
    from .breaker import Breakers, Gate
    from .context import Enqueue
    from .observability import Instruments
    from .publisher import Message
    from .watch import Watch

CLOCK_SKEW = timedelta(
    seconds=5
)  # producer and consumer clocks differ: a deadline counts as passed only after this much more
LEASE_MARGIN_SECONDS = 5.0  # a killed function's clock and its successor's may differ by that much
LEDGER_FAULT_SECONDS = (10.0, 30.0)
TIME_IS_UP_SECONDS = 0.1
DEFER_AT_MOST = timedelta(days=1)  # after that a job that was only ever put off is a dead letter, for somebody to see
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
    crashed: bool = False
    run_seconds: float | None = None
    finished_at: datetime | None = None
    log_fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def receives(self) -> int:
        """How often the job was handed out, this time included: as the queue counts or, without one, its header."""
        put_off = self.envelope.put_off if self.envelope is not None else None
        return self.delivery.receive_count + (put_off.times if put_off is not None else 0)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was claimed, for whoever watches over it."""

    job: JobClass
    claim: Claim
    ledger: Ledger
    report: Report
    limit: float | None


def utc_now() -> datetime:
    return datetime.now(UTC)


class Engine:
    """Turns deliveries into outcomes.

    Args:
        registry: wire names and their classes.
        prepare: encodes a follow-up job (``Publisher.message``).
        publish: sends an encoded job (``Publisher.publish``).
        publish_all: sends several, or raises (``Publisher.publish_all``).
        instruments: the Logger and Metrics of ``ctx``.
        longest_wait: how long a job can be kept back; more than a message can be hidden takes a delay machine.
        breakers: returns the breakers of the jobs' dependencies; asked only if a job has some.
        ledger: owner of the jobs' state.
        claims: where payloads are that were too large for a message; None if the stack has no claim check.
        now: the clock; aware, UTC.
        random: source of jitter.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        prepare: "Callable[..., Message]",
        publish: "Enqueue",
        publish_all: "Callable[[Sequence[Message]], None]",
        instruments: "Instruments",
        ledger: Ledger | None = None,
        claims: ClaimStore | None = None,
        breakers: "Callable[[], Breakers] | None" = None,
        longest_wait: timedelta = MAX_WAIT,
        now: Callable[[], datetime] = utc_now,
        random: Random | None = None,
    ) -> None:
        self.registry = registry
        self.ledger: Ledger = ledger or NoLedger()
        self._prepare, self._publish, self._publish_all = prepare, publish, publish_all
        self._claims = claims
        self._longest_wait = longest_wait
        self._instruments = instruments
        self._breakers = breakers or _no_breakers
        self._now = now
        self._random = random or SystemRandom()
        self._longest: dict[str, float] = {}  # seconds of the longest run of each job in this process

    def handle(self, delivery: Delivery, budget: Budget | None = None, watch: "Watch | None" = None) -> Report:
        """Take one message through the seven steps.

        Args:
            delivery: the message.
            budget: the time of the invocation; None means no limit.
            watch: who keeps the message in hand while the job runs, where that is not one invocation.
        """
        report = Report(delivery)
        report.outcome = self._last_chance(self._decide(report, budget, watch), report)
        report.finished_at = self._now()
        return report

    def stop(self, run: Run, error: BaseException) -> Report:
        """Record the end of a run that cannot tell it itself: it was killed, or its process has to end. What it still
        does does not count.
        """
        if run.job.after_crash == "park" and run.claim.owner:
            error = Park("crashed")  # it was cut off anywhere: whether a second run would do harm only a human knows
        report = replace(run.report, finished_at=self._now())
        outcome = self._last_chance(self._within_limits(self._classify(run, error), run.job, report), report)
        report.outcome = self._finish(run.ledger, run.claim, report, outcome, ran=True)
        return report

    def _decide(self, report: Report, budget: Budget | None, watch: "Watch | None") -> Outcome:
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
            return self._unknown(report, now, "import_failed", error)
        if job is None:
            return self._unknown(report, now, "unknown_job")
        envelope = report.envelope = _with_deadline(envelope, job)
        late = _is_past(envelope, now)
        if envelope.job != job.name:  # one record per key, whatever the job was called when it was sent
            envelope = report.envelope = envelope.model_copy(update={"job": job.name})
        if late and (job.key is None or envelope.key is not None):
            return self._end(report, job, _too_late(job, Outcome(Kind.PARKED, "expired")))

        # 4. Payload: fetch it if it did not fit into the message, lift an old version, validate; the business key.
        if envelope.v > job.version:
            return self._unknown(report, now, "newer_version")
        try:
            envelope = self._fetched(envelope)
        except ClaimError as error:
            return fault_outcome(error, job.retry, envelope.attempts_before, report.receives, self._random)
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
        try:
            envelope = report.envelope = envelope.model_copy(update={"key": business_key(job, args)})
        except BaseException as error:  # no usable key, or a key function that raised: it is pure, so it always will
            return Outcome(Kind.DEAD, "missing_key", error=Failure.of(error))
        if late:  # its producer did not send the key that names its record
            return self._end(report, job, _too_late(job, Outcome(Kind.PARKED, "expired")))
        if job.log_fields:
            report.log_fields = {name: getattr(args, name) for name in job.log_fields}

        # 5. Claim the job, if there is time to run it.
        needed = max(self._longest.get(job.name, 0.0), job.timeout.total_seconds() if job.timeout else 0.0)
        if budget is not None and not budget.allows(needed):
            return Outcome(Kind.DEFER, "no_time_left", timedelta(0))
        if watch is not None and watch.stopping:
            return Outcome(Kind.DEFER, "shutdown", timedelta(0))
        gate = self._open_gate(job, report) if job.dependencies else None
        if isinstance(gate, Defer):
            return Outcome(Kind.DEFER, gate.reason, gate.delay)
        ledger = self.ledger_of(job)
        claim = self._acquire(ledger, report, _lease(job, budget, watch))
        if isinstance(claim, Outcome):
            return claim
        report.attempt, report.crashed = claim.attempt, claim.new_crash

        # 6. Run it, and classify what it raised.
        effects = Effects(ledger if isinstance(ledger, JobLedger) else None, claim, envelope, self._prepare)
        outcome = _must_not_run(job, claim)
        ran = outcome is None
        if outcome is None:
            outcome = self._run(job, args, claim, effects, gate, report, budget, watch)
            outcome = self._last_chance(self._within_limits(outcome, job, report), report)

        # 7. Record the outcome before anything is sent or acknowledged. What was committed is recorded already.
        if outcome.kind is Kind.LOST:
            return outcome
        if effects.committed:
            return self._publish_leftover(Leftover(claim.ref, effects.outbox, claim.owner), outcome)
        return self._finish(ledger, claim, report, outcome, ran=ran)

    def _fetched(self, envelope: Envelope) -> Envelope:
        if envelope.claim is None:
            return envelope
        if self._claims is None:
            raise not_configured()
        return self._claims.fetch(envelope)

    def _run(
        self,
        job: JobClass,
        args: BaseModel,
        claim: Claim,
        effects: Effects,
        gate: "Gate | None",
        report: Report,
        budget: Budget | None,
        watch: "Watch | None",
    ) -> Outcome:
        envelope = report.envelope
        assert envelope is not None
        own_limit = job.timeout.total_seconds() if job.timeout else None
        left = None if budget is None else max(budget.left(), 0.05)
        limit = left if own_limit is None or (left is not None and left < own_limit) else own_limit
        started = time.monotonic()
        run = Run(job, claim, self.ledger_of(job), report, limit)

        def report_progress(done: int, total: int) -> None:
            if watch is not None:
                watch.progress(done, total)
            if not effects.committed:  # the record of what is done is not touched any more
                run.ledger.progress(claim, done, total)

        def call() -> Any:
            return execute(lambda: job().run(args, context), limit)

        context = JobContext(
            envelope=envelope,
            attempt=claim.attempt,
            max_attempts=job.retry.max_attempts,
            now=self._now,
            remaining=lambda: MAX_WAIT.total_seconds() if limit is None else limit - (time.monotonic() - started),
            enqueue=self._publish,
            instruments=self._instruments,
            job_name=job.name,
            effects=effects,
            cancelled=lambda: run.ledger.is_cancelled(claim),
            gate=gate,
            new_gate=lambda: self._breakers().gate(envelope.id, report.delivery.receives_left),
            report_progress=report_progress,
            watch=watch,
        )
        squeezed = budget is not None and budget.runs > 0 and limit is not None and limit != own_limit
        if budget is not None:
            budget.runs += 1
        try:
            result = call() if watch is None else watch.execute(run, call)
        except LostClaimError as error:
            return Outcome(Kind.LOST, "owner_changed", error=Failure.of(error))
        # Everything, SystemExit and MemoryError included: one job's end must not be the end of its neighbours.
        except BaseException as error:
            if effects.committed:  # it is done, whatever its last lines did
                return Outcome(Kind.SUCCEEDED, "raised_after_commit", error=Failure.of(error))
            if isinstance(error, JobTimeout) and squeezed and budget is not None and budget.left() < TIME_IS_UP_SECONDS:
                # It was stopped by the end of the invocation, after its neighbours had used up most of it: not its
                # fault.
                return Outcome(Kind.DEFER, "no_time_left", timedelta(0), Failure.of(error))
            if gate is not None:
                error = gate.failed(error)
            return self._classify(run, error)
        else:
            if gate is not None:
                gate.succeeded()
            return SUCCEEDED if result is None else Outcome(Kind.SUCCEEDED, result=result)
        finally:
            seconds = report.run_seconds = time.monotonic() - started
            # Half of what was: one slow run must not keep its successors from starting for good.
            self._longest[job.name] = max(seconds, self._longest.get(job.name, 0.0) / 2)
            if context.total is not None:
                report.log_fields = {
                    **report.log_fields,
                    "progress_done": context.done,
                    "progress_total": context.total,
                }
            self._instruments.end_of_run()

    def _classify(self, run: Run, error: BaseException) -> Outcome:
        job = run.job
        return decide(
            error,
            run.claim.attempt,
            retry=job.retry,
            on=job.on,
            regenerable=job.regenerable,
            random=self._random,
        )

    def _within_limits(self, outcome: Outcome, job: JobClass, report: Report) -> Outcome:
        """A retry has to come before the job's deadline, and within what a message can wait here."""
        if outcome.kind is not Kind.RETRY or outcome.delay is None:
            return outcome
        if report.envelope is not None and _is_past(report.envelope, self._now() + outcome.delay):
            return _too_late(job, Outcome(Kind.PARKED, "no_time_before_deadline", error=outcome.error))
        if outcome.delay > self._longest_wait:
            return Outcome(Kind.DEAD, "wait_needs_delay_machine", error=outcome.error)
        return outcome

    def _open_gate(self, job: JobClass, report: Report) -> "Gate | Defer":
        assert report.envelope is not None
        return self._breakers().open_gate(job.dependencies, report.envelope.id, report.delivery.receives_left)

    def ledger_of(self, job: JobClass | None) -> Ledger:
        return self.ledger if job is None or job.ledger else _NO_LEDGER

    def _acquire(self, ledger: Ledger, report: Report, lease: timedelta) -> Claim | Outcome:
        envelope = report.envelope
        assert envelope is not None
        try:
            claim = ledger.acquire(envelope, report.delivery, lease)
        except Exception as error:
            return self._ledger_fault(error)
        if isinstance(claim, Leftover):
            return self._publish_leftover(claim, Outcome(Kind.DUPLICATE, "done"))
        return claim

    def _finish(self, ledger: Ledger, claim: Claim, report: Report, outcome: Outcome, *, ran: bool) -> Outcome:
        try:
            return ledger.finish(claim, report.delivery, outcome, ran=ran)
        except Exception as error:
            return self._ledger_fault(error)

    def _ledger_fault(self, error: Exception) -> Outcome:
        """The ledger does not answer. The message stays; when it comes again, the lease of this claim has ended."""
        wait = timedelta(seconds=self._random.uniform(*LEDGER_FAULT_SECONDS))
        return Outcome(Kind.DEFER, "ledger_unavailable", wait, Failure.of(error))

    def _publish_leftover(self, leftover: Leftover, outcome: Outcome) -> Outcome:
        """Publish the follow-up jobs of a committed job. Until that is done the message stays and does it again."""
        if not leftover.outbox:
            return outcome
        try:
            from .publisher import Message

            self._publish_all([Message.from_json(text) for text in leftover.outbox])
            assert isinstance(self.ledger, JobLedger)
            self.ledger.clear_outbox(leftover)
        except Exception as error:
            wait = timedelta(seconds=self._random.uniform(*LEDGER_FAULT_SECONDS))
            return Outcome(Kind.DEFER, "outbox_not_published", wait, Failure.of(error))
        return outcome

    def _end(self, report: Report, job: JobClass | None, outcome: Outcome) -> Outcome:
        """End a job that is not run: claim it, so that nobody still runs it and its follow-up jobs are published, and
        record why.
        """
        ledger = self.ledger_of(job)
        claim = self._acquire(ledger, report, _lease(job, None, None))
        if isinstance(claim, Outcome):
            return claim
        return self._finish(ledger, claim, report, outcome, ran=False)

    def _last_chance(self, outcome: Outcome, report: Report) -> Outcome:
        """One receive more and the queue would move the message itself, without a word why.

        A deferred job has done nothing wrong: settlement gives it a new message, for a day (on a FIFO queue that would
        break the order). Without a queue every wait is a new message, and nobody would ever end them.
        """
        if outcome.kind not in (Kind.RETRY, Kind.DEFER):
            return outcome
        if _put_off_too_long(outcome, report, self._now()):
            return Outcome(Kind.DEAD, f"put_off_too_long ({outcome.reason})", error=outcome.error)
        if not report.delivery.is_last_receive:
            return outcome
        born = report.envelope.enqueued_at if report.envelope is not None else None
        young = born is not None and self._now() - born < DEFER_AT_MOST
        if outcome.kind is Kind.DEFER and young and not report.delivery.fifo:
            return outcome
        return Outcome(Kind.DEAD, f"receives_exhausted ({outcome.reason})", error=outcome.error)

    def _unknown(self, report: Report, now: datetime, reason: str, error: BaseException | None = None) -> Outcome:
        """No code here for this job. Give a rolling deploy time to bring it, then keep the job for a human."""
        envelope, delivery = report.envelope, report.delivery
        assert envelope is not None
        failure = Failure.of(error) if error is not None else None
        # From the first receive: a backlog is older than any deploy.
        seen = delivery.first_received_at or delivery.sent_at
        first_seen = datetime.fromtimestamp(seen, UTC) if seen is not None else envelope.enqueued_at or now
        if envelope.put_off is not None:
            first_seen = min(first_seen, envelope.put_off.since)
        if now - first_seen < UNKNOWN_GRACE:
            shortest, longest = UNKNOWN_WAIT
            wait = min(longest, shortest * 2 ** min(report.receives - 1, 10))
            return Outcome(Kind.DEFER, reason, wait, failure)
        return self._end(report, report.job, Outcome(Kind.PARKED, reason, error=failure))


_NO_LEDGER = NoLedger()


def _lease(job: JobClass | None, budget: Budget | None, watch: "Watch | None") -> timedelta:
    if watch is not None:
        return watch.lease  # as long as the message is hidden: renewed together with it
    if budget is not None:
        # After that the function is killed: nobody renews the lease, and nobody else has to wait longer.
        return timedelta(seconds=budget.until_killed() + LEASE_MARGIN_SECONDS)
    return job.lease if job is not None else timedelta(minutes=2)


def _no_breakers() -> "Breakers":
    raise RuntimeError("this engine was made without breakers; App gives it some")


def _must_not_run(job: JobClass, claim: Claim) -> Outcome | None:
    """What the record says before the job may run. Only a ledger knows."""
    if not claim.owner:
        return None
    unknown = sorted(step for step, state in claim.effects.items() if state == "begun")
    if unknown:
        return Outcome(Kind.PARKED, f"effect_unknown: {unknown[0]}")
    if claim.cancelled:
        return Outcome(Kind.DISCARDED, "cancelled")
    if claim.crashes >= job.max_crashes:
        return Outcome(Kind.DEAD, "crash_loop")
    if claim.crashes and job.after_crash == "park":
        return Outcome(Kind.PARKED, "crashed")
    if claim.attempt > job.max_attempts:  # crashes and lost outcomes used the attempts up
        return Outcome(Kind.DEAD, "attempts_exhausted")
    return None


def _put_off_too_long(outcome: Outcome, report: Report, now: datetime) -> bool:
    put_off = report.envelope.put_off if report.envelope is not None else None
    used_an_attempt = outcome.kind is Kind.RETRY and report.attempt > 0
    return put_off is not None and not used_an_attempt and now - put_off.since >= DEFER_AT_MOST


def _too_late(job: JobClass, parked: Outcome) -> Outcome:
    """A passed deadline: a regenerable job may be dropped, any other is kept."""
    return Outcome(Kind.DISCARDED, parked.reason, error=parked.error) if job.regenerable else parked


def _with_deadline(envelope: Envelope, job: JobClass) -> Envelope:
    """A schedule cannot reckon: the deadline of its occurrence is set here. One that a human sends again has none."""
    if envelope.occurrence is None or job.ttl is None or envelope.expires_at is not None or envelope.generation:
        return envelope
    return envelope.model_copy(update={"expires_at": envelope.occurrence + job.ttl})


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
