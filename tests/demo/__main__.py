"""The demo's command: `make demo`, `make demo KEEP=1`, `make demo-stop`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.local_aws import deploy, engine, project
from tests.local_aws.interpreters import function_python
from tests.local_aws.paths import EXAMPLES, REPOSITORY
from tests.local_aws.process import CommandFailedError, Supervised, clean_environment, clean_exit_on_signals
from tests.local_aws.stack import Stack, wait_for

from . import kept, mix
from .report import how_to_look_around, summarise
from .screen import Screen
from .tally import Tally

SETTLED_WITHIN_SECONDS = 180
ANSWERS = {"project_name": "Acme Jobs", "package_name": "acme_jobs", "first_workload": "calendar"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.demo",
        description="The whole product on a local AWS; see the README.",
        epilog="KEEP=1 in the environment leaves everything up at the end.",
    )
    parser.add_argument("--stop", action="store_true", help="end a demo that was left up, and do nothing else")
    if parser.parse_args(arguments).stop:
        return kept.main()
    if os.environ.get("JOBS_TEST_ENDPOINT"):
        print(
            "The demo's jobs call servers on this machine's loopback, so it needs the local AWS: "
            "unset JOBS_TEST_ENDPOINT."
        )
        return 2
    if not deploy.is_available():
        print("The demo applies real Terraform, which is not on PATH: install Terraform 1.9 or newer.")
        return 2
    keep = os.environ.get("KEEP", "") not in ("", "0")
    screen = Screen()
    if kept.stop():  # it would take the processor from this one
        screen.say("The demo that an earlier `make demo KEEP=1` left up is stopped, and its folder removed.")
    folder = Path(tempfile.mkdtemp(prefix="background-jobs-demo-"))
    with clean_exit_on_signals(), contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stage = Stage(screen, folder, stack)
        deployed = stage.set_up()
        tally = play(screen, deployed, stage.servers)
        accounted = summarise(screen, deployed, tally, stage.effects())
        if keep:
            kept.remember(folder, [process.pid for process in stage.processes])
            stack.pop_all()  # nothing is stopped or removed
            for process in stage.processes:
                process.detach()
            how_to_look_around(screen, deployed)
        return 0 if accounted else 1


class Stage:
    """Everything the demo starts."""

    def __init__(self, screen: Screen, folder: Path, stack: contextlib.ExitStack) -> None:
        self.screen, self.folder, self.stack = screen, folder, stack
        self.processes: list[Supervised] = []
        self.servers = ""

    def set_up(self) -> Stack:
        screen, folder = self.screen, self.folder
        screen.say("Background jobs, end to end, on a local AWS. No account is needed and nothing leaves this machine.")
        with screen.step("Prepare the Python that the functions run on (kept for the next run)"):
            function_python()
        with screen.step("Start the local AWS and the servers that the jobs talk to"):
            (folder / "aws").mkdir()
            aws, process = engine.start(folder / "aws")
            self._own(process)
            self.servers = self._start_servers()
        with screen.step("Generate a consumer with cookiecutter, give it four job files"):
            consumer = project.generate(folder / "consumer", ANSWERS)
            consumer.use_jobs(EXAMPLES / "complete" / "jobs")
        with screen.step("Package it as a Lambda zip"):
            artifact = consumer.package_for(aws.python, folder / "lambda.zip")
        screen.say(f"     {artifact.with_suffix('.log').read_text().strip().replace(str(folder), '…')}")
        deployed = deploy.prepare("complete", folder / "terraform", aws, consumer, artifact, name="acme")
        with screen.step("terraform init"):
            deployed.terraform.init()
        with screen.step(
            "terraform apply (the AWS provider waits 25 s after each queue)",
            lambda: _progress_of(deployed.terraform.log),
        ):
            deployed.terraform.apply()
        deployed.refresh()
        return deployed

    def effects(self) -> list[dict[str, str]]:
        """What the jobs have done to the outside world, in order."""
        with urllib.request.urlopen(f"{self.servers}/effects", timeout=10) as answer:
            found: list[dict[str, str]] = json.load(answer)
        return found

    def _start_servers(self) -> str:
        port_file = self.folder / "servers.port"
        process = Supervised(
            [sys.executable, "-m", "tests.demo.receiver", str(port_file)],
            env=clean_environment({}),
            cwd=REPOSITORY,
            output=self.folder / "servers.log",
        )
        self._own(process)
        wait_for(port_file.exists, timeout=20, what="the servers start", pause=0.05)
        return f"http://127.0.0.1:{port_file.read_text()}"

    def _own(self, process: Supervised) -> None:
        self.processes.append(process)
        self.stack.enter_context(process)


def play(screen: Screen, stack: Stack, servers: str) -> Tally:
    """Publish everything and watch until nothing is open any more."""
    tally = Tally()
    screen.say()
    seconds = max(workload["queue"]["visibility_timeout_seconds"] for workload in stack.workloads.values())
    screen.say(
        "Two jobs kill their process. What was in their batches comes back when its visibility timeout is over,\n"
        f"{seconds} s after it was received: until then the numbers stand still for a while."
    )
    with screen.table() as show:

        def look() -> None:
            tally.lines = stack.log_lines()
            tally.letters = stack.dead_letters()
            tally.parked = stack.parked()
            tally.depths = {name: stack.depth(name) for name in stack.workloads}
            show(tally.rows())

        for order in mix.orders(servers):
            results = stack.publish([order.request])[0]
            refused = [result.error for result in results if not result.ok]
            if refused:
                raise RuntimeError(f"{len(refused)} jobs were not accepted: {refused[0]}")
            tally.add_jobs(order.workload, [result.id for result in results])
            look()
        for workload, bodies in mix.MALFORMED.items():
            for number, body in enumerate(bodies):
                if number % 2:
                    stack.send_raw(workload, body)
                else:
                    stack.publish_raw(workload, body)
                tally.add_body(workload, body)
        deadline = time.monotonic() + SETTLED_WITHIN_SECONDS
        while tally.unsettled() and time.monotonic() < deadline:
            look()
            time.sleep(0.5)
        look()
    if not screen.console.is_terminal:
        screen.final(tally.rows())
    return tally


def _progress_of(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    planned = re.search(r"Plan: (\d+) to add", text)
    return f"{text.count('Creation complete')} of {planned[1]} resources" if planned else ""


def run(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except KeyboardInterrupt:
        print("\ninterrupted; everything that was started is stopped", file=sys.stderr)
        return 130
    except (CommandFailedError, RuntimeError) as error:
        print(f"\nthe demo failed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
