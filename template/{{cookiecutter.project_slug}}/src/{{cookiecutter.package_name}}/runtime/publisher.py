"""Publish jobs: through the topic, or with a delay straight to the workload's queue.

A send either is accepted by AWS or is reported as failed, job by job: nothing is guessed, nothing accepted is sent
again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from .aws_errors import code_of
from .claims import ClaimStore, PayloadTooLargeError
from .config import Config
from .delay import DelayRefusedError, DelaySeconds, Machine, NotBefore, Now, Plan, check_payload_lasts, plan, timestamp
from .delay_machine import Delayed, delayed, start_delays
from .envelope import Envelope, decode, encode, locations
from .key import MissingKeyError, business_key

if TYPE_CHECKING:
    from .job import JobClass

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
    """One encoded job and where it goes: ``queue_url`` with a delay, the delay ``machine`` until ``at``, or the topic.

    ``upload`` is the payload of a claim check, to be stored before the message is sent.
    """

    id: str
    body: str
    attributes: dict[str, dict[str, str]]
    group: str | None
    fifo: bool
    queue_url: str = ""
    delay_seconds: int = 0
    machine: str = ""
    at: str = ""
    upload: str = ""

    @property
    def trip(self) -> Delayed:
        """The execution of the delay machine that carries it."""
        workload, at = self.attributes["workload"]["StringValue"], datetime.fromisoformat(self.at)
        return delayed(self.machine, at=at, body=self.body, workload=workload, group=self.group)

    def due(self, now: datetime) -> datetime:
        """When a message sent now is delivered."""
        return datetime.fromisoformat(self.at) if self.at else now + timedelta(seconds=self.delay_seconds)

    @property
    def size(self) -> int:
        """Bytes that count against the message limit: body plus name, type and value of each attribute (all ASCII)."""
        return len(self.body) + sum(
            len(n) + len(a["DataType"]) + len(a["StringValue"].encode()) for n, a in self.attributes.items()
        )

    @property
    def destination(self) -> tuple[str, bool]:
        """What one batch call can have only one of: a queue, a delay machine, or one of the two topics."""
        return self.machine or self.queue_url, self.fifo

    def to_json(self) -> str:
        """The form that an outbox keeps."""
        return to_json(self, ensure_ascii=True).decode("ascii")

    @classmethod
    def from_json(cls, text: str) -> "Message":
        # A newer version may have written fields that this one does not know.
        return cls(**{name: value for name, value in from_json(text).items() if name in cls.__dataclass_fields__})


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
        self._claims = (
            ClaimStore(config.claim_bucket, config.claim_prefix, lambda: client("s3")) if config.claim_bucket else None
        )

    def enqueue(self, job: "JobClass", args: BaseModel, **options: Any) -> Published:
        """Publish one job; see ``App.enqueue``."""
        return self.publish(self.message(job, args, **options))

    def publish(self, message: Message) -> Published:
        """Send one encoded job. Raises PublishError."""
        result = self.send([message])[0]
        if not result.ok:
            name = message.attributes["job"]["StringValue"]
            raise PublishError(
                f"job {name!r} ({result.id}) was not accepted: {result.error_code} {result.error}".rstrip()
            )
        return result

    def enqueue_many(self, job: "JobClass", payloads: Iterable[BaseModel], **options: Any) -> list[Published]:
        """Publish several jobs of one class; see ``App.enqueue_many``."""
        return self.send([self.message(job, args, **options) for args in payloads])

    def publish_all(self, messages: Sequence[Message]) -> None:
        """Send encoded jobs, ten a call. Raises PublishError if one of them was not accepted."""
        failed = [result for result in self.send(messages) if not result.ok]
        if failed:
            raise PublishError(f"{len(failed)} of {len(messages)} jobs were not accepted: {failed[0].error_code}")

    def send(self, messages: Sequence[Message]) -> list[Published]:
        """Send encoded jobs; one result each, in order. Nothing is raised for a send that failed."""
        results: dict[int, Published] = {}
        ready: list[tuple[int, Message]] = []
        for number, message in enumerate(messages):
            try:
                ready.append((number, self._uploaded(message)))
            except Exception as error:
                results[number] = Published(message.id, False, code_of(error), str(error)[:500])
        for batch in batches([message for _, message in ready], self._config.max_message_bytes):
            sent = self._send(batch)
            results.update({ready[position][0]: result for position, result in sent.items()})
        return [results[number] for number in range(len(messages))]

    def prepare(self, job: "JobClass", args: BaseModel, **options: Any) -> Message:
        """``message`` for an outbox: small, because a claim check's payload is stored already.

        Raises:
            PublishError: as ``message``, or the payload could not be stored.
        """
        message = self.message(job, args, **options)
        try:
            return self._uploaded(message)
        except Exception as error:
            raise PublishError(f"job {message.id}: its payload could not be stored ({error})") from error

    def _uploaded(self, message: Message) -> Message:
        if not message.upload:
            return message
        claim = decode(message.body).claim
        assert claim is not None
        assert self._claims is not None
        self._claims.put(claim, message.upload.encode("ascii"))
        return replace(message, upload="")

    def message(
        self,
        job: "JobClass",
        args: BaseModel,
        *,
        delay: timedelta | None = None,
        at: datetime | None = None,
        ttl: timedelta | None = None,
        tenant: str | None = None,
        correlation: str | None = None,
        causation: str | None = None,
        traceparent: str | None = None,
        context: Mapping[str, str] | None = None,
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
        workload = job.workload or self._default_workload
        queue_url, machine = self._config.url_of(workload), self._config.machine_of(workload)
        lifetime = ttl if ttl is not None else job.ttl
        try:
            planned = plan(
                now=now,
                delay=delay,
                at=at,
                ttl=lifetime,
                fifo=fifo,
                queue_known=bool(queue_url),
                machine_known=bool(machine),
            )
        except DelayRefusedError as error:
            raise PublishError(f"job {job.name!r}: {error}") from error
        if isinstance(planned, Now | NotBefore):
            topic = (
                {"JOBS_FIFO_TOPIC_ARN": self._config.fifo_topic_arn}
                if fifo
                else {"JOBS_TOPIC_ARN": self._config.topic_arn}
            )
            self._config.require(**topic)
        # A direct workload has no queue, but always a machine.
        known = {*self._config.queue_urls, *self._config.delay_machines}
        if known and workload not in known:
            # The topic would accept it and deliver it to nobody.
            raise PublishError(
                f"job {job.name!r} belongs to the workload {workload!r}, which the stack does not have (it has "
                f"{', '.join(sorted(known))}). Add it to `workloads` in Terraform, or correct the "
                "job's workload."
            )
        if fifo and known and workload not in self._config.queue_urls:
            raise PublishError(
                f"job {job.name!r} has a `group`, but its workload {workload!r} is direct: without a queue there is no "
                "order, and its function hears nothing of the FIFO topic. Remove `group`, or give the workload a queue."
            )
        try:
            key = business_key(job, args)
        except MissingKeyError as error:
            raise PublishError(str(error)) from error
        try:
            envelope = Envelope(
                id=job_id or str(uuid4()),
                job=job.name,
                v=job.version,
                key=key,
                tenant=tenant,
                correlation=correlation,
                causation=causation,
                traceparent=traceparent,
                context=dict(context or {}),
                enqueued_at=now,
                expires_at=now + lifetime if lifetime is not None else None,
                # Through the topic, which knows no delay, the consumer keeps the time.
                not_before=planned.at if isinstance(planned, NotBefore) else None,
                due_at=_due(planned, now),
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
            queue_url=queue_url if isinstance(planned, DelaySeconds) else "",
            delay_seconds=planned.seconds if isinstance(planned, DelaySeconds) else 0,
            machine=machine if isinstance(planned, Machine) else "",
            at=timestamp(planned.at) if isinstance(planned, Machine) else "",
        )
        if self._fits(message):
            return message
        if self._claims is not None:
            return self._claimed(job, message, envelope, planned, now)
        limit = self._config.max_message_bytes - HEADROOM_BYTES
        raise PublishError(
            f"job {job.name!r} is {message.size} bytes with its attributes; the limit is {limit} "
            f"({self._config.max_message_bytes} of the topic and queue, less {HEADROOM_BYTES} kept for tracing and "
            "dead letters). Store the data and pass a reference to it, or set `claim_check` in Terraform."
        )

    def _fits(self, message: Message) -> bool:
        limit = self._config.max_message_bytes - HEADROOM_BYTES
        return message.size <= limit and (not message.machine or message.trip.fits)

    def _claimed(self, job: "JobClass", message: Message, envelope: Envelope, planned: Plan, now: datetime) -> Message:
        """The same message with its payload beside it."""
        assert self._claims is not None
        try:
            if isinstance(planned, Machine):
                check_payload_lasts(planned.at - now.astimezone(UTC), self._config.claim_max_delay)
            packed, data = self._claims.pack(envelope)
        except (DelayRefusedError, PayloadTooLargeError) as error:
            raise PublishError(f"job {job.name!r}: {error}") from error
        claimed = replace(message, body=encode(packed), upload=data.decode("ascii"))
        if not self._fits(claimed):
            raise PublishError(f"job {job.name!r}: its header alone is {claimed.size} bytes; shorten its key")
        return claimed

    def _send(self, batch: Sequence[tuple[int, Message]]) -> dict[int, Published]:
        if batch[0][1].machine:
            return self._start(batch)
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
                code = code_of(error)
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

    def _start(self, batch: Sequence[tuple[int, Message]]) -> dict[int, Published]:
        try:
            started = start_delays(
                self._client("stepfunctions"), [message.trip for _, message in batch], random=self._random
            )
        except Exception as error:  # no client: no region, no credentials
            return {n: Published(m.id, False, code_of(error), str(error)[:500]) for n, m in batch}
        return {
            number: Published(message.id, result.ok, result.error_code, result.error)
            for (number, message), result in zip(batch, started, strict=True)
        }

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
    """Split by destination, count and bytes: the sum over a batch has the same limit as one message. Order is kept."""
    batch: list[tuple[int, Message]] = []
    size = 0
    for number, message in enumerate(messages):
        full = len(batch) == MAX_BATCH or size + message.size > max_bytes
        if batch and (full or message.destination != batch[0][1].destination):
            yield batch
            batch, size = [], 0
        batch.append((number, message))
        size += message.size
    if batch:
        yield batch


def _check_id(job: "JobClass", what: str, value: str | None) -> None:
    if value is not None and not _is_id(value):
        raise PublishError(
            f"job {job.name!r}: {what} {value!r} is not a text of 1 to 128 letters, digits and punctuation, which SQS "
            "asks for; use an id instead of a name"
        )


def _is_id(value: object) -> bool:
    """Fit for a message group or a deduplication id (SQS API "SendMessage")."""
    return isinstance(value, str) and 1 <= len(value) <= 128 and all("!" <= character <= "~" for character in value)


def _due(planned: Plan, now: datetime) -> datetime | None:
    if isinstance(planned, DelaySeconds):
        return now + timedelta(seconds=planned.seconds)
    return planned.at if isinstance(planned, NotBefore | Machine) else None


def _group(job: "JobClass", args: BaseModel) -> str:
    assert job.group is not None
    group = job.group(args)
    if not _is_id(group):
        raise PublishError(
            f"job {job.name!r}: the message group {group!r} is not a text of 1 to 128 letters, digits and punctuation; "
            "return an id from `group`, hashed if it may be longer"
        )
    return group


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
