"""Jobs that a schedule sends: each occurrence runs once, however often it is delivered, and every occurrence runs."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ConfigDict, create_model
from runtime.app import App
from runtime.context import JobContext
from runtime.delivery import Delivery
from runtime.envelope import Envelope, decode
from runtime.ledger import reference
from runtime.outcome import Defer, Kind, Park, Permanent, Retry
from runtime.policy import fixed
from runtime.testing import Jobs, delay_workloads
from runtime.testing import jobs as fixture

from .conftest import Consumer
from .helpers import NOW, Aws, Work, app_of, body, job_of, nothing, raising, record, seconds, stack
from .model.bench import Bench
from .test_envelope import wire
from .test_testing_plugin import register

__all__ = ["delay_workloads"]

HOUR = timedelta(hours=1)
THREE = datetime(2030, 1, 1, 3, tzinfo=UTC)
FOUR = THREE + HOUR

jobs = fixture


@pytest.fixture
def app(aws: Aws) -> App:
    return app_of(aws)


def scheduled(bench: Bench, occurrence: datetime, **header: Any) -> Delivery:
    """One message of a schedule. Each has an id of the queue's own."""
    text = occurrence.isoformat()
    return bench.message(
        "probe",
        id=f"shop:hourly:{text}",
        occurrence=occurrence,
        enqueued_at=occurrence,
        payload={"label": "a"},
        **header,
    )


@pytest.mark.parametrize("key", [None, "label"], ids=["no business key", "a business key"])
def test_an_occurrence_delivered_twice_runs_once_and_two_occurrences_both_run(key: str | None) -> None:
    bench, ran = Bench(), []
    job = job_of(lambda args, ctx: ran.append(ctx.occurrence), key=key)
    kinds = [bench.handle(job, scheduled(bench, moment)).outcome.kind for moment in (THREE, THREE, FOUR, THREE, FOUR)]
    assert kinds == [Kind.SUCCEEDED, Kind.DUPLICATE, Kind.SUCCEEDED, Kind.DUPLICATE, Kind.DUPLICATE]
    assert ran == [THREE, FOUR]


def test_two_schedules_of_one_key_share_the_work_of_a_moment_and_a_published_job_is_another_one() -> None:
    bench, ran = Bench(), []
    job = job_of(lambda args, ctx: ran.append(ctx.occurrence), key="label")
    other = bench.message("probe", id="shop:other:1", occurrence=THREE, payload={"label": "a"})
    published = bench.message("probe", id="by hand", key="a", payload={"label": "a"})
    kinds = [bench.handle(job, sent).outcome.kind for sent in (scheduled(bench, THREE), other, published)]
    assert kinds == [Kind.SUCCEEDED, Kind.DUPLICATE, Kind.SUCCEEDED]
    assert ran == [THREE, None]


def test_one_moment_is_one_occurrence_in_every_zone() -> None:
    bench, ran = Bench(), []
    job = job_of(lambda args, ctx: ran.append(ctx.occurrence), key="label")
    for zone in (UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-5))):
        bench.handle(job, scheduled(bench, THREE.astimezone(zone)))
    assert ran == [THREE]
    assert ran[0] is not None
    assert ran[0].tzinfo is UTC


def test_the_record_of_an_occurrence_can_be_no_others() -> None:
    refs = {
        reference("shop", "probe", "1", "a"),
        reference("shop", "probe", "1", "a", THREE),
        reference("shop", "probe", "1", "a", FOUR),
        reference("shop", "probe", "1", f"a@{THREE.isoformat()}"),
        reference("shop", "probe", f"@{THREE.isoformat()}#a", None),
    }
    assert len(refs) == 5
    assert reference("shop", "probe", "1", None, THREE) == reference("shop", "probe", "1", None)


def test_a_retry_of_an_occurrence_goes_on_counting() -> None:
    bench, seen = Bench(), []

    def act(args: Work, ctx: JobContext) -> None:
        seen.append((ctx.attempt, ctx.occurrence, ctx.effect_key("send")))
        if ctx.attempt < 3:
            raise Retry(seconds(1))

    job = job_of(act, key="label")
    for _ in range(3):
        bench.handle(job, scheduled(bench, THREE))
        bench.wait(seconds=10)
    assert [(attempt, occurrence) for attempt, occurrence, _ in seen] == [(1, THREE), (2, THREE), (3, THREE)]
    bench.handle(job, scheduled(bench, FOUR))
    assert len({key for *_, key in seen}) == 2  # stable within an occurrence, another one for the next


def test_a_parked_occurrence_is_released_by_its_generation_and_blocks_no_other() -> None:
    bench, faults = Bench(), [Park("look")]

    def act(args: Work, ctx: JobContext) -> None:
        if faults:
            raise faults.pop()

    job = job_of(act, key="label")
    assert bench.handle(job, scheduled(bench, THREE)).outcome.kind is Kind.PARKED
    assert bench.handle(job, scheduled(bench, FOUR)).outcome.kind is Kind.SUCCEEDED
    assert bench.handle(job, scheduled(bench, THREE)).outcome.kind is Kind.DUPLICATE
    assert bench.handle(job, scheduled(bench, THREE, generation=1)).outcome.kind is Kind.SUCCEEDED


@pytest.mark.parametrize(("regenerable", "kind"), [(True, Kind.DISCARDED), (False, Kind.PARKED)])
def test_the_deadline_of_an_occurrence_counts_from_its_time(regenerable: bool, kind: Kind) -> None:
    bench, ran = Bench(), []
    job = job_of(lambda args, ctx: ran.append(ctx.envelope.expires_at), ttl=HOUR, regenerable=regenerable)
    bench.time = THREE + timedelta(minutes=59)
    assert bench.handle(job, scheduled(bench, THREE)).outcome.kind is Kind.SUCCEEDED
    bench.time = FOUR + timedelta(minutes=1)
    late = bench.message("probe", id="late", occurrence=THREE, payload={"label": "a"})
    assert (bench.handle(job, late).outcome.kind, bench.handle(job, late).outcome.reason) == (
        kind,
        "expired" if kind is Kind.DISCARDED else "parked",
    )
    assert ran == [FOUR]
    # A human who sends it again has decided that it is not too late.
    again = bench.message("probe", id="late", occurrence=THREE, payload={"label": "a"}, generation=1)
    assert bench.handle(job, again).outcome.kind is Kind.SUCCEEDED


def test_a_follow_up_job_is_no_occurrence() -> None:
    bench = Bench()
    child = job_of(nothing, name="child", workload="w")
    job = job_of(lambda args, ctx: ctx.enqueue(child, Work(label="b")) and None)
    for moment in (THREE, FOUR):
        bench.handle(job, scheduled(bench, moment))
    first, second = (decode(message.body) for message in bench.published)
    assert first.occurrence is second.occurrence is None
    assert first.id != second.id  # each occurrence has follow-up jobs of its own
    assert (first.causation, second.causation) == (
        f"shop:hourly:{THREE.isoformat()}",
        f"shop:hourly:{FOUR.isoformat()}",
    )


def test_a_runtime_of_the_version_before_overlooks_the_occurrence() -> None:
    fields = {name: (f.annotation, f) for name, f in Envelope.model_fields.items() if name != "occurrence"}
    before = create_model("Before", __config__=ConfigDict(extra="ignore"), **fields)  # type: ignore[call-overload]
    read: Any = before.model_validate_json(wire("scheduled.json"))
    assert (read.id, read.job, read.payload) == (
        "shop:nightly:2027-01-05T03:00:00Z",
        "report.build",
        {"kind": "full"},
    )


# Settlement. A message that came past the topic may have no attributes, and nothing here needs them.


def bare(text: str, **fields: Any) -> Any:
    return record(text, "m1", **fields) | {"messageAttributes": {}}


def test_an_occurrence_that_is_put_off_at_its_last_receive_goes_on_as_the_same_one(consumer: Consumer) -> None:
    sent = body("a", occurrence=THREE.isoformat(), enqueued_at=NOW.isoformat())
    job = job_of(raising(Defer(seconds(7), "busy")))
    assert consumer.run([bare(sent, receives=10)], job, config=stack(max_receive_count=10)) == []
    (copy,) = consumer.aws.of("send_message")
    assert decode(copy["MessageBody"]).occurrence == THREE
    assert copy["MessageAttributes"] == {}
    (line,) = consumer.lines
    assert line["occurrence"] == THREE.isoformat()


def test_a_dead_occurrence_keeps_its_body(consumer: Consumer) -> None:
    sent = wire("scheduled.json").replace("report.build", "probe").replace('{"kind":"full"}', '{"label":"a"}')
    assert consumer.run([bare(sent)], job_of(raising(Permanent("gone")))) == []
    (letter,) = consumer.aws.of("send_message")
    assert letter["MessageBody"] == sent
    assert list(letter["MessageAttributes"]) == ["dead"]


def test_a_retry_beyond_what_sqs_can_hide_takes_the_occurrence_with_it(consumer: Consumer) -> None:
    machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"
    sent = body("a", occurrence=THREE.isoformat())
    job = job_of(raising(ValueError()), retry=fixed(timedelta(days=2), max_attempts=5))
    assert consumer.run([bare(sent)], job, config=stack(delay_machine_arn=machine)) == []
    (started,) = consumer.aws.of("start_execution")
    trip = json.loads(started["input"])
    assert decode(trip["body"]).occurrence == THREE
    assert trip["job"] == "probe"  # from the body, not from an attribute


# The test fixture


def test_a_scheduled_job_is_tested_with_its_time(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(lambda args, ctx: ctx.occurrence and ctx.occurrence.isoformat(), ttl=HOUR))
    soon = jobs.now() + timedelta(minutes=1)
    assert jobs.run(job, occurrence=soon).result == soon.isoformat()
    assert jobs.run(job).result is None
    late = jobs.run(job, occurrence=jobs.now() - timedelta(hours=2))
    assert (late.kind, late.reason) == (Kind.PARKED, "expired")


def test_an_occurrence_has_a_zone(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(nothing))
    with pytest.raises(ValueError, match="occurrence"):
        jobs.run(job, occurrence=datetime(2030, 1, 1))


def test_status_and_cancelling_name_the_occurrence(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(nothing, key="label"))
    text = jobs.body(job, occurrence=THREE, label="a")
    entry = {"Id": "0", "MessageBody": text, "MessageAttributes": {"workload": {"StringValue": "email"}}}
    jobs.send_message_batch(QueueUrl="queue", Entries=[entry])
    assert app.cancel(job=job, key="a", occurrence=FOUR) == "stopped"
    assert jobs.drain().succeeded == 1
    states = [app.status(job=job, key="a", occurrence=moment).state for moment in (THREE, FOUR, None)]
    assert states == ["done", "discarded", "unknown"]
    assert app.status(job=job, key="a", occurrence=THREE.astimezone(timezone(HOUR))).state == "done"
    with pytest.raises(ValueError, match="no time zone; add tzinfo=UTC"):
        app.status(job=job, key="a", occurrence=datetime(2030, 1, 1))
