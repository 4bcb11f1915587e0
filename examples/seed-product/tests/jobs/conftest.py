"""The product's table, in memory, and what the jobs wrote to it by `ctx.commit`."""

from collections.abc import Callable
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer

from seed_jobs.jobs import store
from seed_jobs.runtime.testing import Jobs

Rows = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture
def delay_workloads() -> tuple[str, ...]:
    """As main.tf says with `delay = true`: the runtime's test plugin asks for it."""
    return ("shared", "billing")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    """What the jobs read. A test puts in what it needs: ``rows["account", "acme"] = {...}``."""
    found: Rows = {}

    def row(pk: str, sk: str) -> dict[str, Any] | None:
        return None if (pk, sk) not in found else {"pk": pk, "sk": sk, **found[pk, sk]}

    def between(pk: str, first: str = "", last: str = "~") -> list[dict[str, Any]]:
        return [{"pk": p, "sk": sk, **found[p, sk]} for p, sk in sorted(found) if p == pk and first <= sk <= last]

    def put(item: dict[str, Any]) -> None:
        found[item["pk"], item["sk"]] = {name: value for name, value in item.items() if name not in ("pk", "sk")}

    monkeypatch.setattr(store, "row", row)
    monkeypatch.setattr(store, "rows", between)
    monkeypatch.setattr(store, "put", put)
    found["account", "acme"] = {"email": "ann@acme.example", "plan": "paid", "balance": 50, "renews_on": 5}
    found["account", "trial"] = {"email": "tom@trial.example", "plan": "trial", "balance": 100}
    return found


@pytest.fixture
def written(jobs: Jobs) -> Callable[[], list[dict[str, Any]]]:
    """The items that commits put, and the values that they set, as plain Python, in order."""

    def look() -> list[dict[str, Any]]:
        read = TypeDeserializer().deserialize
        changes = [change for entry in jobs.table.others for change in entry.values()]
        items = [change.get("Item") or {**change["Key"], **change["ExpressionAttributeValues"]} for change in changes]
        return [{name: read(value) for name, value in item.items()} for item in items]

    return look
