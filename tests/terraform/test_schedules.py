"""Schedules: what their messages are to the runtime, and which expressions and time zones are refused, and how.

One plan holds many schedules, since a refusal names each of them.
"""

from __future__ import annotations

import json
import re
import shutil
import zoneinfo
from datetime import UTC, datetime
from typing import Any

import pytest
from runtime.delivery import Delivery
from runtime.envelope import decode
from runtime.publisher import _is_id

from tests.local_aws.paths import REPOSITORY

from . import time_zones
from .harness import Terraform, report, resources

pytestmark = pytest.mark.xdist_group("terraform-schedules")

GOLDEN = REPOSITORY / "tests/runtime/wire/scheduled.json"
TIME = datetime(2027, 1, 5, 3, tzinfo=UTC)

BAD = {
    "cron(0 16 * * MON-FRI *)": "cron(0 9 ? * MON-FRI *)",
    "cron(*/5 * * * *)": "cron(0 9 ? * MON-FRI *)",
    "0 9 * * 1": "cron(0 9 ? * MON-FRI *); rate has",
    "rate(0 minutes)": "rate(15 minutes)",
    "rate(5 mins)": "rate(15 minutes)",
    "rate(1.5 hours)": "rate(15 minutes)",
    "rate(-1 hours)": "rate(15 minutes)",
    "rate(1hour)": "rate(15 minutes)",
    "at(2026-02-30T10:00:00)": "at(2027-01-05T08:00:00)",
    "at(2026-11-01T10:00:00Z)": "at(2027-01-05T08:00:00)",
    "at(2026-11-01T24:00:00)": "at(2027-01-05T08:00:00)",
    "at(2026-11-01 10:00:00)": "at(2027-01-05T08:00:00)",
    "at(2026-11-01)": "at(2027-01-05T08:00:00)",
    "": "rate has",
    "@daily": "cron(0 9 ? * MON-FRI *); rate has",
    "cron(0 9 ? * ? *)": "exactly one of the two days is ?",
    "cron(0 9 * * * *)": "exactly one of the two days is ?",
    "cron(60 9 * * ? *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 24 * * ? *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 32 * ? *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 0 * ? *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 * 13 ? *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * 0 *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * 8 *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON#6 *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * 3#1,6#3 *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON-FRI 1969)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON-FRI 2200)": "cron(0 9 ? * MON-FRI *)",
    "cron(0/0 9 ? * MON-FRI *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON-FRI * *)": "cron(0 9 ? * MON-FRI *)",
    " cron(0 9 ? * MON-FRI *)": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON-FRI *": "cron(0 9 ? * MON-FRI *)",
    "cron(0 9 ? * MON-FRI *); x": "cron(0 9 ? * MON-FRI *)",
}
GOOD = [
    "cron(0 9 ? * MON-FRI *)",
    "rate(1 hours)",
    "rate(1 hour)",
    "rate(1 minute)",
    "rate(5 minutes)",
    "rate(30 days)",
    "at(2027-01-05T08:00:00)",
    "at(2028-02-29T23:59:59)",
    "cron(*/5 * * * ? *)",
    "cron(0/15 8-18 * * ? *)",
    "cron(0,30 0,12 1,15 JAN,jul ? 2027-2030)",
    "cron(5 0 L * ? *)",
    "cron(5 0 LW * ? *)",
    "cron(5 0 3W * ? *)",
    "cron(5 0 1-7/2 */3 ? 2027/2)",
    "cron(5 0 ? * 6L *)",
    "cron(5 0 ? * FRIL *)",
    "cron(5 0 ? * L *)",
    "cron(5 0 ? * 3#2 *)",
    "cron(5 0 ? * MON#1 *)",
    "cron(5 0 ? * 2,4,FRI *)",
    "cron(05 09 01 01 ? 1970)",
    "cron(0  9  ?  *  *  2199)",
]
BAD_ZONES = ["Europe/ Paris", "GMT+2", "Local", "", "europe/paris", "CEST", "UTC+1", "Europe/Atlantis", "+02:00"]
TEST_FILE = """
mock_provider "aws" {
  source = "../../tests/terraform/mocks"
}

run "one" {
  command = plan

  variables {
    name      = "shop"
    schedules = SCHEDULES
  }
}
"""


def schedule(**fields: Any) -> dict[str, Any]:
    topic = {"workload": "reports", "topic_arn": "arn:aws:sns:eu-west-1:123456789012:shop-jobs", "job": "report.build"}
    return {**topic, "expression": "rate(1 hour)", **fields}


def plan(tf: Terraform, name: str, schedules: dict[str, Any]) -> str:
    """The errors of a plan with these schedules; empty if it succeeds."""
    folder = tf.tree / "modules" / "schedule" / f"tests-{name}"
    folder.mkdir()
    text = TEST_FILE.replace("SCHEDULES", json.dumps(schedules))
    (folder / "one.tftest.hcl").write_text(text, encoding="utf-8")
    try:
        tf.init("modules/schedule", folder.name)
        (run,) = tf.test("modules/schedule", folder.name)
    finally:
        shutil.rmtree(folder)  # the tree is shared with the other tests
    return re.sub(r"\s+", " ", " ".join(run.errors))


def test_every_bad_expression_is_refused_with_its_value_and_a_right_example(tf: Terraform) -> None:
    schedules = {f"bad-{number}": schedule(expression=text) for number, text in enumerate(BAD)}
    text = plan(tf, "bad", {**schedules, "good": schedule()})
    assert '"good"' not in text
    for number, (expression, example) in enumerate(BAD.items()):
        value = re.sub(r"\s+", " ", f'Schedule "bad-{number}": expression is "{expression}". ')
        assert value in text, expression
        assert example in text.split(value)[1].split("Schedule ")[0], expression


def test_every_good_expression_and_every_zone_of_the_database_plans(tf: Terraform) -> None:
    expressions = {f"e-{number}": schedule(expression=text) for number, text in enumerate(GOOD)}
    zones = {
        f"z-{number}": schedule(timezone=zone) for number, zone in enumerate(json.loads(time_zones.FILE.read_text()))
    }
    assert plan(tf, "good", {**expressions, **zones}) == ""


def test_what_is_no_zone_is_refused_with_its_value_and_right_examples(tf: Terraform) -> None:
    text = plan(tf, "zones", {f"bad-{number}": schedule(timezone=zone) for number, zone in enumerate(BAD_ZONES)})
    for number, zone in enumerate(BAD_ZONES):
        assert f'Schedule "bad-{number}": timezone is "{zone}", which is no name' in text, zone
    assert text.count('"America/Argentina/Buenos_Aires" or "UTC"') == len(BAD_ZONES)


def test_the_runtime_reads_what_a_schedule_sends(tf: Terraform) -> None:
    tf.init("modules/schedule")
    runs = tf.test("modules/schedule", only="wiring.tftest.hcl", verbose=True)
    assert all(run.status == "pass" for run in runs), report(runs)
    bodies = {}
    for run in runs[:2]:
        for resource in resources(run.state):
            if resource["type"] == "aws_scheduler_schedule":
                (target,) = resource["values"]["target"]
                call = json.loads(target["input"].replace("<aws.scheduler.scheduled-time>", "2027-01-05T03:00:00Z"))
                bodies[resource["index"]] = call.get("MessageBody") or call["Message"]
    assert bodies["nightly"] == GOLDEN.read_text().strip()
    assert bodies.keys() == {"nightly", "orders", "grouped", "weekly", "rare"}
    for key, body in bodies.items():
        envelope = decode(Delivery(body, "1").body)
        assert (envelope.id, envelope.occurrence) == (f"shop:{key}:2027-01-05T03:00:00Z", TIME)
        assert envelope.enqueued_at == TIME
        assert _is_id(envelope.id)
    assert decode(bodies["weekly"]).payload == {"text": '<b>"Zürich" \\u003c & more</b>', "n": 1.5}


def test_the_longest_id_is_a_legal_one() -> None:
    assert _is_id(f"{'s' * 50}:{'k' * 50}:2027-01-05T03:00:00Z")


def test_the_list_of_time_zones_is_that_of_the_database() -> None:
    listed = json.loads(time_zones.FILE.read_text(encoding="utf-8"))
    # A newer database has a zone or two more, or has renamed one: then write the file anew.
    assert len(set(time_zones.names()) ^ listed.keys()) < 8, "run python -m tests.terraform.time_zones"
    assert not [name for name in listed if not re.fullmatch(r"[A-Za-z0-9_+/-]{1,50}", name)]
    for name in ("America/New_York", "Europe/Berlin", "Europe/London", "America/Santiago", "UTC", "Asia/Tokyo"):
        assert listed[name] == time_zones.skipped_hours(name), name
    assert (listed["Europe/Berlin"], listed["UTC"]) == ([2], [])


@pytest.mark.parametrize(("zone", "day"), [("America/New_York", "2027-03-14"), ("Europe/Berlin", "2027-03-28")])
def test_the_warned_hour_is_the_one_that_does_not_exist(zone: str, day: str) -> None:
    wall = datetime.fromisoformat(f"{day}T02:30:00").replace(tzinfo=zoneinfo.ZoneInfo(zone))
    assert wall.astimezone(UTC).astimezone(zoneinfo.ZoneInfo(zone)) != wall
