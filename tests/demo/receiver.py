"""The servers the demo's jobs talk to, on loopback: people's calendars, customers' endpoints, accounts to roll
changes out to.

    python -m tests.demo.receiver FILE      writes its port to FILE

How a server behaves is in its name, so that a job's failure comes from outside, as it does in life: `busy` answers
429 once per job, `flaky` 503 once per job, `down` 503 for ever, `closed` 410, `gone` 404, `old` refuses step 3 with
422, and `locked` answers 423 to the first two calls. GET /effects tells what was accepted, in order.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import sys
import threading
from collections import Counter
from pathlib import Path

Answer = tuple[int, dict[str, str]]


class Servers:
    """What they have seen and accepted so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self.effects: list[dict[str, str]] = []

    def answer(self, path: str, key: str) -> Answer:
        _, kind, name, *rest = path.split("/")
        with self._lock:
            self._calls[key] += 1
            self._calls[f"{kind}/{name}"] += 1
            refusal = self._refusal(name, rest, key)
            if refusal is not None:
                return refusal
            self.effects.append({"kind": kind, "name": name, "detail": "/".join(rest), "key": key})
        return 200, {}

    def _refusal(self, name: str, rest: list[str], key: str) -> Answer | None:
        behaviour = name.split("-")[0]
        first = self._calls[key] == 1
        if behaviour == "busy" and first:
            return 429, {"Retry-After": "1"}
        if behaviour == "down" or (behaviour == "flaky" and first):
            return 503, {}
        if behaviour == "closed":
            return 410, {}
        if behaviour == "gone":
            return 404, {}
        if behaviour == "old" and rest == ["steps", "3"]:
            return 422, {}
        if behaviour == "locked" and self._calls[f"accounts/{name}"] <= 2:
            return 423, {}
        return None


def handler_for(servers: Servers) -> type[http.server.BaseHTTPRequestHandler]:
    class Receiver(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._send(*servers.answer(self.path, self.headers.get("Idempotency-Key", "")))

        def do_POST(self) -> None:
            self.do_PUT()

        def do_GET(self) -> None:
            self._send(200, {"Content-Type": "application/json"}, json.dumps(servers.effects).encode())

        def _send(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
            with contextlib.suppress(OSError):  # the function may have been killed while it waited
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
            """Requests are not worth a line each."""

    return Receiver


def main(port_file: Path) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_for(Servers()))
    draft = port_file.with_suffix(".part")
    draft.write_text(str(server.server_address[1]))
    draft.replace(port_file)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
