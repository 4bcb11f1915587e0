"""Long polls: messages as boto3 returns them, turned into deliveries. Trouble backs off, and never ends the worker."""

import math
import time
from collections.abc import Callable, Mapping
from random import Random, SystemRandom
from typing import Any

from .clients import POLL_SECONDS
from .config import Config
from .delivery import Delivery
from .observability import Observer

MOST = 10  # SQS API "ReceiveMessage": MaxNumberOfMessages
BACKOFF_SECONDS = (0.5, 30.0)


class Receiver:
    """Args:
    sqs: returns a boto3 SQS client whose read timeout is longer than a long poll.
    config: the queue.
    observer: where trouble is reported.
    lease: how long a received message stays hidden, in seconds.
    poll_seconds: the longest wait for a message.
    """

    def __init__(
        self,
        sqs: Callable[[], Any],
        config: Config,
        observer: Observer,
        lease: float,
        poll_seconds: float = POLL_SECONDS,
        random: Random | None = None,
    ) -> None:
        self._sqs, self._config, self._observer = sqs, config, observer
        self._lease, self._poll_seconds = lease, poll_seconds
        self._random = random or SystemRandom()
        self._source = ""
        self._failures = 0
        self.back_off_until = 0.0

    def receive(self, number: int, wait: float = POLL_SECONDS) -> list[Delivery]:
        """At most so many messages (ten are the most a call returns), after at most ``wait`` seconds.

        Returns nothing if AWS does not answer; ``back_off_until`` then says when to try again.
        """
        try:
            answer = self._sqs().receive_message(
                QueueUrl=self._config.queue_url,
                MaxNumberOfMessages=max(1, min(MOST, number)),
                WaitTimeSeconds=max(0, math.ceil(min(wait, self._poll_seconds))),
                VisibilityTimeout=math.ceil(self._lease),
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
            messages = answer.get("Messages", [])
            source = self._arn() if messages else ""
        except Exception as error:
            self._failed(error)
            return []
        self._failures = 0
        return [delivery(message, self._config.max_receive_count, source) for message in messages]

    def _failed(self, error: Exception) -> None:
        shortest, longest = BACKOFF_SECONDS
        ceiling = min(longest, shortest * 2 ** min(self._failures, 10))
        self._failures += 1
        wait = self._random.uniform(ceiling / 2, ceiling)
        self.back_off_until = time.monotonic() + wait
        response = getattr(error, "response", None)
        details = response.get("Error") if isinstance(response, Mapping) else None
        code = details.get("Code") if isinstance(details, Mapping) else None
        self._observer.event(
            "ERROR" if self._failures > 1 else "WARNING",
            "receive failed",
            error=type(error).__name__,
            code=code,
            wait_seconds=round(wait, 1),
        )

    def _arn(self) -> str:
        """Of the queue: dead letters say where they come from, a message does not."""
        if not self._source:
            try:
                answer = self._sqs().get_queue_attributes(QueueUrl=self._config.queue_url, AttributeNames=["QueueArn"])
                self._source = answer["Attributes"]["QueueArn"]
            except Exception:
                return self._config.queue_url  # asked again with the next messages
        return self._source


def delivery(message: Mapping[str, Any], max_receive_count: int, source: str) -> Delivery:
    """A message of ``receive_message``."""
    attributes = message.get("Attributes", {})
    sent, first = attributes.get("SentTimestamp"), attributes.get("ApproximateFirstReceiveTimestamp")
    return Delivery(
        body=message.get("Body", ""),
        message_id=message["MessageId"],
        receive_count=int(attributes.get("ApproximateReceiveCount", 1)),
        max_receive_count=max_receive_count,
        sent_at=int(sent) / 1000 if sent else None,
        first_received_at=int(first) / 1000 if first else None,
        group=attributes.get("MessageGroupId"),
        fifo=source.endswith(".fifo"),
        attributes={
            name: {field: value[field] for field in ("DataType", "StringValue", "BinaryValue") if field in value}
            for name, value in message.get("MessageAttributes", {}).items()
        },
        source=source,
        handle=message["ReceiptHandle"],
        held_since=time.monotonic(),
    )
