"""A child process that cannot be left behind, whatever happens to the process that started it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

SUPERVISE = Path(__file__).with_name("supervise.py")
STAY = b"stay"


class CommandFailedError(Exception):
    """A command ended with an error; the message holds the end of its output."""


class Supervised:
    """A command started under `supervise.py`. A context manager; `stop` may be called any number of times."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        output: Path,
        grace: float = 8.0,  # Terraform needs a moment to stop its provider, the local AWS to stop its functions
    ) -> None:
        self.output = output
        with output.open("ab") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-S", str(SUPERVISE), str(grace), *command],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,  # Ctrl-C in a terminal goes to us alone; we end the group in order
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout: float | None = None) -> int:
        return self._process.wait(timeout)

    def stop(self) -> None:
        self._let_go()
        self._process.wait(timeout=30)

    def detach(self) -> None:
        """Let it outlive this process: from now on only SIGTERM to `pid` ends it."""
        if self._process.stdin is not None:
            self._process.stdin.write(STAY)
        self._let_go()

    def _let_go(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Supervised:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, output: Path, what: str) -> None:
    """Run a command to its end and raise with the end of its output when it fails."""
    code = run_for_code(command, env=env, cwd=cwd, output=output)
    if code != 0:
        text = "\n".join(output.read_text(errors="replace").splitlines()[-60:])
        raise CommandFailedError(f"{what} failed (exit code {code}):\n{text}")


def run_for_code(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, output: Path) -> int:
    with Supervised(command, env=env, cwd=cwd, output=output) as process:
        return process.wait()


def children(pid: int) -> list[int]:
    """The running processes that a process has started itself. Those that have ended and were not waited for are not
    among them.
    """
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    found = (line.split() for line in listed.splitlines())
    return [int(child) for child, parent, state in found if int(parent) == pid and not state.startswith("Z")]


@contextlib.contextmanager
def clean_exit_on_signals() -> Iterator[None]:
    """Let SIGTERM, and the SIGHUP of a terminal that is closed, unwind the stack, so that context managers run; the
    default ends the process on the spot.
    """
    import signal

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """An environment that carries nothing of the caller's Python, pip, proxy or AWS settings."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **extra}
