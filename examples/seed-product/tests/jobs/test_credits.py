from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from seed_jobs.jobs.cache import InvalidateCache
from seed_jobs.jobs.credits import BookCredits, Booking, RecalculateCredits, RenewAllowances
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs

FIVE_PAST_NINE = datetime(2027, 3, 5, 9, 5, tzinfo=UTC)


def test_a_booking_and_the_balance_after_it_are_one_write(
    app: App, jobs: Jobs, rows: Any, written: Callable[[], list[dict[str, Any]]]
) -> None:
    app.enqueue(BookCredits, Booking(account="acme", booking="usage/1", credits=-20))
    jobs.drain()
    booking, account = written()
    assert (booking["credits"], booking["balance"], account[":balance"]) == (-20, 30, 30)
    jobs.assert_enqueued(InvalidateCache, keys=["balance/acme"])


def test_bookings_of_one_account_keep_their_order(app: App, jobs: Jobs) -> None:
    app.enqueue(BookCredits, Booking(account="acme", booking="1", credits=1))
    assert jobs.enqueued[0].group == "acme"


def test_a_booking_happens_once(app: App, jobs: Jobs, rows: Any) -> None:
    for _ in range(2):
        app.enqueue(BookCredits, Booking(account="acme", booking="1", credits=1))
    assert jobs.drain().duplicate == 1


def test_an_account_that_does_not_exist_is_given_up_at_once(jobs: Jobs, rows: Any) -> None:
    out = jobs.run(BookCredits, account="nobody", booking="1", credits=1)
    assert (out.kind, out.reason) == ("dead", "unknown_account")


def test_the_hour_before_the_occurrence_is_booked_whenever_it_is_run(jobs: Jobs, rows: Any) -> None:
    rows["usage#acme", "2027-03-05T07:59:59#1"] = {"calls": 100}
    rows["usage#acme", "2027-03-05T08:00:00#2"] = {"calls": 3}
    rows["usage#acme", "2027-03-05T08:59:59#3"] = {"calls": 4}
    rows["usage#acme", "2027-03-05T09:00:00#4"] = {"calls": 100}
    out = jobs.run(RecalculateCredits, credits_per_call=2, occurrence=FIVE_PAST_NINE)
    assert out.result == 1  # the other account has used nothing
    jobs.assert_enqueued(BookCredits, account="acme", booking="usage/2027-03-05T08", credits=-14)


def test_an_hour_without_usage_books_nothing(jobs: Jobs, rows: Any) -> None:
    out = jobs.run(RecalculateCredits, occurrence=FIVE_PAST_NINE)
    assert (out.kind, out.result) == ("succeeded", 0)
    jobs.refute_enqueued(BookCredits)


@pytest.mark.parametrize(("day", "renewed"), [(5, 1), (6, 0)])
def test_an_allowance_is_renewed_on_its_day(jobs: Jobs, rows: Any, day: int, renewed: int) -> None:
    out = jobs.run(RenewAllowances, credits=1000, occurrence=datetime(2027, 3, day, 0, 1, tzinfo=UTC))
    assert out.result == renewed
    bookings = [job.payload["booking"] for job in jobs.enqueued]
    assert bookings == ["allowance/2027-03-05"] * renewed
