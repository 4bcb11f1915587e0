"""Run a command in a process group of its own and end the whole group when the command ends or the starter goes away.

    python supervise.py GRACE-SECONDS COMMAND ARGUMENT...

The starter holds the other end of this process's standard input. When it closes it, or dies in any way (SIGKILL
included), the read below returns and the group is ended: the local AWS starts one worker process per function,
Terraform one per provider, and none of them may outlive the run. Once the starter has written anything there, only
SIGTERM ends the group.
Standard library only: it also runs on an interpreter that has nothing installed.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType


def end_group(group: int, grace: float) -> None:
    """SIGINT is what Terraform understands as a request to stop; SIGTERM follows at once for everything else."""
    deadline = time.monotonic() + grace
    for number in (signal.SIGINT, signal.SIGTERM):
        if not _signal_group(group, number):
            return
        time.sleep(0.05)
    while time.monotonic() < deadline:
        if not _signal_group(group, 0):
            return
        time.sleep(0.05)
    _signal_group(group, signal.SIGKILL)


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS answers EPERM for a group that holds only zombies
        return False
    return True


def main(arguments: list[str]) -> int:
    grace, *command = arguments
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)

    def stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=end_group, args=(child.pid, float(grace)), daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the starter, which decides

    def watch_starter() -> None:
        told_to_stay = os.read(0, 1)  # not sys.stdin: its lock would be held at interpreter shutdown
        if not told_to_stay:
            end_group(child.pid, float(grace))

    threading.Thread(target=watch_starter, daemon=True).start()
    code = child.wait()
    end_group(child.pid, float(grace))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
