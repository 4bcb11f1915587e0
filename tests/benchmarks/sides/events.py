"""SQS events as Lambda hands them over, and the context beside them."""

import json
import time
from collections.abc import Sequence
from typing import Any

QUEUE_ARN = "arn:aws:sqs:eu-central-1:123456789012:bench-default"


def job_name(number: int) -> str:
    return f"bench.subject_{number:05}.work"


def payload(number: int) -> dict[str, Any]:
    return {"invoice_id": f"INV-2031-{number:06}", "customer": "ACME Widgets GmbH", "amount": 129.9, "lines": 3}


def body(job: str, number: int = 0) -> str:
    """An envelope of about 330 bytes."""
    envelope = {
        "id": f"0b51f1a2-6c2e-4f0e-9d6a-{number:012}",
        "job": job,
        "v": 1,
        "correlation": f"order-2031-{number:012}",
        "enqueued_at": "2031-01-01T00:00:00.000000Z",
        "payload": payload(number),
    }
    return json.dumps(envelope, separators=(",", ":"))


def sqs_event(jobs: Sequence[str]) -> dict[str, Any]:
    """One batch with a message per name."""
    return {
        "Records": [
            {
                "messageId": f"059f36b4-87a3-44ab-83d2-{number:012}",
                "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a" + "x" * 200,
                "body": body(job, number),
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1924992000000",
                    "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                    "ApproximateFirstReceiveTimestamp": "1924992000001",
                },
                "messageAttributes": {
                    "workload": {"dataType": "String", "stringValue": "default", "binaryListValues": []},
                    "job": {"dataType": "String", "stringValue": job, "binaryListValues": []},
                },
                "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
                "eventSource": "aws:sqs",
                "eventSourceARN": QUEUE_ARN,
                "awsRegion": "eu-central-1",
            }
            for number, job in enumerate(jobs)
        ]
    }


class LambdaContext:
    """The members of Lambda's context that the sides use; the remaining time is computed, as Lambda does."""

    aws_request_id = "8476a536-e9f4-11e8-9739-2dfe598c3fcd"
    function_name = "bench-default"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:bench-default"

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._deadline = time.time() + 60

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.time()) * 1000))
