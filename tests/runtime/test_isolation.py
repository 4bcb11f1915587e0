"""Jobs that run in a process of their own: everything they may do works, and they can be killed."""

import os
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from runtime.app import App
from runtime.config import ConfigurationError
from runtime.isolation import address_of

from .helpers import body, job_of, note_of, nothing, seconds
from .queue import Place, until

FILES = {
    "apart/__init__.py": "",
    "apart/app.py": 'from runtime import App\napp = App("apart", jobs="apart.jobs", workload="email")\n',
    "apart/jobs/__init__.py": "",
    "apart/jobs/work.py": """
        import os, signal, sys, time
        from datetime import timedelta
        from pathlib import Path
        from pydantic import BaseModel
        from runtime import Job, JobContext, Permanent, fixed
        class Work(BaseModel):
            act: str
            file: str = ""
        class Apart(Job[Work, None]):
            name = "apart"
            isolate = "process"
            timeout = timedelta(seconds=1)
            retry = fixed(timedelta(seconds=600), max_attempts=5)
            log_fields = ("act",)
            def run(self, args: Work, ctx: JobContext) -> None:
                match args.act:
                    case "say":
                        Path(args.file).write_text(str(os.getpid()))
                        print("said by the job", flush=True)
                    case "permanent":
                        raise Permanent("no_such_thing")
                    case "crash":
                        os.kill(os.getpid(), signal.SIGSEGV)
                    case "exit":
                        sys.exit(3)
                    case "native":
                        Path(args.file).write_text(str(os.getpid()))
                        block()
                        time.sleep(300)
        def block():
            # Nothing interrupts it, as nothing interrupts native code.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        class Patient(Apart):
            name = "patient"
            timeout = None
            def run(self, args: Work, ctx: JobContext) -> None:
                if args.act == "wait":
                    while not ctx.stopping:
                        time.sleep(0.02)
                    return
                if args.act == "stall":
                    time.sleep(300)
                for done in range(18):
                    ctx.progress(done, 18)
                    time.sleep(0.25)
        class Still(Patient):
            name = "still"
            stall_after = timedelta(seconds=1)
    """,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "apart"]:
        del sys.modules[name]
    yield Place(app=import_module("apart.app").app, ledger=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "apart"]:
        del sys.modules[name]


def work(act: str, job: str = "apart", **fields: Any) -> str:
    return body(job=job, payload={"act": act, **fields})


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_runs_in_a_process_of_its_own(place: Place, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pid"
    place.queue.put(work("say", file=str(file)))
    with place.working(lease=seconds(20)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", "")]
    assert is_gone(int(file.read_text()))
    assert "said by the job" in capfd.readouterr().out
    (line,) = place.said("job succeeded")
    assert (line["job"], line["attempt"], line["fields"]) == ("apart", 1, {"act": "say"})
    assert line["run_ms"] > 0


def test_what_it_decides_is_carried_out(place: Place) -> None:
    place.queue.put(work("permanent"))
    with place.working(lease=seconds(20)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("dead", "no_such_thing")]
    assert note_of(place.queue.dead_letters[0])["error"] == "Permanent"


def test_native_code_is_killed_when_its_time_is_over(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    place.queue.put(work("native", file=str(file)))
    with place.working(lease=seconds(20)) as working:
        until(place.outcomes)
        assert is_gone(int(file.read_text()))
    assert place.outcomes() == [("retry", "timeout")]
    assert working.code == 0
    assert place.metric("JobStalled") == 0


def test_its_end_in_python_code_is_its_own(place: Place) -> None:
    place.queue.put(work("exit"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
    assert place.outcomes() == [("retry", "error")]


def test_one_that_crashes_comes_again_soon(place: Place) -> None:
    (message,) = place.queue.put(work("crash"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
    assert place.outcomes() == [("lost", "process_died")]
    assert place.queue.hidden == [(message, 5)]


def test_one_that_stands_still_is_killed(place: Place) -> None:
    place.queue.put(work("stall", job="still"))
    with place.working(lease=seconds(20)) as working:
        until(place.outcomes)
    assert place.outcomes() == [("retry", "stalled")]
    assert working.code == 0  # nothing is left that hangs


def test_its_progress_keeps_it(place: Place) -> None:
    place.queue.put(work("count", job="patient"))
    with place.working(lease=seconds(3)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", "")]
    (line,) = place.said("job succeeded")
    assert line["fields"]["progress_done"] == 17
    assert place.queue.hidden


def test_it_is_told_to_stop(place: Place) -> None:
    place.queue.put(work("wait", job="patient"))
    with place.working(lease=seconds(20)) as working:
        until(lambda: any(held.run for held in working.worker._in_hand()))
        assert working.end() == 0
    assert place.outcomes() == [("succeeded", "")]


def test_it_is_given_back_and_killed(place: Place, tmp_path: Path) -> None:
    (message,) = place.queue.put(work("stall", job="patient"))
    with place.working(lease=seconds(20), stop_timeout=seconds(6)) as working:
        until(lambda: any(held.run for held in working.worker._in_hand()))
        (held,) = working.worker._in_hand()
        assert working.end() == 0
    assert place.outcomes() == [("defer", "shutdown")]
    assert place.queue.hidden == [(message, 0)]
    process: Any = vars(held)["process"]
    process.wait(5)


def test_a_hostile_body_needs_no_process(place: Place) -> None:
    place.queue.put("no job", work("x", job="unknown"))
    with place.working(lease=seconds(20)):
        until(lambda: len(place.outcomes()) == 2)
    assert sorted(place.outcomes()) == [("dead", "undecodable"), ("defer", "unknown_job")]


def test_an_app_that_cannot_be_found_is_told() -> None:
    with pytest.raises(ConfigurationError, match="isolate='process'"):
        address_of(App("nowhere", jobs="none", workload="email"))
    with pytest.raises(ConfigurationError, match="isolate='process'"):  # when the worker starts
        Place(job_of(nothing, isolate="process")).worker()
