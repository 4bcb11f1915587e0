"""Build the Lambda zip: ``python -m <package>.runtime.package --python 3.13 --arch arm64 --requirements FILE --output
dist/lambda.zip``.

Runs in the project folder. The zip holds the pinned packages for Lambda's platform, the project's own code, the index
of its jobs and bytecode. The same inputs give the same bytes: fixed timestamps and order, and nothing of the building
machine inside.

Bytecode is "unchecked hash" (PEP 552): the usual kind is tied to the source's modification time, which a reproducible
zip does not keep, so that every cold start would compile everything again (1.6 to 2 times as long).
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from .registry import INDEX_FILE, Registry

PLATFORMS = {"x86_64": "manylinux2014_x86_64", "arm64": "manylinux2014_aarch64"}
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold
# Lambda quotas: "Deployment package (.zip file archive) size", 50 MB zipped for a direct upload, 250 MB unzipped.
MAX_ZIP_BYTES = 50 * 1024 * 1024
# Only needed for testing and building: pytest, for one, is not in the zip.
NOT_PACKAGED = ("testing.py", "package.py", "manifest.py", "MANIFEST.sha256", "schema.py", "envelope.schema.json")


class PackageError(Exception):
    """The zip cannot be built; the text says why and what to do."""


def build(package: str, source: Path, requirements: Path, python: str, arch: str, output: Path) -> str:
    """Write the zip.

    Args:
        package: name of the project's package.
        source: folder that holds it.
        requirements: pinned packages, nothing else is installed.
        python: Lambda's Python, such as "3.13".
        arch: "arm64" or "x86_64".
        output: the zip.

    Returns:
        a line for people: size, number of files, whether bytecode is in it.

    Raises:
        PackageError: a requirement has no wheel for the platform, or the zip is too large for Lambda.
    """
    with tempfile.TemporaryDirectory(prefix="package-") as folder:
        stage = Path(folder) / "stage"
        _install(requirements, python, arch, stage)
        _clean(stage)
        _copy_project(source / package, stage / package)
        _write_index(package, stage)
        compiled = _compile(stage, python)
        count = _zip(stage, output)
    size = output.stat().st_size
    if size > MAX_ZIP_BYTES:
        raise PackageError(
            f"{output} is {size / 1e6:.1f} MB; Lambda takes at most {MAX_ZIP_BYTES / 1e6:.0f} MB directly. "
            f"Remove a dependency from {requirements}, or deploy it as an image."
        )
    note = (
        f"bytecode for Python {python}"
        if compiled
        else f"no bytecode: Python {python} is not installed here, cold starts are slower"
    )
    return f"{output}: {size / 1e6:.2f} MB, {count} files, {note}"


def _install(requirements: Path, python: str, arch: str, stage: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-deps",
    ]
    command += [
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        python,
        "--platform",
        PLATFORMS[arch],
    ]
    command += ["--requirement", str(requirements), "--target", str(stage)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if result.returncode:
        raise PackageError(
            f"pip could not install {requirements} for Python {python} on {arch}:\n{result.stderr.strip()}\n"
            "Every package needs a pinned version that has a wheel for this platform, or a pure Python one."
        )


def _clean(stage: Path) -> None:
    """Drop what depends on the building machine or is never read at run time."""
    for path in sorted(stage.rglob("*"), reverse=True):
        if path.name in ("__pycache__", "bin") and path.is_dir() and (path.name != "bin" or path.parent == stage):
            shutil.rmtree(path)
        elif path.suffix == ".pyi" or (path.parent.suffix == ".dist-info" and path.name in _INSTALL_RECORDS):
            path.unlink()


_INSTALL_RECORDS = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def _copy_project(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in NOT_PACKAGED:
        (target / "runtime" / name).unlink(missing_ok=True)


def _write_index(package: str, stage: Path) -> None:
    jobs = Registry(f"{package}.jobs")
    digest = hashlib.sha256()
    for path in sorted((stage / package).rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(stage).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    content = {"version": digest.hexdigest()[:12], "jobs": jobs.names()}
    (stage / package / INDEX_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="ascii")


def _compile(stage: Path, python: str) -> bool:
    """Bytecode can be made by the same minor version only; without that interpreter the zip has none."""
    candidates = [sys.executable] if f"{sys.version_info[0]}.{sys.version_info[1]}" == python else [f"python{python}"]
    for interpreter in candidates:
        command = [
            interpreter,
            "-m",
            "compileall",
            "-q",
            "-s",
            str(stage),
            "-p",
            "/var/task",
            "--invalidation-mode",
            "unchecked-hash",
        ]
        try:
            result = subprocess.run([*command, str(stage)], capture_output=True, text=True, check=False)  # noqa: S603
        except OSError:
            continue
        if result.returncode == 0:
            return True
        if interpreter == sys.executable:
            raise PackageError(f"compiling failed:\n{result.stdout}{result.stderr}")
    return False


def _zip(stage: Path, output: Path) -> int:
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(output.name + ".part")
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(stage).as_posix(), ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whatever machine builds it: the permissions below are read
            executable = path.suffix == ".so" or os.access(path, os.X_OK)
            entry.external_attr = (0o755 if executable else 0o644) << 16
            archive.writestr(entry, path.read_bytes())
    partial.replace(output)
    return len(files)


def main(arguments: list[str]) -> int:
    package = (__package__ or "").rpartition(".")[0]
    parser = argparse.ArgumentParser(prog=f"python -m {package}.runtime.package", description="Build the Lambda zip.")
    parser.add_argument(
        "--python", default="3.13", choices=("3.11", "3.12", "3.13", "3.14"), help="Lambda's Python version"
    )
    parser.add_argument("--arch", default="arm64", choices=sorted(PLATFORMS), help="Lambda's architecture")
    parser.add_argument("--requirements", type=Path, default=Path("requirements-lambda.txt"), help="pinned packages")
    parser.add_argument("--output", type=Path, default=Path("dist/lambda.zip"))
    options = parser.parse_args(arguments)
    source = Path(__file__).resolve().parents[2]
    try:
        print(build(package, source, options.requirements, options.python, options.arch, options.output))
    except PackageError as error:
        print(f"package: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
