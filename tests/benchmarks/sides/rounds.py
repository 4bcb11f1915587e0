"""Interleaved rounds and paired ratios.

A machine's speed drifts by tens of percent within minutes, so two numbers compare only if they were taken side by side:
every round runs all sides once, in a new order, and a ratio is formed within each round.
"""

import random
from collections.abc import Callable, Mapping

Samples = dict[str, list[float]]


def interleaved(sides: Mapping[str, Callable[[], float]], rounds: int) -> Samples:
    """Run every side once per round, in shuffled order; the first round only warms up and is dropped."""
    shuffle = random.Random(1).shuffle
    samples: Samples = {name: [] for name in sides}
    for number in range(rounds + 1):
        order = list(sides)
        shuffle(order)
        for name in order:
            seconds = sides[name]()
            if number:
                samples[name].append(seconds)
    return samples


def ratios(samples: Samples, what: str, against: str) -> list[float]:
    """The ratio of two sides in each round, sorted."""
    return sorted(a / b for a, b in zip(samples[what], samples[against], strict=True))
