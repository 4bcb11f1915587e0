"""The benchmarks run and produce every row. How fast anything is, is not asserted."""

import pytest

from .__main__ import BENCHMARKS, measure
from .project import RUNTIME
from .scale import QUICK
from .table import Row, render

COUNTED = {  # exact whatever the machine does, so that they are asserted
    "SDK, asyncio, Powertools imported after a message",
    "modules compiled up to the first message",
    "reads of the SDK's endpoint table",
    "bytes of memory per unused job type",
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return measure(list(BENCHMARKS), QUICK, RUNTIME)


def test_every_goal_has_its_rows(rows: list[Row]) -> None:
    assert {goal: sum(row.goal == goal for row in rows) for goal in BENCHMARKS} == {1: 6, 2: 3, 3: 3, 4: 2, 5: 4, 6: 3}
    assert all(row.values or row.missing for row in rows)
    assert len(render(rows).splitlines()) == len(rows) + 2


def test_exact_counts_reach_their_goals(rows: list[Row]) -> None:
    counts = {row.what: row for row in rows if row.what in COUNTED}
    assert counts.keys() == COUNTED
    assert [row.cells() for row in counts.values() if not row.reached] == []
