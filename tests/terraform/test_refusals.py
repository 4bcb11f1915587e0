"""A refusal names the workload, the value, the limit and the remedy.

Terraform's own tests can expect a failure but not its text, so the text is read from the output here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .harness import Terraform

LAMBDA = {"artifact": {"filename": "tests/terraform/fixtures/artifact.zip"}, "handler": "app.handler"}

PAGER = "arn:aws:sns:eu-west-1:123456789012:pager"


def workload(**changes: Any) -> dict[str, Any]:
    return {"workloads": {"email": {"lambda": LAMBDA} | changes}}


def function(**changes: Any) -> dict[str, Any]:
    return workload(**{"lambda": LAMBDA | changes})


def queue(fifo: bool = False, **settings: Any) -> dict[str, Any]:
    return workload(fifo=fifo, queue=settings)


def schedule(**fields: Any) -> dict[str, Any]:
    return {
        "schedules": {"nightly": {"workload": "email", "job": "report.build", "expression": "rate(1 day)"} | fields}
    }


# Inputs => what the message must contain, in any order.
REFUSALS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "stack name": ({"name": "Shop"}, ['"Shop"', "lower-case"]),
    "key": ({"workloads": {"E_mail": {"lambda": LAMBDA}}}, ['"E_mail"', "1 to 64", "Rename"]),
    "dlq key": ({"workloads": {"a-dlq": {"lambda": LAMBDA}}}, ['"a-dlq"', "dead-letter queue", "Rename"]),
    "fixed name": (workload(name="shop.email"), ['"email"', '"shop.email"', "1 to 64", "Leave it out"]),
    "same name": (
        {"workloads": {"email": {"lambda": LAMBDA}, "mail": {"lambda": LAMBDA, "name": "shop-email"}}},
        ['"email"', '"mail"', "shop-email", "Rename"],
    ),
    "no artifact": (function(artifact={}), ['"email"', "exactly one", "image_uri"]),
    "not built": (function(artifact={"filename": "no.zip"}), ['"email"', "no.zip", "make package"]),
    "artifact is a folder": (
        function(artifact={"filename": "tests/terraform/fixtures"}),
        ['"email"', "tests/terraform/fixtures is a folder", "make package"],
    ),
    "handler without a dot": (function(handler="handler"), ["shop-email", 'is "handler"', "my_jobs.lambda_function"]),
    "old runtime": (function(runtime="python3.10"), ["shop-email", '"python3.10"', "python3.11 or newer", "Package"]),
    "policy that is no ARN": (
        function(policy_arns={"mail": "mail-policy"}),
        ["shop-email", 'mail is "mail-policy"', "arn:aws:iam::"],
    ),
    "metrics namespace": ({"metrics_namespace": "AWS/Jobs"}, ['"AWS/Jobs"', "AWS's services", "Choose another"]),
    "no handler": (function(handler=None), ["shop-email", "handler"]),
    "timeout": (function(timeout_seconds=901), ['"email"', "901", "900", "Split"]),
    "architecture": (function(architecture="amd64"), ["shop-email", '"amd64"', "x86_64"]),
    "memory": (function(memory_mb=64), ["shop-email", "64", "128 to 10240"]),
    "log retention": (function(log_retention_days=0), ["shop-email", "For ever", "3653"]),
    "environment": (function(environment={"AWS_REGION": "x"}), ["shop-email", "AWS_REGION", "Rename"]),
    "visibility": (queue(visibility_timeout_seconds=300), ['"email"', "300", "360", "43200", "Leave it out"]),
    "visibility with window": (
        queue(visibility_timeout_seconds=360, batch_window_seconds=20),
        ['"email"', "360", "380", "window 20"],
    ),
    "receives": (queue(max_receive_count=2), ['"email"', "is 2", "3 to 1000", "max_attempts"]),
    "retention too short": (queue(retention_seconds=59), ['"email"', "is 59", "60", "1209600"]),
    "retention too long": (queue(retention_seconds=1209601), ['"email"', "1209601", "60", "1209600", "Lower it"]),
    "batch without window": (queue(batch_size=100), ['"email"', "100", "above 10", "at least 1", "Set a window"]),
    "FIFO batch": (queue(fifo=True, batch_size=11), ['"email"', "11", "10 on a FIFO"]),
    "FIFO window": (queue(fifo=True, batch_window_seconds=5), ['"email"', "is 5", "FIFO", "set it to 0"]),
    "batch": (queue(batch_size=10001, batch_window_seconds=300), ['"email"', "10001", "10000"]),
    "window": (queue(batch_window_seconds=301), ['"email"', "301", "0 to 300"]),
    "concurrency 1": (workload(ceiling={"max_concurrency": 1}), ['"email"', "is 1", "2 and more", "fifo = true"]),
    "two ceilings": (
        workload(ceiling={"max_concurrency": 20, "pollers": {"min": 2, "max": 4}}),
        ['"email"', "both", "Remove one"],
    ),
    "pollers": (workload(ceiling={"pollers": {"min": 1, "max": 4}}), ['"email"', "1 to 4", "at least 2"]),
    "reservation": (
        workload(ceiling={"max_concurrency": 20}, reserved_concurrency=19),
        ['"email"', "19", "20", "Lower the ceiling"],
    ),
    "budget": (
        {"workloads": {k: {"lambda": LAMBDA} for k in ("a", "b")}, "account_concurrency_budget": 19},
        ["19", "20", "a 10, b 10", "Lower ceilings"],
    ),
    "AWS managed key": (
        {"kms_key": {"arn": "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs"}},
        ["alias/aws/sqs", "customer managed", "vanish"],
    ),
    "claims expire too early": (
        {"claim_check": {"expire_days": 18}},
        ['"email"', "is 18", "at least 19", "345600", "14 days", "Raise expire_days"],
    ),
    "bucket name": ({"claim_check": {"bucket_name": "acme.jobs"}}, ["shop-claims", '"acme.jobs"', "no dots"]),
    "pause without table": (workload(pause_on_open=True), ['"email"', "no job_state", "Set job_state = {}"]),
    "name of a delay machine": (
        {"workloads": {"email": {"lambda": LAMBDA}, "email-delay": {"lambda": LAMBDA}}},
        ['"email-delay"', "shop-email-delay", '"email"', "Rename"],
    ),
    "schedule of an unknown workload": (
        schedule(workload="mail"),
        ['"nightly"', 'no workload "mail"', 'it has "email"', "Correct the schedule"],
    ),
    "name of the schedules": (
        schedule() | {"workloads": {"email": {"lambda": LAMBDA}, "schedules": {"lambda": LAMBDA}}},
        ["shop-schedules", "Rename its key"],
    ),
    "schedule with a Unix cron": (
        schedule(expression="cron(*/5 * * * *)"),
        ['"nightly"', '"cron(*/5 * * * *)"', "six fields", "cron(0 9 ? * MON-FRI *)"],
    ),
    "zone of a schedule": (schedule(timezone="Europe/ Paris"), ['"nightly"', '"Europe/ Paris"', '"Europe/Paris"']),
    "payload of a schedule": (schedule(payload_json="[1]"), ['"nightly"', "[1]", "JSON object", "jsonencode"]),
    "group on a standard queue": (schedule(message_group_id="g"), ['"nightly"', '"g"', "FIFO", "Leave it out"]),
    "job of a schedule": (schedule(job="ReportBuild"), ['"nightly"', '"ReportBuild"', "wire name"]),
    "version of a schedule": (schedule(version=1.5), ['"nightly"', "version is 1.5", "whole number"]),
    "key of a schedule": (
        {"schedules": {"Nightly": schedule()["schedules"]["nightly"]}},
        ['"Nightly"', "1 to 50", "Rename"],
    ),
    "window of a schedule": (schedule(flexible_window_minutes=0), ['"nightly"', "is 0", "1 to 1440", "Leave it out"]),
    "start of a schedule": (schedule(start="2027-01-05"), ['"nightly"', '"2027-01-05"', "2027-01-05T08:00:00Z"]),
    "end of a schedule": (
        schedule(start="2027-01-05T08:00:00Z", end="2027-01-04T08:00:00Z"),
        ['"nightly"', "2027-01-05T08:00:00Z is not before end 2027-01-04T08:00:00Z", "Correct"],
    ),
    "retry of a schedule": (
        schedule(retry={"max_attempts": 186}),
        ['"nightly"', "186 attempts", "0 to 185", "60 to 86400"],
    ),
    "heartbeat of a schedule": (
        schedule(heartbeat={"period_seconds": 604800}),
        ['"nightly"', "604800", "403200", "seven days"],
    ),
    "context attribute in a payload": (
        schedule(payload_json='{"at":"<aws.scheduler.scheduled-time>"}'),
        ['"nightly"', "ctx.occurrence", "take it out"],
    ),
    "silent alarms": (
        {"alarm_actions": {}},
        ["alarm_actions names nobody", "{ page = [aws_sns_topic.alarms.arn] }", "allow_silent_alarms = true"],
    ),
    "too many actions": (
        {"alarm_actions": {"page": [PAGER] * 6}},
        ["Stack shop", "6 for page", "takes 5", "one SNS topic"],
    ),
    "age that no message reaches": (
        workload(alarms={"max_age_seconds": 345600}),
        ["shop-email", "max_age_seconds is 345600", "retention_seconds 345600", "Lower it"],
    ),
    "age below the measure": (workload(alarms={"max_age_seconds": 59}), ["shop-email", "is 59", "at least 60"]),
    "depth": (workload(alarms={"max_depth": 0}), ["shop-email", "max_depth is 0", "at least 1", "Leave it out"]),
    "latency": (
        workload(alarms={"max_end_to_end_seconds": 0}),
        ["shop-email", "max_end_to_end_seconds is 0", "above 0", "Leave it out"],
    ),
    "error rate": (workload(alarms={"error_rate_percent": 100}), ["shop-email", "is 100", "below 100"]),
    "discards": (workload(alarms={"max_discarded": -1}), ["shop-email", "is -1", "0"]),
    "publisher": ({"publishers": {"account_ids": ["*"]}}, ['"*"', "12 digits"]),
}


@pytest.fixture(scope="module")
def messages(tf: Terraform) -> dict[str, str]:
    """One file per refusal (an error ends its file), all in one run of Terraform."""
    folder = tf.tree / "tests" / "refusals"
    folder.mkdir()
    for number, (inputs, _) in enumerate(REFUSALS.values()):
        variables = {"name": "shop", "alarm_actions": {"page": [PAGER]}, **workload(), **inputs}
        (folder / f"{number}.tftest.hcl").write_text(
            'mock_provider "aws" {\n  source = "./tests/terraform/mocks"\n}\n\nrun "refused" {\n  command = plan\n\n'
            "  variables {\n"
            + "".join(f"    {name} = {json.dumps(value)}\n" for name, value in variables.items())
            + "  }\n}\n"
        )
    tf.init(tests="tests/refusals")
    runs = {run.file: run for run in tf.test(tests="tests/refusals")}
    names = {f"tests/refusals/{number}.tftest.hcl": name for number, name in enumerate(REFUSALS)}
    assert runs.keys() == names.keys()
    return {names[file]: " ".join(run.errors) for file, run in runs.items()}


@pytest.mark.xdist_group("terraform-refusals")
@pytest.mark.parametrize("name", REFUSALS)
def test_message(name: str, messages: dict[str, str]) -> None:
    assert messages[name], f"{name}: planned, but must be refused"
    text = re.sub(r"\s+", " ", messages[name])
    missing = [part for part in REFUSALS[name][1] if part not in text]
    assert not missing, f"{name}: {missing} not in: {text}"
