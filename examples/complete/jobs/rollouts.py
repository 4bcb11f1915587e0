"""Rollout: bring a change to an account step by step. FIFO: within one account the steps keep their order, accounts
do not wait for each other.
"""

from datetime import timedelta
from urllib.error import HTTPError

from pydantic import BaseModel, Field, HttpUrl

from ..runtime import Job, JobContext, Permanent, linear
from .web import send


class Step(BaseModel):
    account: str
    api: HttpUrl  # of the account's installation
    change: str
    number: int = Field(ge=1)


class AccountLockedError(Exception):
    """Somebody works on the account: wait, and let the later steps wait too."""


class StepRefusedError(Exception):
    """The installation says that this step can never be applied to it."""


class ApplyStep(Job[Step, None]):
    name = "rollouts.step.apply"
    workload = "rollouts"
    group = staticmethod(lambda step: step.account)  # the order within one group is kept
    retry = linear(step=timedelta(seconds=2), max_attempts=5)
    on = {
        AccountLockedError: linear(step=timedelta(seconds=1), max_attempts=20),
        StepRefusedError: Permanent("step_refused"),
    }
    log_fields = ("account", "number")

    def run(self, args: Step, ctx: JobContext) -> None:
        try:
            send("POST", f"{args.api}/steps/{args.number}", {"change": args.change}, key=ctx.job_id)
        except HTTPError as error:
            if error.code == 423:
                raise AccountLockedError(args.account) from error
            if error.code == 422:
                raise StepRefusedError(f"{args.account} step {args.number}") from error
            raise


class Review(BaseModel):
    product: str


class ReviewRollouts(Job[Review, str]):
    """Sent by a schedule every week, in a message group of its own."""

    name = "rollouts.review"
    workload = "rollouts"
    group = staticmethod(lambda review: review.product)

    def run(self, args: Review, ctx: JobContext) -> str:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        return f"{args.product}: review of the week before {ctx.occurrence:%Y-%m-%d}"
