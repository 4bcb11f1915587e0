"""The delay machine: a Step Functions state machine of two states per workload that keeps a job for up to a year.

It waits until ``$.at``, then sends ``$.body`` to its own queue, whose URL stands in its definition and never in the
input. One execution is one trip of one job.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from .aws_errors import code_of, is_transient
from .delay import DelayRefusedError, timestamp
from .envelope import Envelope, decode, payload_digest, raw_envelope

if TYPE_CHECKING:
    from .claims import ClaimStore
    from .delivery import Delivery

# Step Functions API "StartExecution": 262,144 bytes. The same limit holds for the call that the machine then makes,
# which carries the queue's URL and attribute names as well.
MAX_INPUT_BYTES = 262_144 - 8_192
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Delayed:
    """One execution of a delay machine, to be started.

    Attributes:
        machine: ARN of the state machine.
        name: of the execution; the same for the same trip of the same job.
        input: JSON with ``at``, ``body``, ``workload``, ``job``, ``group`` and ``dedup``, which the definition reads,
            and ``id`` and ``digest``, for people and for telling a repetition from a conflict.
    """

    machine: str
    name: str
    input: str

    @property
    def fits(self) -> bool:
        """Whether Step Functions takes the input. The body is JSON within JSON there, so it is longer than it was."""
        return len(self.input) <= MAX_INPUT_BYTES

    @property
    def execution_arn(self) -> str:
        return f"{self.machine.replace(':stateMachine:', ':execution:', 1)}:{self.name}"


def execution_name(job_id: str, generation: int = 0, attempts_before: int = 0, carrier: str = "") -> str:
    """The name of one trip through the machine: a hash, since an id may be any text of any length.

    What the job contains is not part of it: publishing one id with two contents must meet, and be told, not start
    twice.

    Args:
        job_id: the job.
        generation, attempts_before: from the envelope; a redriven job takes a new trip.
        carrier: id of the message that is put back, empty when the job is published. Each trip ends in a message with
            an id of its own, so that the next trip has a name of its own even if no attempt was used up in between.
    """
    trip = to_json([job_id, generation, attempts_before, carrier], ensure_ascii=True)
    return hashlib.sha256(trip).hexdigest()


def delayed(machine: str, *, at: datetime, body: str, workload: str, group: str | None, carrier: str = "") -> Delayed:
    """Encode one trip through the machine.

    Args:
        machine: ARN of the workload's state machine.
        at: when the body is sent.
        body: an encoded envelope; sent as it is.
        workload: goes into the message attribute ``workload``.
        group: FIFO message group, or the tenant.
        carrier: see ``execution_name``.
    """
    envelope = decode(body)
    name = execution_name(envelope.id, envelope.generation, envelope.attempts_before, carrier)
    content = {
        "at": timestamp(at),
        "body": body,
        "workload": workload,
        "job": envelope.job,
        # Always there, because a definition cannot leave a parameter out: a job of no tenant is a group of its own,
        # which is what SQS makes of it without the parameter, too.
        "group": _legal_group(group if group is not None else name),
        "dedup": name,  # not the job's id: that may hold what SQS refuses, and nobody would hear of it
        "id": envelope.id,
        "digest": _digest(envelope),
    }
    return Delayed(machine, name, to_json(content, ensure_ascii=True).decode("ascii"))


def rescheduled(
    machine: str,
    delivery: "Delivery",
    *,
    at: datetime,
    workload: str,
    attempts_before: int | None = None,
    claims: "ClaimStore | None" = None,
) -> Delayed:
    """Put a received job back by way of the machine, for a wait that is longer than what is left of its visibility.

    Start it, and only when that has succeeded acknowledge the message.

    Args:
        machine: ARN of the workload's state machine.
        delivery: the message, whose body travels on byte for byte unless the next arguments change it.
        at: when it comes back.
        workload: the consumer's own.
        attempts_before: attempts used up so far, for a job without a ledger. None leaves it: the ledger's record goes
            on counting.
        claims: where the payload goes if the whole is too large for the machine.

    Raises:
        DelayRefusedError: it is too large, and there is no claim check.
        Exception: the payload could not be stored.
    """
    body = raw_envelope(delivery.body)
    if attempts_before is not None:
        # Not through the model, which would drop the header fields of a newer producer.
        body = _changed(body, {"attempts_before": attempts_before})

    def trip(text: str) -> Delayed:
        return delayed(machine, at=at, body=text, workload=workload, group=delivery.group, carrier=delivery.message_id)

    encoded = trip(body)
    if encoded.fits:
        return encoded
    envelope = decode(body)
    if claims is None or envelope.claim is not None:
        raise DelayRefusedError(
            f"the job is {len(encoded.input)} bytes for the delay machine, which takes {MAX_INPUT_BYTES}; the stack "
            "has no claim check for it. Set `claim_check` in Terraform."
        )
    packed = claims.store(envelope)
    assert packed.claim is not None
    return trip(_changed(body, {"claim": packed.claim, "payload": {}}))


def _changed(body: str, fields: dict[str, Any]) -> str:
    return to_json({**from_json(body), **fields}, ensure_ascii=True).decode("ascii")


def _legal_group(group: str) -> str:
    # SQS API "SendMessage", MessageGroupId: 1 to 128 letters, digits and punctuation. A tenant's name may be anything.
    legal = 1 <= len(group) <= 128 and all("!" <= character <= "~" for character in group)
    return group if legal else hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()


def _digest(envelope: Envelope) -> str:
    """What a job is, without the times and request ids by which two publications of it differ."""
    if envelope.claim is not None:
        payload = envelope.claim.digest or envelope.claim.sha256[:16]
    else:
        payload = payload_digest(envelope.payload)
    identity = [envelope.job, envelope.v, envelope.key, envelope.tenant, payload]
    return hashlib.sha256(to_json(identity, ensure_ascii=True)).hexdigest()


@dataclass(frozen=True, slots=True)
class Started:
    """What became of one start. ``error_code`` is AWS's, or ``JobIdConflict``, ``DelayFailed``, ``InputTooLarge``."""

    ok: bool
    error_code: str = ""
    error: str = ""


def start_delays(
    client: Any,
    trips: Sequence[Delayed],
    *,
    sleep: Callable[[float], None] = time.sleep,
    random: Random | None = None,
) -> list[Started]:
    """Start executions; one exact result each, in order. Nothing is raised for a start that failed.

    One call each: Step Functions has none for several. A start may be repeated even if its answer was lost, since the
    name makes it idempotent; so everything transient is.

    Args:
        client: the boto3 Step Functions client.
        trips: what to start.
        sleep: waits so many seconds.
        random: source of jitter.
    """
    random = random or SystemRandom()
    results: dict[int, Started] = {}
    left = dict(enumerate(trips))
    for attempt in range(ROUNDS):
        if attempt:
            sleep(random.uniform(0, 0.2 * 2**attempt))
        again: dict[int, Delayed] = {}
        for number, trip in left.items():
            result, transient = _start(client, trip)
            results[number] = result
            if transient:
                again[number] = trip
        left = again
        if not left:
            break
    return [results[number] for number in range(len(trips))]


def _start(client: Any, trip: Delayed) -> tuple[Started, bool]:
    if not trip.fits:
        text = f"{len(trip.input)} bytes; the delay machine takes {MAX_INPUT_BYTES}"
        return Started(False, "InputTooLarge", text), False
    try:
        client.start_execution(stateMachineArn=trip.machine, name=trip.name, input=trip.input)
    except Exception as error:
        code = code_of(error)
        if code == "ExecutionAlreadyExists":
            return _existing(client, trip)
        return Started(False, code, str(error)[:500]), is_transient(error)
    return Started(True), False


def _existing(client: Any, trip: Delayed) -> tuple[Started, bool]:
    """The name is taken: by the same job, which then is under way or was delivered, or by another one under its id.

    Step Functions itself cannot tell: the times in the input differ between two publications, and of an execution that
    has ended it does not compare the input at all.
    """
    try:
        found = client.describe_execution(executionArn=trip.execution_arn)
        same = from_json(found["input"])["digest"] == from_json(trip.input)["digest"]
        status = found["status"]
    except Exception as error:
        text = f"an execution {trip.name} exists, but it could not be looked at ({code_of(error)}: {error})"
        return Started(False, "ExecutionAlreadyExists", text[:500]), is_transient(error)
    job_id = from_json(trip.input)["id"]
    if not same:
        text = f"a job with the id {job_id!r} and other arguments was delayed already; an id belongs to one job"
        return Started(False, "JobIdConflict", text), False
    if status not in ("RUNNING", "SUCCEEDED"):
        text = f"the delay of job {job_id!r} ended with {status}: redrive the execution {trip.execution_arn}"
        return Started(False, "DelayFailed", text), False
    return Started(True), False
