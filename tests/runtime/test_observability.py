"""One line per job, one EMF document per invocation, and never a payload."""

import json
import os
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from runtime.context import JobContext
from runtime.engine import Report
from runtime.envelope import Envelope
from runtime.failure import Failure
from runtime.job import Job
from runtime.observability import COUNTERS, Observer, write_stdout
from runtime.outcome import Defer, Discard, Kind, Outcome, Park, Permanent, Retry

from .conftest import Consumer
from .helpers import (
    NOW,
    Aws,
    Work,
    app_of,
    body,
    delivery,
    invocation,
    job_of,
    nothing,
    raising,
    record,
    seconds,
    stack,
)
from .test_envelope import NOT_JOBS


class Written:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.observer = Observer("shop", "email", "Jobs", write=self._take)
        self.observer.start("request-1")

    def _take(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert line.isascii()
        self.lines.append(json.loads(line))


ENVELOPE = Envelope(id="id-1", job="probe", tenant="acme", enqueued_at=NOW - seconds(5), payload={"label": "SECRET"})


def report(kind: Kind = Kind.SUCCEEDED, **fields: Any) -> Report:
    return Report(
        delivery(receive_count=2),
        **{
            "outcome": Outcome(kind),
            "envelope": ENVELOPE,
            "attempt": 2,
            "run_seconds": 0.25,
            "finished_at": NOW,
            **fields,
        },
    )


def test_the_line_of_a_job() -> None:
    written = Written()
    error = Failure("ValueError", "SECRET", ("a.py:1 run",))
    outcome = Outcome(Kind.RETRY, "throttled", seconds(90), error)
    written.observer.job(report(outcome=outcome, log_fields={"label": "listed"}))
    assert written.lines == [
        {
            "level": "WARNING",
            "message": "job retry",
            "timestamp": "2030-01-01T00:00:00.000+00:00",
            "service": "shop",
            "function_request_id": "request-1",
            "cold_start": True,
            "workload": "email",
            "outcome": "retry",
            "job": "probe",
            "job_id": "id-1",
            "message_id": "m-1",
            "receive_count": 2,
            "correlation_id": "id-1",
            "tenant": "acme",
            "attempt": 2,
            "reason": "throttled",
            "delay_seconds": 90.0,
            "error": "ValueError",
            "error_at": ["a.py:1 run"],
            "run_ms": 250.0,
            "queue_ms": 750.0,
            "fields": {"label": "listed"},
        }
    ]


def test_the_line_of_what_is_no_job() -> None:
    written = Written()
    outcome = Outcome(Kind.DEAD, "undecodable", error=Failure("NotAJobError", "the body is not JSON"))
    written.observer.job(Report(delivery("中 SECRET"), outcome, finished_at=NOW))
    (line,) = written.lines
    assert (line["job"], line["job_id"], line["body_bytes"]) == (None, None, 10)
    assert "SECRET" not in str(line)
    assert "run_ms" not in line


@pytest.mark.parametrize("kind", Kind)
def test_every_outcome_has_its_level_and_counter(kind: Kind) -> None:
    written = Written()
    written.observer.job(report(kind))
    written.observer.finish()
    line, metrics = written.lines
    serious = {Kind.DEAD: "ERROR", Kind.PARKED: "ERROR"}
    calm = dict.fromkeys((Kind.SUCCEEDED, Kind.DEFER, Kind.DUPLICATE), "INFO")
    assert line["level"] == {**serious, **calm}.get(kind, "WARNING")
    assert metrics[COUNTERS[kind]] == 1
    assert ("EndToEndMs" in metrics) == (kind is Kind.SUCCEEDED)


def emf_is_well_formed(document: dict[str, Any]) -> None:
    (directive,) = document["_aws"]["CloudWatchMetrics"]
    assert isinstance(document["_aws"]["Timestamp"], int)
    assert directive["Dimensions"] == [["service", "workload"]]
    assert isinstance(document["service"], str)
    assert isinstance(document["workload"], str)
    names = [metric["Name"] for metric in directive["Metrics"]]
    assert len(names) == len(set(names)) <= 100
    assert set(document) == {"_aws", "service", "workload", *names}
    for metric in directive["Metrics"]:
        value = document[metric["Name"]]
        values = value if isinstance(value, list) else [value]
        assert 1 <= len(values) <= 100
        assert all(isinstance(number, int | float) and number >= 0 for number in values)
        assert metric["Unit"] == ("Milliseconds" if metric["Name"].endswith("Ms") else "Count")


def test_an_invocation_writes_one_document() -> None:
    written = Written()
    for kind in (Kind.SUCCEEDED, Kind.SUCCEEDED, Kind.DEAD):
        written.observer.job(report(kind))
    written.observer.finish()
    document = written.lines[-1]
    emf_is_well_formed(document)
    assert document["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Jobs"
    assert (document["JobSucceeded"], document["JobDead"], document["JobStarted"]) == (2, 1, 3)
    assert document["RunMs"] == [250.0] * 3
    assert document["EndToEndMs"] == [5000.0] * 2
    assert document["Attempt"] == [2] * 3


def test_nothing_is_counted_twice() -> None:
    written = Written()
    written.observer.finish()
    assert written.lines == []
    written.observer.job(report())
    written.observer.finish()
    written.observer.finish()
    assert len(written.lines) == 2


@pytest.mark.parametrize(("jobs", "documents"), [(100, 1), (101, 2), (250, 3)])
def test_more_values_than_a_metric_can_hold_make_more_documents(jobs: int, documents: int) -> None:
    written = Written()
    for number in range(jobs):
        written.observer.job(report(run_seconds=float(number)))
    written.observer.finish()
    found = written.lines[jobs:]
    assert len(found) == documents
    for document in found:
        emf_is_well_formed(document)
    assert sum(document.get("JobSucceeded", 0) for document in found) == jobs
    assert [value for document in found for value in document["RunMs"]] == [n * 1000.0 for n in range(jobs)]


def test_clocks_that_differ_give_no_negative_times() -> None:
    written = Written()
    early = ENVELOPE.model_copy(update={"enqueued_at": NOW + seconds(9)})
    written.observer.job(
        Report(
            delivery(sent_at=NOW.timestamp() + 9),
            Outcome(Kind.SUCCEEDED),
            early,
            attempt=1,
            run_seconds=0.1,
            finished_at=NOW,
        )
    )
    assert (written.lines[0]["queue_ms"], written.lines[0]["end_to_end_ms"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("due_at", "latency", "waited"),
    [
        (None, 5000.0, 750.0),  # from when it was enqueued, and sent
        (NOW - seconds(0.5), 500.0, 250.0),  # a delay that was asked for is no latency
        (NOW + seconds(1), 0.0, 0.0),  # the consumer's clock is behind
    ],
)
def test_time_counts_from_when_a_job_was_due(due_at: datetime | None, latency: float, waited: float) -> None:
    written = Written()
    written.observer.job(report(envelope=ENVELOPE.model_copy(update={"due_at": due_at})))
    assert (written.lines[0]["end_to_end_ms"], written.lines[0]["queue_ms"]) == (latency, waited)


def test_a_retried_job_has_the_latency_of_all_its_attempts() -> None:
    written = Written()
    written.observer.job(report(Kind.RETRY, attempt=1))
    later = NOW + seconds(60)
    written.observer.job(report(attempt=2, finished_at=later))
    written.observer.finish()
    assert written.lines[-1]["EndToEndMs"] == [65_000.0]
    assert written.lines[-1]["Attempt"] == [1, 2]


def test_a_deferred_job_that_was_sent_again_keeps_its_latency() -> None:
    """``not_before`` is set by us then, not by whoever published it."""
    written = Written()
    written.observer.job(report(envelope=ENVELOPE.model_copy(update={"not_before": NOW})))
    assert written.lines[0]["end_to_end_ms"] == 5000.0


@pytest.mark.parametrize(
    ("outcome", "counters"),
    [
        (Outcome(Kind.DISCARDED, "cancelled"), {"JobCancelled"}),
        (Outcome(Kind.DISCARDED, "expired"), {"JobDiscarded"}),
        (Outcome(Kind.DEFER, "circuit_open:smtp"), {"JobDeferred", "CircuitOpen"}),
        (Outcome(Kind.DEFER, "dependency_down:smtp"), {"JobDeferred", "CircuitOpen"}),
        (Outcome(Kind.DEFER, "not_due"), {"JobDeferred"}),
    ],
)
def test_what_a_reason_adds(outcome: Outcome, counters: set[str]) -> None:
    written = Written()
    written.observer.job(report(outcome=outcome, run_seconds=None))
    written.observer.finish()
    names = {metric["Name"] for metric in written.lines[-1]["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert names == counters


def test_a_job_whose_run_before_ended_without_a_word_is_named() -> None:
    written = Written()
    written.observer.job(report(crashed=True))
    written.observer.job(report())
    written.observer.finish()
    assert [line.get("crashed_before") for line in written.lines[:2]] == [True, None]
    assert written.lines[-1]["JobCrashed"] == 1


def test_a_trace_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    written = Written()
    written.observer.job(report())
    assert written.lines[0]["xray_trace_id"] == "1-5759e988-bd862e3fe1be46a994272793"


def test_a_line_that_cannot_be_written_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(descriptor: int, data: bytes) -> int:
        raise OSError

    monkeypatch.setattr(os, "write", broken)
    write_stdout(b"line\n")


def test_a_line_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bytes] = []

    def few(descriptor: int, data: bytes) -> int:
        assert descriptor == 1
        taken.append(data[:3])
        return 3

    monkeypatch.setattr(os, "write", few)
    write_stdout(b"a line\n")
    assert b"".join(taken) == b"a line\n"


# --- never logged -----------------------------------------------------------------------------------------------------

CANARY = "c4naryc4nary"
ENDS: list[Any] = [
    None,
    ValueError(CANARY),
    KeyError(CANARY),
    SystemExit(CANARY),
    OSError(5, CANARY, CANARY),
    UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY),
    ExceptionGroup(CANARY, [ValueError(CANARY)]),
    Permanent("gone"),
    Park("human"),
    Discard("old"),
    Defer(seconds(1)),
    Retry(),
    KeyboardInterrupt(CANARY),
    MemoryError(CANARY),
]
BODIES = [
    CANARY,
    json.dumps(CANARY),
    json.dumps([CANARY]),
    json.dumps({CANARY: CANARY}),
    json.dumps({"id": [CANARY], "job": "probe", "payload": {}}),
    json.dumps({"id": "1", "job": "probe", "payload": CANARY}),
    json.dumps({"id": "1", "job": "probe", "payload": {"label": [CANARY]}}),
    json.dumps({"id": "1", "job": "probe", "payload": {"label": {CANARY: CANARY}}}),
    json.dumps({"Type": "Notification", "Message": CANARY}),
    json.dumps({"id": "1", "job": "probe", "enqueued_at": CANARY, "payload": {}}),
    json.dumps({"id": "1", "job": "probe", CANARY: CANARY, "payload": {CANARY: CANARY}}),
]
RECORDS = st.sampled_from(BODIES) | st.sampled_from(range(len(ENDS)))


@given(batch=st.lists(RECORDS, min_size=1, max_size=6), aws_error=st.sampled_from([None, ConnectionError(CANARY)]))
def test_no_line_holds_payload_body_or_exception_text(batch: list[str | int], aws_error: Exception | None) -> None:
    aws = Aws()
    if aws_error is not None:
        for api in ("send_message", "delete_message", "change_message_visibility_batch"):
            aws.fail(api, aws_error)

    def act(args: Work, ctx: JobContext) -> str:
        error = ENDS[int(args.label.rpartition(" ")[2])] if " " in args.label else None
        if error is not None:
            raise error
        return CANARY

    written: list[bytes] = []
    records = [
        record(item if isinstance(item, str) else body(f"{CANARY} {item}", id="1", key=CANARY), str(number))
        for number, item in enumerate(batch)
    ]
    for item in records:
        item["messageAttributes"] = {"note": {"dataType": "String", "stringValue": CANARY}}
    read, write = os.pipe()
    stdout, stderr = os.dup(1), os.dup(2)
    try:
        # Both streams of the process, so that nothing that a library writes escapes.
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.close(write)
        app_of(aws, job_of(act)).lambda_handler()({"Records": records}, invocation())
    finally:
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(stdout)
        os.close(stderr)
        while data := os.read(read, 65_536):
            written.append(data)
        os.close(read)
    text = b"".join(written).decode()
    assert len(text.splitlines()) > len(batch)
    assert CANARY not in text


class Account(BaseModel):
    label: str = ""
    secret: str = CANARY


class Listing(Job[Account, str]):
    name = "listing"
    log_fields = ("label",)

    def run(self, args: Account, ctx: JobContext) -> str:
        return args.secret


def test_what_a_job_lists_is_logged_and_nothing_else(consumer: Consumer) -> None:
    assert consumer.run([record(body("listed", job="listing"), "m1")], Listing) == []
    assert consumer.lines[0]["fields"] == {"label": "listed"}
    assert CANARY not in consumer.text


def test_a_tenant_is_a_field_of_the_line_and_no_dimension(consumer: Consumer) -> None:
    consumer.run([record(body(tenant=CANARY), "m1")], job_of(raising(ValueError())))
    assert consumer.lines[0].pop("tenant") == CANARY
    assert CANARY not in json.dumps(consumer.lines)
    assert CANARY not in json.dumps(consumer.emf)


def test_every_kind_of_bad_body_has_a_line(consumer: Consumer) -> None:
    texts = [text for text in NOT_JOBS if len(text) < 1000]
    consumer.run([record(text, f"m{n}") for n, text in enumerate(texts)], job_of(nothing))
    assert [line["reason"] for line in consumer.lines] == [NOT_JOBS[text] for text in texts]
    (document,) = consumer.emf
    emf_is_well_formed(document)
    assert document["JobDead"] == len(texts)


# --- what a job meets -------------------------------------------------------------------------------------------------


def test_a_jobs_own_lines_carry_its_keys_and_not_its_neighbours(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    def act(args: Work, ctx: JobContext) -> None:
        if args.label == "1":
            ctx.logger.append_keys(customer="leak")
        ctx.logger.info("own line")
        if args.label == "1":
            raise ValueError

    handler = app_of(aws, job_of(act), config=stack(service="own-lines")).lambda_handler()
    handler({"Records": [record(body(n), n) for n in "123"]}, invocation())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["job_id"] for line in lines] == ["job-1", "job-2", "job-3"]
    assert [line.get("customer") for line in lines] == ["leak", None, None]
    assert {line["job"] for line in lines} == {"probe"}
    assert {line["service"] for line in lines} == {"own-lines"}
    assert [line["correlation_id"] for line in lines] == ["job-1", "job-2", "job-3"]


def test_a_jobs_own_metrics_are_written_when_it_ends(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    from aws_lambda_powertools.metrics import MetricUnit

    written: list[str] = []

    def act(args: Work, ctx: JobContext) -> None:
        written.append(capsys.readouterr().out)
        ctx.metrics.add_metric("Pages", MetricUnit.Count, int(args.label))
        raise ValueError

    app_of(aws, job_of(act)).lambda_handler()({"Records": [record(body(n), n) for n in "12"]}, invocation())
    written.append(capsys.readouterr().out)
    assert written[0] == ""
    assert [json.loads(text)["Pages"] for text in written[1:]] == [[1.0], [2.0]]


def test_metrics_that_cannot_be_written_do_not_run_the_job_again(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aws_lambda_powertools import Metrics

    def refuse(self: Metrics, raise_on_empty_metrics: bool = False) -> None:
        raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(Metrics, "flush_metrics", refuse)

    def act(args: Work, ctx: JobContext) -> None:
        assert ctx.metrics.metric_set == {}  # nothing of a neighbour's is left
        ctx.metrics.add_metric("Pages", "Count", 1)

    assert consumer.run([record(body(n), n) for n in "12"], job_of(act)) == []


def test_times_are_those_of_the_engine(consumer: Consumer) -> None:
    consumer.run([record(body(enqueued_at=NOW.isoformat()), "m1")], job_of(nothing))
    assert datetime.fromisoformat(consumer.lines[0]["timestamp"]) == NOW.astimezone(UTC)
    assert consumer.lines[0]["end_to_end_ms"] == 0.0
