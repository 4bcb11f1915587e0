"""Run one job's code: plain or async, under a soft time limit, with nothing left unrun.

Async jobs of one thread share one event loop, so that clients and locks kept at module level live on from invocation
to invocation (``asyncio.run`` would close the loop after each). On Lambda that is one loop per process; a worker with
several slots has one for each, and what belongs to a loop cannot be shared between its jobs.
"""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable

ALARM_GRACE_SECONDS = 0.25  # an async job is stopped by its loop; the signal is for one that blocks the loop


CANCEL_GRACE_SECONDS = 1.0  # for the cleanup of a task that a job left behind


class JobTimeout(BaseException):
    """Raised inside a job when its soft limit is over. Not an ``Exception``, so that the job's own ``except Exception``
    lets it pass.
    """


class JobStalled(BaseException):
    """Raised inside a job of a worker that has made no progress for too long (``Job.stall_after``)."""


class NotAwaitedError(Exception):
    """``run`` returned a generator, or something still to be awaited: it was never executed, so the job is not done."""


def execute(run: Callable[[], Any], limit: float | None) -> Any:
    """Call ``run`` and return its result; await it if it is awaitable.

    Args:
        run: the bound job.
        limit: seconds until ``JobTimeout`` is raised inside it, or None. It cannot interrupt C code. A job that is not
            async needs the main thread for it, or somebody who watches (``watch.Held``).

    Raises:
        BaseException: whatever the job raises, or JobTimeout.
    """
    armed = _arm(limit)
    try:
        result = run()
    finally:
        if armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if result is None:
        return None
    if hasattr(result, "__await__"):
        armed = _arm(None if limit is None else limit + ALARM_GRACE_SECONDS)
        try:
            result = _await(result, limit)
        finally:
            if armed:
                signal.setitimer(signal.ITIMER_REAL, 0)
    if any(hasattr(result, method) for method in ("__await__", "__next__", "__anext__")):
        raise NotAwaitedError(f"run returned a {type(result).__name__}; nothing of it was executed")
    return result


def _stop(signum: int, frame: object) -> None:  # noqa: ARG001
    raise JobTimeout("the job ran longer than its soft limit")


def _arm(limit: float | None) -> bool:
    """Start the clock of a soft limit, where signals can keep it. The handler stays from job to job: setting it costs
    more than all the rest of a message's path, looking whether a job has replaced it does not.
    """
    if limit is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGALRM) is not _stop:
        signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, max(limit, 0.001))
    return True


_loops: "dict[int, asyncio.AbstractEventLoop]" = {}  # by thread


def _await(awaitable: "Awaitable[Any]", limit: float | None) -> Any:
    import asyncio

    async def limited() -> Any:
        try:
            async with asyncio.timeout(limit) as scope:
                return await awaitable
        except TimeoutError as error:
            if scope.expired():
                raise JobTimeout(f"the job ran longer than its soft limit of {limit} s") from error
            raise

    thread = threading.get_ident()
    loop = _loops.get(thread)
    if loop is None or loop.is_closed():
        loop = _loops[thread] = asyncio.new_event_loop()
    try:
        if asyncio._get_running_loop() is None:
            return _drive(loop, limited())
        # Called from inside somebody's running loop (a notebook, an async test): ours cannot run in the same thread.
        return _in_thread(lambda: _drive(loop, limited()))
    finally:
        if asyncio.all_tasks(loop):
            _loops.pop(thread, None)  # a task that refuses to end is left on this loop, which never runs again


def wake(thread: int) -> None:
    """Let the event loop of a thread look around, if it runs: an exception that was raised in a thread from outside
    does not strike while the loop waits for the operating system.
    """
    loop = _loops.get(thread)
    if loop is not None:
        with suppress(RuntimeError):  # it was closed
            loop.call_soon_threadsafe(lambda: None)


def _drive(loop: "asyncio.AbstractEventLoop", coroutine: Any) -> Any:
    """Run one job to its end, and end with it what it left behind: a task that goes on would run in its neighbour's
    time.
    """
    import asyncio

    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    finally:
        left = asyncio.all_tasks(loop)  # the job itself is among them if the signal struck inside the loop
        for pending in left:
            pending.cancel()
        if left:
            with suppress(BaseException):
                loop.run_until_complete(asyncio.wait(left, timeout=CANCEL_GRACE_SECONDS))
        for ended in (task, *left):
            if ended.done() and not ended.cancelled():
                ended.exception()  # looked at, or the loop would print its text when it is collected


def _in_thread(call: Callable[[], Any]) -> Any:
    outcome: list[Any] = []

    def target() -> None:
        try:
            outcome.extend((call(), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=target, name="jobs-event-loop")
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result
