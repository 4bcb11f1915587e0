"""modules/ecs-consumer, applied: what AWS is told, that the next plan is empty, and what a change touches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from . import engine
from .engine import Aws
from .paths import REPOSITORY
from .terraform import COPIED, Terraform

pytestmark = pytest.mark.xdist_group("ecs-consumer")

FIXTURE = Path("tests/terraform/fixtures/ecs_consumer")


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terraform]:
    into = tmp_path_factory.mktemp("ecs consumer")
    shutil.copytree(REPOSITORY / "modules", into / "modules", ignore=COPIED)
    shutil.copytree(REPOSITORY / FIXTURE, into / FIXTURE)
    aws, process = engine.start(tmp_path_factory.mktemp("local aws"))
    with process:
        terraform = Terraform(into / FIXTURE, aws)
        terraform.init()
        terraform.apply()
        yield terraform


def service(aws: Aws) -> dict[str, object]:
    found: dict[str, object] = aws.client("ecs").describe_services(cluster="jobs", services=["shop-reports"])[
        "services"
    ][0]
    return found


def test_the_next_plan_is_empty(applied: Terraform) -> None:
    assert applied.plan_is_empty(), applied.tail()


def test_the_autoscaler_may_change_the_number_of_tasks(applied: Terraform) -> None:
    ecs = applied.aws.client("ecs")
    ecs.update_service(cluster="jobs", service="shop-reports", desiredCount=3)
    assert applied.plan_is_empty(), applied.tail()
    ecs.update_service(cluster="jobs", service="shop-reports", desiredCount=0)


def test_what_aws_was_told(applied: Terraform) -> None:
    aws = applied.aws
    scaling = aws.client("application-autoscaling")
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
    assert (target["ResourceId"], target["MinCapacity"], target["MaxCapacity"]) == ("service/jobs/shop-reports", 0, 4)
    policies = {
        p["PolicyName"]: p for p in scaling.describe_scaling_policies(ServiceNamespace="ecs")["ScalingPolicies"]
    }
    steps = policies["work"]["StepScalingPolicyConfiguration"]["StepAdjustments"]
    told = [
        (s["MetricIntervalLowerBound"], s.get("MetricIntervalUpperBound"), s["ScalingAdjustment"])
        for s in sorted(steps, key=lambda step: step["ScalingAdjustment"])
    ]
    planned = applied.outputs()["scaling"]["steps"]
    assert told == [(step["lower"], step["upper"], step["tasks"]) for step in planned]
    (idle,) = policies["idle"]["StepScalingPolicyConfiguration"]["StepAdjustments"]
    assert idle == {"MetricIntervalUpperBound": 0.0, "ScalingAdjustment": 0}

    alarms = aws.client("cloudwatch").describe_alarms(AlarmNamePrefix="shop-reports")["MetricAlarms"]
    assert {a["AlarmName"]: a["AlarmActions"] for a in alarms} == {
        f"shop-reports-{name}": [policy["PolicyARN"]] for name, policy in policies.items()
    }
    assert service(aws)["desiredCount"] == 0


def test_spot_takes_the_place_of_on_demand_in_the_same_service(applied: Terraform) -> None:
    on_spot = replace(applied, variables={"spot": True})
    changes = on_spot.planned_changes()
    assert {address: change["actions"] for address, change in changes.items()} == {
        "module.consumer.aws_ecs_service.this": ["update"]
    }
    on_spot.apply()
    assert on_spot.plan_is_empty(), on_spot.tail()


def test_more_tasks_change_the_scaling_and_nothing_else(applied: Terraform) -> None:
    changes = replace(applied, variables={"max_tasks": 6, "spot": True}).planned_changes()
    assert set(changes) == {
        "module.consumer.aws_appautoscaling_target.this",
        'module.consumer.aws_appautoscaling_policy.this["work"]',
    }, json.dumps({address: change["actions"] for address, change in changes.items()})


def test_nothing_is_left_after_a_destroy(applied: Terraform) -> None:
    applied.destroy()
    scaling = applied.aws.client("application-autoscaling")
    assert scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"] == []
    assert applied.aws.client("ecs").list_services(cluster="jobs")["serviceArns"] == []
    assert applied.aws.client("logs").describe_log_groups(logGroupNamePrefix="/ecs/")["logGroups"] == []
