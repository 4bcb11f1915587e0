"""The copy that goes to the dead-letter queue: the message as it came, and why it came there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from .outcome import Kind

if TYPE_CHECKING:
    from .engine import Report

ATTRIBUTE = "dead"
MAX_ATTRIBUTES = 10  # SQS developer guide, "Amazon SQS message metadata": at most 10 attributes per message


def dead_letter(report: "Report", code_version: str, max_bytes: int) -> dict[str, Any]:
    """The arguments of ``sqs.send_message`` except the queue.

    The body is never changed. If the whole would exceed ``max_bytes`` or ten attributes, gives way in this order: the
    error's text, the message's other attributes (routing last), the reason itself, which then stands in the log only.
    """
    delivery = report.delivery
    attributes = _kept(delivery.attributes)
    note = _note(report, code_version, with_message=True)
    room = max_bytes - len(delivery.body.encode("utf-8", "replace"))
    if _size({**attributes, **note}) > room:
        note = _note(report, code_version, with_message=False)
    if _size({**attributes, **note}) > room:
        attributes = {name: value for name, value in attributes.items() if name in ("workload", "job")}
    if _size({**attributes, **note}) > room:
        attributes, note = {}, note if _size(note) <= room else {}
    message: dict[str, Any] = {"MessageBody": delivery.body, "MessageAttributes": {**attributes, **note}}
    if delivery.group is not None or delivery.fifo:
        message["MessageGroupId"] = delivery.group or delivery.message_id
    if delivery.fifo:
        # Fresh, or the queue would take the letter for a copy of an earlier one within five minutes and drop it.
        message["MessageDeduplicationId"] = f"{delivery.message_id}-{delivery.receive_count}"
    return message


def _kept(attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    names = sorted(attributes, key=lambda name: (name not in ("workload", "job"), name))
    names = [name for name in names if name != ATTRIBUTE][: MAX_ATTRIBUTES - 1]
    return {name: dict(attributes[name]) for name in names}


def _note(report: "Report", code_version: str, *, with_message: bool) -> dict[str, Any]:
    outcome, delivery = report.outcome, report.delivery
    reason = f"parked: {outcome.reason}" if outcome.kind is Kind.PARKED else outcome.reason
    content: dict[str, Any] = {"reason": reason[:200]}
    if outcome.error is not None:
        content["error"] = outcome.error.name
        if with_message:
            content["message"] = outcome.error.message
    content["attempt"] = report.attempt
    if delivery.sent_at is not None:
        content["first_seen"] = round(delivery.sent_at, 3)
    content["source"] = delivery.source
    content["code_version"] = code_version
    return {ATTRIBUTE: {"DataType": "String", "StringValue": to_json(content, ensure_ascii=True).decode("ascii")}}


def _size(attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """Bytes that count against the message limit: name, type and value of each attribute."""
    return sum(
        len(name.encode())
        + len(a["DataType"].encode())
        + len(a.get("StringValue", "").encode())
        + len(a.get("BinaryValue", b""))
        for name, a in attributes.items()
    )
