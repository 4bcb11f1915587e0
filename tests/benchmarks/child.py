"""Child processes with only a Lambda function's packages on their path, and what they cost."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# The variables of a consumer. No credentials are looked up and nothing is connected to.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "JOBS_WORKLOAD": "default",
    "JOBS_QUEUE_URL": "http://localhost:1/123456789012/bench-default",
    "JOBS_DLQ_URL": "http://localhost:1/123456789012/bench-default-dlq",
    "JOBS_MAX_RECEIVE_COUNT": "10",
    "POWERTOOLS_SERVICE_NAME": "bench",
    "POWERTOOLS_METRICS_NAMESPACE": "BackgroundJobs",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    "PYTHONDONTWRITEBYTECODE": "1",  # Lambda's code folder is read-only
}


class BenchmarkError(Exception):
    """A side does not run at all; the text has its output."""


@dataclass(frozen=True)
class Child:
    """One program: import ``module``, and if there are arguments call its ``main`` with them.

    Run as ``python -S -c ...`` with ``path`` as import path: ``-S`` leaves out this virtual environment, so that only
    these folders and the standard library count; ``-m`` would add the same milliseconds to both sides of a ratio.
    """

    path: Sequence[Path]
    module: str
    arguments: Sequence[str] = ()

    def cpu_seconds(self) -> float:
        """User and system time of the whole process, from start to exit.

        All sides are one thread that waits for nothing, so this is their duration on an idle machine, and on a busy one
        it leaves out what other processes take.
        """
        null = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        pid = os.posix_spawn(sys.executable, self._command(), self._environment(), file_actions=null)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            self.output()  # once more, for its message
            raise BenchmarkError(f"{self.module} ended with status {status}")
        return usage.ru_utime + usage.ru_stime

    def output(self) -> str:
        """Run it and return what it prints."""
        result = subprocess.run(
            self._command(), env=self._environment(), capture_output=True, text=True, errors="replace", check=False
        )
        if result.returncode != 0:
            raise BenchmarkError(
                f"{' '.join([self.module, *self.arguments])} ended with status {result.returncode}:\n"
                + result.stderr.strip()
            )
        return result.stdout

    def last_line_as_number(self) -> float:
        """The count that a program prints last."""
        return float(self.output().strip().splitlines()[-1])

    def run_quietly(self) -> None:
        """Run it with file descriptor 1 on the null device."""
        self.cpu_seconds()

    def _command(self) -> list[str]:
        call = f"; {self.module}.main(*{list(self.arguments)!r})" if self.arguments else ""
        return [sys.executable, "-S", "-c", f"import {self.module}{call}"]

    def _environment(self) -> dict[str, str]:
        return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(str, self.path))}
