"""Digests: once a week, what each account has used."""

from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext
from . import store
from .mail import Mail, SendMail


class Digest(BaseModel):
    subject: str


class SendDigests(Job[Digest, int]):
    """Teaches local time and deadlines: sent on Monday at eight by Berlin's clock, worthless on Tuesday."""

    name = "digests.send"
    ttl = timedelta(days=1)
    regenerable = True

    def run(self, args: Digest, ctx: JobContext) -> int:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        today = ctx.occurrence.date()
        mails = []
        for account in store.accounts():
            days = store.rows(f"day#{account['sk']}", f"{today - timedelta(days=7)}", f"{today - timedelta(days=1)}")
            words = {"subject": args.subject, "calls": f"{sum(int(row['calls']) for row in days)}"}
            mails.append(ctx.follow_up(SendMail, Mail(to=account["email"], template="digest", words=words)))
        ctx.commit(*mails, result=len(mails))
        return len(mails)
