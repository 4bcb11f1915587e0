"""Run one job's code: plain or async, under a soft time limit, with nothing left unrun.

Async jobs of one process share one event loop, so that clients and locks kept at module level live on from invocation
to invocation (``asyncio.run`` would close the loop after each).
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable

ALARM_GRACE_SECONDS = 0.25  # an async job is stopped by its loop; the signal is for one that blocks the loop


class JobTimeout(BaseException):
    """Raised inside a job when its soft limit is over. Not an ``Exception``, so that the job's own ``except Exception``
    lets it pass.
    """


class NotAwaitedError(Exception):
    """``run`` returned a generator: its body was never executed, so the job must not count as done."""


def execute(run: Callable[[], Any], limit: float | None) -> Any:
    """Call ``run`` and return its result; await it if it is awaitable.

    Args:
        run: the bound job.
        limit: seconds until ``JobTimeout`` is raised inside it, or None. It cannot interrupt C code, and needs the main
            thread.

    Raises:
        BaseException: whatever the job raises, or JobTimeout.
    """
    with _soft_limit(limit):
        result = run()
    if hasattr(result, "__await__"):
        with _soft_limit(None if limit is None else limit + ALARM_GRACE_SECONDS):
            return _await(result, limit)
    if hasattr(result, "__next__") or hasattr(result, "__anext__"):
        raise NotAwaitedError(f"run returned a {type(result).__name__}; nothing of it was executed")
    return result


@contextmanager
def _soft_limit(limit: float | None) -> Iterator[None]:
    if limit is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: object) -> None:  # noqa: ARG001
        raise JobTimeout(f"the job ran longer than its soft limit of {limit:.3f} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(limit, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


_loop: "asyncio.AbstractEventLoop | None" = None


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

    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
    loop = _loop
    if asyncio._get_running_loop() is None:
        return _drive(loop, limited())
    # Called from inside somebody's running loop (a notebook, an async test): ours cannot run in the same thread.
    return _in_thread(lambda: _drive(loop, limited()))


def _drive(loop: "asyncio.AbstractEventLoop", coroutine: Any) -> Any:
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    finally:
        if not task.done():  # the signal struck inside the loop itself: let the job's own cleanup run, then drop it
            task.cancel()
            with suppress(BaseException):
                loop.run_until_complete(task)


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
