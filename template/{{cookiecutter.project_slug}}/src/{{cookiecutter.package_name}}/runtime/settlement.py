"""Carry an outcome out on SQS: dead-letter, change visibility, acknowledge. Always the side message first, then the
acknowledgement.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .config import Config
from .deadletter import dead_letter
from .outcome import MAX_WAIT, Kind

if TYPE_CHECKING:
    from .claims import ClaimStore
    from .delivery import Delivery
    from .engine import Report
    from .observability import Observer

DLQ_FAILED_WAIT = 60.0  # seconds until a message whose dead letter could not be sent is tried again
BATCH = 10  # SQS API: entries per ChangeMessageVisibilityBatch
MAX_VISIBILITY = 43_195  # SQS developer guide: 12 h from the receive, and the exact maximum is usually refused


@dataclass(slots=True)
class _Wait:
    handle: str
    until: float


class Settlement:
    """Settles the messages of one receive.

    Args:
        sqs: returns the boto3 SQS client; called only when something has to be sent.
        config: queue and dead-letter queue.
        observer: where trouble is reported.
        code_version: goes into dead letters.
        parks: whether parked jobs are safe in the ledger; else they go to the dead-letter queue.
        machines: returns the boto3 Step Functions client, for waits that are longer than SQS can hide a message.
        claims: for a job that is too large for the delay machine.
        now: the clock; aware, UTC.
    """

    def __init__(
        self,
        sqs: Callable[[], Any],
        config: Config,
        observer: "Observer",
        *,
        code_version: str = "",
        parks: bool = False,
        machines: Callable[[], Any] | None = None,
        claims: "ClaimStore | None" = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._sqs, self._config, self._observer = sqs, config, observer
        self._code_version, self._parks = code_version, parks
        self._machines, self._claims, self._now = machines, claims, now
        self._waits: list[_Wait] = []

    def settle(self, report: "Report") -> float | None:
        """Do what the outcome asks for.

        Returns:
            None if the message may be acknowledged: whatever it stood for is done or safe elsewhere. Else the seconds
            until it comes back.
        """
        outcome, delivery = report.outcome, report.delivery
        match outcome.kind:
            case Kind.SUCCEEDED | Kind.DUPLICATE | Kind.DISCARDED:
                return None
            case Kind.PARKED if self._parks and (report.job is None or report.job.ledger):
                return None
            case Kind.DEAD | Kind.PARKED:
                return self._dead_letter(report)
            case Kind.RETRY | Kind.DEFER:
                seconds = outcome.delay.total_seconds() if outcome.delay else 0.0
                if outcome.delay is not None and outcome.delay > MAX_WAIT:
                    return self._put_back(report, outcome.delay)
                # After hours of work too little is left of the time for which SQS hides a message: a new one has all of
                # it. Not on a FIFO queue, whose order that would break: there it comes early.
                too_long = seconds > _hideable(delivery) and not delivery.fifo
                if too_long or (outcome.kind is Kind.DEFER and delivery.is_last_receive):
                    return self._send_again(report, seconds)
                return self.wait(delivery, seconds)
            case Kind.LOST:
                return 0.0  # its new owner decides about the message: neither its visibility nor its copy is ours

    def wait(self, delivery: "Delivery", seconds: float) -> float:
        """Let the message come back after ``seconds`` (from now, returned as they are); sent to SQS by ``flush``."""
        self._waits.append(_Wait(delivery.handle, time.monotonic() + min(seconds, _hideable(delivery))))
        return seconds

    def acknowledge(self, delivery: "Delivery") -> None:
        """Delete one message now. If that fails the batch response still acknowledges it."""
        try:
            self._sqs().delete_message(QueueUrl=self._config.queue_url, ReceiptHandle=delivery.handle)
        except Exception as error:
            self._trouble("acknowledgement failed", error)

    def flush(self) -> None:
        """Send the collected waits. One that fails comes back after the queue's own visibility timeout instead."""
        waits, self._waits = self._waits, []
        for start in range(0, len(waits), BATCH):
            now = time.monotonic()
            entries = [
                {
                    "Id": str(number),
                    "ReceiptHandle": wait.handle,
                    "VisibilityTimeout": min(MAX_VISIBILITY, max(0, math.ceil(wait.until - now))),
                }
                for number, wait in enumerate(waits[start : start + BATCH])
            ]
            try:
                answer = self._sqs().change_message_visibility_batch(QueueUrl=self._config.queue_url, Entries=entries)
            except Exception as error:
                self._trouble("visibility change failed", error)
                continue
            for failed in answer.get("Failed", []):
                self._observer.event("WARNING", "visibility change failed", error=failed.get("Code"))

    def _send_again(self, report: "Report", wait: float) -> float | None:
        """Give a job a new message with receives of its own, then acknowledge the old one."""
        from .delivery import fresh_message

        delivery = report.delivery
        # Without a record receives count as attempts, and the one of a deferred job as none.
        receives = delivery.receive_count if report.outcome.kind is Kind.RETRY else delivery.receive_count - 1
        used_up = None if self._remembers(report) else receives
        try:
            message = fresh_message(delivery, used_up, math.ceil(wait))
            self._sqs().send_message(QueueUrl=self._config.queue_url, **message)
        except Exception as error:
            self._trouble("job not sent again", error, message_id=delivery.message_id)
            return self._dead_letter(report)
        return None

    def _put_back(self, report: "Report", wait: timedelta) -> float | None:
        """Send a job whose next attempt is further away than SQS can hide a message through the delay machine, then
        acknowledge the message: never the other way round. On a FIFO queue its group goes on without it.
        """
        from .delay_machine import rescheduled, start_delays

        try:
            self._config.require(JOBS_DELAY_MACHINE_ARN=self._config.delay_machine_arn)
            assert self._machines is not None
            trip = rescheduled(
                self._config.delay_machine_arn,
                report.delivery,
                at=self._now() + wait,
                workload=self._config.workload,
                attempts_before=None if self._remembers(report) else report.attempt,
                claims=self._claims,
            )
            [started] = start_delays(self._machines(), [trip])
            if started.ok:
                return None
            self._observer.event("ERROR", "delay not started", error=started.error_code)
        except Exception as error:
            self._trouble("delay not started", error, message_id=report.delivery.message_id)
        return self.wait(report.delivery, MAX_WAIT.total_seconds())  # early, but not lost

    def _remembers(self, report: "Report") -> bool:
        """Whether a record counts the attempts."""
        return self._parks and report.job is not None and report.job.ledger

    def _dead_letter(self, report: "Report") -> float | None:
        try:
            self._config.require(JOBS_DLQ_URL=self._config.dlq_url)
            letter = dead_letter(report, self._code_version, self._config.max_message_bytes)
            self._sqs().send_message(QueueUrl=self._config.dlq_url, **letter)
        except Exception as error:
            self._trouble("dead letter not sent", error, message_id=report.delivery.message_id)
            return self.wait(report.delivery, DLQ_FAILED_WAIT)
        return None

    def _trouble(self, message: str, error: Exception, **fields: Any) -> None:
        self._observer.event("ERROR", message, error=type(error).__name__, **fields)


def _hideable(delivery: "Delivery") -> float:
    """For how many seconds SQS will still hide the message."""
    if delivery.held_since is None:
        return math.inf
    return max(0.0, MAX_VISIBILITY - max(0.0, time.monotonic() - delivery.held_since))
