"""Pre-call plan: what an agent should know and say, worked out in the minute before a call. Worthless once the call
has begun.
"""

from datetime import timedelta

from pydantic import BaseModel, Field

from ..runtime import Job, JobContext, Park, full_jitter
from .chaos import strike_on_first_attempt


class Call(BaseModel):
    call_id: str
    customer: str
    open_tickets: int = Field(ge=0)
    months_since_purchase: int = Field(ge=0)
    consent: bool = True
    chaos: bool = False


class Plan(BaseModel):
    call_id: str
    goal: str
    minutes: int


class NoConsentError(Exception):
    """The customer has not agreed to be prepared for: a person has to decide."""


class PreparePlan(Job[Call, Plan]):
    name = "calls.plan.prepare"
    workload = "calls"
    retry = full_jitter(base=timedelta(seconds=1), cap=timedelta(seconds=20), max_attempts=4)
    on = {NoConsentError: Park("no_consent")}
    timeout = timedelta(seconds=2)
    ttl = timedelta(minutes=15)
    regenerable = True  # the next call gets a plan of its own, so a late one may be dropped
    log_fields = ("call_id",)

    async def run(self, args: Call, ctx: JobContext) -> Plan:
        if args.chaos:
            strike_on_first_attempt(ctx)
        if not args.consent:
            raise NoConsentError(args.call_id)
        if args.open_tickets > 2:
            return Plan(call_id=args.call_id, goal="calm down, solve the oldest ticket", minutes=15)
        if args.months_since_purchase > 12:
            return Plan(call_id=args.call_id, goal="win back", minutes=10)
        return Plan(call_id=args.call_id, goal="check in", minutes=5)
