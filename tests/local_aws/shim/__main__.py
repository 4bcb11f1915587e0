"""Start MiniStack with the gaps closed. Runs in the local AWS's own virtual environment, see
requirements-local-aws.txt.
"""

import importlib
import os
import pkgutil
import sys
from pathlib import Path

from ministack import app


def main() -> None:
    left_open = set(filter(None, os.environ.get("LOCAL_AWS_GAPS_LEFT_OPEN", "").split(",")))
    gaps = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    for gap in gaps:
        if gap != "__main__" and gap not in left_open:
            importlib.import_module(f"tests.local_aws.shim.{gap}").install()
    # With TLS it would also listen on port 443 when it may: a second service on this machine that nobody asked for.
    app._port_is_bindable = lambda host, port: False
    sys.argv = ["ministack"]
    app.main()


main()
