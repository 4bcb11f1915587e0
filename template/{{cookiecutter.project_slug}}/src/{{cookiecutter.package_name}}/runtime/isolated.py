"""Run one delivery in this process: the child's side of ``isolation``. Started by the worker, by nobody else."""

import base64
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

from pydantic_core import from_json, to_json

from .delivery import Delivery
from .engine import Run
from .isolation import written
from .observability import Instruments


class ChildWatch:
    """Tells the worker what happens here. Nobody has to interrupt this process: it is killed."""

    def __init__(self, lease: float, send: Callable[[Any], None]) -> None:
        self._ends_at, self._send = time.monotonic() + lease, send
        self.stopping = False

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=max(0.0, self._ends_at - time.monotonic()))

    def execute(self, run: Run, call: Callable[[], Any]) -> Any:
        claim = run.claim
        content = {"attempt": claim.attempt, "ref": claim.ref, "owner": claim.owner, "crashes": claim.crashes}
        self._send({"claimed": {"claim": content, "limit": run.limit, "report": written(run.report)}})
        return call()

    def progress(self, done: int, total: int) -> None:
        self._send({"progress": [done, total]})

    def check(self) -> None:
        return None

    def listen(self) -> None:
        """The worker says "stop"; when it is gone, nobody keeps the message any more."""
        for _ in sys.stdin.buffer:
            self.stopping = True
        os._exit(1)


def main(address: str, descriptor: int) -> None:
    module, _, variable = address.partition(":")
    app = getattr(import_module(module), variable)
    task = from_json(sys.stdin.buffer.readline())

    def send(content: Any) -> None:
        line = to_json(content, inf_nan_mode="strings", bytes_mode="base64", serialize_unknown=True) + b"\n"
        while line:
            line = line[os.write(descriptor, line) :]

    watch = ChildWatch(task["lease"], send)
    threading.Thread(target=watch.listen, name="jobs-worker-gone", daemon=True).start()
    engine = app.engine(Instruments(app.config.service, app.config.namespace))
    send({"report": written(engine.handle(_delivery(task["delivery"]), watch=watch))})


def _delivery(content: dict[str, Any]) -> Delivery:
    for value in content["attributes"].values():
        if "BinaryValue" in value:
            value["BinaryValue"] = base64.urlsafe_b64decode(value["BinaryValue"])
    return Delivery(**content)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a pool whose threads the job has left would keep this process
