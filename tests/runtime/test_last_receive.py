"""A job that was only ever put off is not dead because the queue has counted to its limit."""

import time
from datetime import timedelta

import pytest
from runtime.budget import Budget
from runtime.context import JobContext
from runtime.delivery import Delivery, fresh_message
from runtime.engine import DEFER_AT_MOST
from runtime.envelope import decode
from runtime.outcome import Defer, Kind

from .conftest import Consumer
from .helpers import NOW, QUEUE_ARN, Work, body, delivery, engine, job_of, nothing, raising, record, seconds, stack
from .test_engine import at

LIMIT = {"receive_count": 10, "max_receive_count": 10}


def test_on_a_standard_queue_a_deferred_job_is_young_for_a_day() -> None:
    job = job_of(raising(Defer(seconds(7), "busy")))
    for age, kind in ((timedelta(0), Kind.DEFER), (DEFER_AT_MOST, Kind.DEAD)):
        sent = body(enqueued_at=at(NOW - age))
        assert engine(job).handle(delivery(sent, **LIMIT)).outcome.kind is kind
    assert (
        engine(job).handle(delivery(body(enqueued_at=at(NOW)), fifo=True, group="g", **LIMIT)).outcome.kind is Kind.DEAD
    )


def test_it_goes_on_as_a_new_message_and_the_old_one_is_acknowledged(consumer: Consumer) -> None:
    sent = body("a", enqueued_at=at(NOW), unknown_field="kept")
    job = job_of(raising(Defer(seconds(7), "busy")))
    assert consumer.run([record(sent, "m1", receives=10)], job, config=stack(max_receive_count=10)) == []
    (copy,) = consumer.aws.of("send_message")
    assert copy["DelaySeconds"] == 7
    assert '"unknown_field":"kept"' in copy["MessageBody"]
    assert (
        decode(copy["MessageBody"]).attempts_before == 9
    )  # without a ledger nobody knows which receives were attempts
    assert consumer.outcomes() == {"m1": "defer"}


def test_with_a_ledger_the_body_stays_as_it_is_and_a_long_wait_is_kept_by_the_header() -> None:
    old = Delivery(body("a"), "m1", attributes={"job": {"DataType": "String", "StringValue": "x"}}, group="acme")
    same = fresh_message(old, None, 900)
    assert (same["MessageBody"], same["DelaySeconds"], same["MessageGroupId"]) == (old.body, 900, "acme")
    assert same["MessageAttributes"] == old.attributes
    late = fresh_message(old, None, 7200)
    assert late["DelaySeconds"] == 900
    assert decode(late["MessageBody"]).not_before is not None


def test_a_slow_run_does_not_keep_its_successors_from_starting_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [50.0]
    clock = [0.0]

    def act(args: Work, ctx: JobContext) -> None:
        clock[0] += slow[0]

    subject = engine(job_of(act))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    subject.handle(delivery(body("1")), Budget(lambda: 100.0))
    slow[0] = 0.01
    for number in range(8):
        subject.handle(delivery(body(f"f{number}")), Budget(lambda: 100.0))
    later = Budget(lambda: 10.0)
    later.runs = 1
    assert subject.handle(delivery(body("last")), later).outcome.kind is Kind.SUCCEEDED


def test_nobody_is_dead_lettered_for_what_its_neighbours_took() -> None:
    for receive in range(1, 11):
        used_up = Budget(lambda: 0.0)
        used_up.runs = 1
        message = delivery(body("a", enqueued_at=at(NOW)), receive_count=receive, max_receive_count=10)
        outcome = engine(job_of(nothing)).handle(message, used_up).outcome
        assert (outcome.kind, outcome.reason) == (Kind.DEFER, "no_time_left")


def test_a_tail_of_a_stopped_group_keeps_its_reason(consumer: Consumer) -> None:
    fifo = f"{QUEUE_ARN}.fifo"
    records = [
        record(body("1"), "m1", group="g", source=fifo, receives=1),
        record(body("2"), "m2", group="g", source=fifo, receives=10),
    ]
    failed = consumer.run(records, job_of(raising(Defer(seconds(1)))), config=stack(max_receive_count=10))
    assert failed == ["m1"]
    (letter,) = consumer.aws.of("send_message")
    assert "receives_exhausted (group_stopped)" in letter["MessageAttributes"]["dead"]["StringValue"]
