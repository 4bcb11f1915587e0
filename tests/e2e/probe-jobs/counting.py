"""Jobs whose effect can be counted: each adds one to an item of its own, in the transaction that completes it."""
# mypy: ignore-errors
# Its imports lead somewhere only in the generated project, whose own checks cover it.

import time
from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext, fixed


class Count(BaseModel):
    table: str
    label: str  # of the item that is counted up
    group: str = "none"
    work_seconds: float = 0.0
    fail_once: bool = False
    followed: bool = False


class FirstAttemptError(Exception):
    """What was asked for."""


class Counting(Job[Count, None]):
    retry = fixed(timedelta(seconds=1), max_attempts=12)
    max_crashes = 9  # its process is killed for no fault of its own
    log_fields = ("label",)
    follower = None

    def run(self, args: Count, ctx: JobContext) -> None:
        time.sleep(args.work_seconds)
        if args.fail_once and ctx.attempt == 1:
            raise FirstAttemptError(args.label)
        operations = [ctx.update(args.table, {"pk": args.label}, "ADD applied :one", values={":one": 1})]
        if args.followed:
            changes = {"label": f"{args.label}+", "followed": False, "fail_once": False, "work_seconds": 0.0}
            operations.append(ctx.follow_up(self.follower, args.model_copy(update=changes)))
        ctx.commit(*operations)


class StandardCounting(Counting):
    name = "counting.standard"
    workload = "calendar"


class StandardKeyed(StandardCounting):
    name = "counting.standard.keyed"
    key = "label"


class OrderedCounting(Counting):
    name = "counting.ordered"
    workload = "rollouts"
    group = staticmethod(lambda args: args.group)
    follower = StandardCounting


class OrderedKeyed(OrderedCounting):
    name = "counting.ordered.keyed"
    key = "label"


# Across the two kinds of queue, through the topic that the other one reads.
StandardCounting.follower = OrderedCounting
