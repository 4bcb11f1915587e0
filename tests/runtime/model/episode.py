"""One episode: some jobs, some workers, a queue and a table, and everything that may go wrong between them.

The engine, the ledger, the settlement, the batch loop and the publisher are the real ones. Played by chance are: which
message goes to whom and when, how long a run takes, which worker stops in the middle and for how long, which one dies,
which write is refused, which answer is lost, and what operators do.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from runtime import records
from runtime.budget import Budget
from runtime.config import Config
from runtime.delivery import Delivery
from runtime.engine import Engine, Report
from runtime.job import JobClass
from runtime.lambda_entry import run_batch
from runtime.ledger import JobLedger
from runtime.observability import Instruments, Observer
from runtime.publisher import Message, Publisher
from runtime.registry import Registry
from runtime.settlement import Settlement
from runtime.table import MemoryTable, Update
from runtime.unique import AlreadyQueuedError, publish_unique
from runtime.watch import Watch

from . import jobs, stage
from .choices import Choices
from .cloud import APP, Cloud, Endpoint, Stored, next_generation
from .fiber import Fiber
from .witness import Violation, Witness

START = 1_900_000_000.0
CONFIG = Config(
    service=APP,
    workload="model",
    queue_url="queue",
    dlq_url="dead letters",
    topic_arn="topic",
)
REGISTRY = Registry(jobs.__name__)
INSTRUMENTS = Instruments(APP)
DRAIN_ROUNDS = 3_000


class Death(BaseException):
    """The process is gone. Nothing that still unwinds in it has any effect."""


class RefusedError(Exception):
    """The service did not do it."""


class LostAnswerError(Exception):
    """The service did it, but nobody was told."""


@dataclass(frozen=True)
class Faults:
    """Weights in a thousand, for every boundary that is crossed."""

    death: int = 15
    pause: int = 60
    refused: int = 15
    lost: int = 10
    repeated: int = 10


WEATHER = (Faults(), Faults(death=5, pause=150), Faults(death=5, refused=40, lost=40, repeated=30))
NONE = Faults(0, 0, 0, 0, 0)


class WatchedTable(MemoryTable):
    """The table as one process sees it (None: a producer or operator, without faults)."""

    def __init__(self, episode: "Episode", worker: "Worker | None") -> None:
        super().__init__()
        self._episode, self._worker = episode, worker
        self.items = episode.table.items
        self._tokens = episode.tokens

    def update(self, update: Update) -> dict[str, Any]:
        result: dict[str, Any] = self._call("write", lambda: self._update(update))
        return result

    def get(self, key: str) -> dict[str, Any] | None:
        result: dict[str, Any] | None = self._call("read", lambda: MemoryTable.get(self, key))
        return result

    def transact(self, update: Update, others: Sequence[Mapping[str, Any]], token: str) -> None:
        def apply() -> None:
            if token not in self._tokens:
                self._update(update)
                self._episode.witness.committed(update.key, others)
                self._tokens.add(token)

        self._call("transaction", apply)

    def _update(self, update: Update) -> dict[str, Any]:
        before = dict(self.items.get(update.key, {}))
        after = super().update(update)
        self._episode.note("table", update.key, before.get("state"), after.get("state"), after.get("starts"))
        self._episode.witness.changed(self._worker, update, before, after)
        return after

    def _call(self, what: str, do: Callable[[], Any]) -> Any:
        return do() if self._worker is None else self._episode.call(what, do)


class WatchedEngine(Engine):
    def __init__(self, worker: "Worker", *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._worker = worker

    def handle(self, delivery: Delivery, budget: Budget | None = None, watch: Watch | None = None) -> Report:
        self._worker.take(delivery)
        message = self._worker.message(delivery)
        before = dict(self._worker.episode.table.items.get(message.ref, {}))
        self._worker.episode.note("takes", self._worker, delivery.message_id, f"receive {delivery.receive_count}")
        self._worker.episode.at("take")
        report = super().handle(delivery, budget, watch)
        self._worker.episode.note("says", self._worker, report.outcome.kind, report.outcome.reason)
        if report.outcome.reason == "in_progress":
            self._worker.episode.witness.deferred_for_another(self._worker, before, message)
        self._worker.episode.at("outcome")
        return report


class Worker:
    """One consumer process. On Lambda it has a deadline and is killed there; elsewhere it takes its time."""

    def __init__(self, episode: "Episode", name: str, skew: float, lifetime: float | None) -> None:
        self.episode, self.name, self.skew, self.lifetime = episode, name, skew, lifetime
        self.fiber: Fiber | None = None
        self.dead = False
        self.delivery: Delivery | None = None
        self.owners: dict[str, str] = {}
        self.deadline = float("inf")
        self._taken = 0.0
        self._batch: dict[str, Stored] = {}
        random = Random(name)
        sqs = Endpoint(episode.cloud, episode.call, episode.accept, episode.delete)
        publisher = Publisher(CONFIG, "model", lambda service: sqs, self.now, random)
        ledger = JobLedger(APP, WatchedTable(episode, self), self.now, random)
        self._engine = WatchedEngine(
            self,
            REGISTRY,
            prepare=publisher.message,
            publish=publisher.publish,
            publish_all=publisher.publish_all,
            instruments=INSTRUMENTS,
            ledger=ledger,
            now=self.now,
            random=random,
        )
        self._observer = Observer(APP, "model", write=lambda line: None)
        self._settlement = Settlement(lambda: sqs, CONFIG, self._observer, parks=ledger.keeps_parked)
        self._sqs = sqs

    def __str__(self) -> str:
        return self.name

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.episode.now + self.skew, UTC)

    def milliseconds(self) -> int:
        return round(self.now().timestamp() * 1000)

    def lease_until(self, job: JobClass) -> int:
        """By this worker's clock, how long a claim of the delivery in hand has to hold at least: until this process is
        killed, or as long as the job says.
        """
        end = self.deadline if self.lifetime is not None else self._taken + job.lease.total_seconds()
        return int((end + self.skew) * 1000)

    def take(self, delivery: Delivery) -> None:
        self.delivery, self._taken = delivery, self.episode.now

    def taken_ms(self) -> int:
        return int((self._taken + self.skew) * 1000)

    def message(self, delivery: Delivery) -> Stored:
        return self._batch[delivery.message_id]

    def start(self, batch: Sequence[Stored]) -> None:
        self.dead = False
        self._batch = {message.message_id: message for message in batch}
        deliveries = [self.episode.cloud.receive(message) for message in batch]
        self.deadline = self.episode.now + (self.lifetime or float("inf"))
        self.fiber = Fiber(lambda: self._work(deliveries))

    def _work(self, deliveries: Sequence[Delivery]) -> None:
        try:
            if self.lifetime is None:
                self._loop(deliveries)
            else:
                self._invoke(deliveries)
        except Death:
            return
        except Exception as error:  # a defect of the runtime itself
            self.episode.fail(error)

    def _loop(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            report = self._engine.handle(delivery)
            if self._settlement.settle(report) is None:
                self._settlement.acknowledge(delivery)
            self._settlement.flush()

    def _invoke(self, deliveries: Sequence[Delivery]) -> None:
        budget = Budget(lambda: self.deadline - self.episode.now)
        answer = run_batch(deliveries, self._engine, self._settlement, self._observer, budget)
        failed = {entry["itemIdentifier"] for entry in answer["batchItemFailures"]}
        self.episode.at("response")
        for delivery in deliveries:  # what the event source mapping does
            if delivery.message_id not in failed:
                self.episode.delete(delivery.handle)


class Episode:
    """Args: what decides, the faults, and how many actions are played before everything is left to come to rest."""

    def __init__(self, choices: Choices, actions: int = 80) -> None:
        self.choices, self._actions = choices, actions
        self.faults = choices.pick(*WEATHER)
        self.now = START
        self.steps = 0
        self.trace: list[tuple[Any, ...]] = []
        self.active: Worker | None = None
        self.failure: Exception | None = None
        self.table = MemoryTable()
        self.tokens: set[str] = set()
        self.cloud = Cloud(lambda: self.now, choices.pick(120.0, 30.0, 360.0), choices.pick(40, 12, 5))
        self.witness = Witness(self)
        self.workers = [
            Worker(self, f"w{n}", choices.pick(0.0, 60.0, -60.0, 25.0, -3.0), choices.pick(None, 60.0, 20.0))
            for n in range(choices.pick(2, 3, 4))
        ]
        outside = Endpoint(self.cloud, lambda what, do: do(), self.accept, self.delete)
        self._publisher = Publisher(CONFIG, "model", lambda service: outside, self._true_time)
        self._outside = JobLedger(APP, WatchedTable(self, None), self._true_time)
        self._cast = choices.pick(jobs.PUBLISHED, jobs.PUBLISHED, *((job,) for job in jobs.PUBLISHED), (jobs.Keyed,))
        self._scripts = [self._script(n) for n in range(choices.pick(1, 2, 4, 7))]
        self._next = 0

    def play(self) -> None:
        """Raises Violation, or what the runtime should not have raised."""
        stage.enter(self)
        for _ in range(self._actions):
            self._act()
            self._check()
        self._come_to_rest()
        if self.choices.chance(0.3):
            for letter in list(self.cloud.dead):
                self.cloud.redrive_as_next_generation(letter)
            self.note("redrives all")
            self._come_to_rest()

    # What code that is played calls

    def at(self, place: str) -> None:
        """A boundary: here the process may die, or stand still while others go on."""
        worker = self.active
        assert worker is not None
        if worker.dead:
            raise Death
        self.steps += 1
        self.now += 0.01
        if self.now > worker.deadline:
            self._die(worker, f"{place}, its time is over")
        f = self.faults
        # A run, and what follows it, is where a successor can overtake.
        pause = f.pause * 3 if place in ("run, in the middle", "before transaction") else f.pause
        match self.choices.weighted([(1000 - f.death - pause, "go"), (pause, "pause"), (f.death, "die")]):
            case "die":
                self._die(worker, place)
            case "pause":
                self.note("pauses", worker, place)
                assert worker.fiber is not None
                worker.fiber.pause()
                if worker.dead or self.now > worker.deadline:
                    self._die(worker, place)

    def call(self, what: str, do: Callable[[], Any]) -> Any:
        """A call of a service, with everything that may come of it."""
        self.at(f"before {what}")
        f = self.faults
        fault = self.choices.weighted(
            [
                (1000 - f.refused - f.lost - f.repeated, ""),
                (f.refused, "refused"),
                (f.lost, "lost"),
                (f.repeated, "repeated"),
            ]
        )
        if fault:
            self.note(fault, what)
        if fault == "refused":
            raise RefusedError
        result = do()
        if fault == "repeated":  # the SDK got no answer and asked again
            result = do()
        self.at(f"after {what}")
        if fault == "lost":
            raise LostAnswerError
        return result

    def spend(self) -> None:
        """A run takes its time."""
        self.now += self.choices.weighted([(65, 0.0), (12, 8.0), (12, 45.0), (11, 200.0)])
        self.at("run, in the middle")

    def accept(self, body: str) -> None:
        """SNS has taken a job: it will come, perhaps twice, perhaps late."""
        message = self.cloud.send(body)
        self.note("accepts", message.message_id, message.ref)
        self.witness.published(message)
        if self.choices.chance(0.1):
            self.cloud.send(body, self.choices.pick(0.0, 2.0, 30.0, 300.0))

    def delete(self, handle: str) -> None:
        message = self.cloud.delete(handle, by_old_handle=self.choices.chance(0.3))
        if message is not None:
            self.note("deletes", message.message_id, message.ref)
            self.witness.gone(message)

    def job(self, name: str) -> JobClass:
        job = REGISTRY.find(name)
        assert job is not None
        return job

    def note(self, *what: Any) -> None:
        self.trace.append((round(self.now - START, 2), *what))

    def fail(self, error: Exception) -> None:
        """Kept, since whoever called may swallow exceptions; nothing in the failing process has an effect any more."""
        self.failure = self.failure or error
        if self.active is not None:
            self.active.dead = True
            raise Death

    # Actions

    def _act(self) -> None:
        paused = [w for w in self.workers if w.fiber is not None]
        action = self.choices.weighted(
            [
                (30, self._deliver),
                (14, self._publish),
                (20, self._resume),
                (12, self._wait),
                (3, self._kill),
                (4, self._redrive),
                (2, self._release),
                (1, self._cancel),
            ]
        )
        if self._next == 0:
            action = self._publish
        self.steps += 1
        action(paused)

    def _deliver(self, paused: "list[Worker]") -> None:
        idle = [w for w in self.workers if w.fiber is None]
        visible = self.cloud.visible()
        if not visible or not idle:
            self._wait(paused)
            return
        worker = self.choices.pick(*idle)
        batch = []
        for _ in range(self.choices.pick(1, 1, 3)):
            if visible:
                batch.append(visible.pop(self.choices.pick(*range(len(visible)))))
        worker.start(batch)
        self._run(worker)

    def _publish(self, paused: "list[Worker]") -> None:
        if self._next >= len(self._scripts):
            self._deliver(paused)
            return
        job, script, way = self._scripts[self._next]
        self._next += 1
        message = self._publisher.message(job, script, job_id=f"j{self._next}")
        self.note("publishes", job.name, script.model_dump(exclude_defaults=True), way)
        if way == "plain":
            self._publisher.publish(message)
        elif way == "unique":
            self._unique(message)
        else:  # the producer dies between registering and sending
            self._unique(message, send=False)

    def _unique(self, message: Message, *, send: bool = True) -> None:
        publisher = self._publisher if send else _Dying()
        with suppress(AlreadyQueuedError, Death):
            publish_unique(self._outside, publisher, message, join=self.choices.pick(True, False))

    def _resume(self, paused: "list[Worker]") -> None:
        if not paused:
            self._deliver(paused)
            return
        self._run(self.choices.pick(*paused))

    def _kill(self, paused: "list[Worker]") -> None:
        if paused:
            worker = self.choices.pick(*paused)
            self.note("kills", worker)
            worker.dead = True
            self._run(worker)

    def _wait(self, paused: "list[Worker]") -> None:
        self.now += self.choices.pick(1.0, 20.0, 60.0, 130.0, 400.0)

    def _redrive(self, paused: "list[Worker]") -> None:
        if not self.cloud.dead:
            return
        letter = self.choices.pick(*self.cloud.dead)
        by_generation = self.choices.pick(False, True)
        self.note("redrives", letter.ref, "as next generation" if by_generation else "natively")
        if by_generation:
            self.cloud.redrive_as_next_generation(letter)
        else:
            self.cloud.redrive(letter)

    def _release(self, paused: "list[Worker]") -> None:
        parked = [item for item in self.table.items.values() if item["state"] == "PARKED"]
        if not parked:
            return
        item = self.choices.pick(*parked)
        if any(w.fiber is not None and item["pk"] in w.owners for w in self.workers):
            return  # somebody who lost the job may still be at it: the human waits
        self.note("releases", item["pk"])
        if "effects" in item:  # an effect in doubt: the human has asked the other side
            happened = self.witness.stories[item["pk"]].charges > 0
            item["effects"] = ["done:charge"] if happened else []
        self.accept(next_generation(item["body"]))

    def _cancel(self, paused: "list[Worker]") -> None:
        refs = sorted(ref for ref, story in self.witness.stories.items() if story.job.ledger)
        ref = self.choices.pick("", *refs)
        if ref:
            self.note("cancels", ref, records.cancel(self._outside.table, ref, self._true_time()))

    def _run(self, worker: Worker) -> None:
        assert worker.fiber is not None
        self.active = worker
        worker.fiber.resume()
        self.active = None
        if worker.fiber.finished:
            worker.fiber = None

    def _die(self, worker: Worker, place: str) -> None:
        self.note("dies", worker, place)
        worker.dead = True
        raise Death

    def _come_to_rest(self) -> None:
        """No more faults: whoever stands still goes on, and the queue is worked off."""
        self.choices.quiet, faults, self.faults = True, self.faults, NONE
        self.note("comes to rest")
        for worker in self.workers:
            while worker.fiber is not None:
                self._run(worker)
                self._check()
        for _ in range(DRAIN_ROUNDS):
            if not self.cloud.queue:
                break
            self.now = max(self.now, min(m.visible for m in self.cloud.queue))
            for message in self.cloud.visible()[:1]:
                self.workers[0].start([message])
                self._run(self.workers[0])
                self._check()
        else:
            raise Violation("every job comes to an end", f"the queue still holds {len(self.cloud.queue)} messages")
        self.witness.at_rest()
        self._check()
        self.choices.quiet, self.faults = False, faults

    def _check(self) -> None:
        if self.failure is not None:
            for worker in self.workers:
                worker.dead = True
                if worker.fiber is not None:
                    self._run(worker)
            raise self.failure

    def _script(self, number: int) -> "tuple[JobClass, jobs.Script, str]":
        pick = self.choices.pick
        job = pick(*self._cast)
        end = self.choices.weighted([(12, ""), (2, "permanent"), (2, "forever"), (2, "park"), (1, "discard")])
        script = jobs.Script(
            number=number,
            fails=pick(0, 0, 1, 2),
            defers=pick(0, 0, 1, 4),
            children=pick(0, 1, 2),
            end=end,
        )
        way = "plain"
        if job is jobs.Keyed:
            # Few keys, and mostly the same work under one of them.
            key = pick("a", "b")
            script = jobs.Script(number=self.choices.weighted([(4, 0), (1, 1)]), key=key, fails=pick(0, 1), end=end)
            way = self.choices.weighted([(5, "plain"), (4, "unique"), (1, "registered only")])
        return job, script, way

    def _true_time(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


class _Dying(Publisher):
    def __init__(self) -> None:
        super().__init__(CONFIG, "model", lambda service: None, lambda: datetime.now(UTC))

    def publish(self, message: Message) -> Any:
        raise Death
