"""What was decided about one delivery (``Outcome``), and the exceptions by which a job decides it itself.

A job that returns has succeeded. A job that raises one of ``Retry``, ``Defer``, ``Permanent``, ``Park`` or ``Discard``
has chosen its outcome; any other exception is classified by ``policy.decide``. The same five, as instances, are the
right-hand side of a job's ``on`` table.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from .failure import Failure, encodable

# SQS keeps a received message invisible for at most 12 h counted from that receive (SQS developer guide, "Processing
# messages in a timely manner"). Half an hour of it is left to the run itself, so that a wait which was accepted can
# always be asked for.
MAX_WAIT = timedelta(hours=11, minutes=30)


# The next attempt may be further away than that, where the workload has a delay machine (Step Functions: an execution
# lasts at most a year; a day of it is left for the delivery).
MAX_RETRY_WAIT = timedelta(days=364)
MAX_REASON_CHARS = 200


class Kind(StrEnum):
    """The eight outcomes. Every delivery ends in exactly one of them."""

    SUCCEEDED = "succeeded"  # ran to the end: acknowledge
    RETRY = "retry"  # failed, an attempt is used up: come back after the delay
    DEFER = "defer"  # not run or not its fault, no attempt is used up: come back after the delay
    DEAD = "dead"  # cannot succeed: copy to the dead-letter queue with the reason, then acknowledge
    PARKED = "parked"  # a human decides: keep, then acknowledge
    DISCARDED = "discarded"  # its deadline passed and the job is regenerable: count, then acknowledge
    DUPLICATE = "duplicate"  # done before: acknowledge
    LOST = "lost"  # another owner took the job over while it ran here: leave the message alone


@dataclass(frozen=True, slots=True)
class Outcome:
    """One decision. ``delay`` is set for retry and defer only, ``error`` when an exception led here."""

    kind: Kind
    reason: str = ""
    delay: timedelta | None = None
    error: Failure | None = None
    result: Any = None


class Decision(Exception):  # noqa: N818 - a decision is no error
    """Base of the exceptions that name an outcome.

    Args:
        reason: a short word for logs, metrics and dead letters (no payload in it), such as ``"mailbox_gone"``.
    """

    reason: str = "unspecified"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        # An exception given as the reason would carry its text, and with it a payload, into logs: its name is what is
        # meant.
        self.reason = encodable(reason[:MAX_REASON_CHARS]) if isinstance(reason, str) else type(reason).__name__


class Permanent(Decision):
    """Trying again cannot help: dead-letter at once, whatever the attempt."""


class Park(Decision):
    """Keep the job for a human decision."""


class Discard(Decision):
    """Drop the job. Only a job with ``regenerable = True`` may; any other is parked instead."""


class Defer(Decision):
    """Come back after ``delay`` without using up an attempt.

    Raises:
        ValueError: the delay is negative or longer than ``MAX_WAIT``.
    """

    delay: timedelta = timedelta(0)

    def __init__(self, delay: timedelta, reason: str = "deferred") -> None:
        super().__init__(reason)
        self.delay = checked_wait(delay)


class Retry(Decision):
    """Count an attempt and come back: after ``delay``, or after what the job's ``retry`` policy says if it is None.

    A delay beyond ``MAX_WAIT`` takes the workload's delay machine (``delay = true`` in Terraform).

    Raises:
        ValueError: the delay is negative or longer than ``MAX_RETRY_WAIT``.
    """

    delay: timedelta | None = None

    def __init__(self, delay: timedelta | None = None, reason: str = "retry") -> None:
        super().__init__(reason)
        self.delay = None if delay is None else checked_wait(delay, MAX_RETRY_WAIT)


def checked_wait(delay: timedelta, longest: timedelta = MAX_WAIT) -> timedelta:
    """Return ``delay`` if a received job can be kept back for that long.

    Raises:
        ValueError: naming the value, the limit and the remedy.
    """
    if not timedelta(0) <= delay <= longest:
        raise ValueError(
            f"a wait of {delay} is outside 0..{longest}: SQS keeps a received message invisible for at most 12 h, and "
            "the delay machine a job for at most a year. Choose a shorter delay, or publish a new job for later."
        )
    return delay
