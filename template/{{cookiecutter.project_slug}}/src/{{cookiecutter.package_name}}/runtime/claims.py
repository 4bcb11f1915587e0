"""Claim check: a payload too large for a message stays in S3, and the message carries a pointer to it.

The object is written before the message is sent, so that no message points at nothing; a send that fails leaves an
object that nobody reads. Nobody deletes it after use either: a redelivery, a redrive and the second queue of a fan-out
need it again. The bucket's lifecycle rule does, after the longest life of a message.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, Literal

from pydantic_core import from_json, to_json

from .aws_errors import code_of, is_transient
from .envelope import Envelope, Pointer, payload_digest
from .failure import Failure
from .outcome import Kind, Outcome
from .policy import Backoff, wait_after

DEFAULT_PREFIX = "claims/"
RESULTS_PREFIX = "results/"
# An object is read whole, and JSON read into Python takes about eight times its bytes: 64 MiB are the 512 MB of a
# consumer of the default size. What is larger belongs into an object of the job's own, read as a stream.
MAX_OBJECT_BYTES = 64 * 1024 * 1024
UNAVAILABLE_WAIT = (timedelta(seconds=5), timedelta(minutes=5))
_LEGAL_KEY = re.compile(r"[A-Za-z0-9._/-]{1,1024}")  # ``fullmatch``; what this module writes and S3 takes unescaped

Again = Literal["never", "policy", "always"]


class PayloadTooLargeError(ValueError):
    """A payload that not even the claim check carries."""


class ClaimError(Exception):
    """A payload could not be fetched.

    Attributes:
        reason: a word for logs and the dead letter.
        again: "never" if the object will never be there, "policy" if somebody has to mend something first, "always" if
            S3 is only busy.
    """

    def __init__(self, reason: str, again: Again, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.again = reason, again


class ClaimStore:
    """Payloads and results of one stack.

    Args:
        bucket: the stack's claim-check bucket. Only ever this one: a message cannot name another.
        prefix: of payloads; consumers read nothing outside of it.
        client: returns the boto3 S3 client.
    """

    def __init__(self, bucket: str, prefix: str, client: Callable[[], Any]) -> None:
        self._bucket, self._client = bucket, client
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else DEFAULT_PREFIX

    def pack(self, envelope: Envelope) -> tuple[Envelope, bytes]:
        """Split a job into the envelope that travels and the bytes that ``put`` has to store first. Sends nothing.

        The key follows from the job's id and the content: publishing a job again writes the same object again, and
        nobody has to list the bucket.

        Raises:
            PayloadTooLargeError: naming the size, the limit and the remedy.
        """
        data = to_json(envelope.payload, ensure_ascii=True, inf_nan_mode="strings")
        pointer = _pointer(self._prefix, envelope.id, data, payload_digest(envelope.payload))
        if pointer.size > MAX_OBJECT_BYTES:
            raise PayloadTooLargeError(
                f"the payload is {pointer.size} bytes; the claim check carries {MAX_OBJECT_BYTES}. Store the data as "
                "an object of your own and pass a reference to it."
            )
        return envelope.model_copy(update={"payload": {}, "claim": pointer}), data

    def put(self, pointer: Pointer, data: bytes) -> None:
        """Store the bytes that ``pack`` returned. S3 compares them with the hash before it accepts them.

        Raises:
            Exception: what the SDK says; nothing was stored, or the same object was.
        """
        self._client().put_object(
            Bucket=self._bucket,
            Key=pointer.key,
            Body=data,
            ContentType="application/json",
            ChecksumSHA256=b64encode(bytes.fromhex(pointer.sha256)).decode("ascii"),
        )

    def store(self, envelope: Envelope) -> Envelope:
        """``pack`` and ``put`` in one step: the envelope that may be sent now."""
        packed, data = self.pack(envelope)
        assert packed.claim is not None
        self.put(packed.claim, data)
        return packed

    def fetch(self, envelope: Envelope) -> Envelope:
        """The envelope with its payload; unchanged if it carries it itself. The claim stays: whoever has to tell two
        payloads apart without reading them (the ledger) goes by its hash.

        Raises:
            ClaimError: the payload cannot be had; its ``again`` says whether it can later.
        """
        pointer = envelope.claim
        if pointer is None:
            return envelope
        if envelope.payload:
            raise ClaimError("claim_refused", "never", "the message has a claim and a payload; it may have only one")
        payload = self._get(pointer, self._prefix)
        if not isinstance(payload, dict):
            raise ClaimError("claim_corrupted", "never", "the object is not a JSON object")
        return envelope.model_copy(update={"payload": payload})

    def store_result(self, ref: str, text: str) -> str:
        """Keep a job's result that is too large for its record.

        Args:
            ref: key of the record.
            text: the result as JSON in ASCII.

        Returns:
            what the record keeps instead; ``fetch_result`` reads it.

        Raises:
            PayloadTooLargeError: it is too large for the bucket, too.
            Exception: what the SDK says. The caller records the job's end all the same.
        """
        data = text.encode("ascii")
        if len(data) > MAX_OBJECT_BYTES:
            raise PayloadTooLargeError(f"{len(data)} bytes; at most {MAX_OBJECT_BYTES} are kept")
        pointer = _pointer(RESULTS_PREFIX, ref, data)
        self.put(pointer, data)
        return pointer.model_dump_json()

    def fetch_result(self, kept: str) -> Any:
        """A result that ``store_result`` has kept. Raises ClaimError; "claim_gone" once the lifecycle rule took it."""
        return self._get(Pointer.model_validate_json(kept), RESULTS_PREFIX)

    def _get(self, pointer: Pointer, prefix: str) -> Any:
        self._check(pointer, prefix)
        try:
            answer = self._client().get_object(Bucket=self._bucket, Key=pointer.key)
            if answer.get("ContentLength") != pointer.size:  # known before a byte of it is read
                raise ClaimError(
                    "claim_corrupted",
                    "never",
                    f"the object has {answer.get('ContentLength')} bytes, the message says {pointer.size}",
                )
            data = answer["Body"].read()
        except ClaimError:
            raise
        except Exception as error:
            raise _fault(error) from error
        if hashlib.sha256(data).hexdigest() != pointer.sha256:
            raise ClaimError("claim_corrupted", "never", "the object's SHA-256 is not the one in the message")
        try:
            return from_json(data)
        except ValueError:
            raise ClaimError("claim_corrupted", "never", "the object is not JSON") from None

    def _check(self, pointer: Pointer, prefix: str) -> None:
        """A message is foreign data: what it points at is checked before S3 is asked for it."""
        key, bucket = pointer.key, (pointer.model_extra or {}).get("bucket", self._bucket)
        refused = ""
        if bucket != self._bucket:
            refused = "it names a bucket of its own"
        elif not key.startswith(prefix) or key == prefix:
            refused = f"its key is not under {prefix!r}"
        elif not _LEGAL_KEY.fullmatch(key) or not {"", ".", ".."}.isdisjoint(key.split("/")):
            refused = "its key is not one that a publisher makes"
        elif not 0 <= pointer.size <= MAX_OBJECT_BYTES:
            refused = f"its size is {pointer.size}; at most {MAX_OBJECT_BYTES} bytes are read"
        if refused:
            raise ClaimError("claim_refused", "never", f"the message's claim is refused: {refused}")


def not_configured() -> ClaimError:
    """For a consumer whose stack gives it no bucket, while a producer has one: somebody has to mend that."""
    return ClaimError(
        "claim_unconfigured", "policy", "the environment variable JOBS_CLAIM_BUCKET is not set for this consumer"
    )


def fault_outcome(
    error: ClaimError, retry: Backoff, attempts_before: int, receive_count: int, random: Random
) -> Outcome:
    """What becomes of a job whose payload could not be fetched. Its code has not been called, so no attempt is used up.

    What never comes is dead at once, and the dead letter keeps the pointer. What is denied is tried as often and as
    slowly as the job's ``retry`` policy says, counted by receives, then dead with that reason: an alarm on dead letters
    tells it. What is only busy is tried until the queue itself gives up.
    """
    failure = Failure.of(error)
    tries = attempts_before + receive_count
    if error.again == "never" or (error.again == "policy" and tries >= retry.max_attempts):
        return Outcome(Kind.DEAD, error.reason, error=failure)
    if error.again == "policy":
        return Outcome(Kind.RETRY, error.reason, wait_after(tries, retry, random), failure)
    shortest, longest = UNAVAILABLE_WAIT
    ceiling = min(longest, shortest * 2 ** min(receive_count, 10))
    wait = shortest + timedelta(seconds=random.uniform(0, (ceiling - shortest).total_seconds()))
    return Outcome(Kind.DEFER, error.reason, wait, failure)


def _pointer(prefix: str, name: str, data: bytes, digest: str | None = None) -> Pointer:
    # Hashed, because an id may be any text: `a/../b`, or 128 Japanese characters.
    folder = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    sha256 = hashlib.sha256(data).hexdigest()
    return Pointer(key=f"{prefix}{folder}/{sha256}.json", sha256=sha256, size=len(data), digest=digest)


def _fault(error: Exception) -> ClaimError:
    """Gone, denied or busy. The text of S3's answer holds no payload."""
    code, text = code_of(error), str(error)
    if code in ("NoSuchKey", "404"):
        return ClaimError("claim_gone", "never", f"the object does not exist: {text}")
    if is_transient(error):
        return ClaimError("claim_unavailable", "always", text)
    if code in ("AccessDenied", "403") and "kms:" not in text and "s3:GetObject" not in text:
        # S3 API "GetObject": without s3:ListBucket a missing object is answered with 403, not 404. Only if the answer
        # names the permission that lacks is it known to be the other case.
        return ClaimError("claim_denied_or_gone", "policy", text)
    return ClaimError("claim_denied", "policy", text)
