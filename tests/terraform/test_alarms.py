"""Every alarm as it is planned: what it watches, when it goes off, whom it tells, and what it costs.

The table of modules/alarms/README.md is the list of what there is; it says of each alarm how it is proved. Those that
it says are driven by data are driven in tests/e2e/test_alarms.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.local_aws.paths import MODULES, REPOSITORY

from .harness import Run, Terraform, report

pytestmark = pytest.mark.xdist_group("terraform-alarms")

PAGER = "arn:aws:sns:eu-west-1:123456789012:pager"
TICKETS = "arn:aws:sns:eu-west-1:123456789012:tickets"
MACHINE = {"StateMachineArn": "arn:aws:states:eu-west-1:123456789012:stateMachine:drill-email-delay"}
FUNCTION, DIRECT = {"FunctionName": "drill-email"}, {"FunctionName": "drill-direct"}
GROUP = {"ScheduleGroup": "drill"}
AGE, WAITING = "ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"
DAY = 86400


def queue(name: str) -> dict[str, str]:
    return {"QueueName": name}


def jobs(workload: str) -> dict[str, str]:
    return {"service": "drill", "workload": workload}


@dataclass(frozen=True)
class Expected:
    """`metrics` is one for a plain alarm; with an `expression`, several: id -> (namespace, name, dimensions, stat)."""

    metrics: dict[str, tuple[str, str, dict[str, str], str]]
    severity: str
    threshold: float = 0
    period: int = 300
    m_of_n: tuple[int, int] = (1, 1)
    comparison: str = "GreaterThanThreshold"
    expression: str = ""


def plain(namespace: str, name: str, dimensions: dict[str, str], stat: str, severity: str, **rest: Any) -> Expected:
    return Expected({"": (namespace, name, dimensions, stat)}, severity, **rest)


def sqs(name: str, queue_name: str, severity: str, **rest: Any) -> Expected:
    return plain("AWS/SQS", name, queue(queue_name), "Maximum", severity, **rest)


def runtime(name: str, workload: str, severity: str = "ticket", stat: str = "Sum", **rest: Any) -> Expected:
    return plain("BackgroundJobs", name, jobs(workload), stat, severity, **rest)


def growing(dlq: str) -> Expected:
    return Expected(
        {"letters": ("AWS/SQS", WAITING, queue(dlq), "Maximum")},
        "page",
        period=900,
        m_of_n=(1, 2),
        expression="IF(letters - DIFF(letters) > 0, DIFF(letters), 0)",
    )


def rate(function: dict[str, str]) -> Expected:
    return Expected(
        {
            "errors": ("AWS/Lambda", "Errors", function, "Sum"),
            "invocations": ("AWS/Lambda", "Invocations", function, "Sum"),
        },
        "ticket",
        threshold=5,
        m_of_n=(2, 3),
        expression="IF(invocations >= 10, 100 * errors / invocations, 0)",
    )


def of_jobs(workload: str) -> dict[str, Expected]:
    return {
        "jobs-parked": runtime("JobParked", workload),
        "jobs-discarded": runtime("JobDiscarded", workload, period=3600),
        "jobs-crashed": runtime("JobCrashed", workload),
    }


def of_topic(key: str, topic: str) -> dict[str, Expected]:
    metrics = {
        "topic-failed": ("NumberOfNotificationsFailed", "page"),
        "topic-lost": ("NumberOfNotificationsFailedToRedriveToDlq", "page"),
        "topic-unrouted": ("NumberOfNotificationsFilteredOut-NoMessageAttributes", "ticket"),
    }
    return {
        f"{key}-{kind}": plain("AWS/SNS", name, {"TopicName": topic}, "Sum", severity)
        for kind, (name, severity) in metrics.items()
    }


OFTEN = {"period": 60, "m_of_n": (3, 5)}
EXPECTED: dict[str, dict[str, Expected]] = {
    "polled": {
        "queue-age": sqs(AGE, "drill-email", "page", threshold=900, **OFTEN),
        "queue-depth": sqs(WAITING, "drill-email", "ticket", threshold=1000, m_of_n=(3, 3)),
        "queue-in-flight": sqs("ApproximateNumberOfMessagesNotVisible", "drill-email", "ticket", threshold=96000),
        "dead-letters": sqs(WAITING, "drill-email-dlq", "page", period=60),
        "dead-letters-growing": growing("drill-email-dlq"),
        # 14 days, less the four that a letter can have waited before it was one, less one to act
        "dead-letters-expiring": sqs(AGE, "drill-email-dlq", "page", threshold=9 * DAY),
        "subscription-failed": sqs(WAITING, "drill-email-sub-dlq", "page", period=60),
        "function-errors": rate(FUNCTION),
        "function-throttled": plain("AWS/Lambda", "Throttles", FUNCTION, "Sum", "ticket", m_of_n=(2, 3)),
        "function-at-ceiling": plain(
            "AWS/Lambda",
            "ConcurrentExecutions",
            FUNCTION,
            "Maximum",
            "ticket",
            threshold=9,
            m_of_n=(3, 3),
            comparison="GreaterThanOrEqualToThreshold",
        ),
        "function-near-timeout": plain(
            "AWS/Lambda",
            "Duration",
            FUNCTION,
            "p99",
            "ticket",
            threshold=48000,
            m_of_n=(3, 3),
            comparison="GreaterThanOrEqualToThreshold",
        ),
        "function-recursion": plain("AWS/Lambda", "RecursiveInvocationsDropped", FUNCTION, "Sum", "page"),
        **of_jobs("email"),
        "jobs-late": runtime("EndToEndMs", "email", "page", "p95", threshold=600000, m_of_n=(2, 3)),
        "delay-failed": plain("AWS/States", "ExecutionsFailed", MACHINE, "Sum", "page"),
        "delay-timed-out": plain("AWS/States", "ExecutionsTimedOut", MACHINE, "Sum", "page"),
        "delay-aborted": plain("AWS/States", "ExecutionsAborted", MACHINE, "Sum", "page"),
        "delay-throttled": plain("AWS/States", "ExecutionThrottled", MACHINE, "Sum", "ticket", m_of_n=(2, 3)),
    },
    "direct": {
        "dead-letters": sqs(WAITING, "drill-direct-dlq", "page", period=60),
        "dead-letters-growing": growing("drill-direct-dlq"),
        "dead-letters-expiring": sqs(AGE, "drill-direct-dlq", "page", threshold=10 * DAY),
        "function-errors": rate(DIRECT),
        "function-near-timeout": plain(
            "AWS/Lambda",
            "Duration",
            DIRECT,
            "p99",
            "ticket",
            threshold=24000,
            m_of_n=(3, 3),
            comparison="GreaterThanOrEqualToThreshold",
        ),
        "function-recursion": plain("AWS/Lambda", "RecursiveInvocationsDropped", DIRECT, "Sum", "page"),
        "event-age": plain("AWS/Lambda", "AsyncEventAge", DIRECT, "Maximum", "page", threshold=900000, **OFTEN),
        "events-lost": plain("AWS/Lambda", "DestinationDeliveryFailures", DIRECT, "Sum", "page"),
        **of_jobs("direct"),
    },
    "tasks": {
        "queue-age": sqs(AGE, "drill-report.fifo", "page", threshold=3600, **OFTEN),
        "queue-in-flight": sqs("ApproximateNumberOfMessagesNotVisible", "drill-report.fifo", "ticket", threshold=96000),
        "dead-letters": sqs(WAITING, "drill-report-dlq.fifo", "page", period=60),
        "dead-letters-growing": growing("drill-report-dlq.fifo"),
        "dead-letters-expiring": sqs(AGE, "drill-report-dlq.fifo", "page", threshold=10 * DAY),
        **of_jobs("report"),
        "jobs-stalled": runtime("JobStalled", "report"),
        "service-behind": Expected(
            {
                "age": ("AWS/SQS", AGE, queue("drill-report.fifo"), "Maximum"),
                "tasks": (
                    "AWS/ECS",
                    "CPUUtilization",
                    {"ClusterName": "drill", "ServiceName": "drill-report"},
                    "SampleCount",
                ),
            },
            "page",
            period=60,
            m_of_n=(12, 15),
            expression="IF(tasks >= 4, DIFF(age), 0)",
        ),
    },
    "stack": {
        **of_topic("standard", "drill-jobs"),
        **of_topic("fifo", "drill-jobs.fifo"),
        "schedule-dropped": plain("AWS/Scheduler", "InvocationDroppedCount", GROUP, "Sum", "page"),
        "schedule-lost": plain("AWS/Scheduler", "InvocationsFailedToBeSentToDeadLetterCount", GROUP, "Sum", "page"),
        "schedule-errors": plain("AWS/Scheduler", "TargetErrorCount", GROUP, "Sum", "ticket"),
        "schedule-undelivered": sqs(WAITING, "drill-schedules-dlq", "page", period=60),
    },
}
ALONE = {"dead-letters-growing", "dead-letters-expiring"}  # they page by themselves


def kind_of(key: str) -> str:
    return re.sub(r"^(standard|fifo)-", "", key)


@dataclass(frozen=True)
class Row:
    severity: str
    driven: bool


def documented() -> dict[str, Row]:
    """The table of the README: kind -> what it says of it."""
    text = (MODULES / "alarms" / "README.md").read_text()
    table = text.partition("\n## The alarms\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (page|page, alone|ticket) \| .+ \| (data|plan) \|$", table, re.MULTILINE)
    return {kind: Row(severity.split(",")[0], proof == "data") for kind, severity, proof in rows}


@pytest.fixture(scope="module")
def runs(tf: Terraform) -> dict[str, Run]:
    found = tf.test(tests="tests/terraform", only="alarms.tftest.hcl", verbose=True)
    assert all(run.status == "pass" for run in found), report(found)
    return {run.name: run for run in found}


def planned(run: Run, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Module, key and values of every planned resource of a type."""
    for change in run.plan["resource_changes"]:
        if change["type"] == kind:
            module, key = re.fullmatch(r"module\.(.+?)\.\w+\.this(?:\[(.+)\])?", change["address"]).groups()  # type: ignore[union-attr]
            yield module, str(key or "").strip('"'), change["change"]["after"]


def alarms(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    return {(module, key): values for module, key, values in planned(run, "aws_cloudwatch_metric_alarm")}


def composites(run: Run) -> dict[str, dict[str, Any]]:
    return {module: values for module, _, values in planned(run, "aws_cloudwatch_composite_alarm")}


def watched(values: dict[str, Any]) -> Expected:
    """What a planned alarm watches, in the words of `Expected` (the severity is in its description)."""
    severity = re.search(r"Severity: (\w+)\.", values["alarm_description"])
    assert severity
    expression = ""
    metrics: dict[str, tuple[str, str, dict[str, str], str]] = {}
    periods = {values["period"]} - {None}
    for query in values["metric_query"]:
        if query["expression"]:
            expression = query["expression"]
            assert query["return_data"] is True
        for metric in query["metric"]:
            metrics[query["id"]] = (metric["namespace"], metric["metric_name"], metric["dimensions"], metric["stat"])
            periods.add(metric["period"])
    if not expression:
        stat = values["statistic"] or values["extended_statistic"]
        metrics[""] = (values["namespace"], values["metric_name"], values["dimensions"], stat)
    (period,) = periods
    m_of_n = (values["datapoints_to_alarm"], values["evaluation_periods"])
    comparison = values["comparison_operator"]
    return Expected(metrics, severity[1], values["threshold"], period, m_of_n, comparison, expression)


CASES = [(module, key) for module, expected in EXPECTED.items() for key in expected]


@pytest.mark.parametrize(("module", "key"), CASES, ids=map("-".join, CASES))
def test_an_alarm_watches_what_it_says(runs: dict[str, Run], module: str, key: str) -> None:
    assert watched(alarms(runs["every_alarm_there_is"])[module, key]) == EXPECTED[module][key]


def test_there_is_no_other_alarm(runs: dict[str, Run]) -> None:
    assert set(alarms(runs["every_alarm_there_is"])) == set(CASES)


def test_the_table_of_the_readme_has_them_all_with_their_severity() -> None:
    kinds = {kind_of(key): alarm.severity for expected in EXPECTED.values() for key, alarm in expected.items()}
    assert {kind: row.severity for kind, row in documented().items()} == kinds


def everything(runs: dict[str, Run]) -> Iterator[tuple[str, str, dict[str, Any], Run]]:
    for run in runs.values():
        for (module, key), values in alarms(run).items():
            yield module, key, values, run


def test_missing_data_never_keeps_an_alarm_from_deciding(runs: dict[str, Run]) -> None:
    for _, key, values, _ in everything(runs):
        assert values["treat_missing_data"] == "notBreaching", key


def test_every_alarm_says_what_it_means_and_what_to_do(runs: dict[str, Run]) -> None:
    seen: dict[str, str] = {}
    for _, key, values, _ in everything(runs):
        text = values["alarm_description"]
        assert f"Runbook: docs/runbooks/{kind_of(key)}.md." in text
        assert len(text.encode()) <= 1024, key
        means, remedy = text.split(" Runbook: ")[0], text
        assert means.count(".") >= 2, f"{key}: one sentence what it means, one what to do"
        assert seen.setdefault(means, kind_of(key)) == kind_of(key), "two kinds with one text"
        assert remedy


def test_names_are_legal_and_unique(runs: dict[str, Run]) -> None:
    for run in runs.values():
        names = [values["alarm_name"] for values in [*alarms(run).values(), *composites(run).values()]]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,255}", name) for name in names)


def test_no_kind_ends_like_another() -> None:
    """Else `shop-email` and `shop-email-x` could have an alarm of one name."""
    kinds = {*documented(), "attention"}
    assert not [(long, short) for long in kinds for short in kinds if long.endswith(f"-{short}")]


@pytest.mark.parametrize(
    ("run", "page", "ticket", "joined"),
    [
        ("every_alarm_there_is", [PAGER], [TICKETS], [TICKETS]),
        ("only_somewhere_to_page", [PAGER], [PAGER], []),
        ("only_somewhere_for_tickets", [TICKETS], [TICKETS], []),
    ],
)
def test_every_alarm_reaches_somebody_once(
    runs: dict[str, Run], run: str, page: list[str], ticket: list[str], joined: list[str]
) -> None:
    """A ticket goes to tickets, a page through the composite alarm: one page for a workload, not five."""
    rules = " OR ".join(values["alarm_rule"] for values in composites(runs[run]).values())
    for values in composites(runs[run]).values():
        assert values["alarm_actions"] == values["ok_actions"] == page
    for (module, key), values in alarms(runs[run]).items():
        expected, in_rule = EXPECTED[module][key], f'ALARM("{values["alarm_name"]}")' in rules
        assert in_rule == (expected.severity == "page" and key not in ALONE), key
        actions = joined if in_rule else page if expected.severity == "page" else ticket
        assert (values["alarm_actions"] or []) == (values["ok_actions"] or []) == actions, key
        assert in_rule or actions, f"{key} reaches nobody"


def test_a_deployment_can_keep_pages_off(runs: dict[str, Run]) -> None:
    for values in composites(runs["many_choices"]).values():
        assert values["actions_suppressor"] == [{"alarm": "deploying", "extension_period": 60, "wait_period": 60}]


def test_thresholds_come_from_what_a_workload_promises(runs: dict[str, Run]) -> None:
    found = {key: v["threshold"] for (module, key), v in alarms(runs["many_choices"]).items() if "email" in module}
    assert found["queue-age"] == 60
    assert found["queue-depth"] == 50
    assert found["jobs-late"] == 90_000
    assert found["function-errors"] == 1
    assert found["jobs-discarded"] == 10
    assert found["function-near-timeout"] == 80_000
    assert found["function-at-ceiling"] == 45  # of 5 pollers with 10 each


# --- what it costs ----------------------------------------------------------------------------------------------------

# USD a month, CloudWatch pricing, us-east-1: an alarm is billed by the metrics it analyses.
ALARM_METRIC, COMPOSITE, DASHBOARD, CUSTOM_METRIC = 0.10, 0.50, 3.00, 0.30


def billed(found: dict[tuple[str, str], dict[str, Any]]) -> int:
    return sum(len(watched(values).metrics) for values in found.values())


def costs() -> dict[str, tuple[int, float]]:
    """The table of the README: what -> (number billed, USD a month)."""
    text = (MODULES / "alarms" / "README.md").read_text().partition("\n## What it costs\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| ([\d.]+) \|$", text, re.MULTILINE)
    return {what: (int(number), float(dollars)) for what, number, dollars in rows}


def test_the_readme_says_what_one_workload_costs(runs: dict[str, Run]) -> None:
    found = alarms(runs["one_workload"])
    workload = {key: values for key, values in found.items() if key[0] == 'alarms["email"]'}
    stack = {key: values for key, values in found.items() if key[0] == "stack_alarms"}
    assert len(workload) + len(stack) == len(found)
    delay = {key: v for key, v in alarms(runs["many_choices"]).items() if key[1].startswith("delay-")}
    metrics = len(set(re.findall(r"^\| `(\w+)` \|", SIGNALS, re.MULTILINE)))
    expected = {
        "metrics watched by the alarms of a workload on Lambda": (billed(workload), ALARM_METRIC),
        "its composite alarm": (1, COMPOSITE),
        "metrics watched if it has a delay machine": (billed(delay), ALARM_METRIC),
        "metrics of the runtime, if every one of them occurs": (metrics, CUSTOM_METRIC),
        "metrics watched by the alarms of the stack's topics": (billed(stack), ALARM_METRIC),
        "their composite alarm": (1, COMPOSITE),
        "the dashboard, if the account has three already": (1, DASHBOARD),
    }
    assert costs() == {what: (number, round(number * price, 2)) for what, (number, price) in expected.items()}


TEMPLATE = REPOSITORY / "template" / "{{cookiecutter.project_slug}}"
SIGNALS = (TEMPLATE / "docs" / "signals.md").read_text().partition("\n## Metrics\n")[2].partition("\n## ")[0]
