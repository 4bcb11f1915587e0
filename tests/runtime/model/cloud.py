"""SNS, an SQS queue and its dead-letter queue as far as the runtime can tell them from real ones.

At least once: a message may come twice, late and in any order; one that was received hides for a while and comes back
unless it is deleted with its latest receipt handle; one that was received too often moves to the dead-letter queue.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from runtime.delivery import Delivery
from runtime.envelope import Envelope, decode, encode, payload_digest
from runtime.ledger import reference

APP = "model"


@dataclass(eq=False)
class Stored:
    """One message in the queue or the dead-letter queue."""

    body: str
    message_id: str
    sent: float
    visible: float
    envelope: Envelope = field(init=False)
    ref: str = field(init=False)
    digest: str = field(init=False)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    receives: int = 0
    handle: str = ""

    def __post_init__(self) -> None:
        e = self.envelope = decode(self.body)
        self.ref, self.digest = reference(APP, e.job, e.id, e.key), payload_digest(e.payload)


class Cloud:
    """Args: the true time; how long a received message hides; how often it may be received."""

    def __init__(self, now: Callable[[], float], visibility: float, max_receives: int) -> None:
        self._now, self.visibility, self.max_receives = now, visibility, max_receives
        self.queue: list[Stored] = []
        self.dead: list[Stored] = []
        self._ids = count(1)

    def send(self, body: str, delay: float = 0.0, attributes: Mapping[str, Any] | None = None) -> Stored:
        now = self._now()
        message = Stored(body, f"m{next(self._ids)}", now, now + delay, attributes or {})
        self.queue.append(message)
        return message

    def visible(self) -> list[Stored]:
        now = self._now()
        for message in [m for m in self.queue if m.visible <= now and m.receives >= self.max_receives]:
            self.queue.remove(message)
            self.dead.append(message)
        return [m for m in self.queue if m.visible <= now]

    def receive(self, message: Stored) -> Delivery:
        message.receives += 1
        message.visible = self._now() + self.visibility
        message.handle = f"{message.message_id}/{message.receives}"
        return Delivery(
            body=message.body,
            message_id=message.message_id,
            receive_count=message.receives,
            max_receive_count=self.max_receives,
            sent_at=message.sent,
            attributes=message.attributes,
            handle=message.handle,
        )

    def delete(self, handle: str, *, by_old_handle: bool) -> Stored | None:
        """The message deleted. SQS accepts the handle of an earlier receive, and may or may not delete the message."""
        found = self._held(handle)
        if found is None and by_old_handle:
            found = next((m for m in self.queue if m.message_id == handle.partition("/")[0]), None)
        if found is not None:
            self.queue.remove(found)
        return found

    def hide(self, handle: str, seconds: float) -> None:
        found = self._held(handle)
        if found is not None:
            found.visible = self._now() + seconds

    def bury(self, body: str, attributes: Mapping[str, Any]) -> None:
        now = self._now()
        self.dead.append(Stored(body, f"m{next(self._ids)}", now, now, attributes))

    def redrive(self, letter: Stored) -> Stored:
        """StartMessageMoveTask: the same body and attributes with a new id and a new time."""
        self.dead.remove(letter)
        return self.send(letter.body, attributes=letter.attributes)

    def redrive_as_next_generation(self, letter: Stored) -> Stored:
        """A copy that says so, then the letter is deleted."""
        copy = self.send(next_generation(letter.body))
        self.dead.remove(letter)
        return copy

    def _held(self, handle: str) -> Stored | None:
        return next((m for m in self.queue if m.handle == handle), None)

    def holds(self, ref: str, digest: str) -> bool:
        """Whether any copy of this piece of work is in one of the two queues."""
        return any(m.ref == ref and m.digest == digest for m in (*self.queue, *self.dead))


def next_generation(body: str) -> str:
    envelope = decode(body)
    return encode(envelope.model_copy(update={"generation": envelope.generation + 1}))


class Endpoint:
    """The boto3 clients of one process: each call may fail, be lost or be repeated, as ``call`` decides.

    Args:
        cloud: where the effects happen.
        call: runs one of them under the episode's faults.
        accepted: told about every job that SNS has taken.
        delete: deletes a message by its receipt handle.
    """

    def __init__(
        self,
        cloud: Cloud,
        call: Callable[[str, Callable[[], Any]], Any],
        accepted: Callable[[str], None],
        delete: Callable[[str], None],
    ) -> None:
        self._cloud, self._call, self._accepted, self._delete = cloud, call, accepted, delete

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        for entry in PublishBatchRequestEntries:
            self._call("publish", lambda entry=entry: self._accepted(entry["Message"]))  # type: ignore[misc]
        return {"Successful": [{"Id": entry["Id"]} for entry in PublishBatchRequestEntries]}

    def send_message(self, *, QueueUrl: str, MessageBody: str, MessageAttributes: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        self._call("dead letter", lambda: self._cloud.bury(MessageBody, MessageAttributes))
        return {}

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: str) -> dict[str, Any]:  # noqa: N803
        self._call("acknowledge", lambda: self._delete(ReceiptHandle))
        return {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        def hide() -> None:
            for entry in Entries:
                self._cloud.hide(entry["ReceiptHandle"], entry["VisibilityTimeout"])

        self._call("hide", hide)
        return {"Failed": []}
