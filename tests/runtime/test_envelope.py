"""The wire format. The golden messages in ``wire/`` may be added to, never changed: they are in somebody's queue."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from runtime.deadletter import dead_letter
from runtime.engine import Report
from runtime.envelope import Envelope, NotAJobError, Pointer, PutOff, decode, encode, locations
from runtime.failure import Failure
from runtime.outcome import Kind, Outcome
from runtime.schema import envelope_schema

from .helpers import RUNTIME, delivery

WIRE = Path(__file__).parent / "wire"
FULL = Envelope(
    id="01890a5d-ac96-774b-bcce-b302099a8057",
    job="billing.invoice.send",
    v=2,
    key="invoice-7",
    tenant="acme",
    correlation="request-9",
    traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    enqueued_at=datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC),
    expires_at=datetime(2026, 3, 1, 18, 0, tzinfo=UTC),
    not_before=datetime(2026, 3, 1, 12, 15, tzinfo=UTC),
    attempts_before=3,
    generation=1,
    payload={
        "text": 'Zürich 中 \U0001f600 \uffff "\\/\n',
        "number": 9.9,
        "none": None,
        "list": [1, {"deep": True}],
    },
)
MINIMAL = Envelope(id="job-1", job="report.build", payload={})
RAW = Envelope(
    id="job-2", job="report.build", enqueued_at=datetime(2026, 3, 1, tzinfo=UTC), payload={"month": "2026-02-01"}
)
KEYED = Envelope(
    id="job-3",
    job="billing.invoice.send",
    key="0",
    tenant="acme",
    enqueued_at=datetime(2026, 3, 1, tzinfo=UTC),
    payload={"number": 0},
)
CLAIM = Envelope(
    id="job-4",
    job="report.build",
    key="2026-02",
    enqueued_at=datetime(2026, 3, 1, tzinfo=UTC),
    claim=Pointer(
        key="claims/6e6ba0d2ef8e9c1a6b0d3f2a4c5e7f80/44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a.json",
        sha256="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        size=2,
    ),
    payload={},
)
ASKED = Envelope(
    id="job-5",
    job="report.build",
    tenant="acme",
    correlation="request-9",
    causation="job-2",
    context={"user": "u-1", "locale": "de"},
    enqueued_at=datetime(2026, 3, 1, tzinfo=UTC),
    payload={},
)
PUT_OFF = Envelope(
    id="job-6",
    job="report.build",
    enqueued_at=datetime(2026, 3, 1, tzinfo=UTC),
    attempts_before=1,
    put_off=PutOff(times=2, since=datetime(2026, 3, 1, 0, 1, 30, tzinfo=UTC)),
    payload={},
)
# As modules/schedule writes it: EventBridge Scheduler puts the time in, and can compute nothing.
SCHEDULED = Envelope(
    id="shop:nightly:2027-01-05T03:00:00Z",
    job="report.build",
    enqueued_at=datetime(2027, 1, 5, 3, tzinfo=UTC),
    occurrence=datetime(2027, 1, 5, 3, tzinfo=UTC),
    payload={"kind": "full"},
)
DELAYED = Envelope(
    id="job-6",
    job="report.build",
    enqueued_at=datetime(2026, 3, 1, tzinfo=UTC),
    due_at=datetime(2026, 3, 1, 0, 10, tzinfo=UTC),
    payload={"month": "2026-02-01"},
)
# File to what it means.
GOLDEN = {
    "scheduled.json": SCHEDULED,
    "occurrence.json": SCHEDULED.model_copy(update={"key": "2027-01"}),
    "put_off.json": PUT_OFF,
    "delayed.json": DELAYED,
    "context.json": ASKED,
    "claim.json": CLAIM,
    "keyed.json": KEYED,
    "all_fields.json": FULL,
    "minimal.json": MINIMAL,
    "raw.json": RAW,
    "sns_wrapped.json": RAW,
    "unknown_fields.json": RAW,
}


def wire(name: str) -> str:
    return (WIRE / name).read_text(encoding="ascii").removesuffix("\n")


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_message_is_read(name: str) -> None:
    assert decode(wire(name)) == GOLDEN[name]


@pytest.mark.parametrize(
    "name",
    [
        "all_fields.json",
        "raw.json",
        "keyed.json",
        "claim.json",
        "context.json",
        "put_off.json",
        "occurrence.json",
        "delayed.json",
    ],
)
def test_a_golden_message_is_written_byte_for_byte(name: str) -> None:
    assert encode(GOLDEN[name]) == wire(name)


def test_golden_files_are_added_never_changed() -> None:
    recorded = dict(line.split("  ")[::-1] for line in (WIRE / "SHA256SUMS").read_text().splitlines())
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in WIRE.glob("*.json")} == recorded
    assert recorded.keys() == GOLDEN.keys() | {"dead_letter_note.json"}


def test_the_note_of_a_dead_letter_is_written_byte_for_byte() -> None:
    failure = Failure("MailboxGone", "no such mailbox: zo\u00eb", ("acme/jobs/mail.py:9 run",))
    report = Report(
        delivery(wire("raw.json"), sent_at=1772366400.25, source="arn:aws:sqs:eu-west-1:123456789012:shop-email"),
        outcome=Outcome(Kind.DEAD, "mailbox_gone", error=failure),
        attempt=2,
    )
    letter = dead_letter(report, "3f2a9c1b5d7e", 262_144)
    assert letter["MessageAttributes"]["dead"] == {"DataType": "String", "StringValue": wire("dead_letter_note.json")}


def test_the_schema_file_is_current() -> None:
    # If it differs: python -m runtime.schema > envelope.schema.json, and mind that fields may only be added.
    assert (RUNTIME / "envelope.schema.json").read_text(encoding="utf-8") == envelope_schema()


SCHEMA = json.loads((RUNTIME / "envelope.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    [name for name in GOLDEN if name != "sns_wrapped.json"],
)
def test_golden_messages_fit_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(wire(name)), SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "broken", [{"id": ""}, {"job": None}, {"v": 0}, {"payload": []}, {"attempts_before": -1}, {"put_off": {"times": 1}}]
)
def test_schema_and_code_refuse_the_same(broken: dict[str, Any]) -> None:
    content = {**json.loads(wire("minimal.json")), **broken}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SCHEMA)
    with pytest.raises(NotAJobError):
        decode(json.dumps(content))


GOOD = '{"id":"job-1","job":"report.build","payload":{}}'
NOT_JOBS = {
    "": "undecodable",
    " ": "undecodable",
    "hello": "undecodable",
    "null": "not_an_envelope",
    "42": "not_an_envelope",
    "true": "not_an_envelope",
    '"text"': "not_an_envelope",
    "[]": "not_an_envelope",
    '[{"job":"a"}]': "not_an_envelope",
    "{}": "not_an_envelope",
    '{"job":null}': "not_an_envelope",
    '{"job":""}': "not_an_envelope",
    '{"job":["a"]}': "not_an_envelope",
    '{"job":"a","args":"not-an-object"}': "not_an_envelope",
    '{"id":"1","job":"a","payload":null}': "not_an_envelope",
    '{"id":1,"job":"a","payload":{}}': "not_an_envelope",
    '{"id":"1","job":"a","payload":{},"enqueued_at":"2026-03-01T12:00:00"}': "not_an_envelope",  # no time zone
    '{"id":"1","job":"a","payload":{},"occurrence":"2026-03-01T12:00:00"}': "not_an_envelope",
    '{"id":"1","job":"a","payload":{},"occurrence":"0001-01-01T00:00:00+10:00"}': "not_an_envelope",  # not in UTC
    '{"id":"1","job":"a","payload":{},"occurrence":"<aws.scheduler.scheduled-time>"}': "not_an_envelope",
    "eyJpZCI6ImpvYi0xIiwiam9iIjoicmVwb3J0LmJ1aWxkIiwicGF5bG9hZCI6e319": "undecodable",  # base64 of a good body
    "\ufeff" + GOOD: "undecodable",  # byte-order mark
    GOOD + " trailing": "undecodable",
    GOOD + GOOD: "undecodable",
    "[" * 100_000: "undecodable",
    '{"id":"1","job":"a","payload":{"n":' + "9" * 5_000 + "}}": "undecodable",
    json.dumps({"Type": "Notification", "Message": "hello"}): "undecodable",
    json.dumps({"Type": "Notification", "Message": "{}"}): "not_an_envelope",
    json.dumps({"Type": "Notification", "Message": {"id": "1", "job": "a", "payload": {}}}): "not_an_envelope",
    json.dumps({"Type": "Other", "Message": GOOD}): "not_an_envelope",
}


@pytest.mark.parametrize(("text", "reason"), NOT_JOBS.items(), ids=lambda value: repr(value)[:24])
def test_what_is_no_job_is_named(text: str, reason: str) -> None:
    with pytest.raises(NotAJobError) as caught:
        decode(text)
    assert caught.value.reason == reason


def test_the_text_of_the_error_tells_no_content() -> None:
    for text in ("SECRET", '{"id":"1","job":["SECRET"],"payload":"SECRET"}', '{"SECRET":1}'):
        with pytest.raises(NotAJobError) as caught:
            decode(text)
        assert "SECRET" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*Envelope.model_fields, "Type", "Message"])


@given(st.text() | JSON.map(json.dumps) | st.dictionaries(FIELDS, JSON | st.just("Notification")).map(json.dumps))
def test_any_text_is_a_job_or_is_not(text: str) -> None:
    try:
        reason = decode(text).job
    except NotAJobError as error:
        reason = error.reason
    assert reason


MOMENTS = st.none() | st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=2))))


@given(
    payload=st.dictionaries(st.text(), JSON, max_size=4),
    job_id=st.text(min_size=1, max_size=128),
    tenant=st.none() | st.text(max_size=128),
    expires=MOMENTS,
    attempts=st.integers(0, 10**6),
)
def test_what_is_written_is_read_and_is_ascii(
    payload: dict[str, Any], job_id: str, tenant: str | None, expires: datetime | None, attempts: int
) -> None:
    envelope = Envelope(
        id=job_id, job="probe", tenant=tenant, expires_at=expires, attempts_before=attempts, payload=payload
    )
    text = encode(envelope)
    assert text.isascii()
    # Only what XML 1.0 allows passes SQS.
    assert all(" " <= character <= "\x7f" for character in text)
    assert decode(text) == envelope
    assert None not in {k: v for k, v in json.loads(text).items() if k != "payload"}.values()


def test_what_no_encoding_can_carry_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"'probe' cannot be written as JSON .*replace lone surrogates"):
        encode(Envelope(id="1", job="probe", payload={"text": "cut \ud83d"}))


def test_where_a_payload_is_wrong_is_told_without_its_values() -> None:
    class Deep(BaseModel):
        number: int

    class Model(BaseModel):
        deep: Deep
        many: list[int]

    def places(payload: object) -> str:
        with pytest.raises(ValidationError) as caught:
            Model.model_validate(payload)
        return locations(caught.value)

    assert places({"deep": {"number": "SECRET"}, "many": []}) == "deep.number: int_parsing"
    assert places("SECRET") == "payload: model_type"
    many = places({"deep": {"number": 1}, "many": ["SECRET"] * 8})
    assert many.startswith("many.0: int_parsing; ")
    assert many.endswith("; and 3 more")
    assert len(places({"deep": {"number": 1}, "many": ["x"] * 500})) <= 300
