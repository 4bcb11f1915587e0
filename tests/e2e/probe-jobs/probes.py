"""Jobs that fail as their payload says. Copied into the generated project; they are its code, not this repository's."""
# mypy: ignore-errors
# Its imports lead somewhere only in the generated project, whose own checks cover it.

import hashlib
import os
import signal
from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext, Permanent, Retry, fixed


class Instructions(BaseModel):
    label: str
    group: str = "none"
    fail_attempts: int = 0
    permanent: bool = False
    kill_on_attempt: int = 0
    come_back_after_hours: int = 0
    follow_up: bool = False
    padding: str = ""  # makes it large


class BrokenError(Exception):
    """What was asked for."""


class Probe(Job[Instructions, str | None]):
    retry = fixed(timedelta(seconds=1), max_attempts=4)
    log_fields = ("label", "group")

    def run(self, args: Instructions, ctx: JobContext) -> str | None:
        if ctx.attempt == args.kill_on_attempt:
            os.kill(os.getpid(), signal.SIGKILL)
        if args.permanent:
            raise Permanent("asked_to")
        if ctx.attempt == 1 and args.come_back_after_hours:
            raise Retry(timedelta(hours=args.come_back_after_hours), reason="closed_today")
        if ctx.attempt <= args.fail_attempts:
            raise BrokenError(args.label)
        if args.follow_up:
            ctx.enqueue(type(self), Instructions(label="follow-up"))
        return hashlib.sha256(args.padding.encode()).hexdigest() if args.padding else None


class StandardProbe(Probe):
    name = "probes.standard"
    workload = "calendar"


class PatientProbe(Probe):
    name = "probes.patient"
    workload = "webhooks"  # it has a delay machine


class OrderedProbe(Probe):
    name = "probes.ordered"
    workload = "rollouts"
    group = staticmethod(lambda args: args.group)


class EmailProbe(Probe):
    name = "probes.email"
    workload = "email"


class DirectProbe(Probe):
    name = "probes.direct"
    workload = "alerts"  # a topic invokes its function, without a queue


class MovingProbe(Probe):
    name = "probes.moving"
    workload = "calendar"  # until a test moves it to "calls"
