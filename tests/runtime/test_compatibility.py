"""Two versions of the code run side by side during a deploy, and what one of them wrote the other one reads.

The golden rows in ``rows/`` are records of the ledger as DynamoDB keeps them, written by this version. Like the golden
messages in ``wire/`` they may be added to, never changed: an attribute that a later version adds must be one that it
can do without, because rows of this version lack it, and one that this version can overlook.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from pydantic import BaseModel
from runtime import Job, JobContext, Park, Permanent, fixed, records
from runtime.delivery import Delivery
from runtime.dynamodb import DynamoTable, _typed
from runtime.envelope import decode
from runtime.ledger import Claim, JobLedger, Leftover
from runtime.outcome import Kind, Outcome
from runtime.publisher import Message, Publisher
from runtime.records import JobStatus
from runtime.table import KEY
from runtime.unique import publish_unique

from .helpers import Aws
from .model.bench import APP, CONFIG, LEASE, START, Bench
from .test_envelope import GOLDEN, wire

ROWS = Path(__file__).parent / "rows"
OWNER = "0123456789abcdef"
REF = "shop#billing.invoice.send#a-7"


class Args(BaseModel):
    account: str = "a-7"
    amount: int = 7


class Receipt(Job[Args, None]):
    name = "billing.receipt.send"

    def run(self, args: Args, ctx: JobContext) -> None:
        pass


class Invoice(Job[Args, Any]):
    name = "billing.invoice.send"
    key = "account"
    retry = fixed(timedelta(seconds=60), max_attempts=5)
    act: Callable[[JobContext], None]

    def run(self, args: Args, ctx: JobContext) -> None:
        type(self).act(ctx)


def message(bench: Bench, generation: int = 0) -> Delivery:
    payload = Args().model_dump()
    return bench.message(Invoice.name, id="01890a5d-ac96", key="a-7", payload=payload, generation=generation)


# How each row comes about


def row_of(act: Callable[[Bench, JobContext], Any]) -> dict[str, Any]:
    """The row after one run of ``act``."""
    bench = Bench()
    bench.ledger = JobLedger(APP, bench.table, bench.now, workload="email")
    bench.refuse_to_publish = True

    class Acting(Invoice):
        act = staticmethod(lambda ctx: act(bench, ctx))

    bench.handle(Acting, message(bench))
    return bench.item


def queued() -> dict[str, Any]:
    bench = Bench()
    publisher = Publisher(CONFIG, "email", Aws(), bench.now)
    publish_unique(bench.ledger, publisher, publisher.message(Invoice, Args(), job_id="01890a5d-ac96"), join=False)
    return bench.item


def running() -> dict[str, Any]:
    rows: list[dict[str, Any]] = []

    def act(bench: Bench, ctx: JobContext) -> None:
        with ctx.effect("charge"):
            pass
        ctx.progress(3, 10)
        rows.append(bench.item)

    row_of(act)
    return rows[0]


def retry() -> dict[str, Any]:
    def act(bench: Bench, ctx: JobContext) -> None:
        raise OSError("busy")

    return row_of(act)


def done() -> dict[str, Any]:
    def act(bench: Bench, ctx: JobContext) -> None:
        ctx.commit(ctx.follow_up(Receipt, Args()), result={"invoice": "7"})

    return row_of(act)


def dead() -> dict[str, Any]:
    def act(bench: Bench, ctx: JobContext) -> None:
        raise Permanent("mailbox_gone")

    return row_of(act)


def parked() -> dict[str, Any]:
    def act(bench: Bench, ctx: JobContext) -> None:
        raise Park("credentials")

    return row_of(act)


WRITERS = {writer.__name__: writer for writer in (queued, running, retry, done, dead, parked)}


@pytest.fixture(autouse=True)
def one_owner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers get the owner token of the golden rows. Readers draw one of their own, as another worker does."""
    if "written" in request.function.__name__:
        monkeypatch.setattr("runtime.ledger.secrets.token_hex", lambda count: OWNER)


def golden(name: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads((ROWS / f"{name}.json").read_text(encoding="ascii"))
    return row


@pytest.mark.parametrize("name", WRITERS)
def test_a_golden_row_is_written_and_nothing_of_it_lacks_or_differs(name: str) -> None:
    written = {attribute: _typed(value) for attribute, value in WRITERS[name]().items()}
    assert holds(written, golden(name)), f"{written}\nlacks something of {golden(name)}"


def holds(written: Any, golden: Any) -> bool:
    """Whether ``written`` has all of ``golden``. It may have more: fields are added, in rows and their messages."""
    if isinstance(golden, dict):
        return all(name in written and holds(written[name], value) for name, value in golden.items())
    if isinstance(golden, list):
        return len(written) == len(golden) and all(map(holds, written, golden))
    if isinstance(golden, str) and golden.startswith("{"):
        return holds(json.loads(written), json.loads(golden))
    return bool(written == golden)


def test_golden_rows_are_added_never_changed() -> None:
    recorded = dict(line.split("  ")[::-1] for line in (ROWS / "SHA256SUMS").read_text().splitlines())
    assert {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in ROWS.glob("*.json")} == recorded
    assert recorded.keys() == {f"{name}.json" for name in WRITERS}


# What this version makes of a row: of a delivery after lease and retry wait, of the same after a redrive, as a status

MEANING: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "queued": (("claim", 1, {}), ("claim", 1, {})),
    "running": (("claim", 2, {"charge": "done"}), ("claim", 2, {"charge": "done"})),
    "retry": (("claim", 2, {}), ("claim", 2, {})),
    "done": (("leftover", 1), ("leftover", 1)),
    "dead": ((Kind.DEAD, "mailbox_gone"), ("claim", 1, {})),
    "parked": ((Kind.DUPLICATE, "parked"), ("claim", 1, {})),
}
STATUS = {
    "queued": JobStatus("queued"),
    "running": JobStatus("running", attempt=1, done=3, total=10),
    "retry": JobStatus("retrying", attempt=1, reason="error", error="OSError", updated_at=START),
    "done": JobStatus("done", attempt=1, result={"invoice": "7"}, updated_at=START),
    "dead": JobStatus("dead", attempt=1, reason="mailbox_gone", error="Permanent", updated_at=START),
    "parked": JobStatus("parked", attempt=1, reason="credentials", error="Park", updated_at=START),
}
# Written by the claim of every version. The others may be missing: a later version may have added them.
CORE = {KEY, "state", "owner", "lease", "not_before", "generation", "ttl", "job", "id", "args_hash", "starts"}
# Every type that DynamoDB has, so that a later version is free to choose.
LATER = {
    "later_text": {"S": "x"},
    "later_number": {"N": "1"},
    "later_fraction_in_map": {"M": {"a": {"N": "1.5"}, "b": {"NULL": True}}},
    "later_list": {"L": [{"M": {"a": {"S": "x"}}}, {"BOOL": False}]},
    "later_bytes": {"B": b"\0\1"},
    "later_set": {"SS": ["a", "b"]},
    "later_null": {"NULL": True},
}


class Store:
    """One row in DynamoDB, read again as it was for every question."""

    def __init__(self, client: Any) -> None:
        self.client, self.table = client, DynamoTable("jobs", lambda: client)

    def ask(self, row: dict[str, Any], generation: int = 0) -> Any:
        bench = Bench()
        delivery = message(bench, generation)
        bench.wait(minutes=2, seconds=1)
        self.client.put_item(TableName="jobs", Item=row)
        ledger = JobLedger(APP, self.table, bench.now, workload="email")
        match ledger.acquire(decode(delivery.body), delivery, LEASE):
            case Claim() as claim:
                assert ledger.finish(claim, delivery, Outcome(Kind.SUCCEEDED), ran=True).kind is Kind.SUCCEEDED
                return "claim", claim.attempt, claim.effects
            case Leftover() as leftover:
                messages = [Message.from_json(text) for text in leftover.outbox]
                assert [m.attributes["job"]["StringValue"] for m in messages] == [Receipt.name]
                ledger.clear_outbox(leftover)
                return "leftover", len(messages)
            case Outcome() as outcome:
                return outcome.kind, outcome.reason

    def status(self, row: dict[str, Any]) -> JobStatus:
        self.client.put_item(TableName="jobs", Item=row)
        return records.status(self.table, REF)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName="jobs",
            KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield Store(client)


@pytest.mark.parametrize("later", [{}, LATER], ids=["this version's", "of the version after"])
@pytest.mark.parametrize("name", MEANING)
def test_a_row_is_read(store: Store, name: str, later: dict[str, Any]) -> None:
    row = {**golden(name), **later}
    assert (store.ask(row), store.ask(row, generation=1)) == MEANING[name]
    assert store.status(row) == STATUS[name]


OPTIONAL = [(name, attribute) for name in MEANING for attribute in sorted(golden(name).keys() - CORE)]


@pytest.mark.parametrize(("name", "missing"), OPTIONAL, ids=lambda value: value)
def test_a_row_of_the_version_before_is_read(store: Store, name: str, missing: str) -> None:
    row = {attribute: value for attribute, value in golden(name).items() if attribute != missing}
    status = store.status(row)
    assert (status.state, status.attempt) == (STATUS[name].state, STATUS[name].attempt)
    found = (store.ask(row), store.ask(row, generation=1))
    if missing in ("effects", "outbox", "reason"):  # what it does not say cannot be known, and does no harm
        assert [answer[0] for answer in found] == [
            Kind.DUPLICATE if missing == "outbox" else answer[0] for answer in MEANING[name]
        ]
    else:
        assert found == MEANING[name]


# Envelopes


@pytest.mark.parametrize("name", GOLDEN)
def test_an_envelope_of_the_version_after_is_read(name: str) -> None:
    text = wire(name)
    content = json.loads(json.loads(text)["Message"]) if name == "sns_wrapped.json" else json.loads(text)
    later = {"added_later": {"a": [1, None]}, "priority": 3}
    assert decode(json.dumps({**later, **content})) == GOLDEN[name]


@pytest.mark.parametrize("missing", ["key", "tenant", "correlation", "traceparent", "enqueued_at", "v", "generation"])
def test_an_envelope_of_the_version_before_is_read(missing: str) -> None:
    content = json.loads(wire("all_fields.json"))
    del content[missing]
    default = {"v": 1, "generation": 0}.get(missing)
    assert decode(json.dumps(content)) == GOLDEN["all_fields.json"].model_copy(update={missing: default})


def test_a_follow_up_job_that_the_version_before_left_is_read() -> None:
    (text,) = (part["S"] for part in golden("done")["outbox"]["L"])
    before = {name: value for name, value in json.loads(text).items() if name not in ("machine", "at", "upload")}
    assert Message.from_json(json.dumps(before)) == Message.from_json(text)
    assert decode(Message.from_json(text).body).enqueued_at == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_follow_up_job_that_the_version_after_left_is_read() -> None:
    (text,) = (part["S"] for part in golden("done")["outbox"]["L"])
    assert Message.from_json(json.dumps({**json.loads(text), "priority": 3})) == Message.from_json(text)
