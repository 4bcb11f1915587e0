from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from . import interpreters
from .interpreters import FunctionPython


def test_the_environment_of_functions_holds_what_the_runtime_brings_and_nothing_else(
    lambda_python: FunctionPython,
) -> None:
    names = ("boto3", "awslambdaric", "pydantic", "rich")
    script = f"import importlib.util as u; print([name for name in {names} if u.find_spec(name)])"
    done = subprocess.run([str(lambda_python.executable), "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['boto3', 'awslambdaric']"


def test_an_interpreter_counts_only_if_running_it_works(tmp_path: Path) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert interpreters._version_of(shim) is None
    assert interpreters._version_of(tmp_path / "absent") is None
    assert interpreters._version_of(Path(sys.executable)) == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_without_the_managed_version_the_running_one_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "_candidates", lambda: iter(()))
    assert interpreters._interpreter() == (f"{sys.version_info.major}.{sys.version_info.minor}", Path(sys.executable))
