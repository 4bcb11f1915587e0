"""The pytest plugin of a generated project: the real engine in memory, with a clock that the test moves."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from runtime.app import App
from runtime.context import JobContext
from runtime.delivery import Delivery
from runtime.job import JobClass
from runtime.lambda_entry import deliveries
from runtime.outcome import Defer, Kind, Park, Permanent
from runtime.policy import fixed
from runtime.publisher import PublishError
from runtime.testing import Jobs, delay_workloads, lambda_context, sqs_event
from runtime.testing import jobs as fixture

from .helpers import FIFO_ARN, ROOT, SOURCE, Aws, Work, app_of, body, failures, job_of, nothing, seconds

pytest_plugins = ["pytester"]


@pytest.fixture
def app(aws: Aws) -> App:
    return app_of(aws)


# The plugin's own fixtures under the names that projects use, without loading the plugin for the whole test run.
jobs = fixture
__all__ = ["delay_workloads"]


def register(app: App, job: JobClass) -> JobClass:
    app.registry.add(job)
    return job


def test_a_job_runs_and_its_outcome_comes_back(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(lambda args, ctx: args.label.upper()))
    outcome = jobs.run(job, label="a")
    assert (outcome.kind, outcome.result) == (Kind.SUCCEEDED, "A")


def test_run_options_are_not_payload(app: App, jobs: Jobs) -> None:
    seen: list[Any] = []

    def act(args: Work, ctx: JobContext) -> None:
        seen.append((args, ctx.attempt, ctx.tenant, ctx.remaining() < seconds(10)))

    register(app, job_of(act))
    jobs.run(app.registry.find("probe") or job_of(act), attempt=3, tenant="acme", remaining=seconds(9), label="a")
    assert seen == [(Work(label="a"), 3, "acme", True)]


def test_a_retry_tells_its_delay(app: App, jobs: Jobs) -> None:
    def act(args: Work, ctx: JobContext) -> None:
        raise ValueError

    job = register(app, job_of(act, retry=fixed(seconds(90), max_attempts=3)))
    assert (jobs.run(job).kind, jobs.run(job).delay) == (Kind.RETRY, seconds(90))
    assert jobs.run(job, attempt=3).reason == "attempts_exhausted"


def test_a_payload_takes_the_way_through_json(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(lambda args, ctx: args.label))
    outcome = jobs.run(job, label=datetime(2030, 1, 1, tzinfo=UTC))
    assert outcome.result == "2030-01-01T00:00:00Z"  # text, as it would arrive
    assert jobs.run(job, label=5).reason == "invalid_payload"


def test_the_clock_moves_only_forward(app: App, jobs: Jobs) -> None:
    before = jobs.now()
    jobs.advance(hours=3)
    assert jobs.now() - before >= timedelta(hours=3)
    assert app.now() - before >= timedelta(hours=3)
    with pytest.raises(ValueError, match="time does not go backwards"):
        jobs.advance(seconds=-1)


def test_a_deadline_passes_with_the_clock(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(nothing, ttl=timedelta(hours=1)))
    app.enqueue(job, Work())
    app.enqueue(job, Work(), ttl=timedelta(hours=9))
    jobs.advance(hours=2)
    report = jobs.drain()
    assert (report.parked, report.succeeded) == (1, 1)


def test_draining_runs_what_is_due_with_its_follow_up_jobs(app: App, jobs: Jobs) -> None:
    def act(args: Work, ctx: JobContext) -> None:
        if len(args.label) < 3:
            ctx.enqueue(job, Work(label=args.label + "x"))

    job = register(app, job_of(act))
    app.enqueue(job, Work(label="x"))
    report = jobs.drain()
    assert report.succeeded == 3
    assert [outcome.kind for _, outcome in report.outcomes] == [Kind.SUCCEEDED] * 3
    assert jobs.assert_enqueued(job, label="xxx").payload == {"label": "xxx"}
    assert jobs.drain().outcomes == []


@pytest.mark.parametrize(
    ("label", "field"),
    [("dead", "dead"), ("park", "parked"), ("defer", "deferred"), ("retry", "retried"), ("", "succeeded")],
)
def test_a_drain_counts_outcomes(app: App, jobs: Jobs, label: str, field: str) -> None:
    errors = {"dead": Permanent("x"), "park": Park("x"), "defer": Defer(seconds(9)), "retry": ValueError()}

    def act(args: Work, ctx: JobContext) -> None:
        if args.label in errors:
            raise errors[args.label]

    job = register(app, job_of(act, retry=fixed(seconds(9), max_attempts=5)))
    app.enqueue(job, Work(label=label))
    report = jobs.drain()
    assert {name: value for name, value in vars(report).items() if isinstance(value, int) and value} == {field: 1}


def test_draining_within_a_span_moves_the_clock_to_each_retry(app: App, jobs: Jobs) -> None:
    times: list[datetime] = []

    def act(args: Work, ctx: JobContext) -> None:
        times.append(ctx.now())
        if ctx.attempt < 3:
            raise ValueError

    job = register(app, job_of(act, retry=fixed(timedelta(minutes=10), max_attempts=5)))
    app.enqueue(job, Work(), delay=timedelta(minutes=5))
    start = jobs.now()
    assert jobs.drain().outcomes == []  # not due
    report = jobs.drain(within=timedelta(minutes=16))
    assert (report.retried, report.succeeded) == (2, 0)
    assert jobs.drain(within=timedelta(minutes=10)).succeeded == 1
    minutes = [round((moment - start) / timedelta(minutes=1)) for moment in times]
    assert minutes == [5, 15, 25]


def test_a_loop_of_jobs_is_told(app: App, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.testing.MAX_RUNS", 50)
    job: JobClass = register(app, job_of(lambda args, ctx: ctx.enqueue(job, args)))
    app.enqueue(job, Work())
    with pytest.raises(AssertionError, match="still not drained after 50 deliveries: a loop of jobs"):
        jobs.drain()


def test_enqueued_jobs_are_found_by_some_of_their_fields(app: App, jobs: Jobs) -> None:
    job = register(app, job_of(nothing, group=staticmethod(lambda args: "g"), workload="email"))
    other = register(app, job_of(nothing, name="other"))
    app.enqueue(job, Work(label="a"), tenant="acme", delay=seconds(30))
    found = jobs.assert_enqueued(job)
    assert (found.workload, found.group, found.envelope.tenant) == ("email", "g", "acme")
    assert seconds(29) < found.delay <= seconds(30)
    assert jobs.assert_enqueued(job, label="a") is found
    jobs.refute_enqueued(other)
    jobs.refute_enqueued(job, label="b")
    with pytest.raises(
        AssertionError, match=r"no 'probe' with \{'label': 'b'\} was enqueued; there is \[\{'label': 'a'\}\]"
    ):
        jobs.assert_enqueued(job, label="b")
    with pytest.raises(AssertionError, match=r"no 'other' .* there is only \['probe'\]"):
        jobs.assert_enqueued(other)
    with pytest.raises(AssertionError, match="'probe' was enqueued with"):
        jobs.refute_enqueued(job, label="a")


def test_the_rules_of_publishing_hold_in_tests(app: App, jobs: Jobs) -> None:
    with pytest.raises(PublishError):
        app.enqueue(register(app, job_of(nothing)), Work(), delay=timedelta(hours=1))


@pytest.mark.parametrize("delay_workloads", [("email",)])
def test_a_workload_with_a_delay_machine_keeps_jobs_and_retries_for_days(app: App, jobs: Jobs) -> None:
    def act(args: Work, ctx: JobContext) -> None:
        if ctx.attempt == 1:
            raise ValueError

    job = register(app, job_of(act, retry=fixed(timedelta(days=1), max_attempts=2)))
    app.enqueue(job, Work(), delay=timedelta(days=11))
    assert timedelta(days=10, hours=23) < jobs.enqueued[0].delay <= timedelta(days=11, seconds=1)
    jobs.advance(days=10)
    assert jobs.drain().outcomes == []
    jobs.advance(days=1, seconds=1)
    assert jobs.drain().retried == 1
    assert jobs.drain(within=timedelta(days=1)).succeeded == 1


def test_a_handler_runs_whole_events(app: App, jobs: Jobs) -> None:
    register(app, job_of(nothing))
    handler = app.lambda_handler()
    assert failures(handler(sqs_event([body("1"), "no job", body("2")]), lambda_context())) == []
    assert [letter["MessageBody"] for letter in jobs.dead_letters] == ["no job"]


def test_an_event_is_what_lambda_sends() -> None:
    event = sqs_event(["a", "b"], queue_arn=FIFO_ARN, groups=["A", None], receive_count=3, attributes={"job": "probe"})
    first, second = deliveries(event, 10)
    assert (first.body, first.group, first.fifo, first.receive_count) == ("a", "A", True, 3)
    assert (second.group, second.attributes) == (None, {"job": {"DataType": "String", "StringValue": "probe"}})
    assert isinstance(first, Delivery)
    assert first.message_id != second.message_id
    context = lambda_context(remaining=seconds(7), request_id="r")
    assert 0 < context.get_remaining_time_in_millis() <= 7_000
    assert context.aws_request_id == "r"


def test_the_app_is_left_as_it_was(aws: Aws) -> None:
    app = app_of(aws)
    before = dict(vars(app))
    generator: Iterator[Jobs] = fixture.__wrapped__(app, ())  # type: ignore[attr-defined]
    tester = next(generator)
    assert app.client("sns") is tester
    assert list(generator) == []
    assert vars(app) == before


PROJECT = {
    "acme/__init__.py": "",
    "acme/app.py": """
        from runtime import App
        app = App("acme", jobs="acme.jobs", workload="email")
    """,
    "acme/jobs/__init__.py": "",
    "acme/jobs/mail.py": """
        from pydantic import BaseModel
        from runtime import Job, JobContext
        class Mail(BaseModel):
            to: str
        class Send(Job[Mail, str]):
            name = "mail.send"
            def run(self, args: Mail, ctx: JobContext) -> str:
                ctx.enqueue(Archive, args)
                return args.to
        class Archive(Job[Mail, None]):
            name = "mail.archive"
            def run(self, args: Mail, ctx: JobContext) -> None: ...
    """,
    "conftest.py": """
        import pytest
        from acme.app import app as application
        pytest_plugins = ["runtime.testing"]
        @pytest.fixture
        def app():
            return application
    """,
    "test_mail.py": """
        from acme.jobs.mail import Archive, Send
        def test_one(jobs):
            assert jobs.run(Send, to="zoe").result == "zoe"
            jobs.assert_enqueued(Archive, to="zoe")
        def test_two_starts_empty(jobs):
            jobs.refute_enqueued(Archive)
            assert jobs.drain().succeeded == 0
        def test_three_fails(jobs):
            jobs.assert_enqueued(Archive, to="zoe")
    """,
}


def test_a_project_uses_the_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    import textwrap

    for name, content in PROJECT.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content))
    monkeypatch.setenv("PYTHONPATH", f"{pytester.path}:{SOURCE}:{ROOT}")
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*no 'mail.archive' with {'to': 'zoe'} was enqueued; there is only *"])
