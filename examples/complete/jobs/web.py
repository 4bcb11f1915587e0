"""One HTTP call, for the jobs that talk to somebody else's server."""

import json
from typing import Any
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 3  # well below the function's own timeout, so that a slow server fails the job and not the batch


def send(method: str, url: str, content: dict[str, Any], *, key: str) -> int:
    """Send JSON and return the status.

    Args:
        method: PUT, POST, ...
        url: http or https; take it from a field of type HttpUrl, or a message could make this read a file.
        content: the body.
        key: the same for every attempt of one job. A job can be run twice; this lets the other side notice.

    Raises:
        urllib.error.HTTPError: an answer from 400. Let it pass unless you know better: the runtime knows what 429 and
        5xx mean.
    """
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = Request(url, data=json.dumps(content).encode(), headers=headers, method=method)
    with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        return int(answer.status)
