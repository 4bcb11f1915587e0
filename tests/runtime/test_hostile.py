"""What hostile input and the small mistakes of job authors can do: harm that one job, at most."""

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from runtime.context import JobContext
from runtime.engine import Engine
from runtime.envelope import Envelope, NotAJobError, decode, encode
from runtime.job import Job, JobDeclarationError, upcast
from runtime.outcome import Kind, Permanent
from runtime.policy import fixed

from .conftest import Consumer
from .helpers import (
    ROOT,
    SOURCE,
    Aws,
    Work,
    app_of,
    body,
    delivery,
    engine,
    handle,
    invocation,
    job_of,
    note_of,
    nothing,
    raising,
    record,
    stack,
)


def test_a_body_with_a_lone_surrogate_is_no_job() -> None:
    with pytest.raises(NotAJobError) as caught:
        decode("cut \ud83d")
    assert caught.value.reason == "undecodable"


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999-23:59"])
def test_a_deadline_at_the_end_of_time_is_never_passed(moment: str) -> None:
    assert handle(job_of(nothing), body(expires_at=moment)).outcome.kind is Kind.SUCCEEDED
    retry = job_of(raising(ValueError()), retry=fixed(timedelta(seconds=1), max_attempts=5))
    assert handle(retry, body(expires_at=moment)).outcome.kind is Kind.RETRY


async def inner() -> None:
    raise AssertionError("must run or be a failure")


@pytest.mark.filterwarnings("ignore:coroutine 'inner' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("make", [inner, lambda: (n for n in (1, 2))], ids=["coroutine", "generator"])
def test_an_async_job_that_forgets_to_await_is_not_done(make: Any) -> None:
    async def forgetful() -> Any:
        return make()

    assert handle(job_of(lambda args, ctx: forgetful())).outcome.kind is Kind.RETRY


EXIT = """
import asyncio, gc
from tests.runtime.helpers import handle, job_of

async def leave():
    await asyncio.sleep(0)
    raise SystemExit("SECRET")

assert handle(job_of(lambda args, ctx: leave())).outcome.kind == "retry"
gc.collect()
"""


def test_an_async_exit_leaves_no_text_in_the_log() -> None:
    environment = {"PYTHONPATH": f"{ROOT}:{SOURCE}", "PATH": "/usr/bin:/bin"}
    result = subprocess.run([sys.executable, "-c", EXIT], env=environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


class PropertyError(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError("no response has been set")


class ListError(Exception):
    response = {"Error": {"Code": ["a"]}}


class Attributes:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class OddResponseError(Exception):
    response = Attributes()


@pytest.mark.parametrize("error", [PropertyError(), ListError(), OddResponseError()], ids=lambda e: type(e).__name__)
def test_an_odd_exception_is_an_error_like_any_other(error: Exception) -> None:
    outcome = handle(job_of(raising(error))).outcome
    assert (outcome.kind, outcome.reason) == (Kind.RETRY, "error")


@pytest.mark.parametrize(
    "reason", [ValueError("SECRET"), None, 5, "x" * 5_000, "cut \ud83d"], ids=lambda r: type(r).__name__
)
def test_a_reason_that_is_no_short_text_still_makes_a_dead_letter(consumer: Consumer, reason: Any) -> None:
    def act(args: Work, ctx: JobContext) -> None:
        raise Permanent(reason)

    assert consumer.run([record(body(), "m1")], job_of(act)) == []
    (letter,) = consumer.aws.of("send_message")
    assert isinstance(note_of(letter)["reason"], str)
    assert "SECRET" not in consumer.text
    assert consumer.outcomes() == {"m1": "dead"}
    assert len(consumer.lines[0]["reason"]) <= 200


class MailboxGone(Permanent):
    def __init__(self, address: str) -> None:
        self.address = address


def test_a_decision_of_the_projects_own_needs_no_super_call() -> None:
    assert handle(job_of(raising(MailboxGone("zoe")))).outcome.kind is Kind.DEAD


class Two(BaseModel):
    x: int
    y: int


def test_a_static_upcast_lifts() -> None:
    class Lift(Job[Two, int]):
        name = "lift"
        version = 2

        @staticmethod
        @upcast(1, 2)
        def more(raw: dict[str, Any]) -> dict[str, Any]:
            return {**raw, "y": 1}

        def run(self, args: Two, ctx: JobContext) -> int:
            return args.y

    assert handle(Lift, body(job="lift", v=1, payload={"x": 1})).outcome.result == 1


@pytest.mark.parametrize("attributes", [{"name": "probe\n"}, {"aliases": ("old\n",)}])
def test_a_wire_name_ends_where_it_ends(attributes: dict[str, Any]) -> None:
    with pytest.raises(JobDeclarationError, match="does not match"):
        job_of(nothing, **attributes)


class Number(BaseModel):
    value: float


class Numeric(Job[Number, None]):
    name = "numeric"
    log_fields = ("value",)

    def run(self, args: Number, ctx: JobContext) -> None:
        return None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_what_is_written_is_json_for_everybody(value: float) -> None:
    def strict(constant: str) -> Any:
        raise AssertionError(f"{constant} is no JSON")

    try:
        text = encode(Envelope(id="1", job="numeric", payload={"value": value}))
    except ValueError:
        return
    json.loads(text, parse_constant=strict)


def test_a_line_is_json_for_everybody(consumer: Consumer) -> None:
    def strict(constant: str) -> Any:
        raise AssertionError(f"{constant} is no JSON")

    consumer.run([record('{"id":"1","job":"numeric","payload":{"value":NaN}}', "m1")], Numeric)
    for line in consumer.text.splitlines():
        json.loads(line, parse_constant=strict)


def test_dimensions_of_one_job_do_not_stand_in_its_neighbours_metrics(
    aws: Aws, capsys: pytest.CaptureFixture[str]
) -> None:
    from aws_lambda_powertools.metrics import MetricUnit

    def act(args: Work, ctx: JobContext) -> None:
        if args.label == "1":
            ctx.metrics.add_dimension("customer", "leak")
            ctx.metrics.add_metadata("note", "leak")
        else:
            ctx.metrics.add_metric("Pages", MetricUnit.Count, 1)

    app_of(aws, job_of(act)).lambda_handler()({"Records": [record(body(n), n) for n in "12"]}, invocation())
    assert "leak" not in capsys.readouterr().out


def test_a_module_that_exits_when_imported_harms_no_neighbour(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from .helpers import JobSet

    original = JobSet.find

    def find(self: JobSet, name: str) -> Any:
        if name == "leaving":
            raise SystemExit(1)
        return original(self, name)

    monkeypatch.setattr(JobSet, "find", find)
    failed = consumer.run(
        [record(body(), "m1"), record(body(job="leaving"), "m2"), record(body(), "m3")], job_of(nothing)
    )
    assert failed == ["m2"]
    assert consumer.lines[1]["reason"] == "import_failed"


def test_a_validator_that_raises_is_an_invalid_payload() -> None:
    from pydantic import field_validator

    class Checked(BaseModel):
        value: str

        @field_validator("value")
        @classmethod
        def check(cls, value: str) -> str:
            return {"a": "b"}[value]

    class Checking(Job[Checked, None]):
        name = "checking"

        def run(self, args: Checked, ctx: JobContext) -> None:
            return None

    outcome = handle(Checking, body(job="checking", payload={"value": "z"})).outcome
    assert (outcome.kind, outcome.reason) == (Kind.DEAD, "invalid_payload")


def test_a_task_that_a_job_left_behind_does_not_end_its_neighbour() -> None:
    async def careless() -> None:
        async def later() -> None:
            await asyncio.sleep(0.01)
            raise SystemExit(1)

        careless.task = asyncio.ensure_future(later())  # type: ignore[attr-defined]

    async def careful() -> str:
        await asyncio.sleep(0.05)
        return "done"

    first: Engine = engine(job_of(lambda args, ctx: careless() if args.label == "1" else careful()))
    assert first.handle(delivery(body("1"))).outcome.kind is Kind.SUCCEEDED
    assert first.handle(delivery(body("2"))).outcome.result == "done"


def test_a_policy_that_raises_is_not_asked_for_ever(consumer: Consumer) -> None:
    class Broken:
        max_attempts = 5

        def delay(self, attempt: int, random: Any) -> timedelta:
            raise ZeroDivisionError

    assert consumer.run([record(body(), "m1")], job_of(raising(ValueError()), retry=Broken())) == ["m1"]
    assert consumer.outcomes() == {"m1": "retry"}


def test_a_huge_attempt_is_dead() -> None:
    job = job_of(raising(ValueError()), retry=fixed(timedelta(seconds=1), max_attempts=5))
    assert handle(job, body(attempts_before=10**30)).outcome.reason == "attempts_exhausted"


def test_an_alarm_of_the_jobs_own_counts_as_an_attempt(consumer: Consumer) -> None:
    import signal
    import time

    def act(args: Work, ctx: JobContext) -> None:
        if args.label == "2":
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            time.sleep(5)

    assert consumer.run([record(body(n), n) for n in "12"], job_of(act)) == ["2"]
    assert consumer.lines[1]["reason"] == "timeout"


def test_a_fifo_group_keeps_its_order_when_part_of_a_batch_fails(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda duration: None)
    accepted: list[str] = []
    refused = {"a"}

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        good, bad = [], []
        for entry in call["PublishBatchRequestEntries"]:
            label = json.loads(entry["Message"])["payload"]["label"]
            if label in refused:
                refused.discard(label)
                bad.append({"Id": entry["Id"], "Code": "InternalError", "SenderFault": False})
            else:
                accepted.append(label)
                good.append({"Id": entry["Id"]})
        return {"Successful": good, "Failed": bad}

    aws.answers["publish_batch"] = answer
    job = job_of(nothing, group=staticmethod(lambda args: "g"))
    app_of(aws, job, config=stack()).enqueue_many(job, [Work(label=label) for label in "abc"])
    assert accepted == sorted(accepted)


class Blob(BaseModel):
    data: bytes = b"\xff"


class BlobJob(Job[Blob, None]):
    name = "blob"
    log_fields = ("data",)

    def run(self, args: Blob, ctx: JobContext) -> None:
        return None


def test_a_listed_field_that_json_cannot_hold_does_not_cost_the_line(consumer: Consumer) -> None:
    assert consumer.run([record('{"id":"1","job":"blob","payload":{}}', "m1")], BlobJob) == []
    assert consumer.outcomes() == {"m1": "succeeded"}
