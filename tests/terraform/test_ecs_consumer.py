"""What modules/ecs-consumer plans: its health check run as it is, its policies, and its scaling simulated."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .harness import Terraform, report, resources
from .scaling_simulation import Policy, Step, simulate

pytestmark = pytest.mark.xdist_group("terraform-ecs-consumer")


@pytest.fixture(scope="module")
def states(tf: Terraform) -> dict[str, list[dict[str, Any]]]:
    """The resources of every run of the module's wiring tests."""
    tf.init("modules/ecs-consumer")
    runs = tf.test("modules/ecs-consumer", only="wiring.tftest.hcl", verbose=True)
    assert all(run.status == "pass" for run in runs), report(runs)
    return {run.name: list(resources(run.state)) for run in runs}


def one(found: list[dict[str, Any]], kind: str, index: str | None = None) -> dict[str, Any]:
    (values,) = [r["values"] for r in found if r["type"] == kind and r.get("index") == index]
    return dict(values)


def container(found: list[dict[str, Any]]) -> dict[str, Any]:
    (only,) = json.loads(one(found, "aws_ecs_task_definition")["container_definitions"])
    return dict(only)


@pytest.mark.parametrize("before", [[], ["/sbin/docker-init", "--"], ["/dev/init", "--"]])
def test_the_health_check_finds_the_package_of_the_running_worker(
    before: list[str], states: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    kind, python, option, code = container(states["defaults"])["healthCheck"]["command"]
    assert (kind, python, option) == ("CMD", "python", "-c")
    command_line = tmp_path / "cmdline"
    command_line.write_text("\0".join([*before, "python", "-m", "my_jobs", "worker", ""]))
    package = tmp_path / "my_jobs"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys\nprint(__name__, __package__, sys.argv[1:])\nraise SystemExit(0 if sys.argv[1:] else 1)\n"
    )
    code = code.replace("/proc/1/cmdline", str(command_line))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "__main__ my_jobs ['worker', '--check']"), done.stderr


def test_its_answer_is_the_workers_answer(states: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    code = container(states["defaults"])["healthCheck"]["command"][3]
    (tmp_path / "cmdline").write_text("\0".join(["python", "-m", "my_jobs", "worker", ""]))
    (tmp_path / "my_jobs.py").write_text("raise SystemExit(1)\n")
    code = code.replace("/proc/1/cmdline", str(tmp_path / "cmdline"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr


def test_its_policies(states: dict[str, list[dict[str, Any]]]) -> None:
    """A star as resource only for the registry's token, no wildcard action, and roles for one account's tasks."""
    for name, found in states.items():
        for resource in found:
            if resource["type"] == "aws_iam_role_policy":
                for statement in json.loads(resource["values"]["policy"])["Statement"]:
                    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
                    assert not [action for action in actions if "*" in action], (name, statement)
                    assert statement["Resource"] != "*" or statement["Sid"] == "RegistryToken", (name, statement)
            if resource["type"] == "aws_iam_role":
                (statement,) = json.loads(resource["values"]["assume_role_policy"])["Statement"]
                assert set(statement["Condition"]["ArnLike"]) == {"aws:SourceArn"}, name
                assert set(statement["Condition"]["StringEquals"]) == {"aws:SourceAccount"}, name


def planned(found: list[dict[str, Any]]) -> Policy:
    """The rules as AWS will get them: targets, step adjustments and alarms."""
    target = one(found, "aws_appautoscaling_target")
    alarm = one(found, "aws_cloudwatch_metric_alarm", "work")
    idle = one(found, "aws_cloudwatch_metric_alarm", "idle")
    assert alarm["evaluation_periods"] == idle["evaluation_periods"] == idle["datapoints_to_alarm"]
    assert alarm["datapoints_to_alarm"] == 1
    (configuration,) = one(found, "aws_appautoscaling_policy", "work")["step_scaling_policy_configuration"]
    steps = tuple(
        Step(
            float(step["metric_interval_lower_bound"]),
            float(step["metric_interval_upper_bound"]) if step["metric_interval_upper_bound"] else None,  # text
            step["scaling_adjustment"],
        )
        for step in configuration["step_adjustment"]
    )
    return Policy(
        target["min_capacity"], target["max_capacity"], alarm["threshold"], alarm["evaluation_periods"], steps
    )


@pytest.mark.parametrize(
    ("run", "job_seconds", "latency", "slots"), [("scaling", 240, 1800, 1), ("everything", 30, 900, 4)]
)
def test_what_is_planned_keeps_the_promise(
    run: str, job_seconds: int, latency: int, slots: int, states: dict[str, list[dict[str, Any]]]
) -> None:
    """Quiet, a burst that needs every task, quiet, single jobs, quiet."""
    policy, chance = planned(states[run]), random.Random(5)
    last = max(step.lower for step in policy.steps)
    burst = int(1.05 * last) + 1  # more than the last step but one is for, when those that run have begun
    arrivals = [3600.0] * burst + [12 * 3600 + chance.uniform(0, 3600) for _ in range(20)]
    day = simulate(policy, arrivals, lambda: job_seconds, slots, 24 * 3600)
    assert max(day.waits) <= latency
    assert (min(day.wanted), max(day.wanted)) == (policy.min_tasks, policy.max_tasks)
    assert day.most_running <= policy.max_tasks * slots
    assert day.wanted[-1] == policy.min_tasks


def test_a_paused_workload_gets_no_task(states: dict[str, list[dict[str, Any]]]) -> None:
    day = simulate(planned(states["paused"]), [60.0] * 100, lambda: 1.0, 1, 3600)
    assert set(day.wanted) == {0}
    assert day.waits == []
