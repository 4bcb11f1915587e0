from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any
from urllib.error import HTTPError

import pytest

from seed_jobs.jobs import web
from seed_jobs.jobs.billing import ChargeInvoice, IssueInvoice, RunInvoices, ToCharge, ToInvoice
from seed_jobs.jobs.mail import SendMail
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs

CHARGE = ToCharge(account="acme", month="2027-02", cents=990)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int | Exception]:
    """What the payment provider answers, call by call. What is left was not asked for."""
    found: list[int | Exception] = []

    def post(url: str, content: dict[str, Any], *, key: str | None = None) -> int:
        if not url.endswith("/charges"):
            return 200
        answer = found.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer >= 400:
            raise HTTPError(url, answer, "refused", Message(), None)
        return answer

    monkeypatch.setattr(web, "post", post)
    return found


def test_the_month_before_is_invoiced_for_each_account_that_pays(jobs: Jobs, rows: Any) -> None:
    first = datetime(2027, 3, 1, 4, 0, tzinfo=UTC)
    assert jobs.run(RunInvoices, cents_per_call=2, occurrence=first).result == 1
    jobs.assert_enqueued(IssueInvoice, account="acme", month="2027-02", cents_per_call=2)


@pytest.mark.parametrize(("calls", "state"), [(10, "open"), (0, "paid")])
def test_an_invoice_sums_up_its_month_and_is_charged_if_there_is_something_to_charge(
    app: App, jobs: Jobs, rows: Any, answers: Any, written: Callable[[], list[dict[str, Any]]], calls: int, state: str
) -> None:
    answers.append(200)
    rows["day#acme", "2027-01-31"] = rows["day#acme", "2027-03-01"] = {"calls": 100}
    rows["day#acme", "2027-02-01"] = {"calls": calls}
    app.enqueue(IssueInvoice, ToInvoice(account="acme", month="2027-02", cents_per_call=2))
    jobs.drain()
    invoice = written()[0]
    assert (invoice["calls"], invoice["cents"], invoice["state"]) == (calls, 2 * calls, state)
    assert len([job for job in jobs.enqueued if job.job == ChargeInvoice.name]) == (state == "open")


def test_a_card_is_charged_once_however_often_somebody_asks(
    app: App, jobs: Jobs, rows: Any, answers: list[int | Exception]
) -> None:
    answers += [200, 200]
    for _ in range(2):
        app.enqueue(ChargeInvoice, CHARGE)
    jobs.drain()
    assert answers == [200]
    jobs.assert_enqueued(SendMail, template="receipt", words={"month": "2027-02"})


def test_a_declined_card_is_tried_again_tomorrow(
    app: App, jobs: Jobs, rows: Any, answers: list[int | Exception]
) -> None:
    answers += [402, 200]
    app.enqueue(ChargeInvoice, CHARGE)
    assert (jobs.drain().retried, answers) == (1, [200])
    jobs.advance(hours=23)
    assert (jobs.drain().succeeded, answers) == (0, [200])
    jobs.advance(hours=1)
    jobs.drain()
    assert answers == []
    jobs.assert_enqueued(SendMail, template="receipt")


@pytest.mark.parametrize("answer", [TimeoutError(), 500])
def test_if_nobody_knows_whether_it_was_charged_a_human_looks(
    app: App, jobs: Jobs, rows: Any, answers: list[int | Exception], answer: int | Exception
) -> None:
    answers += [answer, 200]
    app.enqueue(ChargeInvoice, CHARGE)
    ((_, outcome),) = jobs.drain(within=timedelta(days=3)).outcomes
    assert (outcome.kind, outcome.reason) == ("parked", "effect_unknown: charge")
    assert answers == [200]  # it was not called again
    jobs.refute_enqueued(SendMail)
