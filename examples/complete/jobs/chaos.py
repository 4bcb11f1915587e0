"""For the demo only: a process that dies in the middle of its work, as one that runs out of memory does."""

import os
import signal

from ..runtime import JobContext


def strike_on_first_attempt(ctx: JobContext) -> None:
    """End this process with `kill -9` if this is the job's first attempt. Nothing gets a chance to clean up."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
