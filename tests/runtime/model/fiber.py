"""A worker that can be stopped at any point of its code and go on later, or never.

Threads that hand the turn to one another: exactly one runs at any time, so an episode is as repeatable as its choices.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

_idle: "SimpleQueue[_Carrier]" = SimpleQueue()


class _Carrier:
    """A thread that runs one fiber after the other: starting a thread for each would cost more than the fiber."""

    def __init__(self) -> None:
        self.work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._serve, name="model-worker", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.work.get()()


class Fiber:
    """Args: what to run. Nothing happens before the first ``resume``."""

    def __init__(self, body: Callable[[], None]) -> None:
        self._body = body
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._carrier: _Carrier | None = None
        self.finished = False

    def resume(self) -> None:
        """Run until the fiber pauses or ends."""
        if self._carrier is None:
            self._carrier = _Carrier() if _idle.empty() else _idle.get()
            self._carrier.work.put(self._run)
        else:
            self._go.release()
        self._back.acquire()
        if self.finished:
            _idle.put(self._carrier)

    def pause(self) -> None:
        """Called inside the fiber: give the turn back."""
        self._back.release()
        self._go.acquire()

    def _run(self) -> None:
        try:
            self._body()
        finally:
            self.finished = True
            self._back.release()
