"""``python -m <package> worker``: the worker in a container, in a Spark driver's machine, on a laptop.

``src/<package>/__main__.py`` calls ``main(app)``. Exit codes: 0 told to stop, or idle; 2 the environment or the
arguments are wrong; 3 a job hung (``worker.EXIT_ABANDONED``). With ``--check``: 0 the worker's poll loop turns, 1 it
does not.

The pattern for clusters that are started on demand (Spark, Batch, a notebook's): something starts the cluster when the
queue has messages (its depth, ``ApproximateNumberOfMessagesVisible``), the cluster runs this with ``--exit-when-idle``,
and ends when it returns. Messages that wait for a retry are not visible: they start the next one.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from .app import App
from .config import ConfigurationError
from .worker import Worker, WorkerSettings, end_process

DEFAULT_IDLE_SECONDS = 60.0
# A poll takes up to 35 s with its connection and its read timeout (``clients``); more than twice that is left for a
# machine that is short of everything.
FRESH_SECONDS = 90.0
LIMITS = {
    # variable: least, most, default, what it means
    "JOBS_SLOTS": (1, 1000, 1, "jobs that run at once"),
    "JOBS_LEASE_SECONDS": (1, 43_000, 120, "SQS hides a message for 12 h at most"),
    "JOBS_STOP_TIMEOUT_SECONDS": (1, 86_400, 30, "between SIGTERM and SIGKILL; ECS: at most 120 on Fargate"),
}


def main(app: App, arguments: Sequence[str] | None = None) -> NoReturn:
    """Do what the command line says, and end the process with the exit code."""
    sys.exit(_main(app, arguments))


def _main(app: App, arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {app.jobs_package.rpartition('.')[0] or app.name}")
    commands = parser.add_subparsers(dest="command", required=True)
    worker = commands.add_parser("worker", help="receive and run jobs until told to stop")
    worker.add_argument("--check", action="store_true", help="only say whether a worker on this machine is alive")
    worker.add_argument(
        "--exit-when-idle",
        metavar="SECONDS",
        nargs="?",
        type=float,
        const=DEFAULT_IDLE_SECONDS,
        help="end after so long with nothing running and nothing received (%(const)s if no number is given)",
    )
    chosen = parser.parse_args(arguments)
    if chosen.exit_when_idle is not None and not chosen.exit_when_idle >= 1:
        worker.error(f"--exit-when-idle {chosen.exit_when_idle:g}: at least 1 second, so that the queue is asked once")
    if chosen.check:
        return check(liveness_file(app))
    try:
        settings = settings_from_environment(app)
        if chosen.exit_when_idle is not None:
            settings = replace(settings, exit_when_idle=timedelta(seconds=chosen.exit_when_idle))
        ready = Worker(app, settings)
    except ConfigurationError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 2
    code = ready.run()
    if ready.threads_left or _threads_of_jobs():
        end_process(code)
    return code


def _threads_of_jobs() -> bool:
    """Whether a job has left a thread that Python would wait for."""
    own = (threading.main_thread(), threading.current_thread())
    return any(thread not in own and not thread.daemon for thread in threading.enumerate())


def settings_from_environment(app: App, environ: Mapping[str, str] | None = None) -> WorkerSettings:
    """Raises ConfigurationError naming the variable, its value and what it may be."""
    env = os.environ if environ is None else environ
    numbers = {name: _number(env, name) for name in LIMITS}
    return WorkerSettings(
        slots=numbers["JOBS_SLOTS"],
        lease=timedelta(seconds=numbers["JOBS_LEASE_SECONDS"]),
        stop_timeout=timedelta(seconds=numbers["JOBS_STOP_TIMEOUT_SECONDS"]),
        liveness=liveness_file(app, env),
    )


def _number(env: Mapping[str, str], name: str) -> int:
    least, most, default, why = LIMITS[name]
    text = env.get(name, "")
    try:
        number = int(text) if text else default
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise ConfigurationError(f"{name}={text!r} is not a whole number from {least} to {most} ({why})")
    return number


def liveness_file(app: App, environ: Mapping[str, str] | None = None) -> Path:
    env = os.environ if environ is None else environ
    return Path(env.get("JOBS_LIVENESS_FILE") or Path(tempfile.gettempdir()) / f"jobs-worker-{app.name}")


def check(path: Path) -> int:
    """Say whether the poll loop has turned lately."""
    try:
        age = time.time() - path.stat().st_mtime
    except OSError as error:
        print(f"no worker: {path} cannot be read ({type(error).__name__})", file=sys.stderr)
        return 1
    if age > FRESH_SECONDS:
        print(f"the worker hangs: {path} was touched {age:.0f} s ago, at most {FRESH_SECONDS:.0f}", file=sys.stderr)
        return 1
    print(f"the worker is alive: {path} was touched {age:.0f} s ago")
    return 0
