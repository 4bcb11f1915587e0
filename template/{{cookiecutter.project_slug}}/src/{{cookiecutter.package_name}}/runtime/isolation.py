"""Run one delivery in a process of its own, for jobs with ``isolate = "process"``: the worker's side.

The child is a new interpreter, not a fork: a fork of a process with threads inherits locks that nobody will ever
release. It runs the engine itself, so that everything a job may do works as elsewhere, and tells through a pipe what it
has claimed, how far it is and what came of it. What goes through the pipes is JSON.

The worker keeps the message as it keeps any other, and kills the child when its time is over or it stands still. How a
killed run ended is recorded here, under the child's claim.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import from_json, to_json

from .app import App
from .config import ConfigurationError
from .delivery import Delivery
from .engine import Engine, Report, Run
from .envelope import decode
from .execute import JobStalled, JobTimeout
from .failure import Failure
from .ledger import Claim
from .outcome import Kind, Outcome
from .watch import Held, State

TIMEOUT_GRACE_SECONDS = 1.0  # the child's own clock comes first, so that the job can clean up
LOOK_SECONDS = 0.2
CRASH_WAIT_SECONDS = 5.0  # until a job whose process died comes again
CHUNK = 65_536


class HeldByProcess(Held):
    """A message whose job runs in a child: telling it something means ending it."""

    process: "subprocess.Popen[bytes] | None" = None

    def claimed(self, run: Run) -> None:
        with self.lock:
            self.begin(run)
            if self.ends_at is not None:
                self.ends_at += TIMEOUT_GRACE_SECONDS

    def tell(self, fault: type[BaseException]) -> None:
        super().tell(fault)
        self.kill()

    def let_go(self) -> bool:
        gone = super().let_go()
        if gone:
            self.kill()
        return gone

    def kill(self) -> None:
        """With everything that it has started."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


def run_isolated(
    app: App, engine: Engine, held: HeldByProcess, hide: Callable[[Sequence[Delivery], float], Any]
) -> Report:
    """Run one delivery.

    Args:
        app: has to be found by the child: a variable of an importable module.
        engine: records how a killed run ended.
        held: the message.
        hide: changes the visibility of messages.
    """
    reader, writer = os.pipe()
    try:
        held.process = process = subprocess.Popen(  # noqa: S603 - itself
            [sys.executable, "-m", f"{__package__}.isolated", address_of(app), str(writer)],
            stdin=subprocess.PIPE,
            pass_fds=(writer,),
            start_new_session=True,  # a signal to the worker's group is the worker's to handle
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        os.close(writer)
        writer = -1
        told = _converse(process, reader, engine, held)
        process.wait()
    finally:
        held.kill()  # what a child that has ended may have left behind
        for end in (reader, writer):
            if end >= 0:
                os.close(end)
    if told is not None:
        return _report(told, engine, held.delivery)
    return _without_word(engine, held, hide)


def _converse(process: "subprocess.Popen[bytes]", reader: int, engine: Engine, held: HeldByProcess) -> Any:
    """Talk with the child until it ends; returns what it said about its end, or None."""
    stdin = process.stdin
    assert stdin is not None
    report, rest, asked = None, b"", False
    with suppress(BrokenPipeError), stdin:
        task = {"delivery": asdict(held.delivery), "lease": held.lease.total_seconds()}
        stdin.write(to_json(task, bytes_mode="base64") + b"\n")
        stdin.flush()
        while True:
            if held.stopping and not asked:
                asked = True
                with suppress(BrokenPipeError):
                    stdin.write(b"stop\n")
                    stdin.flush()
            if not select.select([reader], [], [], LOOK_SECONDS)[0]:
                if process.poll() is not None:  # something that the job has started keeps the pipe open
                    return report
                continue
            chunk = os.read(reader, CHUNK)
            if not chunk:
                return report
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                content = from_json(line)
                if "claimed" in content:
                    held.claimed(_run(content["claimed"], engine, held.delivery))
                elif "progress" in content:
                    held.progress(*content["progress"])
                else:
                    report = content["report"]
    return report


def _run(content: Any, engine: Engine, delivery: Delivery) -> Run:
    report = _report(content["report"], engine, delivery)
    assert report.job is not None
    return Run(
        job=report.job,
        claim=Claim(**content["claim"]),
        ledger=engine.ledger_of(report.job),
        report=report,
        limit=content["limit"],
    )


def _without_word(engine: Engine, held: HeldByProcess, hide: Callable[[Sequence[Delivery], float], Any]) -> Report:
    """The child has ended and did not say how."""
    run, fault = held.run, held.fault
    if run is None:
        return Report(held.delivery, Outcome(Kind.LOST, "process_died"))
    if held.state is State.HELD and fault in (JobTimeout, JobStalled):
        assert fault is not None
        held.end()
        return engine.stop(run, fault("the process was killed"))
    run.report.outcome = Outcome(Kind.LOST, "process_died")
    if held.state is State.HELD and fault is None:
        # A crash, as when a function is killed: the start stays counted, and the next run finds it without an end. Only
        # nobody has to wait for the lease.
        held.end()
        with suppress(Exception):
            run.ledger.renew(run.claim, timedelta(0), None)
            hide([held.delivery], CRASH_WAIT_SECONDS)
    return run.report


def written(report: Report) -> dict[str, Any]:
    """A report for the pipe. The result stays in the ledger."""
    outcome, error = report.outcome, report.outcome.error
    return {
        "kind": str(outcome.kind),
        "reason": outcome.reason,
        "delay": None if outcome.delay is None else outcome.delay.total_seconds(),
        "error": None if error is None else [error.name, error.message, list(error.where)],
        "job": None if report.job is None else report.job.name,
        "attempt": report.attempt,
        "crashed": report.crashed,
        "run_seconds": report.run_seconds,
        "finished_at": None if report.finished_at is None else report.finished_at.isoformat(),
        "log_fields": report.log_fields,
    }


def _report(content: Any, engine: Engine, delivery: Delivery) -> Report:
    delay, error, job = content["delay"], content["error"], content["job"]
    found = None if job is None else engine.registry.find(job)
    envelope = None
    with suppress(Exception):  # a body that is no job has none
        envelope = decode(delivery.body)
        if job is not None:
            envelope = envelope.model_copy(update={"job": job})
    return Report(
        delivery=delivery,
        outcome=Outcome(
            Kind(content["kind"]),
            content["reason"],
            None if delay is None else timedelta(seconds=delay),
            None if error is None else Failure(error[0], error[1], tuple(error[2])),
        ),
        envelope=envelope,
        job=found,
        attempt=content["attempt"],
        crashed=content["crashed"],
        run_seconds=content["run_seconds"],
        finished_at=content["finished_at"] and datetime.fromisoformat(content["finished_at"]),
        log_fields=content["log_fields"],
    )


def address_of(app: App) -> str:
    """``module:variable`` of an app.

    Raises:
        ConfigurationError: it has none.
    """
    for name, module in list(sys.modules.items()):
        if name != "__main__":
            for variable, value in list(getattr(module, "__dict__", {}).items()):
                if value is app:
                    return f"{name}:{variable}"
    raise ConfigurationError(
        f"the App {app.name!r} is no variable of an imported module, so that a job with isolate='process' cannot find "
        "it in its own process. Make it in a module, as <package>/app.py does."
    )
