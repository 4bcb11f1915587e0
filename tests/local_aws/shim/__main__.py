"""Start MiniStack with the gaps closed. Runs in the local AWS's own virtual environment, see requirements-local-
aws.txt.
"""

import os
import sys

from ministack import app

from tests.local_aws.shim import alarms, function_output, function_python, machine_size, move_tasks, queue_metrics


def main() -> None:
    gaps = {
        "alarms": alarms.install,
        "function_output": function_output.install,
        "function_python": function_python.install,
        "machine_size": machine_size.install,
        "move_tasks": move_tasks.install,
        "queue_metrics": queue_metrics.install,
    }
    left_open = set(filter(None, os.environ.get("LOCAL_AWS_GAPS_LEFT_OPEN", "").split(",")))
    for name, install in gaps.items():
        if name not in left_open:
            install()
    # With TLS it would also listen on port 443 when it may: a second service on this machine that nobody asked for.
    app._port_is_bindable = lambda host, port: False
    sys.argv = ["ministack"]
    app.main()


main()
