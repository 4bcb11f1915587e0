"""Generated consumers with any number of job types, built as the product builds them.

The runtime, ``app.py`` and ``lambda_function.py`` are the template's; the zip is made by ``runtime/package.py``. Only
its download is replaced: the packages are copied from this environment, so that no network is needed.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .child import BenchmarkError
from .sides.events import job_name

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template" / "{{cookiecutter.project_slug}}"
RUNTIME = TEMPLATE / "src" / "{{cookiecutter.package_name}}" / "runtime"
SIDES = Path(__file__).parent / "sides"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# What the Lambda runtime brings itself.
PROVIDED = ("boto3", "botocore", "python-dateutil", "s3transfer", "six", "urllib3")
XRAY = ("aws-xray-sdk", "wrapt")

JOB_MODULE = '''"""One job of a project."""

from datetime import timedelta

from pydantic import BaseModel

from ..runtime import Job, JobContext, full_jitter


class WorkArgs(BaseModel):
    invoice_id: str
    customer: str
    amount: float
    lines: int = 1


class Work(Job[WorkArgs, None]):
    name = "{name}"
    retry = full_jitter(base=timedelta(seconds=5), cap=timedelta(minutes=15), max_attempts=5)

    def run(self, args: WorkArgs, ctx: JobContext) -> None:
        return None
'''

BUILD = """
import shutil, sys
from pathlib import Path
from {package}.runtime import package
packages = sys.argv[2]
package._install = lambda requirements, python, arch, stage: (
    shutil.copytree(packages, stage, dirs_exist_ok=True) if packages else stage.mkdir()
)
print(package.build("{package}", Path("src"), Path("none"), "{python}", "x86_64", Path(sys.argv[1])))
"""


@dataclass(frozen=True)
class Workshop:
    """A temporary folder in which consumers are generated and built.

    Attributes:
        folder: where.
        runtime: the runtime under test.
    """

    folder: Path
    runtime: Path = RUNTIME

    @property
    def packages(self) -> Path:
        """The packages of the function's zip, compiled."""
        return self._once("packages", lambda target: _copy_packages(_required(), target))

    @property
    def provided(self) -> Path:
        """What stands beside them: the SDK that Lambda provides, the X-Ray SDK if it is installed, the sides."""
        return self._once("provided", self._make_provided)

    def artifact(self, types: int, *, complete: bool = False) -> Path:
        """The unpacked zip of a consumer with so many job types, each in a module of its own.

        Args:
            types: number of job classes.
            complete: with the packages inside; else only the project's own code, and ``packages`` is put beside it.
        """
        package = package_name(types)
        name = f"{package}-complete" if complete else package

        def make(target: Path) -> None:
            project = self._once(f"{package}-project", lambda folder: self._generate(package, types, folder))
            archive = self.folder / f"{name}.zip"
            script = BUILD.format(package=package, python=PYTHON)
            arguments = [str(archive), str(self._bare_packages()) if complete else ""]
            _python(["-c", script, *arguments], project, [project / "src", self.packages])
            unpack(archive, target)

        return self._once(name, make)

    def path(self, types: int) -> list[Path]:
        """Import path of a consumer with so many types."""
        return [self.artifact(types), self.packages, self.provided]

    def copy(self, tree: Path, name: str) -> Path:
        """A writable copy of a tree, with its timestamps."""
        target = self._once(name, lambda folder: _copy_tree(tree, folder))
        for path in target.rglob("*"):
            path.chmod(path.stat().st_mode | 0o200)
        return target

    def _once(self, name: str, make: Callable[[Path], None]) -> Path:
        target = self.folder / name
        if not target.exists():
            make(target)
        return target

    def _bare_packages(self) -> Path:
        return self._once("bare", lambda target: _copy_files(_required(), target))

    def _make_provided(self, target: Path) -> None:
        _copy_files([*PROVIDED, *(XRAY if has_xray() else ())], target)
        shutil.copytree(SIDES, target / "sides", ignore=shutil.ignore_patterns("__pycache__"))
        compile_tree(target, "unchecked-hash")

    def _generate(self, package: str, types: int, project: Path) -> None:
        source = project / "src" / package
        jobs = source / "jobs"
        jobs.mkdir(parents=True)
        shutil.copytree(self.runtime, source / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
        answers = {"project_slug": "bench", "package_name": package, "first_workload": "default"}
        for name in ("__init__.py", "app.py", "lambda_function.py"):
            (template,) = RUNTIME.parent.glob(f"*{name}*")  # the name of a file can be a condition
            text = template.read_text(encoding="utf-8")
            text = re.sub(r"\{\{ ?cookiecutter\.(\w+) ?\}\}", lambda match: answers.get(match[1], "bench"), text)
            (source / name).write_text(text, encoding="utf-8")
        (jobs / "__init__.py").write_text('"""The jobs."""\n', encoding="utf-8")
        for number in range(types):
            text = JOB_MODULE.replace("{name}", job_name(number))
            (jobs / f"subject_{number:05}.py").write_text(text, encoding="utf-8")


def package_name(types: int) -> str:
    return f"bench{types}"


def has_xray() -> bool:
    """Whether the Tracer's SDK, which Powertools does not bring itself, is installed here."""
    try:
        importlib.metadata.distribution(XRAY[0])
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def unpack(archive: Path, target: Path) -> None:
    """As Lambda does it: the files have the zip's timestamps, and nobody may write to them."""
    with zipfile.ZipFile(archive) as content:
        content.extractall(target)
    in_1980 = 315_532_800
    for path in target.rglob("*"):
        if path.is_file():
            os.utime(path, (in_1980, in_1980))
            path.chmod(path.stat().st_mode & ~0o222)


def compile_tree(folder: Path, invalidation: str) -> None:
    command = ["-m", "compileall", "-q", "-f", "--invalidation-mode", invalidation, str(folder)]
    _python(command, folder, [])


def _required() -> list[str]:
    (template,) = TEMPLATE.glob("*requirements-lambda.txt*")
    lines = template.read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0] for line in lines if "==" in line and not line.startswith("#")]


def _copy_packages(names: Iterable[str], target: Path) -> None:
    _copy_files(names, target)
    compile_tree(target, "unchecked-hash")


def _copy_files(names: Iterable[str], target: Path) -> None:
    for name in names:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise BenchmarkError(f"the package {name} is not installed here; `make setup` installs it") from None
        for file in distribution.files or ():
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(distribution.locate_file(file)), copy)


def _copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


def _python(arguments: list[str], folder: Path, path: list[Path]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BenchmarkError(f"{arguments[:2]} failed:\n{result.stdout}{result.stderr}".strip())
