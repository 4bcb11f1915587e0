"""Unique jobs: one publication of a key at a time. The key is registered in the ledger before the job is sent."""

from .envelope import decode
from .ledger import JobLedger, args_digest, reference
from .publisher import Message, Published, Publisher, PublishError
from .records import delist, enlist


class AlreadyQueuedError(PublishError):
    """A job with this business key is queued or running.

    Attributes:
        job_id: that job.
    """

    def __init__(self, job: str, job_id: str) -> None:
        super().__init__(f"job {job!r}: one with this key is queued or running ({job_id}); nothing was sent")
        self.job_id = job_id


def publish_unique(ledger: JobLedger, publisher: Publisher, message: Message, *, join: bool) -> Published:
    """Send a job unless its key is taken.

    Args:
        join: return the job that holds the key instead of raising.

    Raises:
        AlreadyQueuedError: the key is taken.
        PublishError: AWS did not accept the job; its key is free again.
    """
    envelope = decode(message.body)
    if envelope.key is None:
        raise PublishError(f"job {envelope.job!r} has no business key to be unique by: set `key` on its class")
    ref = reference(ledger.app, envelope.job, envelope.id, envelope.key, envelope.occurrence)
    about = {
        "job": envelope.job,
        "args_hash": args_digest(envelope),
        "generation": envelope.generation,
    }
    now = ledger.now()
    holder = enlist(ledger.table, ref, envelope.id, about, now, max(message.due(now), envelope.not_before or now))
    if holder is not None:
        if join:
            return Published(holder, True)
        raise AlreadyQueuedError(envelope.job, holder)
    try:
        return publisher.publish(message)
    except Exception:
        delist(ledger.table, ref, envelope.id)
        raise
