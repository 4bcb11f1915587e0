"""Run job code of any kind under a soft limit: nothing unrun, nothing that takes its neighbours with it."""

import asyncio
import functools
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runtime.execute import JobTimeout, NotAwaitedError, execute

from .conftest import Consumer
from .helpers import ROOT, SOURCE, Aws, Work, app_of, body, failures, handle, invocation, job_of, record, seconds


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


async def numbers() -> AsyncIterator[int]:
    yield 1


class Asynchronous:
    async def __call__(self) -> int:
        return await answer()


class Awaitable:
    def __await__(self) -> Any:
        return answer().__await__()


def hidden(function: Callable[[], Any]) -> Callable[[], Any]:
    def wrapper() -> Any:
        return function()

    return wrapper


@pytest.mark.parametrize(
    "run",
    [
        answer,
        hidden(answer),
        functools.partial(answer),
        Asynchronous(),
        lambda: answer(),
        Awaitable,
        lambda: 42,
        functools.partial(lambda number: number, 42),
    ],
    ids=["async def", "decorated", "partial", "callable object", "returns a coroutine", "awaitable", "plain", "bound"],
)
@pytest.mark.parametrize("limit", [None, 5.0])
def test_every_kind_of_callable_runs_to_its_end(run: Callable[[], Any], limit: float | None) -> None:
    assert execute(run, limit) == 42


@pytest.mark.parametrize("run", [lambda: (n for n in (1, 2)), numbers, lambda: iter([1])])
def test_what_would_stay_unrun_is_a_failure(run: Callable[[], Any]) -> None:
    with pytest.raises(NotAwaitedError, match="nothing of it was executed"):
        execute(run, None)


def test_async_jobs_share_one_loop_over_warm_invocations(consumer: Consumer) -> None:
    lock: list[asyncio.Lock] = []
    loops = set()

    async def contended() -> None:
        # A lock binds itself to the loop in which somebody first waits for it.
        if not lock:
            lock.append(asyncio.Lock())

        async def hold() -> None:
            async with lock[0]:
                await asyncio.sleep(0)

        await asyncio.gather(hold(), hold(), hold())
        loops.add(asyncio.get_running_loop())

    handler = consumer.handler(job_of(lambda args, ctx: contended()))
    for invoked in range(3):
        records = [record(body(str(n)), f"{invoked}-{n}") for n in range(2)]
        assert failures(handler({"Records": records}, invocation())) == []
    assert len(loops) == 1


def test_what_an_async_job_leaves_behind_ends_with_it() -> None:
    left: list[asyncio.Task[None]] = []
    journal: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.sleep(20)
        finally:
            journal.append("cleaned")

    async def careless() -> str:
        left.append(asyncio.ensure_future(careful()))
        await asyncio.sleep(0)
        return "done"

    started = time.monotonic()
    assert execute(careless, None) == "done"
    assert time.monotonic() - started < 10
    assert left[0].cancelled()
    assert journal == ["cleaned"]


def test_inside_a_running_loop_async_jobs_still_run(consumer: Consumer) -> None:
    handler = consumer.handler(job_of(lambda args, ctx: answer()))

    async def notebook() -> list[str]:
        return failures(handler({"Records": [record(body(), "m1"), record(body(), "m2")]}, invocation()))

    assert asyncio.run(notebook()) == []
    # And afterwards, outside of it.
    assert execute(answer, None) == 42


def test_an_error_inside_a_running_loop_is_the_jobs_own() -> None:
    async def wrong() -> None:
        raise ValueError("wrong")

    async def notebook() -> None:
        execute(wrong, None)

    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(notebook())


def test_a_loop_that_a_job_closed_is_replaced() -> None:
    async def first() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    loop = execute(first, None)
    loop.close()
    assert execute(answer, None) == 42


# --- soft limit -------------------------------------------------------------------------------------------------------


def spin() -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        pass


async def sleepy() -> None:
    await asyncio.sleep(20)


async def blocking() -> None:
    time.sleep(20)


@pytest.mark.parametrize("run", [spin, lambda: time.sleep(20), sleepy, blocking])
def test_a_job_that_takes_too_long_is_stopped(run: Callable[[], Any]) -> None:
    started = time.monotonic()
    with pytest.raises(JobTimeout, match=r"longer than its soft limit"):
        execute(run, 0.05)
    assert time.monotonic() - started < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_job_cannot_swallow_its_limit_by_catching_every_exception() -> None:
    def stubborn() -> None:
        try:
            spin()
        except Exception:
            return

    with pytest.raises(JobTimeout):
        execute(stubborn, 0.05)


def test_a_stopped_job_cleans_up() -> None:
    journal: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.sleep(20)
        finally:
            await asyncio.sleep(0)
            journal.append("cleaned")

    with pytest.raises(JobTimeout):
        execute(careful, 0.02)
    assert journal == ["cleaned"]
    assert execute(answer, 1.0) == 42


def test_a_timeout_of_the_jobs_own_is_not_the_limit() -> None:
    async def inner() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(20)

    with pytest.raises(TimeoutError):
        execute(inner, 5.0)


def test_the_alarm_is_gone_when_the_job_has_ended() -> None:
    execute(lambda: None, 50.0)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with pytest.raises(ZeroDivisionError):
        execute(lambda: 1 / 0, 50.0)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_handler_that_a_job_installed_does_not_keep_the_next_one_from_its_limit() -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        execute(lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN), 5.0)
        with pytest.raises(JobTimeout):
            execute(lambda: time.sleep(5), 0.02)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_outside_the_main_thread_a_job_runs_without_an_alarm() -> None:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(execute(answer, 5.0)))
    thread.start()
    thread.join()
    assert results == [42]


def test_an_alarm_of_the_jobs_own_fails_that_job_only(consumer: Consumer) -> None:
    def act(args: Work, ctx: Any) -> None:
        if args.label == "3":
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            spin()

    assert consumer.run([record(body(n), n) for n in "1234"], job_of(act)) == ["3"]
    assert consumer.lines[2]["error"] == "JobTimeout"


def test_a_job_is_told_how_much_time_it_has() -> None:
    seen: list[Any] = []
    handle(job_of(lambda args, ctx: seen.append(ctx.remaining()), timeout=seconds(7)))
    assert seconds(1) < seen[0] <= seconds(7)


def test_the_first_job_pays_for_its_own_time_and_a_later_one_does_not(consumer: Consumer) -> None:
    """Stopped by the end of the invocation: the first one had all of it, the next ones what was left over."""
    left = [0.56]  # 0.06 without the reserve

    def act(args: Work, ctx: Any) -> None:
        if args.label == "b":
            spin()
        left[0] = 5.02  # of 60, whose reserve is 5

    first = consumer.run([record(body("b"), "b")], job_of(act), context=invocation(lambda: left[0]))
    assert first == ["b"]
    assert (consumer.lines[0]["outcome"], consumer.lines[0]["reason"]) == ("retry", "timeout")
    left[0] = 60.0
    second = consumer.run([record(body(n), n) for n in "ab"], job_of(act), context=invocation(lambda: left[0]))
    assert second == ["b"]
    assert (consumer.lines[1]["outcome"], consumer.lines[1]["reason"]) == ("defer", "no_time_left")


# --- the third of four jobs ends in an unusual way --------------------------------------------------------------------


class TimeLimit(BaseException):
    """As celery, baseplate and others have one."""


def recurse() -> None:
    recurse()


def leave(code: object) -> Callable[[], Any]:
    return lambda: sys.exit(code)  # type: ignore[arg-type]


def throw(error: BaseException) -> Callable[[], Any]:
    def act() -> None:
        raise error

    return act


def async_throw(error: BaseException) -> Callable[[], Any]:
    async def act() -> None:
        await asyncio.sleep(0)
        raise error

    return act


UNUSUAL = {
    "exit 0": (leave(0), "retry", "SystemExit"),
    "exit 1": (leave(1), "retry", "SystemExit"),
    "exit text": (leave("bye"), "retry", "SystemExit"),
    "interrupt": (throw(KeyboardInterrupt()), "defer", "KeyboardInterrupt"),
    "cancelled": (throw(asyncio.CancelledError()), "defer", "CancelledError"),
    "generator exit": (throw(GeneratorExit()), "retry", "GeneratorExit"),
    "time limit": (throw(TimeLimit()), "retry", "TimeLimit"),
    "memory": (throw(MemoryError()), "retry", "MemoryError"),
    "recursion": (recurse, "retry", "RecursionError"),
    "stop iteration": (throw(StopIteration()), "retry", "StopIteration"),
    "async interrupt": (async_throw(KeyboardInterrupt()), "defer", "KeyboardInterrupt"),
    "async cancelled": (async_throw(asyncio.CancelledError()), "defer", "CancelledError"),
    "async generator exit": (async_throw(GeneratorExit()), "retry", "GeneratorExit"),
    "async time limit": (async_throw(TimeLimit()), "retry", "TimeLimit"),
    "async memory": (async_throw(MemoryError()), "retry", "MemoryError"),
}


@pytest.mark.parametrize("how", UNUSUAL)
def test_an_unusual_end_is_that_jobs_own(consumer: Consumer, how: str) -> None:
    act, outcome, error = UNUSUAL[how]
    job = job_of(lambda args, ctx: act() if args.label == "3" else answer())
    assert consumer.run([record(body(n), n) for n in "1234"], job) == ["3"]
    assert consumer.outcomes() == {"1": "succeeded", "2": "succeeded", "3": outcome, "4": "succeeded"}
    assert consumer.lines[2]["error"] == error
    assert consumer.aws.of("send_message") == []
    assert [call["ReceiptHandle"] for call in consumer.aws.of("delete_message")] == ["h-1", "h-2"]


# --- in a process of its own, since these end it or spoil it ----------------------------------------------------------

SCRIPT = """
import json, os, signal, sys, threading, time
from pathlib import Path
from tests.runtime.helpers import Aws, app_of, body, invocation, job_of, record

journal = Path(sys.argv[1])

class Journal(Aws):
    def _call(self, api, arguments):
        with journal.open("a") as file:
            file.write(api + " " + arguments.get("ReceiptHandle", "") + "\\n")
        return super()._call(api, arguments)

def act(args, ctx):
    if args.label == "3":
        third(args, ctx)

def third(args, ctx):
    {code}

handler = app_of(Journal(), job_of(act)).lambda_handler()
for invocation_number in range(2):
    answer = handler({{"Records": [record(body(n), n) for n in "1234"]}}, invocation())
    with journal.open("a") as file:
        file.write("answer " + json.dumps(answer) + "\\n")
time.sleep(0.1)
"""


def alone(tmp_path: Path, code: str) -> tuple[int, list[str], subprocess.CompletedProcess[str]]:
    script, journal = tmp_path / "script.py", tmp_path / "journal"
    script.write_text(SCRIPT.format(code=code))
    environment = {"PYTHONPATH": f"{ROOT}:{SOURCE}", "PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        [sys.executable, str(script), str(journal)], env=environment, capture_output=True, text=True, timeout=60
    )
    return result.returncode, journal.read_text().splitlines(), result


DONE = ["delete_message h-1", "delete_message h-2"]
WHOLE = [*DONE, "delete_message h-3", 'answer {"batchItemFailures": []}']


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("os._exit(3)", 3),
        (
            "signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(9)",
            -14,
        ),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    ],
    ids=["exit", "alarm", "kill"],
)
def test_a_dead_process_keeps_what_is_done_and_leaves_the_rest_to_the_queue(
    tmp_path: Path, code: str, status: int
) -> None:
    returncode, journal, _ = alone(tmp_path, code)
    assert (returncode, journal) == (status, DONE)


@pytest.mark.parametrize(
    "code", ["sys.stdout.close()", "os.close(1)", "sys.stdout.close(); sys.stderr.close()", "sys.stdout = None"]
)
def test_a_job_that_closes_its_output_harms_nobody(tmp_path: Path, code: str) -> None:
    # In the second invocation closing again may fail that job, and only that one.
    returncode, journal, result = alone(tmp_path, code)
    assert returncode in (0, 120), result.stderr  # 120: the interpreter itself could not flush at its end
    assert journal[:4] == WHOLE
    assert journal[4:6] == DONE
    assert journal[-1] in (
        'answer {"batchItemFailures": []}',
        'answer {"batchItemFailures": [{"itemIdentifier": "3"}]}',
    )


def test_a_thread_that_raises_later_harms_nobody(tmp_path: Path) -> None:
    returncode, journal, result = alone(tmp_path, "threading.Timer(0.02, lambda: 1 / 0).start()")
    assert returncode == 0, result.stderr
    assert journal == WHOLE * 2


def test_endless_recursion_in_a_real_process(tmp_path: Path) -> None:
    returncode, journal, result = alone(tmp_path, "third(args, ctx)")
    assert returncode == 0, result.stderr
    waits = "change_message_visibility_batch "
    assert journal == [*DONE, waits, 'answer {"batchItemFailures": [{"itemIdentifier": "3"}]}'] * 2


def test_an_async_exit_in_the_middle_leaves_the_loop_usable(aws: Aws) -> None:
    async def act(label: str) -> None:
        await asyncio.sleep(0)
        if label == "2":
            raise KeyboardInterrupt

    handler = app_of(aws, job_of(lambda args, ctx: act(args.label))).lambda_handler()
    event = {"Records": [record(body(n), n) for n in "123"]}
    assert [failures(handler(event, invocation())) for _ in range(3)] == [["2"]] * 3


def test_a_generator_job_is_not_acknowledged(consumer: Consumer) -> None:
    def act(args: Work, ctx: Any) -> Iterator[int]:
        yield 1

    assert consumer.run([record(body(), "m1")], job_of(act)) == ["m1"]
