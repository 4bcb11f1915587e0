"""Accounts: what a sign-up sets going, up to the reminder some days later."""

from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext
from . import store
from .credits import BookCredits, Booking
from .mail import Mail, SendMail

TRIAL_CREDITS = 100
REMINDER_AFTER = timedelta(days=11)  # of a trial of fourteen


class SignUp(BaseModel):
    account: str
    email: str


class SetUpAccount(Job[SignUp, None]):
    """Teaches `ctx.commit`: the row and three follow-up jobs, on three workloads, all of them or none."""

    name = "accounts.set-up"
    key = "account"  # a customer who clicks twice has one account
    log_fields = ("account",)

    def run(self, args: SignUp, ctx: JobContext) -> None:
        ctx.commit(
            ctx.put(
                store.table(),
                {"pk": "account", "sk": args.account, "email": args.email, "plan": "trial", "balance": 0},
                # A key is remembered for 30 days. Who signs up again after that must not lose a balance.
                condition="attribute_not_exists(pk)",
            ),
            ctx.follow_up(BookCredits, Booking(account=args.account, booking="trial", credits=TRIAL_CREDITS)),
            ctx.follow_up(SendMail, Mail(to=args.email, template="welcome")),
            # Days ahead: the delay machine of this workload keeps it (`delay = true`).
            ctx.follow_up(RemindTrial, Trial(account=args.account), delay=REMINDER_AFTER),
        )


class Trial(BaseModel):
    account: str


class RemindTrial(Job[Trial, bool]):
    """Teaches long delays: a job that has waited for days looks at the world again before it acts."""

    name = "accounts.trial.remind"
    log_fields = ("account",)

    def run(self, args: Trial, ctx: JobContext) -> bool:
        account = store.row("account", args.account)
        if account is None or account["plan"] != "trial":
            return False  # has left, or pays by now
        ctx.enqueue(SendMail, Mail(to=account["email"], template="trial-ends"))
        return True
