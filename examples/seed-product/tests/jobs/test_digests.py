from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from seed_jobs.jobs.digests import SendDigests
from seed_jobs.jobs.mail import SendMail
from seed_jobs.runtime.testing import Jobs


def test_a_digest_counts_the_seven_days_before_it(jobs: Jobs, rows: Any) -> None:
    this_morning = jobs.now().astimezone(UTC) - timedelta(hours=1)
    for days, calls in ((0, 100), (1, 3), (7, 4), (8, 100)):
        rows["day#acme", f"{(this_morning - timedelta(days=days)).date()}"] = {"calls": calls}
    assert jobs.run(SendDigests, subject="Your week", occurrence=this_morning).result == 2
    jobs.assert_enqueued(SendMail, to="ann@acme.example", words={"subject": "Your week", "calls": "7"})
    jobs.assert_enqueued(SendMail, to="tom@trial.example", words={"subject": "Your week", "calls": "0"})


def test_on_tuesday_it_is_dropped(jobs: Jobs, rows: Any) -> None:
    monday = datetime(2026, 3, 30, 8, tzinfo=ZoneInfo("Europe/Berlin"))
    out = jobs.run(SendDigests, subject="Your week", occurrence=monday)
    assert out.kind == "discarded"
    jobs.refute_enqueued(SendMail)
