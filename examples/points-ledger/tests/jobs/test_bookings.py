"""The bookings, in memory, through the real engine. In a generated project this file stands in `tests/jobs`."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from loyalty_jobs.jobs import bookings
from loyalty_jobs.jobs.bookings import FIRST_WAIT, BookingJob, BookPoints, RetryBooking
from loyalty_jobs.jobs.partners import PartnerAwayError, PurchaseUnknownError
from loyalty_jobs.runtime import App
from loyalty_jobs.runtime.testing import Jobs

BOOKING: dict[str, Any] = {"booking": "b-7", "member": "ann", "partner": "bakery", "points": 12}


class TransactionCancelledError(Exception):
    """As boto3 says it: the reasons are in the order of the writes, and the runtime's own is the first."""

    def __init__(self, *codes: str) -> None:
        self.response = {"CancellationReasons": [{"Code": code} for code in codes]}


@pytest.fixture
def partner(monkeypatch: pytest.MonkeyPatch) -> list[Exception | None]:
    """What the partner answers, call by call; None, and the end of the list, confirm the purchase."""
    answers: list[Exception | None] = []

    def confirm_purchase(partner: str, booking: str, *, patience: float) -> None:
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer

    monkeypatch.setattr(bookings, "confirm_purchase", confirm_purchase)
    monkeypatch.setenv("APP_POINTS_TABLE", "points")
    return answers


@pytest.fixture
def entry(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The entry that the points table has already, if any: then it refuses another, as its condition says."""
    found: dict[str, Any] = {}
    transact = jobs.table.transact

    def refusing(update: Any, others: Sequence[Mapping[str, Any]], token: str) -> None:
        if found and others:
            raise TransactionCancelledError("None", "ConditionalCheckFailed", "None")
        transact(update, others, token)

    monkeypatch.setattr(jobs.table, "transact", refusing)
    monkeypatch.setattr(bookings, "read_item", lambda table, pk: found)
    return found


def send(app: App, job: type[BookingJob] = BookPoints, **other: Any) -> None:
    app.enqueue(job, job.payload_model.model_validate(BOOKING | other))


def written(jobs: Jobs) -> list[Mapping[str, Any]]:
    """What `ctx.commit` has written beside the jobs' records."""
    return list(jobs.table.others)


def test_a_booking_is_an_entry_and_a_sum_on_condition_that_there_is_no_such_entry(
    app: App, jobs: Jobs, partner: list[Exception | None]
) -> None:
    send(app)
    report = jobs.drain()
    put, update = written(jobs)
    assert report.outcomes[0][1].kind == "succeeded"
    assert put["Put"]["Item"]["pk"] == {"S": "booking#b-7"}
    assert put["Put"]["ConditionExpression"] == "attribute_not_exists(pk)"
    assert update["Update"]["Key"] == {"pk": {"S": "member#ann"}}
    assert update["Update"]["ExpressionAttributeValues"][":points"] == {"N": "12"}


def test_whoever_sends_it_and_however_often_it_counts_once(
    app: App, jobs: Jobs, partner: list[Exception | None]
) -> None:
    for _ in range(3):
        send(app)
    report = jobs.drain()
    assert (report.succeeded, report.duplicate, len(written(jobs))) == (1, 2, 2)


def test_one_id_for_two_bookings_is_a_mistake_to_look_at(app: App, jobs: Jobs, partner: list[Exception | None]) -> None:
    send(app)
    send(app, points=13)
    assert [(o.kind, o.reason) for _, o in jobs.drain().outcomes] == [("succeeded", ""), ("dead", "key_conflict")]


def test_while_the_partner_is_away_the_booking_is_handed_over(
    app: App, jobs: Jobs, partner: list[Exception | None]
) -> None:
    partner.append(PartnerAwayError("bakery"))
    send(app)
    report = jobs.drain()
    assert (report.succeeded, written(jobs)) == (1, [])  # the primary is done with it, and nothing is booked
    follower = jobs.assert_enqueued(RetryBooking, **BOOKING)
    assert follower.workload == "points-retry"
    assert FIRST_WAIT - timedelta(seconds=5) < follower.delay <= FIRST_WAIT
    assert app.status(job=BookPoints, key="b-7").result == "handed over"


def test_the_other_workload_tries_for_two_days(app: App, jobs: Jobs, partner: list[Exception | None]) -> None:
    partner += [PartnerAwayError("bakery")] * 20  # once in the primary, and 19 of 20 attempts
    send(app)
    start = jobs.now()
    report = jobs.drain(within=timedelta(days=4))
    assert (report.succeeded, report.retried, len(written(jobs))) == (2, 19, 2)
    assert jobs.now() - start == pytest.approx(FIRST_WAIT + timedelta(hours=47.5), abs=timedelta(minutes=2))
    assert app.status(job=RetryBooking, key="b-7").result == "booked"


def test_a_partner_that_never_comes_back_ends_in_the_dead_letters(
    app: App, jobs: Jobs, partner: list[Exception | None]
) -> None:
    partner += [PartnerAwayError("bakery")] * 21
    send(app)
    report = jobs.drain(within=timedelta(days=4))
    assert (report.dead, report.outcomes[-1][0], written(jobs)) == (1, "points.book.retry", [])


def test_a_late_copy_of_what_was_handed_over_starts_nothing(
    app: App, jobs: Jobs, partner: list[Exception | None]
) -> None:
    partner.append(PartnerAwayError("bakery"))
    send(app)
    jobs.drain()
    send(app)
    report = jobs.drain(within=timedelta(hours=1))
    assert (report.duplicate, report.succeeded, len(written(jobs))) == (1, 1, 2)


def test_two_jobs_have_two_records_and_the_entry_is_what_counts_once(
    app: App, jobs: Jobs, partner: list[Exception | None], entry: dict[str, Any]
) -> None:
    send(app)
    jobs.drain()
    entry.update(pk="booking#b-7", member="ann", partner="bakery", points=12)
    send(app, RetryBooking)  # somebody sends it by hand
    report = jobs.drain()
    assert (report.succeeded, len(written(jobs))) == (1, 2)
    assert app.status(job=RetryBooking, key="b-7").result == "booked before"


def test_an_entry_that_says_something_else_is_looked_at(
    app: App, jobs: Jobs, partner: list[Exception | None], entry: dict[str, Any]
) -> None:
    entry.update(pk="booking#b-7", member="bob", partner="bakery", points=12)
    send(app)
    ((_, outcome),) = jobs.drain().outcomes
    assert (outcome.kind, outcome.reason) == ("dead", "booking_conflict")


def test_two_bookings_of_one_member_at_the_same_time_are_no_conflict(
    app: App, jobs: Jobs, partner: list[Exception | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    transact, refusals = jobs.table.transact, [TransactionCancelledError("None", "None", "TransactionConflict")]

    def busy(update: Any, others: Sequence[Mapping[str, Any]], token: str) -> None:
        if refusals:
            raise refusals.pop()
        transact(update, others, token)

    monkeypatch.setattr(jobs.table, "transact", busy)
    send(app)
    report = jobs.drain(within=timedelta(minutes=5))
    assert (report.retried, report.succeeded, len(written(jobs))) == (1, 1, 2)


def test_a_purchase_that_the_partner_does_not_know_is_given_up_at_once(
    jobs: Jobs, partner: list[Exception | None]
) -> None:
    partner += [PurchaseUnknownError("b-7")] * 2
    for job in (BookPoints, RetryBooking):
        out = jobs.run(job, **BOOKING)
        assert (out.kind, out.reason) == ("dead", "purchase_unknown")
