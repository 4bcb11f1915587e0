"""The result: one row per comparison. Never a bare time, which would only say how fast this machine is today."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

HEADER = ("goal", "what", "against", "measured", "middle half", "goal is", "")


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        goal: its number.
        what, against: the two sides, or the thing counted.
        values: the ratio of each round, or one exact count.
        limit: reached if the median is at most this; None: shown for comparison, it is no goal.
        missing: why the side could not be run.
    """

    goal: int
    what: str
    against: str
    values: Sequence[float] = ()
    limit: float | None = None
    missing: str = ""

    @property
    def reached(self) -> bool | None:
        """None if there is no goal or no measurement."""
        return None if self.limit is None or not self.values else median(self.values) <= self.limit

    def cells(self) -> tuple[str, ...]:
        is_count = self.against == ""
        measured = "" if not self.values else _number(median(self.values), is_count)
        spread = ""
        if len(self.values) > 1:
            low, _, high = quantiles(self.values, n=4, method="inclusive")
            spread = f"{_number(low, is_count)} to {_number(high, is_count)}"
        goal = "" if self.limit is None else "<= " + _number(self.limit, is_count)
        verdict = self.missing or {True: "reached", False: "MISSED", None: "for comparison"}[self.reached]
        return (str(self.goal), self.what, self.against or "(count)", measured, spread, goal, verdict)


def _number(value: float, is_count: bool) -> str:
    return f"{value:.0f}" if is_count else f"{value:.3f} x"


def render(rows: Sequence[Row]) -> str:
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])
