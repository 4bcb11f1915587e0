"""What an error of the AWS SDK says: its code, and whether the same call may succeed a moment later."""

from collections.abc import Mapping
from typing import Any

from .policy import classify

# Beside what every service says when it is busy: S3's and Step Functions' own words for it.
_BUSY = frozenset(["RequestTimeout", "RequestTimeoutException", "KmsThrottlingException", "ServiceUnavailable"])
# The answer broke off on its way. botocore raises these as its own classes, which are not imported here.
_BROKEN_ANSWERS = frozenset(["IncompleteReadError", "ResponseStreamingError", "FlexibleChecksumError"])


def code_of(error: BaseException) -> str:
    """AWS's error code, or the name of the exception's class if the error did not come from AWS."""
    return str(_answer(error, "Error").get("Code") or type(error).__name__)


def status_of(error: BaseException) -> int:
    """The HTTP status of AWS's answer, 0 if there was none."""
    status = _answer(error, "ResponseMetadata").get("HTTPStatusCode")
    return status if isinstance(status, int) else 0


def is_transient(error: BaseException) -> bool:
    """Throttled, a fault of the service, or no answer at all."""
    code = code_of(error)
    return (
        status_of(error) >= 500
        or code in _BUSY
        or code in _BROKEN_ANSWERS
        or "Throttl" in code
        or classify(error)[0] in ("throttled", "connection")
    )


def _answer(error: BaseException, part: str) -> Mapping[str, Any]:
    response = getattr(error, "response", None)
    content = response.get(part) if isinstance(response, Mapping) else None
    return content if isinstance(content, Mapping) else {}
