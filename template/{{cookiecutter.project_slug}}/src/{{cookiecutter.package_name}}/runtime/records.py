"""Questions and requests about a job from outside: its status, a request to stop, and "is it under way already?"."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from .conditions import absent, all_of, any_of, at_most, equals, one_of
from .delay import MAX_AHEAD
from .ledger import KEEP, PENDING
from .table import ConditionFailedError, Table, Update

if TYPE_CHECKING:
    from .claims import ClaimStore

FINAL = ("DONE", "DEAD", "PARKED", "DISCARDED")
# A producer that dies between registering a unique job and sending it must not block its key for ever.
QUEUED_AT_MOST = timedelta(hours=1)
_FRESH = [
    "owner",
    "lease",
    "starts",
    "ends",
    "msg",
    "outcome_at",
    "not_before",
    "reason",
    "error",
    "message",
    "result",
    "result_error",
    "result_claim",
    "crashes_seen",
    "body",
    "listed",
    "done",
    "total",
    "cancel",
    "outbox",
    "effects",
]


class Cancelled(StrEnum):
    """What a request to stop has done."""

    STOPPED = "stopped"  # it had not started, or waited for its next attempt: it will not run
    ASKED = "asked"  # it is running: `ctx.cancelled` is true from now on
    TOO_LATE = "too_late"  # it has ended


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What the ledger knows of a job.

    Attributes:
        state: "unknown" (no record: not started yet, or expired), "queued", "running", "retrying", "done", "dead",
            "parked" or
            "discarded".
        attempt: number of the last run.
        reason: of a state that is not success.
        error: class name of the last error.
        result: what ``run`` returned, as JSON data; None also if it was too large to keep.
        done, total: the last ``ctx.progress``.
        updated_at: when the last run ended.
        cancel_requested: somebody asked it to stop.
    """

    state: str
    attempt: int = 0
    reason: str = ""
    error: str = ""
    result: Any = None
    done: int | None = None
    total: int | None = None
    updated_at: datetime | None = None
    cancel_requested: bool = False


def status(table: Table, ref: str, claims: "ClaimStore | None" = None) -> JobStatus:
    """Read one job's record; with ``claims`` also a result that was too large for it.

    Raises:
        ClaimError: such a result cannot be read, or is older than the bucket keeps it.
    """
    item = table.get(ref)
    if item is None:
        return JobStatus("unknown")
    ended = item.get("outcome_at")
    return JobStatus(
        state={"RETRY": "retrying"}.get(item["state"], item["state"].lower()),
        attempt=item.get("starts", 0),
        reason=item.get("reason", ""),
        error=item.get("error", ""),
        result=_result(item, claims),
        done=item.get("done"),
        total=item.get("total"),
        updated_at=None if ended is None else datetime.fromtimestamp(ended / 1000, UTC),
        cancel_requested=item.get("cancel", False),
    )


def _result(item: Mapping[str, Any], claims: "ClaimStore | None") -> Any:
    if "result" in item:
        return from_json(item["result"])
    if "result_claim" in item and claims is not None:
        return claims.fetch_result(item["result_claim"])
    return None


def cancel(table: Table, ref: str, now: datetime) -> Cancelled:
    """Stop a job that has not started, ask one that runs."""
    stop = {
        "state": "DISCARDED",
        "reason": "cancelled",
        "outcome_at": round(now.timestamp() * 1000),
        "ttl": int((now + MAX_AHEAD + KEEP).timestamp()),  # the job may still be on its way, as long as a delay can be
    }
    try:
        table.update(Update(ref, any_of(absent("pk"), one_of("state", "QUEUED", "RETRY")), sets=stop))
    except ConditionFailedError as failed:
        if failed.item.get("state") not in PENDING:
            return Cancelled.TOO_LATE
    else:
        return Cancelled.STOPPED
    try:
        table.update(Update(ref, equals("state", "RUNNING"), sets={"cancel": True}))
    except ConditionFailedError:
        return cancel(table, ref, now)  # it ended, or went back to waiting, in between
    return Cancelled.ASKED


def enlist(table: Table, ref: str, job_id: str, about: Mapping[str, Any], now: datetime, due: datetime) -> str | None:
    """Register a unique job before it is sent. It holds its key until it is due, and a while longer.

    Returns:
        None if it may be sent; else the id of the job with this key that is queued or running.
    """
    seconds = int(now.timestamp())
    free = any_of(
        absent("pk"),
        at_most("ttl", seconds),
        all_of(one_of("state", "DONE", "DEAD", "DISCARDED"), absent("outbox")),  # a parked job waits for a human
        all_of(equals("state", "QUEUED"), at_most("queued_until", seconds)),
    )
    record = {
        **about,
        "state": "QUEUED",
        "id": job_id,
        "queued_until": int((due + QUEUED_AT_MOST).timestamp()),
        "ttl": int((due + KEEP).timestamp()),
    }
    try:
        table.update(Update(ref, free, sets=record, removes=_FRESH))
    except ConditionFailedError as failed:
        return str(failed.item.get("id", ""))
    return None


def delist(table: Table, ref: str, job_id: str) -> None:
    """Give the key free again: the job was not accepted."""
    try:
        condition = all_of(equals("state", "QUEUED"), equals("id", job_id))
        table.update(Update(ref, condition, sets={"queued_until": 0}))
    except ConditionFailedError:
        pass  # it runs already: it was accepted after all


def resolve_effect(table: Table, ref: str, step: str, *, done: bool) -> None:
    """Say what became of a guarded step (``ctx.effect``) that a run began and never told the end of.

    After it the parked job may be released: the step is then skipped (``done``) or made again.

    Raises:
        ConditionFailedError: the job is not parked, or has changed meanwhile.
    """
    item = table.get(ref) or {}
    effects = [text for text in item.get("effects", []) if text.partition(":")[2] != step]
    kept = [*effects, f"done:{step}"] if done else effects
    same = all_of(equals("state", "PARKED"), equals("owner", item.get("owner", "")))
    table.update(Update(ref, same, sets={"effects": kept}))
