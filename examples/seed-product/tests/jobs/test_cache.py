from datetime import timedelta
from typing import Any

import pytest

from seed_jobs.jobs import web
from seed_jobs.jobs.cache import InvalidateCache, Keys
from seed_jobs.runtime import App
from seed_jobs.runtime.testing import Jobs


def test_keys_are_purged(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(web, "post", lambda url, content: calls.append((url, content)))
    assert jobs.run(InvalidateCache, keys=["a", "b"]).kind == "succeeded"
    assert calls == [("https://cache.example/purge", {"keys": ["a", "b"]})]


def test_a_failure_waits_half_a_minute(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, content: dict[str, Any]) -> int:
        raise ConnectionRefusedError

    monkeypatch.setattr(web, "post", refuse)
    out = jobs.run(InvalidateCache, keys=["a"])
    assert (out.kind, out.delay) == ("retry", timedelta(seconds=30))


def test_after_five_minutes_nobody_needs_it(app: App, jobs: Jobs) -> None:
    app.enqueue(InvalidateCache, Keys(keys=["a"]))
    jobs.advance(minutes=6)
    assert jobs.drain().discarded == 1
