"""A topic, a function without a queue, its delay machine and its dead-letter queue, in memory and with a clock."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError
from runtime.app import App
from runtime.job import JobClass
from runtime.ledger import JobLedger
from runtime.table import MemoryTable

from .helpers import NOW, Aws, app_of, invocation, stack

TOPIC_ARN = "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"


def notification(
    text: object, message_id: str = "n-1", *, attributes: Any = None, at: datetime = NOW, **fields: Any
) -> dict[str, Any]:
    """One record of an event as SNS hands it to a function."""
    attributes = {"workload": {"Type": "String", "Value": "email"}} if attributes is None else attributes
    return {
        "EventSource": "aws:sns",
        "EventVersion": "1.0",
        "EventSubscriptionArn": f"{TOPIC_ARN}:6e0e7e5e-7b0f-4d4b-b6c5-0b3f4f2f9a51",
        "Sns": {
            "Type": "Notification",
            "MessageId": message_id,
            "TopicArn": TOPIC_ARN,
            "Subject": None,
            "Message": text,
            "Timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            "SignatureVersion": "1",
            "Signature": "U0lHTkFUVVJF",
            "SigningCertUrl": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem",
            "UnsubscribeUrl": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
            "MessageAttributes": {"workload": {"Type": "String", "Value": "email"}}
            if attributes is None
            else attributes,
            **fields,
        },
    }


def record_of_failure(event: object, error: str = "Runtime.ExitError") -> str:
    """What Lambda sends to a failure destination (developer guide, "Capturing records of Lambda asynchronous
    invocations").
    """
    return json.dumps(
        {
            "version": "1.0",
            "timestamp": "2030-01-01T00:00:05.000Z",
            "requestContext": {
                "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
                "functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:shop-email:$LATEST",
                "condition": "RetriesExhausted",
                "approximateInvokeCount": 1,
            },
            "requestPayload": event,
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "responsePayload": {"errorType": error, "errorMessage": "RequestId: c6af9ac6 Error: ..."},
        }
    )


class Clients(Aws):
    """Step Functions, too: an execution's name is taken for good."""

    def __init__(self) -> None:
        super().__init__()
        self.executions: dict[str, str] = {}

    def start_execution(self, **arguments: Any) -> dict[str, Any]:
        answer = self._call("start_execution", arguments)
        if arguments["name"] in self.executions:
            raise ClientError({"Error": {"Code": "ExecutionAlreadyExists", "Message": "taken"}}, "StartExecution")
        self.executions[arguments["name"]] = arguments["input"]
        return answer

    def describe_execution(self, *, executionArn: str) -> dict[str, Any]:  # noqa: N803
        return {"input": self.executions[executionArn.rpartition(":")[2]], "status": "SUCCEEDED"}


class Direct:
    """Publishes to the function, and carries out what it has started."""

    def __init__(self, *jobs: JobClass, ledger: bool = True, config: Mapping[str, Any] | None = None) -> None:
        self.time = NOW
        self.aws = Clients()
        settings = {"queue_url": "", "max_receive_count": 0, "delay_machine_arn": MACHINE, **(config or {})}
        self.app: App = app_of(self.aws, *jobs, config=stack(**settings))
        self.app.now = lambda: self.time
        if ledger:
            vars(self.app)["ledger"] = JobLedger("shop", MemoryTable(), lambda: self.time, workload="email")
        self.handler = self.app.direct_handler()
        self.failed: list[str] = []
        self._published = 0

    def invoke(self, *records: Mapping[str, Any], remaining: float = 60.0) -> None:
        """As Lambda does: what raises goes to the failure destination."""
        event = {"Records": list(records)}
        try:
            assert self.handler(event, invocation(lambda: remaining)) is None
        except Exception as error:
            self.failed.append(record_of_failure(event, type(error).__name__))

    def publish(self, text: str, message_id: str = "") -> None:
        self._published += 1
        self.invoke(notification(text, message_id or f"n-{self._published}", at=self.time))

    @property
    def trips(self) -> list[dict[str, Any]]:
        """The inputs of the executions that were started."""
        return [json.loads(text) for text in self.aws.executions.values()]

    @property
    def letters(self) -> list[dict[str, Any]]:
        return self.aws.of("send_message")

    def due(self, trip: Mapping[str, Any]) -> timedelta:
        return datetime.fromisoformat(trip["at"]) - self.time

    def carry_on(self, *, trips: int = 1000) -> list[timedelta]:
        """Let the clock run and the machine publish until nothing waits any more; the waits, in order."""
        waits: list[timedelta] = []
        done = 0
        while done < len(self.trips):
            assert len(waits) < trips, f"still going after {trips} trips"
            trip = self.trips[done]
            done += 1
            waits.append(self.due(trip))
            self.time = max(self.time, datetime.fromisoformat(trip["at"]))
            self.publish(trip["body"], str(uuid4()))
        return waits
