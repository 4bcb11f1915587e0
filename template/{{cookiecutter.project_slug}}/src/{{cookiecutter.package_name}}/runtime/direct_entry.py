"""The direct end: a topic invokes the function, and there is no queue that would keep a message until it is settled.

So every outcome that is not final is put somewhere before the invocation ends: a wait into the delay machine, which
publishes the job again, a dead letter into the dead-letter queue. If that fails the invocation fails, and Lambda sends
the whole event to the same queue as its record of a failed invocation; so it does for a run that was killed. Lambda's
own retries are off: they would run again what may have had its effect.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from .budget import Budget
from .delivery import Delivery
from .engine import Engine, Report
from .envelope import Envelope, NotAJobError, decode, raw_envelope
from .lambda_entry import ForeignEventError
from .observability import Observer
from .outcome import MAX_RETRY_WAIT, Kind, Outcome
from .settlement import Settlement

if TYPE_CHECKING:
    from .delay_machine import Delayed

# What is only put off comes back no sooner: each trip through the machine costs, and a job that is put off at once by
# one that runs now would go round and round.
SHORTEST_DEFERRAL = timedelta(seconds=5)
LOST_WAIT = timedelta(seconds=30)
# A body longer than this, with every character escaped, may be too large for the machine: only then is that counted.
SURELY_FITS_CHARS = 40_000
TOO_LARGE = "too_large_for_direct"


class UnsettledError(Exception):
    """A job is safe nowhere: the invocation has to fail, so that Lambda keeps the event."""


def deliveries(event: object) -> list[Delivery]:
    """Read the notifications of an SNS event. There is one in it, but its form is a list.

    Raises:
        ForeignEventError: it is none.
    """
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, Sequence) or isinstance(records, str) or not records:
        raise ForeignEventError(
            "this function takes notifications of an SNS topic ({'Records': [{'Sns': {...}}]}), got "
            + (
                f"an object with the keys {sorted(map(str, event))[:10]}"
                if isinstance(event, Mapping)
                else type(event).__name__
            )
            + ". Subscribe it to its topic; a function behind a queue needs app.lambda_handler()."
        )
    return [_delivery(number, record) for number, record in enumerate(records)]


def _delivery(number: int, record: object) -> Delivery:
    if not isinstance(record, dict) or record.get("EventSource") != "aws:sns":
        source = (record.get("EventSource") or record.get("eventSource")) if isinstance(record, dict) else None
        raise ForeignEventError(
            f"record {number} comes from {source or type(record).__name__!r}, not from 'aws:sns'. A function behind a "
            "queue needs app.lambda_handler() as its handler."
        )
    sns = record.get("Sns")
    message_id, body = (sns.get("MessageId"), sns.get("Message")) if isinstance(sns, dict) else (None, None)
    if not isinstance(sns, dict) or not isinstance(message_id, str) or not message_id or not isinstance(body, str):
        raise ForeignEventError(f"record {number} lacks its MessageId or its Message; SNS always sends both")
    return Delivery(
        body=body,
        message_id=message_id,
        sent_at=_moment(sns.get("Timestamp")),
        attributes=_attributes(sns.get("MessageAttributes")),
        source=str(sns.get("TopicArn", "")),
    )


def _moment(value: object) -> float | None:
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _attributes(raw: object) -> dict[str, dict[str, Any]]:
    """SNS writes type and value, binary ones in base64; boto3 wants neither."""
    kept: dict[str, dict[str, Any]] = {}
    for name, value in raw.items() if isinstance(raw, dict) else ():
        kind, content = (value.get("Type"), value.get("Value")) if isinstance(value, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(content, str):
            continue
        if not kind.startswith("Binary"):
            kept[name] = {"DataType": kind, "StringValue": content}
            continue
        try:
            kept[name] = {"DataType": kind, "BinaryValue": base64.b64decode(content, validate=True)}
        except ValueError:
            continue
    return kept


def job_bodies(text: str) -> list[str]:
    """The jobs in a message of a direct workload's dead-letter queues, ready to be published again: each byte for byte,
    but for what tells how long it was put off before.

    A letter is one itself. Lambda's record of a failed invocation holds the notification in ``requestPayload``; nothing
    is found if Lambda has left that out, which it does when the record would be too large. What SNS could not hand to
    Lambda is a bare notification.
    """
    try:
        decode(text)
    except NotAJobError:
        pass
    else:
        return [_fresh(raw_envelope(text))]
    try:
        outer = from_json(text)
    except (ValueError, TypeError):
        return [text]
    if not isinstance(outer, dict) or not isinstance(outer.get("requestContext"), dict):
        return [raw_envelope(text)]
    try:
        return [_fresh(delivery.body) for delivery in deliveries(outer.get("requestPayload"))]
    except ForeignEventError:
        return []


def _fresh(body: str) -> str:
    """Whoever sends a job again gives it all of its time anew."""
    try:
        content = from_json(body)
    except ValueError:
        return body
    if not isinstance(content, dict) or "put_off" not in content:
        return body
    del content["put_off"]
    return to_json(content, ensure_ascii=True).decode("ascii")


class DirectSettlement(Settlement):
    """Settles notifications. Where nothing has to be sent it does what ``Settlement`` does."""

    def wait(self, delivery: Delivery, seconds: float) -> float:  # noqa: ARG002
        """There is no message that could be hidden."""
        return seconds

    def close(self, report: Report) -> None:
        """Do what the outcome asks for.

        Raises:
            Exception: it could not be done, and the job is safe nowhere.
        """
        match report.outcome.kind:
            case Kind.RETRY | Kind.DEFER | Kind.LOST:
                try:
                    self._publish_again(report)
                except Exception:
                    # Lambda's record of the failed invocation could not hold such a job; a letter can.
                    if report.outcome.reason != TOO_LARGE or self._dead_letter(report) is not None:
                        raise
            case _:
                if self.settle(report) is not None:
                    raise UnsettledError("dead letter not sent")

    def refused(self, delivery: Delivery) -> Report | None:
        """What becomes of a job that neither the machine nor Lambda's record of a killed run could hold: with a claim
        check it goes round once and comes back small, without one it is a dead letter. None: it is not so large.
        """
        if len(delivery.body) <= SURELY_FITS_CHARS:
            return None
        try:
            envelope = decode(delivery.body)
        except NotAJobError:
            return None
        if envelope.claim is not None or self._trip(delivery).fits:
            return None
        kind = Kind.DEAD if self._claims is None else Kind.DEFER
        outcome = Outcome(kind, TOO_LARGE, None if kind is Kind.DEAD else timedelta(0))
        return Report(delivery, outcome, envelope, finished_at=self._now())

    def _publish_again(self, report: Report) -> None:
        from .delay_machine import rescheduled, start_delays

        assert report.envelope is not None
        now = self._now()
        trip = rescheduled(
            self._machine(),
            replace(report.delivery, body=self._next_body(report, report.envelope, now)),
            at=_comes_back_at(report, report.envelope, now),
            workload=self._config.workload,
            claims=self._claims,
        )
        assert self._machines is not None
        [started] = start_delays(self._machines(), [trip])
        if not started.ok:
            raise UnsettledError(f"delay not started: {started.error_code}")

    def _next_body(self, report: Report, envelope: Envelope, now: datetime) -> str:
        """The job with what the next run has to know: no queue counts its receives, so its header does."""
        body = raw_envelope(report.delivery.body)
        content = from_json(body)
        if _used_an_attempt(report):
            content.pop("put_off", None)
            if not self._remembers(report):
                content["attempts_before"] = report.attempt
        elif not _is_early(envelope, now):
            before = envelope.put_off
            since = before.since if before else now
            content["put_off"] = {"times": before.times + 1 if before else 1, "since": since.isoformat()}
        if content == from_json(body):
            return body
        # Not through the model, which would drop the header fields of a newer producer.
        return to_json(content, ensure_ascii=True).decode("ascii")

    def _trip(self, delivery: Delivery) -> "Delayed":
        from .delay_machine import delayed

        return delayed(
            self._machine(), at=self._now(), body=delivery.body, workload=self._config.workload, group=delivery.group
        )

    def _machine(self) -> str:
        self._config.require(JOBS_DELAY_MACHINE_ARN=self._config.delay_machine_arn)
        return self._config.delay_machine_arn


def _used_an_attempt(report: Report) -> bool:
    # A retry of what kept the job from starting (a payload that may not be fetched) is none.
    return report.outcome.kind is Kind.RETRY and report.attempt > 0


def _is_early(envelope: Envelope, now: datetime) -> bool:
    return envelope.not_before is not None and envelope.not_before > now


def _comes_back_at(report: Report, envelope: Envelope, now: datetime) -> datetime:
    if envelope.not_before is not None and _is_early(envelope, now):
        return min(envelope.not_before, now + MAX_RETRY_WAIT)  # in one trip, however far it is
    wait = report.outcome.delay or timedelta(0)
    if report.outcome.kind is Kind.LOST:
        wait = LOST_WAIT
    return now + (wait if _used_an_attempt(report) else max(wait, SHORTEST_DEFERRAL))


def run_direct(
    batch: Sequence[Delivery], engine: Engine, settlement: DirectSettlement, observer: Observer, budget: Budget
) -> None:
    """Run the notifications one after the other.

    Raises:
        UnsettledError: one of them is safe nowhere. Lambda then keeps the event; what is done already is in it too, and
            its record knows.
    """
    unsettled: list[str] = []
    for delivery in batch:
        try:
            report = settlement.refused(delivery) or engine.handle(delivery, budget)
            observer.job(report)
            settlement.close(report)
        except Exception as error:
            why = str(error) if isinstance(error, UnsettledError) else type(error).__name__
            observer.event("ERROR", "not settled", error=why, message_id=delivery.message_id)
            unsettled.append(f"{delivery.message_id} ({why})")
    observer.finish()
    if unsettled:
        raise UnsettledError(
            f"{len(unsettled)} of {len(batch)} notifications are safe nowhere but in this event: {', '.join(unsettled)}"
        )
