from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from seed_jobs.app import app as application
from seed_jobs.jobs.usage import AccountDay, CloseDay, SumUsage
from seed_jobs.runtime import App
from seed_jobs.runtime.publisher import Published
from seed_jobs.runtime.testing import Jobs

MIDNIGHT = datetime(2027, 3, 5, tzinfo=UTC)


def test_the_day_before_is_closed_for_each_account(jobs: Jobs, rows: Any) -> None:
    assert jobs.run(CloseDay, occurrence=MIDNIGHT).result == 2
    jobs.assert_enqueued(SumUsage, account="acme", day="2027-03-04")
    jobs.assert_enqueued(SumUsage, account="trial", day="2027-03-04")


def test_what_was_not_accepted_is_published_again_and_runs_once(
    app: App, jobs: Jobs, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted = application.enqueue_many
    failures = [1]

    def enqueue_many(*arguments: Any, **options: Any) -> list[Published]:
        results = accepted(*arguments, **options)
        return [Published(results[0].id, False, "Throttling"), *results[1:]] if failures.pop() else results

    monkeypatch.setattr(application, "enqueue_many", enqueue_many)
    first = jobs.run(CloseDay, occurrence=MIDNIGHT)
    assert (first.kind, first.reason) == ("retry", "not_all_published")
    failures.append(0)
    assert jobs.run(CloseDay, occurrence=MIDNIGHT, attempt=2).kind == "succeeded"
    report = jobs.drain(within=timedelta(minutes=1))
    assert (report.succeeded, report.duplicate) == (2, 2)


def test_a_day_has_its_own_calls(app: App, jobs: Jobs, rows: Any) -> None:
    rows["usage#acme", "2027-03-04T00:00:00#1"] = {"calls": 3}
    rows["usage#acme", "2027-03-04T23:59:59#2"] = {"calls": 4}
    rows["usage#acme", "2027-03-05T00:00:00#3"] = {"calls": 100}
    app.enqueue(SumUsage, AccountDay(account="acme", day=date(2027, 3, 4)))
    jobs.drain()
    assert rows["day#acme", "2027-03-04"] == {"calls": 7}
