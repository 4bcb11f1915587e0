"""A consumer in memory: the real engine, settlement, observer and Lambda entry around a fake SNS and SQS."""

import json
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel
from runtime.app import App
from runtime.config import Config
from runtime.context import JobContext
from runtime.delivery import Delivery
from runtime.engine import Engine, Report
from runtime.job import Job, JobClass
from runtime.observability import Instruments
from runtime.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "template/{{cookiecutter.project_slug}}/src/{{cookiecutter.package_name}}"
RUNTIME = SOURCE / "runtime"
QUEUE_ARN = "arn:aws:sqs:eu-west-1:123456789012:shop-email"
FIFO_ARN = QUEUE_ARN + ".fifo"
QUEUE_URL = "https://sqs.test/shop-email"
DLQ_URL = "https://sqs.test/shop-email-dlq"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Work(BaseModel):
    """The payload of most jobs here."""

    label: str = ""


def job_of(act: Callable[[Work, JobContext], Any], **attributes: Any) -> JobClass:
    """A job class named ``probe`` whose ``run`` is ``act``; any attribute of the class may be given."""

    def run(self: Any, args: Work, ctx: JobContext) -> Any:
        return act(args, ctx)

    body = {"__module__": __name__, "name": "probe", "run": run, **attributes}
    return types.new_class("Probe", (Job[Work, Any],), {}, lambda namespace: namespace.update(body))


def raising(error: BaseException) -> Callable[[Work, JobContext], Any]:
    def act(args: Work, ctx: JobContext) -> None:
        raise error

    return act


def nothing(args: Work, ctx: JobContext) -> None:
    return None


class JobSet(Registry):
    """A registry of the given classes, without a package."""

    def __init__(self, *jobs: JobClass) -> None:
        self.package, self.code_version = "", "code-1"
        self._index, self._classes, self._modules = None, {}, set()
        for job in jobs:
            self.add(job)


def body(label: str = "", job: str = "probe", **header: Any) -> str:
    """A message body; ``payload=`` replaces the payload made of the label."""
    return json.dumps({"id": f"job-{label}", "job": job, "payload": {"label": label}, **header})


def delivery(text: str | None = None, **fields: Any) -> Delivery:
    return Delivery(
        **{
            "body": body() if text is None else text,
            "message_id": "m-1",
            "sent_at": NOW.timestamp() - 1,
            "handle": "h-1",
            "source": QUEUE_ARN,
            **fields,
        }
    )


class Middle(Random):
    """A random source that always answers the middle."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def engine(*jobs: JobClass, now: datetime = NOW, **options: Any) -> Engine:
    return Engine(
        JobSet(*jobs),
        **{
            "prepare": lambda *args, **kwargs: None,
            "publish": lambda message: None,
            "publish_all": lambda messages: None,
            "instruments": Instruments("shop"),
            "now": lambda: now,
            "random": Middle(),
            **options,
        },
    )


def handle(job: JobClass, text: str | None = None, **fields: Any) -> Report:
    return engine(job).handle(delivery(text, **fields))


class Aws:
    """SNS and SQS in one: records every call in order, answers with success unless told otherwise."""

    def __init__(self) -> None:
        self.journal: list[str] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}

    def __call__(self, service: str) -> Any:
        return self

    def of(self, api: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == api]

    def fail(self, api: str, error: BaseException) -> None:
        def answer(arguments: dict[str, Any]) -> dict[str, Any]:
            raise error

        self.answers[api] = answer

    def _call(self, api: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((api, arguments))
        self.journal.append(f"{api} {arguments.get('ReceiptHandle') or ''}".strip())
        if api in self.answers:
            return self.answers[api](arguments)
        entries = arguments.get("Entries") or arguments.get("PublishBatchRequestEntries") or ()
        return {"Successful": [{"Id": entry["Id"]} for entry in entries], "Failed": []}

    def send_message(self, **arguments: Any) -> dict[str, Any]:
        return self._call("send_message", arguments)

    def delete_message(self, **arguments: Any) -> dict[str, Any]:
        return self._call("delete_message", arguments)

    def change_message_visibility_batch(self, **arguments: Any) -> dict[str, Any]:
        return self._call("change_message_visibility_batch", arguments)

    def send_message_batch(self, **arguments: Any) -> dict[str, Any]:
        return self._call("send_message_batch", arguments)

    def publish_batch(self, **arguments: Any) -> dict[str, Any]:
        return self._call("publish_batch", arguments)

    def start_execution(self, **arguments: Any) -> dict[str, Any]:
        return self._call("start_execution", arguments)


def stack(**fields: Any) -> Config:
    """What the environment of a consumer says."""
    return Config(
        **{
            "service": "shop",
            "workload": "email",
            "queue_url": QUEUE_URL,
            "dlq_url": DLQ_URL,
            "max_receive_count": 10,
            "topic_arn": "arn:aws:sns:eu-west-1:123456789012:shop-jobs",
            "fifo_topic_arn": "arn:aws:sns:eu-west-1:123456789012:shop-jobs.fifo",
            **fields,
        }
    )


def app_of(aws: Aws, *jobs: JobClass, config: Config | None = None, now: datetime = NOW) -> App:
    app = App("shop", jobs="none", workload="email")
    vars(app).update(registry=JobSet(*jobs), config=config or stack())
    app.client, app.now = aws, lambda: now
    return app


def record(
    text: object, message_id: str, *, group: str | None = None, source: str = QUEUE_ARN, receives: int = 1
) -> Any:
    """One record of an SQS event; its receipt handle is ``h-<message id>``."""
    attributes = {"ApproximateReceiveCount": str(receives), "SentTimestamp": str(int(NOW.timestamp() * 1000) - 1000)}
    if group is not None:
        attributes["MessageGroupId"] = group
    return {
        "messageId": message_id,
        "receiptHandle": f"h-{message_id}",
        "body": text,
        "attributes": attributes,
        "messageAttributes": {"workload": {"dataType": "String", "stringValue": "email"}},
        "eventSource": "aws:sqs",
        "eventSourceARN": source,
    }


def invocation(remaining: Callable[[], float] = lambda: 60.0) -> Any:
    """A Lambda context."""
    return SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: int(remaining() * 1000))


def failures(answer: Mapping[str, Sequence[Mapping[str, str]]]) -> list[str]:
    assert list(answer) == ["batchItemFailures"]
    assert all(list(item) == ["itemIdentifier"] for item in answer["batchItemFailures"])
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def note_of(letter: Mapping[str, Any]) -> dict[str, Any]:
    """The reason that a dead letter carries."""
    content: dict[str, Any] = json.loads(letter["MessageAttributes"]["dead"]["StringValue"])
    return content


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)
