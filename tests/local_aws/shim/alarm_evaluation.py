"""Alarms look at their own dimensions, periods and missing data, and may be expressions, by the rules of
`tests/local_aws/alarm_state.py`.

MiniStack merges the data of all dimensions of a metric into one value, never changes a state without new data, and does
not evaluate expressions at all.
"""

import time
from collections.abc import Mapping
from typing import Any

from ministack.services import cloudwatch

from tests.local_aws.alarm_state import Series, state

from . import alarms


def install() -> None:
    cloudwatch._evaluate_alarm = evaluate


def evaluate(alarm: dict[str, Any]) -> None:
    """Move an alarm to the state that its data give it, with all that follows."""
    full = {**alarm, **alarms._dropped.get(alarm["AlarmName"], {})}
    before, after = alarm["StateValue"], state(full, time.time(), stored)
    if after == before:
        return
    reason = f"{full.get('Threshold')} {full['ComparisonOperator']}: {before} to {after}"
    alarm.update(StateValue=after, StateReason=reason, StateUpdatedTimestamp=int(time.time()))
    cloudwatch._record_history(alarm["AlarmName"], before, after, reason)
    cloudwatch._dispatch_alarm_actions(alarm, before, after, reason)
    cloudwatch._evaluate_parent_alarms(alarm)


def stored(metric: Mapping[str, Any], first: int, end: int) -> Series:
    """What was put, by period."""
    dimensions = {item["Name"]: item["Value"] for item in metric.get("Dimensions") or []}
    key = (metric["Namespace"], metric["MetricName"], cloudwatch._dims_key(dimensions))
    periods: dict[int, list[dict[str, Any]]] = {}
    for point in cloudwatch._metrics.get(key) or []:
        if first <= point["Timestamp"] < end:
            start = int(point["Timestamp"] // metric["Period"]) * metric["Period"]
            periods.setdefault(start, []).append(point)
    statistic = metric["Stat"]
    values = {start: cloudwatch._stat_value(cloudwatch._calc_stats(p), statistic, p) for start, p in periods.items()}
    return {start: float(value) for start, value in values.items() if value is not None}
