"""A demo that was left up can be ended, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local_aws.paths import REPOSITORY
from tests.local_aws.process import Supervised, clean_environment
from tests.local_aws.stack import wait_for

from . import kept
from .__main__ import run


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "STATE", tmp_path / "cache" / "demo.json")
    return kept.STATE


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Supervised]:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with Supervised(command, env=clean_environment({}), cwd=tmp_path, output=tmp_path / "out", grace=1) as process:
        yield process


def test_what_was_left_up_is_ended_and_its_folder_removed(state: Path, sleeper: Supervised, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    kept.remember(folder, [sleeper.pid])
    assert kept.stop()
    assert not sleeper.running
    assert not folder.exists()
    assert not state.exists()
    assert not kept.stop()


def test_a_number_that_is_another_process_by_now_is_left_alone(
    state: Path, sleeper: Supervised, tmp_path: Path
) -> None:
    kept.remember(tmp_path / "demo", [sleeper.pid])
    known = json.loads(state.read_text())
    known["processes"] = {sleeper.pid: "python -S supervise.py 8 something-else", 999_999_999: ""}
    state.write_text(json.dumps(known))
    assert not kept.stop()
    assert sleeper.running
    assert not state.exists()


def test_help_runs_nothing_and_a_misspelt_option_neither(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.demo.__main__.Screen", None)
    for arguments, code in ((["--help"], 0), (["--stopp"], 2)):
        with pytest.raises(SystemExit) as ended:
            run(arguments)
        assert ended.value.code == code
    assert "--stop" in capsys.readouterr().out


def inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(REPOSITORY), "--no-print-directory", *arguments],
        env={**inherited(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("goal", ["demo", "test"])
@pytest.mark.parametrize(
    ("terraform", "found"),
    [("echo Terraform v1.8.5", "1.8.5"), ("echo Terraform v0.15.0", "0.15.0"), ("exit 127", "none")],
)
def test_make_asks_for_terraform_before_it_installs_anything(
    tmp_path: Path, goal: str, terraform: str, found: str
) -> None:
    command = tmp_path / "terraform"
    command.write_text(f"#!/bin/sh\n{terraform}\n")
    command.chmod(0o755)
    done = make(goal, f"VENV={tmp_path}/venv", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"Terraform 1.9 or newer is needed on PATH (found: {found})" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("goal", ["demo", "setup"])
def test_make_asks_for_python_before_it_installs_anything(tmp_path: Path, goal: str) -> None:
    (tmp_path / "terraform").write_text("#!/bin/sh\necho Terraform v1.9.0\n")
    (tmp_path / "python").write_text("#!/bin/sh\nexit 1\n")
    for command in ("terraform", "python"):
        (tmp_path / command).chmod(0o755)
    for python in (f"{tmp_path}/python", f"{tmp_path}/missing"):
        done = make(
            goal,
            *(f"PYTHON={python}", f"VENV={tmp_path}/venv", f"LOCAL_AWS_VENV={tmp_path}/local"),
            PATH=f"{tmp_path}:{os.environ['PATH']}",
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert f"Python 3.11 or newer is needed, and {python} is not" in done.stderr
        assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("goal", ["demo", "test", "bench"])
def test_a_signal_to_make_reaches_python(tmp_path: Path, goal: str) -> None:
    scripts = {
        "terraform": "echo Terraform v1.9.0",
        "venv/bin/python": f'trap \'echo told > "{tmp_path}/told"; exit 0\' TERM; touch "{tmp_path}/up"\n'
        "while true; do sleep 0.1; done",
    }
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    for name, body in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "venv" / ".done").touch()
    venvs = (f"VENV={tmp_path}/venv", f"LOCAL_AWS_VENV={tmp_path}/venv")
    environment = {**inherited(), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        ["make", "-C", str(REPOSITORY), goal, *venvs],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "up").exists, timeout=20, what="the command runs", pause=0.05)
    process.terminate()
    process.wait(timeout=20)
    wait_for((tmp_path / "told").exists, timeout=20, what="the command was told", pause=0.05)
