"""Generate a consumer with cookiecutter, give it jobs, package it: what a user does, without the typing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cookiecutter.main import cookiecutter

from .interpreters import FunctionPython
from .paths import TEMPLATE
from .process import clean_environment, run
from .temporary import temporary_files_in

HOST_ARCHITECTURE = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}[
    platform.machine().lower()
]
CACHES = shutil.ignore_patterns("__pycache__", "*.pyc", ".mypy_cache", ".ruff_cache", ".pytest_cache")


@dataclass(frozen=True)
class Project:
    folder: Path
    package: str

    @property
    def source(self) -> Path:
        return self.folder / "src"

    @property
    def jobs(self) -> Path:
        return self.source / self.package / "jobs"

    @property
    def handler(self) -> str:
        return f"{self.package}.lambda_function.handler"

    def use_jobs(self, folder: Path) -> None:
        """Put the job files of a folder in the place of the sample ones."""
        for sample in self.jobs.glob("*.py"):
            if sample.name != "__init__.py":
                sample.unlink()
        self.add_jobs(folder)

    def add_jobs(self, folder: Path) -> None:
        for file in sorted(folder.glob("*.py")):
            if file.name != "__init__.py":
                shutil.copy2(file, self.jobs)

    def package_for(self, python: FunctionPython | None, output: Path) -> Path:
        """Build the zip for this machine's processor, so that a local AWS can run it; for Lambda's own if `python` is
        None.
        """
        version = python.version if python else "3.13"
        architecture = HOST_ARCHITECTURE if python else "arm64"
        folders = [str(python.executable.parent)] if python else []  # it compiles the bytecode
        environment = clean_environment({k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "HOME"))})
        environment["PATH"] = os.pathsep.join([*folders, environment["PATH"]])
        run(
            [
                sys.executable,
                "-m",
                f"{self.package}.runtime.package",
                *("--python", version),
                *("--arch", architecture),
                *("--requirements", "requirements-lambda.txt"),
                *("--output", str(output)),
            ],
            env={**environment, "PYTHONPATH": str(self.source)},
            cwd=self.folder,
            output=output.with_suffix(".log"),
            what="packaging the consumer",
        )
        return output


def generate(into: Path, answers: Mapping[str, str]) -> Project:
    """Generate a consumer from a clean copy of the template, without touching the caller's cookiecutter settings."""
    into.mkdir(parents=True, exist_ok=True)
    template = into / "template"
    shutil.copytree(TEMPLATE, template, ignore=CACHES, dirs_exist_ok=True)
    settings = into / "cookiecutter.yaml"
    settings.write_text(f'cookiecutters_dir: "{into}/clones"\nreplay_dir: "{into}/replay"\n', encoding="utf-8")
    with temporary_files_in(into):
        made = cookiecutter(
            str(template),
            no_input=True,
            extra_context=dict(answers),
            output_dir=str(into),
            config_file=str(settings),
        )
    folder = Path(made)
    return Project(folder, next(file.parent.name for file in folder.glob("src/*/app.py")))
