"""The direct end: no queue keeps a message, so every job that is not finished is put somewhere or the run fails."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from runtime.app import App
from runtime.claims import ClaimStore
from runtime.config import ConfigurationError
from runtime.context import JobContext
from runtime.delay_machine import MAX_INPUT_BYTES
from runtime.direct_entry import SHORTEST_DEFERRAL, UnsettledError, deliveries, job_bodies
from runtime.engine import DEFER_AT_MOST, UNKNOWN_GRACE
from runtime.envelope import decode
from runtime.job import JobClass
from runtime.lambda_entry import ForeignEventError
from runtime.outcome import Defer, Discard, Park, Permanent, Retry
from runtime.policy import direct_retry, fixed

from .direct import TOPIC_ARN, Direct, notification, record_of_failure
from .helpers import DLQ_URL, NOW, Work, body, invocation, job_of, lines_of, note_of, nothing, raising, record, seconds
from .test_engine import at
from .test_envelope import NOT_JOBS

SLOW = fixed(seconds(100), max_attempts=5)


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str]) -> Any:
    return lambda: [line for line in lines_of(capfd.readouterr().out) if "_aws" not in line]


# --- reading the event ------------------------------------------------------------------------------------------------


def test_a_notification_becomes_a_delivery() -> None:
    attributes = {
        "job": {"Type": "String", "Value": "probe"},
        "picture": {"Type": "Binary", "Value": "AAEC"},
        "broken": {"Type": "Binary", "Value": "no base64!"},
        "odd": {"Type": "Number"},
        "odder": "text",
    }
    (delivery,) = deliveries({"Records": [notification("text", "n-1", attributes=attributes)]})
    assert (delivery.body, delivery.message_id, delivery.source) == ("text", "n-1", TOPIC_ARN)
    assert (delivery.receive_count, delivery.max_receive_count, delivery.receives_left) == (1, 0, None)
    assert (delivery.group, delivery.fifo, delivery.sent_at) == (None, False, NOW.timestamp())
    assert delivery.attributes == {
        "job": {"DataType": "String", "StringValue": "probe"},
        "picture": {"DataType": "Binary", "BinaryValue": b"\0\1\2"},
    }


@pytest.mark.parametrize("fields", [{"Timestamp": None}, {"Timestamp": "yesterday"}, {"MessageAttributes": "text"}])
def test_odd_fields_are_unknown_ones(fields: dict[str, Any]) -> None:
    (delivery,) = deliveries({"Records": [notification("text", **fields)]})
    assert delivery.body == "text"
    assert delivery.sent_at is None or delivery.attributes == {}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({}, r"an object with the keys \[\]"),
        (None, "got NoneType"),
        ("Records", "got str"),
        ({"Records": []}, "keys"),
        ({"Records": "abc"}, "keys"),
        ({"source": "aws.events", "detail-type": "Scheduled Event"}, r"keys \['detail-type', 'source'\]. Subscribe it"),
        ({"Records": [None]}, "record 0 comes from 'NoneType'"),
        ({"Records": [record("", "m1")]}, "comes from 'aws:sqs', not from 'aws:sns'.*needs app.lambda_handler()"),
        ({"Records": [notification("a"), {"EventSource": "aws:sns"}]}, "record 1 lacks its MessageId or its Message"),
        ({"Records": [notification(None)]}, "record 0 lacks"),
        ({"Records": [notification("a", "")]}, "record 0 lacks"),
    ],
)
def test_a_foreign_event_raises_before_anything_runs(event: Any, message: str) -> None:
    direct = Direct(job_of(nothing))
    with pytest.raises(ForeignEventError, match=message):
        direct.handler(event, invocation())
    assert direct.aws.calls == []


@pytest.mark.parametrize(
    ("lacking", "variable"), [("dlq_url", "JOBS_DLQ_URL"), ("delay_machine_arn", "JOBS_DELAY_MACHINE_ARN")]
)
def test_what_the_stack_has_to_say_is_asked_for_before_the_first_job(lacking: str, variable: str) -> None:
    with pytest.raises(ConfigurationError, match=variable):
        Direct(job_of(nothing), config={lacking: ""}).handler({"Records": [notification(body())]}, invocation())


def test_a_broken_job_class_fails_the_deployment_not_the_first_notification() -> None:
    with pytest.raises(ModuleNotFoundError):
        App("shop", jobs="no_such_package", workload="email").direct_handler()


# --- what becomes of every outcome ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ledger", [True, False])
def test_what_is_done_needs_nothing_sent(ledger: bool) -> None:
    direct = Direct(job_of(nothing), ledger=ledger)
    direct.publish(body("a"))
    assert (direct.aws.calls, direct.failed) == ([], [])


def test_a_notification_that_comes_twice_runs_once(lines: Any) -> None:
    direct = Direct(job_of(nothing))
    direct.publish(body("a"), "n-1")
    direct.publish(body("a"), "n-1")
    direct.publish(body("a"), "n-2")
    assert [line["outcome"] for line in lines()] == ["succeeded", "duplicate", "duplicate"]
    assert (direct.aws.calls, direct.failed) == ([], [])


def test_what_is_discarded_needs_nothing_sent() -> None:
    direct = Direct(job_of(raising(Discard("superseded")), regenerable=True))
    direct.publish(body("a"))
    assert (direct.aws.calls, direct.failed) == ([], [])


@pytest.mark.parametrize("ledger", [True, False])
def test_a_parked_job_is_in_its_record_or_else_in_the_dead_letter_queue(ledger: bool) -> None:
    direct = Direct(job_of(raising(Park("look"))), ledger=ledger)
    direct.publish(body("a"))
    assert [note_of(letter)["reason"] for letter in direct.letters] == ([] if ledger else ["parked: look"])


def test_a_dead_job_is_a_letter_with_its_reason() -> None:
    direct = Direct(job_of(raising(Permanent("gone"))))
    direct.publish(body("a"))
    (letter,) = direct.letters
    assert (letter["QueueUrl"], letter["MessageBody"]) == (DLQ_URL, body("a"))
    assert letter["MessageAttributes"]["workload"] == {"DataType": "String", "StringValue": "email"}
    note = note_of(letter)
    assert (note["reason"], note["attempt"], note["source"]) == ("gone", 1, TOPIC_ARN)
    assert note["first_seen"] == NOW.timestamp()
    assert direct.failed == []


@pytest.mark.parametrize("text", [text for text in NOT_JOBS if text], ids=lambda text: repr(text)[:24])
def test_what_is_no_job_is_a_letter_byte_for_byte(text: str) -> None:
    direct = Direct(job_of(nothing))
    direct.publish(text)
    (letter,) = direct.letters
    assert letter["MessageBody"] == text
    assert note_of(letter)["reason"] == NOT_JOBS[text]
    assert direct.failed == []


def test_a_job_that_fails_twice_comes_again_through_the_machine() -> None:
    ran: list[int] = []

    def act(args: Work, ctx: JobContext) -> None:
        ran.append(ctx.attempt)
        if ctx.attempt < 3:
            raise ConnectionError

    for ledger in (True, False):
        ran.clear()
        direct = Direct(job_of(act, retry=SLOW), ledger=ledger)
        direct.publish(body("a", unknown_field="kept"))
        assert direct.carry_on() == [seconds(100), seconds(100)]
        assert ran == [1, 2, 3]
        assert all(trip["workload"] == "email" and trip["job"] == "probe" for trip in direct.trips)
        assert all('"unknown_field":"kept"' in trip["body"].replace(": ", ":") for trip in direct.trips)
        # With a record nobody else counts: the message travels byte for byte.
        assert not ledger or {trip["body"] for trip in direct.trips} == {body("a", unknown_field="kept")}
        assert [decode(trip["body"]).attempts_before for trip in direct.trips] == ([0, 0] if ledger else [1, 2])
        assert (direct.letters, direct.failed) == ([], [])


def test_attempts_end_and_the_last_failure_is_the_letter() -> None:
    for ledger in (True, False):
        direct = Direct(job_of(raising(ConnectionError()), retry=direct_retry), ledger=ledger)
        direct.publish(body("a"))
        waits = direct.carry_on()
        assert waits == [seconds(15 + 15 * n) for n in range(1, 10)]
        assert sum(waits, timedelta(0)) == timedelta(minutes=13.5)
        (letter,) = direct.letters
        note = note_of(letter)
        assert (note["reason"], note["attempt"]) == ("attempts_exhausted", 10)


@pytest.mark.parametrize("wait", [seconds(0), seconds(0.2), seconds(1), timedelta(hours=11), timedelta(days=300)])
def test_a_wait_is_never_cut_short_however_small_or_large_it_is(wait: timedelta) -> None:
    direct = Direct(job_of(raising(Retry(wait))))
    direct.time += timedelta(milliseconds=700)
    direct.publish(body("a"))
    (trip,) = direct.trips
    assert wait <= direct.due(trip) <= wait + seconds(1)


@pytest.mark.parametrize("ledger", [True, False])
def test_being_put_off_uses_up_no_attempt_and_takes_some_seconds(ledger: bool) -> None:
    attempts: list[int] = []

    def act(args: Work, ctx: JobContext) -> None:
        attempts.append(ctx.attempt)
        if len(attempts) < 4:
            raise Defer(seconds(0), "busy")

    direct = Direct(job_of(act), ledger=ledger)
    direct.publish(body("a"))
    assert direct.carry_on() == [SHORTEST_DEFERRAL] * 3
    assert attempts == [1, 1, 1, 1]
    assert [decode(trip["body"]).put_off.times for trip in direct.trips] == [1, 2, 3]  # type: ignore[union-attr]


def test_a_second_copy_waits_for_the_first_one_and_is_a_duplicate_then(lines: Any) -> None:
    inner: list[None] = []
    direct: Direct

    def act(args: Work, ctx: JobContext) -> None:
        if not inner:
            inner.append(None)
            direct.publish(body("a"), "copy")  # while this one runs

    direct = Direct(job_of(act))
    direct.publish(body("a"), "first")
    (trip,) = direct.trips
    assert direct.due(trip) >= seconds(65)  # until the lease of the run ends
    direct.carry_on()
    assert [(line["message_id"], line["outcome"]) for line in lines()][:2] == [
        ("copy", "defer"),
        ("first", "succeeded"),
    ]
    assert len(direct.trips) == 1
    assert direct.letters == []


def test_a_run_that_lost_its_job_to_another_one_leaves_a_copy_behind(lines: Any) -> None:
    direct: Direct
    runs: list[None] = []

    def act(args: Work, ctx: JobContext) -> None:
        runs.append(None)
        if len(runs) == 1:
            direct.time += timedelta(minutes=5)  # its lease has ended, and another one takes over
            direct.publish(body("a"), "other")

    direct = Direct(job_of(act))
    direct.publish(body("a"), "first")
    assert [line["outcome"] for line in lines()] == ["succeeded", "lost"]
    direct.carry_on()
    assert [line["outcome"] for line in lines()] == ["duplicate"]
    assert len(runs) == 2


def test_each_attempt_and_each_deferral_is_a_trip_of_its_own_and_a_repeated_start_is_none() -> None:
    direct = Direct(job_of(raising(Defer(seconds(0)))))
    direct.publish(body("a"), "n-1")
    direct.publish(body("a"), "n-1")  # SNS and Lambda may both deliver twice
    assert len(direct.trips) == 1
    direct.time += seconds(10)
    direct.publish(direct.trips[0]["body"], "n-2")
    assert len(direct.trips) == 2
    assert direct.failed == []


# --- nothing is put off for ever --------------------------------------------------------------------------------------


def test_what_was_only_put_off_for_a_day_is_a_dead_letter() -> None:
    direct = Direct(job_of(raising(Defer(timedelta(hours=5), "busy"))))
    direct.publish(body("a", enqueued_at=at(NOW - timedelta(days=90))))  # how long it waited before counts for nothing
    assert direct.carry_on() == [timedelta(hours=5)] * 5
    (letter,) = direct.letters
    assert note_of(letter)["reason"] == "put_off_too_long (busy)"
    assert direct.time - NOW >= DEFER_AT_MOST
    assert "put_off" in letter["MessageBody"]
    (again,) = job_bodies(letter["MessageBody"])  # sent again by a human, it has all of its time
    assert json.loads(again) == {name: v for name, v in json.loads(letter["MessageBody"]).items() if name != "put_off"}


def test_an_attempt_begins_the_count_anew() -> None:
    runs: list[None] = []

    def act(args: Work, ctx: JobContext) -> None:
        runs.append(None)
        raise Defer(timedelta(hours=9)) if len(runs) % 3 else Retry()

    direct = Direct(job_of(act, retry=fixed(seconds(60), max_attempts=3)))
    direct.publish(body("a"))
    direct.carry_on()
    assert [note_of(letter)["reason"] for letter in direct.letters] == ["attempts_exhausted"]
    assert len(runs) == 9
    assert direct.time - NOW > 2 * DEFER_AT_MOST


def test_a_job_nobody_knows_waits_for_the_deploy_ever_longer_and_is_parked_then() -> None:
    direct = Direct(job_of(nothing), ledger=False)
    direct.publish(body("a", job="other"))
    waits = direct.carry_on()
    assert waits == [seconds(number) for number in (15, 30, 60, 120, 240, 300, 300)]
    assert sum(waits, timedelta(0)) >= UNKNOWN_GRACE
    (letter,) = direct.letters
    assert note_of(letter)["reason"] == "parked: unknown_job"


def test_a_job_for_later_goes_there_in_one_trip_and_that_is_no_putting_off() -> None:
    ran: list[None] = []
    direct = Direct(job_of(lambda args, ctx: ran.append(None)))
    later = NOW + timedelta(days=3)
    direct.publish(body("a", not_before=at(later)))
    assert direct.carry_on() == [timedelta(days=3)]
    assert direct.trips[0]["body"] == body("a", not_before=at(later))
    assert len(ran) == 1


# --- when it cannot be put anywhere -----------------------------------------------------------------------------------


def throttled() -> ClientError:
    return ClientError({"Error": {"Code": "AccessDeniedException", "Message": "SECRET"}}, "StartExecution")


@pytest.mark.parametrize(
    ("job", "api", "what"),
    [
        (job_of(raising(ConnectionError()), retry=SLOW), "start_execution", "delay not started: AccessDeniedException"),
        (job_of(raising(Defer(seconds(9)))), "start_execution", "delay not started: AccessDeniedException"),
        (job_of(raising(Permanent("gone"))), "send_message", "dead letter not sent"),
    ],
)
def test_the_invocation_fails_and_lambda_keeps_the_event(job: JobClass, api: str, what: str, lines: Any) -> None:
    direct = Direct(job)
    direct.aws.fail(api, throttled())
    event = {"Records": [notification(body("a"))]}
    with pytest.raises(UnsettledError, match=what) as caught:
        direct.handler(event, invocation())
    assert "1 of 1" in str(caught.value)
    assert "n-1" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    written = lines()
    assert "SECRET" not in str(written)
    assert written[0]["job_id"] == "job-a"  # the job has its line nevertheless
    assert written[-1]["message"] == "not settled"


def test_what_lambda_kept_runs_when_it_is_sent_again() -> None:
    runs: list[int] = []

    def act(args: Work, ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        if len(runs) == 1:
            raise ConnectionError

    direct = Direct(job_of(act, retry=SLOW))
    direct.aws.fail("start_execution", throttled())
    direct.publish(body("a"))
    (kept,) = direct.failed
    del direct.aws.answers["start_execution"]
    direct.time += timedelta(hours=1)
    (text,) = job_bodies(kept)
    direct.publish(text)
    assert runs == [1, 2]


def test_a_run_that_was_killed_counts_as_a_crash_when_its_job_is_sent_again(lines: Any) -> None:
    class Killed(BaseException):
        """Nothing of the runtime runs after it."""

    direct: Direct
    runs: list[int] = []

    def act(args: Work, ctx: JobContext) -> None:
        runs.append(ctx.attempt)

    direct = Direct(job_of(act))
    original = direct.app._direct_consumer[0]._run

    def killed(*arguments: Any) -> Any:
        raise Killed

    engine: Any = direct.app._direct_consumer[0]
    engine._run = killed
    with pytest.raises(Killed):
        direct.handler({"Records": [notification(body("a"))]}, invocation())
    assert (direct.trips, direct.letters) == ([], [])  # no code was left: Lambda has the event
    kept = record_of_failure({"Records": [notification(body("a"))]})
    engine._run = original
    lines()
    (text,) = job_bodies(kept)
    direct.publish(text)  # too early: its lease has not ended
    direct.carry_on()
    outcomes = lines()
    assert [line["outcome"] for line in outcomes] == ["defer", "succeeded"]
    assert outcomes[0]["reason"] == "in_progress"
    assert runs == [2]


def test_several_notifications_are_each_settled_and_the_event_fails_if_one_cannot_be(lines: Any) -> None:
    ran: list[str] = []

    def act(args: Work, ctx: JobContext) -> None:
        ran.append(args.label)
        if args.label == "dead":
            raise Permanent("gone")
        if args.label == "retry":
            raise ConnectionError

    direct = Direct(job_of(act, retry=SLOW))
    direct.aws.fail("send_message", ConnectionError())
    labels = ["good", "dead", "retry", "last"]
    direct.invoke(*(notification(body(label), f"n-{label}") for label in labels))
    assert ran == labels
    assert len(direct.trips) == 1
    (kept,) = direct.failed
    del direct.aws.answers["send_message"]
    direct.time += timedelta(hours=1)
    lines()
    for text in job_bodies(kept):
        direct.publish(text)
    assert [line["outcome"] for line in lines()] == ["duplicate", "dead", "retry", "duplicate"]
    assert direct.failed == [kept]


def test_a_defect_of_the_runtime_fails_the_invocation_and_harms_no_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime.engine import Engine

    original = Engine.handle

    def breaking(self: Engine, delivery: Any, budget: Any = None) -> Any:
        if delivery.message_id == "n-2":
            raise RuntimeError("SECRET")
        return original(self, delivery, budget)

    monkeypatch.setattr(Engine, "handle", breaking)
    ran: list[str] = []
    direct = Direct(job_of(lambda args, ctx: ran.append(args.label)))
    event = {"Records": [notification(body(label), f"n-{number}") for number, label in enumerate("abcd", 1)]}
    with pytest.raises(UnsettledError, match=r"1 of 4 .* n-2 \(RuntimeError\)"):
        direct.handler(event, invocation())
    assert ran == ["a", "c", "d"]


# --- what Lambda could not keep ---------------------------------------------------------------------------------------


def large(label: str = "a") -> str:
    return body(label, payload={"label": '"' * 130_000})  # each of them is an escape more in every layer


def test_a_job_that_no_record_could_hold_is_a_dead_letter_before_it_runs(lines: Any) -> None:
    ran: list[None] = []
    direct = Direct(job_of(lambda args, ctx: ran.append(None)))
    direct.publish(large())
    (letter,) = direct.letters
    assert letter["MessageBody"] == large()
    assert note_of(letter)["reason"] == "too_large_for_direct"
    assert [(line["outcome"], line["job_id"]) for line in lines()] == [("dead", "job-a")]
    assert ran == []


def test_a_large_job_that_fits_runs() -> None:
    ran: list[int] = []
    direct = Direct(job_of(lambda args, ctx: ran.append(len(args.label))))
    direct.publish(body("a", payload={"label": "x" * 200_000}))
    assert ran == [200_000]


def test_a_large_job_that_could_not_be_made_small_is_a_dead_letter(
    claims: ClaimStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = Direct(job_of(nothing))
    vars(direct.app)["claims"] = claims
    monkeypatch.setattr(ClaimStore, "store", raising_any(ConnectionError()))
    direct.publish(large())
    (letter,) = direct.letters
    assert (letter["MessageBody"], note_of(letter)["reason"]) == (large(), "too_large_for_direct")
    assert direct.failed == []


def raising_any(error: Exception) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        raise error

    return call


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClaimStore]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket="claims")
        yield ClaimStore("claims", "claims/", lambda: s3)


def test_with_a_claim_check_it_goes_round_once_and_comes_back_small(claims: ClaimStore) -> None:
    ran: list[int] = []
    direct = Direct(job_of(lambda args, ctx: ran.append(len(args.label))))
    vars(direct.app)["claims"] = claims
    direct.publish(large())
    assert direct.carry_on() == [SHORTEST_DEFERRAL]
    (trip,) = direct.trips
    assert len(trip["body"]) < 2000 < MAX_INPUT_BYTES
    assert ran == [130_000]
    assert (direct.letters, direct.failed) == ([], [])


# --- what lies in the dead-letter queue -------------------------------------------------------------------------------


def test_the_jobs_of_a_record_of_lambda_are_found_byte_for_byte() -> None:
    texts = [body("a"), '{"id": "1",  "job": "probe", "payload": {"text": "Z\\u00fcrich \\ud83d\\ude00"}}', "no job"]
    event = {"Records": [notification(text, f"n-{number}") for number, text in enumerate(texts)]}
    assert job_bodies(record_of_failure(event)) == texts
    assert job_bodies(record_of_failure(event, "UnsettledError")) == texts


def test_a_letter_is_its_own_body() -> None:
    for text in (body("a"), "hello", "[" * 100_000, '{"requestContext": 1}', body("a", requestContext={}), large()):
        assert job_bodies(text) == [text]


def test_a_notification_that_sns_could_not_deliver_holds_its_job() -> None:
    assert job_bodies(json.dumps(notification(body("a"))["Sns"])) == [body("a")]


def test_a_record_without_its_event_and_a_foreign_event_hold_none() -> None:
    content = json.loads(record_of_failure({"Records": [notification(body("a"))]}))
    del content["requestPayload"]
    assert job_bodies(json.dumps(content)) == []
    assert job_bodies(record_of_failure({"detail-type": "Scheduled Event"})) == []
