"""Calendar propagation: bring a changed appointment to the calendar of one person invited. Many small jobs, ten a
batch.
"""

from datetime import timedelta
from urllib.error import HTTPError

from pydantic import AwareDatetime, BaseModel, HttpUrl

from ..runtime import Job, JobContext, Permanent, full_jitter
from .chaos import strike_on_first_attempt
from .web import send


class Appointment(BaseModel):
    appointment_id: str
    title: str
    starts_at: AwareDatetime  # a time without a zone is refused
    calendar: HttpUrl  # of the person invited
    chaos: bool = False


class NoSuchCalendarError(Exception):
    """The person has left, or has moved to another calendar."""


class PropagateAppointment(Job[Appointment, None]):
    name = "calendar.appointment.propagate"
    workload = "calendar"
    # A busy calendar server answers 429 with Retry-After: the wait is at least that, and this policy on top.
    retry = full_jitter(base=timedelta(seconds=1), cap=timedelta(minutes=5), max_attempts=6)
    on = {NoSuchCalendarError: Permanent("no_such_calendar")}
    log_fields = ("appointment_id",)

    def run(self, args: Appointment, ctx: JobContext) -> None:
        if args.chaos:
            strike_on_first_attempt(ctx)
        event = {"title": args.title, "starts_at": args.starts_at.isoformat()}
        try:
            # PUT under the appointment's own name: doing it twice changes nothing.
            send("PUT", f"{args.calendar}/{args.appointment_id}", event, key=ctx.job_id)
        except HTTPError as error:
            if error.code == 404:
                raise NoSuchCalendarError(str(args.calendar)) from error
            raise


class Agenda(BaseModel):
    team: str


class PrepareAgenda(Job[Agenda, str]):
    """Sent by a schedule every working day. Which day it is about stands in its occurrence: it may be run later."""

    name = "calendar.agenda.prepare"
    workload = "calendar"
    key = "team"  # one agenda per team and occurrence, however often it is delivered
    ttl = timedelta(hours=12)  # from the occurrence on
    regenerable = True  # tomorrow there is another one

    def run(self, args: Agenda, ctx: JobContext) -> str:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        return f"agenda of {args.team} for {ctx.occurrence:%Y-%m-%d}"
