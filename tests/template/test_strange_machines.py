"""Generation and first commands on machines unlike the author's: no git, no home, no network, odd paths and locales."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.local_aws import project as local_aws_project

from .baking import Baker, Project, clean_environment

MINIMAL = {"LC_ALL": "C", "PATH": "/nonexistent"}


def command_line(baker: Baker, into: Path, environment: dict[str, str], *answers: str) -> Project:
    """Generate with the cookiecutter command and exactly this environment."""
    into.mkdir(parents=True, exist_ok=True)
    done = baker.command(into, answers, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (path for path in into.iterdir() if path.name != ".git")
    return Project(folder)


def assert_same(project: Project, expected: Project) -> None:
    assert project.files() == expected.files()
    for file in project.files():
        assert (project.folder / file).read_bytes() == (expected.folder / file).read_bytes(), file


@pytest.mark.parametrize(
    "environment",
    [
        MINIMAL,  # neither git nor anything else is found
        {"LC_ALL": "C", "PATH": os.environ["PATH"], "HOME": "/nonexistent"},  # git without an identity
        {"LC_ALL": "C", "PATH": os.environ["PATH"], "HOME": "", "GIT_CONFIG_NOSYSTEM": "1"},
        {**MINIMAL, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},  # a real ASCII console
        {**MINIMAL, "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"},  # no network
    ],
    ids=["no git", "no home", "empty home", "ascii", "no network"],
)
def test_the_machine_makes_no_difference(
    baker: Baker, project: Project, tmp_path: Path, environment: dict[str, str]
) -> None:
    assert_same(command_line(baker, tmp_path / "out", environment), project)


def test_a_path_with_a_space_and_an_accent_makes_no_difference(baker: Baker, project: Project, tmp_path: Path) -> None:
    assert_same(command_line(baker, tmp_path / "a b" / "ü", clean_environment()), project)


def test_accents_survive_an_ascii_console(baker: Baker, tmp_path: Path) -> None:
    environment = {**MINIMAL, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    config = tmp_path / "answers.yaml"
    config.write_text(
        baker.config.read_text(encoding="utf-8") + 'default_context:\n  author: "Zo\\u00eb \\u30b8"\n', encoding="utf-8"
    )
    project = command_line(Baker(baker.template, config), tmp_path / "out", environment)
    assert "Maintained by Zoë ジ." in project.text("README.md")


def test_no_repository_is_made_inside_a_repository(baker: Baker, project: Project, tmp_path: Path) -> None:
    head = tmp_path / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/main\n", encoding="ascii")
    generated = command_line(baker, tmp_path, clean_environment())
    assert_same(generated, project)
    assert not (generated.folder / ".git").exists()
    assert list(head.parent.iterdir()) == [head]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "my-jobs"]


def test_generating_again_keeps_what_is_there(baker: Baker, tmp_path: Path) -> None:
    # As `cruft update` and `cookiecutter --overwrite-if-exists` do: the hooks must not remove what is not theirs.
    project = baker.bake(tmp_path)
    mine = project.folder / "src" / "my_jobs" / "jobs" / "mine.py"
    mine.write_text("# mine\n", encoding="utf-8")
    command_line(baker, tmp_path, clean_environment(), "--overwrite-if-exists")
    assert mine.read_text(encoding="utf-8") == "# mine\n"
    # And a refused answer must not remove a project that was there before.
    with pytest.raises(AssertionError, match="standard-library"):
        command_line(baker, tmp_path, clean_environment(), "--overwrite-if-exists", "package_name=json")
    assert mine.exists()


def test_generating_leaves_nothing_in_the_folder_for_temporary_files(
    baker: Baker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    baker.bake(tmp_path / "baked")
    command_line(baker, tmp_path / "typed", {**clean_environment(), "TMPDIR": str(temporary)})
    local_aws_project.generate(tmp_path / "consumer", {})
    assert list(temporary.iterdir()) == []
    assert tempfile.gettempdir() == str(temporary)


def test_make_finds_a_python_that_works(project: Project, tmp_path: Path) -> None:
    """Version managers put shims on the PATH for versions that are not chosen; such a shim only fails."""
    for name, body in (("python3.13", "exit 127"), ("python3", f'exec "{sys.executable}" "$@"')):
        shim = tmp_path / name
        shim.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
        shim.chmod(0o755)
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in ("make", "sh", "test", "awk", "touch"):
        found = shutil.which(name)
        assert found is not None
        (commands / name).symlink_to(found)
    make = ["make", "--dry-run", "setup"]
    shown = project.run(*make, PATH=f"{tmp_path}:{commands}").stdout
    assert '"python3" -m venv .venv' in shown
    with_none = subprocess.run(
        ["make", "setup"],
        cwd=project.folder,
        env={**clean_environment(), "PATH": str(commands)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert with_none.returncode != 0
    assert "No Python 3.11 or newer found" in with_none.stdout
    assert not (project.folder / ".venv").exists()


@pytest.mark.parametrize("body", ["exit 1", "exec /nonexistent/python"], ids=["too old", "broken"])
def test_make_refuses_a_named_python_that_will_not_do(project: Project, tmp_path: Path, body: str) -> None:
    named = tmp_path / "an old python"
    named.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
    named.chmod(0o755)
    done = subprocess.run(
        ["make", "setup", f"PYTHON={named}"],
        cwd=project.folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout.splitlines() == [
        f"Python 3.11 or newer is needed, and {named} is not. Name another: make PYTHON=/path/to/python3 setup"
    ]
    assert not (project.folder / ".venv").exists()


@pytest.mark.parametrize(
    ("consumer", "building"), [("lambda", ["package"]), ("ecs", ["image"]), ("both", ["package", "image"])]
)
def test_make_without_a_target_lists_the_commands(
    projects: Mapping[str, Project], consumer: str, building: list[str]
) -> None:
    shown = projects[consumer].run("make", "--no-print-directory").stdout
    assert [line.split()[1] for line in shown.splitlines()] == [
        *("help", "setup", "test", "lint", "format", *building, "worker", "check", "clean")
    ]


@pytest.fixture
def deployed(baker: Baker, tmp_path: Path) -> Callable[[str, int], Project]:
    """A project whose packages are installed, with a `terraform` that prints this and ends so."""

    def make(said: str, status: int) -> Project:
        project = baker.bake(tmp_path / "a b", {"first_workload": "e-mail"})
        scripts = {
            tmp_path / "terraform": f"echo \"$@\" >&2; printf '%s' '{said}'; exit {status}",
            project.folder / ".venv/bin/python": f'exec "{sys.executable}" "$@"',
        }
        for file, body in scripts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            file.chmod(0o755)
        (project.folder / ".venv/.installed").touch()
        show = (
            "import os, sys; print(sys.argv[1:], os.environ.get('JOBS_QUEUE_URL'), os.environ.get('JOBS_QUEUE_URLS'))"
        )
        (project.folder / "src/my_jobs/__main__.py").write_text(show, encoding="utf-8")
        path = f"{tmp_path}:{clean_environment()['PATH']}"
        return Project(project.folder, {**clean_environment(), "PATH": path})

    return make


def test_make_worker_has_the_environment_of_the_stack(deployed: Callable[[str, int], Project]) -> None:
    urls = json.dumps({"e-mail": "https://sqs/1", "it's": "$HOME `x`"})
    stack = {"e-mail": {"JOBS_QUEUE_URL": "https://sqs/1", "JOBS_QUEUE_URLS": urls}, "other": {"JOBS_QUEUE_URL": "2"}}
    project = deployed(json.dumps(stack).replace("'", "'\\''"), 0)
    shown = project.run("make", "worker").stdout.splitlines()
    assert shown == ["-chdir=terraform output -json worker_environment", f"['worker'] https://sqs/1 {urls}"]
    assert project.run("make", "worker", "WORKLOAD=other").stdout.endswith("\n['worker'] 2 None\n")
    with pytest.raises(AssertionError, match=r"no workload 'slow'.*make worker WORKLOAD=e-mail or other"):
        project.run("make", "worker", "WORKLOAD=slow")


def test_make_worker_without_a_stack_says_so(deployed: Callable[[str, int], Project]) -> None:
    with pytest.raises(AssertionError, match="Nothing is deployed from terraform/ here"):
        deployed("", 1).run("make", "worker")
