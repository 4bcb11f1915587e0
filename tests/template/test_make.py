"""`make check` and `make package` as a newcomer runs them: a fresh project, its own packages, a path with a space."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest

from .baking import ARCHITECTURES, Baker, Project

MEGABYTE = 1024 * 1024
# What the zip may weigh, bytecode included. Cold starts grow with it, and whoever adds a dependency should notice.
ZIP_LIMIT = 8 * MEGABYTE


def zip_bytes(project: Project) -> bytes:
    return (project.folder / "dist" / "lambda.zip").read_bytes()


def package(project: Project, python: str, architecture: str) -> bytes:
    arguments = ["--python", python, "--arch", architecture, "--requirements", "requirements-lambda.txt"]
    project.python("-m", f"{project.package}.runtime.package", *arguments, "--output", "dist/lambda.zip")
    return zip_bytes(project)


@pytest.mark.parametrize("consumer", ["lambda", "ecs"])
def test_a_fresh_project_checks_and_packages_itself(baker: Baker, tmp_path: Path, consumer: str) -> None:
    answers = {"python_version": "3.12", "architecture": "x86_64", "consumer": consumer}
    project = baker.bake(tmp_path / "a b" / "ü", answers)
    checked = project.run("make", f"PYTHON={sys.executable}", "check", LC_ALL="C").stdout
    assert re.search(r"\d+ passed", checked)
    assert "runtime: unedited" in checked
    shown = project.run(".venv/bin/python", "-m", "my_jobs", "worker", "--help", PYTHONPATH="src").stdout
    assert "--exit-when-idle" in shown
    if consumer == "lambda":
        packages_itself(project)
    again = project.run("make", "test").stdout
    assert "pip install" not in again, "the virtual environment is made once"
    project.run("make", "clean")
    assert not (project.folder / ".venv").exists()
    assert not (project.folder / "dist").exists()


def packages_itself(project: Project) -> None:
    packaged = project.run("make", "package", LC_ALL="C").stdout
    assert "dist/lambda.zip" in packaged
    first = zip_bytes(project)
    assert project.run("make", "package").returncode == 0
    assert zip_bytes(project) == first


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_zip_is_small_reproducible_and_complete(baker: Baker, tmp_path: Path, architecture: str) -> None:
    first, second = (baker.bake(tmp_path / name, {"architecture": architecture}) for name in ("first", "some where"))
    content = package(first, "3.13", architecture)
    assert package(second, "3.13", architecture) == content, "the folder and the time of building must not matter"
    assert len(content) < ZIP_LIMIT
    with zipfile.ZipFile(first.folder / "dist" / "lambda.zip") as archive:
        names = archive.namelist()
    assert {
        "my_jobs/lambda_function.py",
        "my_jobs/jobs/reports.py",
        "my_jobs/runtime/engine.py",
        "pydantic/main.py",
    } <= {*names}
    assert not [name for name in names if name.startswith(("boto3/", "botocore/", "tests/", "terraform/"))]
    machine = {"arm64": "aarch64", "x86_64": "x86_64"}[architecture]
    libraries = [name for name in names if name.endswith(".so")]
    assert libraries
    assert all(name.endswith(f"-313-{machine}-linux-gnu.so") for name in libraries), libraries


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.14"])
def test_every_python_has_a_zip(baker: Baker, tmp_path: Path, python: str) -> None:
    content = package(baker.bake(tmp_path, {"python_version": python}), python, "arm64")
    assert len(content) < ZIP_LIMIT
