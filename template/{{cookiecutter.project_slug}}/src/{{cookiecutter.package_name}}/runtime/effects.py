"""What a job may do at most once: its last transaction, and calls that cannot be taken back.

Order the work of a job *reversible first, irreversible last*: what can be repeated or deleted-then-inserted comes
first, the commit or the guarded call last. Then every crash leaves something that the next attempt can simply do again.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .envelope import Envelope
from .ledger import Claim, JobLedger, LostClaimError
from .outcome import Park
from .table import ConditionFailedError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .job import JobClass
    from .publisher import Message

# DynamoDB API "TransactWriteItems": at most 100 actions; one is the ledger's own.
MAX_OPERATIONS = 99
MAX_OUTBOX_BYTES = 300_000  # DynamoDB's limit of an item is 400 KB; the record needs some of it


class LedgerRequiredError(Exception):
    """The job asked for an effect that only a ledger can guard."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs a ledger: set `job_state` in Terraform (it gives the consumer JOBS_TABLE) and leave "
            "the job's `ledger` at True"
        )


@dataclass(frozen=True, slots=True)
class Operation:
    """One write of ``ctx.commit``: an entry of DynamoDB's ``TransactItems``."""

    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A job that ``ctx.commit`` publishes: never if the commit fails, surely if it succeeds."""

    message: "Message"


def put(
    table: str,
    item: Mapping[str, Any],
    *,
    condition: str | None = None,
    values: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Operation:
    """Write an item of a table of the job's own.

    Args:
        table: its name.
        item: plain Python values, as of boto3's table resource.
        condition: a DynamoDB condition expression.
        values: its ``:placeholders``.
        names: its ``#placeholders``, for reserved words such as ``status``.
    """
    return Operation({"Put": _request(table, condition, values, names, Item=_typed(item))})


def update(
    table: str,
    key: Mapping[str, Any],
    expression: str,
    *,
    condition: str | None = None,
    values: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Operation:
    """Change an item by a DynamoDB update expression."""
    return Operation(
        {"Update": _request(table, condition, values, names, Key=_typed(key), UpdateExpression=expression)}
    )


def delete(
    table: str,
    key: Mapping[str, Any],
    *,
    condition: str | None = None,
    values: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
) -> Operation:
    """Delete an item."""
    return Operation({"Delete": _request(table, condition, values, names, Key=_typed(key))})


def _request(
    table: str,
    condition: str | None,
    values: Mapping[str, Any] | None,
    names: Mapping[str, str] | None,
    **rest: Any,
) -> dict[str, Any]:
    request: dict[str, Any] = {"TableName": table, **rest}
    if condition is not None:
        request["ConditionExpression"] = condition
    if values:
        request["ExpressionAttributeValues"] = _typed(values)
    if names:
        request["ExpressionAttributeNames"] = dict(names)
    return request


def _typed(item: Mapping[str, Any]) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeSerializer

    serializer = TypeSerializer()
    return {name: serializer.serialize(value) for name, value in item.items()}


class Effects:
    """The effects of one run.

    Args:
        ledger: None if the job has none.
        claim: the run's claim.
        envelope: the job's header.
        prepare: encodes a follow-up job.
    """

    def __init__(
        self, ledger: JobLedger | None, claim: Claim, envelope: Envelope, prepare: "Callable[..., Message]"
    ) -> None:
        self._ledger, self._claim, self._envelope, self._prepare = ledger, claim, envelope, prepare
        self._children: dict[str, int] = {}
        self.committed = False
        self.outbox: list[str] = []

    def key(self, step: str) -> str:
        """Stable for this job and step, in every attempt and after a redrive: hand it to the other side as its
        idempotency key.
        """
        return hashlib.sha256(f"{self._claim.ref}\n{step}".encode()).hexdigest()[:32]

    def child(self, job: "JobClass", args: "BaseModel", options: Mapping[str, Any]) -> "Message":
        """Encode a follow-up job. Its id depends on this job's id and on what it is: a second attempt gives it the same
        one.
        """
        what = f"{job.name}\n{args.model_dump_json(by_alias=True)}"
        # Counted per content: an attempt that enqueues only what is missing gives it the id it had before.
        self._children[what] = number = self._children.get(what, 0) + 1
        content = f"{self._envelope.id}\n{number}\n{what}"
        job_id = "f-" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._prepare(job, args, **{"job_id": job_id, **options})

    @contextmanager
    def once(self, step: str, clean: tuple[type[BaseException], ...]) -> Iterator[bool]:
        ledger = self._need(f"ctx.effect({step!r})")
        state = self._claim.effects.get(step)
        if state == "done":
            yield False
            return
        if state == "begun":
            raise Park(f"effect_unknown: {step}")
        ledger.mark_effect(self._claim, step, "begun")
        try:
            yield True
        except clean:
            ledger.mark_effect(self._claim, step, None)
            raise
        except Exception as error:
            # The other side may or may not have done it. Trying again could do it twice: a human looks.
            raise Park(f"effect_unknown: {step}") from error
        ledger.mark_effect(self._claim, step, "done")

    def commit(self, operations: Sequence[Operation | FollowUp], result: Any) -> None:
        ledger = self._need("ctx.commit")
        if self.committed:
            raise RuntimeError(
                "ctx.commit was called twice in one run: put everything into one commit, it completes the job"
            )
        writes = [operation.entry for operation in operations if isinstance(operation, Operation)]
        if len(writes) > MAX_OPERATIONS:
            raise ValueError(
                f"ctx.commit got {len(writes)} writes; DynamoDB takes {MAX_OPERATIONS} beside the ledger's own"
            )
        outbox = [operation.message.to_json() for operation in operations if isinstance(operation, FollowUp)]
        size = sum(map(len, outbox))
        if size > MAX_OUTBOX_BYTES:
            raise ValueError(
                f"ctx.commit got follow-up jobs of {size} bytes in all; {MAX_OUTBOX_BYTES} fit. "
                "Commit one job that publishes the others."
            )
        try:
            ledger.commit(self._claim, writes, outbox, result)
        except ConditionFailedError:
            raise LostClaimError("another owner took the job over before the commit") from None
        self.committed, self.outbox = True, outbox

    def _need(self, what: str) -> JobLedger:
        if self._ledger is None:
            raise LedgerRequiredError(what)
        return self._ledger
