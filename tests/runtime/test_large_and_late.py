"""Claim check and delays through the whole way: publisher, engine, ledger."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import boto3
import pytest
from moto import mock_aws
from pydantic import BaseModel
from pydantic_core import from_json
from runtime.claims import ClaimStore
from runtime.config import Config, ConfigurationError
from runtime.delay import timestamp
from runtime.delivery import Delivery
from runtime.effects import FollowUp
from runtime.engine import Engine, Report
from runtime.envelope import decode
from runtime.job import Job
from runtime.ledger import JobLedger
from runtime.observability import Instruments
from runtime.outcome import MAX_RETRY_WAIT, MAX_WAIT, Kind, Outcome
from runtime.policy import fixed
from runtime.publisher import HEADROOM_BYTES, Message, Publisher, PublishError
from runtime.settlement import Settlement
from runtime.table import MemoryTable
from runtime.unique import AlreadyQueuedError, publish_unique

from .helpers import delivery, engine, job_of, raising

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
BUCKET = "shop-claims"
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:shop-mail-delay"
QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/shop-mail"


class Args(BaseModel):
    text: str = ""
    number: int = 0


RUNS: list[Args] = []


class Send(Job[Args, None]):
    name = "mail.send"
    workload = "mail"
    key = "number"
    retry = fixed(timedelta(seconds=30), max_attempts=2)

    def run(self, args: Args, ctx: Any) -> None:
        RUNS.append(args)


class Ordered(Send):
    name = "mail.ordered"
    group = staticmethod(lambda args: "g")


class Jobs:
    """The part of the registry that the engine uses."""

    code_version = "1"

    def find(self, name: str) -> Any:
        return {"mail.send": Send, "mail.ordered": Ordered}.get(name)


class Clients:
    """S3 is moto's; what SNS, SQS and Step Functions are asked is kept."""

    def __init__(self, s3: Any) -> None:
        self.s3 = s3
        self.bodies: list[str] = []
        self.delays: list[int] = []
        self.started: list[dict[str, Any]] = []
        self.denied = False

    def __call__(self, service: str) -> Any:
        return self.s3 if service == "s3" else self

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        return self._send(PublishBatchRequestEntries, "Message")

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.delays += [entry["DelaySeconds"] for entry in Entries]
        return self._send(Entries, "MessageBody")

    def start_execution(self, **request: Any) -> dict[str, Any]:
        self.started.append(request)
        return {}

    def _send(self, entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
        if self.denied:
            return {"Failed": [{"Id": e["Id"], "Code": "AuthorizationError", "SenderFault": True} for e in entries]}
        self.bodies += [entry[name] for entry in entries]
        return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


@pytest.fixture
def clients() -> Iterator[Clients]:
    RUNS.clear()
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        s3.create_bucket(Bucket=BUCKET)
        yield Clients(s3)


def config(**changes: Any) -> Config:
    fields = {
        "service": "shop",
        "topic_arn": "arn:t",
        "fifo_topic_arn": "arn:t.fifo",
        "queue_urls": {"mail": QUEUE},
        "claim_bucket": BUCKET,
        "delay_machines": {"mail": MACHINE},
        **changes,
    }
    return Config(**fields)


def publisher(clients: Clients, **changes: Any) -> Publisher:
    return Publisher(config(**changes), "mail", clients, lambda: NOW)


def objects(clients: Clients) -> list[str]:
    return [entry["Key"] for entry in clients.s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


LARGE = Args(text="x" * 300_000)


class Consumer:
    """One consuming application with its own ledger."""

    def __init__(self, clients: Clients, *, claims: bool = True) -> None:
        self.table = MemoryTable()
        self.now = NOW
        self.engine = Engine(
            Jobs(),  # type: ignore[arg-type]
            prepare=publisher(clients).prepare,
            publish=publisher(clients).publish,
            publish_all=publisher(clients).publish_all,
            instruments=Instruments("shop"),
            ledger=JobLedger("shop", self.table, lambda: self.now),
            claims=ClaimStore(BUCKET, "", lambda: clients.s3) if claims else None,
            now=lambda: self.now,
        )

    def take(self, body: str, message_id: str = "m-1", receive_count: int = 1) -> Report:
        return self.engine.handle(Delivery(body, message_id, receive_count))


# ---- large -----------------------------------------------------------------------------------------------------


def test_a_large_job_is_published_beside_its_message_and_runs(clients: Clients) -> None:
    published = publisher(clients).enqueue(Send, LARGE)
    assert published.ok
    [body] = clients.bodies
    assert len(body) < 1000
    assert len(objects(clients)) == 1
    assert Consumer(clients).take(body).outcome.kind is Kind.SUCCEEDED
    assert RUNS == [LARGE]


def test_the_limit_is_exact_and_counts_attributes(clients: Clients) -> None:
    """One byte more and it travels by claim check."""
    limit = 262_144 - HEADROOM_BYTES
    empty = publisher(clients).message(Send, Args(), job_id="j").size
    for extra, uploads in ((0, False), (1, True)):
        message = publisher(clients).message(Send, Args(text="x" * (limit - empty + extra)), job_id="j")
        assert bool(message.upload) is uploads


def test_the_limit_is_that_of_the_real_path(clients: Clients) -> None:
    assert publisher(clients, max_message_bytes=1_048_576).message(Send, LARGE).upload == ""


def test_without_a_bucket_a_large_job_is_refused_with_both_remedies(clients: Clients) -> None:
    with pytest.raises(PublishError, match=r"the limit is 253952.*pass a reference.*claim_check"):
        publisher(clients, claim_bucket="").message(Send, LARGE)


def test_many_large_jobs_have_an_exact_result_each(clients: Clients) -> None:
    put = clients.s3.put_object

    def flaky(**request: Any) -> Any:
        if b'"number":1}' in request["Body"]:
            raise ConnectionResetError("cut")
        return put(**request)

    clients.s3.put_object = flaky
    jobs = [Args(text=LARGE.text, number=n) for n in range(3)] + [Args(number=3)]
    results = publisher(clients).enqueue_many(Send, jobs)
    assert [r.ok for r in results] == [True, False, True, True]
    assert results[1].error_code == "ConnectionResetError"
    assert [decode(body).key for body in clients.bodies] == ["0", "2", "3"]


def test_a_failed_upload_sends_nothing(clients: Clients) -> None:
    with pytest.raises(PublishError, match="NoSuchBucket"):
        publisher(clients, claim_bucket="other").enqueue(Send, LARGE)
    assert clients.bodies == []


def test_a_failed_send_leaves_an_orphan_only(clients: Clients) -> None:
    clients.denied = True
    with pytest.raises(PublishError, match="AuthorizationError"):
        publisher(clients).enqueue(Send, LARGE)
    assert len(objects(clients)) == 1
    assert clients.bodies == []


def test_a_follow_up_job_in_an_outbox_is_small(clients: Clients) -> None:
    """Its payload is stored before the commit: an item of the ledger has room for 400 KB."""
    message = FollowUp(publisher(clients).prepare(Send, LARGE)).message
    text = message.to_json()
    assert len(text) < 2000
    assert publisher(clients).publish(Message.from_json(text)).ok
    assert Consumer(clients).take(clients.bodies[0]).outcome.kind is Kind.SUCCEEDED


def test_a_redelivery_and_a_second_queue_find_the_payload(clients: Clients) -> None:
    publisher(clients).enqueue(Send, LARGE)
    [body] = clients.bodies
    first, second = Consumer(clients), Consumer(clients)
    kinds = [consumer.take(body, message).outcome.kind for consumer in (first, second) for message in ("m-1", "m-1")]
    assert kinds == [Kind.SUCCEEDED, Kind.DUPLICATE, Kind.SUCCEEDED, Kind.DUPLICATE]


def test_a_job_whose_payload_is_gone_is_dead_with_its_pointer(clients: Clients) -> None:
    publisher(clients).enqueue(Send, LARGE)
    [body] = clients.bodies
    clients.s3.delete_object(Bucket=BUCKET, Key=objects(clients)[0])
    report = Consumer(clients).take(body)
    assert (report.outcome.kind, report.outcome.reason) == (Kind.DEAD, "claim_gone")
    assert report.delivery.body == body
    assert RUNS == []


def test_a_consumer_without_the_bucket_tries_again_then_says_so(clients: Clients) -> None:
    publisher(clients).enqueue(Send, LARGE)
    [body] = clients.bodies
    consumer = Consumer(clients, claims=False)
    first, second = consumer.take(body, receive_count=1).outcome, consumer.take(body, receive_count=2).outcome
    assert (first.kind, first.delay, first.reason) == (Kind.RETRY, timedelta(seconds=30), "claim_unconfigured")
    assert (second.kind, second.reason) == (Kind.DEAD, "claim_unconfigured")


def test_an_expired_job_needs_no_payload(clients: Clients) -> None:
    """Nor may its record take it for another job, because nobody read its payload."""
    publisher(clients).enqueue(Send, LARGE, ttl=timedelta(minutes=1))
    [body] = clients.bodies
    consumer = Consumer(clients)
    consumer.table.items.clear()
    clients.s3.delete_object(Bucket=BUCKET, Key=objects(clients)[0])
    consumer.now = NOW + timedelta(hours=1)
    assert consumer.take(body).outcome.reason == "expired"


def test_a_unique_large_job_is_the_job_that_the_consumer_sees(clients: Clients) -> None:
    consumer = Consumer(clients)
    assert isinstance(consumer.engine.ledger, JobLedger)
    message = publisher(clients).message(Send, LARGE)
    assert publish_unique(consumer.engine.ledger, publisher(clients), message, join=False).ok
    assert consumer.take(clients.bodies[0]).outcome.kind is Kind.SUCCEEDED


# ---- late ------------------------------------------------------------------------------------------------------


def test_a_long_delay_starts_the_machine_and_nothing_else(clients: Clients) -> None:
    published = publisher(clients).enqueue(Send, Args(), delay=timedelta(minutes=20), tenant="acme")
    assert published.ok
    assert clients.bodies == []
    [request] = clients.started
    content = from_json(request["input"])
    assert request["stateMachineArn"] == MACHINE
    assert re.fullmatch(r"[0-9a-f]{64}", request["name"])
    assert (content["at"], content["group"], content["workload"]) == ("2026-10-01T12:20:00Z", "acme", "mail")
    envelope = decode(content["body"])
    assert (envelope.id, timestamp(envelope.due_at or NOW)) == (published.id, content["at"])
    assert Consumer(clients).take(content["body"]).outcome.kind is Kind.SUCCEEDED


def test_a_machine_is_needed_only_for_long_delays_and_needs_no_topic(clients: Clients) -> None:
    assert publisher(clients, topic_arn="").enqueue(Send, Args(), delay=timedelta(hours=1)).ok
    assert publisher(clients, topic_arn="").enqueue(Send, Args(), delay=timedelta(minutes=15)).ok
    assert clients.delays == [900]
    with pytest.raises(ConfigurationError, match="JOBS_TOPIC_ARN"):
        publisher(clients, topic_arn="").enqueue(Send, Args())


def test_a_fifo_job_keeps_its_group_through_the_machine(clients: Clients) -> None:
    publisher(clients).enqueue(Ordered, Args(), delay=timedelta(hours=1))
    content = from_json(clients.started[0]["input"])
    assert content["group"] == "g"
    assert content["dedup"] == clients.started[0]["name"]


def test_a_short_fifo_delay_waits_at_the_consumer(clients: Clients) -> None:
    publisher(clients).enqueue(Ordered, Args(), delay=timedelta(minutes=10))
    assert clients.started == []
    assert decode(clients.bodies[0]).not_before == NOW + timedelta(minutes=10)


def test_a_large_late_job_goes_by_claim_check_first(clients: Clients) -> None:
    """So does one that only grows too large because the machine's input is JSON within JSON."""
    for text in ("x" * 300_000, '"' * 100_000):
        publisher(clients).enqueue(Send, Args(text=text), delay=timedelta(hours=1))
        content = from_json(clients.started[-1]["input"])
        assert len(clients.started[-1]["input"]) < 2000
        assert Consumer(clients).take(content["body"]).outcome.kind is Kind.SUCCEEDED
    assert [len(args.text) for args in RUNS] == [300_000, 100_000]


def test_a_large_job_is_not_delayed_beyond_the_life_of_its_payload(clients: Clients) -> None:
    sender = publisher(clients, claim_max_delay=timedelta(days=30))
    assert sender.enqueue(Send, LARGE, delay=timedelta(days=29)).ok
    with pytest.raises(PublishError, match=r"mail\.send.*claim-check bucket"):
        sender.enqueue(Send, LARGE, delay=timedelta(days=31))
    assert sender.enqueue(Send, Args(), delay=timedelta(days=31)).ok


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"at": datetime(2026, 11, 1, 1, 30)}, "no time zone"),
        ({"at": date(2026, 11, 1)}, "no datetime"),
        ({"at": datetime(2027, 3, 14, 2, 30, tzinfo=ZoneInfo("America/New_York"))}, "never exists"),
        ({"at": datetime(2200, 1, 1, tzinfo=UTC)}, "364 days"),
        ({"delay": timedelta(seconds=-1)}, "negative"),
        ({"delay": timedelta(hours=2), "ttl": timedelta(hours=1)}, "could never run"),
        ({"delay": timedelta(hours=2), "at": NOW}, "one of them"),
    ],
)
def test_what_cannot_be_honoured_is_refused_at_the_call(clients: Clients, options: Any, text: str) -> None:
    with pytest.raises(PublishError, match=rf"job 'mail.send': .*{text}"):
        publisher(clients).enqueue(Send, Args(), **options)
    with pytest.raises(PublishError, match=text):
        publisher(clients).enqueue_many(Send, [Args()], **options)
    assert not clients.bodies
    assert not clients.started


def test_many_late_jobs_have_an_exact_result_each(clients: Clients) -> None:
    results = publisher(clients).enqueue_many(Send, [Args(number=n) for n in range(12)], delay=timedelta(hours=1))
    assert all(result.ok for result in results)
    assert [from_json(request["input"])["id"] for request in clients.started] == [result.id for result in results]


def test_a_late_follow_up_job_survives_the_outbox(clients: Clients) -> None:
    message = publisher(clients).prepare(Send, Args(), delay=timedelta(hours=1), job_id="j")
    assert Message.from_json(message.to_json()).trip == message.trip


def test_a_late_unique_job_holds_its_key_until_it_runs(clients: Clients) -> None:
    ledger = JobLedger("shop", MemoryTable(), lambda: NOW + timedelta(days=2))
    sender = publisher(clients)
    first = sender.message(Send, Args(), delay=timedelta(days=3), job_id="a")
    early = JobLedger("shop", ledger.table, lambda: NOW)
    assert publish_unique(early, sender, first, join=False).ok
    with pytest.raises(AlreadyQueuedError):
        publish_unique(ledger, sender, sender.message(Send, Args(), job_id="b"), join=False)


def test_the_environment_names_bucket_and_machines() -> None:
    read = Config.from_environment(
        "shop",
        {
            "JOBS_WORKLOAD": "mail",
            "JOBS_DELAY_MACHINE_ARN": "arn:own",
            "JOBS_DELAY_MACHINES": '{"other": "arn:other"}',
            "JOBS_CLAIM_BUCKET": "b",
            "JOBS_CLAIM_PREFIX": "claims/",
            "JOBS_CLAIM_MAX_DELAY_SECONDS": "86400",
        },
    )
    assert (read.machine_of("mail"), read.machine_of("other"), read.machine_of("x")) == ("arn:own", "arn:other", "")
    assert (read.claim_bucket, read.claim_prefix, read.claim_max_delay) == ("b", "claims/", timedelta(days=1))
    with pytest.raises(ConfigurationError, match="JOBS_DELAY_MACHINES"):
        Config.from_environment("shop", {"JOBS_DELAY_MACHINES": "[]"})


# ---- put back --------------------------------------------------------------------------------------------------


class Events:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, level: str, message: str, **fields: Any) -> None:
        self.lines.append(f"{level} {message} {fields.get('error')}")


def settlement(clients: Any, events: Events, *, ledger: bool, machine: str = MACHINE) -> Settlement:
    own = config(workload="mail", delay_machine_arn=machine)
    return Settlement(
        lambda: clients,
        own,
        events,  # type: ignore[arg-type]
        parks=ledger,
        machines=lambda: clients,
        now=lambda: NOW,
    )


def waiting(kind: Kind, body: str, attempt: int = 2) -> Report:
    outcome = Outcome(kind, "later", timedelta(days=2))
    return Report(Delivery(body, "m-1", handle="h"), outcome, decode(body), Send, attempt)


@pytest.mark.parametrize(
    ("kind", "ledger", "attempts"),
    [(Kind.RETRY, True, 0), (Kind.RETRY, False, 2)],
)
def test_a_wait_beyond_visibility_is_started_before_the_message_is_acknowledged(
    clients: Clients, kind: Kind, ledger: bool, attempts: int
) -> None:
    body = publisher(clients).message(Send, Args()).body
    assert settlement(clients, Events(), ledger=ledger).settle(waiting(kind, body)) is None
    content = from_json(clients.started[0]["input"])
    assert content["at"] == "2026-10-03T12:00:00Z"
    assert decode(content["body"]).attempts_before == attempts


def test_a_wait_that_cannot_be_started_leaves_the_message_where_it_is(clients: Clients) -> None:
    body, events = publisher(clients).message(Send, Args()).body, Events()
    assert settlement(clients, events, ledger=True, machine="").settle(waiting(Kind.RETRY, body)) is not None
    assert settlement(object(), events, ledger=True).settle(waiting(Kind.RETRY, body)) is not None
    assert events.lines == [
        "ERROR delay not started ConfigurationError",
        "ERROR delay not started AttributeError",
    ]


@pytest.mark.parametrize(("longest", "kind"), [(MAX_WAIT, Kind.DEAD), (MAX_RETRY_WAIT, Kind.RETRY)])
def test_a_wait_of_days_needs_a_machine(longest: timedelta, kind: Kind) -> None:
    """A retry is refused with a reason, not shortened in silence, where nothing can keep the job that long."""
    job = job_of(raising(OSError()), retry=fixed(timedelta(days=2), max_attempts=3))
    outcome = engine(job, longest_wait=longest).handle(delivery()).outcome
    assert outcome.kind is kind
    assert outcome.reason == ("wait_needs_delay_machine" if kind is Kind.DEAD else "error")
