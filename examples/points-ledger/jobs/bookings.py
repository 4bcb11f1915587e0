"""Book loyalty points, each booking once, and let the ones that have to wait for a partner wait somewhere else.

The points table is the system of record: an entry per booking, and per member the sum of his entries. Both are written
in one transaction with the completion of the job, on the condition that there is no such entry yet. So whichever job
makes the booking, and however often, it counts once.
"""

import os
from datetime import timedelta
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from ..runtime import Job, JobContext, Permanent, full_jitter, linear
from .partners import PartnerAwayError, PurchaseUnknownError, confirm_purchase
from .table import condition_failed, read_item

# No use to ask a partner that is away again at once. A consumer can ask for at most 15 minutes in another workload.
FIRST_WAIT = timedelta(minutes=5)


class Booking(BaseModel):
    booking: str = Field(min_length=1, max_length=100)  # the partner's id of the purchase: who sends it twice means one
    member: str = Field(min_length=1, max_length=100)
    partner: str = Field(min_length=1, max_length=100)
    points: int  # below zero: taken back


class BookingJob(Job[Booking, str]):
    """What both jobs have in common. It has no name, so no message reaches it."""

    key = "booking"
    on = {PurchaseUnknownError: Permanent("purchase_unknown")}
    log_fields = ("booking", "partner")
    patience: ClassVar[float]  # seconds to wait for a partner's answer

    def book(self, args: Booking, ctx: JobContext) -> str:
        """Returns "booked", or "booked before"."""
        confirm_purchase(args.partner, args.booking, patience=self.patience)
        table = os.environ["APP_POINTS_TABLE"]
        entry = {"pk": f"booking#{args.booking}", **args.model_dump(exclude={"booking"})}
        try:
            ctx.commit(
                ctx.put(
                    table,
                    {**entry, "booked_at": ctx.now().isoformat(), "by": self.name},
                    condition="attribute_not_exists(pk)",
                ),
                ctx.update(
                    table,
                    {"pk": f"member#{args.member}"},
                    "ADD points :points, bookings :one",
                    values={":points": args.points, ":one": 1},
                ),
                result="booked",
            )
        except Exception as error:
            if not condition_failed(error):
                raise
            return self.booked_before(entry, read_item(table, entry["pk"]))
        return "booked"

    @staticmethod
    def booked_before(entry: dict[str, Any], found: dict[str, Any]) -> str:
        """There is an entry already. It must say the same, or one of the two is wrong."""
        if any(found.get(name) != value for name, value in entry.items()):
            raise Permanent("booking_conflict")
        return "booked before"


class BookPoints(BookingJob):
    """The primary: quick or not at all. It asks the partner once."""

    name = "points.book"
    workload = "points"
    retry = full_jitter(base=timedelta(seconds=1), cap=timedelta(minutes=1), max_attempts=5)  # of anything else
    patience = 2.0

    def run(self, args: Booking, ctx: JobContext) -> str:
        try:
            return self.book(args, ctx)
        except PartnerAwayError:
            # One transaction: this job is done, and the other one will be published. Or neither.
            ctx.commit(ctx.follow_up(RetryBooking, args, delay=FIRST_WAIT), result="handed over")
            return "handed over"


class RetryBooking(BookingJob):
    """The same booking, with all the time in the world: 20 attempts in about two days, few of them at once."""

    name = "points.book.retry"
    workload = "points-retry"
    retry = linear(step=timedelta(minutes=15), max_attempts=20)
    patience = 10.0

    def run(self, args: Booking, ctx: JobContext) -> str:
        return self.book(args, ctx)
