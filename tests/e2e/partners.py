"""The partners of a loyalty programme, on loopback: whether a purchase is confirmed is in the partner's name.

`bakery` confirms, `ghost` knows of no purchase, `station` is away until somebody opens it, and `snail` takes longer for
its first answer to each question than anybody in a hurry waits.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER_SECONDS = 0.05
SNAIL_SECONDS = 3.0


class Partners:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked: Counter[str] = Counter()  # by path
        self.being_asked = 0
        self.station_is_open = threading.Event()
        self.url = ""

    def answer(self, path: str) -> int:
        partner = path.split("/")[1]
        with self._lock:
            self.asked[path] += 1
            self.being_asked += 1
            first = self.asked[path] == 1
        try:
            time.sleep(SNAIL_SECONDS if partner == "snail" and first else ANSWER_SECONDS)
        finally:
            with self._lock:
                self.being_asked -= 1
        if partner == "ghost":
            return 404
        return 503 if partner == "station" and not self.station_is_open.is_set() else 200


@contextlib.contextmanager
def open_for_business() -> Iterator[Partners]:
    partners = Partners()

    class Desk(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = partners.answer(self.path)
            with contextlib.suppress(OSError):  # who asked may have gone, or may have been killed
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
            """Requests are not worth a line each."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    partners.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield partners
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
