"""``JobContext``: what a running job may ask and do besides its payload."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .effects import FollowUp, Operation, delete, put, update
from .envelope import Envelope, request_fields

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger, Metrics
    from pydantic import BaseModel

    from .breaker import Gate
    from .breaker_state import Dependency
    from .effects import Effects
    from .job import JobClass
    from .observability import Instruments
    from .publisher import Message, Published

    Enqueue = Callable[[Message], Published]


class JobContext:
    """Handed to ``run``. One per run; nothing in it outlives the run.

    Attributes:
        envelope: the header the job came with.
        job_id: unique per published job; the same in every attempt.
        attempt: number of this run of the job's code, from 1.
        max_attempts: what the job's ``retry`` policy allows.
        tenant, correlation: from the header.
        context: the request's own words (user, locale, ...) from the header.
        occurrence: the time of the schedule that this job is for, in UTC; None for a job that no schedule sent. It says
            which hour or day to work on: the clock does not, since a job may be late.

    Jobs enqueued through the context inherit tenant, correlation, trace and context, and name this job as their cause.
    """

    def __init__(
        self,
        *,
        envelope: Envelope,
        attempt: int,
        max_attempts: int,
        now: Callable[[], datetime],
        remaining: Callable[[], float],
        enqueue: "Enqueue",
        instruments: "Instruments",
        job_name: str,
        effects: "Effects",
        cancelled: Callable[[], bool],
        report_progress: Callable[[int, int], None],
        gate: "Gate | None",
        new_gate: "Callable[[], Gate]",
    ) -> None:
        self.envelope = envelope
        self.job_id = envelope.id
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.tenant = envelope.tenant
        self.correlation = envelope.correlation or envelope.id
        self.context: Mapping[str, str] = envelope.context
        self.occurrence = envelope.occurrence
        self._now = now
        self._remaining = remaining
        self._enqueue = enqueue
        self._instruments = instruments
        self._job_name = job_name
        self._effects = effects
        self._cancelled = cancelled
        self._report_progress = report_progress
        self._gate, self._new_gate = gate, new_gate
        self.done: int | None = None
        self.total: int | None = None

    def now(self) -> datetime:
        """The current time, aware, in UTC. Tests move it with ``jobs.advance``."""
        return self._now()

    def remaining(self) -> timedelta:
        """How long this run may still take before it is stopped."""
        return timedelta(seconds=max(0.0, self._remaining()))

    def progress(self, done: int, total: int) -> None:
        """Say how far the job is, in units of its own: for ``app.status`` (a write every few seconds) and the job's log
        line.
        """
        self.done, self.total = done, total
        self._report_progress(done, total)

    def enqueue(self, job: "JobClass", args: "BaseModel", **options: Any) -> "Published":
        """Publish a follow-up job; see ``App.enqueue``. What the class says is inherited, unless it is given.

        Raises:
            PublishError: the job was not accepted; let it pass, and this job is retried.
        """
        return self._enqueue(self._effects.child(job, args, self._inherited(options)))

    def follow_up(self, job: "JobClass", args: "BaseModel", **options: Any) -> "FollowUp":
        """A follow-up job for ``commit``: published if the commit succeeds, else not. Options as of ``enqueue``."""
        return FollowUp(self._effects.child(job, args, self._inherited(options)))

    def commit(self, *operations: "Operation | FollowUp", result: Any = None) -> None:
        """Complete the job in one transaction with its own DynamoDB writes and its follow-up jobs, exactly once.

        If it succeeds, the job is done whatever happens afterwards; if it does not, nothing of it has happened. At most
        99 writes, in the account and region of the ledger (DynamoDB API "TransactWriteItems").

        Args:
            operations: what ``put``, ``update``, ``delete`` and ``follow_up`` return.
            result: kept with the job, readable by ``app.status``.

        Raises:
            LedgerRequiredError: the stack has no ledger, or the job declined it.
            Exception: a condition of a write did not hold.
        """
        self._effects.commit(operations, result)

    put = staticmethod(put)
    update = staticmethod(update)
    delete = staticmethod(delete)

    def effect_key(self, step: str) -> str:
        """An idempotency key for the other side: the same in every attempt and after a redrive."""
        return self._effects.key(step)

    def effect(self, step: str, *, clean: tuple[type[BaseException], ...] = ()) -> AbstractContextManager[bool]:
        """Guard a call that cannot be taken back and whose other side knows no idempotency key::

            with ctx.effect("charge", clean=(CardDeclined,)) as needed:
                if needed:
                    charge(args)

        ``needed`` is False if an earlier attempt has done it. If an earlier attempt began it and never told how it
        ended, nobody knows whether it happened: the job is parked with the reason ``effect_unknown``, not repeated.
        The same if the call raises something that is not in ``clean``, the errors that surely mean "nothing happened".
        """
        return self._effects.once(step, clean)

    def breaker(
        self, dependency: "str | Dependency", *, ignore: tuple[type[BaseException], ...] = ()
    ) -> AbstractContextManager[None]:
        """Guard the use of something that may be down::

            with ctx.breaker("smtp"):
                send(args)

        If it is down the body is not run, and the job is put off without using up an attempt. Exceptions that mean
        "down" count, those in ``ignore`` are answers. The breaker is shared by all workers.
        """
        if self._gate is None:
            self._gate = self._new_gate()
        return self._gate.guard(dependency, ignore=ignore)

    @property
    def cancelled(self) -> bool:
        """Whether somebody called ``app.cancel`` for this job. Asks the ledger: a read each time."""
        return self._cancelled()

    def _inherited(self, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "tenant": self.tenant,
            "correlation": self.correlation,
            "causation": self.job_id,
            "traceparent": self.envelope.traceparent,
            **options,
            "context": {**self.context, **options.get("context", {})},
        }

    @property
    def logger(self) -> "Logger":
        """A Powertools Logger with the job's keys bound. Created on first use: importing it costs every cold start 44
        ms.
        """
        return self._instruments.logger(
            job=self._job_name, job_id=self.job_id, attempt=self.attempt, **request_fields(self.envelope)
        )

    @property
    def metrics(self) -> "Metrics":
        """Powertools Metrics, flushed when the run ends. Created on first use."""
        return self._instruments.metrics()
