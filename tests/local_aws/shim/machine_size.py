"""A queue starts as many function processes at once as this machine has processors, at least two, and never more than
its ceiling.

MiniStack starts up to the ceiling at once: on a small machine fifty cold starts then take longer than the functions'
timeouts, and what is measured is the machine. Taking fewer at once is always allowed, a ceiling is an upper limit.
"""

import os
from typing import Any

from ministack.services import lambda_svc


def install() -> None:
    original = lambda_svc._sqs_esm_concurrency
    most = max(2, os.cpu_count() or 1)

    def concurrency(*arguments: Any, **options: Any) -> int:
        return min(most, int(original(*arguments, **options)))

    lambda_svc._sqs_esm_concurrency = concurrency
