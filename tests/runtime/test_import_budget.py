"""A cold start imports what the arriving job needs, and nothing else: this is most of its time."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .helpers import ROOT, SOURCE

HEAVY = ("boto3", "botocore", "asyncio", "aws_lambda_powertools", "aws_xray_sdk", "pydantic_settings", "logging.config")
FILES = {
    "acme/__init__.py": "",
    "acme/app.py": 'from runtime import App\napp = App("acme", jobs="acme.jobs", workload="email")\n',
    "acme/lambda_function.py": "from .app import app\nhandler = app.lambda_handler(acknowledge={acknowledge!r})\n",
    "acme/direct_function.py": "from .app import app\nhandler = app.direct_handler()\n",
    "acme/jobs/__init__.py": "",
    "acme/jobs/mail.py": """
        from pydantic import BaseModel
        from runtime import Job, JobContext
        class Mail(BaseModel):
            to: str
        class Send(Job[Mail, None]):
            name = "mail.send"
            def run(self, args: Mail, ctx: JobContext) -> None:
                if args.to == "nobody":
                    raise ValueError
        class SendLater(Job[Mail, None]):
            name = "mail.later"
            async def run(self, args: Mail, ctx: JobContext) -> None: ...
    """,
    "main.py": """
        import json, sys
        from types import SimpleNamespace
        def heavy(step):
            print("HEAVY", step, sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)
        from acme.lambda_function import handler
        heavy("import")
        context = SimpleNamespace(aws_request_id="r", get_remaining_time_in_millis=lambda: 60_000)
        def call(*to, job="mail.send"):
            records = [
                dict(
                    messageId=str(number), receiptHandle="h", eventSource="aws:sqs", eventSourceARN="arn",
                    attributes={{}},
                    body=json.dumps(dict(id=str(number), job=job, payload=dict(to=name))),
                )
                for number, name in enumerate(to)
            ]
            return handler({{"Records": records}}, context)
        call("a")
        heavy("one")
        call("a", "b", "c")
        heavy("three")
        from acme.direct_function import handler as direct
        message = json.dumps(dict(id="d", job="mail.send", payload=dict(to="a")))
        direct({{"Records": [dict(EventSource="aws:sns", Sns=dict(MessageId="n", Message=message))]}}, context)
        heavy("direct")
        call("a", job="mail.later")
        heavy("async")
    """,
}


def steps(folder: Path, acknowledge: str) -> dict[str, set[str]]:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = textwrap.dedent(content)
        path.write_text(text.format(acknowledge=acknowledge, heavy=HEAVY) if "{" in text else text)
    environment = {
        "PYTHONPATH": f"{folder}:{SOURCE}:{ROOT}",
        "PATH": "/usr/bin:/bin",
        "JOBS_QUEUE_URL": "http://127.0.0.1:9/queue",
        "JOBS_DLQ_URL": "http://127.0.0.1:9/dlq",
        "JOBS_DELAY_MACHINE_ARN": "arn:aws:states:eu-west-1:123456789012:stateMachine:acme-delay",
        "AWS_REGION": "eu-west-1",
    }
    result = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found: dict[str, set[str]] = {}
    for line in result.stderr.splitlines():
        if line.startswith("HEAVY"):
            _, step, names = line.split(" ", 2)
            found[step] = {name.strip("' ") for name in names.strip("[]").split(",") if name.strip("' ")}
    return found


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return steps(tmp_path_factory.mktemp("batch"), "batch")


def test_importing_the_handler_is_light(batch: dict[str, set[str]]) -> None:
    assert batch["import"] == set()


def test_jobs_that_only_succeed_need_no_aws_client(batch: dict[str, set[str]]) -> None:
    assert batch["one"] == set()
    assert batch["three"] == set()
    assert batch["direct"] == set()


def test_an_async_job_needs_asyncio_only(batch: dict[str, set[str]]) -> None:
    assert batch["async"] == {"asyncio"}


def test_a_batch_of_one_needs_no_delete_call(tmp_path: Path) -> None:
    found = steps(tmp_path, "each")
    assert found["one"] == set()
    assert "boto3" in found["three"]  # so that this test can tell the difference


def test_a_failed_job_needs_no_asyncio() -> None:
    script = (
        "import sys; from random import Random; from runtime.policy import decide, full_jitter\n"
        "decide(ValueError(), 1, retry=full_jitter(), on={}, regenerable=False, random=Random())\n"
        "assert 'asyncio' not in sys.modules\n"
    )
    environment = {"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
