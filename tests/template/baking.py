"""Generate projects from a clean copy of the template, as somebody does who has just cloned it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from subprocess import CompletedProcess

from cookiecutter.main import cookiecutter

from tests.local_aws.temporary import temporary_files_in

REPOSITORY = Path(__file__).resolve().parents[2]
TEMPLATE = REPOSITORY / "template"
PROJECT_FOLDER = "{{cookiecutter.project_slug}}"
RUNTIME_FOLDER = TEMPLATE / PROJECT_FOLDER / "src" / "{{cookiecutter.package_name}}" / "runtime"

PYTHON_VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ARCHITECTURES = ("arm64", "x86_64")
CONSUMERS = ("lambda", "ecs", "both")
COMBINATIONS = list(product(PYTHON_VERSIONS, ARCHITECTURES, CONSUMERS))

# Caches that running tests leave behind; the template's own .gitignore names them, so a clone has none.
CACHES = shutil.ignore_patterns("__pycache__", "*.pyc", ".mypy_cache", ".ruff_cache", ".pytest_cache")


@dataclass(frozen=True)
class Baker:
    """Generates projects. Keeps cookiecutter's own files (the record of the last answers) out of the home folder."""

    template: Path
    config: Path

    @classmethod
    def in_folder(cls, folder: Path) -> Baker:
        template = folder / "template"
        shutil.copytree(TEMPLATE, template, ignore=CACHES)
        config = folder / "cookiecutter.yaml"
        config.write_text(f'cookiecutters_dir: "{folder}/clones"\nreplay_dir: "{folder}/replay"\n', encoding="utf-8")
        return cls(template, config)

    def bake(self, into: Path, answers: Mapping[str, str] | None = None, *, no_input: bool = True) -> Project:
        into.mkdir(parents=True, exist_ok=True)
        with temporary_files_in(self.template.parent):
            folder = cookiecutter(
                str(self.template),
                no_input=no_input,
                extra_context=dict(answers or {}),
                output_dir=str(into),
                config_file=str(self.config),
            )
        return Project(Path(folder))

    def command(self, into: Path, answers: Iterable[str], environment: Mapping[str, str]) -> CompletedProcess[str]:
        """Run the cookiecutter command with exactly this environment, and a folder for its temporary files."""
        options = ["--no-input", "--config-file", str(self.config), "-o", str(into)]
        with tempfile.TemporaryDirectory(dir=self.template.parent) as temporary:
            return subprocess.run(
                [sys.executable, "-m", "cookiecutter", *options, str(self.template), *answers],
                env={**environment, "TMPDIR": temporary},
                cwd=into,
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )


@dataclass(frozen=True)
class Project:
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def files(self) -> list[Path]:
        """Every file, as a path inside the project."""
        return sorted(file.relative_to(self.folder) for file in self.folder.rglob("*") if file.is_file())

    def text(self, path: str | Path) -> str:
        """A file's text, with its line ends as they are."""
        return (self.folder / path).read_bytes().decode("utf-8")

    @property
    def package(self) -> str:
        return next(file.parent.name for file in self.folder.glob("src/*/app.py"))

    @property
    def runtime(self) -> Path:
        return Path("src") / self.package / "runtime"

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project and fail with its output if it fails."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**(self.environment or clean_environment()), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)} failed in {self.folder}:\n{done.stdout}"
        return done

    def python(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter of these tests, which has all the packages that a project pins."""
        return self.run(sys.executable, *arguments, PYTHONPATH="src", **variables)


def clean_environment() -> dict[str, str]:
    """The caller's environment without what would steer Python, pytest or AWS clients from outside."""
    steering = (
        "PYTEST_",
        "PYTHONPATH",
        "AWS_",
        "JOBS_",
        "POWERTOOLS_",
        "APP_",
        "MAKE",
        "MFLAGS",
        "VIRTUAL_ENV",
        "COV_",
    )
    return {name: value for name, value in os.environ.items() if not name.startswith(steering)}
