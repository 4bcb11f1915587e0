"""When an alarm is on: its own periods, M of N of them, missing data, and expressions over several metrics.

Follows the CloudWatch user guide ("Evaluating an alarm", "Configuring how alarms treat missing data", "Metric math
syntax and functions"), and is simpler in three ways: the period that is still open counts, data that come late change
nothing that was, and of the functions there are those that the alarms of this repository use, DIFF, FILL (with a
number) and IF.
"""

import ast
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

Series = dict[int, float]  # start of the period -> value
Value = Series | float
Read = Callable[[Mapping[str, Any], int, int], Series]  # metric, first period and the end of the last

BEFORE = 3  # periods that an expression may look back further: DIFF needs the value before
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}
BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right if right else math.nan,  # no value there
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def state(alarm: Mapping[str, Any], now: float, read: Read) -> str:
    """OK, ALARM or INSUFFICIENT_DATA."""
    period, number = _period(alarm), int(alarm["EvaluationPeriods"])
    needed = int(alarm.get("DatapointsToAlarm") or number)
    last = int(now // period) * period
    found = _values(alarm, period, last, number, read)
    breaches = COMPARE[alarm["ComparisonOperator"]]
    breaching = 0
    missing = 0
    for start in range(last - (number - 1) * period, last + 1, period):
        if start in found:
            breaching += breaches(found[start], alarm["Threshold"])
        else:
            missing += 1
    rule = alarm.get("TreatMissingData") or "missing"
    if missing == number and rule == "ignore":
        return str(alarm["StateValue"])
    if missing == number and rule == "missing":
        return "INSUFFICIENT_DATA"
    return "ALARM" if breaching + (missing if rule == "breaching" else 0) >= needed else "OK"


def _period(alarm: Mapping[str, Any]) -> int:
    periods = [query["MetricStat"]["Period"] for query in alarm.get("Metrics") or [] if "MetricStat" in query]
    return int(periods[0] if periods else alarm["Period"])


def _values(alarm: Mapping[str, Any], period: int, last: int, number: int, read: Read) -> Series:
    first, end = last - (number - 1) * period, last + period
    if not alarm.get("Metrics"):
        metric = {**alarm, "Stat": alarm.get("ExtendedStatistic") or alarm["Statistic"], "Period": period}
        return read(metric, first, end)
    known: dict[str, Value] = {}
    for query in alarm["Metrics"]:
        if "MetricStat" in query:
            metric = {**query["MetricStat"]["Metric"], "Stat": query["MetricStat"]["Stat"], "Period": period}
            known[query["Id"]] = read(metric, first - BEFORE * period, end)
    (expression,) = (query["Expression"] for query in alarm["Metrics"] if "Expression" in query)
    result = calculate(expression, known)
    return result if isinstance(result, dict) else dict.fromkeys(range(first, end, period), result)


def calculate(expression: str, known: Mapping[str, Value]) -> Value:
    """Metric math. What of its syntax is used here, Python's parser reads as well."""
    return _node(ast.parse(expression, mode="eval").body, known)


def _node(node: ast.expr, known: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name():
            return known[node.id]
        case ast.BinOp():
            return _each(BINARY[type(node.op)], _node(node.left, known), _node(node.right, known))
        case ast.Compare(ops=[op], comparators=[right]):
            return _each(BINARY[type(op)], _node(node.left, known), _node(right, known))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_node(argument, known) for argument in arguments))
        case _:
            raise ValueError(f"metric math that is not known here: {ast.unparse(node)}")


def _each(apply: Callable[[float, float], float], left: Value, right: Value) -> Value:
    """A value only where both sides have one."""
    if not isinstance(left, dict) and not isinstance(right, dict):
        return float(apply(left, right))
    starts = [set(side) for side in (left, right) if isinstance(side, dict) and not isinstance(side, Filled)]
    if not starts:
        raise ValueError("FILL alone: beside it there must be a series that says which periods there are")
    values = {start: float(apply(_at(left, start), _at(right, start))) for start in set.intersection(*starts)}
    return {start: value for start, value in values.items() if not math.isnan(value)}


def _at(value: Value, start: int) -> float:
    return value[start] if isinstance(value, dict) else value


def _if(condition: Value, then: Value, otherwise: Value) -> Value:
    if not isinstance(condition, dict):
        return then if condition else otherwise
    chosen = {start: then if value else otherwise for start, value in condition.items()}
    return {start: _at(side, start) for start, side in chosen.items() if not isinstance(side, dict) or start in side}


def _diff(series: Value) -> Value:
    assert isinstance(series, dict), "DIFF of a number"
    starts = sorted(series)
    return {start: series[start] - series[before] for before, start in itertools.pairwise(starts)}


class Filled(dict[int, float]):
    """A series with a value in every period."""

    def __init__(self, series: Value, otherwise: Value) -> None:
        assert isinstance(series, dict), "FILL of a number"
        assert isinstance(otherwise, float), "FILL with something else than a number"
        super().__init__(series)
        self.otherwise = otherwise

    def __missing__(self, start: int) -> float:
        return self.otherwise


FUNCTIONS: dict[str, Callable[..., Value]] = {"DIFF": _diff, "FILL": Filled, "IF": _if}
