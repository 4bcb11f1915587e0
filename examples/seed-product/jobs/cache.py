"""The cache in front of the product: what has changed must not be shown any more."""

from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext, direct_retry
from ..settings import settings
from . import web


class Keys(BaseModel):
    keys: list[str]


class InvalidateCache(Job[Keys, None]):
    """Teaches the direct workload: rare, quick, urgent, and cheap to lose sight of. The topic calls the function.

    Doing it twice is harmless, so it has no record (`ledger = False`), and after five minutes the cache forgets by
    itself.
    """

    name = "cache.invalidate"
    workload = "cache"
    ledger = False
    retry = direct_retry  # waits that suit the delay machine
    ttl = timedelta(minutes=5)
    regenerable = True

    def run(self, args: Keys, ctx: JobContext) -> None:
        web.post(f"{settings().cache_api}/purge", {"keys": args.keys})
        ctx.logger.info("purged", extra={"count": len(args.keys)})
