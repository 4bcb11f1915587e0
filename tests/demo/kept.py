"""A demo that was left up with KEEP=1: where it is, and how to end it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.local_aws.paths import CACHE

STATE = CACHE / "demo.json"


def remember(folder: Path, endpoint: str, pids: list[int]) -> None:
    STATE.parent.mkdir(parents=True, exist_ok=True)
    STATE.write_text(json.dumps({"folder": str(folder), "endpoint": endpoint, "pids": pids}))


def stop() -> bool:
    """End what was left up; True if there was something."""
    if not STATE.exists():
        return False
    state: dict[str, Any] = json.loads(STATE.read_text())
    answers = _answers(state["endpoint"])
    for pid in state["pids"] if answers else []:  # else its process is gone and the number may be another's by now
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while answers and time.monotonic() < deadline and _answers(state["endpoint"]):
        time.sleep(0.2)
    shutil.rmtree(state["folder"], ignore_errors=True)
    STATE.unlink()
    return bool(answers)


def _answers(endpoint: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2):
        return True
    return False
