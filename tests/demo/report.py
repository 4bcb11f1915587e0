"""What the demo says at the end."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from tests.local_aws.paths import REPOSITORY
from tests.local_aws.stack import DeadLetter, Stack

from .screen import Screen
from .tally import Tally


def summarise(screen: Screen, stack: Stack, tally: Tally, effects: list[dict[str, str]]) -> bool:
    """Account for every job; True if none is missing."""
    unsettled = tally.unsettled()
    screen.say()
    screen.say(
        f"Published: {len(tally.jobs)} jobs and {len(tally.bodies)} bodies that are no jobs. What became of them:"
    )
    for end, count in sorted(tally.ends().items()):
        screen.say(f"  {count:>4}  {end}")
    killed = _killed(stack)
    again = tally.ran_again()
    screen.say(
        f"Processes killed in the middle of a job: {killed}. Finished jobs that came again with their batch: "
        f"{tally.delivered_again()}, of which were run again: {len(again)}."
    )
    screen.say(_order_report(effects))
    letter = next((letter for letter in tally.letters if letter.note.get("reason") == "endpoint_gone"), None)
    if letter is not None:
        _show_letter(screen, letter)
    for record in tally.parked[:1]:
        _show_parked(screen, record)
    if unsettled:
        screen.say(f"UNACCOUNTED FOR: {len(unsettled)}")
        for key in sorted(unsettled):
            screen.say(f"  {key!r}: {tally.outcomes().get(key, 'no trace')}")
        return False
    minutes, seconds = divmod(time.monotonic() - screen.started, 60)
    screen.say(f"\nEvery job is accounted for. The demo took {minutes:.0f} min {seconds:.0f} s.")
    return True


def how_to_look_around(screen: Screen, stack: Stack) -> None:
    settings = stack.aws.settings
    webhooks = stack.workloads["webhooks"]
    screen.say("\nLeft up, as KEEP=1 asks. To look around, in this shell:\n")
    for name, value in settings.items():
        screen.say(f"  export {name}={value}")
    screen.say("\nwith the AWS CLI, if you have it:\n")
    screen.say("  aws sqs list-queues")
    screen.say(f"  aws logs tail {webhooks['log_group_name']}")
    screen.say(f"  aws sqs receive-message --message-attribute-names All --queue-url {webhooks['dlq']['url']}")
    screen.say(
        f"  aws dynamodb scan --table-name {stack.publisher_environment['JOBS_TABLE']} "
        "--query 'Items[].[job.S, id.S, state.S, reason.S]' --output text"
    )
    screen.say("\nor with boto3:\n")
    python = f'"{sys.executable}"'
    url = webhooks["dlq"]["url"]
    screen.say(
        f'  {python} -c \'import boto3; print(boto3.client("sqs").receive_message('
        f'QueueUrl="{url}", MessageAttributeNames=["All"])["Messages"][0])\''
    )
    screen.say("\nPublish another job:\n")
    for name, value in stack.publisher_environment.items():
        screen.say(f"  export {name}='{value}'")
    screen.say(f"  export PYTHONPATH='{stack.project.source}'")
    package = stack.project.package
    screen.say(
        f"  {python} -c 'from {package}.app import app; from {package}.jobs.calls import *; "
        "print(app.enqueue(PreparePlan, "
        'Call(call_id="mine", customer="me", open_tickets=0, months_since_purchase=1)))\''
    )
    screen.say(f"\nTerraform: cd {stack.terraform.folder} (variables: see local.auto.tfvars.json there)")
    variables = stack.terraform.folder / "local.auto.tfvars.json"
    variables.write_text(json.dumps(dict(stack.terraform.variables), indent=2))
    screen.say(f'Stop it: make -C "{REPOSITORY}" demo-stop')


def _killed(stack: Stack) -> int:
    """A killed process leaves no line of its own; the local AWS writes that it died."""
    return sum("Worker process died" in line for name in stack.workloads for line in stack.raw_log(name))


def _order_report(effects: list[dict[str, str]]) -> str:
    steps: dict[str, list[str]] = {}
    for effect in effects:
        if effect["kind"] == "accounts":
            steps.setdefault(effect["name"], []).append(effect["detail"])
    kept_order = sum(done == sorted(done) for done in steps.values())
    return f"Rollout steps arrived in their order in {kept_order} of {len(steps)} accounts."


def _show_letter(screen: Screen, letter: DeadLetter) -> None:
    screen.say(f"\nOne dead letter, from the queue of {letter.workload}:")
    body: dict[str, Any] = json.loads(letter.body)
    screen.say(f"  job      {body['job']} {body['id']}")
    screen.say(f"  payload  {json.dumps(body['payload'])}")
    for name, value in letter.note.items():
        screen.say(f"  {name:<13}{value}")


def _show_parked(screen: Screen, record: dict[str, Any]) -> None:
    screen.say(f"\nOne parked job, from the job records of {record['workload']}; it waits there for a human:")
    screen.say(f"  job      {record['job']} {record['id']}")
    screen.say(f"  {'reason':<13}{record['reason']}")
    screen.say(f"  {'error':<13}{record.get('error', '')}")
