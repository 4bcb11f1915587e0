"""Billing: once a month an invoice for each account that pays, and the money for it, once."""

from datetime import timedelta
from urllib.error import HTTPError

from pydantic import BaseModel, Field

from ..runtime import Job, JobContext, Permanent, fixed, full_jitter
from ..settings import settings
from . import store, web
from .mail import Mail, SendMail


class InvoiceRun(BaseModel):
    cents_per_call: int = Field(ge=1)


class RunInvoices(Job[InvoiceRun, int]):
    """Sent by a schedule on the first of the month, about the month before."""

    name = "billing.invoices.run"
    workload = "billing"

    def run(self, args: InvoiceRun, ctx: JobContext) -> int:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        month = f"{ctx.occurrence.replace(day=1) - timedelta(days=1):%Y-%m}"
        accounts = [row["sk"] for row in store.accounts() if row["plan"] == "paid"]
        ctx.commit(
            *(
                ctx.follow_up(IssueInvoice, ToInvoice(account=name, month=month, cents_per_call=args.cents_per_call))
                for name in accounts
            ),
            result=len(accounts),
        )
        return len(accounts)


class ToInvoice(BaseModel):
    account: str
    month: str = Field(pattern=r"^\d{4}-\d{2}$")
    cents_per_call: int


class IssueInvoice(Job[ToInvoice, None]):
    """Teaches the key that says what makes the work another one: whoever asks, one invoice per account and month."""

    name = "billing.invoice.issue"
    workload = "billing"
    key = staticmethod(lambda args: f"{args.account}/{args.month}")
    log_fields = ("account", "month")

    def run(self, args: ToInvoice, ctx: JobContext) -> None:
        days = store.rows(f"day#{args.account}", f"{args.month}-01", f"{args.month}-31")
        calls = sum(int(row["calls"]) for row in days)
        cents = calls * args.cents_per_call
        invoice = {"pk": f"invoice#{args.account}", "sk": args.month, "calls": calls, "cents": cents}
        charges = []
        if cents:
            charges.append(ctx.follow_up(ChargeInvoice, ToCharge(account=args.account, month=args.month, cents=cents)))
        ctx.commit(ctx.put(store.table(), {**invoice, "state": "open" if charges else "paid"}), *charges)


class ToCharge(BaseModel):
    account: str
    month: str
    cents: int = Field(ge=1)  # money is never a float


class CardDeclinedError(Exception):
    """The bank says no, so nothing was charged: the one answer that is safe to try again."""


class ChargeInvoice(Job[ToCharge, None]):
    """Teaches `ctx.effect`, for a payment provider that knows no idempotency key.

    Irreversible, so it comes after all that can be repeated. If nobody knows whether the card was charged (a timeout, a
    worker that died in the call), the job is parked for a human, and is never charged again by itself.
    """

    name = "billing.invoice.charge"
    workload = "billing"
    key = staticmethod(lambda args: f"{args.account}/{args.month}")
    retry = full_jitter(base=timedelta(seconds=10), cap=timedelta(minutes=10), max_attempts=5)
    on = {
        # Tomorrow, and the day after. SQS hides a message for 12 hours at most: the delay machine keeps it.
        CardDeclinedError: fixed(timedelta(days=1), max_attempts=3),
        store.UnknownAccountError: Permanent("unknown_account"),
    }
    log_fields = ("account", "month")

    def run(self, args: ToCharge, ctx: JobContext) -> None:
        account = store.account(args.account)
        with ctx.effect("charge", clean=(CardDeclinedError,)) as needed:
            if needed:
                charge(args)
        ctx.commit(
            ctx.update(
                store.table(),
                {"pk": f"invoice#{args.account}", "sk": args.month},
                "SET #state = :paid",
                values={":paid": "paid"},
                names={"#state": "state"},
            ),
            ctx.follow_up(SendMail, Mail(to=account["email"], template="receipt", words={"month": args.month})),
        )


def charge(args: ToCharge) -> None:
    try:
        web.post(f"{settings().payment_api}/charges", {"account": args.account, "cents": args.cents})
    except HTTPError as error:
        if error.code == 402:
            raise CardDeclinedError(args.account) from error
        raise
