"""A pytest plugin: run jobs through the real engine, in memory, with a clock that the test moves.

In ``conftest.py``::

    pytest_plugins = ["acme.runtime.testing"]

    @pytest.fixture
    def app() -> App:
        return application

Then ``def test_x(jobs): ...``. Payloads take the way they take in production: to JSON and back, through the job's own
model. Only the network is missing.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic_core import from_json, to_json, to_jsonable_python

from .app import App
from .budget import Budget
from .config import Config
from .delivery import Delivery
from .engine import Engine
from .envelope import Envelope, decode, encode
from .job import JobClass
from .ledger import JobLedger
from .observability import Instruments
from .outcome import Kind, Outcome
from .table import MemoryTable

if TYPE_CHECKING:
    from .breaker import Breakers

QUEUE_ARN = "arn:aws:sqs:us-east-1:123456789012:test-jobs"
MAX_RUNS = 10_000


@dataclass(frozen=True)
class Enqueued:
    """One job that was published during the test."""

    job: str
    payload: Mapping[str, Any]
    workload: str
    envelope: Envelope
    group: str | None = None
    delay: timedelta = timedelta(0)


@dataclass
class DrainReport:
    """How many deliveries ended in which outcome."""

    succeeded: int = 0
    retried: int = 0
    deferred: int = 0
    dead: int = 0
    parked: int = 0
    discarded: int = 0
    duplicate: int = 0
    lost: int = 0
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)

    def add(self, job: str, outcome: Outcome) -> None:
        name = {Kind.RETRY: "retried", Kind.DEFER: "deferred"}.get(outcome.kind, str(outcome.kind))
        setattr(self, name, getattr(self, name) + 1)
        self.outcomes.append((job, outcome))


@dataclass
class _Waiting:
    body: str
    due: datetime
    sent: datetime
    group: str | None
    message_id: str = field(default_factory=lambda: str(uuid4()))
    receives: int = 0


class Jobs:
    """The ``jobs`` fixture.

    Attributes:
        enqueued: every job published during the test, in order.
        table: the ledger that ``drain`` uses, in memory.
        dead_letters: messages that the Lambda handler sent to the dead-letter queue, as arguments of boto3's
            ``send_message``.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._offset = timedelta(0)
        self._queue: list[_Waiting] = []
        self.enqueued: list[Enqueued] = []
        self.dead_letters: list[dict[str, Any]] = []
        self._instruments = Instruments(app.name)
        self.table = MemoryTable()
        self.ledger = JobLedger(app.name, self.table, self.now)

    def now(self) -> datetime:
        """The test's time."""
        return datetime.now(UTC) + self._offset

    def advance(self, **time: float) -> None:
        """Move the clock forward: ``jobs.advance(hours=3)``; keywords as of ``timedelta``."""
        step = timedelta(**time)
        if step < timedelta(0):
            raise ValueError(f"advance({time}): time does not go backwards")
        self._offset += step

    def run(
        self,
        job: JobClass,
        /,
        *,
        attempt: int = 1,
        tenant: str | None = None,
        remaining: timedelta | None = None,
        occurrence: datetime | None = None,
        **payload: Any,
    ) -> Outcome:
        """Run one job once and return its outcome. Nothing is raised for a job that fails.

        Args:
            job: the class.
            attempt: number of the attempt, from 1.
            tenant: as of ``App.enqueue``.
            remaining: time the invocation has left; default: no limit.
            occurrence: the time of the schedule that the job is for (``ctx.occurrence``); aware.
            **payload: the fields of its payload.
        """
        body = self._body(job, tenant, payload, attempts_before=attempt - 1, occurrence=occurrence)
        delivery = Delivery(body, str(uuid4()), sent_at=self.now().timestamp())
        budget = None
        if remaining is not None:
            end = time.monotonic() + remaining.total_seconds()
            budget = Budget(lambda: end - time.monotonic())
        # A ledger of its own: what an earlier `run` of the same key did does not make this one a duplicate.
        return self._engine(JobLedger(self._app.name, MemoryTable(), self.now)).handle(delivery, budget).outcome

    def body(
        self, job: JobClass, /, *, tenant: str | None = None, occurrence: datetime | None = None, **payload: Any
    ) -> str:
        """The message body of a job, for ``sqs_event``."""
        return self._body(job, tenant, payload, attempts_before=0, occurrence=occurrence)

    def _body(
        self,
        job: JobClass,
        tenant: str | None,
        payload: Mapping[str, Any],
        *,
        attempts_before: int,
        occurrence: datetime | None,
    ) -> str:
        # Not through the payload model: a test may send what no producer of this version would.
        raw = from_json(to_json(payload))
        now = self.now()
        # Of a scheduled job the engine reckons the deadline, from the schedule's time.
        expires = now + job.ttl if job.ttl is not None and occurrence is None else None
        return encode(
            Envelope(
                id=str(uuid4()),
                job=job.name,
                v=job.version,
                tenant=tenant,
                enqueued_at=now,
                expires_at=expires,
                occurrence=occurrence,
                attempts_before=attempts_before,
                payload=raw,
            )
        )

    def drain(self, within: timedelta = timedelta(0)) -> DrainReport:
        """Run what was enqueued and is due, follow-up jobs included.

        Args:
            within: go on for so much of the test's time: the clock moves to each retry and delay as it falls due.

        Raises:
            AssertionError: jobs enqueue each other without end.
        """
        report, end, engine = DrainReport(), self.now() + within, self._engine()
        while self._queue:
            item = min(self._queue, key=lambda waiting: waiting.due)
            wait = item.due - self.now()
            if wait > timedelta(0):
                if item.due > end:
                    break
                self._offset += wait
            self._queue.remove(item)
            item.receives += 1
            outcome = engine.handle(
                Delivery(item.body, item.message_id, item.receives, sent_at=item.sent.timestamp(), group=item.group)
            ).outcome
            report.add(decode(item.body).job, outcome)
            if outcome.kind in (Kind.RETRY, Kind.DEFER):
                item.due = self.now() + (outcome.delay or timedelta(0))
                self._queue.append(item)
            assert len(report.outcomes) < MAX_RUNS, f"still not drained after {MAX_RUNS} deliveries: a loop of jobs?"
        return report

    def assert_enqueued(self, job: JobClass, /, **fields: Any) -> Enqueued:
        """Return the first enqueued job of this class whose payload has these fields, or fail with what there is."""
        expected = to_jsonable_python(fields)
        candidates = [e for e in self.enqueued if e.job == job.name]
        for candidate in candidates:
            if all(candidate.payload.get(name, _MISSING) == value for name, value in expected.items()):
                return candidate
        have = [dict(c.payload) for c in candidates] or f"only {sorted({e.job for e in self.enqueued})}"
        raise AssertionError(f"no {job.name!r} with {expected} was enqueued; there is {have}")

    def refute_enqueued(self, job: JobClass, /, **fields: Any) -> None:
        """Fail if a job of this class with these payload fields was enqueued."""
        expected = to_jsonable_python(fields)
        for e in self.enqueued:
            if e.job == job.name and all(e.payload.get(name, _MISSING) == value for name, value in expected.items()):
                raise AssertionError(f"{job.name!r} was enqueued with {dict(e.payload)}")

    @cached_property
    def _breakers(self) -> "Breakers":
        from .breaker import Breakers

        return Breakers(self._app.name, MemoryTable(), self.now)

    def _engine(self, ledger: JobLedger | None = None) -> Engine:
        return Engine(
            self._app.registry,
            prepare=lambda *args, **options: self._app.publisher.prepare(*args, **options),
            publish=lambda message: self._app.publisher.publish(message),
            publish_all=lambda messages: self._app.publisher.publish_all(messages),
            ledger=ledger or self.ledger,
            breakers=lambda: self._breakers,
            instruments=self._instruments,
            now=self.now,
        )

    # What the publisher and the settlement send, received: the few calls of SNS and SQS that the runtime makes.

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803
        for entry in PublishBatchRequestEntries:
            self._accept(entry["Message"], entry)
        return {"Successful": [{"Id": entry["Id"]} for entry in PublishBatchRequestEntries], "Failed": []}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803
        for entry in Entries:
            self._accept(entry["MessageBody"], entry)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries], "Failed": []}

    def send_message(self, **letter: Any) -> dict[str, Any]:
        self.dead_letters.append(letter)
        return {"MessageId": str(uuid4())}

    def delete_message(self, **_: Any) -> dict[str, Any]:
        return {}

    def change_message_visibility_batch(self, **_: Any) -> dict[str, Any]:
        return {}

    def _accept(self, body: str, entry: Mapping[str, Any]) -> None:
        envelope = decode(body)
        delay = timedelta(seconds=entry.get("DelaySeconds", 0))
        now, group = self.now(), entry.get("MessageGroupId")
        due = max(now + delay, envelope.not_before or now)
        workload = entry["MessageAttributes"]["workload"]["StringValue"]
        self.enqueued.append(Enqueued(envelope.job, envelope.payload, workload, envelope, group, due - now))
        self._queue.append(_Waiting(body, due, now, group))


_MISSING = object()


@pytest.fixture
def jobs(app: App) -> Iterator[Jobs]:
    """Runs jobs of the project's ``app`` in memory; see ``Jobs``."""
    tester = Jobs(app)
    before = dict(vars(app))
    for part in ("publisher", "breakers", "claims", "_consumer", "_direct_consumer"):
        vars(app).pop(part, None)
    vars(app)["ledger"] = tester.ledger
    vars(app)["config"] = Config(
        service=app.name,
        app=app.name,
        workload=app.workload,
        queue_url="https://sqs.test/queue",
        dlq_url="https://sqs.test/dlq",
        topic_arn="arn:aws:sns:us-east-1:123456789012:test-jobs",
        fifo_topic_arn="arn:aws:sns:us-east-1:123456789012:test-jobs.fifo",
    )
    app.client = lambda service: tester  # noqa: ARG005
    app.now = tester.now
    yield tester
    registry = vars(app).get("registry")
    vars(app).clear()
    vars(app).update(before)
    if registry is not None:
        vars(app)["registry"] = registry


def sqs_event(
    bodies: Sequence[str | Envelope],
    *,
    queue_arn: str = QUEUE_ARN,
    groups: Sequence[str | None] | None = None,
    receive_count: int = 1,
    attributes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An event as Lambda's SQS mapping sends it.

    Args:
        bodies: one record each; an envelope is encoded.
        queue_arn: source of all of them; ``.fifo`` at its end makes it a FIFO queue.
        groups: message group of each record.
        receive_count: how often SQS has handed them out.
        attributes: message attributes of each record, as texts.
    """
    sent = str(int(time.time() * 1000))
    return {
        "Records": [
            {
                "messageId": str(uuid4()),
                "receiptHandle": f"receipt-{number}",
                "body": body if isinstance(body, str) else encode(body),
                "attributes": {
                    "ApproximateReceiveCount": str(receive_count),
                    "SentTimestamp": sent,
                    "SenderId": "AROAEXAMPLE",
                    "ApproximateFirstReceiveTimestamp": sent,
                    **({"MessageGroupId": groups[number]} if groups and groups[number] is not None else {}),
                },
                "messageAttributes": {
                    name: {"dataType": "String", "stringValue": value} for name, value in (attributes or {}).items()
                },
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": "us-east-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


def lambda_context(*, remaining: timedelta = timedelta(seconds=60), request_id: str = "test-request") -> Any:
    """A Lambda context whose remaining time runs down from ``remaining``."""
    end = time.monotonic() + remaining.total_seconds()
    return SimpleNamespace(
        aws_request_id=request_id,
        function_name="test-function",
        function_version="$LATEST",
        invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:test-function",
        memory_limit_in_mb="512",
        get_remaining_time_in_millis=lambda: int((end - time.monotonic()) * 1000),
    )
