"""Each gap the shim closes: closed with it, and still open without it.

When one of the tests on the plain MiniStack fails after an upgrade, MiniStack has closed that gap itself: remove the
shim's file.
"""

from __future__ import annotations

import io
import json
import time
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import boto3
import pytest
from botocore.exceptions import ClientError

from . import engine
from .engine import Aws
from .stack import wait_for

pytestmark = pytest.mark.xdist_group("gaps")  # two engines, started once

GAPS = (
    "alarm_evaluation",
    "alarms",
    "application_autoscaling",
    "batch_permissions",
    "ecs_rebalancing",
    "function_output",
    "function_python",
    "machine_publishes",
    "machine_size",
    "move_tasks",
    "queue_metrics",
    "topic_functions",
    "schedules",
)

FUNCTION = """
import os, sys, time

def handler(event, context):
    if "Records" in event:
        if event["Records"][0].get("Sns", {}).get("Message") == "die":
            os._exit(1)
        start = time.time()
        time.sleep(0.5)
        print("RAN %f %f" % (start, time.time()))
        return None
    os.write(1, b"WRITTEN TO DESCRIPTOR 1\\n")
    return sys.prefix
"""


@pytest.fixture(scope="module")
def shimmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    settings = {"AUTH": "true", "LOCAL_AWS_QUEUE_METRICS_SECONDS": "0.5"}
    aws, process = engine.start(tmp_path_factory.mktemp("shimmed"), settings=settings)
    with process:
        yield aws


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    settings = {"AUTH": "true", "LOCAL_AWS_GAPS_LEFT_OPEN": ",".join(GAPS), "LOCAL_AWS_QUEUE_METRICS_SECONDS": "0.5"}
    aws, process = engine.start(tmp_path_factory.mktemp("plain"), settings=settings)
    with process:
        yield aws


def described_alarm(aws: Aws) -> str:
    """Put and describe an alarm over the Query protocol, and return the XML."""
    put = {
        "Action": "PutMetricAlarm",
        "AlarmName": "deep",
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions.member.1.Name": "QueueName",
        "Dimensions.member.1.Value": "some-queue",
        "Statistic": "Maximum",
        "Period": "60",
        "EvaluationPeriods": "1",
        "Threshold": "5",
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    }
    _query(aws, put)
    return _query(aws, {"Action": "DescribeAlarms", "AlarmNames.member.1": "deep"})


def test_alarms_are_described_completely(shimmed: Aws) -> None:
    xml = described_alarm(shimmed)
    assert "<AlarmName>deep</AlarmName>" in xml
    for part in ("<Period>60</Period>", "<Statistic>Maximum</Statistic>", "<Value>some-queue</Value>", "notBreaching"):
        assert part in xml


def test_plain_alarms_are_not(plain: Aws) -> None:
    assert "<Period>60</Period>" not in described_alarm(plain)


def state_after_data_of_another_queue(aws: Aws) -> str:
    cloudwatch = aws.client("cloudwatch")
    metric = {"Namespace": "Gaps", "MetricName": "Age"}
    cloudwatch.put_metric_alarm(
        AlarmName="old",
        Dimensions=[{"Name": "QueueName", "Value": "mine"}],
        Statistic="Maximum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=5,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
        **metric,
    )
    datum = {"MetricName": "Age", "Value": 9, "Dimensions": [{"Name": "QueueName", "Value": "another"}]}
    cloudwatch.put_metric_data(Namespace="Gaps", MetricData=[datum])
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=["old"])["MetricAlarms"]
    found: str = alarm["StateValue"]
    return found


def test_an_alarm_looks_at_its_own_dimensions(shimmed: Aws) -> None:
    assert state_after_data_of_another_queue(shimmed) == "OK"


def test_plain_it_looks_at_all(plain: Aws) -> None:
    assert state_after_data_of_another_queue(plain) == "ALARM"


def test_a_function_runs_on_the_bare_interpreter(shimmed: Aws) -> None:
    assert shimmed.python is not None
    assert _invoke(shimmed) == str(shimmed.python.executable.parent.parent)


def test_a_plain_function_runs_on_ministacks_own(plain: Aws) -> None:
    assert ".venv-local-aws" in _invoke(plain)


def test_what_a_function_writes_to_descriptor_1_is_logged(shimmed: Aws) -> None:
    _invoke(shimmed)
    assert "WRITTEN TO DESCRIPTOR 1" in _log(shimmed)


def test_plain_it_is_lost(plain: Aws) -> None:
    _invoke(plain)
    log = _log(plain)
    assert "START" in log
    assert "WRITTEN TO DESCRIPTOR 1" not in log


def test_dead_letters_can_be_moved_back(shimmed: Aws) -> None:
    sqs = shimmed.client("sqs")
    source, dlq, dlq_arn = _pair(shimmed, "move")
    assert sqs.list_dead_letter_source_queues(QueueUrl=dlq)["queueUrls"] == [source]
    sqs.send_message(QueueUrl=dlq, MessageBody="again")
    sqs.start_message_move_task(SourceArn=dlq_arn)
    (task,) = sqs.list_message_move_tasks(SourceArn=dlq_arn)["Results"]
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 1)
    assert sqs.receive_message(QueueUrl=source)["Messages"][0]["Body"] == "again"
    source_arn = sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    with pytest.raises(ClientError, match="Dead Letter Queue"):
        sqs.start_message_move_task(SourceArn=source_arn)


def test_plain_they_cannot(plain: Aws) -> None:
    _, _, dlq_arn = _pair(plain, "move")
    with pytest.raises(ClientError):
        plain.client("sqs").start_message_move_task(SourceArn=dlq_arn)


def test_queues_have_metrics(shimmed: Aws) -> None:
    shimmed.client("sqs").send_message(QueueUrl=_queue(shimmed, "measured"), MessageBody="x")
    wait_for(lambda: _largest_depth(shimmed, "measured") == 1, timeout=15, what="the depth is a metric")


def test_plain_queues_have_none(plain: Aws) -> None:
    plain.client("sqs").send_message(QueueUrl=_queue(plain, "measured"), MessageBody="x")
    time.sleep(2)
    assert _largest_depth(plain, "measured") is None


def test_few_processes_run_at_once_on_a_small_machine(shimmed: Aws) -> None:
    import os

    assert 1 <= _most_at_once(shimmed) <= max(2, os.cpu_count() or 1)


def test_plain_more_do_than_a_small_machine_has_processors(plain: Aws) -> None:
    assert _most_at_once(plain) > 2


def test_what_a_machine_publishes_passes_a_filter(shimmed: Aws) -> None:
    assert _filtered(shimmed) == ["by the machine"]


def test_plain_it_has_no_attributes(plain: Aws) -> None:
    assert _filtered(plain) == []


def test_a_topic_invokes_asynchronously(shimmed: Aws) -> None:
    records = _publish_to_function(shimmed, "die")
    (record,) = wait_for(records, timeout=20, what="the record of the killed run")
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 1
    assert record["requestPayload"]["Records"][0]["Sns"]["Message"] == "die"


def test_plain_it_forgets_what_fails(plain: Aws) -> None:
    records = _publish_to_function(plain, "die")
    time.sleep(3)
    assert records() == []


def test_a_throttled_notification_waits(shimmed: Aws) -> None:
    before = _ran(shimmed)
    _publish_to_function(shimmed, "one", "two", "three")
    wait_for(lambda: _ran(shimmed) == before + 3, timeout=20, what="all three have run, one after the other")


def test_plain_it_is_dropped(plain: Aws) -> None:
    before = _ran(plain)
    _publish_to_function(plain, "one", "two", "three")
    time.sleep(4)
    assert _ran(plain) < before + 3


def _service(aws: Aws, rebalancing: str) -> dict[str, Any]:
    """An ECS service without tasks, described."""
    ecs = aws.client("ecs")
    ecs.create_cluster(clusterName="gaps")
    container = {"name": "worker", "image": "example.org/none:1", "essential": True}
    ecs.register_task_definition(family="gaps", containerDefinitions=[container])
    if not ecs.list_services(cluster="gaps")["serviceArns"]:
        ecs.create_service(
            cluster="gaps",
            serviceName="gaps",
            taskDefinition="gaps",
            desiredCount=0,
            availabilityZoneRebalancing=rebalancing,
        )
    found: dict[str, Any] = ecs.describe_services(cluster="gaps", services=["gaps"])["services"][0]
    return found


def test_a_service_says_whether_it_is_rebalanced(shimmed: Aws) -> None:
    assert _service(shimmed, "ENABLED")["availabilityZoneRebalancing"] == "ENABLED"
    shimmed.client("ecs").update_service(cluster="gaps", service="gaps", availabilityZoneRebalancing="DISABLED")
    assert _service(shimmed, "DISABLED")["availabilityZoneRebalancing"] == "DISABLED"


def test_plain_it_does_not(plain: Aws) -> None:
    assert "availabilityZoneRebalancing" not in _service(plain, "ENABLED")


OF_A_SERVICE = {
    "ServiceNamespace": "ecs",
    "ResourceId": "service/gaps/gaps",
    "ScalableDimension": "ecs:service:DesiredCount",
}


def test_scaling_is_kept_as_it_was_put(shimmed: Aws) -> None:
    scaling = shimmed.client("application-autoscaling")
    with pytest.raises(ClientError, match="No scalable target"):
        scaling.put_scaling_policy(**OF_A_SERVICE, PolicyName="work", PolicyType="StepScaling")
    arn = scaling.register_scalable_target(**OF_A_SERVICE, MinCapacity=0, MaxCapacity=4, Tags={"team": "a"})
    steps = {
        "AdjustmentType": "ExactCapacity",
        "StepAdjustments": [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 4}],
    }
    policy = {"PolicyType": "StepScaling", "StepScalingPolicyConfiguration": steps}
    first = scaling.put_scaling_policy(**OF_A_SERVICE, PolicyName="work", **policy)
    assert scaling.put_scaling_policy(**OF_A_SERVICE, PolicyName="work", **policy)["PolicyARN"] == first["PolicyARN"]
    scaling.put_scaling_policy(**OF_A_SERVICE, PolicyName="idle", **policy)
    (found,) = scaling.describe_scaling_policies(ServiceNamespace="ecs", PolicyNames=["work"])["ScalingPolicies"]
    assert found["StepScalingPolicyConfiguration"] == steps
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=["service/gaps/gaps"])[
        "ScalableTargets"
    ]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 4)
    assert scaling.list_tags_for_resource(ResourceARN=arn["ScalableTargetARN"])["Tags"] == {"team": "a"}
    scaling.delete_scaling_policy(**OF_A_SERVICE, PolicyName="idle")
    scaling.deregister_scalable_target(**OF_A_SERVICE)  # and its policies with it
    assert scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"] == []
    assert scaling.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"] == []


def test_plain_there_is_no_scaling(plain: Aws) -> None:
    with pytest.raises(ClientError):
        plain.client("application-autoscaling").describe_scalable_targets(ServiceNamespace="ecs")


def _query(aws: Aws, form: dict[str, str]) -> str:
    assert aws.endpoint is not None
    request = urllib.request.Request(
        aws.endpoint,
        data=urllib.parse.urlencode({**form, "Version": "2010-08-01"}).encode(),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20300101/us-east-1/monitoring/aws4_request, "
            "SignedHeaders=host, Signature=0",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def _function(aws: Aws, name: str = "probe") -> str:
    client = aws.client("lambda")
    if not any(found["FunctionName"] == name for found in client.list_functions()["Functions"]):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("app.py", FUNCTION)
        client.create_function(
            FunctionName=name,
            Runtime="python3.13",
            Role=_role(aws, name),
            Handler="app.handler",
            Code={"ZipFile": packed.getvalue()},
            Timeout=20,
        )
    return name


def _invoke(aws: Aws) -> str:
    answer = aws.client("lambda").invoke(FunctionName=_function(aws), Payload=b"{}")
    text: str = answer["Payload"].read().decode().strip('"')
    return text


def _log(aws: Aws) -> str:
    def lines() -> list[str]:
        events = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/probe")["events"]
        return [event["message"] for event in events]

    found = wait_for(lambda: any(line.startswith("REPORT") for line in lines()) and lines(), timeout=10, what="a log")
    return "\n".join(found or [])


def _queue(aws: Aws, name: str, **attributes: str) -> str:
    url: str = aws.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def _pair(aws: Aws, name: str) -> tuple[str, str, str]:
    sqs = aws.client("sqs")
    dlq = _queue(aws, f"{name}-dlq")
    arn: str = sqs.get_queue_attributes(QueueUrl=dlq, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    source = _queue(aws, name, RedrivePolicy=f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": "3"}}')
    return source, dlq, arn


def _largest_depth(aws: Aws, queue: str) -> float | None:
    answer = aws.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="ApproximateNumberOfMessagesVisible",
        Dimensions=[{"Name": "QueueName", "Value": queue}],
        StartTime=time.time() - 300,
        EndTime=time.time() + 60,
        Period=60,
        Statistics=["Maximum"],
    )
    return max((point["Maximum"] for point in answer["Datapoints"]), default=None)


def _most_at_once(aws: Aws) -> int:
    """Let twelve messages start a function each, and see from its own log how many ran at the same time."""
    sqs = aws.client("sqs")
    url = _queue(aws, "crowd", VisibilityTimeout="120")
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    for number in range(12):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    mapping = aws.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName=_function(aws), BatchSize=1
    )

    def runs() -> list[tuple[float, float]]:
        events = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/probe")["events"]
        words = [event["message"].split() for event in events if event["message"].startswith("RAN ")]
        return [(float(start), float(end)) for _, start, end in words]

    found = wait_for(lambda: len(runs()) >= 12 and runs(), timeout=60, what="all twelve have run") or []
    aws.client("lambda").delete_event_source_mapping(UUID=mapping["UUID"])
    return max(sum(start <= moment < end for start, end in found) for moment, _ in found)


def _topic(aws: Aws, name: str, protocol: str, endpoint: str, **attributes: str) -> str:
    sns = aws.client("sns")
    arn: str = sns.create_topic(Name=name)["TopicArn"]
    sns.subscribe(TopicArn=arn, Protocol=protocol, Endpoint=endpoint, Attributes=attributes)
    return arn


def _arn(aws: Aws, queue: str) -> str:
    answer = aws.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    arn: str = answer["Attributes"]["QueueArn"]
    return arn


def _bodies(aws: Aws, queue: str, wait: int = 0) -> list[str]:
    answer = aws.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=wait)
    return [message["Body"] for message in answer.get("Messages", [])]


def _filtered(aws: Aws) -> list[str]:
    """Let a state machine publish what a subscription's filter asks for, and return what arrives."""
    topics = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"}
    queue = _queue(aws, "filtered", Policy=_policy({**topics, "Resource": "*"}))
    policy = {"RawMessageDelivery": "true", "FilterPolicy": '{"workload": ["email"]}'}
    topic = _topic(aws, "filtered", "sqs", _arn(aws, queue), **policy)
    publish = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sns:publish",
        "Parameters": {
            "TopicArn": topic,
            "Message.$": "$.body",
            "MessageAttributes": {"workload": {"DataType": "String", "StringValue": "email"}},
        },
        "End": True,
    }
    states = aws.client("stepfunctions")
    machine = states.create_state_machine(
        name="publisher",
        definition=json.dumps({"StartAt": "Publish", "States": {"Publish": publish}}),
        roleArn=_role(aws, "publisher", "sns:Publish"),
    )["stateMachineArn"]
    execution = states.start_execution(stateMachineArn=machine, input='{"body": "by the machine"}')["executionArn"]
    wait_for(
        lambda: states.describe_execution(executionArn=execution)["status"] == "SUCCEEDED",
        timeout=15,
        what="the machine has published",
    )
    return _bodies(aws, queue, wait=2)


def _publish_to_function(aws: Aws, *messages: str) -> Callable[[], list[dict[str, Any]]]:
    """Publish to a topic that invokes a function one at a time; returns what reads its failure destination."""
    function, queue = _function(aws, "notified"), _queue(aws, "failures")
    client = aws.client("lambda")
    client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=1)
    client.put_function_event_invoke_config(
        FunctionName=function,
        MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": _arn(aws, queue)}},
    )
    arn = client.get_function(FunctionName=function)["Configuration"]["FunctionArn"]
    topic = _topic(aws, "notifications", "lambda", arn)
    for message in messages:
        aws.client("sns").publish(TopicArn=topic, Message=message)
    return lambda: [json.loads(body) for body in _bodies(aws, queue)]


def _ran(aws: Aws) -> int:
    """How many runs of the notified function have ended well."""
    _function(aws, "notified")
    try:
        events = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/notified")["events"]
    except ClientError:  # nothing has been logged yet
        return 0
    return sum(event["message"].startswith("RAN ") for event in events)


def _role_client(aws: Aws, service: str) -> Any:
    """A client with the credentials of such a role."""
    keys = aws.client("sts").assume_role(RoleArn=_role(aws, "sender"), RoleSessionName="test")["Credentials"]
    return boto3.client(
        service,
        endpoint_url=aws.endpoint,
        region_name=aws.region,
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )


def _role(aws: Aws, name: str, action: str = "sqs:SendMessage") -> str:
    """A role that may send messages, or do one other thing, and nothing else."""
    iam = aws.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    may = {"Effect": "Allow", "Action": action, "Resource": "*"}
    arn: str = iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="send", PolicyDocument=_policy(may))
    return arn


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _send_batch_as_role(aws: Aws) -> dict[str, Any]:
    sqs = _role_client(aws, "sqs")
    url = _queue(aws, "batch")
    answer: dict[str, Any] = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "1", "MessageBody": "x"}])
    return answer


def test_a_batch_call_needs_the_permission_of_the_single_one(shimmed: Aws) -> None:
    assert len(_send_batch_as_role(shimmed)["Successful"]) == 1


def test_plain_it_needs_one_that_aws_does_not_have(plain: Aws) -> None:
    with pytest.raises(ClientError, match="SendMessageBatch"):
        _send_batch_as_role(plain)


SAYS_ITS_TIME = '{"time": "<aws.scheduler.scheduled-time>", "attempt": "<aws.scheduler.attempt-number>"}'


def _scheduled(aws: Aws, name: str, *, zone: str = "UTC", trusts: str = "", universal: bool = True) -> tuple[str, str]:
    """A schedule for two seconds from now; returns its time in UTC, and the URL of the queue that it sends to."""
    client, sqs = aws.client("scheduler"), aws.client("sqs")
    group = client.create_schedule_group(Name=name)["ScheduleGroupArn"]
    condition = {"ArnEquals": {"aws:SourceArn": trusts or group}}
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = aws.client("iam").create_role(
        RoleName=name, AssumeRolePolicyDocument=_policy({**trust, "Condition": condition})
    )["Role"]["Arn"]
    may = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}
    aws.client("iam").put_role_policy(RoleName=name, PolicyName="send", PolicyDocument=_policy(may))
    url, dlq = _queue(aws, name), _queue(aws, f"{name}-dlq")
    arns = [
        sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        for queue in (url, dlq)
    ]
    attributes = {"workload": {"DataType": "String", "StringValue": "email"}}
    call = json.dumps({"QueueUrl": url, "MessageBody": "BODY", "MessageAttributes": attributes})
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    client.create_schedule(
        Name=name,
        GroupName=name,
        ScheduleExpression=f"at({soon.astimezone(ZoneInfo(zone)).strftime('%Y-%m-%dT%H:%M:%S')})",
        ScheduleExpressionTimezone=zone,
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": "arn:aws:scheduler:::aws-sdk:sqs:sendMessage" if universal else arns[0],
            "RoleArn": role,
            "Input": call.replace("BODY", json.dumps(SAYS_ITS_TIME)[1:-1]) if universal else SAYS_ITS_TIME,
            "DeadLetterConfig": {"Arn": arns[1]},
        },
    )
    return soon.strftime("%Y-%m-%dT%H:%M:%SZ"), url


def _sent(aws: Aws, url: str, within: float = 15) -> dict[str, Any]:
    def look() -> list[dict[str, Any]]:
        asked = {"MessageAttributeNames": ["All"], "WaitTimeSeconds": 1}
        found: list[dict[str, Any]] = aws.client("sqs").receive_message(QueueUrl=url, **asked).get("Messages", [])
        return found

    (message,) = wait_for(look, timeout=within, what="the schedule has sent")
    return message


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_schedule_calls_any_api_in_its_time_zone_and_says_its_time(shimmed: Aws, zone: str) -> None:
    moment, url = _scheduled(shimmed, f"in-{zone.replace('/', '-').lower()}", zone=zone)
    message = _sent(shimmed, url, within=6)
    assert json.loads(message["Body"]) == {"time": moment, "attempt": "1"}
    assert message["MessageAttributes"]["workload"]["StringValue"] == "email"


def test_a_schedule_whose_role_trusts_another_group_sends_to_its_dead_letter_queue(shimmed: Aws) -> None:
    others = "arn:aws:scheduler:us-east-1:000000000000:schedule-group/others"
    moment, url = _scheduled(shimmed, "foreign", trusts=others)
    letter = _sent(shimmed, f"{url}-dlq", within=6)
    assert letter["MessageAttributes"]["SCHEDULED_TIME"]["StringValue"] == moment
    assert json.loads(json.loads(letter["Body"])["MessageBody"])["time"] == moment
    assert shimmed.client("sqs").receive_message(QueueUrl=url).get("Messages", []) == []


def test_a_plain_schedule_sends_its_input_as_it_is(plain: Aws) -> None:
    _, url = _scheduled(plain, "plain", universal=False)
    assert _sent(plain, url, within=20)["Body"] == SAYS_ITS_TIME


def test_the_list_of_gaps_is_complete() -> None:
    files = {file.stem for file in (Path(__file__).parent / "shim").glob("*.py")} - {"__init__", "__main__"}
    assert files == set(GAPS)
