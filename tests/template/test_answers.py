"""Every answer becomes legal names or is refused before a file is written, with the rule and a suggestion."""

from __future__ import annotations

import ast
import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from cookiecutter.exceptions import FailedHookException
from jinja2.exceptions import UndefinedError

from .baking import TEMPLATE, Baker, Project

# What is typed as the project name, and the project slug and package that come of it.
ACCEPTED = {
    "My Jobs": ("my-jobs", "my_jobs"),
    "my-jobs": ("my-jobs", "my_jobs"),
    "my.jobs": ("my-jobs", "my_jobs"),
    "naïve": ("naive", "naive"),
    " jobs ": ("jobs", "jobs"),
    "Jobs/../x": ("jobs-x", "jobs_x"),
    "jobs;rm": ("jobs-rm", "jobs_rm"),
    'Bob\'s "Jobs" \\': ("bob-s-jobs", "bob_s_jobs"),
    "a" * 30: ("a" * 30, "a" * 30),
}
REFUSED = {
    "2fast": ("project_slug", "a letter first", "jobs-2fast"),
    "class": ("package_name", "keyword", "class_jobs"),
    "match": ("package_name", "keyword", "match_jobs"),
    "import": ("package_name", "keyword", "import_jobs"),
    "json": ("package_name", "standard-library module", "json_jobs"),
    "test": ("package_name", "standard-library module", "test_jobs"),
    "distutils": ("package_name", "standard-library module", "distutils_jobs"),
    "boto3": ("package_name", "installed package", "boto3_jobs"),
    "pydantic": ("package_name", "installed package", "pydantic_jobs"),
    "tests": ("package_name", "already uses", "tests_jobs"),
    "con": ("project_slug", "Windows", "con-jobs"),
    "_x": ("project_slug", "2 to 30 characters", "x-jobs"),
    "-x": ("project_slug", "2 to 30 characters", "x-jobs"),
    "x-": ("project_slug", "2 to 30 characters", "x-jobs"),
    "a": ("project_slug", "2 to 30 characters", "a-jobs"),
    "a" * 31: ("project_slug", "it has 31", "a" * 30),
    "a" * 70: ("project_slug", "it has 70", "a" * 30),
    "": ("project_name", "must not be empty", "My Jobs"),
    "☃": ("project_name", "at least one letter or digit", "My Jobs"),
    "two\nlines": ("project_name", "one line", "two lines"),
}

# Each name as it is typed for one question alone.
REFUSED_SLUGS = [
    "My Jobs",
    "my.jobs",
    "2fast",
    "con",
    "naïve",
    "ジョブ",
    "_x",
    "-x",
    "x-",
    "a",
    "a" * 70,
    " jobs ",
    "jobs;rm",
    "Jobs",
]
REFUSED_PACKAGES = [
    *[
        "My Jobs",
        "my-jobs",
        "my.jobs",
        "2fast",
        "class",
        "Class",
        "match",
        "import",
        "json",
        "test",
        "boto3",
        "con",
        "naïve",
        "ジョブ",
    ],
    *["_x", "-x", "x-", "x_", "a", "a" * 70, " jobs ", "Jobs/../x", "../../x", "jobs;rm", "", "lambda_function"],
]
REFUSED_WORKLOADS = [
    "My Jobs",
    "my.jobs",
    "my_jobs",
    "2fast",
    "naïve",
    "ジョブ",
    "-x",
    "x-",
    "a" * 70,
    " jobs ",
    "../x",
    "",
    "email-dlq",
]


def refusal(baker: Baker, into: Path, capfd: pytest.CaptureFixture[str], **answers: str) -> dict[str, tuple[str, str]]:
    """Expect a refusal that leaves nothing behind; give rule and suggestion per question."""
    with pytest.raises(FailedHookException):
        baker.bake(into, answers)
    assert list(into.iterdir()) == []
    message = capfd.readouterr().err
    found = re.findall(r"^  (\w+): (.*)\n    rule: (.+)\n    try:  \1=(.+)$", message, re.MULTILINE)
    assert found, message
    return {name: (rule, ast.literal_eval(suggestion)) for name, _, rule, suggestion in found}


@pytest.mark.parametrize(("name", "expected"), ACCEPTED.items())
def test_a_name_becomes_a_legal_pair(bake: Callable[..., Project], name: str, expected: tuple[str, str]) -> None:
    project = bake(project_name=name)
    assert (project.folder.name, project.package) == expected
    assert tomllib.loads(project.text("pyproject.toml"))["project"]["name"] == expected[0]


def test_a_name_in_another_script_becomes_a_legal_pair(bake: Callable[..., Project]) -> None:
    project = bake(project_name="ジョブ")  # the spelling is the transliteration library's business
    assert re.fullmatch(r"[a-z][a-z0-9-]+", project.folder.name)
    assert project.text("README.md").startswith("# ジョブ\n")


@pytest.mark.parametrize(("name", "expected"), REFUSED.items())
def test_a_name_is_refused(
    baker: Baker, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, expected: tuple[str, str, str]
) -> None:
    question, rule, suggestion = expected
    found = refusal(baker, tmp_path, capfd, project_name=name)
    assert rule in found[question][0]
    assert found[question][1] == suggestion


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        *(("project_slug", answer) for answer in REFUSED_SLUGS),
        *(("package_name", answer) for answer in REFUSED_PACKAGES),
        *(("first_workload", answer) for answer in REFUSED_WORKLOADS),
        *(
            ("aws_region", answer)
            for answer in ("", "europe", "eu-central", "EU-CENTRAL-1", "eu-central-1\n", "eu-central-1; rm")
        ),
        *(("module_source", answer) for answer in ("", " ./x", 'a"b', "a\\b", "${var.x}", "a\nb")),
        *(("author", answer) for answer in ("", "  ", "a\nb", "a\x00b", "a\u2028b", "a\u202eb", "x" * 201)),
        *(("description", answer) for answer in ("", "a\r\nb", "a\x1b[31mb")),
    ],
)
def test_an_answer_is_refused_and_its_suggestion_is_accepted(
    baker: Baker, tmp_path: Path, capfd: pytest.CaptureFixture[str], question: str, answer: str
) -> None:
    found = refusal(baker, tmp_path, capfd, **{question: answer})
    baker.bake(tmp_path, {name: suggestion for name, (_, suggestion) in found.items()})


def test_the_workload_that_both_adds_is_no_first_one(
    baker: Baker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = refusal(baker, tmp_path, capfd, consumer="both", first_workload="slow")
    assert found == {"first_workload": ("consumer=both adds a workload of this name, which runs on ECS", "default")}
    for consumer in ("lambda", "ecs"):
        baker.bake(tmp_path / consumer, {"consumer": consumer, "first_workload": "slow"})


@pytest.mark.parametrize("answer", ["Jobs/../x", "../x", "/tmp/x", "a/b", "a\\b", ".", "..", "", " "])
def test_a_slug_that_is_no_folder_name_makes_no_folder(baker: Baker, tmp_path: Path, answer: str) -> None:
    # cookiecutter makes the project folder before it runs the hook, so this rule has to hold earlier.
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    with pytest.raises(UndefinedError, match="project_slug must be the name of one folder"):
        baker.bake(inside, {"project_slug": answer})
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "a", inside]


def test_an_answer_that_is_no_choice_is_refused(baker: Baker, tmp_path: Path) -> None:
    for question, answer in (("python_version", "3.10"), ("architecture", "riscv"), ("consumer", "fargate")):
        with pytest.raises(ValueError, match=answer):
            baker.bake(tmp_path, {question: answer})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["My Jobs", "naïve", "class", "2fast", "Jobs/../x", " jobs ", "a" * 70])
def test_a_typed_name_is_treated_like_a_given_one(
    baker: Baker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # The name, then Enter for every other question.
    monkeypatch.setattr(sys, "stdin", io.StringIO(name + "\n" * 12))
    if name.strip() in {accepted.strip() for accepted in ACCEPTED}:
        project = baker.bake(tmp_path, no_input=False)
        assert (project.folder.name, project.package) == {k.strip(): v for k, v in ACCEPTED.items()}[name.strip()]
    else:
        with pytest.raises(FailedHookException):
            baker.bake(tmp_path, no_input=False)
        assert list(tmp_path.iterdir()) == []


def test_a_refusal_ends_the_command_with_an_error_and_shows_every_rule(baker: Baker, tmp_path: Path) -> None:
    answers = ["project_name=json", "first_workload=My Work", "aws_region=nowhere"]
    done = baker.command(tmp_path, answers, os.environ)
    assert done.returncode == 1
    for line in ('package_name: "json"', 'try:  first_workload="my-work"', "rule: the code of an AWS region"):
        assert line in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["", "../clone"])
def test_a_source_that_is_a_placeholder_is_pointed_out(
    baker: Baker, tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    baker.bake(tmp_path, {"module_source": source} if source else {})
    assert ("EXAMPLE-ORG" in capfd.readouterr().out) == (not source)


def test_free_text_arrives_as_it_was_typed(bake: Callable[..., Project]) -> None:
    author = 'Zoë "Z" O\'Brien \\ Ünal 😀 <z@example.com>'
    description = "Says \"hello\" and 'bye' \\n with ${money} and %{percent} and <b>"
    project = bake(author=author, description=description, project_name='Zoë\'s "Jobs"')
    metadata = tomllib.loads(project.text("pyproject.toml"))["project"]
    assert metadata["authors"] == [{"name": author}]
    assert metadata["description"] == description
    assert f"\n{description}\n" in project.text("README.md")
    for file in project.files():
        if file.suffix in (".py", ".tf", ".yml") or file.name == "Makefile":
            assert "Zoë" not in project.text(file), f"free text reaches {file}"
    project.python("-c", f"import {project.package}.settings")


def test_no_answer_reaches_the_hook_as_code(baker: Baker, tmp_path: Path) -> None:
    trap = "'''); import os; os.mkdir('trap'); ('''"
    project = baker.bake(tmp_path, {"author": trap, "description": trap + '"""' + trap})
    assert [path.name for path in tmp_path.rglob("trap")] == []
    assert tomllib.loads(project.text("pyproject.toml"))["project"]["authors"] == [{"name": trap}]


def test_no_package_may_hide_what_the_project_installs() -> None:
    names = re.search(
        r'INSTALLED = set\(\s*"""(.*?)"""', (TEMPLATE / "hooks" / "pre_gen_project.py").read_text(), re.DOTALL
    )
    assert names is not None
    installed = set()
    for line in (TEMPLATE / "{{cookiecutter.project_slug}}").glob("requirements-*.txt"):
        for requirement in re.findall(r"^([\w-]+)==", line.read_text(), re.MULTILINE):
            files = importlib.metadata.files(requirement) or []
            roots = {file.parts[0].split(".")[0] for file in files if file.suffix == ".py" and ".." not in file.parts}
            installed |= {root for root in roots if "-" not in root and not root.startswith("_")}
    assert installed
    assert installed - set(names[1].split()) == set()


@pytest.mark.parametrize("hook", ["pre_gen_project.py", "post_gen_project.py"])
def test_hooks_need_no_recent_python(tmp_path: Path, hook: str) -> None:
    source = (TEMPLATE / "hooks" / hook).read_text(encoding="utf-8")
    assert source.isascii(), "some consoles and some old Pythons assume ASCII"
    tree = ast.parse(source, feature_version=(3, 6))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"json", "keyword", "os", "re", "shutil", "sys", "unicodedata"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.JoinedStr | ast.NamedExpr)]
    for version in ("3.6", "3.7", "3.8", "3.9", "3.10"):
        python = shutil.which(f"python{version}")
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            subprocess.run([python, "-m", "py_compile", shutil.copy(TEMPLATE / "hooks" / hook, tmp_path)], check=True)
