"""A consumer as the Powertools documentation writes it: Logger, Metrics, BatchProcessor and pydantic models.

Per job it validates header and payload, dispatches, logs one line and adds two metrics (a count and a time, fewer than
the runtime under test keeps).
"""

import time
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from pydantic import BaseModel

from .one_model import InvoiceArgs

logger = Logger(service="bench")
metrics = Metrics(namespace="BackgroundJobs", service="bench")
processor = BatchProcessor(event_type=EventType.SQS)


class Envelope(BaseModel):
    id: str
    job: str
    v: int = 1
    correlation: str | None = None
    enqueued_at: str | None = None
    payload: dict[str, Any]


class Registration:
    def __init__(self, model: type[BaseModel], run: Callable[[BaseModel], None]) -> None:
        self.model, self.run = model, run


def no_op(args: BaseModel) -> None:
    pass


JOBS: dict[str, Registration] = {}


def register(names: list[str]) -> None:
    for name in names:
        JOBS[name] = Registration(InvoiceArgs, no_op)


def record_handler(record: SQSRecord) -> None:
    envelope = Envelope.model_validate_json(record.body)
    job = JOBS[envelope.job]
    args = job.model.model_validate(envelope.payload)
    started = time.monotonic()
    job.run(args)
    milliseconds = (time.monotonic() - started) * 1000
    logger.info(
        "job succeeded",
        extra={"job": envelope.job, "job_id": envelope.id, "message_id": record.message_id, "run_ms": milliseconds},
    )
    metrics.add_metric(name="JobSucceeded", unit=MetricUnit.Count, value=1)
    metrics.add_metric(name="RunMs", unit=MetricUnit.Milliseconds, value=milliseconds)


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> Any:
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)
