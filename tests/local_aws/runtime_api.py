"""A Lambda Runtime API (2018-06-01) on loopback, to run a packaged handler under the real runtime client, one process
per function.

with Function(python, task_root, "shop.lambda_function.handler", env) as function:
    answer = function.invoke({"Records": []})
"""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .process import clean_environment

ACCOUNT, REGION = "000000000000", "us-east-1"


@dataclass(frozen=True)
class Answer:
    kind: Literal["ok", "error", "crash", "timeout"]
    value: Any


@dataclass
class Function:
    python: Path
    task_root: Path
    handler: str
    environment: Mapping[str, str] = field(default_factory=dict)
    name: str = "function"
    timeout: float = 10.0
    memory_mb: int = 512

    def __post_init__(self) -> None:
        self.output: list[str] = []
        self.init_error: dict[str, Any] | None = None
        self._invocations: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        self._answers: dict[str, queue.Queue[Answer]] = {}

    def __enter__(self) -> Function:
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._process = subprocess.Popen(
            [str(self.python), "-m", "awslambdaric", self.handler],
            env=self._process_environment(),
            cwd=self.task_root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._invocations.put(None)
        self._server.shutdown()
        self._server.server_close()

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.name}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def invoke(self, event: Any) -> Answer:
        request = str(uuid.uuid4())
        self._answers[request] = queue.Queue()
        self._invocations.put((request, event))
        deadline = time.monotonic() + self.timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                return self._answers[request].get(timeout=0.05)
            if self._process.poll() is not None:
                return Answer("crash", {"exit_code": self._process.returncode, "init_error": self.init_error})
        self._process.kill()
        return Answer("timeout", f"Task timed out after {self.timeout:.2f} seconds")

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            self.output.extend(stream)

    def _process_environment(self) -> dict[str, str]:
        """What the managed runtime sets."""
        api = f"127.0.0.1:{self._server.server_address[1]}"
        return clean_environment(
            {
                "TZ": ":UTC",
                "AWS_LAMBDA_RUNTIME_API": api,
                "_HANDLER": self.handler,
                "LAMBDA_TASK_ROOT": str(self.task_root),
                "PYTHONPATH": str(self.task_root),
                "AWS_LAMBDA_FUNCTION_NAME": self.name,
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.memory_mb),
                "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
                "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.name}",
                "AWS_LAMBDA_LOG_STREAM_NAME": "local",
                "AWS_REGION": REGION,
                "AWS_DEFAULT_REGION": REGION,
                **self.environment,
            }
        )


def _handler_for(function: Function) -> type[http.server.BaseHTTPRequestHandler]:
    class RuntimeApi(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            True  # with a buffered writer: otherwise every answer waits 40 ms for an acknowledgement
        )
        wbufsize = -1

        def do_GET(self) -> None:  # /2018-06-01/runtime/invocation/next
            invocation = function._invocations.get()
            if invocation is None:
                self._send(500)
                return
            request, event = invocation
            self._send(
                200,
                json.dumps(event).encode(),
                {
                    "Content-Type": "application/json",
                    "Lambda-Runtime-Aws-Request-Id": request,
                    "Lambda-Runtime-Deadline-Ms": str(int((time.time() + function.timeout) * 1000)),
                    "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000;Sampled=0",
                    "Lambda-Runtime-Invoked-Function-Arn": function.arn,
                },
            )

        def do_POST(self) -> None:  # …/init/error, …/invocation/<id>/response, …/invocation/<id>/error
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            parts = self.path.split("/")
            if parts[3] == "init":
                function.init_error = body
            elif parts[4] in function._answers:
                function._answers[parts[4]].put(Answer("error" if parts[5] == "error" else "ok", body))
            self._send(202)

        def _send(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
            with contextlib.suppress(OSError):  # the function may be gone by now
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
            """Requests are not worth a line each."""

    return RuntimeApi
