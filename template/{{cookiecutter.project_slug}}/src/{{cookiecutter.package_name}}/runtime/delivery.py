"""One message as it was received, free of any transport's types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import from_json, to_json

from .envelope import raw_envelope

MAX_DELAY_SECONDS = 900  # SQS API "SendMessage"


@dataclass(slots=True)
class Delivery:
    """What the engine may know of a message.

    Attributes:
        body: the text as received, byte for byte.
        message_id: the queue's id of the message; another one after a redrive.
        receive_count: how often the queue handed it out, this time included.
        max_receive_count: after that many the queue itself moves it to the dead-letter queue; 0 if it never does.
        sent_at: when the queue accepted it, in seconds since the epoch; None if unknown.
        first_received_at: when it was first handed out, in seconds since the epoch; None if unknown.
        group: FIFO message group, or the tenant on a standard queue.
        fifo: whether order within a group holds.
        attributes: message attributes, in boto3's form.
        source: ARN of the queue.
        handle: what the transport needs to settle the message.
        held_since: when this receive was, by the monotonic clock; None: just now, compared with the 12 hours for which
            SQS hides a message.
    """

    body: str
    message_id: str
    receive_count: int = 1
    max_receive_count: int = 0
    sent_at: float | None = None
    first_received_at: float | None = None
    group: str | None = None
    fifo: bool = False
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""
    handle: str = ""
    held_since: float | None = None

    @property
    def receives_left(self) -> int | None:
        """How often the queue will hand it out again; None if there is no limit."""
        return self.max_receive_count - self.receive_count if self.max_receive_count else None

    @property
    def is_last_receive(self) -> bool:
        return 0 < self.max_receive_count <= self.receive_count


def fresh_message(delivery: Delivery, used_up: int | None, wait_seconds: int) -> dict[str, Any]:
    """The arguments of ``sqs.send_message`` (except the queue) for a copy that begins with no receives.

    Args:
        used_up: attempts that the copy has to remember; None if the ledger does.
        wait_seconds: how long it waits; what SQS cannot keep (900 s) the consumer does, by ``not_before``.
    """
    changes: dict[str, Any] = {}
    content = from_json(raw_envelope(delivery.body))
    if used_up is not None:
        changes["attempts_before"] = content.get("attempts_before", 0) + used_up
    if wait_seconds > MAX_DELAY_SECONDS:
        changes["not_before"] = (datetime.now(UTC) + timedelta(seconds=wait_seconds)).isoformat()
    # Not through the model, which would drop the header fields of a newer producer.
    body = to_json({**content, **changes}, ensure_ascii=True).decode("ascii") if changes else delivery.body
    message: dict[str, Any] = {
        "MessageBody": body,
        "MessageAttributes": {name: dict(value) for name, value in delivery.attributes.items()},
        "DelaySeconds": min(wait_seconds, MAX_DELAY_SECONDS),
    }
    return message if delivery.group is None else {**message, "MessageGroupId": delivery.group}
