"""Carrying outcomes out on SQS: the side message first, then the acknowledgement, and nothing lost when SQS fails."""

import json
import math
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber
from moto import mock_aws
from runtime.engine import Report
from runtime.observability import Observer
from runtime.outcome import MAX_WAIT, Defer, Kind, Outcome, Permanent
from runtime.policy import fixed
from runtime.settlement import MAX_VISIBILITY, Settlement

from .helpers import DLQ_URL, QUEUE_URL, Aws, Work, app_of, body, delivery, failures, invocation, job_of, seconds, stack


class Setting:
    def __init__(self, aws: Any, *, parks: bool = False, **fields: Any) -> None:
        self.written: list[dict[str, Any]] = []
        observer = Observer("shop", "email", write=lambda line: self.written.append(json.loads(line)))
        self.settlement = Settlement(lambda: aws, stack(**fields), observer, code_version="code-1", parks=parks)

    def settle(self, kind: Kind, delay: timedelta | None = None, **fields: Any) -> float | None:
        return self.settlement.settle(Report(delivery(**fields), Outcome(kind, "why", delay)))


@pytest.mark.parametrize("kind", [Kind.SUCCEEDED, Kind.DUPLICATE, Kind.DISCARDED])
def test_what_is_done_needs_no_call(aws: Aws, kind: Kind) -> None:
    setting = Setting(aws)
    assert setting.settle(kind) is None
    setting.settlement.flush()
    assert aws.calls == []


@pytest.mark.parametrize("kind", [Kind.DEAD, Kind.PARKED])
def test_dead_and_parked_are_copied_before_they_may_be_acknowledged(aws: Aws, kind: Kind) -> None:
    assert Setting(aws).settle(kind) is None
    (letter,) = aws.of("send_message")
    assert (letter["QueueUrl"], letter["MessageBody"]) == (DLQ_URL, body())


def test_a_ledger_that_keeps_parked_jobs_needs_no_copy(aws: Aws) -> None:
    assert Setting(aws, parks=True).settle(Kind.PARKED) is None
    assert aws.calls == []
    assert Setting(aws, parks=True).settle(Kind.DEAD) is None
    assert len(aws.calls) == 1


@pytest.mark.parametrize(("kind", "used_up"), [(Kind.RETRY, 3), (Kind.DEFER, 2)])
def test_after_hours_of_work_a_long_wait_takes_a_new_message(aws: Aws, kind: Kind, used_up: int) -> None:
    since = 100.0 - 10 * 3600  # the tests' clock stands at 100
    setting = Setting(aws)
    assert setting.settle(kind, timedelta(hours=1), held_since=since) == 3600
    assert setting.settle(kind, timedelta(hours=3), held_since=since, receive_count=3) is None
    (copy,) = aws.of("send_message")
    assert (copy["QueueUrl"], copy["DelaySeconds"]) == (QUEUE_URL, 900)
    content = json.loads(copy["MessageBody"])
    assert content["attempts_before"] == used_up
    assert "not_before" in content


def test_on_a_fifo_queue_it_comes_early_instead(aws: Aws) -> None:
    setting = Setting(aws)
    since = 100.0 - 10 * 3600
    assert setting.settle(Kind.RETRY, timedelta(hours=3), held_since=since, fifo=True, group="g") == 3 * 3600
    setting.settlement.flush()
    (call,) = aws.of("change_message_visibility_batch")
    assert call["Entries"][0]["VisibilityTimeout"] == MAX_VISIBILITY - 10 * 3600


@pytest.mark.parametrize("kind", [Kind.RETRY, Kind.DEFER])
@pytest.mark.parametrize("delay", [None, seconds(0), seconds(0.2), seconds(90), MAX_WAIT])
def test_what_comes_again_waits_by_visibility(aws: Aws, kind: Kind, delay: timedelta | None) -> None:
    setting = Setting(aws)
    assert setting.settle(kind, delay) == (delay.total_seconds() if delay else 0)
    assert aws.calls == []  # one call for the whole batch, at its end
    setting.settlement.flush()
    (call,) = aws.of("change_message_visibility_batch")
    assert call["QueueUrl"] == QUEUE_URL
    assert call["Entries"] == [
        {"Id": "0", "ReceiptHandle": "h-1", "VisibilityTimeout": math.ceil(delay.total_seconds()) if delay else 0}
    ]


def test_a_wait_counts_from_the_outcome_and_not_from_the_end_of_the_batch(
    aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("runtime.settlement.time", SimpleNamespace(monotonic=lambda: clock[0]))
    setting = Setting(aws)
    setting.settle(Kind.RETRY, seconds(90))
    setting.settle(Kind.RETRY, seconds(5))
    setting.settlement.wait(delivery(), MAX_VISIBILITY + 500)
    clock[0] += 30
    setting.settlement.flush()
    (call,) = aws.of("change_message_visibility_batch")
    assert [entry["VisibilityTimeout"] for entry in call["Entries"]] == [60, 0, MAX_VISIBILITY]


def test_a_lost_job_is_left_alone(aws: Aws) -> None:
    setting = Setting(aws)
    assert setting.settle(Kind.LOST) == 0.0
    setting.settlement.flush()
    assert aws.calls == []


def test_waits_go_ten_a_call_and_once(aws: Aws) -> None:
    setting = Setting(aws)
    for number in range(23):
        setting.settle(Kind.RETRY, seconds(1), handle=f"h-{number}")
    setting.settlement.flush()
    setting.settlement.flush()
    calls = aws.of("change_message_visibility_batch")
    assert [len(call["Entries"]) for call in calls] == [10, 10, 3]
    assert [e["ReceiptHandle"] for call in calls for e in call["Entries"]] == [f"h-{n}" for n in range(23)]
    assert all(len({e["Id"] for e in call["Entries"]}) == len(call["Entries"]) for call in calls)


def test_one_failed_call_does_not_stop_the_next(aws: Aws) -> None:
    aws.fail("change_message_visibility_batch", ConnectionError("SECRET"))
    setting = Setting(aws)
    for _ in range(11):
        setting.settle(Kind.RETRY, seconds(1))
    setting.settlement.flush()
    assert len(aws.calls) == 2
    assert [line["message"] for line in setting.written] == ["visibility change failed"] * 2
    assert {line["error"] for line in setting.written} == {"ConnectionError"}
    assert "SECRET" not in str(setting.written)


def test_a_refused_entry_is_reported(aws: Aws) -> None:
    aws.answers["change_message_visibility_batch"] = lambda call: {
        "Successful": [],
        "Failed": [{"Id": "0", "Code": "ReceiptHandleIsInvalid", "SenderFault": True}],
    }
    setting = Setting(aws)
    setting.settle(Kind.RETRY, seconds(1))
    setting.settlement.flush()
    assert [(line["level"], line["error"]) for line in setting.written] == [("WARNING", "ReceiptHandleIsInvalid")]


@pytest.mark.parametrize("fields", [{}, {"dlq_url": ""}])
def test_without_a_dead_letter_the_message_stays_for_a_minute(aws: Aws, fields: dict[str, Any]) -> None:
    aws.fail("send_message", ConnectionError())
    setting = Setting(aws, **fields)
    assert setting.settle(Kind.DEAD) == 60.0
    setting.settlement.flush()
    assert aws.of("change_message_visibility_batch")[0]["Entries"][0]["VisibilityTimeout"] == 60
    assert [(line["level"], line["message"]) for line in setting.written] == [("ERROR", "dead letter not sent")]
    assert setting.written[0]["message_id"] == "m-1"


def test_the_calls_are_what_botocore_expects() -> None:
    """Parameters are checked against the service model."""
    sqs = boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test")
    with Stubber(sqs) as stub:
        stub.add_response(
            "send_message",
            {"MessageId": "m"},
            {
                "QueueUrl": DLQ_URL,
                "MessageBody": "hello",
                "MessageAttributes": ANY,
                "MessageGroupId": "A",
                "MessageDeduplicationId": "m-1-2",
            },
        )
        stub.add_response("delete_message", {}, {"QueueUrl": QUEUE_URL, "ReceiptHandle": "h-1"})
        stub.add_response(
            "change_message_visibility_batch",
            {"Successful": [{"Id": "0"}], "Failed": []},
            {
                "QueueUrl": QUEUE_URL,
                "Entries": [{"Id": "0", "ReceiptHandle": "h-1", "VisibilityTimeout": 7}],
            },
        )
        setting = Setting(sqs)
        picture = {"picture": {"DataType": "Binary", "BinaryValue": b"\0"}}
        assert (
            setting.settle(Kind.DEAD, text="hello", fifo=True, group="A", receive_count=2, attributes=picture) is None
        )
        setting.settlement.acknowledge(delivery())
        setting.settle(Kind.RETRY, seconds(7))
        setting.settlement.flush()
        stub.assert_no_pending_responses()
        assert setting.written == []


def record_of(message: Any, arn: str) -> dict[str, Any]:
    """A received message as Lambda hands it on."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
            for name, value in message.get("MessageAttributes", {}).items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
    }


@mock_aws
def test_one_round_trip_from_publish_to_settlement(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    clients = {name: boto3.client(name, region_name="eu-west-1") for name in ("sns", "sqs")}
    sns, sqs = clients["sns"], clients["sqs"]
    queue, dlq = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("shop-email", "shop-email-dlq"))
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="shop-jobs")["TopicArn"]
    policy = {"RawMessageDelivery": "true", "FilterPolicy": '{"workload": ["email"]}'}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=policy)

    def act(args: Work, ctx: Any) -> None:
        errors: dict[str, Exception] = {"dead": Permanent("gone"), "wait": Defer(seconds(600)), "retry": ValueError()}
        if args.label in errors:
            raise errors[args.label]

    job = job_of(act, retry=fixed(seconds(300), max_attempts=5))
    app = app_of(Aws(), job, config=stack(queue_url=queue, dlq_url=dlq, topic_arn=topic))
    app.client = clients.__getitem__
    labels = ["done", "dead", "wait", "retry"]
    assert all(result.ok for result in app.enqueue_many(job, [Work(label=label) for label in labels]))
    other = job_of(lambda args, ctx: None, workload="pictures")
    app.enqueue(other, Work())  # the filter keeps it out of this queue
    app.enqueue(job, Work(label="later"), delay=seconds(900))

    def receive(url: str) -> list[Any]:
        got = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]
        )
        return list(got.get("Messages", []))

    messages = receive(queue)
    assert len(messages) == 4
    failed = failures(app.lambda_handler()({"Records": [record_of(m, arn) for m in messages]}, invocation()))
    names = {m["MessageId"]: json.loads(m["Body"])["payload"]["label"] for m in messages}
    assert sorted(names[message_id] for message_id in failed) == ["retry", "wait"]
    for message in messages:  # as the event source mapping does it
        if message["MessageId"] not in failed:
            with suppress(sqs.exceptions.ReceiptHandleIsInvalid):  # already deleted: moto raises, SQS does not
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "0"
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "2"
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"
    (letter,) = receive(dlq)
    original = next(m for m in messages if names[m["MessageId"]] == "dead")
    assert letter["Body"] == original["Body"]
    assert letter["MessageAttributes"].keys() == {"workload", "job", "dead"}
    note = json.loads(letter["MessageAttributes"]["dead"]["StringValue"])
    assert (note["reason"], note["error"], note["attempt"], note["source"]) == ("gone", "Permanent", 1, arn)
