"""From wire name to class: scanned in a checkout, by index in a package."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from runtime.job import JobClass
from runtime.registry import INDEX_FILE, DuplicateJobNameError, Registry

from .helpers import delivery, engine, job_of, nothing

JOB = """
from pydantic import BaseModel
from runtime import Job
class Args(BaseModel):
    pass
class {cls}(Job[Args, None]):
    name = {name!r}
    aliases = {aliases!r}
    def run(self, args, ctx): ...
"""
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Writes a package ``acme`` with the given files under ``jobs`` and makes it importable."""

    def write(**files: str) -> Path:
        jobs = tmp_path / "acme" / "jobs"
        jobs.mkdir(parents=True)
        (tmp_path / "acme" / "__init__.py").touch()
        (jobs / "__init__.py").touch()
        for name, content in files.items():
            path = jobs / (name.replace("__", "/") + ".py")
            path.parent.mkdir(exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(content)
        return tmp_path / "acme"

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


def source(cls: str, name: str, aliases: tuple[str, ...] = ()) -> str:
    return JOB.format(cls=cls, name=name, aliases=aliases)


def found(registry: Registry, name: str) -> JobClass:
    job = registry.find(name)
    assert job is not None
    return job


def loaded() -> list[str]:
    return sorted(name for name in sys.modules if name.startswith("acme.jobs."))


def test_adding_a_class_is_enough(project: Project) -> None:
    project(mail=source("Send", "mail.send", ("mail.old",)), deep__inner=source("Deep", "deep.job"))
    registry = Registry("acme.jobs")
    assert found(registry, "mail.send").__qualname__ == "Send"
    assert found(registry, "mail.old") is found(registry, "mail.send")
    assert found(registry, "deep.job").__module__ == "acme.jobs.deep.inner"
    assert registry.find("other") is None
    assert [job.name for job in registry.scan()] == ["deep.job", "mail.send"]
    assert registry.names() == {
        "deep.job": "acme.jobs.deep.inner",
        "mail.old": "acme.jobs.mail",
        "mail.send": "acme.jobs.mail",
    }


def test_a_class_imported_from_a_neighbour_counts_once(project: Project) -> None:
    project(mail=source("Send", "mail.send"), other="from .mail import Send, Args\n" + source("Other", "other.job"))
    assert [job.name for job in Registry("acme.jobs").scan()] == ["mail.send", "other.job"]


@pytest.mark.parametrize(
    "second",
    [("b", "same.name", ()), ("b", "other", ("same.name",)), ("b", "former", ())],
    ids=["name", "alias", "old"],
)
def test_two_classes_with_one_name_fail_naming_both(project: Project, second: tuple[str, str, tuple[str, ...]]) -> None:
    project(first=source("A", "same.name", ("former",)), second=source("B", *second[1:]))
    with pytest.raises(DuplicateJobNameError) as caught:
        Registry("acme.jobs")
    text = str(caught.value)
    assert "acme.jobs.first.A" in text
    assert "acme.jobs.second.B" in text
    assert "Rename one of them" in text


def test_one_class_may_be_added_twice() -> None:
    job = job_of(nothing)
    subject = engine(job).registry
    subject.add(job)
    assert subject.find("probe") is job


def index(package: Path, **jobs: str) -> None:
    (package / INDEX_FILE).write_text(json.dumps({"version": "abc", "jobs": jobs}))


def test_a_packaged_function_imports_only_what_arrives(project: Project) -> None:
    package = project(mail=source("Send", "mail"), report=source("Build", "report"), broken="raise ImportError('x')")
    index(package, mail="acme.jobs.mail", report="acme.jobs.report", broken="acme.jobs.broken")
    registry = Registry("acme.jobs")
    assert registry.code_version == "abc"
    assert loaded() == []
    assert registry.find("unknown") is None
    assert loaded() == []
    assert found(registry, "mail").__qualname__ == "Send"
    assert loaded() == ["acme.jobs.mail"]


def test_one_broken_module_harms_no_other(project: Project) -> None:
    package = project(mail=source("Send", "mail"), broken="1 / 0")
    index(package, mail="acme.jobs.mail", broken="acme.jobs.broken")
    subject = engine(job_of(nothing))
    subject.registry = Registry("acme.jobs")

    def reason(name: str) -> str:
        return subject.handle(delivery(json.dumps({"id": "1", "job": name, "payload": {}}))).outcome.reason

    assert [reason("broken"), reason("mail"), reason("broken")] == ["import_failed", "", "import_failed"]


def test_a_module_is_tried_again_after_it_failed(project: Project) -> None:
    package = project(mail="1 / 0")
    index(package, mail="acme.jobs.mail")
    registry = Registry("acme.jobs")
    with pytest.raises(ZeroDivisionError):
        registry.find("mail")
    (package / "jobs" / "mail.py").write_text(source("Send", "mail") + "# of another size than before\n")
    assert found(registry, "mail").__qualname__ == "Send"


def test_an_index_that_promises_too_much_finds_nothing(project: Project) -> None:
    package = project(mail=source("Send", "renamed"))
    index(package, mail="acme.jobs.mail")
    assert Registry("acme.jobs").find("mail") is None
