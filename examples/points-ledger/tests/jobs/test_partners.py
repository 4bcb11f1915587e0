from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from loyalty_jobs.jobs.partners import PartnerAwayError, PurchaseUnknownError, confirm_purchase


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What the server answers, call by call."""
    answers: list[int] = []
    asked: list[str] = []

    class Partner(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(answers.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None: ...  # noqa: A002 - the base class names it so

    server = HTTPServer(("127.0.0.1", 0), Partner)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("APP_PARTNERS_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield answers
    server.shutdown()
    server.server_close()
    assert set(asked) <= {"/corner%2Fbakery/purchases/b%207"}  # what is in a message names no other address


@pytest.mark.parametrize(
    ("status", "expected"),
    [(503, PartnerAwayError), (500, PartnerAwayError), (429, PartnerAwayError), (404, PurchaseUnknownError)],
)
def test_what_an_answer_means(status: int, expected: type[Exception], statuses: list[int]) -> None:
    statuses += [200, status]
    confirm_purchase("corner/bakery", "b 7", patience=5)
    with pytest.raises(expected):
        confirm_purchase("corner/bakery", "b 7", patience=5)


def test_a_server_that_is_not_there_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_PARTNERS_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(PartnerAwayError):
        confirm_purchase("bakery", "b-7", patience=1)
