"""A queue in memory that several threads may use, and a worker on it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic_core import from_json
from runtime.app import App
from runtime.engine import utc_now
from runtime.job import JobClass
from runtime.ledger import JobLedger
from runtime.observability import Observer
from runtime.table import MemoryTable
from runtime.worker import Worker, WorkerSettings

from .helpers import DLQ_URL, FIFO_ARN, QUEUE_ARN, QUEUE_URL, app_of, seconds, stack


@dataclass
class Stored:
    body: str
    group: str | None = None
    message_id: str = field(default_factory=lambda: f"m-{uuid4()}")
    sent: float = field(default_factory=time.time)
    visible_at: float = 0.0
    receives: int = 0
    handle: str = ""


POLL_SHARE = 0.2  # of the seconds that a poll may wait: a worker that is told to stop waits for its poll


class Queue:
    """SQS as the worker sees it: one queue, and a list of dead letters. Visibility and FIFO groups hold."""

    def __init__(self, fifo: bool = False) -> None:
        self.fifo = fifo
        self.messages: dict[str, Stored] = {}
        self.dead_letters: list[dict[str, Any]] = []
        self.asked: list[int] = []
        self.hidden: list[tuple[str, int]] = []  # message id and seconds, of every change
        self.deleted: list[str] = []
        self.fault: Exception | None = None
        self.before_answer: Callable[[], None] = lambda: None
        self._lock = threading.RLock()

    def __call__(self, service: str) -> Any:
        return self

    def put(self, *bodies: str, group: str | None = None) -> list[str]:
        with self._lock:
            stored = [Stored(body, group) for body in bodies]
            self.messages.update((message.message_id, message) for message in stored)
            return [message.message_id for message in stored]

    def receive_message(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request["MaxNumberOfMessages"])
        if self.fault is not None:
            raise self.fault
        end = time.monotonic() + request["WaitTimeSeconds"] * POLL_SHARE
        while True:
            found = self._take(request["MaxNumberOfMessages"], request["VisibilityTimeout"])
            if found or time.monotonic() >= end:
                self.before_answer()
                return {"Messages": found} if found else {}
            time.sleep(0.005)

    def _take(self, number: int, visibility: int) -> list[dict[str, Any]]:
        with self._lock:
            now, found = time.monotonic(), list[dict[str, Any]]()
            blocked = {m.group for m in self.messages.values() if m.visible_at > now} if self.fifo else set()
            for message in list(self.messages.values()):
                if len(found) < number and message.visible_at <= now and message.group not in blocked:
                    message.visible_at = now + visibility
                    message.receives += 1
                    message.handle = f"{message.message_id} {message.receives}"
                    found.append(self._answer(message))
            return found

    def _answer(self, message: Stored) -> dict[str, Any]:
        attributes = {
            "ApproximateReceiveCount": str(message.receives),
            "SentTimestamp": str(int(message.sent * 1000)),
            "ApproximateFirstReceiveTimestamp": str(int(message.sent * 1000)),
        }
        if message.group is not None:
            attributes["MessageGroupId"] = message.group
        return {
            "MessageId": message.message_id,
            "ReceiptHandle": message.handle,
            "Body": message.body,
            "Attributes": attributes,
            "MessageAttributes": {"workload": {"DataType": "String", "StringValue": "email"}},
        }

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: str) -> dict[str, Any]:  # noqa: N803
        with self._lock:
            message = self._of(ReceiptHandle)
            if message is not None:
                del self.messages[message.message_id]
                self.deleted.append(message.message_id)
        return {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        answer: dict[str, Any] = {"Successful": [], "Failed": []}
        with self._lock:
            for entry in Entries:
                message = self._of(entry["ReceiptHandle"])
                if message is None or message.visible_at <= time.monotonic():
                    answer["Failed"].append({"Id": entry["Id"], "Code": "MessageNotInflight"})
                    continue
                message.visible_at = time.monotonic() + entry["VisibilityTimeout"]
                self.hidden.append((message.message_id, entry["VisibilityTimeout"]))
                answer["Successful"].append({"Id": entry["Id"]})
        return answer

    def _of(self, handle: str) -> Stored | None:
        message = self.messages.get(handle.partition(" ")[0])
        return message if message is not None and message.handle == handle else None

    def send_message(self, *, QueueUrl: str, **message: Any) -> dict[str, Any]:  # noqa: N803
        if QueueUrl == DLQ_URL:
            self.dead_letters.append(message)
        else:
            self.put(message["MessageBody"], group=message.get("MessageGroupId"))
        return {"MessageId": str(uuid4())}

    def get_queue_attributes(self, **request: Any) -> dict[str, Any]:
        return {"Attributes": {"QueueArn": FIFO_ARN if self.fifo else QUEUE_ARN}}


class Place:
    """Everything around a worker: the queue, the table, what was written."""

    def __init__(self, *jobs: JobClass, fifo: bool = False, ledger: bool = True, app: App | None = None) -> None:
        self.queue, self.table, self.written = Queue(fifo), MemoryTable(), list[bytes]()
        self.app: App = app or app_of(self.queue, *jobs, config=stack(queue_url=QUEUE_URL))  # type: ignore[arg-type]
        self.app.client, self.app.now = self.queue, utc_now
        vars(self.app)["config"] = stack(queue_url=QUEUE_URL)
        if ledger:
            vars(self.app)["ledger"] = JobLedger("shop", self.table, utc_now)
        vars(self.app)["observer"] = lambda: Observer("shop", "email", write=self.written.append)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [from_json(line) for line in list(self.written)]

    def outcomes(self) -> list[tuple[str, str]]:
        """Job id, outcome and reason of every line about a job, in order."""
        return [(line["outcome"], line.get("reason", "")) for line in self.lines if "outcome" in line and "job" in line]

    def said(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("message") == message]

    def metric(self, name: str) -> int:
        return sum(line.get(name, 0) for line in self.lines if "_aws" in line)

    def worker(self, **settings: Any) -> Worker:
        given = {"lease": seconds(2), "poll_seconds": 1, **settings}
        return Worker(self.app, WorkerSettings(**given))

    @contextmanager
    def working(self, **settings: Any) -> Iterator["Working"]:
        """A worker in a thread of its own, stopped at the end."""
        working = Working(self.worker(**settings))
        try:
            yield working
        finally:
            working.end()


class Working:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.code = self.worker.run()

    def join(self, timeout: float = 20.0) -> int:
        """Wait for its own end; returns the exit code."""
        self._thread.join(timeout)
        assert self.code is not None, "the worker does not end"
        return self.code

    def end(self) -> int:
        self.worker.stop()
        return self.join()


def until(condition: Callable[[], Any], timeout: float = 15.0) -> Any:
    end = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)
    return found
