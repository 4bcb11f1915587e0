"""The warm path, in one process: ``main(PACKAGE, BATCH, ROUNDS, RESULT)``.

Every side gets the same events and writes its log to file descriptor 1, which the caller points at the null device.
"""

import json
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from . import powertools_consumer
from .events import LambdaContext, job_name, sqs_event
from .rounds import interleaved

TYPES = 15
MESSAGES = 3_000  # of one side in one round

Handler = Callable[[Any, Any], Any]


def floor(names: list[str]) -> Handler:
    """The least that a consumer of many job types can do: ``json.loads``, a dict, and the list of failures."""
    jobs: dict[str, Callable[[dict[str, Any]], None]] = {name: lambda payload: None for name in names}

    def handler(event: Any, context: Any) -> Any:
        failures = []
        for record in event["Records"]:
            try:
                envelope = json.loads(record["body"])
                jobs[envelope["job"]](envelope["payload"])
            except Exception:
                failures.append({"itemIdentifier": record["messageId"]})
        return {"batchItemFailures": failures}

    return handler


def timed(handler: Handler, event: Any) -> Callable[[], float]:
    """CPU seconds of one round. No side waits for anything, and CPU time leaves out what other processes take."""
    context = LambdaContext()
    repeats = MESSAGES // len(event["Records"])

    def once() -> float:
        context.renew()
        started = time.process_time()
        for _ in range(repeats):
            answer = handler(event, context)
        seconds = time.process_time() - started
        if answer != {"batchItemFailures": []}:
            raise SystemExit(f"jobs failed: {answer}")
        return seconds

    return once


def main(package: str, batch: str, rounds: str, result: str) -> None:
    names = [job_name(number) for number in range(TYPES)]
    powertools_consumer.register(names)
    event = sqs_event([names[number % TYPES] for number in range(int(batch))])
    sides = {
        "floor": floor(names),
        "powertools": powertools_consumer.handler,
        "runtime": import_module(f"{package}.app").app.lambda_handler(acknowledge="batch"),
    }
    samples = interleaved({name: timed(handler, event) for name, handler in sides.items()}, int(rounds))
    Path(result).write_text(json.dumps(samples), encoding="ascii")
