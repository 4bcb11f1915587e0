"""The copy for the dead-letter queue: the body byte for byte, and as much of the reason as there is room for."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.deadletter import dead_letter
from runtime.engine import Report
from runtime.failure import Failure
from runtime.outcome import Kind, Outcome

from .helpers import NOW, QUEUE_ARN, delivery, note_of

LIMIT = 262_144


def text(value: str) -> dict[str, Any]:
    return {"DataType": "String", "StringValue": value}


ROUTING = {"workload": text("email"), "job": text("probe")}


def size(letter: dict[str, Any]) -> int:
    """What SQS counts: the body, and name, type and value of each attribute."""
    return len(letter["MessageBody"].encode()) + sum(
        len(name.encode())
        + len(a["DataType"].encode())
        + len(a["StringValue"].encode() if "StringValue" in a else a["BinaryValue"])
        for name, a in letter["MessageAttributes"].items()
    )


def letter_of(
    body: str = "{}",
    *,
    limit: int = LIMIT,
    error: Failure | None = None,
    reason: str = "why",
    kind: Kind = Kind.DEAD,
    **fields: Any,
) -> dict[str, Any]:
    report = Report(delivery(body, **fields), Outcome(kind, reason, error=error), attempt=3)
    return dead_letter(report, "code-1", limit)


def test_the_note_says_why() -> None:
    letter = letter_of("hello", error=Failure("ValueError", "wrong", ("a.py:1 run",)), attributes=ROUTING)
    assert letter["MessageBody"] == "hello"
    assert letter["MessageAttributes"].keys() == {"workload", "job", "dead"}
    assert note_of(letter) == {
        "reason": "why",
        "error": "ValueError",
        "message": "wrong",
        "attempt": 3,
        "first_seen": NOW.timestamp() - 1,
        "source": QUEUE_ARN,
        "code_version": "code-1",
    }


def test_parked_jobs_say_so() -> None:
    assert note_of(letter_of(kind=Kind.PARKED))["reason"] == "parked: why"


def test_unknown_things_are_left_out() -> None:
    assert note_of(letter_of(sent_at=None)).keys() == {"reason", "attempt", "source", "code_version"}


def test_the_reason_is_bounded() -> None:
    assert len(note_of(letter_of(reason="x" * 5_000))["reason"]) == 200


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"group": "acme"}, {"MessageGroupId": "acme"}),
        ({"fifo": True, "group": "A"}, {"MessageGroupId": "A", "MessageDeduplicationId": "m-1-4"}),
        ({"fifo": True}, {"MessageGroupId": "m-1", "MessageDeduplicationId": "m-1-4"}),
    ],
    ids=["standard", "standard with tenant", "fifo", "fifo without group"],
)
def test_a_letter_keeps_its_group_and_is_no_copy_of_an_earlier_one(
    fields: dict[str, Any], expected: dict[str, str]
) -> None:
    letter = letter_of(receive_count=4, **fields)
    assert {
        name: value for name, value in letter.items() if name not in ("MessageBody", "MessageAttributes")
    } == expected


def test_a_second_death_replaces_the_first_note() -> None:
    letter = letter_of(attributes={**ROUTING, "dead": text("old")})
    assert note_of(letter)["reason"] == "why"


def test_more_than_ten_attributes_give_way_routing_last() -> None:
    many = {f"x{number:02}": text("v") for number in range(12)}
    kept = letter_of(attributes={**many, **ROUTING})["MessageAttributes"]
    assert list(kept) == ["job", "workload", *(f"x{number:02}" for number in range(7)), "dead"]


def test_a_body_is_measured_in_bytes() -> None:
    note = size(letter_of(""))
    assert "dead" in letter_of("中" * 100, limit=300 + note)["MessageAttributes"]
    assert letter_of("中" * 100, limit=300 + note - 1)["MessageAttributes"] == {}


def test_what_gives_way_first() -> None:
    """The error's text, then the other attributes, then routing and reason."""
    error = Failure("ValueError", "m" * 400)
    attributes = {**ROUTING, "trace": text("t" * 300)}
    whole = letter_of("b" * 1000, error=error, attributes=attributes)
    full = size(whole)

    def at(limit: int) -> tuple[set[str], bool]:
        letter = letter_of("b" * 1000, error=error, attributes=attributes, limit=limit)
        assert letter["MessageBody"] == "b" * 1000
        assert size(letter) <= limit
        kept = letter["MessageAttributes"]
        return set(kept), "dead" in kept and "message" in note_of(letter)

    everything, routed = {"workload", "job", "trace", "dead"}, {"workload", "job", "dead"}
    assert at(full) == (everything, True)
    without_text = full - 400 - len(',"message":""')
    assert at(full - 1) == (everything, False)
    assert at(without_text) == (everything, False)
    assert at(without_text - 1) == (routed, False)
    without_trace = without_text - len("trace" + "String") - 300
    assert at(without_trace) == (routed, False)
    assert at(without_trace - 1) == ({"dead"}, False)
    note = without_trace - sum(len(n) + len("String") + len(a["StringValue"]) for n, a in ROUTING.items())
    assert at(note) == ({"dead"}, False)
    assert at(note - 1) == (set(), False)
    assert at(1000) == (set(), False)


ATTRIBUTES = st.dictionaries(
    st.text(min_size=1, max_size=30) | st.sampled_from(["workload", "job", "dead"]),
    st.text(max_size=200).map(text) | st.binary(max_size=200).map(lambda v: {"DataType": "Binary", "BinaryValue": v}),
    max_size=12,
)


@given(
    body=st.text(max_size=300),
    attributes=ATTRIBUTES,
    reason=st.text(max_size=400),
    message=st.none() | st.text(max_size=500),
    spare=st.integers(0, 2_000),
)
def test_a_letter_is_always_within_the_limits(
    body: str, attributes: dict[str, Any], reason: str, message: str | None, spare: int
) -> None:
    limit = len(body.encode()) + spare
    error = None if message is None else Failure("Error", message)
    letter = letter_of(body, limit=limit, error=error, reason=reason, attributes=attributes)
    assert letter["MessageBody"] == body
    assert size(letter) <= limit
    assert len(letter["MessageAttributes"]) <= 10
    kept = letter["MessageAttributes"]
    assert all(kept[name] == attributes[name] for name in kept if name != "dead")
    if spare == 2_000 and "dead" not in kept:
        raise AssertionError("there was room for the reason")
    if "dead" in kept:
        assert kept["dead"]["StringValue"].isascii()
        assert json.loads(kept["dead"]["StringValue"])["reason"] == reason[:200]


# --- exceptions are foreign data --------------------------------------------------------------------------------------


class LoudError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("SECRET")


class LeavingError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class NoTextError(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("wrong"), "wrong"),
        (ValueError("x" * 1_000_000), "x" * 500),
        (ValueError("cut \ud83d"), "cut ?"),
        (LoudError(), "(an exception whose text raises RuntimeError)"),
        (LeavingError(), "(an exception whose text raises SystemExit)"),
        (NoTextError(), "(an exception whose text raises TypeError)"),
        (KeyError("key"), "'key'"),
        (ValueError(), ""),
    ],
    ids=["plain", "a megabyte", "lone surrogate", "raises", "exits", "no text", "key", "empty"],
)
def test_an_exception_is_described_within_bounds_and_without_harm(error: Exception, message: str) -> None:
    failure = Failure.of(error)
    assert (failure.name, failure.message) == (type(error).__name__, message)
    assert note_of(letter_of(error=failure))["message"] == message


def test_a_long_class_name_is_cut() -> None:
    assert Failure.of(type("E" * 500, (Exception,), {})()).name == "E" * 100


def test_the_place_is_told_without_source_lines_or_values() -> None:
    def inner(secret: str) -> None:
        raise ValueError(secret)

    with pytest.raises(ValueError, match="SECRET") as caught:
        inner("SECRET")
    where = Failure.of(caught.value).where
    assert where[-1].startswith("tests/runtime/test_deadletter.py:")
    assert where[-1].endswith(" inner")
    assert "SECRET" not in str(where)


def test_a_deep_place_is_cut_to_the_innermost_frames() -> None:
    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011
        deeper(50)
    assert len(Failure.of(caught.value).where) == 8
