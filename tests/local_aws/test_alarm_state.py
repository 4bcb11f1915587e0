"""The rules by which the local AWS decides whether an alarm is on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from .alarm_state import Series, Value, calculate, state

NOW = 1_800_000_030.0
LAST = 1_800_000_000  # start of the minute that NOW is in
X = None  # no data


def minutes(*values: float | None) -> Series:
    """The last value is of this minute."""
    first = LAST - 60 * (len(values) - 1)
    return {first + 60 * position: value for position, value in enumerate(values) if value is not None}


def state_with(data: Mapping[str, Series], **alarm: Any) -> str:
    def read(metric: Mapping[str, Any], first: int, end: int) -> Series:
        found = data.get(str(metric["MetricName"]), {})
        return {start: value for start, value in found.items() if first <= start < end}

    defaults = {
        "MetricName": "m",
        "Statistic": "Maximum",
        "Period": 60,
        "Threshold": 5,
        "ComparisonOperator": "GreaterThanThreshold",
        "StateValue": "OK",
    }
    return state({**defaults, **alarm}, NOW, read)


@pytest.mark.parametrize(
    ("values", "m_of_n", "expected"),
    [
        ([6], (1, 1), "ALARM"),
        ([5], (1, 1), "OK"),
        ([6, X], (1, 1), "OK"),  # too old
        ([6, X, 6, X, 6], (3, 5), "ALARM"),
        ([6, X, X, X, 6], (3, 5), "OK"),
        ([6, 6, 6, 0, 0], (3, 5), "ALARM"),
        ([6, 6, 6, 0, 0, 0], (3, 5), "OK"),  # over: one of the three is out of sight
        ([X, X, X], (1, 3), "OK"),
    ],
)
def test_m_of_n(values: list[float | None], m_of_n: tuple[int, int], expected: str) -> None:
    needed, number = m_of_n
    found = state_with(
        {"m": minutes(*values)}, DatapointsToAlarm=needed, EvaluationPeriods=number, TreatMissingData="notBreaching"
    )
    assert found == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("notBreaching", "OK"), ("breaching", "ALARM"), ("ignore", "ALARM"), ("missing", "INSUFFICIENT_DATA")],
)
def test_nothing_but_missing_data(rule: str, expected: str) -> None:
    assert state_with({}, EvaluationPeriods=2, TreatMissingData=rule, StateValue="ALARM") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("m - DIFF(m)", minutes(1, 1)),
        ("IF(m - DIFF(m) > 0, DIFF(m), 0)", minutes(0, 2)),
        ("IF(m >= 3, 100 * n / m, 0)", minutes(0, 0, 400)),  # n has no value where it needs none
        ("IF(m < 2, n, 7)", minutes(7)),
        ("m + n", minutes(15)),
        ("m + FILL(n, 0)", minutes(1, 1, 15)),
        ("n / 0", {}),
        ("2 * 3", 6),
    ],
)
def test_metric_math(expression: str, expected: Value) -> None:
    assert calculate(expression, {"m": minutes(1, 1, 3), "n": minutes(12)}) == expected


def test_what_is_not_known_is_an_error_and_not_a_quiet_alarm() -> None:
    with pytest.raises(ValueError, match="not known here"):
        calculate("m and n", {"m": minutes(1), "n": minutes(1)})


def test_an_expression_looks_back_to_the_value_before() -> None:
    def query(identifier: str) -> dict[str, Any]:
        metric = {"Namespace": "n", "MetricName": identifier}
        return {"Id": identifier, "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}

    metrics = [query("m"), {"Id": "value", "Expression": "DIFF(m)"}]
    alarm = {"Metrics": metrics, "EvaluationPeriods": 1, "Threshold": 0, "TreatMissingData": "notBreaching"}
    assert state_with({"m": minutes(1, 2)}, **alarm) == "ALARM"
    assert state_with({"m": minutes(2, 2)}, **alarm) == "OK"
    assert state_with({"m": minutes(2)}, **alarm) == "OK"
