"""Jobs for the worker: what they did, and when, stands in a journal; their effect is counted in the ledger's table."""
# mypy: ignore-errors
# Its imports lead somewhere only in the generated project, whose own checks cover it.

import json
import os
import time
from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext, fixed


class Labour(BaseModel):
    label: str
    journal: str
    table: str
    seconds: float = 0.0
    hang_first: bool = False  # the first run stands still and never comes back
    crash_first: bool = False
    fail_first: bool = False


class Working(Job[Labour, None]):
    name = "working.thread"
    workload = "calendar"
    retry = fixed(timedelta(seconds=1), max_attempts=5)
    stall_after = timedelta(seconds=2)
    max_crashes = 9  # its process is killed for no fault of its own

    def run(self, args: Labour, ctx: JobContext) -> None:
        note(args, ctx, "start")
        if args.hang_first and not seen_before(args):
            time.sleep(3600)
        if args.fail_first and ctx.attempt == 1:
            raise OSError
        end = time.time() + args.seconds
        while (left := end - time.time()) > 0:
            ctx.progress(round((args.seconds - left) * 10), round(args.seconds * 10))
            time.sleep(min(0.2, left))
        if args.crash_first and not seen_before(args):
            os.abort()
        ctx.commit(ctx.update(args.table, {"pk": f"effect {args.label}"}, "ADD applied :one", values={":one": 1}))
        note(args, ctx, "end")


class WorkingApart(Working):
    name = "working.process"
    isolate = "process"


def note(args: Labour, ctx: JobContext, what: str) -> None:
    entry = {"what": what, "label": args.label, "at": time.time(), "pid": os.getpid(), "attempt": ctx.attempt}
    with open(args.journal, "a") as file:
        file.write(json.dumps(entry) + "\n")


def seen_before(args: Labour) -> bool:
    """Whether an earlier run has begun."""
    with open(args.journal) as file:
        return sum(json.loads(line)["label"] == args.label for line in file) > 1
