"""`kill -9` again and again under load, whichever function process comes to hand: for two minutes (`make chaos`), or,
so that this test itself cannot rot, for twenty seconds (`make test`).

What the jobs do is one transaction each, which counts an item of their own up; so what was lost and what was done
twice can be read from the items alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer

from tests.local_aws.engine import Aws
from tests.local_aws.process import children
from tests.local_aws.stack import Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

LOAD = Path(__file__).with_name("load.py")
LOAD_SECONDS = int(os.environ.get("JOBS_CHAOS_SECONDS", "20"))
PER_SECOND = 20  # what load.py publishes
SECONDS_BETWEEN_KILLS = 1.5  # on average; now and then all are dead already
# Visibility is 30 s in this stack: the time until the work of a killed process comes back, and it may be killed again.
DRAINED_WITHIN_SECONDS = 240
EFFECTS = "e2e-effects"
WORKLOADS = ("calendar", "rollouts")


@pytest.fixture
def effects(aws: Aws) -> Iterator[str]:
    """A table of the jobs' own."""
    client = aws.client("dynamodb")
    client.create_table(
        TableName=EFFECTS,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield EFFECTS
    client.delete_table(TableName=EFFECTS)


def test_every_job_is_accounted_for_and_no_effect_is_doubled(stack: Stack, effects: str, tmp_path: Path) -> None:
    output, mark = tmp_path / "published.json", f"chaos-{time.time_ns()}"
    for kind in ("standard", "ordered"):  # that the jobs themselves work is no question for two minutes of chaos
        job_id = stack.publish_one(f"counting.{kind}", {"table": effects, "label": f"first-{mark}-{kind}"})
        wait_for(partial(stack.outcomes_of, job_id), timeout=40, what="a first job ends")
        assert stack.outcomes_of(job_id) == ["succeeded"], stack.lines_of(job_id)
    before = {record["pk"] for record in stack.records()}
    with output.open("wb") as sink:
        load = subprocess.Popen(
            [sys.executable, str(LOAD), stack.project.package, effects, str(LOAD_SECONDS), mark],
            env=stack.aws.environment(**stack.publisher_environment, PYTHONPATH=str(stack.project.source)),
            stdout=sink,
        )
        try:
            killed = kill_until_the_end_of(load, stack.aws)
        finally:
            load.kill()
            load.wait()
    assert load.returncode == 0, "the load generator failed"
    published: list[dict[str, Any]] = json.loads(output.read_text())
    assert len(published) == LOAD_SECONDS * PER_SECOND
    assert all(entry["ok"] for entry in published)

    # Twice, because between the looks at two queues a job may be on its way from one to the other.
    try:
        wait_for(
            lambda: is_drained(stack) and is_drained(stack),
            timeout=DRAINED_WITHIN_SECONDS,
            what="the queues are empty",
            pause=1.0,
        )
    except AssertionError as error:
        raise AssertionError(f"{error}\n{what_is_left(stack)}") from None
    counted = {label: number for label, number in applied(stack.aws, effects).items() if label.startswith(mark)}
    records = [record for record in stack.records() if record["pk"] not in before]
    states = Counter(record["state"] for record in records)
    crashes = sum(int(record["starts"]) - int(record.get("ends", 0)) for record in records)
    outcomes = Counter(
        (line["job_id"], line["outcome"])
        for line in stack.log_lines()
        if line.get("fields", {}).get("label", "").startswith(mark)
    )
    duplicates = sum(number for (_, outcome), number in outcomes.items() if outcome == "duplicate")
    jobs = {entry["label"] for entry in published}
    print(
        f"published {len(published)} messages of {len(jobs)} jobs; killed {killed} processes, {crashes} of them in the "
        f"middle of a job; records {dict(states)}; effects {len(counted)}; duplicates not run again {duplicates}"
    )

    assert {label: number for label, number in counted.items() if number != 1} == {}, "done twice"
    # Done, or where somebody looks for it; and so the follow-up jobs of what was committed, and of nothing else.
    bodies = [letter.body for letter in stack.dead_letters()]
    bodies += [record["body"] for record in records if "body" in record]
    kept = {json.loads(body)["payload"]["label"] for body in bodies if '"counting.' in body}
    committed = {entry["label"] for entry in published if entry["followed"]} & counted.keys()
    expected = jobs | {f"{label}+" for label in committed}
    assert expected - counted.keys() - kept == set(), "lost"
    assert counted.keys() - expected == set(), "follow-up jobs of what was not committed"
    assert set(states) <= {"DONE", "DEAD", "PARKED"}
    assert not [record["pk"] for record in records if "outbox" in record], "follow-up jobs not published"
    assert not [job_id for (job_id, outcome), number in outcomes.items() if outcome == "succeeded" and number > 1]
    # Else the test would prove nothing.
    assert killed >= LOAD_SECONDS / 12  # far more on an idle machine: a new process takes a second to start
    assert crashes > 0 or LOAD_SECONDS < 60
    assert duplicates > 0
    assert states["DONE"] >= 0.99 * len(records)


def kill_until_the_end_of(load: subprocess.Popen[bytes], aws: Aws) -> int:
    """Kill a function process at random times while the load lasts; returns how many."""
    random, killed = Random(), 0
    while load.poll() is None:
        time.sleep(random.expovariate(1 / SECONDS_BETWEEN_KILLS))
        assert aws.pid is not None
        processes = [function for local_aws in children(aws.pid) for function in children(local_aws)]
        if processes:
            os.kill(random.choice(processes), signal.SIGKILL)
            killed += 1
    return killed


def is_drained(stack: Stack) -> bool:
    return sum(stack.depth(workload) for workload in WORKLOADS) == 0


def what_is_left(stack: Stack) -> str:
    """The queues' depths, and the last lines of jobs that have not ended."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in stack.log_lines():
        lines.setdefault(line["job_id"], []).append(line)
    told = [f"{workload}: waiting, in flight, delayed {stack.depths(workload)}" for workload in WORKLOADS]
    pending = {
        job_id: of_job for job_id, of_job in lines.items() if of_job[-1]["outcome"] in ("retry", "defer", "lost")
    }
    told.append(f"{len(pending)} jobs whose last line is no end")
    shown = ("timestamp", "workload", "outcome", "reason", "error", "receive_count", "delay_seconds")
    for job_id, of_job in list(pending.items())[:10]:
        told.append(f"{job_id}: {stack.record_of(job_id)}")
        told += ["    " + " ".join(f"{name}={line.get(name)}" for name in shown) for line in of_job[-4:]]
    return "\n".join(told)


def applied(aws: Aws, table: str) -> dict[str, int]:
    """How often each label's effect has happened."""
    read = TypeDeserializer()
    pages = aws.client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return {
        read.deserialize(item["pk"]): int(read.deserialize(item["applied"])) for page in pages for item in page["Items"]
    }
