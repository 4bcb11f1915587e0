"""Delays: who keeps a job until its time.

``plan`` decides when a job is published, and refuses what nobody could honour: nothing is cut short in silence, and no
job is ever early. Up to 900 s SQS itself waits, longer the stack's delay machine (``delay_machine``).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MAX_QUEUE_DELAY = timedelta(seconds=900)  # SQS API "SendMessage": DelaySeconds 0 to 900, and none per message on FIFO
# Step Functions developer guide, "Quotas for Standard Workflows": an execution lasts at most one year. A day of it is
# left to the delivery and its retries.
MAX_AHEAD = timedelta(days=364)


class DelayRefusedError(ValueError):
    """A delay that cannot be honoured. The text names the value, the rule and the remedy."""


@dataclass(frozen=True, slots=True)
class Now:
    """No delay."""


@dataclass(frozen=True, slots=True)
class DelaySeconds:
    """Straight to the queue, which keeps the message back."""

    seconds: int


@dataclass(frozen=True, slots=True)
class NotBefore:
    """Through the topic; the consumer puts the message back until then. For queues that are FIFO or not known here."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Machine:
    """Through the delay machine. ``at`` is a whole second."""

    at: datetime


Plan = Now | DelaySeconds | NotBefore | Machine


def plan(
    *,
    now: datetime,
    delay: timedelta | None = None,
    at: datetime | None = None,
    ttl: timedelta | None = None,
    fifo: bool = False,
    queue_known: bool = True,
    machine_known: bool = False,
) -> Plan:
    """Choose who keeps a job until its time.

    Args:
        now: the time of publishing; aware.
        delay: so long from now.
        at: at that time; aware. A time that is past means now. One that the clocks show twice is told apart by its
            ``fold``, as Python does.
        ttl: the job's deadline, counted from now.
        fifo: the workload's queue is FIFO.
        queue_known: its URL is known here.
        machine_known: the stack has a delay machine for the workload. If it has one and no queue, it is a direct
            workload, and the machine keeps short delays, too.

    Raises:
        DelayRefusedError: the value is no delay, or nobody here could honour it.
    """
    wait = _wait(now, delay, at)
    chosen: Plan
    if wait == timedelta(0):
        chosen, starts = Now(), wait
    elif wait <= MAX_QUEUE_DELAY and (queue_known or fifo or not machine_known):
        if fifo or not queue_known:
            chosen, starts = NotBefore(now.astimezone(UTC) + wait), wait
        else:
            chosen = DelaySeconds(_whole_seconds(wait))
            starts = timedelta(seconds=chosen.seconds)
    elif wait > MAX_AHEAD:
        raise DelayRefusedError(
            f"{_asked(delay, at)} is more than {MAX_AHEAD.days} days ahead; the delay machine waits at most a year "
            "(Step Functions). Publish the job later, for example from a schedule."
        )
    elif not machine_known:
        raise DelayRefusedError(
            f"{_asked(delay, at)} is {wait} ahead; SQS keeps a message back for at most {MAX_QUEUE_DELAY}, and the "
            "stack has no delay machine for this workload. Set `delay = true` on the workload in Terraform, or let a "
            "schedule publish the job."
        )
    else:
        chosen = Machine(whole_second_after(now.astimezone(UTC) + wait))
        starts = chosen.at - now
    if ttl is not None and starts >= ttl:
        raise DelayRefusedError(
            f"{_asked(delay, at)} lets the job start {starts} from now, which is not shorter than its ttl of {ttl}; it "
            "could never run"
        )
    return chosen


def check_payload_lasts(wait: timedelta, longest: timedelta | None) -> None:
    """For a job whose payload is in S3: the lifecycle rule must not be faster than the delay.

    Args:
        wait: the delay.
        longest: what the bucket's expiration allows beyond the life of a message; None if the stack does not say.

    Raises:
        DelayRefusedError: the payload would be gone when the job starts.
    """
    if longest is not None and wait > longest:
        raise DelayRefusedError(
            f"a delay of {wait} for a job whose payload is in S3: the claim-check bucket keeps payloads long enough "
            f"for {longest} only. Raise its expiration in Terraform, or store the data yourself and pass a reference."
        )


def _wait(now: datetime, delay: object, at: object) -> timedelta:
    if delay is not None and at is not None:
        raise DelayRefusedError(f"delay={delay!r} and at={at!r}: give one of them")
    if delay is not None:
        if not isinstance(delay, timedelta):
            raise DelayRefusedError(f"delay={delay!r} is no timedelta; write timedelta(seconds=...)")
        if delay < timedelta(0):
            raise DelayRefusedError(f"delay={delay!s} is negative; leave it out if the job may start at once")
        return delay
    if at is None:
        return timedelta(0)
    return max(_utc(at) - now.astimezone(UTC), timedelta(0))


def _utc(at: object) -> datetime:
    if not isinstance(at, datetime):
        raise DelayRefusedError(
            f"at={at!r} is no datetime; a day has no time of day: write datetime(..., tzinfo=...) for the moment you "
            "mean"
        )
    if at.tzinfo is None or at.utcoffset() is None:
        raise DelayRefusedError(
            f"at={at.isoformat()!r} has no time zone, so it is another moment on every machine; add tzinfo=UTC or "
            'tzinfo=ZoneInfo("...")'
        )
    try:
        moment = at.astimezone(UTC)
        shown = moment.astimezone(at.tzinfo).replace(tzinfo=None)
    except (OverflowError, ValueError) as error:
        raise DelayRefusedError(f"at={at.isoformat()!r} is outside the calendar ({error})") from error
    if shown != at.replace(tzinfo=None):
        # There and back gives another time of day: the clocks were put forward over it.
        raise DelayRefusedError(
            f"at={at.isoformat()!r} never exists in {at.tzinfo}: the clocks are put forward over it, to "
            f"{shown.isoformat()}. Choose a time that the clocks show, or give the moment in UTC."
        )
    return moment


def _asked(delay: timedelta | None, at: datetime | None) -> str:
    return f"delay={delay!s}" if at is None else f"at={at.isoformat()!r}"


def _whole_seconds(wait: timedelta) -> int:
    """Rounded up: a job is never early."""
    return -(-wait // timedelta(seconds=1))


def whole_second_after(moment: datetime) -> datetime:
    """Rounded up: Step Functions cuts off what is behind the seconds ("Wait workflow state"), and a job is never
    early.
    """
    return moment if not moment.microsecond else moment.replace(microsecond=0) + timedelta(seconds=1)


def timestamp(moment: datetime) -> str:
    """The form that a Wait state takes: RFC 3339 with an upper-case T and Z, in whole seconds, rounded up."""
    return whole_second_after(moment.astimezone(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
