"""Every alarm goes from OK to ALARM by real data of its own metric and dimensions, and by no other.

The table of modules/alarms/README.md says of which alarms that is true; what each watches is the list that the plan is
compared with (tests/terraform/test_alarms.py). No queue and no function is made: alarms go by names.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.local_aws.engine import Aws
from tests.local_aws.paths import MODULES, REPOSITORY
from tests.local_aws.terraform import COPIED, Terraform
from tests.terraform.test_alarms import ALONE, CASES, EXPECTED, Expected, documented, kind_of

pytestmark = pytest.mark.xdist_group("alarms")

FIXTURE = "tests/terraform/fixtures/all_alarms"
DRIVEN = [(module, key) for module, key in CASES if documented()[kind_of(key)].driven]

# What an expression needs: metric id -> its values, one a period, the newest last. First what does not set it off.
QUIET: dict[str, dict[str, list[float]]] = {
    "dead-letters-growing": {"letters": [2, 1]},
    "function-errors": {"errors": [9, 9, 9], "invocations": [9, 9, 9]},
    "service-behind": {"age": [float(n) for n in range(9_000, 9_016)]},  # grows, but no task runs
}
LOUD: dict[str, dict[str, list[float]]] = {
    "dead-letters-growing": {"letters": [2, 3]},
    "function-errors": {"errors": [2, 2, 2], "invocations": [11, 11, 11]},  # with the nine above: 11 of 20
    "service-behind": {"tasks": [4.0] * 16},
}


@dataclass(frozen=True)
class Drill:
    """The applied alarms, and where they notify."""

    aws: Aws
    terraform: Terraform
    queues: Mapping[str, str]

    def states(self) -> dict[str, str]:
        pages = self.aws.client("cloudwatch").get_paginator("describe_alarms")
        found = pages.paginate(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
        alarms = [alarm for page in found for kind in ("MetricAlarms", "CompositeAlarms") for alarm in page[kind]]
        return {alarm["AlarmName"]: alarm["StateValue"] for alarm in alarms if alarm["AlarmName"].startswith("drill")}

    def state(self, name: str) -> str:
        answer = self.aws.client("cloudwatch").describe_alarms(AlarmNames=[name])
        return str(answer["MetricAlarms"][0]["StateValue"])

    def put(self, alarm: Expected, identifier: str, values: list[float], *, of_another: bool = False) -> None:
        while time.time() % 60 > 58:  # what is put and looked at must lie in one minute
            time.sleep(0.1)
        namespace, name, dimensions, stat = alarm.metrics[identifier]
        repeated = 4 if stat == "SampleCount" else 1  # four tasks, one sample each
        now = time.time()
        self.aws.client("cloudwatch").put_metric_data(
            Namespace=namespace,
            MetricData=[
                {
                    "MetricName": name,
                    "Dimensions": [
                        {"Name": key, "Value": f"{value}-other" if of_another else value}
                        for key, value in dimensions.items()
                    ],
                    "Timestamp": now - alarm.period * (len(values) - 1 - position),
                    "Value": value,
                }
                for position, value in enumerate(values)
                for _ in range(repeated)
            ],
        )

    def notified(self, severity: str) -> set[str]:
        """Names of the alarms that went on, as the subscriber of a topic got them."""
        found: set[str] = set()
        request = {"QueueUrl": self.queues[severity], "MaxNumberOfMessages": 10}
        sqs = self.aws.client("sqs")
        while messages := sqs.receive_message(**request).get("Messages", []):
            content = [json.loads(message["Body"]) for message in messages]
            found |= {message["AlarmName"] for message in content if message["NewStateValue"] == "ALARM"}
        return found


@pytest.fixture(scope="module")
def drill(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> Drill:
    copy = tmp_path_factory.mktemp("drill")
    shutil.copytree(MODULES, copy / "modules", ignore=COPIED)
    shutil.copytree(REPOSITORY / FIXTURE, copy / FIXTURE)
    queues, topics = {}, {}
    for severity in ("page", "ticket"):
        queues[severity], topics[severity] = _subscribed(aws, f"drill-{severity}s")
    variables = {severity: [arn] for severity, arn in topics.items()}
    terraform = Terraform(copy / FIXTURE, aws, variables)
    terraform.init()
    terraform.apply()
    return Drill(aws, terraform, queues)


def _subscribed(aws: Aws, name: str) -> tuple[str, str]:
    url: str = aws.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    arn = aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic: str = aws.client("sns").create_topic(Name=name)["TopicArn"]
    attributes = {"RawMessageDelivery": "true"}
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)
    return url, topic


@dataclass(frozen=True)
class Seen:
    """States of one alarm: as applied, after data of others, after data below its threshold, after data above."""

    first: str
    of_another: str
    quiet: str
    loud: str


@pytest.fixture(scope="module")
def seen(drill: Drill) -> dict[tuple[str, str], Seen]:
    first = drill.states()
    found = {}
    for module, key in DRIVEN:
        alarm, name = EXPECTED[module][key], f"{_prefix(module)}-{key}"
        for identifier, values in _loud(key, alarm).items():
            drill.put(alarm, identifier, values, of_another=True)
        of_another = drill.state(name)
        for identifier, values in _quiet(key, alarm).items():
            drill.put(alarm, identifier, values)
        quiet = drill.state(name)
        for identifier, values in _loud(key, alarm).items():
            drill.put(alarm, identifier, values)
        found[module, key] = Seen(first[name], of_another, quiet, drill.state(name))
    return found


def _prefix(module: str) -> str:
    return {"polled": "drill-email", "direct": "drill-direct", "tasks": "drill-report", "stack": "drill"}[module]


def _quiet(key: str, alarm: Expected) -> dict[str, list[float]]:
    if alarm.expression:
        return QUIET[key]
    below = alarm.threshold if alarm.comparison == "GreaterThanThreshold" else alarm.threshold - 0.5
    needed, number = alarm.m_of_n
    values = [below] * number
    if needed > 1:  # once above is not enough
        values[-1] = alarm.threshold + 1
    return {"": values}


def _loud(key: str, alarm: Expected) -> dict[str, list[float]]:
    if alarm.expression:
        return LOUD[key]
    needed, _number = alarm.m_of_n
    if alarm.metrics[""][3].startswith("p"):  # of what was quiet and this, interpolated
        return {"": [2 * alarm.threshold] * needed}
    # Just over the edge: a threshold that is off by one would be seen.
    above = alarm.threshold + (1 if alarm.comparison == "GreaterThanThreshold" else 0)
    return {"": [above] * needed}


@pytest.mark.parametrize(("module", "key"), DRIVEN, ids=map("-".join, DRIVEN))
def test_an_alarm_goes_off_by_its_own_data(seen: dict[tuple[str, str], Seen], module: str, key: str) -> None:
    assert seen[module, key] == Seen("OK", "OK", "OK", "ALARM")


def test_all_alarms_are_driven_or_the_readme_says_why_not() -> None:
    assert {kind_of(key) for _, key in DRIVEN} == {kind for kind, row in documented().items() if row.driven}


def test_pages_come_from_the_composite_alarms_and_tickets_from_each(
    seen: dict[tuple[str, str], Seen], drill: Drill
) -> None:
    alone = {f"{_prefix(module)}-{key}" for module, key in DRIVEN if key in ALONE}
    assert drill.notified("page") == alone | {f"{_prefix(module)}-attention" for module in EXPECTED}
    assert drill.notified("ticket") == {f"{_prefix(module)}-{key}" for module, key in DRIVEN if key not in ALONE}


def test_a_plan_after_the_apply_is_empty(drill: Drill) -> None:
    assert drill.terraform.plan_is_empty(), drill.terraform.tail()


def test_an_alarm_that_the_composite_one_names_can_be_taken_away(drill: Drill) -> None:
    """CloudWatch refuses to delete it while it is named: the composite alarm has to be changed first."""
    before = drill.states()
    without = Terraform(drill.terraform.folder, drill.aws, {**drill.terraform.variables, "promises_latency": False})
    without.apply()
    assert before.keys() - drill.states().keys() == {"drill-email-jobs-late"}
