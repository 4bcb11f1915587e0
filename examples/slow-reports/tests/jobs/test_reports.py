"""The reports, in memory, through the real engine. In a generated project this file stands in `tests/jobs`."""

from datetime import timedelta
from typing import Any

import pytest

from report_jobs.jobs import pages, reports
from report_jobs.jobs.reports import RenderedReport, RenderReport, ReportArgs, UnknownAccountError
from report_jobs.runtime import App
from report_jobs.runtime.context import JobContext
from report_jobs.runtime.testing import Jobs

REPORT: dict[str, Any] = {"report": "acme/2026-11", "page_count": 3, "seconds_per_page": 0}


@pytest.fixture(autouse=True)
def bucket(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """Stands for S3, in the place of the two functions that speak to it: number to content."""
    kept: dict[int, str] = {}
    monkeypatch.setenv("APP_REPORTS_BUCKET", "bucket")
    monkeypatch.setattr(pages, "finished", lambda report: set(kept))
    monkeypatch.setattr(pages, "keep", lambda report, number, content: kept.update({number: content}))
    return kept


def test_renders_every_page_and_says_where(app: App, jobs: Jobs, bucket: dict[int, str]) -> None:
    app.enqueue(RenderReport, ReportArgs(**REPORT))
    assert jobs.drain().succeeded == 1
    assert bucket == {number: f"acme/2026-11, page {number}\n" for number in (1, 2, 3)}
    status = app.status(job=RenderReport, key="acme/2026-11")
    assert (status.state, status.done, status.total) == ("done", 3, 3)
    assert status.result == {"pages": 3, "location": "s3://bucket/reports/acme/2026-11/", "kept": 0}


def test_one_report_however_often_it_is_asked_for(app: App, jobs: Jobs) -> None:
    for _ in range(2):
        app.enqueue(RenderReport, ReportArgs(**REPORT))
    report = jobs.drain()
    assert (report.succeeded, report.duplicate) == (1, 1)


def test_a_worker_that_has_to_go_costs_no_attempt_and_no_page(
    app: App, jobs: Jobs, bucket: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = iter([False, False, True])
    monkeypatch.setattr(JobContext, "stopping", property(lambda ctx: next(stopping, False)))
    app.enqueue(RenderReport, ReportArgs(**REPORT))
    report = jobs.drain()
    (_, first), (_, second) = report.outcomes
    assert (first.kind, first.reason, first.delay) == ("defer", "worker_stopping", timedelta(0))
    assert second.result == RenderedReport(pages=3, location="s3://bucket/reports/acme/2026-11/", kept=2)
    assert app.status(job=RenderReport, key="acme/2026-11").attempt == 1
    assert sorted(bucket) == [1, 2, 3]


def test_after_a_failure_it_goes_on_where_it_was(
    app: App, jobs: Jobs, bucket: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[int] = []

    def render_page(report: str, number: int, seconds: float) -> str:
        rendered.append(number)
        if len(rendered) == 2:
            raise ConnectionError("no database")
        return ""

    monkeypatch.setattr(reports, "render_page", render_page)
    app.enqueue(RenderReport, ReportArgs(**REPORT))
    report = jobs.drain(within=timedelta(hours=1))
    assert (report.retried, report.succeeded, rendered) == (1, 1, [1, 2, 2, 3])


def test_an_unknown_account_is_given_up_at_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def render_page(report: str, number: int, seconds: float) -> str:
        raise UnknownAccountError(report)

    monkeypatch.setattr(reports, "render_page", render_page)
    out = jobs.run(RenderReport, **REPORT)
    assert (out.kind, out.reason) == ("dead", "unknown_account")


@pytest.mark.parametrize("report", ["../etc/2026-11", "acme", "acme/2026-11/x", ""])
def test_a_message_names_no_place_outside_the_reports(report: str, jobs: Jobs) -> None:
    assert jobs.run(RenderReport, **REPORT | {"report": report}).reason == "invalid_payload"
