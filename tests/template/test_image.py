"""The image of the workers, without Docker: its Dockerfile is read, and its build steps are run in a folder."""

from __future__ import annotations

import json
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from .baking import ARCHITECTURES, PYTHON_VERSIONS, Baker, Project, clean_environment

Instruction = tuple[str, str]
TARGET = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine().lower()]


def stages(project: Project) -> list[list[Instruction]]:
    """The instructions of each stage, as (name, arguments)."""
    lines = [line for line in project.text("Dockerfile").splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in joined.splitlines():
        name, _, arguments = line.strip().partition(" ")
        if name == "FROM":
            found.append([])
        if name:
            found[-1].append((name, " ".join(arguments.split())))
    return found


def only(stage: list[Instruction], name: str) -> str:
    (arguments,) = (arguments for instruction, arguments in stage if instruction == name)
    return arguments


@pytest.fixture(params=["ecs", "both"])
def image(request: pytest.FixtureRequest, projects: Mapping[str, Project]) -> Project:
    return projects[request.param]


@pytest.mark.parametrize("python", PYTHON_VERSIONS)
def test_both_stages_have_one_pinned_slim_base_of_the_chosen_python(baker: Baker, tmp_path: Path, python: str) -> None:
    build, final = stages(baker.bake(tmp_path, {"python_version": python, "consumer": "ecs"}))
    base = f"python:{python}-slim-trixie"
    assert only(build, "FROM") == f"--platform=$BUILDPLATFORM {base} AS build"
    assert only(final, "FROM") == base
    packages, code = (arguments for name, arguments in final if name == "COPY")
    assert packages == f"--from=build /build/packages /usr/local/lib/python{python}/site-packages"
    assert code == "--from=build /build/app ./"


def test_what_runs_in_the_container_is_the_worker_itself(image: Project) -> None:
    _, final = stages(image)
    entry, arguments = json.loads(only(final, "ENTRYPOINT")), json.loads(only(final, "CMD"))
    assert [*entry, *arguments] == ["python", "-m", "my_jobs", "worker"]
    options, _, check = only(final, "HEALTHCHECK").partition(" CMD ")
    assert json.loads(check) == [*entry, *arguments, "--check"]
    assert "--start-period=" in options
    assert only(final, "STOPSIGNAL") == "SIGTERM"
    assert "PYTHONUNBUFFERED=1" in only(final, "ENV").split()


def test_it_is_not_root_and_a_cluster_can_see_that(image: Project) -> None:
    user, _, group = only(stages(image)[-1], "USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0
    # modules/ecs-consumer mounts a volume there and makes the rest read-only; undeclared it would belong to root.
    assert json.loads(only(stages(image)[-1], "VOLUME")) == ["/tmp"]
    instructions = [name for name, _ in stages(image)[-1]]
    assert instructions.index("USER") > max(n for n, name in enumerate(instructions) if name == "COPY")


def test_an_image_for_another_processor_needs_no_emulation(image: Project) -> None:
    assert "RUN" not in [name for name, _ in stages(image)[-1]]


def test_no_cache_and_nothing_unpinned_is_in_it(image: Project) -> None:
    (install,) = (line for name, line in stages(image)[0] if name == "RUN" and " pip " in line)
    assert {"--no-cache-dir", "--no-deps", "--only-binary"} <= set(install.split())
    assert "latest" not in image.text("Dockerfile")
    for file in image.files():
        if re.fullmatch(r"requirements-(lambda|worker)\.txt", file.name):
            for line in image.text(file).splitlines():
                assert re.fullmatch(r"#.*|-r requirements-lambda\.txt|[a-z0-9-]+==[0-9a-z.]+", line), line


def test_only_what_it_is_made_of_is_sent_to_the_builder(image: Project) -> None:
    everything, *rest = [line for line in image.text(".dockerignore").splitlines() if not line.startswith("#")]
    assert everything == "*"
    sent = {line[1:] for line in rest if line.startswith("!")}
    requirements = {file.name for file in image.files() if re.match("requirements-(lambda|worker)", file.name)}
    assert sent == {"src", *requirements}
    assert "**/__pycache__" in rest


def build(project: Project, folder: Path) -> Path:
    """Run the first stage's steps in a folder, with the interpreter of these tests; gives what WORKDIR would be."""
    commands = folder / "commands"
    commands.mkdir(parents=True)
    (commands / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (commands / "python").chmod(0o755)
    environment = clean_environment()
    environment.update(TARGETARCH=TARGET, PATH=f"{commands}:{environment['PATH']}")
    work = folder / "build"
    work.mkdir()
    for name, arguments in stages(project)[0]:
        if name == "COPY":
            *sources, target = arguments.split()
            for source in [path for pattern in sources for path in project.folder.glob(pattern)]:
                if source.is_dir():
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(source, work / target, dirs_exist_ok=True, ignore=ignored)
                else:
                    shutil.copy2(source, work / target)
        elif name == "RUN":
            done = subprocess.run(
                ["sh", "-c", arguments], cwd=work, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{arguments}:\n{done.stdout}{done.stderr}"
    return work


@pytest.fixture(scope="module", params=["ecs", "both"])
def built(
    request: pytest.FixtureRequest, projects: Mapping[str, Project], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return build(projects[request.param], tmp_path_factory.mktemp("image"))


def inside(built: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of the image and no others: -S leaves those of this machine out."""
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=built / "app",
        env={**clean_environment(), "PYTHONPATH": str(built / "packages"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_image_has_all_that_the_jobs_import(built: Path) -> None:
    code = (
        "import boto3, my_jobs.settings; from my_jobs.app import app; boto3.client('sqs', region_name='eu-central-1');"
        "print(*app.registry.names(), boto3.__file__)"
    )
    done = inside(built, "-c", code)
    assert done.returncode == 0, done.stderr
    *names, boto3 = done.stdout.split()
    assert "exports.orders" in names
    assert Path(boto3).is_relative_to(built / "packages")
    compiled = {path.name.split(".")[0] for path in (built / "app").rglob("*.pyc")}
    assert {"app", "exports", "engine"} <= compiled


def test_the_worker_starts_with_what_is_in_the_image(built: Path, projects: Mapping[str, Project]) -> None:
    _, final = stages(projects["ecs"])
    entry = json.loads(only(final, "ENTRYPOINT"))
    done = inside(built, *entry[1:], *json.loads(only(final, "CMD")), "--help")
    assert done.returncode == 0, done.stderr
    for option in ("--check", "--exit-when-idle"):
        assert option in done.stdout


def test_a_worker_without_the_stacks_environment_says_so_and_ends_with_2(built: Path) -> None:
    done = inside(built, "-m", "my_jobs", "worker")
    assert (done.returncode, "JOBS_QUEUE_URL" in done.stderr) == (2, True), done.stderr


def test_the_health_check_fails_where_no_worker_is(built: Path) -> None:
    done = inside(built, "-m", "my_jobs", "worker", "--check", JOBS_LIVENESS_FILE=str(built / "none"))
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_make_image_names_platform_and_tag(baker: Baker, tmp_path: Path, architecture: str) -> None:
    project = baker.bake(tmp_path / "a b", {"architecture": architecture, "consumer": "ecs"})
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "docker").write_text('#!/bin/sh\nfor word; do echo "$word"; done\n', encoding="utf-8")
    (commands / "docker").chmod(0o755)
    path = f"{commands}:{clean_environment()['PATH']}"
    target = {"arm64": "linux/arm64", "x86_64": "linux/amd64"}[architecture]
    for given, tag in (("", "my-jobs:local"), ("IMAGE=registry.example/my-jobs:7", "registry.example/my-jobs:7")):
        words = project.run("make", "--silent", "image", *shlex.split(given), PATH=path).stdout.splitlines()
        assert words == ["build", "--platform", target, "--tag", tag, "."]
