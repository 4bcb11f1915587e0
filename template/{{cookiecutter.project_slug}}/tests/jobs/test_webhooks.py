from datetime import timedelta
from email.message import Message
from io import BytesIO
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from {{ cookiecutter.package_name }}.jobs import webhooks
from {{ cookiecutter.package_name }}.jobs.webhooks import DeliverWebhook, WebhookArgs
from {{ cookiecutter.package_name }}.runtime import App
from {{ cookiecutter.package_name }}.runtime.testing import Jobs

PAYLOAD: dict[str, Any] = {"url": "https://acme.example/hook", "event": "report.ready", "data": {"orders": 2}}


class Answer(BytesIO):
    status = 202


def answer(status: int, monkeypatch: pytest.MonkeyPatch, **headers: str) -> list[Request]:
    """Lets the subscriber answer with a status; gives the list that the requests are collected in."""
    requests: list[Request] = []

    def urlopen(request: Request, timeout: float) -> Answer:
        requests.append(request)
        if status < 400:
            return Answer()
        message = Message()
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        raise HTTPError(request.full_url, status, "refused", message, None)

    monkeypatch.setattr(webhooks, "urlopen", urlopen)
    return requests


def test_posts_the_event(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = answer(202, monkeypatch)
    out = jobs.run(DeliverWebhook, **PAYLOAD)
    assert (out.kind, out.result) == ("succeeded", 202)
    assert requests[0].data == b'{"event": "report.ready", "data": {"orders": 2}}'
    assert requests[0].has_header("Idempotency-key")


def test_a_subscriber_that_is_gone_is_given_up_at_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(410, monkeypatch)
    out = jobs.run(DeliverWebhook, **PAYLOAD)
    assert (out.kind, out.reason) == ("dead", "subscriber_gone")


def test_a_busy_subscriber_is_asked_again_when_it_says(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(503, monkeypatch, Retry_After="120")
    out = jobs.run(DeliverWebhook, **PAYLOAD)
    assert out.kind == "retry"
    assert out.delay is not None
    assert out.delay >= timedelta(minutes=2)


def test_a_subscriber_that_never_answers_ends_in_the_dead_letters(
    app: App, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = answer(500, monkeypatch)
    app.enqueue(DeliverWebhook, WebhookArgs(**PAYLOAD))
    report = jobs.drain(within=timedelta(hours=3))
    assert (report.retried, report.dead) == (7, 1)
    assert len(requests) == DeliverWebhook.retry.max_attempts
