"""The packaged handler under awslambdaric, the client of Lambda's managed runtimes, with nothing beside it but what
they bring.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.local_aws.engine import Aws
from tests.local_aws.interpreters import FunctionPython
from tests.local_aws.project import Project
from tests.local_aws.runtime_api import Function

pytestmark = pytest.mark.xdist_group("stack")


@pytest.fixture(scope="module")
def queues(aws: Aws) -> Iterator[dict[str, str]]:
    sqs = aws.client("sqs")
    urls = {name: sqs.create_queue(QueueName=f"runtime-client-{name}")["QueueUrl"] for name in ("source", "dlq")}
    yield urls
    for url in urls.values():
        sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def function(
    aws: Aws,
    queues: dict[str, str],
    lambda_zip: Path,
    consumer: Project,
    lambda_python: FunctionPython,
    tmp_path: Path,
) -> Iterator[Function]:
    with zipfile.ZipFile(lambda_zip) as archive:
        archive.extractall(tmp_path)
    environment = {
        **aws.settings,
        "JOBS_WORKLOAD": "calendar",
        "JOBS_QUEUE_URL": queues["source"],
        "JOBS_DLQ_URL": queues["dlq"],
        "JOBS_MAX_RECEIVE_COUNT": "10",
        "POWERTOOLS_SERVICE_NAME": "runtime-client",
    }
    with Function(lambda_python.executable, tmp_path, consumer.handler, environment) as started:
        yield started


def event_of(aws: Aws, queue: str, bodies: list[str]) -> dict[str, Any]:
    """Send the bodies and receive them as the event source mapping would."""
    sqs = aws.client("sqs")
    received: dict[str, dict[str, Any]] = {}
    for body in bodies:
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    while len(received) < len(bodies):
        answer = sqs.receive_message(
            QueueUrl=queue, MaxNumberOfMessages=10, AttributeNames=["All"], WaitTimeSeconds=1, VisibilityTimeout=60
        )
        received |= {message["Body"]: message for message in answer.get("Messages", [])}
    records = [
        {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": body,
            "attributes": message["Attributes"],
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:runtime-client-source",
            "awsRegion": "us-east-1",
        }
        for body in bodies
        for message in [received[body]]
    ]
    return {"Records": records}


def job(job_id: str, **payload: object) -> str:
    return json.dumps({"id": job_id, "job": "probes.standard", "payload": {"label": job_id, **payload}})


def outcomes(function: Function) -> list[tuple[str | None, str]]:
    lines = [json.loads(line) for line in function.output if line.startswith("{")]
    return [(line["job_id"], line["outcome"]) for line in lines if "outcome" in line]


def test_a_mixed_batch(function: Function, aws: Aws, queues: dict[str, str]) -> None:
    bodies = [job("good"), "no job at all", job("fails", fail_attempts=1), job("late")]
    event = event_of(aws, queues["source"], bodies)
    answer = function.invoke(event)
    assert answer.kind == "ok", answer
    assert answer.value == {"batchItemFailures": [{"itemIdentifier": event["Records"][2]["messageId"]}]}
    assert outcomes(function) == [("good", "succeeded"), (None, "dead"), ("fails", "retry"), ("late", "succeeded")]
    letters = aws.client("sqs").receive_message(QueueUrl=queues["dlq"], MessageAttributeNames=["All"])["Messages"]
    assert [letter["Body"] for letter in letters] == ["no job at all"]


def test_a_warm_process_serves_again(function: Function, aws: Aws, queues: dict[str, str]) -> None:
    for number in range(3):
        answer = function.invoke(event_of(aws, queues["source"], [job(f"warm-{number}")]))
        assert (answer.kind, answer.value) == ("ok", {"batchItemFailures": []})
    cold = [json.loads(line)["cold_start"] for line in function.output if '"outcome"' in line]
    assert cold == [True, False, False]


@pytest.mark.parametrize("event", [{}, None, [], {"Records": []}, {"source": "aws.events", "detail": {}}])
def test_a_foreign_event_is_an_error_so_that_nothing_is_deleted(function: Function, event: object) -> None:
    answer = function.invoke(event)
    assert answer.kind == "error"
    assert answer.value["errorType"] == "ForeignEventError"


def test_a_killed_process_answers_nothing(function: Function, aws: Aws, queues: dict[str, str]) -> None:
    answer = function.invoke(event_of(aws, queues["source"], [job("killer", kill_on_attempt=1)]))
    assert answer.kind == "crash"
    assert outcomes(function) == []
