"""How much is measured: in full, or just enough to see that every benchmark runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Attributes:
    process_rounds: rounds in which each side is a whole process.
    warm_rounds: rounds inside one process.
    types: numbers of job types: few, many, very many.
    """

    process_rounds: int
    warm_rounds: int
    types: tuple[int, int, int]


FULL = Scale(process_rounds=21, warm_rounds=31, types=(15, 280, 10_000))
QUICK = Scale(process_rounds=1, warm_rounds=2, types=(15, 20, 30))
