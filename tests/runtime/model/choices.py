"""Random choices that can be repeated and made smaller.

Every decision of a test episode is drawn from one list of numbers. 0 always means the harmless alternative, and a list
that has come to its end goes on with zeros: so any shorter or smaller list is an episode too, and a failing one can be
reduced by deleting parts of its list.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
SCALE = 1000


class Choices:
    """Args: a seed, or a list drawn before."""

    def __init__(self, seed: int | str | None = None, replay: Sequence[int] | None = None) -> None:
        self._random = None if replay is not None else Random(seed)
        self._replay = list(replay or ())
        self.drawn: list[int] = []
        self.quiet = False

    def _draw(self) -> int:
        if self.quiet:
            return 0
        if self._random is not None:
            number = self._random.randrange(SCALE)
        else:
            number = self._replay[len(self.drawn)] if len(self.drawn) < len(self._replay) else 0
        self.drawn.append(number)
        return number

    def chance(self, share: float) -> bool:
        """True in that share of the cases."""
        return self._draw() >= SCALE * (1 - share)

    def pick(self, first: T, *others: T) -> T:
        """One of several, equally likely; ``first`` is the harmless one."""
        options = (first, *others)
        return options[self._draw() * len(options) // SCALE]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of several with whole-number weights; the first is the harmless one."""
        number = self._draw() * sum(weight for weight, _ in options) // SCALE
        for weight, option in options:
            if number < weight:
                return option
            number -= weight
        return options[-1][1]


def reduced(numbers: Sequence[int], fails: Callable[[Sequence[int]], bool], attempts: int) -> list[int]:
    """A shorter list for which ``fails`` is still true, found within so many attempts."""
    best = list(numbers)
    size = max(1, len(best) // 2)
    while attempts > 0:
        start, improved = 0, False
        while start < len(best) and attempts > 0:
            for candidate in (best[:start] + best[start + size :], _zeroed(best, start, size)):
                attempts -= 1
                if candidate != best and fails(candidate):
                    best, improved = candidate, True
                    break
            start += size
        if size == 1 and not improved:
            break
        size = max(1, size // 2)
    while best and best[-1] == 0:
        best.pop()
    return best


def _zeroed(numbers: list[int], start: int, size: int) -> list[int]:
    return numbers[:start] + [0] * len(numbers[start : start + size]) + numbers[start + size :]
