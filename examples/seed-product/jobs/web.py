"""One HTTP call, for the jobs that need somebody else's server."""

import json
from typing import Any
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 3  # well below the function's own timeout, so that a slow server fails the job and not the batch


def post(url: str, content: dict[str, Any], *, key: str | None = None) -> int:
    """Send JSON and return the status.

    Args:
        url: http or https; here always from the settings, never from a message.
        content: the body.
        key: the same for every attempt of one job, so that the other side can notice a repetition.

    Raises:
        urllib.error.HTTPError: an answer from 400. Let it pass unless you know better: the runtime knows what 429 and
        5xx mean.
    """
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    with urlopen(Request(url, data=json.dumps(content).encode(), headers=headers), timeout=TIMEOUT_SECONDS) as answer:
        return int(answer.status)
