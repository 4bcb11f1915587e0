"""Schedules really send, and the packaged runtime reads what Terraform wrote into them. Their own times are once a day
and once a week; here they are changed to one in two seconds, and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

SOON = 100  # Scheduler is exact to the minute; the local one to half a second
KEYWORD = "<aws.scheduler.scheduled-time>"
SETTINGS = ("GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "State", "Target")

Send = Callable[..., str]


@pytest.fixture
def send(stack: Stack) -> Iterator[Send]:
    """Lets a schedule of the stack send once, now; returns the time for which it does."""
    client, group = stack.aws.client("scheduler"), stack.outputs["schedules"]["group"]["name"]
    before: dict[str, dict[str, Any]] = {}

    def once(key: str, **target: Any) -> str:
        found = client.get_schedule(Name=key, GroupName=group)
        settings = {name: found[name] for name in SETTINGS}
        before.setdefault(key, settings)
        moment = (datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%S")
        changes = {"ScheduleExpression": f"at({moment})", "ScheduleExpressionTimezone": "UTC"}
        client.update_schedule(Name=key, **{**settings, **changes, "Target": {**settings["Target"], **target}})
        return f"{moment}Z"

    yield once
    for key, settings in before.items():
        client.update_schedule(Name=key, **settings)


def call(stack: Stack, key: str, moment: str) -> dict[str, Any]:
    """What Scheduler asks SQS for."""
    group = stack.outputs["schedules"]["group"]["name"]
    target = stack.aws.client("scheduler").get_schedule(Name=key, GroupName=group)["Target"]
    found: dict[str, Any] = json.loads(target["Input"].replace(KEYWORD, moment))
    return found


def succeeds(stack: Stack, key: str, moment: str) -> str:
    job_id: str = stack.outputs["schedules"]["schedules"][key]["id"].replace(KEYWORD, moment)
    wait_for(lambda: stack.outcomes_of(job_id) == ["succeeded"], timeout=SOON, what=f"{job_id} succeeds")
    return job_id


def test_an_occurrence_delivered_twice_runs_once_and_the_next_one_runs(stack: Stack, send: Send) -> None:
    moment = send("agenda")
    job_id = succeeds(stack, "agenda", moment)
    (line,) = stack.lines_of(job_id)
    assert line["occurrence"] == moment.replace("Z", "+00:00")

    stack.send_raw("calendar", call(stack, "agenda", moment)["MessageBody"])
    wait_for(lambda: len(stack.lines_of(job_id)) == 2, timeout=SOON, what="it is delivered again")
    assert stack.outcomes_of(job_id) == ["succeeded", "duplicate"]

    later = send("agenda")
    assert later != moment
    succeeds(stack, "agenda", later)
    # One record each, although it is the same key.
    app = stack.publisher_environment["JOBS_APP"]
    keys = {f"{app}#calendar.agenda.prepare@{m.replace('Z', '+00:00')}#everyone" for m in (moment, later)}
    records = {record["pk"]: record for record in stack.records() if record["pk"] in keys}
    assert records.keys() == keys
    assert {json.loads(record["result"]) for record in records.values()} == {f"agenda of everyone for {moment[:10]}"}


def test_an_occurrence_of_a_fifo_workload_is_its_own_deduplication_id(stack: Stack, send: Send) -> None:
    moment = send("rollout-review")
    job_id = succeeds(stack, "rollout-review", moment)
    request = call(stack, "rollout-review", moment)
    assert (request["MessageGroupId"], request["MessageDeduplicationId"]) == ("rollout-review", job_id)
    stack.aws.client("sqs").send_message(**request)  # SQS accepts it, and drops it
    later = send("rollout-review")
    succeeds(stack, "rollout-review", later)  # in the same group: whatever was before it has been delivered
    assert stack.outcomes_of(job_id) == ["succeeded"]


def test_what_cannot_be_sent_is_a_dead_letter(stack: Stack, send: Send) -> None:
    own = call(stack, "agenda", KEYWORD)
    foreign = json.dumps({**own, "QueueUrl": f"{own['QueueUrl']}-gone"})
    retry = {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}
    moment = send("agenda", Input=foreign, RetryPolicy=retry)
    dlq = stack.outputs["schedules"]["dlq"]["url"]

    def letters() -> list[dict[str, Any]]:
        asked = {"QueueUrl": dlq, "WaitTimeSeconds": 1, "MessageAttributeNames": ["All"]}
        found: list[dict[str, Any]] = stack.aws.client("sqs").receive_message(**asked).get("Messages", [])
        return found

    (letter,) = wait_for(letters, timeout=SOON, what="the dead letter")
    failed = json.loads(letter["Body"])
    assert json.loads(failed["MessageBody"])["occurrence"] == moment
    # As the module's README says: sent after all, it is the occurrence that it was.
    stack.aws.client("sqs").send_message(**{**failed, "QueueUrl": own["QueueUrl"]})
    succeeds(stack, "agenda", moment)
    stack.aws.client("sqs").delete_message(QueueUrl=dlq, ReceiptHandle=letter["ReceiptHandle"])
