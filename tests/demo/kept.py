"""A demo that was left up with KEEP=1: which processes it has, and how to end them. Standard library only, so that it
can be ended after the virtual environments are gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.local_aws.paths import CACHE

STATE = CACHE / "demo.json"
GONE_WITHIN_SECONDS = 40


def remember(folder: Path, pids: list[int]) -> None:
    """Write down what is left up. A process is known by its command line too: its number may be another's one day."""
    STATE.parent.mkdir(parents=True, exist_ok=True)
    part = STATE.with_suffix(".part")
    part.write_text(json.dumps({"folder": str(folder), "processes": {pid: _command_line(pid) for pid in pids}}))
    part.replace(STATE)


def stop() -> bool:
    """End what was left up; True if there was something."""
    if not STATE.exists():
        return False
    state = json.loads(STATE.read_text())
    processes = {int(pid): command for pid, command in state["processes"].items()}
    found = _still_running(processes)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + GONE_WITHIN_SECONDS
    while left := _still_running(processes):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the processes {left} of the demo that was left up do not end; end them and try again")
        time.sleep(0.1)
    shutil.rmtree(state["folder"], ignore_errors=True)
    STATE.unlink()
    return bool(found)


def _still_running(processes: dict[int, str]) -> list[int]:
    return [pid for pid, command in processes.items() if command and _command_line(pid) == command]


def _command_line(pid: int) -> str:
    """Empty if there is no such process, or if it has ended and was not waited for."""
    shown = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, command = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command.strip()


def main() -> int:
    print("stopped" if stop() else "no demo was left up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
