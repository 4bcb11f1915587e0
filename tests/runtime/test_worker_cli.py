"""The command line of the worker, what it reads from the environment, and the health check."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from runtime.app import App
from runtime.config import ConfigurationError
from runtime.worker import WorkerSettings
from runtime.worker_cli import FRESH_SECONDS, check, liveness_file, main, settings_from_environment

APP = App("shop", jobs="acme.jobs", workload="email")


def test_the_defaults() -> None:
    settings = settings_from_environment(APP, {})
    assert settings == WorkerSettings(liveness=liveness_file(APP, {}))
    assert (settings.slots, settings.lease, settings.exit_when_idle) == (1, timedelta(seconds=120), None)


def test_what_the_stack_says() -> None:
    settings = settings_from_environment(
        APP,
        {
            "JOBS_SLOTS": "4",
            "JOBS_LEASE_SECONDS": "300",
            "JOBS_STOP_TIMEOUT_SECONDS": "120",
            "JOBS_LIVENESS_FILE": "alive",
        },
    )
    assert settings.slots == 4
    assert (settings.lease, settings.stop_timeout) == (timedelta(minutes=5), timedelta(minutes=2))
    assert settings.liveness == Path("alive")


@pytest.mark.parametrize("name", ["JOBS_SLOTS", "JOBS_LEASE_SECONDS", "JOBS_STOP_TIMEOUT_SECONDS"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "100000"])
def test_a_wrong_number_names_its_variable_and_its_limits(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name}='{value}' is not a whole number from 1 to \d+"):
        settings_from_environment(APP, {name: value})


def test_a_missing_queue_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JOBS_QUEUE_URL", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(App("shop", jobs="acme.jobs", workload="email"), ["worker"])
    assert ended.value.code == 2
    assert "worker: the environment variable JOBS_QUEUE_URL is not set" in capsys.readouterr().err


def test_a_wrong_variable_ends_it_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOBS_SLOTS", "none")
    with pytest.raises(SystemExit) as ended:
        main(App("shop", jobs="acme.jobs", workload="email"), ["worker"])
    assert ended.value.code == 2
    assert "JOBS_SLOTS='none'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["work"], ["worker", "--exit-when-idle", "soon"], ["worker", "--exit-when-idle", "0"]]
)
def test_wrong_arguments_show_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(APP, arguments)
    assert ended.value.code == 2
    assert "usage: python -m acme" in capsys.readouterr().err


def test_the_check_needs_no_queue_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "alive"
    monkeypatch.setenv("JOBS_LIVENESS_FILE", str(file))
    monkeypatch.delenv("JOBS_QUEUE_URL", raising=False)

    def asked() -> object:
        with pytest.raises(SystemExit) as ended:
            main(APP, ["worker", "--check"])
        return ended.value.code

    assert asked() == 1
    assert "no worker" in capsys.readouterr().err
    file.touch()
    assert asked() == 0
    assert "alive" in capsys.readouterr().out
    old = time.time() - FRESH_SECONDS - 5
    os.utime(file, (old, old))
    assert asked() == 1
    assert "the worker hangs" in capsys.readouterr().err


def test_a_file_just_touched_is_fresh(tmp_path: Path) -> None:
    (tmp_path / "alive").touch()
    assert check(tmp_path / "alive") == 0
