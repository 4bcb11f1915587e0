"""When to come back: back-off policies and the classification of errors, as pure functions of (error, attempt, random).

Full jitter is the default because it costs the fewest calls under contention: Marc Brooker, "Exponential Backoff and
Jitter", AWS Architecture Blog, 2015. The random source is the system's, never the seeded one: environments restored
from one snapshot share the seed of ``random`` and would retry in step (Lambda developer guide, "Handling uniqueness
with Lambda SnapStart").
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from .execute import JobTimeout
from .failure import Failure
from .outcome import (
    MAX_RETRY_WAIT,
    MAX_WAIT,
    Decision,
    Defer,
    Discard,
    Kind,
    Outcome,
    Park,
    Permanent,
    Retry,
    checked_wait,
)


class Backoff(Protocol):
    """A retry policy: how often, and how long to wait before the next attempt. Your own needs these two members."""

    @property
    def max_attempts(self) -> int: ...

    def delay(self, attempt: int, random: Random) -> timedelta:
        """The wait after attempt number ``attempt`` (1 is the first) has failed."""
        ...


Rule = Backoff | Decision


@dataclass(frozen=True, slots=True)
class Linear:
    base: timedelta
    step: timedelta
    max_attempts: int

    def delay(self, attempt: int, random: Random) -> timedelta:  # noqa: ARG002
        return min(self.base + self.step * (attempt - 1), MAX_RETRY_WAIT)


@dataclass(frozen=True, slots=True)
class FullJitter:
    base: timedelta
    cap: timedelta
    max_attempts: int

    def delay(self, attempt: int, random: Random) -> timedelta:
        exponent = min(attempt - 1, 60)  # 2**60 is beyond any cap; a larger one only overflows timedelta
        ceiling = min(self.cap.total_seconds(), self.base.total_seconds() * 2**exponent)
        return timedelta(seconds=random.uniform(0, ceiling))


def linear(*, step: timedelta, max_attempts: int, base: timedelta | None = None) -> Linear:
    """Wait ``base`` (default: ``step``) after the first failure and ``step`` longer after each further one.

    Raises:
        ValueError: a wait is negative or longer than ``MAX_RETRY_WAIT``, or ``max_attempts`` is below 1.
    """
    policy = Linear(
        checked_wait(step if base is None else base, MAX_RETRY_WAIT),
        checked_wait(step, MAX_RETRY_WAIT),
        _checked_attempts(max_attempts),
    )
    checked_wait(
        policy.base + policy.step * max(0, max_attempts - 2), MAX_RETRY_WAIT
    )  # the longest wait this policy ever asks for
    return policy


def fixed(delay: timedelta, *, max_attempts: int) -> Linear:
    """Wait ``delay`` after each failure. Raises ValueError as ``linear`` does."""
    return Linear(checked_wait(delay, MAX_RETRY_WAIT), timedelta(0), _checked_attempts(max_attempts))


def full_jitter(
    *, base: timedelta = timedelta(seconds=5), cap: timedelta = timedelta(minutes=15), max_attempts: int = 5
) -> FullJitter:
    """Wait a random time between 0 and ``min(cap, base * 2**(attempt - 1))``.

    Raises:
        ValueError: ``cap`` is longer than ``MAX_RETRY_WAIT`` or shorter than ``base``, or ``max_attempts`` is below 1.
    """
    if not timedelta(0) < base <= checked_wait(cap, MAX_RETRY_WAIT):
        raise ValueError(f"full_jitter needs 0 < base <= cap; got base={base}, cap={cap}")
    return FullJitter(base, cap, _checked_attempts(max_attempts))


def _checked_attempts(max_attempts: int) -> int:
    if max_attempts < 1:
        raise ValueError(f"max_attempts={max_attempts}: at least 1, which means no retry")
    return max_attempts


# For workloads without a queue (``App.direct_handler``), where each wait is a trip through the delay machine and quick
# retries would buy little: 15 + 15 n seconds after the n-th failure, ten attempts in 13.5 minutes.
direct_retry = linear(base=timedelta(seconds=30), step=timedelta(seconds=15), max_attempts=10)


def decide(
    error: BaseException,
    attempt: int,
    *,
    retry: Backoff,
    on: Mapping[type[BaseException], Rule],
    regenerable: bool,
    random: Random,
) -> Outcome:
    """Turn what a job raised into an outcome.

    In this order: what the job raised on purpose; a cancelled run, which is nobody's fault; the job's own ``on`` table,
    first match; what is known about errors in general; the job's ``retry`` policy.
    """
    failure = Failure.of(error)
    if isinstance(error, Decision):
        return _apply(error, attempt, failure, retry, regenerable, random)
    if _is_cancellation(error):
        return Outcome(Kind.DEFER, "cancelled", timedelta(0), failure)
    for expected, rule in on.items():
        # Running out of memory says something about the machine, not about the job: a broad `Exception: Permanent(...)`
        # does not mean it.
        if isinstance(error, expected) and (not isinstance(error, MemoryError) or issubclass(expected, MemoryError)):
            if isinstance(rule, Decision):
                return _apply(rule, attempt, failure, retry, regenerable, random)
            return _retry(attempt, failure, rule, random, "error")
    if _is_validation_error(error):
        return Outcome(Kind.DEAD, "validation_error", error=failure)
    reason, at_least = classify(error)
    return _retry(attempt, failure, retry, random, reason, at_least)


def _apply(
    decision: Decision, attempt: int, failure: Failure, retry: Backoff, regenerable: bool, random: Random
) -> Outcome:
    match decision:
        case Permanent():
            return Outcome(Kind.DEAD, decision.reason, error=failure)
        case Discard() if regenerable:
            return Outcome(Kind.DISCARDED, decision.reason, error=failure)
        case Park() | Discard():
            return Outcome(Kind.PARKED, decision.reason, error=failure)
        case Defer():
            return Outcome(Kind.DEFER, decision.reason, decision.delay, failure)
        case Retry(delay=delay):
            outcome = _retry(attempt, failure, retry, random, decision.reason)
            if delay is None or outcome.kind is not Kind.RETRY:
                return outcome
            return Outcome(Kind.RETRY, decision.reason, delay, failure)
    # A Decision of the project's own that is none of the five: an error like any other.
    return _retry(attempt, failure, retry, random, decision.reason)


def _retry(
    attempt: int,
    failure: Failure,
    policy: Backoff,
    random: Random,
    reason: str,
    at_least: timedelta = timedelta(0),
) -> Outcome:
    if attempt >= policy.max_attempts:
        return Outcome(Kind.DEAD, "attempts_exhausted", error=failure)
    return Outcome(Kind.RETRY, reason, wait_after(attempt, policy, random, at_least), failure)


def wait_after(attempt: int, policy: Backoff, random: Random, at_least: timedelta = timedelta(0)) -> timedelta:
    """What a policy says, within what can be kept."""
    try:
        return min(max(policy.delay(attempt, random), at_least, timedelta(0)), MAX_RETRY_WAIT)
    except Exception:  # a policy of the project's own: its defect must not make the job come back at once, for ever
        return min(max(full_jitter().delay(attempt, random), at_least), MAX_RETRY_WAIT)


def _is_cancellation(error: BaseException) -> bool:
    # If nobody imported asyncio, nothing can have raised its CancelledError; importing it here would cost every cold
    # start 44 ms.
    asyncio = sys.modules.get("asyncio")
    return isinstance(error, KeyboardInterrupt) or (asyncio is not None and isinstance(error, asyncio.CancelledError))


def _is_validation_error(error: BaseException) -> bool:
    from pydantic_core import ValidationError

    return isinstance(error, ValidationError)


# Error codes by which AWS services say "slower, please" (botocore's own list for its standard retry mode, plus SQS and
# DynamoDB).
_THROTTLING = frozenset(
    [
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottledException",
        "RequestThrottled",
        "TooManyRequestsException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "SlowDown",
        "PriorRequestNotComplete",
        "TransactionInProgressException",
        "EC2ThrottledException",
        "OverLimit",
        "KmsThrottled",
    ]
)


def classify(error: BaseException) -> tuple[str, timedelta]:
    """What is known about an error without knowing the job: a reason, and a wait that the other side asked for."""
    try:
        return _classified(error)
    except Exception:  # foreign attributes may do anything when they are read
        return "error", timedelta(0)


def _classified(error: BaseException) -> tuple[str, timedelta]:
    """The client libraries are recognised by the shape of their errors, so that none of them has to be imported:
    ``error.response["Error"]["Code"]`` (boto3), ``error.response.status_code`` (httpx, requests), ``error.code``
    (urllib), ``error.status`` (aiohttp).
    """
    if isinstance(error, JobTimeout):
        return "timeout", timedelta(0)
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        details = response.get("Error")
        code = details.get("Code") if isinstance(details, Mapping) else None
        if code in _THROTTLING:
            return "throttled", timedelta(0)
    status, headers = _http(error, response)
    if status == 429:
        return "throttled", _retry_after(headers)
    if 500 <= status <= 599:
        return f"http_{status}", _retry_after(headers)
    if isinstance(error, ConnectionError | TimeoutError):
        return "connection", timedelta(0)
    if type(error).__name__ in _CONNECTION_ERRORS:
        return "connection", timedelta(0)
    return "error", timedelta(0)


# httpx, requests/urllib3 and botocore errors that are no subclasses of the built-in ConnectionError.
_CONNECTION_ERRORS = frozenset(
    [
        "ConnectError",
        "ConnectTimeout",
        "ConnectTimeoutError",
        "ReadError",
        "ReadTimeout",
        "ReadTimeoutError",
        "EndpointConnectionError",
        "ConnectionClosedError",
        "HTTPClientError",
        "ProtocolError",
        "RemoteProtocolError",
        "PoolTimeout",
        "NewConnectionError",
        "MaxRetryError",
    ]
)


def _http(error: BaseException, response: object) -> tuple[int, object]:
    for owner, name in ((response, "status_code"), (error, "status"), (error, "code")):
        status, headers = getattr(owner, name, None), getattr(owner, "headers", None)
        if (
            isinstance(status, int) and headers is not None
        ):  # without headers it is no HTTP answer: SystemExit has a `code` too
            return status, headers
    return 0, None


def _retry_after(headers: object) -> timedelta:
    """The Retry-After header in its seconds form (RFC 9110, 10.2.3); anything else counts as not given."""
    try:
        value = headers.get("Retry-After") or headers.get("retry-after")  # type: ignore[attr-defined]
        seconds = int(value)
    except Exception:
        return timedelta(0)
    return min(timedelta(seconds=max(0, min(seconds, 86_400))), MAX_WAIT)
