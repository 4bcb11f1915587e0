"""Lint, format, types and the rules that hold for every file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = Path("template/{{cookiecutter.project_slug}}/src/{{cookiecutter.package_name}}/runtime")
# The template holds Jinja and is excluded from the plain run; its runtime is plain Python and is named.
INCLUDE_TEMPLATE = ["--config", "pyproject.toml", "--config", "extend-exclude=[]", str(RUNTIME)]


def run(*command: str) -> None:
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("paths", [["."], INCLUDE_TEMPLATE], ids=["repository", "runtime"])
def test_ruff_lint(paths: list[str]) -> None:
    run("ruff", "check", "--no-cache", *paths)


@pytest.mark.parametrize("paths", [["."], INCLUDE_TEMPLATE], ids=["repository", "runtime"])
def test_ruff_format(paths: list[str]) -> None:
    run("ruff", "format", "--no-cache", "--check", *paths)


@pytest.mark.parametrize("target", [["-p", "runtime"], ["-p", "tests"]], ids=["runtime", "tests"])
def test_mypy_strict(target: list[str]) -> None:
    run("mypy", *target)


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


# Built from pieces, so that this file does not match itself.
FORBIDDEN = {
    "the path of one machine": r"/(?:wo" r"rk|fa" r"rm)/|/ro" r"ot/\.|/ho" r"me/[a-z]+/|/opt/[a-z]+-plugins",
    "the host of a package registry": r"py"
    r"pi\.org|pythonho"
    r"sted\.org|registry\.np"
    r"mjs\.org|deb\.deb"
    r"ian\.org",
    "an unfinished place": r"\b(?:TO"
    r"DO|FIX"
    r"ME|XX"
    r"X)\b|NotImplemented"
    r"Error|pytest\.mark\.(?:sk"
    r"ip|xf"
    r"ail)\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_has(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:160]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, f"{what}:\n" + "\n".join(found)


def test_text_files_end_lines_the_unix_way() -> None:
    found = [str(path.relative_to(ROOT)) for path in tracked_files() if b"\r\n" in path.read_bytes()]
    assert not found


def test_the_runtime_manifest_is_current() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "runtime.manifest"],
        cwd=(ROOT / RUNTIME).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, "run `make manifest`:\n" + result.stdout + result.stderr
