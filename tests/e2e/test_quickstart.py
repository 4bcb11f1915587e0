"""examples/quickstart with IAM policies and TLS enforced, as on AWS: the least-privilege policies really suffice, and
really count.

Where the local AWS is more lenient than AWS: it polls the queue whatever the function's role says about
sqs:ReceiveMessage, and deletes by itself. These permissions are checked in the plan (tests/terraform); all others a
job needs are enforced here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local_aws import deploy, engine
from tests.local_aws.project import Project
from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

NAME = "quick"
SOON = 40


@pytest.fixture(scope="module")
def quickstart(consumer: Project, lambda_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with engine.aws(auth_tls=True) as aws:
        folder = tmp_path_factory.mktemp("quickstart stack")
        artifact = lambda_zip if aws.python else consumer.package_for(None, folder / "lambda.zip")
        prepared = deploy.prepare("quickstart", folder / "terraform", aws, consumer, artifact, name=NAME)
        prepared.terraform.init()
        try:
            prepared.terraform.apply()
            prepared.refresh()
            yield prepared
        finally:
            if aws.is_real:
                prepared.terraform.destroy()


def test_a_plan_after_the_apply_is_empty(quickstart: Stack) -> None:
    assert quickstart.terraform.plan_is_empty(), quickstart.terraform.tail()


def test_the_roles_permissions_suffice_for_every_outcome(quickstart: Stack) -> None:
    good = quickstart.publish_one("probes.email", {"label": "good"})
    retried = quickstart.publish_one("probes.email", {"label": "retried", "fail_attempts": 1})
    dead = quickstart.publish_one("probes.email", {"label": "dead", "permanent": True})
    parent = quickstart.publish_one("probes.email", {"label": "parent", "follow_up": True})
    wait_for(lambda: quickstart.outcomes_of(good) == ["succeeded"], timeout=SOON, what="a job succeeds")
    # sqs:ChangeMessageVisibility: without it the retry would come after the visibility timeout of 360 s.
    wait_for(
        lambda: quickstart.outcomes_of(retried) == ["retry", "succeeded"], timeout=SOON, what="a retry by visibility"
    )
    # sqs:SendMessage on the dead-letter queue
    letter = wait_for(lambda: quickstart.dead_letter_of(dead), timeout=SOON, what="the dead letter")
    assert letter is not None
    assert letter.note["reason"] == "asked_to"
    # sns:Publish on the topic
    wait_for(
        lambda: [
            line for line in quickstart.log_lines() if line["correlation_id"] == parent and line["job_id"] != parent
        ],
        timeout=SOON,
        what="the follow-up job that the first one published",
    )
    log = "\n".join(quickstart.raw_log("email"))
    assert "AccessDenied" not in log
    assert "acknowledgement failed" not in log  # sqs:DeleteMessage


def test_without_the_topics_statement_in_the_queue_policy_nothing_arrives(quickstart: Stack) -> None:
    sqs = quickstart.aws.client("sqs")
    queue = quickstart.workloads["email"]["queue"]["url"]
    before = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])["Attributes"]["Policy"]
    policy = json.loads(before)
    denies = [statement for statement in policy["Statement"] if statement["Effect"] == "Deny"]
    assert denies, "the TLS statement is gone from the policy"
    assert len(denies) < len(policy["Statement"]), "the policy allows nothing, not even the topic"

    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps({**policy, "Statement": denies})})
    waiting = quickstart.depth("email")
    try:
        lost = quickstart.publish_one("probes.email", {"label": "lost"})
        time.sleep(8)
        assert quickstart.outcomes_of(lost) == []
        assert quickstart.depth("email") <= waiting
    finally:
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": before})
    arrives = quickstart.publish_one("probes.email", {"label": "arrives"})
    wait_for(lambda: quickstart.outcomes_of(arrives) == ["succeeded"], timeout=SOON, what="delivery works again")


def test_destroy_leaves_nothing(quickstart: Stack) -> None:
    assert _left(quickstart), "nothing was there before the destroy, so the test proves nothing"
    quickstart.terraform.destroy()
    assert quickstart.terraform.resources() == []
    assert _left(quickstart) == []


def _left(stack: Stack) -> list[str]:
    """Everything of this stack's name that AWS still knows."""
    client = stack.aws.client
    found = list(client("sqs").list_queues(QueueNamePrefix=NAME).get("QueueUrls", []))
    found += [topic["TopicArn"] for topic in client("sns").list_topics()["Topics"]]
    found += [item["SubscriptionArn"] for item in client("sns").list_subscriptions()["Subscriptions"]]
    found += [function["FunctionArn"] for function in client("lambda").list_functions()["Functions"]]
    found += [item["EventSourceArn"] for item in client("lambda").list_event_source_mappings()["EventSourceMappings"]]
    found += [group["arn"] for group in client("logs").describe_log_groups()["logGroups"]]
    found += [role["Arn"] for role in client("iam").list_roles()["Roles"]]
    alarms = client("cloudwatch").describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"], AlarmNamePrefix=NAME)
    found += [alarm["AlarmArn"] for kind in ("MetricAlarms", "CompositeAlarms") for alarm in alarms[kind]]
    found += [board["DashboardArn"] for board in client("cloudwatch").list_dashboards()["DashboardEntries"]]
    return [arn for arn in found if NAME in arn]
