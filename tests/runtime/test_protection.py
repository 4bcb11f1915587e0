"""Scale-in protection, asked of a fake ECS agent on loopback."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from runtime import protection
from runtime.observability import Observer
from runtime.protection import EXPIRES_MINUTES, LONG_RUN_SECONDS, RENEW_SECONDS, TRY_AGAIN_SECONDS, Protection

from .helpers import body, job_of, lines_of, seconds
from .queue import Place, until


class Agent:
    """What the container agent answers to ``PUT $ECS_AGENT_URI/task-protection/v1/state``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answer: tuple[int, Any] = (200, {"protection": {"ProtectionEnabled": True}})
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                agent.asked.append((self.path, self.headers["Content-Type"], json.loads(content)))
                status, answer = agent.answer
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/api/abc"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def wanted(self) -> list[bool]:
        return [content["ProtectionEnabled"] for _, _, content in self.asked]


@pytest.fixture
def agent() -> Iterator[Agent]:
    found = Agent()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(protection, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def on(agent: Agent) -> tuple[Protection, list[bytes]]:
    written: list[bytes] = []
    return Protection(agent.address, Observer("shop", "email", write=written.append)), written


def test_it_is_on_while_a_long_job_runs_and_off_afterwards(agent: Agent, clock: SimpleNamespace) -> None:
    protects, _ = on(agent)
    for running in (0.0, 5.0, LONG_RUN_SECONDS - 1):
        protects.update(running)
    assert agent.asked == []
    for _ in range(3):
        protects.update(LONG_RUN_SECONDS + 1)
    assert agent.asked == [
        (
            "/api/abc/task-protection/v1/state",
            "application/json",
            {"ProtectionEnabled": True, "ExpiresInMinutes": EXPIRES_MINUTES},
        )
    ]
    for _ in range(3):
        protects.update(0.0)
    assert agent.wanted == [True, False]
    assert agent.asked[1][2] == {"ProtectionEnabled": False}


def test_it_is_renewed_before_it_expires(agent: Agent, clock: SimpleNamespace) -> None:
    protects, _ = on(agent)
    for _ in range(5):
        protects.update(LONG_RUN_SECONDS + 1)
        clock.seconds += RENEW_SECONDS * 0.6
    assert agent.wanted == [True, True, True]
    assert RENEW_SECONDS * 1.2 < EXPIRES_MINUTES * 60


@pytest.mark.parametrize(
    "answer",
    [(200, {"failure": {"Reason": "TASK_NOT_VALID"}}), (400, {"error": {"Code": "AccessDeniedException"}}), (500, "x")],
    ids=["failure", "error", "broken"],
)
def test_a_refusal_is_a_warning_and_is_tried_again(
    agent: Agent, clock: SimpleNamespace, answer: tuple[int, Any]
) -> None:
    protects, written = on(agent)
    agent.answer = answer
    for _ in range(4):
        protects.update(LONG_RUN_SECONDS + 1)
    assert agent.wanted == [True]
    (line,) = lines_of(b"".join(written).decode())
    assert (line["level"], line["message"]) == ("WARNING", "scale-in protection not changed")
    clock.seconds += TRY_AGAIN_SECONDS + 1
    agent.answer = (200, {"protection": {}})
    protects.update(LONG_RUN_SECONDS + 1)
    protects.update(0.0)
    assert agent.wanted == [True, True, False]


def test_a_worker_asks_while_a_long_job_runs(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECS_AGENT_URI", agent.address)
    monkeypatch.setattr(protection, "LONG_RUN_SECONDS", 0.3)
    place = Place(job_of(lambda args, ctx: time.sleep(0.01 if args.label == "short" else 1.0)))
    place.queue.put(body("short"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
        assert agent.asked == []
        place.queue.put(body("long"))
        until(lambda: agent.wanted == [True, False])
    assert len(place.outcomes()) == 2


def test_no_agent_answers() -> None:
    written: list[bytes] = []
    Protection("http://127.0.0.1:9", Observer("shop", "email", write=written.append)).update(100.0)
    assert len(written) == 1


def test_outside_ecs_nothing_is_asked() -> None:
    written: list[bytes] = []
    Protection.from_environment(Observer("shop", "email", write=written.append), {}).update(100.0)
    assert written == []


def test_a_renewal_that_failed_is_tried_again_soon(agent: Agent, clock: SimpleNamespace) -> None:
    protects, _ = on(agent)
    protects.update(LONG_RUN_SECONDS + 1)
    agent.answer = (500, "x")
    clock.seconds += RENEW_SECONDS + 1
    protects.update(LONG_RUN_SECONDS + 1)
    agent.answer = (200, {"protection": {}})
    clock.seconds += TRY_AGAIN_SECONDS + 1
    protects.update(LONG_RUN_SECONDS + 1)
    assert agent.wanted == [True, True, True]
