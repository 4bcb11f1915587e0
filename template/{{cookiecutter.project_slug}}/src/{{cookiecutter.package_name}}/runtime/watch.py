"""One message that a worker has in hand: how long it may keep it, and what the running job has to be told.

A message is kept by two clocks that end together: the visibility timeout in SQS and the lease in the ledger. Both begin
when the message is received, and only the job's own progress starts them again (``heartbeat``). A timer never does: it
would keep a job that hangs for as long as its process lives.

A run ends in exactly one of two ways. Either it comes back by itself, and then its slot settles the message; or it is
let go, because it hangs or its worker has to end, and whatever it does later does not count: nothing is settled, and
the ledger refuses its writes as soon as somebody else owns the job.
"""

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from .execute import JobStalled, JobTimeout, wake
from .ledger import LostClaimError
from .outcome import Defer

if TYPE_CHECKING:
    from .delivery import Delivery
    from .engine import Run

# The lease in the ledger ends that much before the message can be seen again: whoever receives it then finds it free.
MARGIN_SECONDS, MARGIN_SHARE = 1.0, 0.1
# SQS hides a message for at most 12 h counted from the receive ("Amazon SQS visibility timeout"); a minute of it is
# left to settle it.
LONGEST_SECONDS = 12 * 3600 - 60
GRACE_SECONDS, GRACE_SHARE = 5.0, 0.1  # for a job that was told to stop, before its slot is given up


class Watch(Protocol):
    """What the engine asks of whoever keeps a message in hand while its job runs."""

    @property
    def lease(self) -> timedelta:
        """How long a claim that is made now holds."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether no job should be started any more, and a running one should come to an end."""
        ...

    def execute(self, run: "Run", call: Callable[[], Any]) -> Any:
        """Call it, watched."""
        ...

    def progress(self, done: int, total: int) -> None:
        """The job is that far."""
        ...

    def check(self) -> None:
        """Raises what the job has to know: LostClaimError, JobStalled or JobTimeout."""
        ...


class State(StrEnum):
    HELD = "held"
    OVER = "over"  # the job's code has ended; the slot settles the message
    LET_GO = "let go"


class Held:
    """One message in hand; the ``Watch`` of its run.

    Args:
        delivery: the message.
        lease: what the worker asks of SQS and of the ledger, in seconds.
        received_at: when SQS handed it out, by the monotonic clock.
        stopping: whether the worker has to end.
        behind: messages of the same FIFO group that wait for this one; they are kept as long as it is.
    """

    def __init__(
        self,
        delivery: "Delivery",
        lease: float,
        received_at: float,
        stopping: Callable[[], bool] = lambda: False,
        behind: "Sequence[Delivery]" = (),
    ) -> None:
        self.delivery, self.behind = delivery, behind
        self.seconds = lease
        # Held while the clocks are renewed: never after the message was settled. Its owner may take it again (``end``).
        self.lock = threading.RLock()
        self.state = State.HELD
        self.run: Run | None = None
        self.received_at = received_at
        self.visible_at = received_at + lease
        self.started_at = self.moved_at = time.monotonic()
        self.renewed_at = received_at
        self.position: tuple[int, int] | None = None
        self.renewed_position: tuple[int, int] | None = None
        self.ends_at: float | None = None  # the job's own limit
        self.told_at: float | None = None  # when it was told that it has stalled
        self.fault: type[BaseException] | None = None
        self._worker_stopping = stopping
        self._thread: int | None = None
        self._interrupted = False

    # What the engine asks.

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=max(0.0, self.visible_at - time.monotonic() - self.margin))

    @property
    def stopping(self) -> bool:
        return self.fault is not None or self._worker_stopping()

    def execute(self, run: "Run", call: Callable[[], Any]) -> Any:
        try:
            with self.lock:
                if self.state is not State.HELD:
                    raise LostClaimError("the message was let go before its job began")
                if self.fault is not None:  # to claim it took so long that its time was over
                    raise Defer(timedelta(0), "not_started")
                self.begin(run)
                self._thread = threading.get_ident()
            return call()
        finally:
            self.end()

    def progress(self, done: int, total: int) -> None:
        if (done, total) != self.position:
            self.position, self.moved_at = (done, total), time.monotonic()

    def check(self) -> None:
        if self.fault is not None:
            raise self.fault(_TEXTS[self.fault])
        if self.ends_at is not None and time.monotonic() > self.ends_at:
            raise JobTimeout(_TEXTS[JobTimeout])

    # What the worker and its heartbeat ask.

    @property
    def margin(self) -> float:
        return min(MARGIN_SECONDS, self.seconds * MARGIN_SHARE)

    @property
    def stall_seconds(self) -> float:
        """How long the job may go without progress: never longer than the lease, which ends without it."""
        longest = self.seconds - self.margin
        after = self.run.job.stall_after if self.run is not None else None
        return longest if after is None else min(longest, after.total_seconds())

    @property
    def stalled_at(self) -> float:
        """When it will have gone too long without progress. At the latest when SQS would not hide it any longer."""
        return min(self.moved_at + self.stall_seconds, self.visible_at - self.margin, self.last_moment)

    @property
    def last_moment(self) -> float:
        """When even renewals come to their end."""
        return self.received_at + LONGEST_SECONDS - self.margin

    @property
    def lets_go_at(self) -> float | None:
        """When a job that was told to stop, and has not, is let go."""
        return None if self.told_at is None else self.told_at + min(GRACE_SECONDS, self.seconds * GRACE_SHARE)

    def begin(self, run: "Run") -> None:
        """The job's code begins. Under the lock."""
        self.run = run
        self.started_at = self.moved_at = time.monotonic()
        self.ends_at = None if run.limit is None else self.started_at + run.limit

    def renewed(self, at: float, position: tuple[int, int] | None) -> None:
        """Both clocks were started again."""
        self.visible_at, self.renewed_at = at + self.seconds, at
        self.renewed_position = position

    def end(self) -> bool:
        """The job's code has ended. False if it was let go before: then the message is not its slot's any more."""
        while True:
            # An interruption may strike anywhere until it is taken back under the lock; each strikes once. It may do so
            # when the lock was just taken, which a `with` cannot guard from Python 3.14 on: so take it again.
            try:
                self.lock.acquire()
                if self._interrupted and self._thread is not None:
                    _raise_in(self._thread, None)
                self._thread, self._interrupted = None, False
                if self.state is State.HELD:
                    self.state = State.OVER
                ended_by_itself = self.state is not State.LET_GO
            except (JobStalled, JobTimeout, LostClaimError):
                continue
            while self.lock._is_owned():  # type: ignore[attr-defined]
                self.lock.release()
            return ended_by_itself

    def let_go(self) -> bool:
        """Give the message up while its job still runs. False if the job has just ended by itself. Under the lock."""
        if self.state is not State.HELD:
            return False
        self.state = State.LET_GO
        self.fault = LostClaimError
        return True

    def tell(self, fault: type[BaseException]) -> None:
        """Raise an exception in the job: at its next call of the context, and in the middle of its Python code. C code
        (a sleep, a socket, a query) has to come back first, as with a signal. Under the lock.

        Only while the job's own code runs: from before its first line until ``end``, so that it never strikes the
        runtime.
        """
        if self.fault is not LostClaimError:
            self.fault = fault
        if self._thread is not None:
            self._interrupted = True
            _raise_in(self._thread, self.fault)
            wake(self._thread)


_TEXTS: dict[type[BaseException], str] = {
    LostClaimError: "the worker has given this job up, or another owner took it over",
    JobStalled: "no progress for too long",
    JobTimeout: "the job ran longer than its soft limit",
}


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """CPython C API, "PyThreadState_SetAsyncExc"; None takes back what has not struck yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object() if error is None else ctypes.py_object(error)
    )
