"""A deployed stack and what can be seen of it: the consumers' log lines, the dead letters, the depth of the queues."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from boto3.dynamodb.types import TypeDeserializer

from .engine import Aws
from .project import Project
from .terraform import Terraform

PUBLISH = Path(__file__).with_name("publish.py")
DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
PEEK_SECONDS = 5  # how long a dead letter we looked at stays hidden from others

Found = TypeVar("Found")


@dataclass(frozen=True)
class Published:
    id: str
    ok: bool
    error: str


@dataclass(frozen=True)
class DeadLetter:
    workload: str
    message_id: str
    body: str
    attributes: Mapping[str, str]
    group: str | None

    @property
    def note(self) -> dict[str, Any]:
        """Why it is here; empty if SQS itself moved it."""
        found: dict[str, Any] = json.loads(self.attributes.get("dead", "{}"))
        return found

    @property
    def job_id(self) -> str | None:
        """Of the job in the body, if there is one."""
        try:
            content = json.loads(self.body)
        except ValueError:
            return None
        return content.get("id") if isinstance(content, dict) else None


@dataclass
class Stack:
    aws: Aws
    terraform: Terraform
    project: Project
    outputs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines: dict[str, dict[str, Any]] = {}  # by text: message id, receive count and time make it unique
        self._read_until: dict[str, int] = {}
        self._letters: dict[str, DeadLetter] = {}

    @property
    def workloads(self) -> dict[str, Any]:
        found: dict[str, Any] = self.outputs["workloads"]
        return found

    @property
    def publisher_environment(self) -> dict[str, str]:
        found: dict[str, str] = self.outputs["publisher"]["environment"]
        return found

    def refresh(self) -> None:
        self.outputs = self.terraform.outputs()

    def publish(self, requests: Iterable[Mapping[str, Any]]) -> list[list[Published]]:
        """Publish through the project's own `enqueue` and `enqueue_many`; one list of results per request."""
        done = subprocess.run(
            [sys.executable, str(PUBLISH), self.project.package],
            input=json.dumps(list(requests), default=str),
            env=self.aws.environment(**self.publisher_environment, PYTHONPATH=str(self.project.source)),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            raise RuntimeError(f"publishing failed:\n{done.stderr}")
        return [[Published(**result) for result in results] for results in json.loads(done.stdout)]

    def publish_one(self, job: str, payload: Mapping[str, Any], **options: Any) -> str:
        (result,) = self.publish([{"job": job, "payloads": [payload], **options}])[0]
        assert result.ok, result.error
        return result.id

    def send_raw(self, workload: str, body: str, group: str | None = None) -> str:
        """Send a body that need not be a job straight to a workload's queue; returns its message id."""
        extra = {"MessageGroupId": group, "MessageDeduplicationId": f"{time.time_ns()}"} if group else {}
        queue = self.workloads[workload]["queue"]["url"]
        answer = self.aws.client("sqs").send_message(QueueUrl=queue, MessageBody=body, **extra)
        return str(answer["MessageId"])

    def publish_raw(self, workload: str, body: str) -> None:
        """Publish a body that need not be a job to the topic, with the attribute that routes it."""
        self.aws.client("sns").publish(
            TopicArn=self.publisher_environment["JOBS_TOPIC_ARN"],
            Message=body,
            MessageAttributes={"workload": {"DataType": "String", "StringValue": workload}},
        )

    def log_lines(self) -> list[dict[str, Any]]:
        """Every line the consumers have written about a job so far, in the order of their time."""
        for name, workload in self.workloads.items():
            for event in self._new_events(name, workload["log_group_name"]):
                line = _as_json(event["message"])
                if line is not None and "outcome" in line:
                    self._lines[event["message"]] = line
        return sorted(self._lines.values(), key=lambda line: str(line["timestamp"]))

    def lines_of(self, job_id: str) -> list[dict[str, Any]]:
        return [line for line in self.log_lines() if line["job_id"] == job_id]

    def outcomes_of(self, job_id: str) -> list[str]:
        return [line["outcome"] for line in self.lines_of(job_id)]

    def raw_log(self, workload: str) -> list[str]:
        """Everything in a function's log group, the runtime's own lines included."""
        group = self.workloads[workload]["log_group_name"]
        pages = self.aws.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        return [event["message"] for page in pages for event in page["events"]]

    def dead_letters(self) -> list[DeadLetter]:
        """Every letter seen in any dead-letter queue so far. They stay in their queues."""
        for name, workload in self.workloads.items():
            while found := self._receive(workload["dlq"]["url"]):
                for message in found:
                    values = message.get("MessageAttributes", {})
                    self._letters[message["MessageId"]] = DeadLetter(
                        workload=name,
                        message_id=message["MessageId"],
                        body=message["Body"],
                        attributes={key: value.get("StringValue", "") for key, value in values.items()},
                        group=message.get("Attributes", {}).get("MessageGroupId"),
                    )
        return list(self._letters.values())

    def dead_letter_of(self, job_id: str) -> DeadLetter | None:
        return next((letter for letter in self.dead_letters() if letter.job_id == job_id), None)

    def records(self) -> list[dict[str, Any]]:
        """Every record of a job that the stack keeps."""
        request = {"TableName": self.publisher_environment["JOBS_TABLE"], "ConsistentRead": True}
        pages = self.aws.client("dynamodb").get_paginator("scan").paginate(**request)
        return [_plain(item) for page in pages for item in page["Items"]]

    def record_of(self, job_id: str) -> dict[str, Any] | None:
        """The record of a job that has no business key."""
        settings = self.publisher_environment
        key = {"pk": {"S": f"{settings['JOBS_APP']}##{job_id}"}}
        answer = self.aws.client("dynamodb").get_item(TableName=settings["JOBS_TABLE"], Key=key, ConsistentRead=True)
        return _plain(answer["Item"]) if "Item" in answer else None

    def parked(self) -> list[dict[str, Any]]:
        """What the index of the job records lists as waiting for a human, the longest wait first."""
        settings = self.publisher_environment
        pages = (
            self.aws.client("dynamodb")
            .get_paginator("query")
            .paginate(
                TableName=settings["JOBS_TABLE"],
                IndexName="listed",
                KeyConditionExpression="listed = :listed",
                ExpressionAttributeValues={":listed": {"S": f"{settings['JOBS_APP']}#PARKED"}},
            )
        )
        return [_plain(item) for page in pages for item in page["Items"]]

    def depth(self, workload: str) -> int:
        """Messages in the workload's queue."""
        return sum(self.depths(workload))

    def depths(self, workload: str) -> tuple[int, ...]:
        """Messages in the workload's queue: waiting, being worked on, and delayed."""
        queue = self.workloads[workload]["queue"]["url"]
        answer = self.aws.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=list(DEPTHS))
        return tuple(int(answer["Attributes"].get(name, 0)) for name in DEPTHS)

    def _receive(self, queue: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            self.aws.client("sqs")
            .receive_message(
                QueueUrl=queue,
                MaxNumberOfMessages=10,
                VisibilityTimeout=PEEK_SECONDS,
                WaitTimeSeconds=0,  # the queue's own long polling would wait until what we have seen is visible again
                MessageAttributeNames=["All"],
                AttributeNames=["All"],
            )
            .get("Messages", [])
        )
        return found

    def _new_events(self, name: str, group: str) -> list[dict[str, Any]]:
        since = self._read_until.get(name, 0)
        pages = self.aws.client("logs").get_paginator("filter_log_events")
        found = [event for page in pages.paginate(logGroupName=group, startTime=since) for event in page["events"]]
        if found:
            newest = max(int(event["timestamp"]) for event in found)
            self._read_until[name] = max(since, newest - 15_000)  # lines of other processes may arrive late
        return found


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    read = TypeDeserializer()
    return {name: read.deserialize(value) for name, value in item.items()}


def _as_json(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def wait_for(condition: Callable[[], Found], *, timeout: float, what: str, pause: float = 0.25) -> Found:
    """Ask again and again until the answer is truthy, and return it."""
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:.0f} s: {what}; the last answer was {found!r}")
        time.sleep(pause)
