"""Publishing: an exact answer for each job, sizes in bytes, nothing accepted is sent twice."""

import itertools
import json
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.config import Config as BotoConfig
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from runtime.config import Config, ConfigurationError
from runtime.envelope import decode
from runtime.job import Job, JobClass
from runtime.publisher import HEADROOM_BYTES, Message, Published, Publisher, PublishError, batches

from .helpers import NOW, QUEUE_URL, Aws, Middle, Work, app_of, job_of, nothing, seconds, stack

LIMIT = 262_144
QUEUES = {"email": QUEUE_URL, "pictures": "https://sqs.test/shop-pictures"}
PROBE = job_of(nothing)
GROUPED = job_of(nothing, name="grouped", group=staticmethod(lambda args: args.label))


def publisher(aws: Any, **fields: Any) -> Publisher:
    return Publisher(stack(**fields), "email", aws, lambda: NOW, Middle())


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda duration: None)


def works(count: int) -> list[Work]:
    return [Work(label=str(number)) for number in range(count)]


def ids(call: dict[str, Any]) -> list[str]:
    return [entry["Id"] for entry in call.get("PublishBatchRequestEntries") or call["Entries"]]


Answer = Callable[[dict[str, Any]], dict[str, Any]]


def scripted(*answers: Answer | BaseException) -> Answer:
    left = list(answers)

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        now = left.pop(0)
        if isinstance(now, BaseException):
            raise now
        return now(call)

    return answer


def refusing(fault: bool, *refused: str) -> Answer:
    def answer(call: dict[str, Any]) -> dict[str, Any]:
        entries = [i for i in ids(call) if i in refused]
        return {
            "Successful": [{"Id": i} for i in ids(call) if i not in refused],
            "Failed": [{"Id": i, "Code": "Broken", "Message": "why", "SenderFault": fault} for i in entries],
        }

    return answer


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_a_job_goes_through_the_topic(aws: Aws) -> None:
    result = publisher(aws).enqueue(PROBE, Work(label="a"), correlation="c", job_id="id-1")
    assert result == Published("id-1", True)
    (call,) = aws.of("publish_batch")
    assert call["TopicArn"] == "arn:aws:sns:eu-west-1:123456789012:shop-jobs"
    (entry,) = call["PublishBatchRequestEntries"]
    assert entry.keys() == {"Id", "Message", "MessageAttributes"}
    assert entry["MessageAttributes"] == {
        "workload": {"DataType": "String", "StringValue": "email"},
        "job": {"DataType": "String", "StringValue": "probe"},
    }
    envelope = decode(entry["Message"])
    assert (envelope.id, envelope.job, envelope.v, envelope.correlation) == ("id-1", "probe", 1, "c")
    assert (envelope.enqueued_at, envelope.expires_at, envelope.not_before) == (NOW, None, None)
    assert envelope.payload == {"label": "a"}


def test_ids_differ_by_themselves(aws: Aws) -> None:
    assert len({result.id for result in publisher(aws).enqueue_many(PROBE, works(30))}) == 30


def test_a_workload_of_its_own_routes(aws: Aws) -> None:
    job = job_of(nothing, workload="pictures", version=4)
    message = publisher(aws, queue_urls=QUEUES).message(job, Work())
    assert message.attributes["workload"]["StringValue"] == "pictures"
    assert decode(message.body).v == 4


def test_the_tenant_is_the_group_of_a_standard_queue(aws: Aws) -> None:
    publisher(aws).enqueue(PROBE, Work(), tenant="acme")
    (entry,) = aws.of("publish_batch")[0]["PublishBatchRequestEntries"]
    assert entry["MessageGroupId"] == "acme"
    assert "MessageDeduplicationId" not in entry
    assert decode(entry["Message"]).tenant == "acme"


def test_a_grouped_job_goes_through_the_fifo_topic(aws: Aws) -> None:
    publisher(aws).enqueue(GROUPED, Work(label="order-7"), tenant="acme", job_id="id-1")
    (call,) = aws.of("publish_batch")
    assert call["TopicArn"].endswith("shop-jobs.fifo")
    (entry,) = call["PublishBatchRequestEntries"]
    assert (entry["MessageGroupId"], entry["MessageDeduplicationId"]) == ("order-7", "id-1")


@pytest.mark.parametrize("group", ["", "a" * 129, "a b", "Zürich", "tab\t", 7, None])
def test_a_group_that_sqs_would_refuse_is_refused_before(aws: Aws, group: Any) -> None:
    job = job_of(nothing, group=staticmethod(lambda args: group))
    with pytest.raises(PublishError, match="is not a text of 1 to 128 letters, digits and punctuation; return an id"):
        publisher(aws).enqueue(job, Work())
    assert aws.calls == []


# --- delays and deadlines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay", "whole"), [(0.2, 1), (1, 1), (1.001, 2), (899.5, 900), (900, 900)])
def test_a_delay_goes_straight_to_the_queue_and_is_never_early(aws: Aws, delay: float, whole: int) -> None:
    publisher(aws).enqueue(PROBE, Work(), delay=seconds(delay), tenant="acme")
    (call,) = aws.of("send_message_batch")
    assert call["QueueUrl"] == QUEUE_URL
    (entry,) = call["Entries"]
    assert (entry["DelaySeconds"], entry["MessageGroupId"]) == (whole, "acme")
    assert entry["MessageAttributes"]["job"]["StringValue"] == "probe"
    envelope = decode(entry["MessageBody"])
    assert (envelope.not_before, envelope.due_at) == (None, NOW + seconds(whole))


@pytest.mark.parametrize(
    "job", [GROUPED, job_of(nothing, workload="elsewhere")], ids=["fifo takes none", "queue not known here"]
)
def test_a_delay_that_no_queue_can_keep_is_kept_by_the_consumer(aws: Aws, job: JobClass) -> None:
    publisher(aws).enqueue(job, Work(label="a"), delay=seconds(30))
    (entry,) = aws.of("publish_batch")[0]["PublishBatchRequestEntries"]
    envelope = decode(entry["Message"])
    assert envelope.not_before == envelope.due_at == NOW + seconds(30)
    assert "DelaySeconds" not in entry


@pytest.mark.parametrize(
    ("delay", "rule"),
    [
        (seconds(-0.1), "is negative"),
        (seconds(900.001), "SQS keeps a message back for at most 0:15:00.* Set `delay"),
        (timedelta(days=170 * 365), "364 days ahead.* Publish the job later"),
    ],
)
def test_a_delay_that_cannot_be_honoured_is_refused(aws: Aws, delay: timedelta, rule: str) -> None:
    with pytest.raises(PublishError, match=rf"'probe': .*{rule}"):
        publisher(aws).enqueue(PROBE, Work(), delay=delay)
    assert aws.calls == []


def test_no_delay_is_no_delay(aws: Aws) -> None:
    publisher(aws).enqueue(PROBE, Work(), delay=timedelta(0))
    assert [name for name, _ in aws.calls] == ["publish_batch"]
    (entry,) = aws.of("publish_batch")[0]["PublishBatchRequestEntries"]
    assert decode(entry["Message"]).due_at is None


@pytest.mark.parametrize(
    ("own", "given", "expected"), [(60, None, 60), (60, 90, 90), (None, 90, 90), (None, None, None)]
)
def test_a_deadline_counts_from_now(aws: Aws, own: int | None, given: int | None, expected: int | None) -> None:
    job = job_of(nothing, ttl=seconds(own) if own else None)
    message = publisher(aws).message(job, Work(), ttl=seconds(given) if given else None)
    assert decode(message.body).expires_at == (NOW + seconds(expected) if expected else None)


@pytest.mark.parametrize(("delay", "ttl"), [(60, 60), (61, 60), (0, 0), (0, -1)])
def test_a_job_that_could_never_run_is_refused(aws: Aws, delay: float, ttl: float) -> None:
    with pytest.raises(PublishError, match=r"is not shorter than its ttl of .*; it could never run"):
        publisher(aws).enqueue(PROBE, Work(), delay=seconds(delay), ttl=seconds(ttl))


# --- what is refused --------------------------------------------------------------------------------------------------


class Other(BaseModel):
    number: int = 0


def test_the_payload_must_be_the_jobs_own_model(aws: Aws) -> None:
    with pytest.raises(PublishError, match="job 'probe' takes a Work, got a Other"):
        publisher(aws).enqueue(PROBE, Other())


def test_one_bad_payload_means_that_nothing_was_sent(aws: Aws) -> None:
    with pytest.raises(PublishError):
        publisher(aws).enqueue_many(PROBE, [*works(25), Other()])
    assert aws.calls == []


def test_a_workload_that_the_stack_lacks_is_refused(aws: Aws) -> None:
    job = job_of(nothing, workload="vidoes")
    with pytest.raises(
        PublishError, match=r"the workload 'vidoes', which the stack does not have .it has email, pictures"
    ):
        publisher(aws, queue_urls=QUEUES).enqueue(job, Work())


DIRECT = {
    "queue_urls": QUEUES,
    "delay_machines": {"alerts": "arn:aws:states:eu-west-1:123456789012:stateMachine:alerts"},
}


def test_a_direct_workload_is_known_by_its_machine_which_keeps_its_delays(aws: Aws) -> None:
    job = job_of(nothing, workload="alerts")
    now = publisher(aws, **DIRECT).message(job, Work())
    assert (now.queue_url, now.machine, now.attributes["workload"]["StringValue"]) == ("", "", "alerts")
    later = publisher(aws, **DIRECT).message(job, Work(), delay=seconds(60))
    assert (later.queue_url, later.machine) == ("", DIRECT["delay_machines"]["alerts"])
    assert decode(later.body).not_before is None


def test_a_direct_workload_keeps_no_order(aws: Aws) -> None:
    job = job_of(nothing, workload="alerts", group=staticmethod(lambda args: args.label))
    with pytest.raises(PublishError, match=r"'alerts' is direct: without a queue there is no order.*Remove `group`"):
        publisher(aws, **DIRECT).enqueue(job, Work(label="a"))


@pytest.mark.parametrize(
    ("job", "fields", "variable"),
    [(PROBE, {"topic_arn": ""}, "JOBS_TOPIC_ARN"), (GROUPED, {"fifo_topic_arn": ""}, "JOBS_FIFO_TOPIC_ARN")],
)
def test_without_a_topic_the_missing_variable_is_named(
    aws: Aws, job: JobClass, fields: dict[str, str], variable: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"{variable} is not set"):
        publisher(aws, **fields).enqueue(job, Work(label="a"))


@pytest.mark.parametrize("option", ["tenant", "job_id"])
@pytest.mark.parametrize("value", ["", "Müller GmbH", "a b", "請求", "tab\t", "i" * 129, 7])
def test_an_id_that_sqs_would_refuse_is_refused_before(aws: Aws, option: str, value: Any) -> None:
    with pytest.raises(PublishError, match=f"'probe': {option} .* is not a text of 1 to 128 letters, digits"):
        publisher(aws).enqueue(PROBE, Work(), **{option: value})
    assert aws.calls == []


def test_ids_that_differ_at_their_end_only_stay_different(aws: Aws) -> None:
    ids = [f"invoice:2026-11-01T01:30:00+01:00:{'0' * 36}/#%:{end}" for end in "ab"]
    for job_id in ids:
        publisher(aws).enqueue(GROUPED, Work(label="g"), job_id=job_id)
    sent = [call["PublishBatchRequestEntries"][0]["MessageDeduplicationId"] for call in aws.of("publish_batch")]
    assert sent == ids


@pytest.mark.parametrize(
    ("options", "field"),
    [({"tenant": "t" * 129}, "tenant"), ({"correlation": "c" * 257}, "correlation"), ({"job_id": "i" * 129}, "id")],
)
def test_a_header_that_no_consumer_would_read_is_refused(aws: Aws, options: dict[str, str], field: str) -> None:
    with pytest.raises(PublishError, match=field):
        publisher(aws).enqueue(PROBE, Work(), **options)
    assert aws.calls == []


def test_a_text_that_was_cut_in_an_emoji_is_refused(aws: Aws) -> None:
    with pytest.raises(PublishError, match="replace lone surrogates"):
        publisher(aws).enqueue(PROBE, Work.model_construct(label="\ud83d"))


def test_a_payload_deeper_than_a_consumer_reads_is_refused(aws: Aws) -> None:
    class Deep(BaseModel):
        tree: Any

    class DeepJob(Job[Deep, None]):
        name = "deep"

        def run(self, args: Deep, ctx: Any) -> None:
            return None

    tree: list[Any] = []
    for _ in range(240):
        tree = [tree]
    with pytest.raises(PublishError):
        publisher(aws).enqueue(DeepJob, Deep(tree=tree))
    assert aws.calls == []


# --- sizes ------------------------------------------------------------------------------------------------------------


def sized(aws: Aws, text: str, **fields: Any) -> Message:
    return publisher(aws, **fields).message(PROBE, Work(label=text), job_id="i")


def test_the_limit_is_exact_to_the_byte(aws: Aws) -> None:
    room = LIMIT - HEADROOM_BYTES - sized(aws, "").size
    assert sized(aws, "x" * room).size == LIMIT - HEADROOM_BYTES
    with pytest.raises(PublishError, match=f"job 'probe' is {LIMIT - HEADROOM_BYTES + 1} bytes .*Store the data"):
        sized(aws, "x" * (room + 1))


def test_a_size_counts_bytes_as_they_are_sent(aws: Aws) -> None:
    empty = sized(aws, "").size
    assert sized(aws, "中").size - empty == len("\\u4e2d")
    assert sized(aws, '"\n').size - empty == len('\\"\\n')
    with pytest.raises(PublishError):
        sized(aws, "中" * 80_000)
    with pytest.raises(PublishError):
        sized(aws, '"\n' * 100_000)
    message = sized(aws, "")
    attributes = sum(len(n) + len("String") + len(a["StringValue"]) for n, a in message.attributes.items())
    assert message.size == len(message.body.encode()) + attributes


@pytest.mark.parametrize("limit", [65_536, 1_048_576])
def test_the_limit_is_the_stacks_own(aws: Aws, limit: int) -> None:
    room = limit - HEADROOM_BYTES - sized(aws, "").size
    assert sized(aws, "x" * room, max_message_bytes=limit).size == limit - HEADROOM_BYTES
    with pytest.raises(PublishError, match=str(limit)):
        sized(aws, "x" * (room + 1), max_message_bytes=limit)


def test_a_batch_is_split_by_bytes_and_by_count(aws: Aws) -> None:
    results = publisher(aws).enqueue_many(PROBE, [Work(label="中" * 40_000)] * 3)  # 240,000 bytes each once escaped
    assert [result.ok for result in results] == [True] * 3
    assert [ids(call) for call in aws.of("publish_batch")] == [["0"], ["1"], ["2"]]
    aws.calls.clear()
    publisher(aws).enqueue_many(PROBE, works(25))
    assert [len(ids(call)) for call in aws.of("publish_batch")] == [10, 10, 5]


@given(st.lists(st.integers(1, 2_000), max_size=60), st.integers(2_000, 6_000))
def test_batches_keep_order_count_and_bytes(sizes: list[int], limit: int) -> None:
    messages = [Message(str(n), "x" * size, {}, None, False) for n, size in enumerate(sizes)]
    split = list(batches(messages, limit))
    assert [pair for batch in split for pair in batch] == list(enumerate(messages))
    for batch in split:
        assert 1 <= len(batch) <= 10
        assert sum(message.size for _, message in batch) <= limit
    for batch, following in itertools.pairwise(split):  # none is cut short without need
        assert len(batch) == 10 or sum(m.size for _, m in batch) + following[0][1].size > limit


def test_nothing_to_send_is_no_call(aws: Aws) -> None:
    assert publisher(aws, topic_arn="").enqueue_many(PROBE, []) == []
    assert aws.calls == []


# --- partial failures -------------------------------------------------------------------------------------------------


def test_only_what_may_succeed_is_sent_again(aws: Aws) -> None:
    def first(call: dict[str, Any]) -> dict[str, Any]:
        return {
            "Successful": [{"Id": i} for i in ids(call) if i not in ("3", "7")],
            "Failed": [
                {"Id": "3", "Code": "InvalidParameter", "Message": "no", "SenderFault": True},
                {"Id": "7", "Code": "InternalError", "SenderFault": False},
            ],
        }

    aws.answers["publish_batch"] = scripted(first, refusing(False))
    results = publisher(aws).enqueue_many(PROBE, works(10))
    assert [ids(call) for call in aws.of("publish_batch")] == [[str(n) for n in range(10)], ["7"]]
    assert [n for n, result in enumerate(results) if not result.ok] == [3]
    assert (results[3].error_code, results[3].error) == ("InvalidParameter", "no")


def test_what_keeps_failing_is_reported_after_three_rounds(aws: Aws) -> None:
    aws.answers["publish_batch"] = refusing(False, "1")
    results = publisher(aws).enqueue_many(PROBE, works(3))
    assert [ids(call) for call in aws.of("publish_batch")] == [["0", "1", "2"], ["1"], ["1"]]
    assert [(result.ok, result.error_code) for result in results] == [(True, ""), (False, "Broken"), (True, "")]


def test_what_the_answer_does_not_mention_is_an_error_and_is_not_sent_twice(aws: Aws) -> None:
    aws.answers["publish_batch"] = lambda call: {"Successful": [{"Id": i} for i in ids(call)[:8]]}
    results = publisher(aws).enqueue_many(PROBE, works(10))
    assert len(aws.of("publish_batch")) == 1
    assert [result.error_code for result in results] == [""] * 8 + ["unaccounted"] * 2


def test_a_failed_call_costs_its_own_jobs_only(aws: Aws) -> None:
    aws.answers["publish_batch"] = scripted(refusing(False), ConnectionError("broken pipe"), refusing(False))
    results = publisher(aws).enqueue_many(PROBE, works(25))
    assert [len(ids(call)) for call in aws.of("publish_batch")] == [10, 10, 5]
    assert [result.ok for result in results] == [True] * 10 + [False] * 10 + [True] * 5
    assert {result.error_code for result in results[10:20]} == {"ConnectionError"}


def test_a_refused_single_job_raises(aws: Aws) -> None:
    aws.answers["publish_batch"] = refusing(True, "0")
    with pytest.raises(PublishError, match=r"job 'probe' \(id-1\) was not accepted: Broken why"):
        publisher(aws).enqueue(PROBE, Work(), job_id="id-1")


@given(st.lists(st.sampled_from(["ok", "fault", "busy", "missing"]), min_size=1, max_size=30))
def test_every_job_has_exactly_one_result_and_is_accepted_at_most_once(fates: list[str]) -> None:
    accepted: list[int] = []

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        numbers = [int(i) for i in ids(call)]
        good = [n for n in numbers if fates[n] == "ok"]
        accepted.extend(good)
        bad = [n for n in numbers if fates[n] in ("fault", "busy")]
        return {
            "Successful": [{"Id": str(n)} for n in good],
            "Failed": [{"Id": str(n), "Code": "X", "SenderFault": fates[n] == "fault"} for n in bad],
        }

    aws = Aws()
    aws.answers["publish_batch"] = answer
    results = publisher(aws).enqueue_many(PROBE, works(len(fates)))
    assert [result.ok for result in results] == [fate == "ok" for fate in fates]
    assert accepted == [n for n, fate in enumerate(fates) if fate == "ok"]


def boto(service: str) -> Any:
    return boto3.client(
        service,
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=BotoConfig(retries={"total_max_attempts": 1}),
    )


def test_the_calls_are_what_botocore_expects() -> None:
    """Parameters and answers are checked against the service models."""
    sns, sqs = boto("sns"), boto("sqs")
    with Stubber(sns) as topic, Stubber(sqs) as queue:
        topic.add_response(
            "publish_batch",
            {
                "Successful": [{"Id": "0", "MessageId": "m", "SequenceNumber": "1"}],
                "Failed": [{"Id": "1", "Code": "Slow", "SenderFault": False}],
            },
            {"TopicArn": "arn:aws:sns:eu-west-1:123456789012:shop-jobs", "PublishBatchRequestEntries": ANY},
        )
        topic.add_client_error("publish_batch", "Throttled", "slower", 400)
        queue.add_response(
            "send_message_batch",
            {"Successful": [{"Id": "0", "MessageId": "m", "MD5OfMessageBody": ""}], "Failed": []},
            {"QueueUrl": QUEUE_URL, "Entries": ANY},
        )
        subject = publisher({"sns": sns, "sqs": sqs}.get)
        results = subject.enqueue_many(PROBE, works(2), tenant="acme")
        assert [(result.ok, result.error_code) for result in results] == [(True, ""), (False, "Throttled")]
        assert subject.enqueue(PROBE, Work(), delay=seconds(5)).ok
        topic.assert_no_pending_responses()
        queue.assert_no_pending_responses()


# --- through the app --------------------------------------------------------------------------------------------------


class Invoice(BaseModel):
    number: str
    due: date
    amount: Decimal


class SendInvoice(Job[Invoice, None]):
    name = "invoice.send"

    def run(self, args: Invoice, ctx: Any) -> None:
        return None


def test_an_app_publishes_what_its_consumers_read(aws: Aws) -> None:
    app = app_of(aws, SendInvoice)
    app.enqueue(SendInvoice, Invoice(number="7", due=date(2030, 2, 1), amount=Decimal("9.90")), correlation="c")
    sent = aws.of("publish_batch")[0]["PublishBatchRequestEntries"][0]["Message"]
    assert json.loads(sent)["payload"] == {"number": "7", "due": "2030-02-01", "amount": "9.90"}


def test_an_app_takes_any_iterable(aws: Aws) -> None:
    def generate() -> Iterable[Work]:
        yield from works(3)

    assert [result.ok for result in app_of(aws, PROBE).enqueue_many(PROBE, generate())] == [True] * 3


# --- configuration ----------------------------------------------------------------------------------------------------


def test_the_environment_of_a_producer_is_read() -> None:
    config = Config.from_environment(
        "shop",
        {
            "JOBS_TOPIC_ARN": "t",
            "JOBS_FIFO_TOPIC_ARN": "f",
            "JOBS_MAX_MESSAGE_BYTES": "1000",
            "JOBS_QUEUE_URLS": '{"email":"u"}',
            "POWERTOOLS_SERVICE_NAME": "stack",
        },
    )
    assert (config.service, config.topic_arn, config.fifo_topic_arn, config.max_message_bytes) == (
        "stack",
        "t",
        "f",
        1000,
    )
    assert (config.url_of("email"), config.url_of("other")) == ("u", "")


def test_a_consumer_knows_its_own_queue_only() -> None:
    assert (stack().url_of("email"), stack().url_of("other")) == (QUEUE_URL, "")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"JOBS_MAX_RECEIVE_COUNT": "ten"}, "JOBS_MAX_RECEIVE_COUNT='ten' is not a whole number"),
        ({"JOBS_MAX_MESSAGE_BYTES": "1.5"}, "JOBS_MAX_MESSAGE_BYTES='1.5' is not a whole number"),
        ({"JOBS_QUEUE_URLS": "{"}, "JOBS_QUEUE_URLS is not a JSON object"),
        ({"JOBS_QUEUE_URLS": "[]"}, "copy it from `publisher.environment`"),
        ({"JOBS_QUEUE_URLS": '{"a":1}'}, "JOBS_QUEUE_URLS is not a JSON object"),
    ],
)
def test_an_unusable_environment_names_its_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Config.from_environment("shop", environment)
