"""A worker: long polls, slots in which jobs run, and an orderly end. For work of minutes or hours, in any process.

Threads and what they do:

- the poll loop receives no more messages than there are free slots, and hands them out; it touches the liveness file;
- each slot runs one job at a time and settles it: record, side message, acknowledgement, as everywhere;
- the heartbeat keeps the messages whose jobs make progress and lets go the others (``heartbeat``);
- the thread that called ``run`` looks after the end, the metrics and the scale-in protection.

How it ends:

- SIGTERM or SIGINT: nothing more is received, ``ctx.stopping`` becomes True, running jobs have until five seconds
  before the stop timeout; the rest is given back: to be taken at once by another worker, and not an attempt. Exit
  code 0.
- nothing to do for a while, if that is asked for (``exit_when_idle``). Exit code 0.
- a job hangs and its thread cannot be ended: nothing more is received, the other jobs are finished, and the exit code
  is ``EXIT_ABANDONED``, so that whoever started the process replaces it together with the thread that hangs in it.

Metrics go to stdout once a minute, as EMF. CloudWatch Logs finds them in any log group, however they came there: the
``awslogs`` driver of ECS needs no agent and no format option for it (CloudWatch user guide, "PutLogEvents API": the
header ``x-amzn-logs-format`` is optional).

Without a ledger only the message is kept, by its visibility: a job that is let go, or whose worker died, runs twice if
its first run comes to an end after all, and what is given back counts as an attempt.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from . import clients
from .app import App
from .batch import run_in_order
from .delivery import Delivery
from .engine import Engine, Report
from .envelope import decode
from .heartbeat import Heartbeat
from .isolation import HeldByProcess, address_of, run_isolated
from .ledger import LostClaimError
from .observability import Instruments, Observer, write_stdout
from .outcome import Defer, Kind, Outcome
from .protection import Protection
from .receive import Receiver
from .settlement import Settlement
from .watch import Held, State

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger, Metrics

EXIT_ABANDONED = 3
GIVE_BACK_SECONDS = 5.0  # of the stop timeout are left for giving back what does not end
LOOK_SECONDS = 0.1
METRICS_SECONDS = 60.0
LIVENESS_SECONDS = 1.0
LOCK_SECONDS = 2.0  # the heartbeat may be waiting for AWS with it
STALE_SHARE = 0.1  # a message that has waited that much of its lease is hidden anew before its job starts


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """``worker_cli`` reads them from the environment.

    Attributes:
        slots: how many jobs run at once.
        lease: how long a job may go on without progress; also how long it takes until the work of a dead worker is
            taken over. The visibility timeout of each receive, and a little more than the lease in the ledger.
        stop_timeout: between SIGTERM and SIGKILL.
        poll_seconds: the longest wait for a message.
        exit_when_idle: end after so long without work; None: never.
        liveness: the file that the poll loop touches.
    """

    slots: int = 1
    lease: timedelta = timedelta(minutes=2)
    stop_timeout: timedelta = timedelta(seconds=30)
    poll_seconds: float = clients.POLL_SECONDS
    exit_when_idle: timedelta | None = None
    liveness: Path | None = None


def run_worker(app: App, settings: WorkerSettings | None = None) -> int:
    """Run until it is told to stop, and return the exit code.

    Called in the main thread it obeys SIGTERM and SIGINT. Elsewhere, as in a Spark driver, make a ``Worker``, call
    ``run`` in a thread of its own and ``stop`` when it is time.

    Raises:
        ConfigurationError: the environment is not that of a consumer.
    """
    return Worker(app, settings).run()


@dataclass(eq=False)
class _Batch:
    """What one slot has to do: one message, or those of one FIFO group in their order."""

    deliveries: Sequence[Delivery]
    received_at: float
    abandoned: bool = False


class _Slot:
    """One thread, because what an async job leaves on its event loop belongs to the thread."""

    def __init__(self, number: int, work: "Callable[[_Slot, _Batch], None]", settlement: Settlement) -> None:
        self.settlement = settlement
        self.inbox: SimpleQueue[_Batch] = SimpleQueue()
        self.batch: _Batch | None = None
        self.held: Held | None = None
        self._work = work
        # A daemon: one that hangs must not keep the process from ending.
        threading.Thread(target=self._serve, name=f"jobs-slot-{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._work(self, self.inbox.get())


@dataclass
class _Idle:
    since: float = field(default_factory=time.monotonic)

    def reset(self) -> None:
        self.since = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since


class Worker:
    """Args: the app, and how to run it. ``run`` may be called once.

    Raises:
        ConfigurationError: the environment is not that of a consumer, or the app cannot be found by a child process.
    """

    def __init__(self, app: App, settings: WorkerSettings | None = None) -> None:
        self._app, self._settings = app, settings or WorkerSettings()
        self._lease = self._settings.lease.total_seconds()
        self._observer: Observer = app.observer()
        # Parts that are made on use: now, before threads could make them twice.
        app.registry, app.ledger, app.publisher, app.claims, app.breakers  # noqa: B018
        if any(job.isolate == "process" for job in app.registry.known):
            address_of(app)  # now, not with the first message
        self._engine: Engine = app.engine(ThreadInstruments(app.config.service, app.config.namespace))
        stop_seconds = self._settings.stop_timeout.total_seconds()
        self._receiver = Receiver(
            clients.polling_client if app.client is clients.client else lambda: app.client("sqs"),
            app.config,
            self._observer,
            self._lease,
            # A poll that is under way when the worker has to stop must come back in time: what it brings would else
            # stay hidden for a lease.
            max(1.0, min(self._settings.poll_seconds, stop_seconds - 2 * GIVE_BACK_SECONDS)),
        )
        self._heartbeat = Heartbeat(
            self._in_hand, lambda: app.client("sqs"), app.config, self._observer, self._lease, self._abandon
        )
        self._protection = Protection.from_environment(self._observer)
        self._changed = threading.Condition()  # guards the slots
        self._free: list[_Slot] = []
        self._busy: list[_Slot] = []
        self._stop_reason = ""
        self._stop_at: float | None = None
        self._rest_until = 0.0
        self._touched = float("-inf")
        self._idle = _Idle()
        self.abandoned = 0

    def run(self) -> int:
        """Work until the end, and return the exit code."""
        with self._changed:
            self._free = [self._new_slot(number) for number in range(self._settings.slots)]
        self._observer.event("INFO", "worker started", slots=self._settings.slots, lease_seconds=self._lease)
        restore = self._obey_signals()
        try:
            self._heartbeat.start()
            poll = threading.Thread(target=self._poll, name="jobs-poll", daemon=True)
            poll.start()
            self._look_after(poll)
        finally:
            self._heartbeat.stop()
            self._observer.finish()
            restore()
        reason = self._stop_reason or "a job hangs"
        self._observer.event("INFO", "worker ended", reason=reason, abandoned=self.abandoned)
        return EXIT_ABANDONED if self.abandoned else 0

    def stop(self, reason: str = "asked to") -> None:
        """Receive nothing more, and come to an end. May be called from anywhere, a signal handler included."""
        if self._stop_at is None:
            # Two assignments and no lock: a signal strikes while the thread it interrupts may hold any.
            self._stop_reason, self._stop_at = reason, time.monotonic()

    @property
    def stopping(self) -> bool:
        return self._stop_at is not None

    @property
    def threads_left(self) -> bool:
        """Whether jobs of it still run although it has ended."""
        return self.abandoned > 0 or bool(self._busy)

    # The thread that called ``run``.

    def _obey_signals(self) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None

        def handler(number: int, _frame: FrameType | None) -> None:
            self.stop(signal.Signals(number).name)

        before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}

        def restore() -> None:
            for number, old in before.items():
                signal.signal(number, old)

        return restore

    def _look_after(self, poll: threading.Thread) -> None:
        flush_at = time.monotonic() + METRICS_SECONDS
        while True:
            time.sleep(LOOK_SECONDS)
            now = time.monotonic()
            if now >= flush_at:
                self._observer.finish()
                flush_at = now + METRICS_SECONDS
            runs = [now - held.started_at for held in self._in_hand() if held.run is not None]
            self._protection.update(max(runs, default=0.0))
            if not poll.is_alive():
                if not self._busy:
                    return
                self._touch()  # jobs that still run may take hours, and are no reason to kill the container
            if self._stop_at is not None:
                grace = self._settings.stop_timeout.total_seconds() - GIVE_BACK_SECONDS
                if now - self._stop_at >= max(0.0, grace):
                    self._give_back()
                    return

    def _give_back(self) -> None:
        """The time is up: everything that still runs goes to another worker. First all records, then all messages: who
        takes one over finds it free.
        """
        settlement = self._app.settlement(self._observer)
        reports: list[Report] = []
        for held in self._in_hand():
            if not held.lock.acquire(timeout=LOCK_SECONDS):
                continue  # comes again when its lease ends
            try:
                if not held.let_go():
                    continue  # it has just ended: its slot settles it
                held.tell(LostClaimError)  # where the process lives on, it must not work beside its successor
            finally:
                held.lock.release()
            if held.run is not None:
                reports.append(self._engine.stop(held.run, Defer(timedelta(0), "shutdown")))
            else:
                settlement.wait(held.delivery, 0)
            for delivery in held.behind:
                settlement.wait(delivery, 0)
        for report in reports:
            if settlement.settle(report) is None:
                settlement.acknowledge(report.delivery)
            self._observer.job(report)
        settlement.flush()
        end = time.monotonic() + LOCK_SECONDS
        while any(held.state is State.OVER for held in self._in_hand()) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS / 10)  # what has ended by itself in the last moment is being settled

    # The poll loop.

    def _poll(self) -> None:
        while not self.stopping and not self.abandoned:
            try:
                self._poll_once()
            except Exception as error:  # a defect of the runtime must not end the worker in silence
                self._observer.event("ERROR", "runtime error", error=type(error).__name__)
                self._rest_until = time.monotonic() + 1.0

    def _poll_once(self) -> None:
        self._touch()
        free = self._wait_for_slots()
        if not free or self.stopping:
            return
        pause = max(self._rest_until, self._receiver.back_off_until) - time.monotonic()
        if pause > 0:  # not idle: there is work, or nobody knows
            self._idle.reset()
            time.sleep(min(pause, LIVENESS_SECONDS))
            return
        wait = self._settings.poll_seconds
        if self._settings.exit_when_idle is not None:
            left = self._settings.exit_when_idle.total_seconds()
            left -= 0.0 if self._busy else self._idle.seconds
            if left <= 0:
                self.stop("idle")
                return
            wait = min(wait, left)
        deliveries = self._receiver.receive(free, wait)
        if deliveries:
            self._idle.reset()
            self._hand_out(deliveries, time.monotonic())

    def _wait_for_slots(self) -> int:
        with self._changed:
            if not self._free:
                self._changed.wait(LIVENESS_SECONDS)
            if self._busy:
                self._idle.reset()
            return len(self._free)

    def _hand_out(self, deliveries: Sequence[Delivery], received_at: float) -> None:
        if self.stopping or self.abandoned:
            self._put_back(deliveries)
            return
        groups: dict[str, list[Delivery]] = {}
        for delivery in deliveries:
            together = f"group {delivery.group}" if delivery.fifo else f"message {delivery.message_id}"
            groups.setdefault(together, []).append(delivery)
        with self._changed:
            for group in groups.values():
                slot = self._free.pop()
                slot.batch = _Batch(group, received_at)
                self._busy.append(slot)
                slot.inbox.put(slot.batch)

    def _put_back(self, deliveries: Sequence[Delivery]) -> None:
        """Received when it was too late to start them: whoever asks next has them."""
        settlement, now = self._app.settlement(self._observer), time.monotonic()

        def decline(delivery: Delivery) -> Report:
            return self._engine.handle(delivery, watch=Held(delivery, self._lease, now, lambda: True))

        run_in_order(
            deliveries,
            decline,
            settlement,
            self._observer,
            lambda report: settlement.acknowledge(report.delivery),
        )
        settlement.flush()

    def _touch(self) -> None:
        """The container's health check looks at the age of this file: it says that the poll loop turns, not that some
        thread is alive.
        """
        now = time.monotonic()
        if self._settings.liveness is not None and now - self._touched >= LIVENESS_SECONDS:
            self._touched = now
            with suppress(OSError):
                self._settings.liveness.touch()

    # The slots.

    def _new_slot(self, number: int) -> _Slot:
        return _Slot(number, self._work, self._app.settlement(self._observer))

    def _work(self, slot: _Slot, batch: _Batch) -> None:
        try:
            run_in_order(
                batch.deliveries,
                lambda delivery: self._handle(slot, batch, delivery),
                slot.settlement,
                self._observer,
                lambda report: slot.settlement.acknowledge(report.delivery),
            )
            slot.settlement.flush()
        except BaseException as error:  # whatever it is, the slot is not lost
            self._observer.event("ERROR", "runtime error", error=type(error).__name__)
        finally:
            with self._changed:
                slot.held = slot.batch = None
                self._idle.reset()
                if not batch.abandoned:
                    self._busy.remove(slot)
                    self._free.append(slot)
                self._changed.notify_all()

    def _handle(self, slot: _Slot, batch: _Batch, delivery: Delivery) -> Report | None:
        """Run one message. None if it was let go meanwhile."""
        behind = batch.deliveries[batch.deliveries.index(delivery) + 1 :]
        apart = self._runs_apart(delivery)
        held = (HeldByProcess if apart else Held)(
            delivery, self._lease, batch.received_at, lambda: self.stopping, behind
        )
        if not self._is_fresh(held):
            return Report(delivery, Outcome(Kind.LOST, "waited_too_long"))
        slot.held = held
        try:
            if isinstance(held, HeldByProcess):
                report = run_isolated(self._app, self._engine, held, self._heartbeat.hide)
            else:
                report = self._engine.handle(delivery, watch=held)
        finally:
            ours = held.end()
        if not ours:
            self._observer.event(
                "WARNING",
                "late end of a job that was let go",
                message_id=delivery.message_id,
                job=None if report.envelope is None else report.envelope.job,
                job_id=None if report.envelope is None else report.envelope.id,
                came_to=str(report.outcome.kind),
            )
            return None
        self._rest_if_down(report)
        return report

    def _is_fresh(self, held: Held) -> bool:
        """A message behind the head of a FIFO group has waited for it, and its time runs: it begins anew, or the
        message is not ours any more.
        """
        now = time.monotonic()
        if now - held.received_at <= self._lease * STALE_SHARE:
            return True
        if not self._heartbeat.hide([held.delivery, *held.behind], self._lease):
            return False
        held.renewed(now, None)
        return True

    def _runs_apart(self, delivery: Delivery) -> bool:
        try:
            job = self._app.registry.find(decode(delivery.body).job)
        except BaseException:  # the engine meets it again, and knows what it means
            return False
        return job is not None and job.isolate == "process"

    def _rest_if_down(self, report: Report) -> None:
        """While what the jobs need is down, receiving their messages only counts them as received."""
        outcome = report.outcome
        why, _, name = outcome.reason.partition(":")
        if outcome.kind is not Kind.DEFER or why not in ("circuit_open", "dependency_down"):
            return
        declared = report.job.dependencies if report.job is not None else ()
        dependency = next((d for d in declared if not isinstance(d, str) and d.name == name), name)
        with suppress(Exception):  # a job may defer for such a reason of its own; and resting only saves receives
            rest = self._app.breakers.of(dependency).rest().total_seconds()
            self._rest_until = max(self._rest_until, time.monotonic() + rest)

    def _in_hand(self) -> list[Held]:
        with self._changed:
            return [slot.held for slot in self._busy if slot.held is not None]

    def _abandon(self, held: Held) -> None:
        """Its thread does not come back: the slot is free again for the counting, and the worker comes to its end."""
        with self._changed:
            slot = next((slot for slot in self._busy if slot.held is held), None)
            if slot is None or slot.batch is None:
                return
            slot.batch.abandoned = True
            self._busy.remove(slot)
            self.abandoned += 1
            self._changed.notify_all()


class ThreadInstruments(Instruments):
    """Each thread has metrics of its own, and the keys of its job on its own lines.

    A job's own ``append_keys`` is shared by all threads (Powertools keeps them on the logger): in a worker with several
    slots use ``thread_safe_append_keys``.
    """

    def __init__(self, service: str, namespace: str) -> None:
        super().__init__(service, namespace)
        self._own = threading.local()

    def logger(self, **keys: Any) -> "Logger":
        from aws_lambda_powertools import Logger

        if not hasattr(self._own, "logger"):
            self._own.logger = Logger(service=self._service)
        self._own.logger.thread_safe_append_keys(**keys)
        logger: Logger = self._own.logger
        return logger

    def metrics(self) -> "Metrics":
        from aws_lambda_powertools.metrics import EphemeralMetrics

        if not hasattr(self._own, "metrics"):
            self._own.metrics = EphemeralMetrics(namespace=self._namespace, service=self._service)
        metrics: Metrics = self._own.metrics
        return metrics

    def end_of_run(self) -> None:
        logger, metrics = getattr(self._own, "logger", None), getattr(self._own, "metrics", None)
        if logger is not None:
            logger.thread_safe_clear_keys()
        if metrics is not None:
            with suppress(Exception):
                if metrics.metric_set:
                    # In one piece: other threads write beside it, and half a line is no metric.
                    write_stdout(to_json(metrics.serialize_metric_set()) + b"\n")
            metrics.clear_metrics()


def end_process(code: int) -> None:
    """End it now. Threads that hang, and pools whose threads a job has left, would keep Python from ending."""
    import sys

    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)
