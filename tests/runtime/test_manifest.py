"""An edited runtime is told from an original one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .helpers import RUNTIME


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    target = tmp_path / "a folder" / "runtime"
    shutil.copytree(RUNTIME, target, ignore=shutil.ignore_patterns("__pycache__"))
    # Whatever is being worked on: the copy starts with a manifest of its own.
    assert run(target, "--write").returncode == 0
    return target


def run(runtime: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runtime.manifest", *arguments]
    return subprocess.run(command, cwd=runtime.parent, capture_output=True, text=True, check=False)


def test_an_original_runtime_passes_and_its_manifest_is_reproducible(copy: Path) -> None:
    manifest = (copy / "MANIFEST.sha256").read_bytes()
    assert run(copy).stdout == "runtime: unedited\n"
    run(copy, "--write")
    assert (copy / "MANIFEST.sha256").read_bytes() == manifest


def test_every_difference_is_named_with_what_to_do_instead(copy: Path) -> None:
    (copy / "engine.py").write_text((copy / "engine.py").read_text() + "\n# edited\n")
    (copy / "mine.py").write_text("")
    (copy / "schema.py").unlink()
    result = run(copy)
    assert result.returncode == 1
    for line in ("engine.py was edited", "mine.py was added", "schema.py is missing"):
        assert line in result.stdout
    assert "an update would overwrite the change" in result.stdout
    assert "policy.py" not in result.stdout


def test_the_schema_counts_too(copy: Path) -> None:
    (copy / "envelope.schema.json").write_text("{}")
    assert "envelope.schema.json was edited" in run(copy).stdout


def test_line_ends_of_a_checkout_do_not_count(copy: Path) -> None:
    for path in copy.glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run(copy).returncode == 0
