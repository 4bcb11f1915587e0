"""How much time a consumer has for the messages it holds."""

from collections.abc import Callable

RESERVE_SHARE = 0.1
RESERVE_SECONDS = (0.5, 5.0)


class Budget:
    """The time of one Lambda invocation, less a reserve for settling what was run.

    A timeout gives a function no chance to clean up: nothing may be started that cannot be finished and settled.

    Args:
        remaining: seconds until the function is killed.
    """

    def __init__(self, remaining: Callable[[], float]) -> None:
        at_start = remaining()
        low, high = RESERVE_SECONDS
        self._remaining = remaining
        self._reserve = min(high, max(low, at_start * RESERVE_SHARE))
        self.whole = at_start - self._reserve
        self.runs = 0

    def left(self) -> float:
        """Seconds that jobs may still use."""
        return self._remaining() - self._reserve

    def until_killed(self) -> float:
        """Seconds until the function is killed, reserve included; 0 or less counts as none left, not as no limit."""
        return max(0.0, self._remaining())

    def allows(self, needed: float) -> bool:
        """Whether a job that takes ``needed`` seconds may start. The first always may: it will never have more time
        than now.
        """
        return self.runs == 0 or self.left() > min(needed, self.whole)
