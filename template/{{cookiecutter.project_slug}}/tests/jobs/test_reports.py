from datetime import date, timedelta
from decimal import Decimal

import pytest

from {{ cookiecutter.package_name }}.jobs import reports
from {{ cookiecutter.package_name }}.jobs.reports import BuildReport, MonthStillOpen, Report, UnknownAccount
from {{ cookiecutter.package_name }}.jobs.webhooks import DeliverWebhook
from {{ cookiecutter.package_name }}.runtime.testing import Jobs


def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_orders(account: str, month: date) -> list[Decimal]:
        raise error

    monkeypatch.setattr(reports, "load_orders", load_orders)


def test_adds_up_the_orders(jobs: Jobs) -> None:
    out = jobs.run(BuildReport, account="acme", month="2026-03-01")
    assert out.kind == "succeeded"
    assert out.result == Report(orders=2, total=Decimal("25.00"))
    jobs.refute_enqueued(DeliverWebhook)


def test_tells_the_callback(jobs: Jobs) -> None:
    jobs.run(BuildReport, account="acme", month="2026-03-01", callback="https://acme.example/hook")
    jobs.assert_enqueued(DeliverWebhook, event="report.ready", url="https://acme.example/hook")


def test_an_unknown_account_is_given_up_at_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(UnknownAccount(), monkeypatch)
    out = jobs.run(BuildReport, account="nobody", month="2026-03-01")
    assert (out.kind, out.reason) == ("dead", "unknown_account")


def test_lost_credentials_wait_for_somebody(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(PermissionError(), monkeypatch)
    out = jobs.run(BuildReport, account="acme", month="2026-03-01")
    assert (out.kind, out.reason) == ("parked", "database_credentials")


def test_an_open_month_is_tried_again_later_each_time(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(MonthStillOpen(), monkeypatch)
    first = jobs.run(BuildReport, account="acme", month="2026-03-01")
    third = jobs.run(BuildReport, account="acme", month="2026-03-01", attempt=3)
    assert first.kind == third.kind == "retry"
    assert (first.delay, third.delay) == (timedelta(minutes=5), timedelta(minutes=15))


def test_a_payload_that_does_not_fit_is_dead(jobs: Jobs) -> None:
    out = jobs.run(BuildReport, account="acme", month="March")
    assert (out.kind, out.reason) == ("dead", "invalid_payload")
