"""``App``: the one object of a project, through which jobs are published and consumed. Making it costs nothing; parts
are made on use.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from . import clients
from .config import Config
from .effects import LedgerRequiredError
from .engine import Engine, Report, utc_now
from .job import JobClass
from .ledger import JobLedger, Ledger, NoLedger, reference
from .observability import Instruments, Observer
from .outcome import MAX_RETRY_WAIT, MAX_WAIT
from .registry import Registry

# What a consumer may never use is imported when it is used: a cold start waits for all the rest.
if TYPE_CHECKING:
    from .breaker import Breakers
    from .claims import ClaimStore
    from .direct_entry import DirectSettlement
    from .publisher import Published, Publisher
    from .records import Cancelled, JobStatus
    from .settlement import Settlement
    from .table import Table

Settles = TypeVar("Settles", bound="Settlement")


class App:
    """Ties the jobs of one package to one stack.

    Args:
        name: service name in logs and metrics, unless the stack sets one.
        jobs: dotted name of the package that holds the job classes.
        workload: workload of jobs that name none.
    """

    def __init__(self, name: str, *, jobs: str, workload: str) -> None:
        self.name, self.jobs_package, self.workload = name, jobs, workload
        self.now = utc_now
        self.client: Callable[[str], Any] = clients.client

    def enqueue(
        self,
        job: JobClass,
        args: BaseModel,
        *,
        delay: timedelta | None = None,
        at: datetime | None = None,
        ttl: timedelta | None = None,
        tenant: str | None = None,
        correlation: str | None = None,
        traceparent: str | None = None,
        context: Mapping[str, str] | None = None,
        job_id: str | None = None,
        unique: Literal["refuse", "join"] | None = None,
    ) -> "Published":
        """Publish one job.

        Args:
            job: the job class.
            args: its payload model.
            delay: not before this much from now: up to 900 s, or 364 days if the workload has a delay machine.
            at: or not before this time; aware. A time that is past means now.
            ttl: deadline counted from now; default: the job's ``ttl``.
            tenant: whose work it is, 1 to 128 letters, digits and punctuation; on standard queues it keeps one tenant
                from starving the others.
            correlation: an id shared by everything one request causes.
            traceparent: W3C trace context of the request.
            context: up to ten words of the request's own, such as user and locale: they are logged, so nothing secret.
            job_id: default: a random one. On FIFO queues SQS drops a second job with the same id for five minutes.
            unique: what to do if a job with this business key is queued or running: "refuse" raises AlreadyQueuedError,
                "join" sends nothing and returns that job's id. None: send it; the ledger runs a key once.

        Returns:
            the job's id and ``ok=True``.

        Raises:
            PublishError: the job breaks a rule, or AWS did not accept it.
            AlreadyQueuedError: see ``unique``.
            ConfigurationError: the environment does not say where the topic is.
        """
        message = self.publisher.message(
            job,
            args,
            delay=delay,
            at=at,
            ttl=ttl,
            tenant=tenant,
            correlation=correlation,
            traceparent=traceparent,
            context=context,
            job_id=job_id,
        )
        if unique is None:
            return self.publisher.publish(message)
        from .unique import publish_unique

        return publish_unique(self._job_ledger("unique"), self.publisher, message, join=unique == "join")

    def status(
        self,
        job_id: str | None = None,
        *,
        job: JobClass | None = None,
        key: object = None,
        occurrence: datetime | None = None,
    ) -> "JobStatus":
        """What became of a job: by its id, or, if its class declares a business key, by class and key (and by the
        schedule's time, if a schedule sent it).

        Raises:
            LedgerRequiredError: the stack has no ledger.
        """
        from . import records

        ref = self._reference(job_id, job, key, occurrence)
        return records.status(self._job_ledger("app.status").table, ref, self.claims)

    def cancel(
        self,
        job_id: str | None = None,
        *,
        job: JobClass | None = None,
        key: object = None,
        occurrence: datetime | None = None,
    ) -> "Cancelled":
        """Stop a job that has not started, or ask a running one (``ctx.cancelled``). Arguments as of ``status``."""
        from . import records

        ref = self._reference(job_id, job, key, occurrence)
        return records.cancel(self._job_ledger("app.cancel").table, ref, self.now())

    def _reference(self, job_id: str | None, job: JobClass | None, key: object, occurrence: datetime | None) -> str:
        if (job_id is None) is (job is None):
            raise ValueError("give either a job's id, or `job` and `key`")
        if job is None:
            return reference(self.config.app, "", str(job_id), None)
        from .key import written_key

        if occurrence is not None and occurrence.tzinfo is None:
            raise ValueError(f"occurrence={occurrence.isoformat()!r} has no time zone; add tzinfo=UTC")
        return reference(self.config.app, job.name, "", written_key(job, key), occurrence)

    def _job_ledger(self, what: str) -> JobLedger:
        if not isinstance(self.ledger, JobLedger):
            raise LedgerRequiredError(what)
        return self.ledger

    def enqueue_many(
        self,
        job: JobClass,
        payloads: Iterable[BaseModel],
        *,
        delay: timedelta | None = None,
        at: datetime | None = None,
        ttl: timedelta | None = None,
        tenant: str | None = None,
        correlation: str | None = None,
        traceparent: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> "list[Published]":
        """Publish many jobs of one class, ten a call (one a call through the delay machine); arguments as ``enqueue``.

        Returns:
            one result per payload, in order. A send that failed is in the list with ``ok=False``, it does not raise;
            only these may be sent again.

        Raises:
            PublishError: a payload breaks a rule; then nothing was sent.
        """
        return self.publisher.enqueue_many(
            job,
            payloads,
            delay=delay,
            at=at,
            ttl=ttl,
            tenant=tenant,
            correlation=correlation,
            traceparent=traceparent,
            context=context,
        )

    def lambda_handler(self, *, acknowledge: Literal["each", "batch"] | None = None) -> Callable[[Any, Any], Any]:
        """The function for Terraform's ``handler``.

        Args:
            acknowledge: "each" deletes a finished message before the next job starts, so that it is not run again if
                the process dies in mid-batch; one API call per message but the last. "batch" saves these calls. None:
                "each" for jobs without a ledger record, "batch" for the others, which the record keeps from running
                again.
        """
        from .budget import Budget
        from .lambda_entry import deliveries, run_batch

        # Now, in the init phase: a broken job class fails the deployment, not the first message.
        self.registry  # noqa: B018

        def acknowledge_now(report: Report) -> bool:
            if acknowledge is not None:
                return acknowledge == "each"
            return not (self.ledger.keeps_parked and report.job is not None and report.job.ledger)

        def handler(event: Any, context: Any) -> Any:
            engine, settlement, observer = self._consumer
            batch = deliveries(event, self.config.max_receive_count)
            observer.start(getattr(context, "aws_request_id", None))
            budget = Budget(lambda: context.get_remaining_time_in_millis() / 1000)
            return run_batch(batch, engine, settlement, observer, budget, acknowledge_now=acknowledge_now)

        return handler

    def direct_handler(self) -> Callable[[Any, Any], None]:
        """The function for Terraform's ``handler`` of a direct workload: a topic invokes it, without a queue.

        What it cannot finish waits in the workload's delay machine. An invocation fails only if its job is safe nowhere
        else: Lambda's failure destination then keeps it.
        """
        from .budget import Budget
        from .direct_entry import deliveries, run_direct

        self.registry  # noqa: B018 - as in lambda_handler

        def handler(event: Any, context: Any) -> None:
            engine, settlement, observer = self._direct_consumer
            batch = deliveries(event)
            observer.start(getattr(context, "aws_request_id", None))
            budget = Budget(lambda: context.get_remaining_time_in_millis() / 1000)
            run_direct(batch, engine, settlement, observer, budget)

        return handler

    @cached_property
    def _direct_consumer(self) -> "tuple[Engine, DirectSettlement, Observer]":
        from .direct_entry import DirectSettlement

        config = self.config
        config.require(JOBS_DLQ_URL=config.dlq_url, JOBS_DELAY_MACHINE_ARN=config.delay_machine_arn)
        return self._parts(DirectSettlement)

    @cached_property
    def _consumer(self) -> "tuple[Engine, Settlement, Observer]":
        from .settlement import Settlement

        config = self.config
        config.require(JOBS_QUEUE_URL=config.queue_url, JOBS_DLQ_URL=config.dlq_url)
        return self._parts(Settlement)

    def _parts(self, settle: "type[Settles]") -> "tuple[Engine, Settles, Observer]":
        config = self.config
        observer = Observer(config.service, config.workload, config.namespace)
        engine = Engine(
            self.registry,
            prepare=lambda *args, **options: self.publisher.prepare(*args, **options),
            publish=lambda message: self.publisher.publish(message),
            publish_all=lambda messages: self.publisher.publish_all(messages),
            ledger=self.ledger,
            claims=self.claims,
            breakers=lambda: self.breakers,
            instruments=self._instruments,
            longest_wait=MAX_RETRY_WAIT if config.delay_machine_arn else MAX_WAIT,
            now=lambda: self.now(),
        )
        settlement = settle(
            lambda: self.client("sqs"),
            config,
            observer,
            code_version=self.registry.code_version,
            parks=self.ledger.keeps_parked,
            machines=lambda: self.client("stepfunctions"),
            claims=self.claims,
            now=lambda: self.now(),
        )
        return engine, settlement, observer

    @cached_property
    def config(self) -> Config:
        return Config.from_environment(self.name)

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.jobs_package)

    @cached_property
    def publisher(self) -> "Publisher":
        from .publisher import Publisher  # most consumers publish nothing

        return Publisher(self.config, self.workload, lambda service: self.client(service), lambda: self.now())

    @cached_property
    def claims(self) -> "ClaimStore | None":
        """Where payloads are that were too large for a message; None if the stack has no claim check."""
        if not self.config.claim_bucket:
            return None
        from .claims import ClaimStore

        return ClaimStore(self.config.claim_bucket, self.config.claim_prefix, lambda: self.client("s3"))

    @cached_property
    def ledger(self) -> Ledger:
        """The stack's ledger, or one that keeps nothing if the stack has none."""
        if not self.config.table:
            return NoLedger()
        return JobLedger(
            self.config.app, self._table(), lambda: self.now(), workload=self.config.workload, claims=self.claims
        )

    @cached_property
    def breakers(self) -> "Breakers":
        """Shared by all workers through the ledger's table; without a table each process has its own."""
        from .breaker import Breakers
        from .breaker_pause import MappingPause

        pause = MappingPause.from_environment(lambda service: self.client(service), lambda: self.now())
        return Breakers(self.config.app, self._table(), lambda: self.now(), on_open=pause)

    def _table(self) -> "Table":
        from .dynamodb import DynamoTable
        from .table import MemoryTable

        return DynamoTable(self.config.table, lambda: self.client("dynamodb")) if self.config.table else MemoryTable()

    @cached_property
    def _instruments(self) -> Instruments:
        return Instruments(self.config.service, self.config.namespace)
