from datetime import timedelta
from email.message import Message
from typing import Any
from urllib.error import HTTPError

import pytest

from seed_jobs.jobs import web
from seed_jobs.jobs.mail import Mail, SendMail
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How the provider behaves, and the keys of the calls that it got."""
    state: dict[str, Any] = {"status": 200, "keys": []}

    def post(url: str, content: dict[str, Any], *, key: str | None = None) -> int:
        state["keys"].append(key)
        if state["status"] >= 400:
            raise HTTPError(url, state["status"], "refused", Message(), None)
        return int(state["status"])

    monkeypatch.setattr(web, "post", post)
    return state


def send(app: App, count: int) -> None:
    app.enqueue_many(SendMail, [Mail(to=f"{n}@acme.example", template="welcome") for n in range(count)])


def test_every_attempt_of_one_mail_has_the_same_key(app: App, jobs: Jobs, provider: dict[str, Any]) -> None:
    provider["status"] = 503
    send(app, 1)
    jobs.drain()
    provider["status"] = 200
    assert jobs.drain(within=timedelta(hours=1)).succeeded == 1
    assert len(provider["keys"]) > 1
    assert len(set(provider["keys"])) == 1


def test_while_the_provider_is_down_mails_wait_without_an_attempt_and_none_is_lost(
    app: App, jobs: Jobs, provider: dict[str, Any]
) -> None:
    provider["status"] = 503
    send(app, 40)
    jobs.drain()
    assert len(provider["keys"]) == 10  # then the circuit is open
    provider["status"] = 200
    report = jobs.drain(within=timedelta(hours=1))
    assert (report.succeeded, report.dead, report.parked) == (40, 0, 0)


def test_an_address_that_does_not_exist_is_no_outage(app: App, jobs: Jobs, provider: dict[str, Any]) -> None:
    provider["status"] = 404
    send(app, 20)
    report = jobs.drain()
    assert {outcome.reason for _, outcome in report.outcomes} == {"mailbox_gone"}
    assert report.dead == 20
