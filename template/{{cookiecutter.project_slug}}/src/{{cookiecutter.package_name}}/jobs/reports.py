"""Monthly reports: a typed payload, a policy per cause of failure, a follow-up job."""

from datetime import date, timedelta
from decimal import Decimal

from pydantic import BaseModel, HttpUrl

from ..runtime import Job, JobContext, Park, Permanent, full_jitter, linear
from .webhooks import DeliverWebhook, WebhookArgs


class ReportArgs(BaseModel):
    account: str
    month: date
    callback: HttpUrl | None = None  # told about the report when it is ready


class Report(BaseModel):
    orders: int
    total: Decimal  # travels as a string: money is never a float


class UnknownAccount(Exception):
    """No such account: trying again cannot help."""


class MonthStillOpen(Exception):
    """Orders are still being booked: try again later, many times."""


def load_orders(account: str, month: date) -> list[Decimal]:
    """The amounts of an account's orders. Replace it with your own query; raise UnknownAccount or MonthStillOpen."""
    return [Decimal("19.90"), Decimal("5.10")]


class BuildReport(Job[ReportArgs, Report]):
    name = "reports.build"
    retry = full_jitter(base=timedelta(seconds=5), cap=timedelta(minutes=10), max_attempts=5)  # of any other failure
    on = {
        UnknownAccount: Permanent("unknown_account"),  # to the dead-letter queue at once
        PermissionError: Park("database_credentials"),  # kept for somebody to look at
        MonthStillOpen: linear(step=timedelta(minutes=5), max_attempts=20),
    }
    log_fields = ("account",)  # the only payload fields that may appear in logs

    def run(self, args: ReportArgs, ctx: JobContext) -> Report:
        amounts = load_orders(args.account, args.month)
        report = Report(orders=len(amounts), total=sum(amounts, Decimal(0)))
        if args.callback is not None:
            data = {"account": args.account, "month": args.month.isoformat(), **report.model_dump(mode="json")}
            ctx.enqueue(DeliverWebhook, WebhookArgs(url=args.callback, event="report.ready", data=data))
        return report
