"""Usage: the sum of each account's day, from which the invoices are made."""

from datetime import date, timedelta

from pydantic import BaseModel

from ..app import app
from ..runtime import Job, JobContext, Retry
from . import store


class Close(BaseModel):
    """Which day it is says the occurrence."""


class CloseDay(Job[Close, int]):
    """Teaches fan-out of any size: `enqueue_many`, ten a call, an exact result for each, to jobs that have a key."""

    name = "usage.day.close"

    def run(self, args: Close, ctx: JobContext) -> int:
        assert ctx.occurrence is not None, "only a schedule sends this job"
        day = ctx.occurrence.date() - timedelta(days=1)
        parts = [AccountDay(account=row["sk"], day=day) for row in store.accounts()]
        published = app.enqueue_many(SumUsage, parts, correlation=ctx.correlation)
        if not all(result.ok for result in published):
            raise Retry(reason="not_all_published")  # all of them again: those that ran are duplicates by their key
        return len(published)


class AccountDay(BaseModel):
    account: str
    day: date


class SumUsage(Job[AccountDay, int]):
    """Teaches business keys and effects that converge: it sets a value, so doing it again changes nothing."""

    name = "usage.day.sum"
    key = staticmethod(lambda part: f"{part.account}/{part.day}")
    log_fields = ("account", "day")

    def run(self, args: AccountDay, ctx: JobContext) -> int:
        used = store.rows(f"usage#{args.account}", f"{args.day}", f"{args.day + timedelta(days=1)}")
        calls = sum(int(row["calls"]) for row in used)
        store.put({"pk": f"day#{args.account}", "sk": f"{args.day}", "calls": calls})
        return calls
