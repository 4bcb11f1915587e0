"""What must hold for every policy, subscription and mapping, whichever module wrote it and whatever was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .harness import Terraform, report, resources

pytestmark = pytest.mark.xdist_group("terraform-policies")

# AWS offers nothing finer for these: X-Ray and log delivery have no resources, Lambda checks network ones on "*".
RESOURCE_STAR = {"Tracing", "NetworkInterfaces", "LogDelivery"}


@pytest.fixture(scope="module")
def applied(tf: Terraform) -> list[dict[str, Any]]:
    """Every resource of every state the root module's wiring tests leave: with and without key, publishers and FIFO."""
    runs = tf.test(tests="tests/terraform", only="wiring.tftest.hcl", verbose=True)
    assert all(run.status == "pass" for run in runs), report(runs)
    found = [resource for run in runs for resource in resources(run.state)]
    kinds = {resource["type"] for resource in found}
    assert {"aws_sqs_queue", "aws_sns_topic", "aws_iam_role_policy", "aws_lambda_event_source_mapping"} <= kinds
    assert {"aws_dynamodb_table", "aws_s3_bucket_policy", "aws_sfn_state_machine", "aws_scheduler_schedule"} <= kinds
    return found


def statements(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for attribute in ("policy", "assume_role_policy"):
        if document := resource["values"].get(attribute):
            yield from json.loads(document)["Statement"]


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_every_queue_and_topic_denies_plain_http_on_itself(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] in ("aws_sqs_queue", "aws_sns_topic"):
            (deny,) = (s for s in statements(resource) if s["Sid"] == "DenyInsecureTransport")
            assert deny["Effect"] == "Deny"
            assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            assert deny["Resource"].split(":")[5] == resource["values"]["name"], resource["address"]


def test_nobody_allows_everybody(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        for statement in statements(resource):
            if statement["Effect"] == "Allow" and "Principal" in statement:
                assert "*" not in json.dumps(statement["Principal"]), resource["address"]


def test_no_wildcard_action_is_allowed(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        for statement in statements(resource):
            if statement["Effect"] == "Allow":
                assert not [a for a in listed(statement["Action"]) if "*" in a], resource["address"]


def test_a_star_resource_only_where_aws_has_nothing_finer(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        for statement in statements(resource):
            if statement["Effect"] == "Allow" and "*" in listed(statement.get("Resource", [])):
                assert statement["Sid"] in RESOURCE_STAR, resource["address"]


def test_a_service_may_act_for_one_source_only(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] in ("aws_sqs_queue", "aws_sns_topic"):
            for statement in statements(resource):
                if "Service" in statement["Principal"]:
                    assert {"ArnEquals", "StringEquals"} <= set(statement["Condition"]), resource["address"]


def test_a_role_of_a_state_machine_or_schedule_serves_one_source(applied: list[dict[str, Any]]) -> None:
    services = set()
    for resource in applied:
        if resource["type"] == "aws_iam_role":
            for statement in statements(resource):
                service = statement["Principal"]["Service"]
                services.add(service)
                if service != "lambda.amazonaws.com":  # which sends neither key when a function takes its role
                    assert set(statement["Condition"]["ArnEquals"]) == {"aws:SourceArn"}, resource["address"]
                    assert set(statement["Condition"]["StringEquals"]) == {"aws:SourceAccount"}, resource["address"]
    assert services == {"lambda.amazonaws.com", "states.amazonaws.com", "scheduler.amazonaws.com"}


def test_nobody_deletes_or_lists_payloads_and_records(applied: list[dict[str, Any]]) -> None:
    allowed = set()
    for resource in applied:
        if resource["type"] == "aws_iam_role_policy":
            for statement in statements(resource):
                allowed |= {a for a in listed(statement["Action"]) if a.startswith(("s3:", "dynamodb:"))}
    assert allowed == {"s3:GetObject", "s3:PutObject", "dynamodb:GetItem", "dynamodb:UpdateItem"}


def test_every_bucket_denies_plain_http_on_itself_and_its_objects(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] == "aws_s3_bucket_policy":
            (deny,) = (s for s in statements(resource) if s["Sid"] == "DenyInsecureTransport")
            assert deny["Effect"] == "Deny"
            assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            bucket, objects = deny["Resource"]
            assert objects == f"{bucket}/*", resource["address"]


def test_no_state_machine_logs_payloads(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] == "aws_sfn_state_machine":
            (logging,) = resource["values"]["logging_configuration"]
            assert (logging["level"], logging["include_execution_data"]) == ("ERROR", False), resource["address"]


def test_every_mapping_reports_partial_failures_and_has_a_ceiling(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] == "aws_lambda_event_source_mapping":
            values = resource["values"]
            assert values["function_response_types"] == ["ReportBatchItemFailures"], resource["address"]
            assert values["scaling_config"] or values["provisioned_poller_config"], resource["address"]


def test_every_queue_is_encrypted_and_dead_letters_outlive_their_source(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] == "aws_sqs_queue":
            values = resource["values"]
            assert values["sqs_managed_sse_enabled"] or values["kms_master_key_id"], resource["address"]
            fourteen_days = values["message_retention_seconds"] == 1209600
            assert fourteen_days == (resource["name"] != "this"), resource["address"]


def test_every_workload_gets_its_own_jobs_from_the_topic_of_its_kind(applied: list[dict[str, Any]]) -> None:
    subscriptions = [resource for resource in applied if resource["type"] == "aws_sns_topic_subscription"]
    assert subscriptions
    for resource in subscriptions:
        values = resource["values"]
        (key,) = json.loads(values["filter_policy"])["workload"]
        assert f'["{key}"]' in resource["address"]
        assert values["topic_arn"].endswith(".fifo") == (key == "billing"), resource["address"]


def test_a_queue_admits_the_topic_it_subscribes_to(applied: list[dict[str, Any]]) -> None:
    for resource in applied:
        if resource["type"] == "aws_sqs_queue" and resource["name"] != "dlq":
            (allow,) = (s for s in statements(resource) if "Service" in s.get("Principal", {}))
            topic = allow["Condition"]["ArnEquals"]["aws:SourceArn"]
            assert topic.endswith(".fifo") == resource["values"]["fifo_queue"], resource["address"]


def test_every_schedule_sends_to_its_own_queue_and_leaves_no_failure_without_a_trace(
    applied: list[dict[str, Any]],
) -> None:
    schedules = [resource for resource in applied if resource["type"] == "aws_scheduler_schedule"]
    assert schedules
    for resource in schedules:
        (target,) = resource["values"]["target"]
        assert target["dead_letter_config"], resource["address"]
        call = json.loads(target["input"])
        assert call["MessageAttributes"].keys() == {"workload", "job"}, resource["address"]
        body = json.loads(call["MessageBody"])
        assert "<aws.scheduler.scheduled-time>" in body["id"]
        assert body["occurrence"] == "<aws.scheduler.scheduled-time>"
        fifo = call["MessageAttributes"]["workload"]["StringValue"] == "billing"
        assert ("MessageDeduplicationId" in call, "MessageGroupId" in call) == (fifo, fifo), resource["address"]
