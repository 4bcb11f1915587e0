"""Publish jobs: through the topic, or with a delay straight to the workload's queue.

A send either is accepted by AWS or is reported as failed, job by job: nothing is guessed, nothing accepted is sent
again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from .config import Config
from .envelope import Envelope, decode, encode, locations

if TYPE_CHECKING:
    from .job import JobClass

MAX_DELAY = timedelta(seconds=900)  # SQS API "SendMessage": DelaySeconds 0 to 900
MAX_BATCH = 10  # SQS and SNS API: entries per batch
# Kept free in every message for what is added on the way: a tracer's attributes, and the reason if it becomes a dead
# letter.
HEADROOM_BYTES = 8_192
ROUNDS = 3


class PublishError(Exception):
    """A job was refused before it was sent, or AWS did not accept it. Nothing of it is in a queue, unless the text says
    otherwise.
    """


@dataclass(frozen=True, slots=True)
class Published:
    """What became of one job.

    Attributes:
        id: the job's id.
        ok: AWS accepted it.
        error_code: AWS's code, or ``unaccounted`` when the answer did not mention the job: it may or may not be in the
            queue. error: AWS's text.
    """

    id: str
    ok: bool
    error_code: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One encoded job and where it goes: ``queue_url`` with a delay, or the topic."""

    id: str
    body: str
    attributes: dict[str, dict[str, str]]
    group: str | None
    fifo: bool
    queue_url: str = ""
    delay_seconds: int = 0

    @property
    def size(self) -> int:
        """Bytes that count against the message limit: body plus name, type and value of each attribute (all ASCII)."""
        return len(self.body) + sum(
            len(n) + len(a["DataType"]) + len(a["StringValue"].encode()) for n, a in self.attributes.items()
        )


class Publisher:
    """Sends jobs.

    Args:
        config: topics, queues and limits.
        default_workload: of jobs that name none.
        client: returns the boto3 client of "sns" or "sqs".
        now: the clock; aware, UTC.
    """

    def __init__(
        self,
        config: Config,
        default_workload: str,
        client: Callable[[str], Any],
        now: Callable[[], datetime],
        random: Random | None = None,
    ) -> None:
        self._config, self._default_workload, self._client, self._now = config, default_workload, client, now
        self._random = random or SystemRandom()

    def enqueue(self, job: "JobClass", args: BaseModel, **options: Any) -> Published:
        """Publish one job; see ``App.enqueue``."""
        result = self.enqueue_many(job, [args], **options)[0]
        if not result.ok:
            raise PublishError(
                f"job {job.name!r} ({result.id}) was not accepted: {result.error_code} {result.error}".rstrip()
            )
        return result

    def enqueue_many(self, job: "JobClass", payloads: Iterable[BaseModel], **options: Any) -> list[Published]:
        """Publish several jobs of one class; see ``App.enqueue_many``."""
        messages = [self.message(job, args, **options) for args in payloads]
        results: dict[int, Published] = {}
        for batch in batches(messages, self._config.max_message_bytes):
            results.update(self._send(batch))
        return [results[number] for number in range(len(messages))]

    def message(
        self,
        job: "JobClass",
        args: BaseModel,
        *,
        delay: timedelta | None = None,
        ttl: timedelta | None = None,
        tenant: str | None = None,
        correlation: str | None = None,
        job_id: str | None = None,
    ) -> Message:
        """Check and encode one job without sending it.

        Raises:
            PublishError: naming the value, the rule and the remedy.
        """
        if not isinstance(args, job.payload_model):
            raise PublishError(f"job {job.name!r} takes a {job.payload_model.__name__}, got a {type(args).__name__}")
        _check_id(job, "tenant", tenant)
        _check_id(job, "job_id", job_id)
        now, fifo = self._now(), job.group is not None
        wait = _checked_delay(job, delay)
        workload = job.workload or self._default_workload
        queue_url = self._config.url_of(workload) if wait and not fifo else ""
        if not queue_url:
            topic = (
                {"JOBS_FIFO_TOPIC_ARN": self._config.fifo_topic_arn}
                if fifo
                else {"JOBS_TOPIC_ARN": self._config.topic_arn}
            )
            self._config.require(**topic)
        if self._config.queue_urls and workload not in self._config.queue_urls:
            # The topic would accept it and deliver it to nobody.
            raise PublishError(
                f"job {job.name!r} belongs to the workload {workload!r}, which the stack does not have (it has "
                f"{', '.join(sorted(self._config.queue_urls))}). Add it to `workloads` in Terraform, or correct the "
                "job's workload."
            )
        lifetime = ttl if ttl is not None else job.ttl
        if lifetime is not None and wait >= lifetime:
            raise PublishError(
                f"job {job.name!r}: a delay of {wait} is not shorter than its ttl of {lifetime}; it could never run"
            )
        try:
            envelope = Envelope(
                id=job_id or str(uuid4()),
                job=job.name,
                v=job.version,
                tenant=tenant,
                correlation=correlation,
                enqueued_at=now,
                expires_at=now + lifetime if lifetime is not None else None,
                # Straight to the queue, SQS keeps the time; through the topic, which knows no delay, the consumer does.
                not_before=now + wait if wait and not queue_url else None,
                payload=args.model_dump(mode="json", by_alias=True, round_trip=True),
            )
            body = encode(envelope)
            # What no consumer could read must not leave: neither the header, nor a payload that its own model refuses
            # once it is JSON (an alias that is written but not read, an infinite number).
            job.payload_model.model_validate_json(to_json(decode(body).payload))
        except ValidationError as error:
            raise PublishError(f"job {job.name!r} breaks its own rules: {locations(error)}") from None
        except ValueError as error:
            raise PublishError(str(error)) from error
        except Exception as error:
            raise PublishError(f"job {job.name!r}: no consumer could read its envelope ({error})") from error
        message = Message(
            id=envelope.id,
            body=body,
            attributes={"workload": _text(workload), "job": _text(job.name)},
            group=_group(job, args) if fifo else tenant,
            fifo=fifo,
            queue_url=queue_url,
            delay_seconds=_whole_seconds(wait) if queue_url else 0,
        )
        limit = self._config.max_message_bytes - HEADROOM_BYTES
        if message.size > limit:
            raise PublishError(
                f"job {job.name!r} is {message.size} bytes with its attributes; the limit is {limit} "
                f"({self._config.max_message_bytes} of the topic and queue, less {HEADROOM_BYTES} kept for tracing and "
                "dead letters). Store the data and pass a reference to it."
            )
        return message

    def _send(self, batch: Sequence[tuple[int, Message]]) -> dict[int, Published]:
        results: dict[int, Published] = {}
        left = dict(batch)
        for attempt in range(ROUNDS):
            if attempt:
                time.sleep(self._random.uniform(0, 0.1 * 2**attempt))
            try:
                answer = self._call(list(left.items()))
            except Exception as error:
                # The SDK has tried again already. Whether AWS took the batch before the error is not known: it is not
                # sent twice.
                code = _error_code(error)
                results.update({n: Published(m.id, False, code, str(error)[:500]) for n, m in left.items()})
                return results
            accepted = {int(entry["Id"]) for entry in answer.get("Successful", [])}
            refused = {int(entry["Id"]): entry for entry in answer.get("Failed", [])}
            again: dict[int, Message] = {}
            for number, message in left.items():
                entry = refused.get(number)
                if number in accepted:
                    results[number] = Published(message.id, True)
                elif entry is None:
                    results[number] = Published(
                        message.id, False, "unaccounted", "AWS's answer does not mention this job"
                    )
                else:
                    results[number] = Published(message.id, False, entry.get("Code", ""), entry.get("Message", ""))
                    # On a FIFO topic its successors may be accepted already: sent again, it would come after them.
                    if not entry.get("SenderFault", False) and not message.fifo:
                        again[number] = message
            left = again
            if not left:
                break
        return results

    def _call(self, batch: list[tuple[int, Message]]) -> dict[str, Any]:
        first = batch[0][1]
        if first.queue_url:
            entries = [_sqs_entry(number, message) for number, message in batch]
            sent: dict[str, Any] = self._client("sqs").send_message_batch(QueueUrl=first.queue_url, Entries=entries)
            return sent
        topic = self._config.fifo_topic_arn if first.fifo else self._config.topic_arn
        entries = [_sns_entry(number, message) for number, message in batch]
        published: dict[str, Any] = self._client("sns").publish_batch(
            TopicArn=topic, PublishBatchRequestEntries=entries
        )
        return published


def batches(messages: Sequence[Message], max_bytes: int) -> Iterator[list[tuple[int, Message]]]:
    """Split by count and by bytes: the sum over a batch has the same limit as one message. Order is kept."""
    batch: list[tuple[int, Message]] = []
    size = 0
    for number, message in enumerate(messages):
        if batch and (len(batch) == MAX_BATCH or size + message.size > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append((number, message))
        size += message.size
    if batch:
        yield batch


def _checked_delay(job: "JobClass", delay: timedelta | None) -> timedelta:
    if delay is None:
        return timedelta(0)
    if delay < timedelta(0) or delay > MAX_DELAY:
        raise PublishError(
            f"job {job.name!r}: a delay of {delay} is outside 0..{MAX_DELAY}, which is what SQS can hold a message "
            "back. Publish it later, or let a schedule do so."
        )
    return delay


def _check_id(job: "JobClass", what: str, value: str | None) -> None:
    if value is not None and not _is_id(value):
        raise PublishError(
            f"job {job.name!r}: {what} {value!r} is not a text of 1 to 128 letters, digits and punctuation, which SQS "
            "asks for; use an id instead of a name"
        )


def _is_id(value: object) -> bool:
    """Fit for a message group or a deduplication id (SQS API "SendMessage")."""
    return isinstance(value, str) and 1 <= len(value) <= 128 and all("!" <= character <= "~" for character in value)


def _group(job: "JobClass", args: BaseModel) -> str:
    assert job.group is not None
    group = job.group(args)
    if not _is_id(group):
        raise PublishError(
            f"job {job.name!r}: the message group {group!r} is not a text of 1 to 128 letters, digits and punctuation; "
            "return an id from `group`, hashed if it may be longer"
        )
    return group


def _whole_seconds(wait: timedelta) -> int:
    """Rounded up: a job is never early."""
    return -(-wait // timedelta(seconds=1))


def _text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def _sqs_entry(number: int, message: Message) -> dict[str, Any]:
    entry = {
        "Id": str(number),
        "MessageBody": message.body,
        "MessageAttributes": message.attributes,
        "DelaySeconds": message.delay_seconds,
    }
    return entry if message.group is None else {**entry, "MessageGroupId": message.group}


def _sns_entry(number: int, message: Message) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": str(number), "Message": message.body, "MessageAttributes": message.attributes}
    if message.group is not None:
        entry["MessageGroupId"] = message.group
    if message.fifo:
        entry["MessageDeduplicationId"] = message.id
    return entry


def _error_code(error: Exception) -> str:
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", type(error).__name__))
    return type(error).__name__
