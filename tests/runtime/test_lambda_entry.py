"""The Lambda end: every record is acknowledged or reported, never both, never neither."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.app import App
from runtime.config import ConfigurationError
from runtime.context import JobContext
from runtime.lambda_entry import ForeignEventError, deliveries
from runtime.outcome import Defer, Discard, Park, Permanent, Retry
from runtime.policy import fixed

from .conftest import Consumer
from .helpers import (
    DLQ_URL,
    FIFO_ARN,
    QUEUE_URL,
    Aws,
    Work,
    app_of,
    body,
    failures,
    invocation,
    job_of,
    note_of,
    nothing,
    raising,
    record,
    seconds,
    stack,
)
from .test_envelope import NOT_JOBS

SLOW_RETRY = fixed(seconds(100), max_attempts=5)


def acting(journal: list[str], **acts: BaseException | Callable[[], Any]) -> Callable[[Work, JobContext], Any]:
    """A job that writes its label down, then does what ``acts`` says for it."""

    def act(args: Work, ctx: JobContext) -> Any:
        journal.append(f"run {args.label}")
        todo = acts.get(args.label)
        if isinstance(todo, BaseException):
            raise todo
        return todo() if todo is not None else None

    return act


def batch(labels: str, **options: Any) -> list[Any]:
    """Records ``A1 B1``, each in the group of its letter; the message id is the label."""
    return [record(body(label), label, group=label[0], **options) for label in labels.split()]


# --- bodies that are no jobs ------------------------------------------------------------------------------------------

STRANGE = [text for text in NOT_JOBS if len(text) < 1000]


@pytest.mark.parametrize("first", range(len(STRANGE)), ids=[repr(text)[:20] for text in STRANGE])
def test_what_is_no_job_harms_no_neighbour(consumer: Consumer, first: int) -> None:
    ran: list[str] = []
    job = job_of(acting(ran))
    for second in range(first, len(STRANGE)):
        third = (first + second) % len(STRANGE)
        bad = [STRANGE[number] for number in (first, second, third)]
        consumer.aws.calls.clear()
        ran.clear()
        texts = [body("1"), *bad, body("5")]
        assert consumer.run([record(text, f"m{n}") for n, text in enumerate(texts)], job) == []
        assert ran == ["run 1", "run 5"]
        letters = consumer.aws.of("send_message")
        assert [letter["MessageBody"] for letter in letters] == bad
        assert {letter["QueueUrl"] for letter in letters} == {DLQ_URL}
        assert [note_of(letter)["reason"] for letter in letters] == [NOT_JOBS[text] for text in bad]
        assert consumer.aws.of("change_message_visibility_batch") == []


@pytest.mark.parametrize("position", range(5))
def test_what_is_no_job_may_stand_anywhere(consumer: Consumer, position: int) -> None:
    texts = [body(str(n)) for n in range(5)]
    texts[position] = "hello"
    assert consumer.run([record(text, f"m{n}") for n, text in enumerate(texts)], job_of(nothing)) == []
    assert consumer.outcomes() == {f"m{n}": "dead" if n == position else "succeeded" for n in range(5)}


def test_sqs_refuses_an_empty_body_so_the_queue_keeps_it(consumer: Consumer) -> None:
    consumer.aws.fail("send_message", ValueError("MessageBody must not be empty"))
    assert consumer.run([record("", "m1"), record(body(), "m2")], job_of(nothing)) == ["m1"]


# --- FIFO groups ------------------------------------------------------------------------------------------------------

ORDER = "A1 B1 A2 C1 B2 A3 C2"


def fifo(consumer: Consumer, *, without_group: str = "", texts: dict[str, str] | None = None, **acts: Any) -> list[str]:
    """Run the batch; returns what ran. ``consumer.failed`` is read from the answer by the caller."""
    journal: list[str] = []
    records = batch(ORDER, source=FIFO_ARN)
    for item in records:
        if item["messageId"] == without_group:
            del item["attributes"]["MessageGroupId"]
        item["body"] = (texts or {}).get(item["messageId"], item["body"])
    failed = consumer.run(records, job_of(acting(journal, **acts), retry=SLOW_RETRY))
    return [*(step.removeprefix("run ") for step in journal), "|", *failed]


def test_a_group_stops_at_its_first_retry_and_the_others_go_on(consumer: Consumer) -> None:
    assert fifo(consumer, A1=ValueError()) == ["A1", "B1", "C1", "B2", "C2", "|", "A1", "A2", "A3"]
    # The tail comes back together with its head.
    waits = consumer.aws.of("change_message_visibility_batch")
    assert [(e["ReceiptHandle"], e["VisibilityTimeout"]) for call in waits for e in call["Entries"]] == [
        ("h-A1", 100),
        ("h-A2", 100),
        ("h-A3", 100),
    ]


@pytest.mark.parametrize(
    "error", [Retry(), Defer(seconds(9)), KeyboardInterrupt(), SystemExit(0), MemoryError()], ids=repr
)
def test_whatever_must_come_again_stops_its_group(consumer: Consumer, error: BaseException) -> None:
    assert fifo(consumer, B1=error) == ["A1", "B1", "A2", "C1", "A3", "C2", "|", "B1", "B2"]


@pytest.mark.parametrize("error", [Permanent("gone"), Park("human"), Discard("old")], ids=repr)
def test_a_dead_lettered_job_does_not_stop_its_group(consumer: Consumer, error: Exception) -> None:
    assert fifo(consumer, A1=error) == [*ORDER.split(), "|"]
    (letter,) = consumer.aws.of("send_message")
    assert letter["MessageGroupId"] == "A"
    assert letter["MessageDeduplicationId"] == "A1-1"


def test_a_dead_letter_that_was_not_sent_stops_its_group(consumer: Consumer) -> None:
    consumer.aws.fail("send_message", ConnectionError())
    assert fifo(consumer, A1=Permanent("gone")) == ["A1", "B1", "C1", "B2", "C2", "|", "A1", "A2", "A3"]


def test_a_timeout_in_one_group(consumer: Consumer) -> None:
    from runtime.execute import JobTimeout

    assert fifo(consumer, B2=JobTimeout()) == ["A1", "B1", "A2", "C1", "B2", "A3", "C2", "|", "B2"]


def test_what_is_no_job_in_one_group(consumer: Consumer) -> None:
    assert fifo(consumer, texts={"C1": "hello"}) == ["A1", "B1", "A2", "B2", "A3", "C2", "|"]
    assert consumer.aws.of("send_message")[0]["MessageGroupId"] == "C"


def test_all_of_one_group_fail(consumer: Consumer) -> None:
    assert fifo(consumer, A1=ValueError(), A2=ValueError(), A3=ValueError()) == [
        "A1",
        "B1",
        "C1",
        "B2",
        "C2",
        "|",
        "A1",
        "A2",
        "A3",
    ]


def test_all_of_one_group_are_dead(consumer: Consumer) -> None:
    dead: dict[str, Any] = {label: Permanent("gone") for label in ("A1", "A2", "A3")}
    assert fifo(consumer, **dead) == [*ORDER.split(), "|"]
    assert [letter["MessageDeduplicationId"] for letter in consumer.aws.of("send_message")] == ["A1-1", "A2-1", "A3-1"]


@pytest.mark.parametrize("label", ORDER.split())
def test_a_record_without_its_group_is_a_group_of_its_own(consumer: Consumer, label: str) -> None:
    stopped = {"A1": "A1", "A2": "A1 A3", "A3": "A1 A2"}.get(label, "A1 A2 A3").split()
    started = [other for other in ORDER.split() if other == "A1" or other not in stopped]
    assert fifo(consumer, without_group=label, A1=ValueError()) == [*started, "|", *stopped]


def test_the_last_one_of_a_group_stops_nobody(consumer: Consumer) -> None:
    assert fifo(consumer, C2=ValueError()) == [*ORDER.split(), "|", "C2"]


def test_on_a_standard_queue_the_group_is_the_tenant_and_stops_nobody(consumer: Consumer) -> None:
    journal: list[str] = []
    job = job_of(acting(journal, A1=ValueError()), retry=SLOW_RETRY)
    assert consumer.run(batch(ORDER), job) == ["A1"]
    assert len(journal) == 7


OUTCOMES: dict[str, Any] = {
    "ok": None,
    "error": ValueError(),
    "dead": Permanent("gone"),
    "park": Park("human"),
    "defer": Defer(seconds(5)),
    "exit": SystemExit(3),
}


@given(
    plan=st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from([*OUTCOMES, "hello"])), min_size=1, max_size=10),
    is_fifo=st.booleans(),
    dlq_works=st.booleans(),
    sqs_works=st.booleans(),
    acknowledge=st.sampled_from(["each", "batch"]),
    start=st.sampled_from([60.0, 3.0]),
)
def test_every_message_is_acknowledged_or_reported(
    plan: list[tuple[str, str]], is_fifo: bool, dlq_works: bool, sqs_works: bool, acknowledge: str, start: float
) -> None:
    aws = Aws()
    if not dlq_works:
        aws.fail("send_message", ConnectionError())
    if not sqs_works:
        aws.fail("delete_message", ConnectionError())
        aws.fail("change_message_visibility_batch", ConnectionError())
    journal: list[str] = []
    left = [start]

    def act(args: Work, ctx: JobContext) -> None:
        journal.append(args.label)
        left[0] -= 0.5
        what = OUTCOMES[plan[int(args.label)][1]]
        if what is not None:
            raise what

    records = [
        record("hello" if what == "hello" else body(str(n)), str(n), group=group, source=FIFO_ARN if is_fifo else "arn")
        for n, (group, what) in enumerate(plan)
    ]
    handler = app_of(aws, job_of(act)).lambda_handler(acknowledge=acknowledge)  # type: ignore[arg-type]
    failed = failures(handler({"Records": records}, invocation(lambda: left[0])))
    assert len(failed) == len(set(failed))
    assert len(journal) == len(set(journal))  # nothing ran twice
    sent = [letter["MessageBody"] for letter in aws.of("send_message")] if dlq_works else []
    safe = {str(n) for n, (_, what) in enumerate(plan) if what == "ok" and str(n) in journal}
    safe |= {item["messageId"] for item in records if item["body"] in sent and item["body"] != "hello"}
    safe |= {item["messageId"] for item in records if item["body"] == "hello" and dlq_works}
    # What is not reported is deleted: it was done, or it is in the dead-letter queue. Once for each, never for both.
    reported = set(failed)
    assert {str(n) for n in range(len(plan))} - reported <= safe
    deleted = {call["ReceiptHandle"].removeprefix("h-") for call in aws.of("delete_message")}
    assert not deleted & reported
    assert acknowledge == "each" or not deleted
    if is_fifo:
        for group in "ABC":
            numbers = [str(n) for n, (own, _) in enumerate(plan) if own == group]
            # In a group only a tail is reported.
            assert [n for n in numbers if n in reported] == list(
                itertools.dropwhile(lambda number: number not in reported, numbers)
            )
            assert [n for n in journal if n in numbers] == sorted((n for n in journal if n in numbers), key=int)


# --- the batch response -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({}, r"an object with the keys \[\]"),
        (None, "got NoneType"),
        ([], "got list"),
        ("Records", "got str"),
        ({"Records": []}, "keys"),
        ({"Records": None}, "keys"),
        ({"Records": "abc"}, "keys"),
        ({"Records": {"messageId": "m"}}, "keys"),
        ({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}, "'detail', 'detail-type', 'source'"),
        ({"Records": [None]}, "record 0 comes from 'NoneType'"),
        ({"Records": [{"EventSource": "aws:sns", "Sns": {}}]}, "record 0 comes from None"),
        (
            {"Records": [record("", "m1"), {"eventSource": "aws:s3"}]},
            "record 1 comes from 'aws:s3', not from 'aws:sqs'",
        ),
    ],
    ids=lambda value: json.dumps(value)[:30] if not isinstance(value, str) else "",
)
def test_a_foreign_event_raises_so_that_nothing_is_deleted(consumer: Consumer, event: Any, message: str) -> None:
    handler = consumer.handler(job_of(nothing))
    with pytest.raises(ForeignEventError, match=message):
        handler(event, invocation())
    assert consumer.aws.calls == []


@pytest.mark.parametrize("lacking", [{"messageId": None}, {"messageId": ""}, {"messageId": 5}, {"body": None}])
def test_a_record_that_could_not_be_reported_stops_the_batch_before_anything_runs(
    consumer: Consumer, lacking: dict[str, Any]
) -> None:
    ran: list[str] = []
    handler = consumer.handler(job_of(acting(ran)))
    with pytest.raises(ForeignEventError, match="record 1 lacks its messageId or its body"):
        handler({"Records": [record(body(), "m1"), {**record(body(), "m2"), **lacking}]}, invocation())
    assert ran == []


def test_a_handler_without_its_queues_says_which_variable_is_missing(consumer: Consumer) -> None:
    handler = consumer.handler(job_of(nothing), config=stack(dlq_url=""))
    with pytest.raises(ConfigurationError, match=r"JOBS_DLQ_URL is not set. A consumer gets it from the Terraform"):
        handler({"Records": [record(body(), "m1")]}, invocation())


def test_one_message_received_twice_in_a_batch_runs_once(consumer: Consumer) -> None:
    ran: list[str] = []
    records = [record(body("a"), "m1"), record(body("b"), "m2"), record(body("a"), "m1")]
    records[2]["receiptHandle"] = "h-newer"
    assert consumer.run(records, job_of(acting(ran))) == []
    assert ran == ["run a", "run b"]
    assert consumer.aws.of("delete_message") == [{"QueueUrl": QUEUE_URL, "ReceiptHandle": "h-newer"}]


def test_one_message_received_twice_is_reported_once(consumer: Consumer) -> None:
    records = [record(body("a"), "m1"), record(body("a"), "m1")]
    assert consumer.run(records, job_of(raising(ValueError()))) == ["m1"]


def test_all_failed_is_ten_identifiers_and_no_exception(consumer: Consumer) -> None:
    ids = [f"m{n}" for n in range(10)]
    assert consumer.run([record(body(m), m) for m in ids], job_of(raising(ValueError()))) == ids


def test_all_succeeded_is_an_empty_list_under_the_exact_key(consumer: Consumer) -> None:
    answer = consumer.handler(job_of(nothing))({"Records": [record(body(), "m1")]}, invocation())
    assert json.dumps(answer) == '{"batchItemFailures": []}'


def test_near_the_end_of_the_time_nothing_new_is_started(consumer: Consumer) -> None:
    left = [60.0]

    def act(args: Work, ctx: JobContext) -> None:
        if args.label == "7":
            left[0] = 1.0

    ids = [str(n) for n in range(1, 11)]
    failed = consumer.run([record(body(n), n) for n in ids], job_of(act), context=invocation(lambda: left[0]))
    assert failed == ["8", "9", "10"]
    assert [line["reason"] for line in consumer.lines if line["outcome"] == "defer"] == ["no_time_left"] * 3
    assert [call["ReceiptHandle"] for call in consumer.aws.of("delete_message")] == [f"h-{n}" for n in range(1, 8)]


@pytest.mark.parametrize("left", [0.0, -3.0])
def test_a_function_without_any_time_still_answers(consumer: Consumer, left: float) -> None:
    records = [record(body(n), n) for n in ("1", "2")]
    assert consumer.run(records, job_of(nothing), context=invocation(lambda: left)) == ["2"]


@pytest.mark.parametrize(
    "result",
    [
        {"batchItemFailures": [{"itemIdentifier": "m1"}]},
        False,
        {"batchItemFailures": "everything"},
        ["m1"],
        Exception("returned, not raised"),
    ],
    ids=repr,
)
def test_what_a_job_returns_never_reaches_the_answer(consumer: Consumer, result: Any) -> None:
    assert consumer.run([record(body(), "m1"), record(body(), "m2")], job_of(lambda args, ctx: result)) == []


def test_a_generator_that_a_job_returns_is_a_failure(consumer: Consumer) -> None:
    job = job_of(lambda args, ctx: (number for number in (1, 2)))
    assert consumer.run([record(body(), "m1")], job) == ["m1"]
    assert consumer.lines[0]["error"] == "NotAwaitedError"


# --- order of effects -------------------------------------------------------------------------------------------------


def test_what_is_finished_is_deleted_before_the_next_one_starts(consumer: Consumer) -> None:
    job = job_of(acting(consumer.aws.journal, b=Permanent("gone")))
    consumer.run([record(body(label), label) for label in "abc"], job)
    assert consumer.aws.journal == [
        "run a",
        "delete_message h-a",
        "run b",
        "send_message",  # first safe elsewhere, then acknowledged
        "delete_message h-b",
        "run c",  # the answer acknowledges the last one
    ]


def test_acknowledging_by_batch_saves_the_calls(consumer: Consumer) -> None:
    job = job_of(acting(consumer.aws.journal))
    consumer.run([record(body(label), label) for label in "abc"], job, acknowledge="batch")
    assert consumer.aws.journal == ["run a", "run b", "run c"]


def test_a_failed_delete_changes_nothing(consumer: Consumer) -> None:
    consumer.aws.fail("delete_message", ConnectionError("SECRET"))
    assert consumer.run([record(body("a"), "m1"), record(body("b"), "m2")], job_of(nothing)) == []
    assert "acknowledgement failed" in consumer.text
    assert "SECRET" not in consumer.text


def test_a_dead_letter_that_was_not_sent_keeps_its_message(consumer: Consumer) -> None:
    consumer.aws.fail("send_message", ConnectionError("SECRET"))
    assert consumer.run([record("hello", "m1"), record(body(), "m2")], job_of(nothing)) == ["m1"]
    (wait,) = consumer.aws.of("change_message_visibility_batch")
    assert [(e["ReceiptHandle"], e["VisibilityTimeout"]) for e in wait["Entries"]] == [("h-m1", 60)]
    assert not [call for call in consumer.aws.of("delete_message") if call["ReceiptHandle"] == "h-m1"]
    assert "dead letter not sent" in consumer.text
    assert "SECRET" not in consumer.text


def test_a_defect_of_the_runtime_costs_one_message_one_retry(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.engine import Engine

    original = Engine.handle

    def breaking(self: Engine, delivery: Any, budget: Any = None) -> Any:
        if delivery.message_id == "m2":
            raise RuntimeError("SECRET")
        return original(self, delivery, budget)

    monkeypatch.setattr(Engine, "handle", breaking)
    assert consumer.run([record(body(m), m) for m in ("m1", "m2", "m3")], job_of(nothing)) == ["m2"]
    assert consumer.outcomes() == {"m1": "succeeded", "m3": "succeeded"}
    assert "RuntimeError" in consumer.text
    assert "SECRET" not in consumer.text


def test_a_process_that_dies_while_a_dead_letter_is_sent_has_not_acknowledged_it(aws: Aws) -> None:
    class Killed(BaseException):
        pass

    aws.fail("send_message", Killed())
    handler = app_of(aws, job_of(nothing)).lambda_handler()
    with pytest.raises(Killed):
        handler({"Records": [record(body(), "m1"), record("hello", "m2"), record(body(), "m3")]}, invocation())
    assert aws.journal == ["delete_message h-m1", "send_message"]


# --- reading the event ------------------------------------------------------------------------------------------------


def test_a_record_becomes_a_delivery() -> None:
    event = record("text", "m1", group="A", source=FIFO_ARN, receives=3)
    event["messageAttributes"] = {
        "job": {"dataType": "String", "stringValue": "probe", "stringListValues": []},
        "picture": {"dataType": "Binary", "binaryValue": "AAEC"},
        "odd": {"dataType": "Number"},
        "odder": "text",
    }
    (delivery,) = deliveries({"Records": [event]}, 10)
    assert (delivery.body, delivery.message_id, delivery.handle) == ("text", "m1", "h-m1")
    assert (delivery.receive_count, delivery.max_receive_count) == (3, 10)
    assert (delivery.group, delivery.fifo, delivery.source) == ("A", True, FIFO_ARN)
    assert delivery.sent_at == 1_893_455_999.0
    assert delivery.attributes == {
        "job": {"DataType": "String", "StringValue": "probe"},
        "picture": {"DataType": "Binary", "BinaryValue": b"\0\1\2"},
    }


@pytest.mark.parametrize("attributes", [None, {}, "text", {"ApproximateReceiveCount": "x", "SentTimestamp": None}])
def test_a_record_with_odd_attributes_is_a_first_delivery_of_unknown_age(attributes: Any) -> None:
    (delivery,) = deliveries({"Records": [{**record("text", "m1"), "attributes": attributes}]}, 0)
    assert (delivery.receive_count, delivery.sent_at, delivery.group) == (1, None, None)
    assert not delivery.is_last_receive


def test_only_the_first_invocation_is_a_cold_start(consumer: Consumer) -> None:
    handler = consumer.handler(job_of(nothing))
    for number in range(3):
        assert failures(handler({"Records": [record(body(), f"m{number}")]}, invocation())) == []
    consumer.read()
    assert [line["cold_start"] for line in consumer.lines] == [True, False, False]


def test_a_broken_job_class_fails_the_deployment_not_the_first_message() -> None:
    with pytest.raises(ModuleNotFoundError):
        App("shop", jobs="no_such_package", workload="email").lambda_handler()
