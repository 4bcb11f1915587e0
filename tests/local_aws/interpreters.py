"""The Python a function runs on: the managed runtime's version when this machine has it, else the running one.

A virtual environment made from it holds what the managed runtime brings (boto3 and the runtime client) and nothing
else, so that a package missing from a function's zip is noticed here and not in production.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .paths import CACHE, REPOSITORY
from .process import clean_environment

MANAGED_RUNTIME = "3.13"
BROUGHT_BY_THE_RUNTIME = ("boto3", "awslambdaric")


@dataclass(frozen=True)
class FunctionPython:
    version: str  # "3.13": what the zip must be packaged for
    executable: Path  # of the bare virtual environment

    @property
    def is_managed_version(self) -> bool:
        return self.version == MANAGED_RUNTIME


def function_python() -> FunctionPython:
    """Find the interpreter and make its bare environment; both are remembered under .cache, so this is slow only
    once.
    """
    version, base = _interpreter()
    pins = _pins()
    digest = hashlib.sha256("\n".join([str(base), *pins]).encode()).hexdigest()[:12]
    home = CACHE / f"function-python-{version}-{digest}"
    executable = home / "bin" / "python"
    with _locked(CACHE / f"{home.name}.lock"):
        if not (home / ".done").exists():
            shutil.rmtree(home, ignore_errors=True)
            _check([str(base), "-m", "venv", str(home)])
            _check([str(executable), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins])
            (home / ".done").touch()
    return FunctionPython(version, executable)


def _interpreter() -> tuple[str, Path]:
    for candidate in _candidates():
        if _version_of(candidate) == MANAGED_RUNTIME:
            return MANAGED_RUNTIME, candidate
    return f"{sys.version_info.major}.{sys.version_info.minor}", Path(sys.executable)


def _candidates() -> Iterator[Path]:
    """The running one, those on PATH, and those a version manager has installed without putting them on PATH."""
    yield Path(sys.executable)
    for folder in os.get_exec_path():
        yield Path(folder) / f"python{MANAGED_RUNTIME}"
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or home / ".local/share/uv/python")
    yield from sorted(pyenv.glob(f"versions/{MANAGED_RUNTIME}*/bin/python{MANAGED_RUNTIME}"), reverse=True)
    yield from sorted(uv.glob(f"cpython-{MANAGED_RUNTIME}*/bin/python{MANAGED_RUNTIME}"), reverse=True)


def _version_of(candidate: Path) -> str | None:
    """A version manager's shim exists for versions that are not active, so only running it tells."""
    if not candidate.exists():
        return None
    probe = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [str(candidate), "-c", probe],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def _pins() -> list[str]:
    """The versions of requirements-dev.txt, so that there is one place to raise them."""
    lines = (REPOSITORY / "requirements-dev.txt").read_text().splitlines()
    return [line for line in lines if re.match(rf"({'|'.join(BROUGHT_BY_THE_RUNTIME)})==", line)]


def _check(command: list[str]) -> None:
    environment = clean_environment({k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "HOME"))})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
