"""examples/points-ledger on the local AWS: bookings that are sent twice, partners that are away, processes that are
killed; and then every member has exactly his points.
"""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer

from tests.examples import reader
from tests.local_aws import engine
from tests.local_aws.interpreters import FunctionPython
from tests.local_aws.process import children
from tests.local_aws.project import HOST_ARCHITECTURE, Project
from tests.local_aws.stack import Stack, wait_for
from tests.local_aws.terraform import Terraform

from .partners import Partners, open_for_business

pytestmark = pytest.mark.xdist_group("points-ledger")

# Visibility is six times that: the time until the bookings of a killed process come back.
TIMEOUT_SECONDS = 5
SOON = 40
LATER = 100
KILLS = 2
# The example waits for minutes and hours; here it has seconds, and is the same otherwise.
HASTE = {
    "FIRST_WAIT = timedelta(minutes=5)": "FIRST_WAIT = timedelta(seconds=1)",
    "linear(step=timedelta(minutes=15), max_attempts=20)": "linear(step=timedelta(seconds=1), max_attempts=20)",
}


@pytest.fixture(scope="module")
def partners() -> Iterator[Partners]:
    with open_for_business() as found:
        yield found


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = reader.make("points-ledger", tmp_path_factory.mktemp("loyalty project"))
    file = made.jobs / "bookings.py"
    text = file.read_text(encoding="utf-8")
    for patient, quick in HASTE.items():
        assert patient in text, patient
        text = text.replace(patient, quick)
    file.write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def ledger(
    hasty: Project, partners: Partners, lambda_python: FunctionPython, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """examples/points-ledger, applied."""
    folder = tmp_path_factory.mktemp("points ledger")
    with engine.aws() as aws:
        variables = {
            "name": "loyal",
            "region": aws.region,
            "artifact": str(hasty.package_for(lambda_python, folder / "lambda.zip")),
            "handler": hasty.handler,
            "architecture": HOST_ARCHITECTURE,
            "timeout_seconds": TIMEOUT_SECONDS,
            "partners_url": partners.url,
            "protected": False,
        }
        terraform = Terraform.of_example("points-ledger", folder / "terraform", aws, variables)
        prepared = Stack(aws, terraform, hasty)
        terraform.init()
        terraform.apply()
        prepared.refresh()
        yield prepared


def test_a_plan_after_the_apply_is_empty(ledger: Stack) -> None:
    assert ledger.terraform.plan_is_empty(), ledger.terraform.tail()


def test_every_member_has_exactly_his_points(ledger: Stack, partners: Partners) -> None:
    bookings = [
        {"booking": f"b-{number}", "member": f"m-{number % 7}", "partner": partner, "points": 1 + number * number}
        for number, partner in enumerate(["bakery"] * 40 + ["station"] * 10 + ["ghost"] * 3 + ["snail"] * 3)
    ]
    chance = random.Random(4)
    sent = bookings + chance.sample(bookings, 25)  # these are sent twice
    chance.shuffle(sent)
    (results,) = ledger.publish([{"job": "points.book", "payloads": sent}])
    assert all(result.ok for result in results)
    killed = kill_in_mid_booking(ledger, partners)

    # While a partner is away its bookings wait on their own, and the primary has nothing in hand.
    away = {f"points.book.retry#b-{number}" for number in range(40, 50)}
    wait_for(
        lambda: ledger.depth("points") == 0 and away <= states(ledger).keys(),
        timeout=LATER,
        what="the primary has handed over what has to wait",
    )
    fresh = {"booking": "b-fresh", "member": "m-0", "partner": "bakery", "points": 1000}
    ledger.publish([{"job": "points.book", "payloads": [fresh]}])
    wait_for(lambda: states(ledger).get("points.book#b-fresh") == "DONE", timeout=SOON, what="a fresh one is booked")
    assert not [name for name in away if states(ledger)[name] == "DONE"]
    partners.station_is_open.set()
    wait_for(
        lambda: all(states(ledger)[name] == "DONE" for name in away),
        timeout=SOON,
        what="the bookings are made when the partner is back",
    )
    # By hand, what has been booked: by the other job, and under the same id with other points.
    again = bookings[0]
    ledger.publish([{"job": "points.book.retry", "payloads": [again]}])
    ledger.publish([{"job": "points.book", "payloads": [bookings[1] | {"points": 999_999}]}])
    wait_for(lambda: states(ledger).get("points.book.retry#b-0") == "DONE", timeout=SOON, what="the other job is done")
    wait_for(
        lambda: ledger.depth("points") + ledger.depth("points-retry") == 0 and len(ledger.dead_letters()) >= 4,
        timeout=LATER,
        what="the queues are empty",
    )

    confirmed = [booking for booking in [*bookings, fresh] if booking["partner"] != "ghost"]
    entries, sums = points(ledger)
    assert entries == {booking["booking"]: booking["points"] for booking in confirmed}
    expected: Counter[str] = Counter()
    for booking in confirmed:
        expected[str(booking["member"])] += int(str(booking["points"]))
    assert sums == expected
    reasons = Counter(letter.note["reason"] for letter in ledger.dead_letters())
    assert reasons["key_conflict"] == 1
    assert set(reasons) == {"key_conflict", "purchase_unknown"}
    assert killed == KILLS
    crashes = sum(int(record["starts"]) - int(record.get("ends", 0)) for record in ledger.records())
    assert crashes > 0, "nobody was killed in the middle of a booking, so the test proves less than it says"


def kill_in_mid_booking(ledger: Stack, partners: Partners) -> int:
    """`kill -9` a function process while it waits for a partner's answer."""
    assert ledger.aws.pid is not None
    for _ in range(KILLS):
        wait_for(lambda: partners.being_asked, timeout=SOON, what="a booking is being made", pause=0.01)
        functions = [function for local_aws in children(ledger.aws.pid) for function in children(local_aws)]
        os.kill(random.choice(functions), signal.SIGKILL)
    return KILLS


def states(ledger: Stack) -> dict[str, str]:
    """State of each record, by its key without the stack's name."""
    return {record["pk"].removeprefix("loyal#"): record["state"] for record in ledger.records()}


def points(ledger: Stack) -> tuple[dict[str, int], dict[str, int]]:
    """The entries and the sums of the points table."""
    read = TypeDeserializer()
    client = ledger.aws.client("dynamodb")
    table = ledger.outputs["points_table"]["name"]
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    items: list[dict[str, Any]] = [
        {name: read.deserialize(value) for name, value in item.items()} for page in pages for item in page["Items"]
    ]
    found: dict[str, dict[str, int]] = {"booking": {}, "member": {}}
    for item in items:
        kind, _, name = item["pk"].partition("#")
        found[kind][name] = int(item["points"])
    return found["booking"], found["member"]
