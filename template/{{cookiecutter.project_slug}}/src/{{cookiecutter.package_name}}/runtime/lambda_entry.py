"""The Lambda end: an SQS event in, the batch response out.

The response is built from a closed set: a record is either acknowledged or listed as failed, and one that nothing is
known of is listed. What a job returns or raises never reaches it. Only an event that is no SQS batch raises, so that
nothing of it is deleted.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .batch import run_in_order
from .budget import Budget
from .delivery import Delivery
from .engine import Engine, Report
from .observability import Observer
from .settlement import Settlement

BatchResponse = dict[str, list[dict[str, str]]]


class ForeignEventError(Exception):
    """The function was invoked with something else than a batch of SQS messages."""


def deliveries(event: object, max_receive_count: int) -> list[Delivery]:
    """Read the records of an SQS event.

    Raises:
        ForeignEventError: it is none. The mapping then deletes nothing.
    """
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, Sequence) or isinstance(records, str) or not records:
        raise ForeignEventError(
            "this function takes batches of SQS messages ({'Records': [...]}), got "
            + (
                f"an object with the keys {sorted(map(str, event))[:10]}"
                if isinstance(event, Mapping)
                else type(event).__name__
            )
            + ". Connect it to its queue by an event source mapping only."
        )
    return [_delivery(number, record, max_receive_count) for number, record in enumerate(records)]


def _delivery(number: int, record: object, max_receive_count: int) -> Delivery:
    if not isinstance(record, dict) or record.get("eventSource") != "aws:sqs":
        source = record.get("eventSource") if isinstance(record, dict) else type(record).__name__
        raise ForeignEventError(f"record {number} comes from {source!r}, not from 'aws:sqs'")
    message_id, body = record.get("messageId"), record.get("body")
    if not isinstance(message_id, str) or not message_id or not isinstance(body, str):
        # Without its id a record cannot be reported as failed: nothing of the batch may be acknowledged.
        raise ForeignEventError(f"record {number} lacks its messageId or its body; SQS always sends both")
    attributes = record.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    source = str(record.get("eventSourceARN", ""))
    group = attributes.get("MessageGroupId")
    sent = _number(attributes.get("SentTimestamp"))
    first = _number(attributes.get("ApproximateFirstReceiveTimestamp"))
    return Delivery(
        body=body,
        message_id=message_id,
        receive_count=max(1, int(_number(attributes.get("ApproximateReceiveCount")) or 1)),
        max_receive_count=max_receive_count,
        sent_at=sent / 1000 if sent else None,
        first_received_at=first / 1000 if first else None,
        group=group if isinstance(group, str) else None,
        fifo=source.endswith(".fifo"),
        attributes=_attributes(record.get("messageAttributes")),
        source=source,
        handle=str(record.get("receiptHandle", "")),
    )


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _attributes(raw: object) -> dict[str, dict[str, Any]]:
    """Lambda writes attribute fields in lower camel case and binary values in base64; boto3 wants neither."""
    kept: dict[str, dict[str, Any]] = {}
    for name, value in raw.items() if isinstance(raw, dict) else ():
        if isinstance(value, dict) and isinstance(value.get("dataType"), str):
            if isinstance(value.get("stringValue"), str):
                kept[name] = {"DataType": value["dataType"], "StringValue": value["stringValue"]}
            elif isinstance(value.get("binaryValue"), str):
                kept[name] = {"DataType": value["dataType"], "BinaryValue": base64.b64decode(value["binaryValue"])}
    return kept


def run_batch(
    batch: Sequence[Delivery],
    engine: Engine,
    settlement: Settlement,
    observer: Observer,
    budget: Budget,
    *,
    acknowledge_now: Callable[[Report], bool] = lambda report: True,  # noqa: ARG005
) -> BatchResponse:
    """Run the deliveries one after the other and return the batch response."""
    last = [*dict.fromkeys(delivery.message_id for delivery in batch)][-1]

    def acknowledge(report: Report) -> None:
        # Delete what is finished before the next job starts: if that one takes the process with it, this one is not run
        # again. The last one needs no call of its own: the batch response acknowledges it.
        if report.delivery.message_id != last and acknowledge_now(report):
            settlement.acknowledge(report.delivery)

    failed = run_in_order(batch, lambda delivery: engine.handle(delivery, budget), settlement, observer, acknowledge)
    settlement.flush()
    observer.finish()
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
