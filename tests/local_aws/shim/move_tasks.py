"""StartMessageMoveTask, ListMessageMoveTasks and ListDeadLetterSourceQueues, without which there is no redrive of
dead letters.

Simpler than AWS in three ways: the task is done when the call returns, the rate is not honoured, and there is nothing
to cancel.
"""

import json
import time
import uuid
from typing import Any

from ministack.services import sqs

Request = dict[str, Any]
Queue = dict[str, Any]

_tasks: dict[str, list[dict[str, Any]]] = {}  # source ARN -> newest first


def install() -> None:
    sqs._HANDLERS.setdefault("StartMessageMoveTask", _start)
    sqs._HANDLERS.setdefault("ListMessageMoveTasks", _list)
    sqs._HANDLERS.setdefault("ListDeadLetterSourceQueues", _list_sources)


def _start(request: Request, _url: str) -> dict[str, Any]:
    source_arn, target_arn = request["SourceArn"], request.get("DestinationArn")
    source = sqs._queue_by_arn(source_arn)
    if source is None or (target_arn and sqs._queue_by_arn(target_arn) is None):
        raise sqs._Err("ResourceNotFoundException", "The resource that you specified doesn't exist.", 404)
    if not _sources_of(source_arn):
        raise sqs._Err("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue.")
    waiting = [message for message in source["messages"] if message["visible_at"] <= time.time()]
    moved = sum(_move(message, source, source_arn, target_arn) for message in waiting)
    sqs.esm_wake.set()
    task = {
        "Status": "COMPLETED",
        "SourceArn": source_arn,
        "ApproximateNumberOfMessagesMoved": moved,
        "ApproximateNumberOfMessagesToMove": len(waiting),
        "StartedTimestamp": int(time.time() * 1000),
    }
    task |= {key: request[key] for key in ("DestinationArn", "MaxNumberOfMessagesPerSecond") if request.get(key)}
    _tasks.setdefault(source_arn, []).insert(0, task)
    return {"TaskHandle": uuid.uuid4().hex}


def _list(request: Request, _url: str) -> dict[str, Any]:
    return {"Results": _tasks.get(request["SourceArn"], [])[: int(request.get("MaxResults", 1))]}


def _list_sources(request: Request, _url: str) -> dict[str, Any]:
    url = request["QueueUrl"]
    answer = sqs._act_get_queue_attributes({"QueueUrl": url, "AttributeNames": ["QueueArn"]}, url)
    return {"queueUrls": [source for source, _ in _sources_of(answer["Attributes"]["QueueArn"])]}


def _sources_of(arn: str) -> list[tuple[str, Queue]]:
    found = []
    for url, queue in list(sqs._queues.items()):
        policy = queue["attributes"].get("RedrivePolicy")
        if policy and json.loads(policy).get("deadLetterTargetArn") == arn:
            found.append((url, queue))
    return found


def _move(message: dict[str, Any], source: Queue, source_arn: str, target_arn: str | None) -> bool:
    system = message.get("sys") or {}
    origin = target_arn or system.get("DeadLetterQueueSourceArn") or message.get("dlq_source_arn")
    target = sqs._queue_by_arn(origin) if origin else None
    if target is None:  # AWS leaves a message alone whose source it does not know
        sources = _sources_of(source_arn)
        target = sources[0][1] if len(sources) == 1 else None
    if target is None:
        return False
    source["messages"].remove(message)
    fresh = {"receive_count": 0, "first_receive_at": None, "receipt_handle": None, "visible_at": time.time()}
    kept = {key: value for key, value in system.items() if key != "DeadLetterQueueSourceArn"}
    target["messages"].append({**message, **fresh, "sys": kept})
    return True
