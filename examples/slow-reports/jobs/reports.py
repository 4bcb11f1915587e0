"""Reports of about four minutes, page by page."""

import time
from datetime import timedelta

from pydantic import BaseModel, Field

from ..runtime import Defer, Job, JobContext, Permanent, full_jitter
from . import pages


class ReportArgs(BaseModel):
    report: str = Field(pattern=r"^[a-z0-9-]+/[0-9]{4}-[0-9]{2}$")  # "acme/2026-11", also the place of its pages
    page_count: int = Field(default=24, ge=1, le=9999)
    seconds_per_page: float = Field(default=10, ge=0)  # what your queries take: 24 x 10 s are the four minutes


class RenderedReport(BaseModel):
    pages: int
    location: str
    kept: int  # of an earlier run that was interrupted


class UnknownAccountError(Exception):
    """No such account: trying again cannot help."""


def render_page(report: str, number: int, seconds: float) -> str:
    """One page. Replace it with your own query; raise UnknownAccountError. It must come back well within
    `stall_after`.
    """
    time.sleep(seconds)
    return f"{report}, page {number}\n"


class RenderReport(Job[ReportArgs, RenderedReport]):
    name = "reports.render"
    workload = "reports"
    key = "report"  # one per account and month, whoever asks: app.status(job=RenderReport, key="acme/2026-11")
    retry = full_jitter(base=timedelta(seconds=30), cap=timedelta(minutes=10), max_attempts=5)
    on = {UnknownAccountError: Permanent("unknown_account")}
    # No page for a minute: it hangs. It is told, let go and taken over, instead of keeping its message for ever.
    stall_after = timedelta(minutes=1)
    timeout = timedelta(minutes=20)  # and this is too much however steadily it advances
    log_fields = ("report",)

    def run(self, args: ReportArgs, ctx: JobContext) -> RenderedReport:
        there = pages.finished(args.report)
        for number in range(1, args.page_count + 1):
            if ctx.stopping:
                # The task has to go (scale-in, deployment, Spot). What is done is kept: another task goes on from here.
                raise Defer(timedelta(0), "worker_stopping")
            if number not in there:
                pages.keep(args.report, number, render_page(args.report, number, args.seconds_per_page))
            ctx.progress(number, args.page_count)  # renews the lease: nothing else does
        return RenderedReport(pages=args.page_count, location=pages.location(args.report), kept=len(there))
