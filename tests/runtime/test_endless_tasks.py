"""Async jobs that will not end."""

import subprocess
import sys

import pytest

from .helpers import ROOT, SOURCE

SCRIPT = """
import asyncio, faulthandler, sys
from runtime.execute import JobTimeout, execute

faulthandler.dump_traceback_later(5, exit=True)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass

async def leaving():
    leaving.task = asyncio.ensure_future(stubborn())

async def good():
    return "good"

try:
    execute({job}, {limit})
except JobTimeout:
    print("timeout")
print(execute(good, 1.0))
"""


@pytest.mark.parametrize(
    ("job", "limit", "output"),
    [("stubborn", 0.05, "timeout\ngood\n"), ("leaving", 0.5, "good\n"), ("leaving", None, "good\n")],
)
def test_a_job_that_refuses_to_be_cancelled_does_not_hold_the_process(
    job: str, limit: float | None, output: str
) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(job=job, limit=limit)],
        env={"PYTHONPATH": f"{ROOT}:{SOURCE}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (0, output), result.stderr


def test_running_a_job_makes_no_loop_but_its_own() -> None:
    script = """
import asyncio
from runtime.execute import execute
made = []
original = asyncio.new_event_loop
def counting():
    made.append(1)
    return original()
asyncio.new_event_loop = asyncio.events.new_event_loop = counting
policy = type(asyncio.get_event_loop_policy())
new = policy.new_event_loop
def new_event_loop(self):
    made.append(2)
    return new(self)
policy.new_event_loop = new_event_loop
async def good():
    return 1
for _ in range(2):
    execute(good, 1.0)
assert made.count(2) == 1, made
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{ROOT}:{SOURCE}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
