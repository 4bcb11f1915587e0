"""No process outlives the one that started it, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .paths import REPOSITORY
from .process import CommandFailedError, Supervised, clean_environment, clean_exit_on_signals, run
from .stack import wait_for

# A command that ignores SIGTERM and SIGINT and has a child of its own, and tells both process ids.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".part", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""

# A starter that is itself killed: it starts STUBBORN supervised and then waits for ever.
STARTER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits "ignore" instead
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and so does what nohup starts
from tests.local_aws.process import Supervised, clean_environment
folder = Path(sys.argv[1])
command = [sys.executable, "-c", sys.argv[2], str(folder / "pids")]
with Supervised(command, env=clean_environment({}), cwd=folder, output=folder / "out", grace=1):
    time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "a folder with spaces"
    found.mkdir()
    return found


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    wait_for(file.exists, timeout=20, what="the command runs", pause=0.05)
    return [int(word) for word in file.read_text().split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


def assert_gone(numbers: list[int]) -> None:
    wait_for(lambda: not any(alive(pid) for pid in numbers), timeout=20, what=f"the processes {numbers} are gone")


def test_stop_ends_the_whole_group_even_if_it_ignores_signals(folder: Path) -> None:
    command = [sys.executable, "-c", STUBBORN, str(folder / "pids")]
    with Supervised(command, env=clean_environment({}), cwd=folder, output=folder / "out", grace=1) as process:
        numbers = pids(folder)
        assert all(alive(pid) for pid in numbers)
    assert not process.running
    assert_gone(numbers)
    process.stop()  # again: nothing happens


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_group_ends_when_its_starter_is_killed(folder: Path, number: signal.Signals) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(folder), STUBBORN], cwd=REPOSITORY)
    try:
        numbers = pids(folder)
        starter.send_signal(number)
        starter.wait(timeout=30)
        assert_gone(numbers)
    finally:
        starter.kill()  # a failing test must not leave anything behind either


def test_a_detached_group_outlives_its_starter_until_it_is_told(folder: Path) -> None:
    command = [sys.executable, "-c", STUBBORN, str(folder / "pids")]
    process = Supervised(command, env=clean_environment({}), cwd=folder, output=folder / "out", grace=1)
    numbers = pids(folder)
    process.detach()
    time.sleep(0.3)
    assert all(alive(pid) for pid in numbers)
    os.kill(process.pid, signal.SIGTERM)
    process.wait(timeout=30)
    assert_gone(numbers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_unwinds_the_stack(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_DFL)  # nohup would have it ignored
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended, clean_exit_on_signals():
        signal.raise_signal(number)
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is before


def test_a_failing_command_raises_with_the_end_of_its_output(folder: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"(?s)greeting failed \(exit code 3\).*good bye"):
        run(
            [sys.executable, "-c", "print('good bye'); raise SystemExit(3)"],
            env=clean_environment({}),
            cwd=folder,
            output=folder / "out",
            what="greeting",
        )
