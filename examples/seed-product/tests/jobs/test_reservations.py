from collections.abc import Callable
from datetime import timedelta
from typing import Any

from seed_jobs.jobs.credits import BookCredits
from seed_jobs.jobs.reservations import LIFETIME, ExpireReservation, Reservation, SweepReservations
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs


def reserve(jobs: Jobs, rows: Any, state: str = "open") -> None:
    ends = (jobs.now() + LIFETIME).isoformat()
    rows["reservation", "r-1"] = {"account": "acme", "credits": 7, "state": state, "expires_at": ends}


def test_what_nobody_used_within_ten_minutes_comes_back(
    app: App, jobs: Jobs, rows: Any, written: Callable[[], list[dict[str, Any]]]
) -> None:
    reserve(jobs, rows)
    app.enqueue(ExpireReservation, Reservation(reservation="r-1"), delay=LIFETIME)
    jobs.advance(minutes=9)
    assert jobs.drain().succeeded == 0
    jobs.advance(minutes=1)
    jobs.drain()
    assert written()[0][":expired"] == "expired"
    jobs.assert_enqueued(BookCredits, account="acme", booking="expired/r-1", credits=7)


def test_what_was_used_does_not(app: App, jobs: Jobs, rows: Any) -> None:
    reserve(jobs, rows, state="used")
    assert jobs.run(ExpireReservation, reservation="r-1").result is False
    jobs.refute_enqueued(BookCredits)


def test_the_sweep_finds_what_was_forgotten_and_not_what_is_still_open(jobs: Jobs, rows: Any) -> None:
    reserve(jobs, rows)
    assert jobs.run(SweepReservations, occurrence=jobs.now()).result == 0
    jobs.advance(minutes=16)
    assert jobs.run(SweepReservations, occurrence=jobs.now()).result == 1
    jobs.assert_enqueued(ExpireReservation, reservation="r-1")


def test_a_sweep_of_a_quarter_of_an_hour_ago_is_dropped(jobs: Jobs, rows: Any) -> None:
    out = jobs.run(SweepReservations, occurrence=jobs.now() - timedelta(minutes=16))
    assert out.kind == "discarded"
