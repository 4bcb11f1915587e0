"""What the documentation shows runs, and what it promises has the test that it names."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from .baking import REPOSITORY, Baker, Project
from .test_checks import check


def blocks(project: Project, page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", project.text(f"docs/{page}.md"), re.DOTALL)


def indented(code: str) -> str:
    return textwrap.indent(code, "    ").rstrip()


@pytest.fixture(scope="module")
def documented(baker: Baker, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the jobs of its documentation."""
    project = baker.bake(tmp_path_factory.mktemp("documented"))
    statements, its_test, _ = blocks(project, "effects")
    (mail,) = blocks(project, "dependencies")
    (thumbnails,) = blocks(project, "payloads")
    pictures, direct_function, alerts = blocks(project, "workloads")
    films, *_ = blocks(project, "worker")
    _, sales, test_of_sales = blocks(project, "time")
    for path, text in {
        "src/my_jobs/jobs/statements.py": statements,
        "src/my_jobs/jobs/mail.py": mail,
        "src/my_jobs/jobs/thumbnails.py": thumbnails,
        "src/my_jobs/jobs/pictures.py": pictures,
        "src/my_jobs/jobs/films.py": films,
        "src/my_jobs/jobs/alerts.py": alerts,
        "src/my_jobs/direct_function.py": direct_function,
        "src/my_jobs/jobs/sales.py": sales,
        "tests/jobs/test_statements.py": its_test,
        "tests/jobs/test_sales.py": test_of_sales,
    }.items():
        (project.folder / path).write_text(text, encoding="utf-8")
    return project


def run(project: Project, test: str) -> None:
    (project.folder / "tests/test_documented.py").write_text(test, encoding="utf-8")
    project.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_documented.py")
    (project.folder / "tests/test_documented.py").unlink()


def test_the_jobs_of_the_documentation_pass_the_projects_checks(documented: Project) -> None:
    assert "19 passed" in check(documented)


def test_a_dependency_that_is_down_uses_up_no_attempt(documented: Project) -> None:
    run(
        documented,
        """
from my_jobs.jobs import mail

def test_it(app, jobs, monkeypatch):
    calls = []
    def refuse(host):
        calls.append(host)
        raise ConnectionRefusedError
    monkeypatch.setattr(mail, "SMTP", refuse)
    for number in range(20):
        app.enqueue(mail.SendMail, mail.MailArgs(to="somebody@acme.example", text=str(number)))
    report = jobs.drain()
    assert len(calls) == 10
    assert {outcome.reason for _, outcome in report.outcomes[10:]} == {"circuit_open:smtp"}
    assert (report.dead, report.deferred >= 10) == (0, True)
""",
    )


def test_an_old_message_is_lifted(documented: Project) -> None:
    run(
        documented,
        """
import json
from my_jobs.runtime.testing import lambda_context, sqs_event

def test_it(jobs, monkeypatch):
    from my_jobs.jobs.thumbnails import MakeThumbnail
    from my_jobs.lambda_function import handler
    seen = []
    monkeypatch.setattr(MakeThumbnail, "run", lambda self, args, ctx: seen.append(args.sizes))
    old = json.dumps({"id": "1", "job": "images.thumbnail", "payload": {"image": "a.png", "size": 64}})
    assert handler(sqs_event([old]), lambda_context()) == {"batchItemFailures": []}
    assert seen == [[64]]
""",
    )


def test_keys_status_and_parked_jobs_work_as_shown(documented: Project) -> None:
    unique, status, release = blocks(documented, "keys")
    imports, _, calls = unique.partition("\n\n")
    run(
        documented,
        f"""
{imports}
from dataclasses import replace
from datetime import timedelta
import pytest
from my_jobs.jobs import statements
from my_jobs.runtime import Park
from my_jobs.runtime.dynamodb import _typed
{release}

def test_unique_and_status(jobs):
{indented(calls)}
{indented(status)}
    assert len(jobs.enqueued) == 1

def test_a_parked_job_is_released(app, jobs, monkeypatch):
    def load_lines(statement, faults=[PermissionError()]):
        if faults:
            raise faults.pop()
        return ["a line"]
    monkeypatch.setattr(statements, "load_lines", load_lines)
    monkeypatch.setattr(statements.WriteStatement, "on", {{PermissionError: Park("look")}})
    args = statements.StatementArgs(statement="acme/2026-04")
    app.enqueue(statements.WriteStatement, args, ttl=timedelta(hours=1))
    assert jobs.drain().parked == 1
    ((pk, item),) = jobs.table.items.items()

    class Client:
        def get_item(self, *, TableName, Key, ConsistentRead):
            assert Key == {{"pk": {{"S": pk}}}}
            return {{"Item": {{name: _typed(value) for name, value in item.items()}}}}

        def send_message(self, *, QueueUrl, MessageBody):
            attributes = {{"workload": {{"StringValue": "default"}}}}
            entry = {{"Id": "0", "MessageBody": MessageBody, "MessageAttributes": attributes}}
            jobs.send_message_batch(QueueUrl=QueueUrl, Entries=[entry])

    jobs.advance(hours=5)
    release(Client(), Client(), "jobs", "queue", pk)
    assert jobs.drain().succeeded == 1
""",
    )


def test_an_unknown_effect_is_resolved_as_shown(documented: Project) -> None:
    _, _, resolve = blocks(documented, "effects")
    run(
        documented,
        f"""
from my_jobs.jobs import statements
{resolve}

def test_it(app, jobs, monkeypatch):
    def print_letter(statement):
        raise TimeoutError
    monkeypatch.setattr(statements, "print_letter", print_letter)
    app.enqueue(statements.WriteStatement, statements.StatementArgs(statement="acme/2026-05"))
    assert jobs.drain().parked == 1
    ((pk, item),) = jobs.table.items.items()
    was_printed(jobs.table, pk)
    entry = {{"Id": "0", "MessageAttributes": {{"workload": {{"StringValue": "default"}}}}}}
    again = item["body"].replace('"generation":0', '"generation":1')
    jobs.send_message_batch(QueueUrl="queue", Entries=[{{**entry, "MessageBody": again}}])
    assert jobs.drain().succeeded == 1
""",
    )


def test_delays_work_as_shown(documented: Project) -> None:
    delays, *_ = blocks(documented, "time")
    rest, _, calls = delays.partition("\n\napp.enqueue")
    run(
        documented,
        f"{rest}\n\ndef test_it(jobs):\n{indented('app.enqueue' + calls)}\n"
        "    assert jobs.drain().succeeded == 0\n    assert jobs.drain(within=timedelta(minutes=10)).succeeded == 2\n",
    )


def test_a_workload_is_split_off_by_one_word_of_the_class(documented: Project) -> None:
    run(
        documented,
        """
from my_jobs.jobs.pictures import PictureArgs, ResizePicture
from my_jobs.lambda_function import handler
from my_jobs.runtime.testing import lambda_context, sqs_event

def test_it(app, jobs, monkeypatch):
    app.enqueue(ResizePicture, PictureArgs(picture="a"))
    assert jobs.assert_enqueued(ResizePicture).workload == "pictures"
    monkeypatch.setattr(ResizePicture, "workload", None)
    app.enqueue(ResizePicture, PictureArgs(picture="b"))
    assert jobs.assert_enqueued(ResizePicture, picture="b").workload == "default"
    # Whatever the class says now, the function that has the message runs it.
    assert handler(sqs_event([jobs.body(ResizePicture, picture="c")]), lambda_context()) == {"batchItemFailures": []}
""",
    )


def test_a_workload_without_a_queue_works_as_shown(documented: Project) -> None:
    run(
        documented,
        """
import json
from dataclasses import replace
from datetime import timedelta
from my_jobs.jobs.alerts import AlertArgs, NotifyOnCall
from my_jobs.runtime.direct_entry import job_bodies
from my_jobs.runtime.testing import lambda_context

def test_retries_in_code(jobs):
    def waits(attempt):
        return NotifyOnCall.retry.delay(attempt, None).total_seconds()
    assert [waits(attempt) for attempt in (1, 2, 9)] == [30, 45, 150]
    assert NotifyOnCall.retry.max_attempts == 10

def test_it_comes_again_through_the_machine(app, jobs, monkeypatch):
    from my_jobs.direct_function import handler
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:alerts-delay"
    vars(app)["config"] = replace(app.config, queue_url="", delay_machine_arn=machine)
    started = []
    class Client:
        def start_execution(self, **arguments):
            started.append(json.loads(arguments["input"]))
    app.client = lambda service: Client()
    def busy(self, args, ctx):
        if ctx.attempt == 1:
            raise ConnectionError
    monkeypatch.setattr(NotifyOnCall, "run", busy)
    def event(body, number):
        return {"Records": [{"EventSource": "aws:sns", "Sns": {"MessageId": f"n-{number}", "Message": body}}]}
    body = jobs.body(NotifyOnCall, text="fire")
    assert handler(event(body, 1), lambda_context()) is None
    (trip,) = started
    jobs.advance(seconds=31)
    assert handler(event(trip["body"], 2), lambda_context()) is None
    assert len(started) == 1
    record = {"requestContext": {"condition": "RetriesExhausted"}, "requestPayload": event(body, 1)}
    assert job_bodies(json.dumps(record)) == [body]
""",
    )


def test_an_occurrence_runs_once_and_the_next_one_too_as_shown(documented: Project) -> None:
    run(
        documented,
        """
from datetime import timedelta
from my_jobs.jobs.sales import CountSales

def test_it(app, jobs):
    nine = jobs.now().replace(microsecond=0)
    entry = {"Id": "0", "MessageAttributes": {"workload": {"StringValue": "default"}}}
    for moment in (nine, nine, nine + timedelta(hours=1), nine - timedelta(hours=7)):
        body = jobs.body(CountSales, occurrence=moment, shop="berlin")
        jobs.send_message_batch(QueueUrl="queue", Entries=[{**entry, "MessageBody": body}])
    report = jobs.drain()
    assert (report.succeeded, report.duplicate, report.discarded) == (2, 1, 1)
    assert app.status(job=CountSales, key="berlin", occurrence=nine).state == "done"
""",
    )


def test_the_request_travels_as_shown(documented: Project) -> None:
    (request,) = blocks(documented, "context")
    imports, _, call = request.partition("\n\n")
    run(
        documented,
        f"{imports}\n\ndef test_it(jobs):\n{indented(call)}\n"
        "    (sent,) = jobs.enqueued\n    assert sent.envelope.context['user'] == 'u-1'\n",
    )


def test_a_jobs_own_line_and_metric_are_written_as_shown(documented: Project) -> None:
    (importing,) = blocks(documented, "signals")
    path = documented.folder / "src/my_jobs/jobs/rows.py"
    path.write_text(importing, encoding="utf-8")
    run(
        documented,
        """
import json
from my_jobs.jobs.rows import ImportRows

def test_it(jobs, capsys):
    assert jobs.run(ImportRows, rows=["a", "b"]).kind == "succeeded"
    line, metric = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert (line["message"], line["count"], line["job"]) == ("importing", 2, "rows.import")
    assert metric["RowsImported"] == [2.0]
    assert metric["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
""",
    )
    path.unlink()


def test_every_metric_of_the_runtime_is_documented(project: Project) -> None:
    table = project.text("docs/signals.md").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (Count|Milliseconds) \|", table, re.MULTILINE))
    observer = project.text(project.runtime / "observability.py")
    written = set(re.findall(r'"(Job[A-Z][a-z]+|CircuitOpen|Attempt|[A-Z][A-Za-z]+Ms)"', observer))
    for file in project.files():
        if project.runtime in file.parents:
            written |= set(re.findall(r'observer\.count\("(\w+)"\)', project.text(file)))
    assert len(written) > 12
    assert written - documented.keys() == set()
    assert documented.keys() - written <= {"JobStalled"}  # of the worker
    for name, unit in documented.items():
        assert (unit == "Milliseconds") == name.endswith("Ms")


def test_the_job_and_the_test_of_the_repositorys_readme_work(baker: Baker, tmp_path: Path) -> None:
    project = baker.bake(tmp_path)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    job, its_test, _ = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (project.folder / "src/my_jobs/jobs/billing.py").write_text(job, encoding="utf-8")
    (project.folder / "tests/jobs/test_billing.py").write_text(its_test, encoding="utf-8")
    done = project.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/jobs/test_billing.py")
    assert "1 passed" in done.stdout
    project.python("-m", "ruff", "check", "--no-cache", "src")


READMES = {"generated": "template/{{cookiecutter.project_slug}}/README.md", "repository": "README.md"}


@pytest.mark.parametrize("readme", READMES)
def test_every_promise_names_tests_that_exist(readme: str) -> None:
    text = (REPOSITORY / READMES[readme]).read_text(encoding="utf-8")
    table = text.partition("\n## What you can rely on\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[1:]
    assert len(rows) > 10
    for promise, tests in rows:
        if promise.strip("-") == "":
            continue
        named = re.findall(r"`([^`]+)`", tests)
        assert named, promise
        for name in named:
            path, _, function = name.partition("::")
            assert exists(REPOSITORY / path, function), f"{promise}: {name}"


def exists(path: Path, function: str) -> bool:
    if not path.exists():
        return False
    return not function or f"\ndef {function}(" in path.read_text(encoding="utf-8")


def test_the_pages_are_listed_and_name_paths_that_exist(project: Project) -> None:
    pages = {file.as_posix() for file in project.files() if file.parts[0] == "docs"}
    assert set(re.findall(r"\((docs/\w+\.md)\)", project.text("README.md"))) == pages
    for page in pages:
        for path in re.findall(r"`((?:src|tests|terraform)/[\w/.]+)`", project.text(page)):
            assert (project.folder / path).exists(), f"{page}: {path}"


def test_a_long_job_works_as_shown(documented: Project) -> None:
    run(
        documented,
        """
from my_jobs.jobs.films import ConvertFilm
from my_jobs.runtime import JobContext

def test_it(jobs, monkeypatch):
    assert jobs.run(ConvertFilm, film="f", scenes=3).result == 3
    monkeypatch.setattr(JobContext, "stopping", True)
    out = jobs.run(ConvertFilm, film="f", scenes=3)
    assert (out.kind, out.reason) == ("defer", "worker_stopping")
""",
    )


def test_a_worker_runs_inside_another_process_as_shown(documented: Project) -> None:
    _, inside, _ = blocks(documented, "worker")
    imports, _, call = inside.partition("\n\nrun_worker")
    call = "run_worker" + call
    assert "minutes=2" in call
    run(
        documented,
        f"""
{imports}
from my_jobs.jobs.films import ConvertFilm

class Queue:
    def __init__(self, body):
        self.bodies, self.deleted = [body], []

    def receive_message(self, **_):
        if not self.bodies:
            return {{}}
        message = {{"MessageId": "1", "ReceiptHandle": "r-1", "Body": self.bodies.pop()}}
        return {{"Messages": [{{**message, "Attributes": {{"ApproximateReceiveCount": "1"}}}}]}}

    def get_queue_attributes(self, **_):
        return {{"Attributes": {{"QueueArn": "arn:aws:sqs:us-east-1:123456789012:q"}}}}

    def delete_message_batch(self, *, QueueUrl, Entries):
        self.deleted += [entry["ReceiptHandle"] for entry in Entries]
        return {{"Successful": [{{"Id": entry["Id"]}} for entry in Entries]}}

    def delete_message(self, *, QueueUrl, ReceiptHandle):
        self.deleted.append(ReceiptHandle)

def test_it(jobs, monkeypatch):
    queue = Queue(jobs.body(ConvertFilm, film="f", scenes=2))
    monkeypatch.setattr(ConvertFilm, "isolate", "thread")
    app.client = lambda service: queue
{indented(call.replace("minutes=2", "seconds=1"))}
    assert queue.deleted == ["r-1"]
""",
    )


def test_a_cluster_is_started_on_the_depth_of_the_queue(documented: Project) -> None:
    _, _, starter = blocks(documented, "worker")
    run(
        documented,
        f"""
{starter}

class Queue:
    depth = "0"

    def get_queue_attributes(self, *, QueueUrl, AttributeNames):
        assert QueueUrl == "queue"
        return {{"Attributes": {{name: self.depth for name in AttributeNames}}}}

def test_it():
    queue, started = Queue(), []
    running = lambda: bool(started)
    start = lambda: started.append("cluster")
    assert start_if_needed(queue, "queue", running, start) is False
    queue.depth = "3"
    assert start_if_needed(queue, "queue", running, start) is True
    assert start_if_needed(queue, "queue", running, start) is False
    assert started == ["cluster"]
""",
    )
