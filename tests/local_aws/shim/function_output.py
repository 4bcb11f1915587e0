"""What a function writes to file descriptor 1 goes to its log, as on Lambda.

MiniStack speaks its own protocol with a function's process over descriptor 1 and redirects only Python's
`sys.stdout`, so a line written to the descriptor itself would vanish in that protocol. Here the protocol gets a copy
of the descriptor, and 1 leads to the log.
"""

from ministack.core import lambda_runtime

PROTOCOL_APART = """\
import os as _os, sys as _sys
_sys.stdout = _os.fdopen(_os.dup(1), "w", buffering=1)
_os.dup2(2, 1)
"""


def install() -> None:
    lambda_runtime._PYTHON_WORKER_SCRIPT = PROTOCOL_APART + lambda_runtime._PYTHON_WORKER_SCRIPT
