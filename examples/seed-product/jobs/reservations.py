"""Reservations: credits that are set aside for ten minutes, and come back if nobody used them."""

from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext
from . import store
from .credits import BookCredits, Booking

LIFETIME = timedelta(minutes=10)


class Reservation(BaseModel):
    reservation: str


class ExpireReservation(Job[Reservation, bool]):
    """Teaches short delays. Whoever makes a reservation publishes its end in the same breath::

        app.enqueue(ExpireReservation, Reservation(reservation="r-1"), delay=LIFETIME)

    Up to 15 minutes cost nothing: SQS itself keeps the message back.
    """

    name = "credits.reservation.expire"
    key = "reservation"
    log_fields = ("reservation",)

    def run(self, args: Reservation, ctx: JobContext) -> bool:
        found = store.row("reservation", args.reservation)
        if found is None or found["state"] != "open":
            return False  # used in time
        ctx.commit(
            ctx.update(
                store.table(),
                {"pk": "reservation", "sk": args.reservation},
                "SET #state = :expired",
                condition="#state = :open",  # whoever uses it at this moment wins; then this run fails and looks again
                values={":expired": "expired", ":open": "open"},
                names={"#state": "state"},
            ),
            ctx.follow_up(
                BookCredits,
                Booking(account=found["account"], booking=f"expired/{args.reservation}", credits=int(found["credits"])),
            ),
            result=True,
        )
        return True


class Sweep(BaseModel):
    """The schedule says nothing more than "now"."""


class SweepReservations(Job[Sweep, int]):
    """Teaches regenerable jobs: a safety net for reservations whose maker died before it published their end.

    Every quarter of an hour there is another one, so an old one is dropped, and counted, instead of kept for a human.
    """

    name = "credits.reservations.sweep"
    ttl = timedelta(minutes=15)  # of a scheduled job: from its occurrence on
    regenerable = True

    def run(self, args: Sweep, ctx: JobContext) -> int:
        overdue = (ctx.now() - timedelta(minutes=5)).isoformat()  # time for the job that should do it
        forgotten = [
            row["sk"] for row in store.rows("reservation") if row["state"] == "open" and row["expires_at"] < overdue
        ]
        for reservation in forgotten:
            ctx.enqueue(ExpireReservation, Reservation(reservation=reservation))  # its key makes a second one harmless
        return len(forgotten)
