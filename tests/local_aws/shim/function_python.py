"""Functions run on the interpreter given in FUNCTION_PYTHON.

MiniStack runs every python3.x function on its own interpreter, where a zip of another version's wheels does not
import, and where all that is installed beside MiniStack hides what a zip is missing.
"""

import os

from ministack.core import lambda_runtime


def install() -> None:
    interpreter = os.environ["FUNCTION_PYTHON"]
    original = lambda_runtime._detect_runtime_binary

    def detect(runtime: str) -> tuple[str, str]:
        executable, script = original(runtime)
        return (interpreter, script) if runtime.startswith("python") else (executable, script)

    lambda_runtime._detect_runtime_binary = detect
