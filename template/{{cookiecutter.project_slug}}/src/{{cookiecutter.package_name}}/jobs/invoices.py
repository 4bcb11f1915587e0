"""Invoices: a job that must happen once. A business key, and one transaction at its end."""

from datetime import timedelta
from decimal import Decimal

from pydantic import BaseModel, HttpUrl

from ..runtime import Job, JobContext, Permanent, full_jitter
from .webhooks import DeliverWebhook, WebhookArgs


class InvoiceArgs(BaseModel):
    order: str
    callback: HttpUrl | None = None  # told when the invoice exists


class UnknownOrder(Exception):
    """No such order: trying again cannot help."""


def load_amounts(order: str) -> list[Decimal]:
    """The amounts of an order. Replace it with your own query; raise UnknownOrder."""
    return [Decimal("19.90"), Decimal("5.10")]


class IssueInvoice(Job[InvoiceArgs, None]):
    name = "invoices.issue"
    key = "order"  # whoever asks and however often: one invoice per order
    retry = full_jitter(base=timedelta(seconds=5), cap=timedelta(minutes=10), max_attempts=5)
    on = {UnknownOrder: Permanent("unknown_order")}
    log_fields = ("order",)

    def run(self, args: InvoiceArgs, ctx: JobContext) -> None:
        from ..settings import settings  # here, because only this job needs it: see settings.py

        # First what may be done again. The number is the same in every attempt.
        number = f"I-{ctx.effect_key('number')[:12]}"
        total = sum(load_amounts(args.order), Decimal(0))
        followers = []
        if args.callback is not None:
            data = {"order": args.order, "number": number}
            followers.append(ctx.follow_up(DeliverWebhook, WebhookArgs(url=args.callback, event="invoice", data=data)))
        # Last what may not: the row, the follow-up job, and that this job is done. All of it happens, or nothing.
        row = {"pk": args.order, "number": number, "total": total}
        ctx.commit(ctx.put(settings().invoices_table, row), *followers, result={"number": number})
