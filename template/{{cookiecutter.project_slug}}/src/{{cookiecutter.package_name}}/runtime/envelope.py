"""What travels: a header and a payload, as one JSON object in ASCII.

ASCII because SQS and SNS refuse whole messages for characters that JSON allows raw, such as U+FFFF (SQS API,
"SendMessage": only the characters of XML 1.0); an escape passes everywhere. The golden messages in the repository's
tests fix this format: fields may be added, never changed.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

JOB_NAME_PATTERN = r"^[a-z][a-z0-9_.-]{0,99}$"


class Pointer(BaseModel):
    """Where a payload is that was too large for the message. It never says in which bucket: every consumer knows its
    own.
    """

    # Unknown fields are kept, so that one that names a bucket can be refused instead of overlooked (``claims``).
    model_config = ConfigDict(frozen=True, extra="allow")

    key: Annotated[str, Field(description="Key of the object in the stack's claim-check bucket.")]
    sha256: Annotated[str, Field(description="SHA-256 of the object's bytes, in hexadecimal.")]
    size: Annotated[int, Field(description="Number of the object's bytes.")]
    digest: Annotated[
        str | None, Field(description="The payload's own digest, by which the same payload is known inside a message.")
    ] = None


class PutOff(BaseModel):
    """How often, and since when, a consumer without a queue has put a job off without a run of it: what a queue's
    receive count and its time of the first receive tell.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    times: Annotated[int, Field(ge=0, description="Deliveries since the last attempt that did not run the job.")]
    since: Annotated[AwareDatetime, Field(description="When the first of them was.")]


def _in_utc(moment: datetime) -> datetime:
    """Two texts of one moment are one occurrence."""
    if not 1970 <= moment.year <= 2999:
        raise ValueError("an occurrence is a time from 1970 to 2999")
    return moment.astimezone(UTC)


class Envelope(BaseModel):
    """One published job. Only ``id``, ``job`` and ``payload`` are required; unknown fields are ignored, so that a newer
    producer is read.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", title="Background job envelope")

    id: Annotated[
        str, Field(min_length=1, max_length=128, description="Unique per published job; the FIFO deduplication id.")
    ]
    job: Annotated[str, Field(min_length=1, max_length=100, description="Wire name of the job class.")]
    v: Annotated[int, Field(ge=1, description="Version of the payload model.")] = 1
    key: Annotated[str | None, Field(description="Business key: two jobs with one key are one piece of work.")] = None
    tenant: Annotated[
        str | None, Field(max_length=128, description="Whose work it is; the fair-queue message group.")
    ] = None
    correlation: Annotated[
        str | None, Field(max_length=256, description="Shared by everything one request caused.")
    ] = None
    causation: Annotated[str | None, Field(max_length=128, description="Id of the job that enqueued this one.")] = None
    traceparent: Annotated[str | None, Field(max_length=55, description="W3C trace context.")] = None
    context: Annotated[
        dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=256)]],
        Field(
            max_length=10,
            description="The request's own words, such as user and locale: logged, inherited, never secret.",
        ),
    ] = {}
    enqueued_at: Annotated[AwareDatetime | None, Field(description="When the producer published it.")] = None
    expires_at: Annotated[AwareDatetime | None, Field(description="Deadline: not started after it.")] = None
    not_before: Annotated[AwareDatetime | None, Field(description="Not started before it.")] = None
    occurrence: Annotated[
        Annotated[AwareDatetime, AfterValidator(_in_utc)] | None,
        Field(description="The time of a schedule that this job is for; with the business key it names the record."),
    ] = None
    due_at: Annotated[
        AwareDatetime | None,
        Field(description="When a delayed job was meant to start: latency counts from it. Nothing waits for it."),
    ] = None
    attempts_before: Annotated[int, Field(ge=0, description="Attempts used up before this message was sent.")] = 0
    generation: Annotated[int, Field(ge=0, description="How often the job was redriven.")] = 0
    put_off: Annotated[
        PutOff | None,
        Field(description="Set by a consumer without a queue, which publishes a job again to put it off."),
    ] = None
    claim: Annotated[
        Pointer | None, Field(description="Claim check: the payload is this object, and `payload` is empty.")
    ] = None
    payload: Annotated[dict[str, Any], Field(description="The job's own model, as a JSON object.")]


class NotAJobError(Exception):
    """The body of a message is no envelope. ``reason`` is ``undecodable`` (no JSON) or ``not_an_envelope`` (other
    JSON).

    The text says where the rule was broken, never what stood there.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def decode(body: str) -> Envelope:
    """Read an envelope from a queue message: raw, or wrapped by an SNS subscription without raw delivery.

    The rule for everything else is strict: a byte-order mark, base64 or anything after the closing brace makes a body
    undecodable.

    Raises:
        NotAJobError: the body is not an envelope.
    """
    try:
        return Envelope.model_validate_json(body)
    except ValidationError as error:
        wrapped = _sns_message(body)
        if wrapped is None:
            raise _not_a_job(error) from None
    try:
        return Envelope.model_validate_json(wrapped)
    except ValidationError as error:
        raise _not_a_job(error) from None


def raw_envelope(body: str) -> str:
    """The envelope's own text, byte for byte as its producer wrote it, of a message that ``decode`` reads."""
    try:
        Envelope.model_validate_json(body)
    except ValidationError:
        return _sns_message(body) or body
    return body


def _sns_message(body: str) -> str | None:
    try:
        outer = from_json(body)
    except (ValueError, TypeError):  # TypeError: a lone surrogate, which Lambda's own JSON decoder hands on
        return None
    if isinstance(outer, dict) and outer.get("Type") == "Notification" and isinstance(outer.get("Message"), str):
        return str(outer["Message"])
    return None


def _not_a_job(error: ValidationError) -> NotAJobError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    if first[0]["type"] in ("json_invalid", "string_unicode"):
        return NotAJobError("undecodable", "the body is not JSON")
    places = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['type']}" for e in first)
    return NotAJobError("not_an_envelope", places)


def encode(envelope: Envelope) -> str:
    """The wire form: fields that are unset or null are left out of the header, the payload is kept as it is.

    Raises:
        ValueError: the payload holds a lone surrogate, which no encoding can carry.
    """
    header = {name: value for name, value in envelope if value is not None and value != {} and name != "payload"}
    if envelope.put_off is not None:
        header["put_off"] = envelope.put_off.model_dump()
    if envelope.claim is not None:
        header["claim"] = envelope.claim.model_dump(exclude={"digest"} if envelope.claim.digest is None else None)
    try:
        return to_json({**header, "payload": envelope.payload}, ensure_ascii=True, inf_nan_mode="strings").decode(
            "ascii"
        )
    except ValueError as error:
        raise ValueError(
            f"job {envelope.job!r} cannot be written as JSON ({error}); a text that was cut in the middle of an emoji "
            "does this: replace lone surrogates before publishing"
        ) from error


def payload_digest(payload: Mapping[str, Any]) -> str:
    """Tells two payloads under one key apart. Of what travelled, not of the model: a deploy between two deliveries
    changes nothing. Nor does the order of names.
    """
    text = to_json(_sorted(payload), ensure_ascii=True, inf_nan_mode="strings")
    return hashlib.sha256(text).hexdigest()[:16]


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(part) for part in value]
    return value


def request_fields(envelope: Envelope) -> dict[str, Any]:
    """What every log line of a job says about the request that caused it."""
    fields: dict[str, Any] = {"correlation_id": envelope.correlation or envelope.id}
    for name, value in (
        ("tenant", envelope.tenant),
        ("causation_id", envelope.causation),
        ("traceparent", envelope.traceparent),
        ("context", envelope.context),
        ("occurrence", envelope.occurrence and envelope.occurrence.isoformat()),
    ):
        if value:
            fields[name] = value
    return fields


def locations(error: ValidationError, limit: int = 5) -> str:
    """Where a payload is invalid and which rule it broke, without the values."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    places = [f"{'.'.join(map(str, e['loc'])) or 'payload'}: {e['type']}" for e in errors[:limit]]
    more = len(errors) - len(places)
    return ("; ".join(places) + (f"; and {more} more" if more > 0 else ""))[:300]
