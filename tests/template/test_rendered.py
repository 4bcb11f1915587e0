"""What is generated: complete for every combination of answers, no trace of the template, always the same bytes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import requires
from pathlib import Path, PurePosixPath

import pytest
import yaml  # type: ignore[import-untyped]

from .baking import (
    ARCHITECTURES,
    CACHES,
    COMBINATIONS,
    CONSUMERS,
    PROJECT_FOLDER,
    RUNTIME_FOLDER,
    TEMPLATE,
    Baker,
    Project,
)

TEMPLATE_OWNED = "runtime"


@pytest.mark.parametrize(("python", "architecture", "consumer"), COMBINATIONS)
def test_every_combination_is_rendered_completely(
    bake: Callable[..., Project], python: str, architecture: str, consumer: str
) -> None:
    answers = {"python_version": python, "architecture": architecture, "consumer": consumer}
    project = bake(**answers, first_workload="e-mail", aws_region="us-gov-west-1")
    for file in project.files():
        assert "cookiecutter" not in str(file)
        if project.runtime not in file.parents:
            text = project.text(file)
            assert "cookiecutter." not in text, file
            assert not re.search(r"(?<!\$)\{\{|\{%|%\}", text), file  # ${{ }} is GitHub's
            blank = r"\n{4}" if file.suffix in (".py", ".md") else r"\n{3}"
            assert not re.search(rf"[ \t]\n|{blank}|\n\n\Z", text), f"{file}: what a condition leaves behind"
    assert f'target-version = "py{python.replace(".", "")}"' in project.text("pyproject.toml")
    assert tomllib.loads(project.text("pyproject.toml"))["tool"]["mypy"]["python_version"] == python
    workloads = project.text("terraform/workloads.tf")
    assert (f'runtime         = "python{python}"' in workloads) == (consumer != "ecs")
    assert len(re.findall(f'architecture += "{architecture}"', workloads)) == (2 if consumer == "both" else 1)
    assert '"e-mail" = {' in workloads
    assert 'workload="e-mail"' in project.text("src/my_jobs/app.py")
    assert 'default     = "us-gov-west-1"' in project.text("terraform/variables.tf")
    makefile = project.text("Makefile")
    assert f"PYTHON_VERSION := {python}\n" in makefile
    assert (f"ARCHITECTURE := {architecture}\n" in makefile) == (consumer != "ecs")
    platform = {"arm64": "linux/arm64", "x86_64": "linux/amd64"}[architecture]
    assert (f"PLATFORM := {platform}\n" in makefile) == (consumer != "lambda")


ON_LAMBDA = {"requirements-lambda.txt", "src/my_jobs/lambda_function.py", "tests/test_lambda_function.py"}
ON_ECS = {
    *(".dockerignore", "Dockerfile", "requirements-worker.txt"),
    *("src/my_jobs/jobs/exports.py", "tests/jobs/test_exports.py"),
}


def test_a_project_has_the_files_of_its_consumers_and_no_others(projects: Mapping[str, Project]) -> None:
    names = {consumer: {file.as_posix() for file in project.files()} for consumer, project in projects.items()}
    assert names["both"] - names["ecs"] == ON_LAMBDA
    assert names["both"] - names["lambda"] == ON_ECS
    assert names["lambda"] | names["ecs"] == names["both"]


def test_a_project_names_nothing_of_a_consumer_that_it_has_not(projects: Mapping[str, Project]) -> None:
    foreign = {
        "lambda": r"Dockerfile|docker |requirements-worker|exports|ecs_cluster|make image",
        "ecs": r"lambda_function|requirements-lambda|lambda\.zip|make package|pause_on_open",
    }
    for consumer, words in foreign.items():
        project = projects[consumer]
        for file in project.files():
            # The page on workloads is about which consumer to choose.
            if project.runtime not in file.parents and file.name != "workloads.md":
                assert not re.search(words, project.text(file)), file


def test_the_architecture_changes_only_what_is_built_and_deployed(baker: Baker, tmp_path: Path) -> None:
    # So whatever Python checks hold for one architecture hold for the other.
    one, other = (baker.bake(tmp_path / name, {"architecture": name}) for name in ARCHITECTURES)
    changed = [file for file in one.files() if one.text(file) != other.text(file)]
    assert [str(file) for file in changed] == ["Makefile", "README.md", "terraform/workloads.tf"]


def test_the_architecture_changes_as_little_where_workers_run(baker: Baker, tmp_path: Path) -> None:
    one, other = (baker.bake(tmp_path / name, {"architecture": name, "consumer": "both"}) for name in ARCHITECTURES)
    changed = [file.as_posix() for file in one.files() if one.text(file) != other.text(file)]
    assert changed == [".github/workflows/ci.yml", "Makefile", "README.md", "terraform/workloads.tf"]


def test_the_runtime_arrives_byte_for_byte(project: Project) -> None:
    names = {
        str(file.relative_to(RUNTIME_FOLDER))
        for file in RUNTIME_FOLDER.rglob("*")
        if file.is_file() and not CACHES("", list(file.relative_to(RUNTIME_FOLDER).parts))
    }
    arrived = {str(file.relative_to(project.runtime)) for file in project.files() if project.runtime in file.parents}
    assert arrived == names
    for name in names:
        assert (project.folder / project.runtime / name).read_bytes() == (RUNTIME_FOLDER / name).read_bytes(), name


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_equal_answers_give_equal_bytes(baker: Baker, tmp_path: Path, consumer: str) -> None:
    answers = {"project_name": "Ünal's Jobs", "consumer": consumer}
    first, second = (baker.bake(tmp_path / name, answers) for name in ("first", "second"))
    assert first.files() == second.files()
    for file in first.files():
        assert (first.folder / file).read_bytes() == (second.folder / file).read_bytes(), file
        assert (first.folder / file).stat().st_mode == (second.folder / file).stat().st_mode, file


def test_bytecode_in_the_template_does_not_arrive(tmp_path: Path) -> None:
    baker = Baker.in_folder(tmp_path)
    runtime = baker.template / RUNTIME_FOLDER.relative_to(TEMPLATE)
    for folder in (runtime, runtime / "part"):
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "__pycache__" / "engine.cpython-313.pyc").write_bytes(b"\0compiled")
    (runtime / "part" / "kept.py").write_text("", encoding="utf-8")
    files = baker.bake(tmp_path / "out").files()
    assert Path("src/my_jobs/runtime/part/kept.py") in files
    assert [file for file in files if "__pycache__" in file.parts] == []


def test_line_ends_are_lf_even_from_a_template_checked_out_with_crlf(
    tmp_path: Path, projects: Mapping[str, Project]
) -> None:
    project = projects["both"]
    for file in project.files():
        assert b"\r" not in (project.folder / file).read_bytes(), file
    baker = Baker.in_folder(tmp_path)
    for source in baker.template.rglob("*"):
        if source.is_file() and TEMPLATE_OWNED not in source.parts:
            source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    crlf = baker.bake(tmp_path / "out", {"consumer": "both"})
    for file in crlf.files():
        assert (crlf.folder / file).read_bytes() == (project.folder / file).read_bytes(), file


def test_git_keeps_line_ends_in_the_generated_project(project: Project) -> None:
    assert "\n* text=auto eol=lf\n" in project.text(".gitattributes")


def test_nothing_needs_an_executable_bit(project: Project) -> None:
    # Commands are make targets and `python -m`: a checkout that loses the bit (Windows, zip) works all the same.
    for file in project.files():
        assert not project.text(file).startswith("#!"), file
        assert (project.folder / file).stat().st_mode & 0o111 == 0, file


def every_name() -> Iterator[PurePosixPath]:
    for file in TEMPLATE.rglob("*"):
        if not CACHES("", list(file.relative_to(TEMPLATE).parts)):
            yield PurePosixPath(file.relative_to(TEMPLATE))


def test_the_template_can_be_checked_out_on_windows() -> None:
    seen: dict[str, PurePosixPath] = {}
    for name in every_name():
        for part in name.parts:
            assert not re.search(r'[<>:"|?*\\\x00-\x1f]', part), name
            assert not part.endswith((".", " ")), name
            assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", part), name
        assert seen.setdefault(str(name).lower(), name) == name, "two names differ only in case"
        # Windows allows 260 characters: leave half of them for the folder that the repository is cloned into.
        assert len(str(name)) <= 130, name


def test_paths_stay_short_with_the_longest_names(bake: Callable[..., Project]) -> None:
    project = bake(project_slug="s" * 30, package_name="p" * 40)
    assert max(len(str(project.folder.name / file)) for file in project.files()) <= 130


def test_an_update_leaves_everything_but_the_runtime_alone(each: Project) -> None:
    project = each
    # cruft takes the files that `skip` names out of what it compares; a name with * is a glob (cruft 2.16).
    skip = tomllib.loads(project.text("pyproject.toml"))["tool"]["cruft"]["skip"]
    skipped: set[Path] = set()
    for pattern in skip:
        matches = list(project.folder.glob(pattern)) if "*" in pattern else [project.folder / pattern]
        assert matches, pattern
        for match in matches:
            assert match.exists(), f"{pattern} names nothing"
            skipped |= {match} if match.is_file() else set(match.rglob("*"))
    updated = [file for file in project.files() if project.folder / file not in skipped]
    assert updated
    assert all(project.runtime in file.parents for file in updated), updated
    assert not [file for file in skipped if project.runtime in file.relative_to(project.folder).parents]


def test_the_workflow_is_valid_and_its_actions_are_pinned(each: Project) -> None:
    text = each.text(".github/workflows/ci.yml")
    workflow = yaml.safe_load(text)
    assert workflow["concurrency"]["group"] == "${{ github.workflow }}-${{ github.ref }}"
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for step in steps:
        assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)), step
    used = {word for step in steps for word in re.findall(r"make (\w+)", step.get("run", ""))}
    assert used == {"leftovers", "check", *({"package", "image"} & targets(each))}
    assert used <= targets(each)


def targets(project: Project) -> set[str]:
    return set(re.findall(r"^([a-z]+):", project.text("Makefile"), re.MULTILINE))


def test_readme_names_commands_and_paths_that_exist(each: Project) -> None:
    project, readme = each, each.text("README.md")
    commands = set(re.findall(r"(?:\$ |`)make ([a-z]+)", readme))
    assert commands == targets(project) - {"help", "leftovers"}
    for path in re.findall(r"`((?:src|tests|terraform)/[\w/.]+)`", readme):
        assert (project.folder / path).exists() or path in (
            "src/my_jobs/jobs/images.py",
            "tests/jobs/test_images.py",
            "terraform/terraform.tfvars",
        ), path
    for output in re.findall(r"terraform output -\w+ (\w+)", readme):
        assert f'output "{output}"' in project.text("terraform/outputs.tf")


def test_lambda_requirements_are_pinned_and_hold_no_boto3(project: Project) -> None:
    lines = [line for line in project.text("requirements-lambda.txt").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line) for line in lines), lines
    assert [line.split("==")[0] for line in lines] == sorted(line.split("==")[0] for line in lines)
    assert not {"boto3", "botocore"} & {line.split("==")[0] for line in lines}


def test_pins_are_the_same_as_where_the_runtime_is_tested(each: Project) -> None:
    repository = pins((TEMPLATE.parent / "requirements-dev.txt").read_text(encoding="utf-8"))
    generated = pins("".join(each.text(file) for file in each.files() if file.name.startswith("requirements-")))
    common = repository.keys() & generated.keys()
    assert {"pydantic", "aws-lambda-powertools", "boto3", "pytest", "ruff", "mypy"} <= common
    assert {name: generated[name] for name in common} == {name: repository[name] for name in common}


def test_workers_have_what_the_function_has_and_boto3(projects: Mapping[str, Project]) -> None:
    function = pins(projects["lambda"].text("requirements-lambda.txt"))
    both, alone = (projects[consumer].text("requirements-worker.txt") for consumer in ("both", "ecs"))
    assert "\n-r requirements-lambda.txt\n" in both
    assert pins(alone) == {**function, **pins(both)}
    assert list(pins(alone)) == sorted(pins(alone))
    assert pins(both).keys() == {"boto3", *complete(["boto3"])} - function.keys(), "pip resolves nothing in the image"


def complete(names: Iterable[str]) -> set[str]:
    """What these packages need, all the way down."""
    needed: set[str] = set()
    for name in names:
        direct = {re.match(r"[\w-]+", line)[0] for line in requires(name) or () if ";" not in line}  # type: ignore[index]
        needed |= direct | complete(direct)
    return needed


def pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)(?:\[[\w,]+\])?==(\S+)", text, re.MULTILINE))


def test_only_jobs_that_need_settings_import_them(project: Project) -> None:
    loaded = project.python("-c", "import sys, my_jobs.lambda_function; print(*sorted(sys.modules))").stdout.split()
    assert "my_jobs.app" in loaded
    for module in ("pydantic_settings", "boto3", "my_jobs.settings"):
        assert module not in loaded


def test_the_folder_of_the_template_has_only_what_it_needs() -> None:
    assert sorted(path.name for path in TEMPLATE.iterdir() if path.name != "__pycache__") == [
        "cookiecutter.json",
        "hooks",
        PROJECT_FOLDER,
    ]
