"""examples/seed-product, applied with IAM policies and TLS enforced: each of its jobs is published or sent by its
schedule, and leaves what it should.

Its schedules, which are for certain hours, are told to send once and at once; its delay of days is scaled to nothing.
The servers that its jobs call are one on loopback, so this is for the local AWS alone.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest

from tests.examples.products import seed_product
from tests.local_aws import deploy, engine
from tests.local_aws.interpreters import FunctionPython
from tests.local_aws.stack import Stack, wait_for

from .test_delays import scale

pytestmark = pytest.mark.xdist_group("stack")

SOON = 60
KEYWORD = "<aws.scheduler.scheduled-time>"
SETTINGS = ("GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "State", "Target")


class Servers:
    """The mail provider, the payment provider and the cache: what they were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def to(self, path: str) -> list[dict[str, Any]]:
        return [content for called, content in self.calls if called == path]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    found = Servers()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.calls.append((self.path, content))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
            """Requests are not worth a line each."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield found
    server.shutdown()


@pytest.fixture(scope="module")
def product(
    servers: Servers, lambda_python: FunctionPython, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("seed product stack")
    project = seed_product(folder / "project")
    artifact = project.package_for(lambda_python, folder / "lambda.zip")
    with engine.aws(auth_tls=True) as aws:
        prepared = deploy.prepare("seed-product", folder / "terraform", aws, project, artifact, name="seed")
        apis = {name: f"{servers.url}/{name}" for name in ("mail", "payments", "cache")}
        prepared.terraform.variables = {**prepared.terraform.variables, "apis": apis}
        prepared.terraform.init()
        prepared.terraform.apply()
        prepared.refresh()
        scale(aws, 0)
        yield prepared


@pytest.fixture(scope="module")
def table(product: Stack) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    at = {"region_name": product.aws.region, "endpoint_url": product.aws.endpoint, "verify": str(product.aws.ca_bundle)}
    return boto3.resource("dynamodb", **at, **keys).Table(product.outputs["table"])


@pytest.fixture
def paying(table: Any) -> Iterator[str]:
    """An account that pays, with nothing on it yet."""
    name = f"acme-{time.time_ns()}"
    key = {"pk": "account", "sk": name}
    renews = datetime.now(UTC).day
    table.put_item(Item={**key, "email": f"{name}@x.example", "plan": "paid", "balance": 0, "renews_on": renews})
    yield name
    table.delete_item(Key=key)


Send = Callable[[str, datetime], str]


@pytest.fixture
def send(product: Stack) -> Send:
    """Lets a schedule send for a moment that is a few seconds ahead; returns when its job has succeeded."""
    client, group = product.aws.client("scheduler"), product.outputs["schedules"]["group"]["name"]

    def once(key: str, moment: datetime) -> str:
        found = client.get_schedule(Name=key, GroupName=group)
        before = {name: found[name] for name in SETTINGS}
        changes = {
            "ScheduleExpression": f"at({moment:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
        }
        client.update_schedule(Name=key, **{**before, **changes})
        job_id: str = product.outputs["schedules"]["schedules"][key]["id"].replace(
            KEYWORD, f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        )
        try:
            succeeds(product, job_id)
        finally:
            client.update_schedule(Name=key, **before)
        return job_id

    return once


def in_a_moment() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)


def succeeds(product: Stack, job_id: str) -> None:
    wait_for(lambda: "succeeded" in product.outcomes_of(job_id), timeout=SOON, what=f"{job_id} succeeds")


def item(table: Any, pk: str, sk: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = table.get_item(Key={"pk": pk, "sk": sk}, ConsistentRead=True).get("Item")
    return found


def becomes(table: Any, pk: str, sk: str, **expected: Any) -> dict[str, Any]:
    """Wait until an item has these values."""

    def look() -> dict[str, Any] | None:
        found = item(table, pk, sk)
        return found if found is not None and all(found.get(name) == v for name, v in expected.items()) else None

    found = wait_for(look, timeout=SOON, what=f"{pk} {sk} has {expected}")
    assert found is not None
    return found


def test_a_plan_after_the_apply_is_empty(product: Stack) -> None:
    assert product.terraform.plan_is_empty(), product.terraform.tail()


def test_a_sign_up_sets_everything_going_on_four_workloads(product: Stack, table: Any, servers: Servers) -> None:
    name, email = f"new-{time.time_ns()}", f"new-{time.time_ns()}@x.example"
    sign_up = {"account": name, "email": email}
    job_id = product.publish_one("accounts.set-up", sign_up)
    becomes(table, "account", name, plan="trial", balance=100)  # booked by credits.book, in the account's order
    assert item(table, f"booking#{name}", "trial") is not None
    # The welcome at once, by mail.send; the reminder by accounts.trial.remind, days later, through the delay machine.
    wait_for(
        lambda: (
            {mail["template"] for mail in servers.to("/mail/messages") if mail["to"] == email}
            == {"welcome", "trial-ends"}
        ),
        timeout=SOON,
        what="both mails",
    )
    wait_for(  # by cache.invalidate, without a queue
        lambda: {"keys": [f"balance/{name}"]} in servers.to("/cache/purge"), timeout=SOON, what="the cache is told"
    )
    again = product.publish_one("accounts.set-up", sign_up)
    wait_for(lambda: product.outcomes_of(again), timeout=SOON, what="the second click")
    assert (product.outcomes_of(job_id), product.outcomes_of(again)) == (["succeeded"], ["duplicate"])
    table.delete_item(Key={"pk": "account", "sk": name})


def test_a_reservation_comes_back_after_its_delay_and_the_forgotten_one_by_the_sweep(
    product: Stack, table: Any, paying: str, send: Send
) -> None:
    row = {"pk": "reservation", "account": paying, "credits": 7, "state": "open"}
    later, past = datetime.now(UTC) + timedelta(minutes=10), datetime.now(UTC) - timedelta(minutes=10)
    table.put_item(Item={**row, "sk": f"{paying}-1", "expires_at": later.isoformat()})
    table.put_item(Item={**row, "sk": f"{paying}-2", "expires_at": past.isoformat()})

    # As its maker would, but for two seconds instead of ten minutes: SQS keeps it back all the same.
    product.publish_one("credits.reservation.expire", {"reservation": f"{paying}-1"}, delay_seconds=2)
    send("sweep-reservations", in_a_moment())
    for number in (1, 2):
        becomes(table, "reservation", f"{paying}-{number}", state="expired")
        becomes(table, f"booking#{paying}", f"expired/{paying}-{number}", credits=7)
    becomes(table, "account", paying, balance=14)


def test_the_schedules_of_the_hour_and_the_day_work_on_their_own_time(
    product: Stack, table: Any, paying: str, send: Send
) -> None:
    moment = in_a_moment() + timedelta(seconds=2)
    hour, yesterday = moment - timedelta(hours=1), moment.date() - timedelta(days=1)
    for time_of_use, calls in ((f"{hour:%Y-%m-%dT%H:%M:%S}", 3), (f"{yesterday}T11:00:00", 4)):
        table.put_item(Item={"pk": f"usage#{paying}", "sk": f"{time_of_use}#1", "calls": calls})
    send("recalculate-credits", moment)
    becomes(table, f"booking#{paying}", f"usage/{hour:%Y-%m-%dT%H}", credits=-3)

    send("close-day", in_a_moment())
    becomes(table, f"day#{paying}", f"{yesterday}", calls=7 if hour.date() == yesterday else 4)
    send("renew-allowances", in_a_moment())
    becomes(table, f"booking#{paying}", f"allowance/{moment.date()}", credits=1000)
    becomes(table, "account", paying, balance=997)


def test_a_month_is_invoiced_and_charged_once_and_the_receipt_is_sent(
    product: Stack, table: Any, paying: str, send: Send, servers: Servers
) -> None:
    month = f"{datetime.now(UTC).replace(day=1) - timedelta(days=1):%Y-%m}"
    table.put_item(Item={"pk": f"day#{paying}", "sk": f"{month}-07", "calls": 5})
    send("run-invoices", in_a_moment())
    becomes(table, f"invoice#{paying}", month, state="paid", cents=10)
    wait_for(
        lambda: [m["words"] for m in servers.to("/mail/messages") if m["to"].startswith(paying)] == [{"month": month}],
        timeout=SOON,
        what="the receipt",
    )
    charges = [charge for charge in servers.to("/payments/charges") if charge["account"] == paying]
    assert charges == [{"account": paying, "cents": 10}]


def test_the_digest_of_the_week_is_sent_to_each_account(
    product: Stack, table: Any, paying: str, send: Send, servers: Servers
) -> None:
    moment = in_a_moment()
    day = {"pk": f"day#{paying}", "sk": f"{moment.date() - timedelta(days=2)}", "calls": Decimal(9)}
    table.put_item(Item=day)
    job_id = send("weekly-digest", moment)
    wait_for(
        lambda: (
            [m["words"] for m in servers.to("/mail/messages") if m["to"].startswith(paying)]
            == [{"subject": "Your week", "calls": "9"}]
        ),
        timeout=SOON,
        what="the digest",
    )
    # Delivered twice, it runs once.
    group = product.outputs["schedules"]["group"]["name"]
    target = product.aws.client("scheduler").get_schedule(Name="weekly-digest", GroupName=group)["Target"]
    call = json.loads(target["Input"].replace(KEYWORD, f"{moment:%Y-%m-%dT%H:%M:%SZ}"))
    product.send_raw("shared", call["MessageBody"])
    wait_for(lambda: "duplicate" in product.outcomes_of(job_id), timeout=SOON, what="the second delivery")
    assert product.outcomes_of(job_id) == ["succeeded", "duplicate"]


def test_every_job_of_the_product_has_run_and_nothing_went_wrong(product: Stack) -> None:
    lines = product.log_lines()
    names = {line["job"] for line in lines if line["outcome"] == "succeeded"}
    assert len(names) == 15, sorted(names)
    assert [line for line in lines if line["outcome"] in ("dead", "parked", "discarded", "lost")] == []
    assert product.dead_letters() == []
