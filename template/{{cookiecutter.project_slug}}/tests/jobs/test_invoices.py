from datetime import timedelta
from decimal import Decimal

import pytest

from {{ cookiecutter.package_name }}.jobs import invoices
from {{ cookiecutter.package_name }}.jobs.invoices import InvoiceArgs, IssueInvoice, UnknownOrder
from {{ cookiecutter.package_name }}.jobs.webhooks import DeliverWebhook
from {{ cookiecutter.package_name }}.runtime import App
from {{ cookiecutter.package_name }}.runtime.testing import Jobs


def test_one_order_has_one_invoice_however_often_it_is_asked_for(app: App, jobs: Jobs) -> None:
    for _ in range(3):
        app.enqueue(IssueInvoice, InvoiceArgs(order="o-7"))
    report = jobs.drain()
    assert (report.succeeded, report.duplicate) == (1, 2)
    # The records are in `jobs.table`, and what `ctx.commit` wrote elsewhere is in its `others`.
    (write,) = jobs.table.others
    assert write["Put"]["TableName"] == "invoices"
    assert write["Put"]["Item"]["total"] == {"N": "25.00"}


def test_another_payload_under_the_same_key_is_a_mistake_to_look_at(app: App, jobs: Jobs) -> None:
    app.enqueue(IssueInvoice, InvoiceArgs(order="o-7"))
    app.enqueue(IssueInvoice, InvoiceArgs.model_validate({"order": "o-7", "callback": "https://acme.example/hook"}))
    outcomes = [(outcome.kind, outcome.reason) for _, outcome in jobs.drain().outcomes]
    assert outcomes == [("succeeded", ""), ("dead", "key_conflict")]


def test_a_failed_attempt_leaves_nothing_behind(app: App, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = [ConnectionError("no database")]

    def load_amounts(order: str) -> list[Decimal]:
        if faults:
            raise faults.pop()
        assert not jobs.table.others
        return [Decimal("9.90")]

    monkeypatch.setattr(invoices, "load_amounts", load_amounts)
    app.enqueue(IssueInvoice, InvoiceArgs(order="o-7"))
    report = jobs.drain(within=timedelta(hours=1))
    assert (report.retried, report.succeeded, len(jobs.table.others)) == (1, 1, 1)


def test_the_callback_is_told_by_a_job_of_its_own(jobs: Jobs) -> None:
    jobs.run(IssueInvoice, order="o-7", callback="https://acme.example/hook")
    jobs.assert_enqueued(DeliverWebhook, event="invoice", url="https://acme.example/hook")


def test_an_unknown_order_is_given_up_at_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_amounts(order: str) -> list[Decimal]:
        raise UnknownOrder(order)

    monkeypatch.setattr(invoices, "load_amounts", load_amounts)
    out = jobs.run(IssueInvoice, order="o-8")
    assert (out.kind, out.reason) == ("dead", "unknown_order")
