"""Credits: bookings in their order, and the two schedules that make them."""

from datetime import timedelta

from pydantic import BaseModel, Field

from ..runtime import Job, JobContext, Permanent, full_jitter
from . import store
from .cache import InvalidateCache, Keys


class Booking(BaseModel):
    account: str
    booking: str  # unique within the account: says why, and makes a repetition a duplicate
    credits: int


class BookCredits(Job[Booking, int]):
    """Teaches order: on a FIFO workload nobody else is at work on the account, so it may read, reckon and write.

    Only this job writes a balance. Whoever wants to change one publishes a booking.
    """

    name = "credits.book"
    workload = "credits"
    group = staticmethod(lambda booking: booking.account)  # accounts do not wait for each other
    key = staticmethod(lambda booking: f"{booking.account}/{booking.booking}")
    # Short waits: what fails holds up the later bookings of its account.
    retry = full_jitter(base=timedelta(seconds=1), cap=timedelta(seconds=30), max_attempts=5)
    on = {store.UnknownAccountError: Permanent("unknown_account")}
    log_fields = ("account", "booking")

    def run(self, args: Booking, ctx: JobContext) -> int:
        balance = int(store.account(args.account)["balance"]) + args.credits
        booking = {"credits": args.credits, "balance": balance}
        ctx.commit(
            ctx.put(store.table(), {"pk": f"booking#{args.account}", "sk": args.booking, **booking}),
            ctx.update(
                store.table(),
                {"pk": "account", "sk": args.account},
                "SET balance = :balance",
                values={":balance": balance},
            ),
            ctx.follow_up(InvalidateCache, Keys(keys=[f"balance/{args.account}"])),
            result=balance,
        )
        return balance


class Prices(BaseModel):
    credits_per_call: int = Field(default=1, ge=1)


class RecalculateCredits(Job[Prices, int]):
    """Teaches schedules: which hour it is about says the occurrence, not the clock. It may be run late."""

    name = "credits.recalculate"

    def run(self, args: Prices, ctx: JobContext) -> int:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        end = ctx.occurrence.replace(minute=0, second=0)
        start = end - timedelta(hours=1)
        bookings = []
        for account in store.accounts():
            used = store.rows(f"usage#{account['sk']}", f"{start:%Y-%m-%dT%H}", f"{end:%Y-%m-%dT%H}")
            calls = sum(int(row["calls"]) for row in used)
            if calls:
                booking = Booking(
                    account=account["sk"], booking=f"usage/{start:%Y-%m-%dT%H}", credits=-calls * args.credits_per_call
                )
                bookings.append(ctx.follow_up(BookCredits, booking))
        # All bookings of the hour or none. A commit has room for some hundreds; for more see `usage.CloseDay`.
        ctx.commit(*bookings, result=len(bookings))
        return len(bookings)


class Allowance(BaseModel):
    credits: int = Field(ge=1)


class RenewAllowances(Job[Allowance, int]):
    """Teaches `ctx.enqueue`: a second attempt gives each follow-up the id that it had, so none of them runs twice."""

    name = "credits.allowances.renew"
    # A minute after `usage.day.close`, which does not mean after its end. Nothing here needs it to be done.

    def run(self, args: Allowance, ctx: JobContext) -> int:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        day = ctx.occurrence.date()
        due = [row["sk"] for row in store.accounts() if row["plan"] == "paid" and row["renews_on"] == day.day]
        for number, account in enumerate(due):
            ctx.enqueue(BookCredits, Booking(account=account, booking=f"allowance/{day}", credits=args.credits))
            ctx.progress(number + 1, len(due))
        return len(due)
