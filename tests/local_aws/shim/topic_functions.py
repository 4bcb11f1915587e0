"""A topic invokes a function asynchronously, as on AWS: by the function's own retry setting, with a record of a run
that failed for the failure destination, and again and again while no run is free.

MiniStack runs the function once and forgets a failure, a killed process and a throttled call alike.
"""

import json
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from ministack.services import lambda_svc, sns, sqs

THROTTLED_SECONDS = 0.2  # AWS begins with a second and goes up to five minutes
RETRY_SECONDS = 1.0  # AWS waits one minute, then two


class _Asynchronous:
    """MiniStack's Lambda as its SNS sees it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(lambda_svc, name)

    def _execute_function_with_config_scope(self, function: dict[str, Any], event: dict[str, Any]) -> None:
        """In a thread of its own already."""
        settings = function.get("event_invoke_config") or {}
        oldest = time.time() + int(settings.get("MaximumEventAgeInSeconds", 21_600))
        retries = int(settings.get("MaximumRetryAttempts", 2))
        runs, condition, result = 0, "EventAgeExceeded", {}
        while time.time() < oldest:
            result = lambda_svc._execute_function_with_config_scope(function, event)
            if result.get("throttle"):
                time.sleep(THROTTLED_SECONDS)
                continue
            if not result.get("error"):
                return
            runs += 1
            if runs > retries:
                condition = "RetriesExhausted"
                break
            time.sleep(RETRY_SECONDS)
        destination = (settings.get("DestinationConfig") or {}).get("OnFailure", {}).get("Destination")
        if destination:
            _send(destination, _record(function, event, condition, runs, result))


def install() -> None:
    sns._lambda_svc = _Asynchronous()


def _record(
    function: dict[str, Any], event: dict[str, Any], condition: str, runs: int, result: dict[str, Any]
) -> dict[str, Any]:
    """In the form of the Lambda developer guide, "Capturing records of Lambda asynchronous invocations"."""
    return {
        "version": "1.0",
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "functionArn": f"{function['config']['FunctionArn']}:$LATEST",
            "condition": condition,
            "approximateInvokeCount": runs,
        },
        "requestPayload": event,
        "responseContext": {
            "statusCode": 200,
            "executedVersion": "$LATEST",
            "functionError": result.get("function_error") or "Unhandled",
        },
        "responsePayload": result.get("body"),
    }


def _send(destination: str, record: dict[str, Any]) -> None:
    for url, queue in list(sqs._queues.items()):
        if queue["attributes"].get("QueueArn") == destination:
            sqs._act_send_message({"QueueUrl": url, "MessageBody": json.dumps(record, default=str)}, url)
