"""One structured line per job, one EMF document per invocation, and the Powertools objects a job may ask for.

The field names are Powertools', so that one query finds the runtime's lines and a job's own. They are written directly,
because stock Logger and Metrics cost several times all the rest of a message's path. No payload is ever logged: only
the fields a job lists, and of an exception only its class and place, since its text may quote the payload (the dead
letter has it).
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from .envelope import request_fields
from .outcome import Kind

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger, Metrics

    from .engine import Report

DEFAULT_NAMESPACE = "BackgroundJobs"
EMF_VALUES_PER_METRIC = 100  # CloudWatch embedded metric format specification: longer arrays are dropped
_LEVELS = {
    Kind.RETRY: "WARNING",
    Kind.DEAD: "ERROR",
    Kind.PARKED: "ERROR",
    Kind.LOST: "WARNING",
    Kind.DISCARDED: "WARNING",
}
COUNTERS = {
    Kind.SUCCEEDED: "JobSucceeded",
    Kind.RETRY: "JobRetried",
    Kind.DEFER: "JobDeferred",
    Kind.DEAD: "JobDead",
    Kind.PARKED: "JobParked",
    Kind.DISCARDED: "JobDiscarded",
    Kind.DUPLICATE: "JobDuplicate",
    Kind.LOST: "JobLost",
}
DEPENDENCY_DOWN = ("circuit_open:", "dependency_down:")  # how a breaker begins the reason of what it puts off
# Plain texts, looked up once: an enum member is slow to format and slower to serialize.
_WORDS = {kind: (_LEVELS.get(kind, "INFO"), f"job {kind}", COUNTERS[kind], str(kind)) for kind in Kind}
Write = Callable[[bytes], None]


def write_stdout(line: bytes) -> None:
    """Write to file descriptor 1 itself: a job may have closed or replaced ``sys.stdout``. Losing a log line never
    loses a job.
    """
    try:
        while line:
            line = line[os.write(1, line) :]
    except OSError:
        return


def _json(content: Mapping[str, Any]) -> bytes:
    return to_json(content, ensure_ascii=True, inf_nan_mode="strings", bytes_mode="base64", serialize_unknown=True)


class Observer:
    """Collects what happened in one invocation and writes it.

    Args:
        service: the stack's name, the first metric dimension.
        workload: the second.
        namespace: CloudWatch namespace of the metrics.
        write: where bytes go.
    """

    def __init__(
        self, service: str, workload: str, namespace: str = DEFAULT_NAMESPACE, write: Write = write_stdout
    ) -> None:
        self._service, self._workload, self._namespace, self._write = service, workload, namespace, write
        self._request: dict[str, Any] = {}
        self._cold = True
        self._counts: dict[str, int] = {}
        self._values: dict[str, list[float]] = {}

    def start(self, request_id: str | None) -> None:
        """Begin an invocation."""
        self._request = {"function_request_id": request_id, "cold_start": self._cold}
        trace = os.environ.get("_X_AMZN_TRACE_ID")
        if trace:
            self._request["xray_trace_id"] = trace.partition(";")[0].removeprefix("Root=")
        self._cold = False

    def job(self, report: "Report") -> None:
        """Write the line of one delivery and count it."""
        outcome, delivery, envelope = report.outcome, report.delivery, report.envelope
        finished = report.finished_at or datetime.now(UTC)
        level, message, counter, kind = _WORDS[outcome.kind]
        line: dict[str, Any] = {
            "level": level,
            "message": message,
            "timestamp": finished.isoformat(timespec="milliseconds"),
            "service": self._service,
            **self._request,
            "workload": self._workload,
            "outcome": kind,
            "job": None,
            "job_id": None,
            "message_id": delivery.message_id,
            "receive_count": delivery.receive_count,
        }
        count = self._counts
        if outcome.kind is Kind.DISCARDED and outcome.reason == "cancelled":
            counter = (
                "JobCancelled"  # somebody asked for it: no work that was dropped, which is what JobDiscarded tells
            )
        count[counter] = count.get(counter, 0) + 1
        if outcome.kind is Kind.DEFER and outcome.reason.startswith(DEPENDENCY_DOWN):
            count["CircuitOpen"] = count.get("CircuitOpen", 0) + 1
        if envelope is not None:
            line["job"], line["job_id"] = envelope.job, envelope.id
            line.update(request_fields(envelope))
        else:
            line["body_bytes"] = len(delivery.body.encode("utf-8", "replace"))
        if report.attempt:
            line["attempt"] = report.attempt
        if report.crashed:  # an earlier run never told how it ended
            count["JobCrashed"] = count.get("JobCrashed", 0) + 1
            line["crashed_before"] = True
        if outcome.reason:
            line["reason"] = outcome.reason
        if outcome.delay is not None:
            line["delay_seconds"] = outcome.delay.total_seconds()
        if outcome.error is not None:
            line["error"], line["error_at"] = outcome.error.name, outcome.error.where
        # A delay that was asked for is no delay of ours: time counts from when the job was due.
        due = envelope.due_at or envelope.enqueued_at if envelope is not None else None
        if report.run_seconds is not None:
            count["JobStarted"] = count.get("JobStarted", 0) + 1
            self._values.setdefault("Attempt", []).append(report.attempt)
            line["run_ms"] = self._value("RunMs", report.run_seconds)
            if delivery.sent_at is not None:
                since = max(delivery.sent_at, due.timestamp()) if due is not None else delivery.sent_at
                line["queue_ms"] = self._value("QueueDelayMs", finished.timestamp() - report.run_seconds - since)
        if due is not None and outcome.kind is Kind.SUCCEEDED:
            line["end_to_end_ms"] = self._value("EndToEndMs", (finished - due).total_seconds())
        if report.log_fields:
            line["fields"] = report.log_fields
        self.line(line)

    def event(self, level: str, message: str, **fields: Any) -> None:
        """Write a line about the runtime itself, not about one job."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.line(
            {"level": level, "message": message, "timestamp": now, "service": self._service, **self._request, **fields}
        )

    def line(self, content: Mapping[str, Any]) -> None:
        try:
            text = _json(content)
        except ValueError as error:  # a listed field that JSON cannot hold
            text = _json({**content, "fields": type(error).__name__})
        self._write(text + b"\n")

    def finish(self) -> None:
        """Write the invocation's metrics as one EMF document (more only if a metric has over a hundred values)."""
        counts, values = self._counts, self._values
        self._counts, self._values = {}, {}
        while counts or values:
            chunk = {name: numbers[:EMF_VALUES_PER_METRIC] for name, numbers in values.items()}
            self.line(self._emf({**counts, **chunk}))
            counts = {}
            values = {n: v[EMF_VALUES_PER_METRIC:] for n, v in values.items() if len(v) > EMF_VALUES_PER_METRIC}

    def _value(self, metric: str, seconds: float) -> float:
        milliseconds = round(max(0.0, seconds) * 1000, 3)
        self._values.setdefault(metric, []).append(milliseconds)
        return milliseconds

    def _emf(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        # Dimensions are service and workload only: CloudWatch bills every combination of values as a metric of its own.
        definitions = [{"Name": n, "Unit": "Milliseconds" if n.endswith("Ms") else "Count"} for n in metrics]
        directive = {"Namespace": self._namespace, "Dimensions": [["service", "workload"]], "Metrics": definitions}
        return {
            "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
            "service": self._service,
            "workload": self._workload,
            **metrics,
        }


class Instruments:
    """The Powertools objects behind ``ctx.logger`` and ``ctx.metrics``, made when first asked for and cleaned after
    each run.
    """

    def __init__(self, service: str, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._service, self._namespace = service, namespace
        self._logger: Logger | None = None
        self._metrics: Metrics | None = None
        self._bound = False

    def logger(self, **keys: Any) -> "Logger":
        if self._logger is None:
            from aws_lambda_powertools import Logger

            self._logger = Logger(service=self._service)
        if not self._bound:
            self._logger.append_keys(**keys)
            self._bound = True
        return self._logger

    def metrics(self) -> "Metrics":
        if self._metrics is None:
            from aws_lambda_powertools import Metrics

            self._metrics = Metrics(namespace=self._namespace, service=self._service)
        return self._metrics

    def end_of_run(self) -> None:
        """Keys a job appended must not stand in its neighbour's lines; metrics it added are written now, with its own
        time.
        """
        if self._bound and self._logger is not None:
            self._logger.clear_state()
            self._bound = False
        if self._metrics is not None:
            # The job has run: a metric that Powertools refuses, or a stdout that the job has closed, must not make it
            # run again.
            with suppress(Exception):
                if self._metrics.metric_set:
                    self._metrics.flush_metrics()
            self._metrics.clear_metrics()
