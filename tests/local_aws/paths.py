"""Where things are. Everything the tests and the demo keep between runs lies under .cache, which git ignores."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / ".cache"
LOCAL_AWS_PYTHON = REPOSITORY / ".venv-local-aws" / "bin" / "python"
TEMPLATE = REPOSITORY / "template"
EXAMPLES = REPOSITORY / "examples"
MODULES = REPOSITORY / "modules"
