"""``JobContext``: what a running job may ask and do besides its payload."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .envelope import Envelope

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger, Metrics
    from pydantic import BaseModel

    from .job import Job
    from .observability import Instruments
    from .publisher import Published

    Enqueue = Callable[..., Published]


class JobContext:
    """Handed to ``run``. One per run; nothing in it outlives the run.

    Attributes:
        envelope: the header the job came with.
        job_id: unique per published job; the same in every attempt.
        attempt: number of this run of the job's code, from 1.
        max_attempts: what the job's ``retry`` policy allows.
        tenant, correlation: from the header; jobs enqueued through the context inherit both.
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
    ) -> None:
        self.envelope = envelope
        self.job_id = envelope.id
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.tenant = envelope.tenant
        self.correlation = envelope.correlation or envelope.id
        self._now = now
        self._remaining = remaining
        self._enqueue = enqueue
        self._instruments = instruments
        self._job_name = job_name
        self.done: int | None = None
        self.total: int | None = None

    def now(self) -> datetime:
        """The current time, aware, in UTC. Tests move it with ``jobs.advance``."""
        return self._now()

    def remaining(self) -> timedelta:
        """How long this run may still take before it is stopped."""
        return timedelta(seconds=max(0.0, self._remaining()))

    def progress(self, done: int, total: int) -> None:
        """Say how far the job is, in units of its own. The last report stands in the job's log line."""
        self.done, self.total = done, total

    def enqueue(self, job: "type[Job[Any, Any]]", args: "BaseModel", **options: Any) -> "Published":
        """Publish a follow-up job; see ``App.enqueue``. Tenant and correlation are inherited unless given.

        Raises:
            PublishError: the job was not accepted; let it pass, and this job is retried.
        """
        return self._enqueue(job, args, **{"tenant": self.tenant, "correlation": self.correlation, **options})

    @property
    def logger(self) -> "Logger":
        """A Powertools Logger with the job's keys bound. Created on first use: importing it costs every cold start 44
        ms.
        """
        return self._instruments.logger(
            job=self._job_name, job_id=self.job_id, attempt=self.attempt, correlation_id=self.correlation
        )

    @property
    def metrics(self) -> "Metrics":
        """Powertools Metrics, flushed when the run ends. Created on first use."""
        return self._instruments.metrics()
