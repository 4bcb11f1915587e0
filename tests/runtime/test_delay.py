"""Delays: what is planned, what is refused, and how the delay machine is started."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws
from pydantic_core import from_json, to_json
from runtime.claims import ClaimStore
from runtime.delay import (
    MAX_AHEAD,
    MAX_QUEUE_DELAY,
    DelayRefusedError,
    DelaySeconds,
    Machine,
    NotBefore,
    Now,
    check_payload_lasts,
    plan,
    timestamp,
)
from runtime.delay_machine import (
    MAX_INPUT_BYTES,
    Delayed,
    Started,
    delayed,
    execution_name,
    rescheduled,
    start_delays,
)
from runtime.delivery import Delivery
from runtime.envelope import Envelope, decode, encode

NOW = datetime(2026, 10, 1, 12, 0, 0, 250_000, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:shop-email-delay"
LEGAL_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")


def body(job_id: str = "j-1", payload: dict[str, Any] | None = None, **header: Any) -> str:
    return encode(Envelope(id=job_id, job="mail.send", payload={"to": "a"} if payload is None else payload, **header))


def trip(job_id: str = "j-1", text: str | None = None, **options: Any) -> Delayed:
    settings: dict[str, Any] = {"at": NOW + timedelta(hours=1), "workload": "email", "group": None, **options}
    return delayed(MACHINE, body=body(job_id) if text is None else text, **settings)


# ---- the plan ----------------------------------------------------------------------------------------------------


def test_no_delay_and_a_past_time_mean_now() -> None:
    assert plan(now=NOW) == Now()
    assert plan(now=NOW, delay=timedelta(0)) == Now()
    assert plan(now=NOW, at=NOW) == Now()
    assert plan(now=NOW, at=NOW - timedelta(days=4000)) == Now()


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (timedelta(microseconds=1), 1),
        (timedelta(seconds=0.2), 1),
        (timedelta(seconds=899, microseconds=1), 900),
        (timedelta(seconds=900), 900),
    ],
)
def test_a_short_delay_is_kept_by_the_queue_rounded_up(delay: timedelta, seconds: int) -> None:
    assert plan(now=NOW, delay=delay) == DelaySeconds(seconds)
    assert plan(now=NOW, at=NOW + delay) == DelaySeconds(seconds)


@pytest.mark.parametrize("where", [{"fifo": True}, {"queue_known": False}])
def test_where_no_queue_can_keep_it_the_consumer_does(where: dict[str, Any]) -> None:
    assert plan(now=NOW, delay=timedelta(seconds=900), **where) == NotBefore(NOW + timedelta(seconds=900))


@pytest.mark.parametrize("where", [{}, {"fifo": True}, {"queue_known": False}])
def test_a_long_delay_goes_through_the_machine_in_whole_seconds_rounded_up(where: dict[str, Any]) -> None:
    planned = plan(now=NOW, delay=timedelta(minutes=20), machine_known=True, **where)
    assert planned == Machine(datetime(2026, 10, 1, 12, 20, 1, tzinfo=UTC))


def test_without_a_queue_the_machine_keeps_short_delays_too() -> None:
    planned = plan(now=NOW, delay=timedelta(seconds=3), queue_known=False, machine_known=True)
    assert planned == Machine(datetime(2026, 10, 1, 12, 0, 4, tzinfo=UTC))


@pytest.mark.parametrize("delay", [timedelta(seconds=900, microseconds=1), timedelta(days=2)])
def test_a_long_delay_without_a_machine_is_refused(delay: timedelta) -> None:
    with pytest.raises(DelayRefusedError, match=r"SQS keeps a message back for at most 0:15:00.*in Terraform"):
        plan(now=NOW, delay=delay)


@pytest.mark.parametrize("at", [datetime(2200, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_more_than_a_year_ahead_is_refused(at: datetime) -> None:
    with pytest.raises(DelayRefusedError, match=r"364 days ahead.*at most a year"):
        plan(now=NOW, at=at, machine_known=True)


def test_an_endless_delay_is_refused_not_overflowed() -> None:
    with pytest.raises(DelayRefusedError, match="364 days"):
        plan(now=NOW, delay=timedelta.max, machine_known=True)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 1, 1, 30), r"'2026-11-01T01:30:00' has no time zone.*tzinfo=UTC"),
        (date(2026, 11, 1), r"date\(2026, 11, 1\) is no datetime"),
        ("2026-11-01T01:30:00Z", "is no datetime"),
        (1_800_000_000, "is no datetime"),
        (datetime(2027, 3, 14, 2, 30, tzinfo=NEW_YORK), r"never exists in America/New_York.*to 2027-03-14T03:30"),
        (datetime(2027, 3, 14, 2, 30, fold=1, tzinfo=NEW_YORK), "never exists"),
        (datetime(2027, 3, 28, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), "never exists"),
    ],
)
def test_what_names_no_moment_is_refused(at: Any, text: str) -> None:
    with pytest.raises(DelayRefusedError, match=text):
        plan(now=NOW, at=at, machine_known=True)


@pytest.mark.parametrize(
    ("delay", "text"),
    [
        (timedelta(seconds=-1), "is negative"),
        (timedelta(microseconds=-1), "is negative"),
        (60, "60 is no timedelta"),
        (True, "True is no timedelta"),
    ],
)
def test_what_is_no_delay_is_refused(delay: Any, text: str) -> None:
    with pytest.raises(DelayRefusedError, match=text):
        plan(now=NOW, delay=delay, machine_known=True)


def test_a_delay_and_a_time_together_are_refused() -> None:
    with pytest.raises(DelayRefusedError, match="give one of them"):
        plan(now=NOW, delay=timedelta(seconds=1), at=NOW)


@pytest.mark.parametrize(("fold", "hour"), [(0, 5), (1, 6)])
def test_a_time_that_comes_twice_is_told_apart_by_its_fold(fold: int, hour: int) -> None:
    at = datetime(2026, 11, 1, 1, 30, fold=fold, tzinfo=NEW_YORK)
    assert plan(now=NOW, at=at, machine_known=True) == Machine(datetime(2026, 11, 1, hour, 30, tzinfo=UTC))


def test_a_wait_across_a_clock_change_is_counted_in_real_time() -> None:
    """Two datetimes of one zone subtract as wall clocks: an hour would be missing."""
    before = datetime(2027, 3, 14, 1, 59, 50, tzinfo=NEW_YORK)
    assert plan(now=before, at=datetime(2027, 3, 14, 3, 0, 10, tzinfo=NEW_YORK)) == DelaySeconds(20)


@pytest.mark.parametrize("delay", [timedelta(minutes=10), timedelta(minutes=9, seconds=59.5)])
def test_a_delay_that_outlasts_the_ttl_is_refused(delay: timedelta) -> None:
    """The second one only because it is rounded up."""
    with pytest.raises(DelayRefusedError, match=r"ttl of 0:10:00.*could never run"):
        plan(now=NOW, delay=delay, ttl=timedelta(minutes=10))


def test_a_delay_within_the_ttl_is_planned() -> None:
    assert plan(now=NOW, delay=timedelta(minutes=9), ttl=timedelta(minutes=10)) == DelaySeconds(540)


def test_a_payload_in_s3_must_outlast_the_delay() -> None:
    check_payload_lasts(timedelta(days=30), None)
    check_payload_lasts(timedelta(days=30), timedelta(days=30))
    with pytest.raises(DelayRefusedError, match=r"claim-check bucket.*30 days.*Raise its expiration"):
        check_payload_lasts(timedelta(days=31), timedelta(days=30))


class Broken(tzinfo):
    """A zone that answers with nothing."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return None

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str:
        return "nowhere"


def test_a_zone_without_an_offset_is_no_zone() -> None:
    with pytest.raises(DelayRefusedError, match="has no time zone"):
        plan(now=NOW, at=datetime(2026, 11, 1, tzinfo=Broken()))


def test_a_time_outside_the_calendar_is_refused() -> None:
    with pytest.raises(DelayRefusedError, match="outside the calendar"):
        plan(now=NOW, at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))


ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]


def start_of(planned: Now | DelaySeconds | NotBefore | Machine, now: datetime) -> datetime:
    match planned:
        case Now():
            return now
        case DelaySeconds(seconds=seconds):
            assert 1 <= seconds <= 900
            return now + timedelta(seconds=seconds)
        case NotBefore(at=at) | Machine(at=at):
            return at


@given(
    now=st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC)),
    wait=st.timedeltas(timedelta(0), MAX_AHEAD) | st.timedeltas(timedelta(0), timedelta(seconds=901)),
    zone=st.sampled_from(ZONES),
    as_time=st.booleans(),
    fifo=st.booleans(),
    queue_known=st.booleans(),
    machine_known=st.booleans(),
    ttl=st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=400)),
)
def test_nothing_is_early_and_nothing_is_cut_short(
    now: datetime,
    wait: timedelta,
    zone: str,
    as_time: bool,
    fifo: bool,
    queue_known: bool,
    machine_known: bool,
    ttl: timedelta | None,
) -> None:
    due = now + wait
    asked: dict[str, Any] = {"at": due.astimezone(ZoneInfo(zone))} if as_time else {"delay": wait}
    try:
        planned = plan(now=now, ttl=ttl, fifo=fifo, queue_known=queue_known, machine_known=machine_known, **asked)
    except DelayRefusedError:
        too_long = wait > MAX_QUEUE_DELAY and not machine_known
        assert too_long or (ttl is not None and wait + timedelta(seconds=1) > ttl)
        return
    start = start_of(planned, now)
    assert due <= start < due + timedelta(seconds=1)
    assert ttl is None or start < now + ttl
    if isinstance(planned, DelaySeconds):
        assert not fifo
        assert queue_known
    if isinstance(planned, Machine):
        assert machine_known
        # What the Wait state reads is the same moment, to the second that it looks at.
        assert datetime.strptime(timestamp(planned.at), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) == planned.at


@given(st.datetimes(timezones=st.sampled_from(ZONES).map(ZoneInfo), allow_imaginary=True))
def test_a_local_time_is_refused_exactly_if_no_clock_shows_it(at: datetime) -> None:
    try:
        exists = at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) == at.replace(tzinfo=None)
    except OverflowError:
        exists = False
    try:
        plan(now=datetime(2200, 1, 1, tzinfo=UTC), at=at, machine_known=True)
        refused = ""
    except DelayRefusedError as error:
        refused = str(error)
    assert ("never exists" in refused or "outside the calendar" in refused) == (not exists)


def test_timestamps_are_utc_with_an_upper_case_t_and_z_and_never_early() -> None:
    """Step Functions cuts off milliseconds; `isoformat()` of a naive datetime has no zone at all."""
    assert timestamp(datetime(2027, 1, 4, 8, 0, 0, 1, tzinfo=UTC)) == "2027-01-04T08:00:01Z"
    assert timestamp(datetime(2027, 1, 4, 8, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))) == (
        "2027-01-04T02:30:00Z"
    )
    assert timestamp(datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == "2027-01-01T00:00:00Z"


# ---- one trip ----------------------------------------------------------------------------------------------------

LONG = "invoice:2026-11-01T01:30:00+01:00:" + "x" * 46 + ":"
IDS = [LONG + "a", LONG + "b", "a/b#c%d e", "請求書-七", "a", "a\n0"]


def test_names_of_executions_are_legal_unique_and_stable() -> None:
    assert LONG[:80] == (LONG + "a")[:80]
    names = [execution_name(job_id) for job_id in IDS]
    assert len(set(names)) == len(IDS)
    assert all(LEGAL_NAME.fullmatch(name) for name in names)
    assert names == [execution_name(job_id) for job_id in IDS]


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=128), st.integers(0, 9), st.integers(0, 9), st.text(max_size=36)),
        unique=True,
        max_size=20,
    )
)
def test_every_trip_has_a_name_of_its_own(trips: list[tuple[str, int, int, str]]) -> None:
    names = [execution_name(*one) for one in trips]
    assert len(set(names)) == len(trips)
    assert all(LEGAL_NAME.fullmatch(name) for name in names)


def test_the_input_holds_what_the_definition_reads() -> None:
    text = body(tenant="acme")
    one = trip(text=text, group="acme")
    content = from_json(one.input)
    assert content["at"] == "2026-10-01T13:00:01Z"
    assert content["body"] == text
    assert (content["workload"], content["job"], content["group"]) == ("email", "mail.send", "acme")
    assert content["dedup"] == one.name
    assert content["id"] == "j-1"
    assert not set(content) & {"queue_url", "QueueUrl", "arn"}
    assert one.input.isascii()
    assert one.execution_arn == (
        f"arn:aws:states:eu-west-1:123456789012:execution:shop-email-delay:{execution_name('j-1')}"
    )


@pytest.mark.parametrize("group", [None, "", "東京", "two words", "x" * 129])
def test_the_group_is_always_one_that_sqs_takes(group: str | None) -> None:
    found = from_json(trip(group=group).input)["group"]
    assert re.fullmatch(r"[!-~]{1,128}", found)


def test_a_body_that_grows_beyond_the_input_limit_does_not_fit() -> None:
    """JSON within JSON: every quote is escaped again, so 140,000 bytes become 280,000."""
    one = trip(text=body(payload={"text": '"' * 70_000}))
    assert len(body(payload={"text": '"' * 70_000})) < MAX_INPUT_BYTES
    assert not one.fits


# ---- starting ----------------------------------------------------------------------------------------------------


@pytest.fixture
def stubbed() -> Iterator[tuple[Any, Stubber]]:
    client = boto3.client("stepfunctions", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as stubber:
        yield client, stubber
        stubber.assert_no_pending_responses()


def expects_start(stubber: Stubber, one: Delayed) -> None:
    stubber.add_response(
        "start_execution",
        {"executionArn": one.execution_arn, "startDate": NOW},
        {"stateMachineArn": MACHINE, "name": one.name, "input": one.input},
    )


def expects_existing(stubber: Stubber, status: str, text: str) -> None:
    stubber.add_client_error("start_execution", "ExecutionAlreadyExists", http_status_code=400)
    stubber.add_response(
        "describe_execution",
        {
            "executionArn": "arn:aws:states:x",
            "stateMachineArn": MACHINE,
            "status": status,
            "startDate": NOW,
            "input": text,
        },
    )


def start(client: Any, *trips: Delayed) -> tuple[list[Started], list[float]]:
    slept: list[float] = []
    return start_delays(client, trips, sleep=slept.append, random=Random(1)), slept


def test_each_job_is_started_by_a_call_of_its_own(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    trips = [trip(f"j-{n}") for n in range(3)]
    for one in trips:
        expects_start(stubber, one)
    assert start(client, *trips) == ([Started(True)] * 3, [])


def test_no_job_no_call(stubbed: tuple[Any, Stubber]) -> None:
    assert start(stubbed[0]) == ([], [])


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED"])
def test_the_same_job_again_is_no_second_one(stubbed: tuple[Any, Stubber], status: str) -> None:
    """While it waits and after it was delivered; the times in the two inputs differ."""
    first = trip(text=body(enqueued_at=NOW))
    again = trip(text=body(enqueued_at=NOW + timedelta(seconds=5)), at=NOW + timedelta(hours=1, seconds=5))
    assert (first.name, first.input) != (again.name, again.input)
    assert first.name == again.name
    expects_existing(stubbed[1], status, first.input)
    assert start(stubbed[0], again)[0] == [Started(True)]


@pytest.mark.parametrize(
    "other",
    [
        body(payload={"to": "b"}),
        body(key="7"),
        body(v=2),
        body(tenant="t"),
        encode(Envelope(id="j-1", job="mail.bounce", payload={"to": "a"})),
    ],
)
def test_another_job_under_the_same_id_is_a_conflict(stubbed: tuple[Any, Stubber], other: str) -> None:
    one = trip(text=other)
    assert one.name == trip().name
    expects_existing(stubbed[1], "RUNNING", trip().input)
    [result], _ = start(stubbed[0], one)
    assert (result.ok, result.error_code) == (False, "JobIdConflict")
    assert "'j-1'" in result.error


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_a_delay_that_failed_is_not_taken_for_a_delivery(stubbed: tuple[Any, Stubber], status: str) -> None:
    expects_existing(stubbed[1], status, trip().input)
    [result], _ = start(stubbed[0], trip())
    assert (result.ok, result.error_code) == (False, "DelayFailed")
    assert status in result.error
    assert trip().execution_arn in result.error


def test_an_existing_execution_that_cannot_be_looked_at_is_a_failure(stubbed: tuple[Any, Stubber]) -> None:
    stubbed[1].add_client_error("start_execution", "ExecutionAlreadyExists", http_status_code=400)
    stubbed[1].add_client_error("describe_execution", "AccessDeniedException", http_status_code=400)
    [result], slept = start(stubbed[0], trip())
    assert (result.ok, result.error_code, slept) == (False, "ExecutionAlreadyExists", [])
    assert "AccessDeniedException" in result.error


def test_a_foreign_execution_of_the_same_name_is_a_failure(stubbed: tuple[Any, Stubber]) -> None:
    expects_existing(stubbed[1], "RUNNING", "{}")
    assert start(stubbed[0], trip())[0][0].error_code == "ExecutionAlreadyExists"


def test_a_throttled_start_is_repeated_and_the_others_are_not(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    trips = [trip("a"), trip("b"), trip("c")]
    expects_start(stubber, trips[0])
    stubber.add_client_error("start_execution", "ThrottlingException", http_status_code=400)
    expects_start(stubber, trips[2])
    expects_start(stubber, trips[1])
    results, slept = start(client, *trips)
    assert results == [Started(True)] * 3
    assert len(slept) == 1


def test_a_start_that_stays_throttled_is_an_exact_failure(stubbed: tuple[Any, Stubber]) -> None:
    for _ in range(4):
        stubbed[1].add_client_error("start_execution", "ThrottlingException", "Rate exceeded", 400)
    [result], slept = start(stubbed[0], trip())
    assert (result.ok, result.error_code) == (False, "ThrottlingException")
    assert "Rate exceeded" in result.error
    assert len(slept) == 3


@pytest.mark.parametrize("code", ["StateMachineDoesNotExist", "AccessDeniedException", "ExecutionLimitExceeded"])
def test_what_will_not_pass_is_not_repeated_and_fails_no_neighbour(stubbed: tuple[Any, Stubber], code: str) -> None:
    client, stubber = stubbed
    stubber.add_client_error("start_execution", code, http_status_code=400)
    expects_start(stubber, trip("b"))
    results, slept = start(client, trip("a"), trip("b"))
    assert [(r.ok, r.error_code) for r in results] == [(False, code), (True, "")]
    assert slept == []


class Unreachable:
    """A client whose answers are lost twice."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def start_execution(self, **request: Any) -> None:
        self.names.append(request["name"])
        if len(self.names) < 3:
            raise EndpointConnectionError(endpoint_url="http://localhost")


def test_a_lost_answer_is_asked_for_again_under_the_same_name() -> None:
    client = Unreachable()
    assert start(client, trip())[0] == [Started(True)]
    assert client.names == [trip().name] * 3


def test_an_input_that_is_too_large_is_not_sent(stubbed: tuple[Any, Stubber]) -> None:
    [result], _ = start(stubbed[0], trip(text=body(payload={"text": "x" * MAX_INPUT_BYTES})))
    assert (result.ok, result.error_code) == (False, "InputTooLarge")


def test_a_repeated_and_a_conflicting_start_against_a_real_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    with mock_aws():
        role = boto3.client("iam", region_name="eu-west-1").create_role(
            RoleName="delay", AssumeRolePolicyDocument="{}", Path="/"
        )["Role"]["Arn"]
        client = boto3.client("stepfunctions", region_name="eu-west-1")
        definition = to_json({"StartAt": "Wait", "States": {"Wait": {"Type": "Pass", "End": True}}}).decode()
        arn = client.create_state_machine(name="shop-email-delay", definition=definition, roleArn=role)[
            "stateMachineArn"
        ]
        first = delayed(arn, at=NOW, body=body(), workload="email", group=None)
        later = delayed(arn, at=NOW + timedelta(hours=1), body=body(), workload="email", group=None)
        other = delayed(arn, at=NOW, body=body(payload={"to": "b"}), workload="email", group=None)
        results, _ = start(client, first, first, later, other)
        assert [(r.ok, r.error_code) for r in results] == [(True, ""), (True, ""), (True, ""), (False, "JobIdConflict")]
        assert len(client.list_executions(stateMachineArn=arn)["executions"]) == 1


# ---- putting a received job back -----------------------------------------------------------------------------------


def again(text: str, message_id: str = "m-1", **options: Any) -> Delayed:
    delivery = Delivery(text, message_id, group="g")
    return rescheduled(MACHINE, delivery, at=NOW + timedelta(days=1), workload="email", **options)


def test_a_job_that_is_put_back_travels_byte_for_byte() -> None:
    text = '{"id": "j-1",  "job": "mail.send", "future": 1, "payload": {"n": 1.50}}'
    one = again(text)
    assert from_json(one.input)["body"] == text
    assert from_json(one.input)["group"] == "g"


def test_attempts_are_kept_without_losing_what_a_newer_producer_wrote() -> None:
    one = again('{"id": "j-1", "job": "mail.send", "future": 1, "payload": {"n": 1.5}}', attempts_before=3)
    sent = from_json(one.input)["body"]
    assert decode(sent).attempts_before == 3
    assert from_json(sent)["future"] == 1
    assert decode(sent).payload == {"n": 1.5}


def test_every_trip_of_a_job_has_a_name_of_its_own_and_a_repeated_one_has_not() -> None:
    """A defer uses up no attempt: only the message tells the second trip from the first."""
    published = trip().name
    first, second = again(body(), "m-1").name, again(body(), "m-2").name
    assert len({published, first, second}) == 3
    assert again(body(), "m-1").name == first


def test_a_wrapped_message_is_unwrapped_before_it_travels_on() -> None:
    wrapped = to_json({"Type": "Notification", "Message": body()}).decode()
    assert from_json(again(wrapped).input)["body"] == body()


def test_a_job_that_is_too_large_for_the_machine_leaves_its_payload_behind() -> None:
    text = body(payload={"text": '"' * 70_000})
    with pytest.raises(DelayRefusedError, match="no claim check"):
        again(text)
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        s3.create_bucket(Bucket="claims")
        store = ClaimStore("claims", "claims/", lambda: s3)
        one = again(text, claims=store)
        assert one.fits
        sent = decode(from_json(one.input)["body"])
        assert sent.payload == {}
        assert store.fetch(sent).payload == {"text": '"' * 70_000}


def test_errors_keep_their_code() -> None:
    error = ClientError({"Error": {"Code": "InvalidName", "Message": "no"}}, "StartExecution")

    class Refusing:
        def start_execution(self, **request: Any) -> None:
            raise error

    [result], _ = start(Refusing(), trip())
    assert result.error_code == "InvalidName"
