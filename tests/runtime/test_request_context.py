"""What a request was, in every line of the jobs it caused and of the jobs those cause."""

import json
from typing import Any

import pytest
from runtime.context import JobContext
from runtime.envelope import decode
from runtime.publisher import PublishError

from .conftest import Consumer
from .helpers import Aws, Work, body, delivery, engine, job_of, nothing, record
from .test_publisher import publisher

REQUEST: dict[str, Any] = {
    "tenant": "acme",
    "correlation": "request-7",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "context": {"user": "u-1", "locale": "de"},
}


def test_it_travels_in_the_header(aws: Aws) -> None:
    publisher(aws).enqueue(job_of(nothing), Work(), **REQUEST)
    (entry,) = aws.of("publish_batch")[0]["PublishBatchRequestEntries"]
    sent = decode(entry["Message"])
    assert {name: getattr(sent, name) for name in REQUEST} == REQUEST
    assert sent.causation is None


def test_nothing_said_is_nothing_sent(aws: Aws) -> None:
    publisher(aws).enqueue(job_of(nothing), Work())
    (entry,) = aws.of("publish_batch")[0]["PublishBatchRequestEntries"]
    assert not {"context", "causation", "traceparent", "tenant", "correlation"} & set(json.loads(entry["Message"]))


def test_it_stands_in_the_jobs_line(consumer: Consumer) -> None:
    consumer.run([record(body("a", causation="job-0", **REQUEST), "m1")], job_of(nothing))
    line = consumer.lines[0]
    assert {name: line[name] for name in ("tenant", "correlation_id", "causation_id", "traceparent", "context")} == {
        "tenant": "acme",
        "correlation_id": "request-7",
        "causation_id": "job-0",
        "traceparent": REQUEST["traceparent"],
        "context": REQUEST["context"],
    }


def test_a_job_sees_it_and_hands_it_on() -> None:
    seen: list[Any] = []
    options: list[dict[str, Any]] = []

    def act(args: Work, ctx: JobContext) -> None:
        seen.append(dict(ctx.context))
        ctx.enqueue(job_of(nothing), args)
        ctx.enqueue(job_of(nothing), args, tenant="other", context={"locale": "fr"})

    def prepare(job: object, args: object, **given: Any) -> None:
        options.append(given)

    engine(job_of(act), prepare=prepare).handle(delivery(body("a", **REQUEST)))
    assert seen == [REQUEST["context"]]
    inherited, overridden = options
    assert {**REQUEST, "causation": "job-a"}.items() <= inherited.items()
    assert (overridden["tenant"], overridden["context"]) == ("other", {"user": "u-1", "locale": "fr"})


@pytest.mark.parametrize(
    ("context", "rule"),
    [({str(n): "" for n in range(11)}, "too_long"), ({"user": "x" * 257}, "too_long"), ({"user": 7}, "string_type")],
)
def test_it_is_bounded(aws: Aws, context: Any, rule: str) -> None:
    with pytest.raises(PublishError, match=f"context.*{rule}"):
        publisher(aws).enqueue(job_of(nothing), Work(), context=context)
    assert aws.calls == []
