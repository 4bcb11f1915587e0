"""``python -m tests.benchmarks [--quick] [--goal N ...] [--runtime DIR]``: measure, then print one table.

The exit code says only whether everything could be measured: ratios of a shared machine are reported, not asserted.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from . import artifact, cold_start, registry, sdk, warm
from .child import BenchmarkError
from .project import RUNTIME, Workshop
from .scale import FULL, QUICK, Scale
from .table import Row, render

Benchmark = Callable[[Workshop, Scale], list[Row]]

BENCHMARKS: dict[int, Benchmark] = {
    1: cold_start.start,
    2: cold_start.discovery,
    3: artifact.unpacked,
    4: sdk.clients,
    5: warm.messages,
    6: registry.growth,
}


def measure(goals: Sequence[int], scale: Scale, runtime: Path) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        workshop = Workshop(Path(folder).resolve(), runtime)
        for goal in goals:
            print(f"measuring goal {goal} ...", file=sys.stderr, flush=True)
            rows += BENCHMARKS[goal](workshop, scale)
    return rows


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Performance goals as ratios.")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, not how fast")
    parser.add_argument("--goal", type=int, action="append", choices=BENCHMARKS, help="only this goal (repeatable)")
    parser.add_argument("--runtime", type=Path, default=RUNTIME, help="another copy of the runtime, to try a change")
    options = parser.parse_args(arguments)
    try:
        rows = measure(options.goal or list(BENCHMARKS), QUICK if options.quick else FULL, options.runtime)
    except BenchmarkError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    print(render(rows))
    print(
        "\nMedians over interleaved rounds; each ratio is formed within one round, so the machine's speed cancels out."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
