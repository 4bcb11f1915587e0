"""The Lambda entry with a whole SQS event: what is in one message never harms its neighbours."""

import json

from {{ cookiecutter.package_name }}.jobs.reports import BuildReport
from {{ cookiecutter.package_name }}.lambda_function import handler
from {{ cookiecutter.package_name }}.runtime.testing import Jobs, lambda_context, sqs_event


def message(job_id: str, month: str) -> str:
    return json.dumps({"id": job_id, "job": BuildReport.name, "payload": {"account": "acme", "month": month}})


def test_a_malformed_neighbour_harms_nobody(jobs: Jobs) -> None:
    event = sqs_event([message("job-1", "2026-03-01"), "this is no job", message("job-2", "2026-04-01")])
    answer = handler(event, lambda_context())
    # Nothing is left for Lambda to retry: two jobs are done, and what is no job is dead-lettered, unchanged.
    assert answer == {"batchItemFailures": []}
    assert [letter["MessageBody"] for letter in jobs.dead_letters] == ["this is no job"]
