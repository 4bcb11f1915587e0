"""The demo's accounting: an end counts when there is proof of it."""

from __future__ import annotations

import json

import pytest

from tests.local_aws.stack import DeadLetter

from .tally import Tally

JOB = "job-1"


def tally(*outcomes: str, lettered: int = 0, parked: bool = False) -> Tally:
    found = Tally()
    found.add_jobs("calls", [JOB])
    found.lines = [{"job_id": JOB, "outcome": outcome} for outcome in outcomes]
    body = json.dumps({"id": JOB})
    found.letters = [DeadLetter("calls", f"m-{number}", body, {}, None) for number in range(lettered)]
    found.parked = [{"id": JOB, "workload": "calls"}] if parked else []
    return found


@pytest.mark.parametrize("outcomes", [(), ("retry",), ("defer", "retry")])
def test_a_job_under_way_is_open(outcomes: tuple[str, ...]) -> None:
    assert tally(*outcomes).unsettled() == {JOB}
    assert tally(*outcomes).ends() == {"unaccounted for": 1}


def test_a_dead_job_is_accounted_for_by_its_letter() -> None:
    assert tally("dead").unsettled() == {JOB}
    assert tally("dead", parked=True).unsettled() == {JOB}
    assert tally("dead", lettered=1).unsettled() == set()


def test_a_parked_job_is_accounted_for_by_its_record() -> None:
    assert tally("parked").unsettled() == {JOB}
    assert tally("parked", lettered=1).unsettled() == {JOB}
    assert tally("parked", parked=True).unsettled() == set()


def test_a_second_delivery_of_a_finished_job_changes_nothing() -> None:
    found = tally("retry", "succeeded", "duplicate")
    assert found.unsettled() == set()
    assert found.ends() == {"succeeded after retries": 1}
    assert (found.delivered_again(), found.ran_again()) == (1, [])
    assert tally("succeeded", "succeeded").ran_again() == [JOB]


def test_a_job_whose_process_died_before_its_line_is_known_by_its_second_delivery() -> None:
    assert tally("duplicate").unsettled() == set()


def test_two_letters_of_one_job_are_one_dead_job() -> None:
    (row,) = tally("dead", "dead", lettered=2).rows()
    assert (row.dead, row.parked) == (1, 0)
    (row,) = tally("parked", parked=True).rows()
    assert (row.dead, row.parked) == (0, 1)
