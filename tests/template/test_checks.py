"""A generated project passes its own checks: style, formatting, strict types, tests, unedited runtime.

The interpreter and the tools are those of these tests, which have the versions that a project pins. What Python is
checked does not depend on the architecture (see test_rendered), so one project per Python and consumer stands for all
combinations.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .baking import CONSUMERS, Baker, Project

NAMES = {
    "3.11": {"architecture": "arm64", "project_name": "My Jobs"},
    "3.12": {"architecture": "x86_64", "package_name": "p" * 40, "first_workload": "w" * 24},
    "3.13": {"architecture": "arm64", "project_name": 'Zoë\'s "Jobs" \\', "first_workload": "e-mail"},
    "3.14": {"architecture": "x86_64", "package_name": "jobs"},
}
PROJECTS = [
    {"python_version": python, "consumer": consumer, **names}
    for python, names in NAMES.items()
    for consumer in CONSUMERS
]


def check(project: Project) -> str:
    """What `make check` runs, without making a virtual environment; gives pytest's output."""
    project.python("-m", "ruff", "check", "--no-cache", ".")
    project.python("-m", "ruff", "format", "--no-cache", "--check", ".")
    project.python("-m", "mypy")
    project.python("-m", f"{project.package}.runtime.manifest")
    return project.python("-m", "pytest", "-q", "-p", "no:cacheprovider").stdout


@pytest.mark.parametrize("answers", PROJECTS, ids=[f"{a['python_version']}-{a['consumer']}" for a in PROJECTS])
def test_a_project_passes_its_own_checks(baker: Baker, tmp_path: Path, answers: dict[str, str]) -> None:
    output = check(baker.bake(tmp_path, answers))
    assert re.search(r"^\d+ passed in", output, re.MULTILINE), output


def test_the_commands_of_make_check_are_the_ones_checked_here(project: Project) -> None:
    makefile = project.text("Makefile")
    for command in ("ruff check .", "ruff format --check .", "mypy", "pytest", "$(PACKAGE).runtime.manifest"):
        assert f"\t$(IN_VENV) {command}\n" in makefile
    assert re.search(r"^check: lint leftovers test ", makefile, re.MULTILINE)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_job_added_as_the_readme_says_works_and_changes_no_terraform(
    baker: Baker, tmp_path: Path, consumer: str
) -> None:
    project = baker.bake(tmp_path, {"consumer": consumer})
    before = {file: project.text(file) for file in project.files()}
    job, test = re.findall(r"```python\n(.*?)```", project.text("README.md"), re.DOTALL)[:2]
    (project.folder / "src/my_jobs/jobs/images.py").write_text(job, encoding="utf-8")
    (project.folder / "tests/jobs/test_images.py").write_text(test, encoding="utf-8")
    passed = re.findall(r"(\d+) passed", project.text("README.md"))  # what it promises before and after
    output = check(project)
    assert int(passed[1]) == int(passed[0]) + 1
    assert f"{passed[1]} passed in" in output
    names = project.python("-c", "from my_jobs.app import app; print(*app.registry.names())").stdout.split()
    samples = {"reports.build", "invoices.issue", "webhooks.deliver", *(["exports.orders"] * (consumer != "lambda"))}
    assert set(names) == {*samples, "images.thumbnail"}
    assert {file: project.text(file) for file in before} == before


def test_the_readme_publishes_a_job_as_the_code_allows(baker: Baker, tmp_path: Path) -> None:
    project = baker.bake(tmp_path)
    job, _, publish = re.findall(r"```python\n(.*?)```", project.text("README.md"), re.DOTALL)
    (project.folder / "src/my_jobs/jobs/images.py").write_text(job, encoding="utf-8")
    imports, _, calls = publish.partition("\n\napp.enqueue")
    body = "\n".join("    " + line for line in ("app.enqueue" + calls).splitlines())
    test = f"{imports}\n\n\ndef test_it(jobs):\n{body}\n    assert (len(jobs.enqueued), failed) == (102, [])\n"
    (project.folder / "tests/test_readme.py").write_text(test, encoding="utf-8")
    project.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_readme.py")


def test_an_edited_runtime_fails_the_check(baker: Baker, tmp_path: Path) -> None:
    project = baker.bake(tmp_path)
    engine = project.folder / project.runtime / "engine.py"
    engine.write_text(engine.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"engine\.py was edited"):
        project.python("-m", "my_jobs.runtime.manifest")


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("src/my_jobs/jobs/reports.py", "<" * 7 + " before updating\n", "Conflict markers"),
        ("terraform/main.tf", "x\n" + ">" * 7 + " after updating\n", "Conflict markers"),
        ("Makefile.rej", "", r"\.rej files"),
    ],
)
def test_leftovers_of_an_update_fail_the_check(
    baker: Baker, tmp_path: Path, path: str, text: str, message: str
) -> None:
    project = baker.bake(tmp_path / "a b")
    project.run("make", "leftovers")
    (project.folder / path).write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=message):
        project.run("make", "leftovers")
