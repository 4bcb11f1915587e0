from collections.abc import Callable
from datetime import timedelta
from typing import Any

from seed_jobs.jobs.accounts import RemindTrial, SetUpAccount, SignUp, Trial
from seed_jobs.jobs.credits import BookCredits
from seed_jobs.jobs.mail import SendMail
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs


def test_a_sign_up_is_a_row_and_three_jobs_however_often_it_is_sent(
    app: App, jobs: Jobs, written: Callable[[], list[dict[str, Any]]]
) -> None:
    for _ in range(2):
        app.enqueue(SetUpAccount, SignUp(account="new", email="nia@new.example"))
    first, second = (outcome.kind for job, outcome in jobs.drain().outcomes if job == "accounts.set-up")
    assert (first, second) == ("succeeded", "duplicate")
    assert written()[0]["plan"] == "trial"
    jobs.assert_enqueued(BookCredits, account="new", credits=100)
    jobs.assert_enqueued(SendMail, template="welcome")
    assert len([job for job in jobs.enqueued if job.job == RemindTrial.name]) == 1


def test_the_reminder_waits_for_days(app: App, jobs: Jobs, rows: Any) -> None:
    app.enqueue(SetUpAccount, SignUp(account="new", email="nia@new.example"))
    jobs.drain()
    assert jobs.assert_enqueued(RemindTrial, account="new").delay > timedelta(days=10, hours=23)


def test_who_pays_by_then_is_not_reminded(app: App, jobs: Jobs, rows: Any) -> None:
    app.enqueue(RemindTrial, Trial(account="trial"))
    app.enqueue(RemindTrial, Trial(account="acme"))
    jobs.drain()
    jobs.assert_enqueued(SendMail, to="tom@trial.example", template="trial-ends")
    jobs.refute_enqueued(SendMail, to="ann@acme.example")
