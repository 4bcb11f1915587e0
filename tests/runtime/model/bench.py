"""One record under a clock that the test moves: ledger and engine on a table in memory."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from pydantic import BaseModel
from runtime.budget import Budget
from runtime.config import Config
from runtime.delivery import Delivery
from runtime.engine import Engine, Report
from runtime.envelope import Envelope, encode
from runtime.job import JobClass
from runtime.ledger import Claim, JobLedger
from runtime.observability import Instruments
from runtime.outcome import Outcome
from runtime.publisher import Message, Published, Publisher
from runtime.registry import Registry
from runtime.table import MemoryTable, Update

APP = "shop"
START = datetime(2030, 1, 1, tzinfo=UTC)
LEASE = timedelta(minutes=2)
CONFIG = Config(service=APP, workload="w", queue_url="queue", dlq_url="dlq", topic_arn="topic")


class Nothing(BaseModel):
    """A payload. ``amount`` makes two of them differ."""

    account: str = "a"
    amount: int = 1


class FlakyTable(MemoryTable):
    """Plays one fault in the next call, and calls ``before`` ahead of each."""

    def __init__(self) -> None:
        super().__init__()
        self.fault = ""
        self.before: Callable[[], None] = lambda: None
        self.writes = 0

    def update(self, update: Update) -> dict[str, Any]:
        result: dict[str, Any] = self._play(lambda: MemoryTable.update(self, update))
        return result

    def transact(self, update: Update, others: Sequence[Mapping[str, Any]], token: str) -> None:
        def apply() -> None:
            MemoryTable.update(self, update)
            self.others.extend(others)

        self._play(apply)

    def _play(self, do: Callable[[], Any]) -> Any:
        self.before()
        fault, self.fault = self.fault, ""
        if fault == "refused":
            raise ConnectionError("throttled")
        self.writes += 1
        result = do()
        if fault == "repeated":  # the answer was lost and the SDK asked again
            result = do()
        if fault == "lost":
            raise ConnectionError("no answer")
        return result


class Shelf(Registry):
    """The jobs given, without a package."""

    def __init__(self, jobs: Sequence[JobClass]) -> None:
        self._jobs = {name: job for job in jobs for name in (job.name, *job.aliases)}

    def find(self, name: str) -> JobClass | None:
        return self._jobs.get(name)


class Bench:
    def __init__(self) -> None:
        self.time = START
        self.table = FlakyTable()
        self.ledger = self.ledger_with_clock()
        self.published: list[Message] = []
        self.refuse_to_publish = False
        self._ids = count(1)

    def now(self) -> datetime:
        return self.time

    def ledger_with_clock(self, ahead: timedelta = timedelta(0)) -> JobLedger:
        """Another host's view of the same table."""
        return JobLedger(APP, self.table, lambda: self.time + ahead)

    def wait(self, **time: float) -> None:
        self.time += timedelta(**time)

    @property
    def item(self) -> dict[str, Any]:
        (item,) = self.table.items.values()
        return item

    def message(self, job: str = "job", *, payload: Mapping[str, Any] | None = None, **header: Any) -> Delivery:
        """A message as the queue would hand it out now for the first time."""
        envelope = Envelope(id=header.pop("id", "1"), job=job, payload=dict(payload or {}), **header)
        return Delivery(encode(envelope), f"m{next(self._ids)}", sent_at=self.time.timestamp())

    def acquire(self, delivery: Delivery, ledger: JobLedger | None = None) -> Any:
        envelope = Envelope.model_validate_json(delivery.body)
        return (ledger or self.ledger).acquire(envelope, delivery, LEASE)

    def claim(self, delivery: Delivery, ledger: JobLedger | None = None) -> Claim:
        claim = self.acquire(delivery, ledger)
        assert isinstance(claim, Claim), claim
        return claim

    def end(self, delivery: Delivery, outcome: Outcome) -> Claim:
        """Claim the job and record how it ended."""
        claim = self.claim(delivery)
        assert self.ledger.finish(claim, delivery, outcome, ran=True) == outcome
        return claim

    def engine(self, *jobs: JobClass) -> Engine:
        publisher = Publisher(CONFIG, "w", lambda service: None, self.now)
        return Engine(
            Shelf(jobs),
            prepare=publisher.message,
            publish=self._publish,
            publish_all=self._publish_all,
            instruments=Instruments(APP),
            ledger=self.ledger,
            now=self.now,
        )

    def handle(self, job: JobClass, delivery: Delivery, remaining: float | None = None) -> Report:
        budget = None if remaining is None else Budget(lambda: remaining)
        return self.engine(job).handle(delivery, budget)

    def _publish_all(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._publish(message)

    def _publish(self, message: Message) -> Published:
        if self.refuse_to_publish:
            raise ConnectionError("SNS does not answer")
        self.published.append(message)
        return Published(message.id, True)
