"""Claim check: what is stored and where, and which faults of the other side mean what."""

import hashlib
import io
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    FlexibleChecksumError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.response import StreamingBody
from botocore.stub import ANY, Stubber
from moto import mock_aws
from pydantic_core import from_json, to_json
from runtime.claims import (
    MAX_OBJECT_BYTES,
    ClaimError,
    ClaimStore,
    PayloadTooLargeError,
    fault_outcome,
    not_configured,
)
from runtime.deadletter import dead_letter
from runtime.delivery import Delivery
from runtime.engine import Report
from runtime.envelope import Envelope, Pointer, decode, encode
from runtime.outcome import Kind
from runtime.policy import fixed

BUCKET = "shop-claims"
PAYLOAD = {"text": "中" * 100_000, "n": 1}


def envelope(payload: dict[str, Any] | None = None, job_id: str = "j-1", **header: Any) -> Envelope:
    return Envelope(id=job_id, job="mail.send", payload=PAYLOAD if payload is None else payload, **header)


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        client.create_bucket(Bucket=BUCKET)
        yield client


@pytest.fixture
def store(s3: Any) -> ClaimStore:
    return ClaimStore(BUCKET, "claims/", lambda: s3)


@pytest.fixture
def stubbed() -> Iterator[tuple[ClaimStore, Stubber]]:
    client = boto3.client(
        "s3",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield ClaimStore(BUCKET, "claims/", lambda: client), stubber
        stubber.assert_no_pending_responses()


def keys(s3: Any) -> list[str]:
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def pointed(**changes: Any) -> Envelope:
    """A message as a publisher with other ideas might send it."""
    fields = {"key": "claims/a/b.json", "sha256": hashlib.sha256(b"{}").hexdigest(), "size": 2, **changes}
    return envelope({}, claim=Pointer(**fields))


def fault(store: ClaimStore, message: Envelope) -> ClaimError:
    with pytest.raises(ClaimError) as caught:
        store.fetch(message)
    return caught.value


# ---- storing ---------------------------------------------------------------------------------------------------


def test_a_payload_comes_back_as_it_was(store: ClaimStore, s3: Any) -> None:
    original = envelope(key="7", tenant="acme")
    message = store.store(original)
    assert message.payload == {}
    assert store.fetch(decode(encode(message))) == original.model_copy(update={"claim": message.claim})
    assert len(encode(message)) < 500


def test_the_order_of_a_payload_is_kept(store: ClaimStore) -> None:
    """A job must not behave differently because its payload was large."""
    assert list(store.fetch(store.store(envelope({"b": 1, "a": 2}))).payload) == ["b", "a"]


def test_what_is_stored_is_ascii_json_with_the_hash_and_size_of_its_bytes(store: ClaimStore, s3: Any) -> None:
    claim = store.store(envelope()).claim
    assert claim is not None
    stored = s3.get_object(Bucket=BUCKET, Key=claim.key)
    data = stored["Body"].read()
    assert data.isascii()
    assert from_json(data) == PAYLOAD
    assert claim.sha256 == hashlib.sha256(data).hexdigest()
    assert claim.size == len(data)
    assert stored["ContentType"] == "application/json"


def test_the_same_job_again_is_the_same_object(store: ClaimStore, s3: Any) -> None:
    assert store.store(envelope()).claim == store.store(envelope()).claim
    assert len(keys(s3)) == 1
    store.store(envelope({**PAYLOAD, "n": 2}))
    store.store(envelope(job_id="j-2"))
    assert len(keys(s3)) == 3


@pytest.mark.parametrize("job_id", ["../../x", "a/b#c%d e", "請求書-七", "x" * 128, "."])
def test_any_id_makes_a_key_that_its_consumer_accepts(store: ClaimStore, s3: Any, job_id: str) -> None:
    assert store.fetch(store.store(envelope(job_id=job_id))).payload == PAYLOAD
    [key] = keys(s3)
    assert key.startswith("claims/")
    assert len(key) < 128


@pytest.mark.parametrize("prefix", ["", "/", "claims", "/claims/", "claims/"])
def test_a_prefix_is_always_a_folder(s3: Any, prefix: str) -> None:
    ClaimStore(BUCKET, prefix, lambda: s3).store(envelope())
    assert keys(s3)[0].startswith("claims/")


def test_packing_sends_nothing_and_storing_lets_s3_compare_the_hash(stubbed: tuple[ClaimStore, Stubber]) -> None:
    store, stubber = stubbed
    message, data = store.pack(envelope())
    assert message.claim is not None
    stubber.add_response(
        "put_object",
        {},
        {
            "Bucket": BUCKET,
            "Key": message.claim.key,
            "Body": data,
            "ContentType": "application/json",
            "ChecksumSHA256": ANY,
        },
    )
    store.put(message.claim, data)


def test_a_payload_that_no_consumer_would_read_is_refused() -> None:
    store = ClaimStore(BUCKET, "claims/", lambda: None)
    with pytest.raises(PayloadTooLargeError, match=r"67108876 bytes; the claim check carries 67108864.*reference"):
        store.pack(envelope({"text": "x" * (MAX_OBJECT_BYTES + 1)}))


# ---- fetching: what the object is ------------------------------------------------------------------------------


def test_a_message_without_a_claim_asks_nobody() -> None:
    message = envelope({"n": 1})
    assert ClaimStore(BUCKET, "claims/", lambda: pytest.fail("asked S3")).fetch(message) is message


@pytest.mark.parametrize(
    "payload",
    [
        {"claim": {"key": "claims/a/b.json", "sha256": "0" * 64, "size": 2}},
        {"key": "claims/a/b.json", "sha256": "0" * 64, "size": 2},
        {"s3BucketName": "b", "s3Key": "k"},
        {"claim": None},
    ],
)
def test_a_payload_that_looks_like_a_pointer_is_a_payload(payload: dict[str, Any]) -> None:
    """The pointer stands in the header, where no payload can reach."""
    message = decode(encode(envelope(payload)))
    assert message.claim is None
    assert ClaimStore(BUCKET, "claims/", lambda: pytest.fail("asked S3")).fetch(message).payload == payload


def test_such_a_payload_in_a_claim_is_a_payload_too(store: ClaimStore) -> None:
    payload = {"claim": {"key": "claims/a/b.json", "sha256": "0" * 64, "size": 2}}
    assert store.fetch(store.store(envelope(payload))).payload == payload


def test_an_object_that_is_gone_is_gone_for_ever(store: ClaimStore, s3: Any) -> None:
    message = store.store(envelope())
    s3.delete_object(Bucket=BUCKET, Key=keys(s3)[0])
    error = fault(store, message)
    assert (error.reason, error.again) == ("claim_gone", "never")


@pytest.mark.parametrize("data", [b"", b'{"n":1', b'{"n":2}', b'{"n":1}\n'])
def test_a_truncated_or_changed_object_is_corrupted(store: ClaimStore, s3: Any, data: bytes) -> None:
    message = store.store(envelope({"n": 1}))
    s3.put_object(Bucket=BUCKET, Key=keys(s3)[0], Body=data)
    error = fault(store, message)
    assert (error.reason, error.again) == ("claim_corrupted", "never")


@pytest.mark.parametrize("data", [b"not json", b"[1]", b"null"])
def test_an_object_that_is_no_payload_is_corrupted(store: ClaimStore, s3: Any, data: bytes) -> None:
    s3.put_object(Bucket=BUCKET, Key="claims/a/b.json", Body=data)
    message = pointed(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    assert fault(store, message).reason == "claim_corrupted"


def test_an_object_of_another_size_is_not_read(stubbed: tuple[ClaimStore, Stubber]) -> None:
    store, stubber = stubbed
    unread = StreamingBody(io.BytesIO(b"x" * 100), MAX_OBJECT_BYTES * 4)
    stubber.add_response("get_object", {"Body": unread, "ContentLength": MAX_OBJECT_BYTES * 4})
    assert fault(store, pointed()).reason == "claim_corrupted"
    assert unread.tell() == 0


# ---- fetching: what the pointer is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"bucket": "somebody-elses"},
        {"bucket": None},
        {"key": "s3://somebody-elses/claims/a/b.json"},
        {"key": "arn:aws:s3:::somebody-elses/claims/a"},
        {"key": "secrets/a.json"},
        {"key": "results/a/b.json"},
        {"key": "claims"},
        {"key": "claims/"},
        {"key": "claimsx/a.json"},
        {"key": "claims/../secrets/a.json"},
        {"key": "claims/a/.."},
        {"key": "claims/./a.json"},
        {"key": "claims//a.json"},
        {"key": "claims/%2e%2e/a.json"},
        {"key": "claims/a\\..\\b"},
        {"key": "claims/a.json?versionId=1"},
        {"key": "claims/a.json\n"},
        {"key": "/claims/a.json"},
        {"key": ""},
        {"key": "claims/" + "x" * 1024},
        {"size": MAX_OBJECT_BYTES + 1},
        {"size": -1},
    ],
)
def test_a_pointer_to_anywhere_else_is_refused_before_s3_is_asked(changes: dict[str, Any]) -> None:
    store = ClaimStore(BUCKET, "claims/", lambda: pytest.fail("asked S3"))
    error = fault(store, decode(encode(pointed(**changes))))
    assert (error.reason, error.again) == ("claim_refused", "never")
    assert "somebody" not in str(error)


def test_the_stacks_own_bucket_may_be_named_and_changes_nothing(store: ClaimStore, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="claims/a/b.json", Body=b"{}")
    assert store.fetch(pointed(bucket=BUCKET)).payload == {}


def test_a_message_with_both_a_claim_and_a_payload_is_refused(store: ClaimStore) -> None:
    message = store.store(envelope())
    assert fault(store, message.model_copy(update={"payload": {"n": 1}})).reason == "claim_refused"


# ---- fetching: what S3 says ------------------------------------------------------------------------------------

DENIED_KMS = (
    "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: kms:Decrypt on the resource associated with "
    "this ciphertext because no identity-based policy allows the kms:Decrypt action"
)
DENIED_GET = (
    "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: s3:GetObject on resource: "
    '"arn:aws:s3:::shop-claims/claims/a" because no identity-based policy allows the s3:GetObject action'
)
DENIED_LIST = (
    "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: s3:ListBucket on resource: "
    '"arn:aws:s3:::shop-claims" because no identity-based policy allows the s3:ListBucket action'
)


@pytest.mark.parametrize(
    ("code", "message", "status", "reason", "again"),
    [
        ("NoSuchKey", "The specified key does not exist.", 404, "claim_gone", "never"),
        ("AccessDenied", "Access Denied", 403, "claim_denied_or_gone", "policy"),
        ("AccessDenied", DENIED_LIST, 403, "claim_denied_or_gone", "policy"),
        ("AccessDenied", DENIED_GET, 403, "claim_denied", "policy"),
        ("AccessDenied", DENIED_KMS, 403, "claim_denied", "policy"),
        ("KMS.DisabledException", "the key is disabled", 400, "claim_denied", "policy"),
        ("KMS.KMSInvalidStateException", "pending deletion", 400, "claim_denied", "policy"),
        ("NoSuchBucket", "The specified bucket does not exist", 404, "claim_denied", "policy"),
        ("ExpiredToken", "expired", 400, "claim_denied", "policy"),
        ("InvalidObjectState", "archived", 403, "claim_denied", "policy"),
        ("SlowDown", "Please reduce your request rate.", 503, "claim_unavailable", "always"),
        ("ServiceUnavailable", "Please try again.", 503, "claim_unavailable", "always"),
        ("InternalError", "We encountered an internal error.", 500, "claim_unavailable", "always"),
        ("RequestTimeout", "idle", 400, "claim_unavailable", "always"),
        ("ThrottlingException", "KMS", 400, "claim_unavailable", "always"),
        ("KMS.ThrottlingException", "KMS", 400, "claim_unavailable", "always"),
    ],
)
def test_faults_are_told_apart(
    stubbed: tuple[ClaimStore, Stubber], code: str, message: str, status: int, reason: str, again: str
) -> None:
    store, stubber = stubbed
    stubber.add_client_error("get_object", code, message, status, expected_params={"Bucket": BUCKET, "Key": ANY})
    error = fault(store, pointed())
    assert (error.reason, error.again) == (reason, again)
    assert message in str(error)


class Failing:
    """A client whose call, or whose answer's body, raises."""

    def __init__(self, error: Exception, *, in_body: bool = False) -> None:
        self.error, self.in_body = error, in_body

    def get_object(self, **request: Any) -> dict[str, Any]:
        if not self.in_body:
            raise self.error
        return {"ContentLength": 2, "Body": self}

    def read(self) -> bytes:
        raise self.error


@pytest.mark.parametrize(
    ("client", "reason", "again"),
    [
        (Failing(ReadTimeoutError(endpoint_url="x")), "claim_unavailable", "always"),
        (Failing(EndpointConnectionError(endpoint_url="x")), "claim_unavailable", "always"),
        (Failing(ConnectionResetError()), "claim_unavailable", "always"),
        (Failing(IncompleteReadError(actual_bytes=1, expected_bytes=2), in_body=True), "claim_unavailable", "always"),
        (Failing(ReadTimeoutError(endpoint_url="x"), in_body=True), "claim_unavailable", "always"),
        (Failing(FlexibleChecksumError(error_msg="x"), in_body=True), "claim_unavailable", "always"),
        (Failing(NoCredentialsError()), "claim_denied", "policy"),
    ],
)
def test_a_call_without_a_whole_answer(client: Failing, reason: str, again: str) -> None:
    error = fault(ClaimStore(BUCKET, "claims/", lambda: client), pointed())
    assert (error.reason, error.again) == (reason, again)


# ---- what becomes of the job -----------------------------------------------------------------------------------

RETRY = fixed(timedelta(seconds=30), max_attempts=3)


def outcomes(error: ClaimError, receives: int, attempts_before: int = 0) -> list[tuple[Kind, str]]:
    found = [fault_outcome(error, RETRY, attempts_before, n, Random(1)) for n in range(1, receives + 1)]
    return [(outcome.kind, outcome.reason) for outcome in found]


@pytest.mark.parametrize("reason", ["claim_gone", "claim_corrupted", "claim_refused"])
def test_what_never_comes_is_dead_at_once(reason: str) -> None:
    assert outcomes(ClaimError(reason, "never", ""), 1) == [(Kind.DEAD, reason)]


def test_what_is_denied_is_tried_by_policy_and_then_dead_with_that_reason() -> None:
    assert outcomes(ClaimError("claim_denied", "policy", ""), 4) == [
        (Kind.RETRY, "claim_denied"),
        (Kind.RETRY, "claim_denied"),
        (Kind.DEAD, "claim_denied"),
        (Kind.DEAD, "claim_denied"),
    ]
    assert fault_outcome(not_configured(), RETRY, 0, 1, Random(1)).delay == timedelta(seconds=30)
    assert outcomes(not_configured(), 1, attempts_before=2) == [(Kind.DEAD, "claim_unconfigured")]


def test_what_is_busy_is_tried_as_long_as_the_queue_gives_it_out() -> None:
    error = ClaimError("claim_unavailable", "always", "")
    assert outcomes(error, 50) == [(Kind.DEFER, "claim_unavailable")] * 50
    waits = [fault_outcome(error, RETRY, 0, n, Random(seed)).delay for n in (1, 5, 50) for seed in range(50)]
    assert all(wait is not None and timedelta(seconds=5) <= wait <= timedelta(minutes=5) for wait in waits)
    assert len(set(waits)) > 100


def test_the_dead_letter_keeps_the_pointer(store: ClaimStore, s3: Any) -> None:
    body = encode(store.store(envelope()))
    s3.delete_object(Bucket=BUCKET, Key=keys(s3)[0])
    error = fault(store, decode(body))
    report = Report(Delivery(body, "m-1"), fault_outcome(error, RETRY, 0, 1, Random(1)))
    letter = dead_letter(report, "1", 262_144)
    assert letter["MessageBody"] == body
    note = from_json(letter["MessageAttributes"]["dead"]["StringValue"])
    assert (note["reason"], note["error"]) == ("claim_gone", "ClaimError")


def test_one_bad_pointer_fails_no_neighbour(store: ClaimStore) -> None:
    good = [store.store(envelope(job_id=f"j-{n}")) for n in range(2)]
    batch = [good[0], pointed(key="elsewhere/x"), pointed(key="claims/a/gone.json"), good[1]]
    found: list[int | str] = []
    for message in batch:
        try:
            found.append(len(store.fetch(message).payload))
        except ClaimError as error:
            found.append(error.reason)
    assert found == [2, "claim_refused", "claim_gone", 2]


def test_every_queue_and_every_redelivery_finds_the_object(store: ClaimStore, s3: Any) -> None:
    """Fan-out, a redelivery after success, a redrive: nobody deletes, so everybody can read."""
    message = store.store(envelope())
    readers = [ClaimStore(BUCKET, "claims/", lambda: s3) for _ in range(2)]
    assert all(reader.fetch(message).payload == PAYLOAD for reader in readers * 2)
    assert len(keys(s3)) == 1
    assert not [name for name in dir(ClaimStore) if "delete" in name]


# ---- results ---------------------------------------------------------------------------------------------------


def test_a_large_result_is_kept_beside_the_payloads(store: ClaimStore, s3: Any) -> None:
    text = to_json({"rows": ["ü"] * 50_000}, ensure_ascii=True).decode()
    kept = store.store_result("shop#j-1", text)
    assert len(kept) < 300
    assert store.fetch_result(kept) == {"rows": ["ü"] * 50_000}
    assert [key.split("/")[0] for key in keys(s3)] == ["results"]
    assert store.store_result("shop#j-1", text) == kept


def test_a_result_that_was_cleaned_up_is_gone(store: ClaimStore, s3: Any) -> None:
    kept = store.store_result("shop#j-1", "[1]")
    s3.delete_object(Bucket=BUCKET, Key=keys(s3)[0])
    with pytest.raises(ClaimError) as caught:
        store.fetch_result(kept)
    assert caught.value.reason == "claim_gone"


def test_a_result_is_not_read_from_elsewhere(store: ClaimStore) -> None:
    with pytest.raises(ClaimError, match="not under 'results/'"):
        store.fetch_result('{"key": "claims/a/b.json", "sha256": "0", "size": 1}')


def test_a_result_that_is_too_large_even_for_the_bucket_is_refused() -> None:
    with pytest.raises(PayloadTooLargeError, match="67108865 bytes"):
        ClaimStore(BUCKET, "", lambda: None).store_result("r", "x" * (MAX_OBJECT_BYTES + 1))


def test_a_failed_upload_says_what_s3_said(stubbed: tuple[ClaimStore, Stubber]) -> None:
    store, stubber = stubbed
    stubber.add_client_error("put_object", "AccessDenied", "no", 403)
    with pytest.raises(ClientError, match="AccessDenied"):
        store.store(envelope())
