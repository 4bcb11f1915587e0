"""One boto3 session and one client per service, made on first use.

A session costs 60 ms and more (it parses the endpoint table anew), a further client of the same session a few;
importing boto3 costs more than all the rest of a cold start, and a consumer that only acknowledges a batch never needs
it.
"""

import gc
import threading
from functools import cache
from typing import Any

POLL_SECONDS = 20  # SQS API "ReceiveMessage": the longest wait
_making = threading.Lock()  # clients may be used by several threads, a session may not ("Session", boto3 guide)


def client(service: str) -> Any:
    """The process's client of one AWS service. Region, credentials and endpoint come from the standard ``AWS_*``
    variables.
    """
    with _making:
        return _client(service)


def polling_client() -> Any:
    """An SQS client for long polls, which the answer may keep waiting for longer than any other call. It does not try
    again itself: whoever polls does.
    """
    with _making:
        return _polling_client()


@cache
def _polling_client() -> Any:
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=POLL_SECONDS + 10)
    return _session().client("sqs", config=config)


@cache
def _client(service: str) -> Any:
    # Importing boto3 and loading its models makes hundreds of thousands of objects that all stay: collecting in between
    # is wasted work.
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _session().client(service, config=_config())
    finally:
        if enabled:
            gc.enable()


@cache
def _session() -> Any:
    import boto3

    return boto3.session.Session()


@cache
def _config() -> Any:
    from botocore.config import Config

    # Three tries in all, with the SDK's own jitter: a lasting fault is the engine's to handle, by leaving the message
    # in its queue.
    return Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=5,
        read_timeout=10,
        max_pool_connections=50,  # a worker's slots share the client
    )
