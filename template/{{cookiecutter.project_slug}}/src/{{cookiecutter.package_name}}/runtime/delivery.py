"""One message as it was received, free of any transport's types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Delivery:
    """What the engine may know of a message.

    Attributes:
        body: the text as received, byte for byte.
        message_id: the queue's id of the message; another one after a redrive.
        receive_count: how often the queue handed it out, this time included.
        max_receive_count: after that many the queue itself moves it to the dead-letter queue; 0 if it never does.
        sent_at: when the queue accepted it, in seconds since the epoch; None if unknown.
        group: FIFO message group, or the tenant on a standard queue.
        fifo: whether order within a group holds.
        attributes: message attributes, in boto3's form.
        source: ARN of the queue.
        handle: what the transport needs to settle the message.
    """

    body: str
    message_id: str
    receive_count: int = 1
    max_receive_count: int = 0
    sent_at: float | None = None
    group: str | None = None
    fifo: bool = False
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""
    handle: str = ""

    @property
    def receives_left(self) -> int | None:
        """How often the queue will hand it out again; None if there is no limit."""
        return self.max_receive_count - self.receive_count if self.max_receive_count else None

    @property
    def is_last_receive(self) -> bool:
        return 0 < self.max_receive_count <= self.receive_count
