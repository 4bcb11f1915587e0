"""Keep what makes progress, let go what does not.

One thread of the worker looks at every message in hand. If its job has made progress since the last time, first the
lease in the ledger is renewed and then the visibility in SQS: if the process dies in between, the message is seen again
while the lease still holds, and waits; the other way round nobody would come. Never the lease of a job that stands
still, and nothing beyond the 12 hours that SQS hides a message in all.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .config import Config
from .execute import JobStalled, JobTimeout
from .ledger import LostClaimError
from .observability import Observer
from .watch import LONGEST_SECONDS, Held, State

TICKS_PER_LEASE = 20
LONGEST_TICK = 1.0
RENEWALS_PER_LEASE = 3


class Heartbeat:
    """Args:
    held: returns the messages in hand.
    sqs: returns the boto3 SQS client.
    config: the queue.
    observer: where trouble is reported.
    lease: of the worker, in seconds.
    abandon: called for a message whose job does not end although it was told to; its slot is lost.
    """

    def __init__(
        self,
        held: Callable[[], Sequence[Held]],
        sqs: Callable[[], Any],
        config: Config,
        observer: Observer,
        lease: float,
        abandon: Callable[[Held], None],
    ) -> None:
        self._held, self._sqs, self._config, self._observer = held, sqs, config, observer
        self._abandon = abandon
        self.tick_seconds = min(LONGEST_TICK, lease / TICKS_PER_LEASE)
        self._every = lease / RENEWALS_PER_LEASE - self.tick_seconds
        self._stop = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._beat, name="jobs-heartbeat", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self.tick_seconds):
            for held in self._held():
                try:
                    self.look_at(held)
                except Exception as error:  # a defect here must not cost the other jobs their leases
                    self._observer.event("ERROR", "runtime error", error=type(error).__name__)

    def look_at(self, held: Held) -> None:
        """Renew, tell or let go one message, whatever it is time for."""
        with held.lock:
            if held.state is not State.HELD:
                return
            now = time.monotonic()
            if held.told_at is None and now < held.stalled_at:
                if held.ends_at is not None and now > held.ends_at and held.fault is None:
                    held.tell(JobTimeout)
                moved = held.position != held.renewed_position
                if moved and held.fault is None and now - held.renewed_at >= self._every:
                    self._renew(held)
                return
            unheard = held.position != held.renewed_position  # of its progress
            if held.told_at is None and unheard and now < min(held.moved_at + held.stall_seconds, held.last_moment):
                held.told_at = now  # it moves, but AWS did not answer in time: that is no stall
                self._event("ERROR", "message not kept", held)
                held.tell(LostClaimError)
                return
            if held.told_at is None:
                held.told_at = now
                self._observer.count("JobStalled")
                self._event("WARNING", "job stalled", held, still_seconds=round(now - held.moved_at, 1))
                held.tell(JobStalled)
                return
            assert held.lets_go_at is not None
            if now < held.lets_go_at or not held.let_go():
                return
        self._event("ERROR", "job let go", held)
        self._abandon(held)

    def _renew(self, held: Held) -> None:
        now, position, run = time.monotonic(), held.position, held.run
        left = held.received_at + LONGEST_SECONDS - now
        seconds = min(held.seconds, left)
        if run is None or seconds <= held.margin:
            return
        try:
            run.ledger.renew(run.claim, timedelta(seconds=seconds - held.margin), position)
        except LostClaimError:
            self._event("WARNING", "claim lost", held)
            held.tell(LostClaimError)
            return
        except Exception as error:
            self._event("WARNING", "lease not renewed", held, error=type(error).__name__)
            return
        if self.hide([held.delivery, *held.behind], seconds):
            held.renewed(now, position)

    def hide(self, deliveries: Sequence[Any], seconds: float) -> bool:
        """Hide messages for so long from now. Returns whether the first of them is."""
        entries = [
            {"Id": str(number), "ReceiptHandle": d.handle, "VisibilityTimeout": math.ceil(seconds)}
            for number, d in enumerate(deliveries[:10])
        ]
        try:
            answer = self._sqs().change_message_visibility_batch(QueueUrl=self._config.queue_url, Entries=entries)
        except Exception as error:
            self._observer.event("WARNING", "visibility not renewed", error=type(error).__name__)
            return False
        failed = {entry["Id"]: entry.get("Code") for entry in answer.get("Failed", [])}
        if failed:
            self._observer.event("WARNING", "visibility not renewed", error=next(iter(failed.values())))
        return "0" not in failed

    def _event(self, level: str, message: str, held: Held, **fields: Any) -> None:
        envelope = held.run.report.envelope if held.run is not None else None
        self._observer.event(
            level,
            message,
            message_id=held.delivery.message_id,
            job=None if envelope is None else envelope.job,
            job_id=None if envelope is None else envelope.id,
            **fields,
        )
