"""The cheap benchmarks run and produce every row. How fast anything is, is not asserted."""

import pytest

from .__main__ import measure
from .project import RUNTIME
from .scale import QUICK
from .table import Row, render

ROWS = {1: 6, 2: 3, 4: 2, 5: 4, 6: 4}  # of each goal; goal 3 compiles every package twice and is left to `make bench`
COUNTS = {  # exact whatever the machine does, so that they are asserted
    "SDK, asyncio, Powertools imported after a message",
    "reads of the SDK's endpoint table",
    "bytes of memory per unused job type",
}

pytestmark = pytest.mark.xdist_group("benchmarks")  # one process, so that everything is built once


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return measure(list(ROWS), QUICK, RUNTIME)


def test_every_goal_has_its_rows(rows: list[Row]) -> None:
    assert {goal: sum(row.goal == goal for row in rows) for goal in ROWS} == ROWS
    assert all(row.values or row.missing for row in rows)
    assert len(render(rows).splitlines()) == len(rows) + 2


def test_exact_counts_reach_their_goals(rows: list[Row]) -> None:
    counts = {row.what: row for row in rows if row.what in COUNTS}
    assert counts.keys() == COUNTS
    assert [row.cells() for row in counts.values() if not row.reached] == []
