"""Start and stop the local AWS, or use another one.

JOBS_TEST_ENDPOINT unset: MiniStack with the shim on a free loopback port. Set to an address: that endpoint. Set to
`aws`: the account that the caller's own AWS_* settings name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from .interpreters import FunctionPython, function_python
from .paths import LOCAL_AWS_PYTHON, REPOSITORY
from .process import Supervised, clean_environment

READY_SECONDS = 60.0


@dataclass(frozen=True)
class Aws:
    """Where AWS is, for boto3 here, for Terraform and for child processes."""

    endpoint: str | None  # None: real AWS
    region: str = "us-east-1"
    ca_bundle: Path | None = None  # the certificate of a local AWS that speaks TLS
    python: FunctionPython | None = None  # what its functions run on; None: a managed runtime
    pid: int | None = None  # of the process that supervises a local one
    log: Path | None = None
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_real(self) -> bool:
        return self.endpoint is None

    @property
    def settings(self) -> dict[str, str]:
        """The AWS_* variables that lead here."""
        if self.endpoint is None:
            return {k: v for k, v in os.environ.items() if k.startswith("AWS_")}
        found = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        if self.ca_bundle is not None:
            found["AWS_CA_BUNDLE"] = str(self.ca_bundle)
        return found

    def environment(self, **extra: str) -> dict[str, str]:
        """A clean environment for a child process that talks to this AWS and to nothing else."""
        return clean_environment({"HOME": os.environ.get("HOME", tempfile.gettempdir()), **self.settings, **extra})

    def client(self, service: str) -> Any:
        if service not in self._clients:
            options: dict[str, Any] = {"config": Config(retries={"total_max_attempts": 3}, max_pool_connections=20)}
            if self.endpoint is not None:
                options |= {
                    "endpoint_url": self.endpoint,
                    "region_name": self.region,
                    "aws_access_key_id": "test",
                    "aws_secret_access_key": "test",
                    "verify": str(self.ca_bundle) if self.ca_bundle else None,
                }
            self._clients[service] = boto3.client(service, **options)
        return self._clients[service]


@contextlib.contextmanager
def aws(*, auth_tls: bool = False) -> Iterator[Aws]:
    """The AWS to test against. With `auth_tls` the local one enforces IAM policies and speaks TLS, as the real one
    does.
    """
    chosen = os.environ.get("JOBS_TEST_ENDPOINT", "")
    if chosen == "aws":
        yield Aws(endpoint=None, region=os.environ.get("AWS_REGION", "us-east-1"))
    elif chosen:
        yield Aws(endpoint=chosen, python=function_python())
    else:
        folder = Path(tempfile.mkdtemp(prefix="local-aws-"))
        try:
            started, process = start(folder, auth_tls=auth_tls)
            with process:
                yield started
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def start(folder: Path, *, auth_tls: bool = False, settings: Mapping[str, str] | None = None) -> tuple[Aws, Supervised]:
    """Start a local AWS that keeps all its files in `folder`."""
    if not LOCAL_AWS_PYTHON.exists():
        raise RuntimeError(f"the local AWS is not installed ({LOCAL_AWS_PYTHON} is missing): run `make setup` first")
    python = function_python()
    for _ in range(3):  # another process may take the free port between our look and the start
        port = _free_port()
        output = folder / "local-aws.log"
        process = Supervised(
            [str(LOCAL_AWS_PYTHON), "-m", "tests.local_aws.shim"],
            env={**_engine_environment(folder, port, python, auth_tls=auth_tls), **(settings or {})},
            cwd=REPOSITORY,
            output=output,
        )
        scheme = "https" if auth_tls else "http"
        certificate = folder / "ministack-tls" / "server.crt" if auth_tls else None
        try:
            if _ready(f"{scheme}://127.0.0.1:{port}", process):
                found = Aws(
                    endpoint=f"{scheme}://127.0.0.1:{port}",
                    ca_bundle=certificate,
                    python=python,
                    pid=process.pid,
                    log=output,
                )
                return found, process
        except BaseException:
            process.stop()
            raise
        process.stop()
    raise RuntimeError(f"the local AWS did not start:\n{process.tail()}")


def _engine_environment(folder: Path, port: int, python: FunctionPython, *, auth_tls: bool) -> dict[str, str]:
    """Functions inherit the local AWS's environment, so nothing of the caller's may be in it."""
    extra = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "FUNCTION_PYTHON": str(python.executable),
    }
    if auth_tls:
        extra |= {
            "AUTH": "true",
            "USE_SSL": "1",
            "AWS_CA_BUNDLE": str(folder / "ministack-tls" / "server.crt"),  # for the functions' boto3
        }
    return clean_environment(extra)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ready(endpoint: str, process: Supervised) -> bool:
    trust = ssl._create_unverified_context()  # only to ask whether it is up
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.running:
        with (
            contextlib.suppress(OSError, ValueError),
            opener.open(f"{endpoint}/_ministack/health", timeout=2) as answer,
        ):
            json.load(answer)
            return True
        time.sleep(0.1)
    return False
