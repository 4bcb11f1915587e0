"""Who owns a job's state. The engine asks before it runs a job and tells what came of it; nothing else touches the
state.

``JobLedger`` keeps one record per key: one conditional write to claim a run, one to finish it. Every later write is
fenced by the random owner token of the claim, so that a worker that was thought dead and comes back cannot overwrite
what its successor did.

``NoLedger`` keeps nothing: attempts come from the message itself, a job may run twice, and parked work goes to the
dead-letter queue.

States of a record::

    QUEUED --> RUNNING --> DONE
                  |  ^---- RETRY (failed or deferred; not before a time)
                  +------> DEAD, PARKED, DISCARDED

DONE is final while the record lives. DEAD, PARKED and DISCARDED begin anew for a redrive: a higher generation, or
(DEAD) a message that was sent to the queue after the job had died. Anything else that meets a finished record is a late
duplicate.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import to_json

from .conditions import Condition, above, absent, all_of, any_of, at_most, below, equals
from .deadletter import ATTRIBUTE
from .delivery import Delivery
from .envelope import Envelope, payload_digest
from .failure import Failure
from .outcome import MAX_WAIT, Kind, Outcome
from .table import ConditionFailedError, Table, Update

if TYPE_CHECKING:
    from .claims import ClaimStore

# Longer than queue (up to 14 d) and dead-letter queue (14 d) together keep a message, so that a late redrive is
# recognised.
KEEP = timedelta(days=30)
SENT_GRACE_MS = 5_000  # SQS's clock against ours: sent that much after the job died is a redrive, not a late duplicate
MAX_JITTER_SECONDS = 5.0
MAX_KEY_CHARS = 200
PROGRESS_EVERY_MS = 5_000
MAX_RESULT_BYTES = 100_000
PENDING = ("QUEUED", "RETRY", "RUNNING")
_STATES = {
    Kind.SUCCEEDED: "DONE",
    Kind.RETRY: "RETRY",
    Kind.DEFER: "RETRY",
    Kind.DEAD: "DEAD",
    Kind.PARKED: "PARKED",
    Kind.DISCARDED: "DISCARDED",
}


@dataclass(slots=True)
class Claim:
    """The right to run a job once.

    Attributes:
        attempt: number of this run, from 1.
        ref: key of the record; the base of ``ctx.effect_key``.
        owner: fences later writes.
        crashes: earlier runs that never told how they ended.
        new_crash: the last one of them was not known before.
        cancelled: somebody asked the job to stop.
        effects: steps of earlier runs to "begun" or "done".
        last_progress: when progress was last written, in milliseconds since the epoch.
    """

    attempt: int
    ref: str = ""
    owner: str = ""
    crashes: int = 0
    new_crash: bool = False
    cancelled: bool = False
    effects: dict[str, str] = field(default_factory=dict)
    last_progress: int = 0


@dataclass(frozen=True, slots=True)
class Leftover:
    """A job that is done, but whose follow-up jobs may not have been published: its process died in between."""

    ref: str
    outbox: Sequence[str]
    owner: str


class LostClaimError(BaseException):
    """Another owner took the job over while it ran here: stop, touch nothing. Not an ``Exception``, so that the job's
    own ``except Exception`` lets it pass."""


class Ledger(Protocol):
    keeps_parked: bool
    """Whether a parked job is safe here. If not, parking means the dead-letter queue."""

    def acquire(self, envelope: Envelope, delivery: Delivery, lease: timedelta) -> Claim | Outcome | Leftover:
        """Claim the job, or say what to do instead: Duplicate, Defer (another owner, not due), Dead, Discarded."""
        ...

    def is_cancelled(self, claim: Claim) -> bool:
        """Whether the job was asked to stop."""
        ...

    def progress(self, claim: Claim, done: int, total: int) -> None:
        """Keep how far the job is. Called as often as the job likes."""
        ...

    def finish(self, claim: Claim, delivery: Delivery, outcome: Outcome, *, ran: bool) -> Outcome:
        """Record the outcome before anything is sent; returns it, or Lost if another owner took the job over."""
        ...


class NoLedger:
    """Attempts are receives: one that did not run the job (a deferral, a mate that killed the process) counts too."""

    keeps_parked = False

    def acquire(self, envelope: Envelope, delivery: Delivery, lease: timedelta) -> Claim | Outcome | Leftover:  # noqa: ARG002
        return Claim(attempt=envelope.attempts_before + delivery.receive_count, ref=envelope.id)

    def is_cancelled(self, claim: Claim) -> bool:  # noqa: ARG002
        return False

    def progress(self, claim: Claim, done: int, total: int) -> None:
        pass

    def finish(self, claim: Claim, delivery: Delivery, outcome: Outcome, *, ran: bool) -> Outcome:  # noqa: ARG002
        return outcome


def reference(app: str, job: str, job_id: str, key: str | None, occurrence: datetime | None = None) -> str:
    """Key of a job's record. Without a business key the job's id is the key; with one, each occurrence of a schedule
    has a record of its own, or the second one would be a duplicate of the first.
    """
    if key is None:
        # Neither a job's name nor an id written like this has a "#" where the others have one: no two kinds can meet.
        return f"{app}##{job_id.replace('#', '%23')}"
    if len(key) > MAX_KEY_CHARS:
        key = "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    if occurrence is not None:
        job = f"{job}@{occurrence.astimezone(UTC).isoformat()}"  # no job's name holds an "@"
    return f"{app}#{job}#{key}"


class JobLedger:
    """The ledger on a table.

    Args:
        app: name of the consuming application: with fan-out the same job has a record in each.
        table: where records live.
        now: the clock; aware, UTC. Only clocks of consumers are compared with each other.
        random: source of jitter.
        workload: stands on parked and dead records.
        claims: keeps results that are too large for a record.
    """

    keeps_parked = True

    def __init__(
        self,
        app: str,
        table: Table,
        now: Callable[[], datetime],
        random: Random | None = None,
        *,
        workload: str = "",
        claims: "ClaimStore | None" = None,
    ) -> None:
        self.app, self.table, self.now, self._random = app, table, now, random or SystemRandom()
        self._workload, self._claims = workload, claims

    def acquire(self, envelope: Envelope, delivery: Delivery, lease: timedelta) -> Claim | Outcome | Leftover:
        ref = reference(self.app, envelope.job, envelope.id, envelope.key, envelope.occurrence)
        owner, digest = secrets.token_hex(8), args_digest(envelope)
        now = self._milliseconds()
        claim: dict[str, Any] = {
            "state": "RUNNING",
            "owner": owner,
            "lease": now + round(lease.total_seconds() * 1000),
            "msg": delivery.message_id,
            "generation": envelope.generation,
            "ttl": self._ttl(),
        }
        about = {"job": envelope.job, "id": envelope.id, "args_hash": digest}
        try:
            item = self.table.update(
                Update(
                    ref,
                    _takeable(now, envelope.generation, delivery.message_id, digest),
                    sets=claim,
                    defaults=about,
                    adds={"starts": 1},
                )
            )
        except ConditionFailedError as failed:
            item = dict(failed.item)
            if item.get("owner") == owner:  # the SDK repeated a write whose answer was lost
                return _claim(ref, owner, item, envelope)
            instead = self._instead(item, envelope, delivery, digest, now)
            if instead is not None:
                return instead
            # Expired or redriven: begin anew, on the condition that the record still is the one just read.
            same = [equals(name, item[name]) if name in item else absent(name) for name in ("state", "owner", "ttl")]
            effects = self._kept_effects(item, now)
            kept = {*claim, *about, *effects, "starts", "pk"}
            try:
                item = self.table.update(
                    Update(
                        ref,
                        all_of(*same),
                        sets={**claim, **about, **effects, "starts": 1},
                        removes=tuple(sorted(set(item) - kept)),
                    )
                )
            except ConditionFailedError as failed:
                if failed.item.get("owner") == owner:
                    return _claim(ref, owner, failed.item, envelope)
                # Somebody else was faster.
                return Outcome(Kind.DEFER, "in_progress", self._jittered(1.0))
        return _claim(ref, owner, item, envelope)

    def _kept_effects(self, item: Mapping[str, Any], now: int) -> dict[str, Any]:
        """What a redriven job has done for good stays done, and what is unknown stays unknown until a human decides."""
        return {"effects": item["effects"]} if "effects" in item and not _expired(item, now) else {}

    def _instead(
        self, item: Mapping[str, Any], envelope: Envelope, delivery: Delivery, digest: str, now: int
    ) -> Outcome | Leftover | None:
        """What to do with a job that cannot be claimed; None: its record may begin anew."""
        state = item.get("state")
        # Under one key another job may be parked: what waits for a human is not thrown away for it.
        same_job = envelope.id == item.get("id") or digest == item.get("args_hash")
        free = state in ("DEAD", "DISCARDED") or (state == "PARKED" and same_job)
        # What was dropped because a newer one does its work does not stand in the newer one's way.
        born = None if envelope.enqueued_at is None else envelope.enqueued_at.timestamp() * 1000
        after_it = envelope.key is not None and born is not None and born > item.get("outcome_at", 0) + SENT_GRACE_MS
        newer_one = (
            state == "DISCARDED" and envelope.id != item.get("id") and (item.get("reason") != "cancelled" or after_it)
        )
        if _expired(item, now) or newer_one or (envelope.generation > item.get("generation", 0) and free):
            return None  # DynamoDB deletes expired items within days, not at once; a redrive says so by its generation
        sent_ms = None if delivery.sent_at is None else delivery.sent_at * 1000
        if state == "DEAD":
            newer = sent_ms is not None and sent_ms > item.get("outcome_at", 0) + SENT_GRACE_MS
            # A dead letter carries its reason through a redrive; one that the queue itself moved has only its time.
            if item.get("msg") != delivery.message_id and (newer or ATTRIBUTE in delivery.attributes):
                return None
            # The process died between recording the death and sending the letter, or between that and the
            # acknowledgement; or a late duplicate. Which one cannot be told: a second letter is the harmless mistake.
            return Outcome(Kind.DEAD, item.get("reason", ""), error=_failure(item))
        if item.get("args_hash", digest) != digest:  # a job that was cancelled before it came has none
            return Outcome(Kind.DEAD, "key_conflict")
        if state in PENDING and envelope.generation < item.get("generation", 0):
            return Outcome(Kind.DUPLICATE, "superseded")  # its redriven copy is on its way
        if state == "RUNNING":
            return Outcome(Kind.DEFER, "in_progress", self._jittered((item.get("lease", 0) - now) / 1000))
        if state == "RETRY":
            return Outcome(Kind.DEFER, "not_due", self._jittered((item.get("not_before", 0) - now) / 1000))
        if item.get("outbox"):
            return Leftover(item["pk"], item["outbox"], item["owner"])
        if state == "DISCARDED":
            return Outcome(Kind.DISCARDED, item.get("reason", ""))
        if state not in ("DONE", "PARKED"):  # of a later version, which knows what it means
            return Outcome(Kind.DEFER, "unknown_state", self._jittered(60.0))
        return Outcome(Kind.DUPLICATE, state.lower())

    def finish(self, claim: Claim, delivery: Delivery, outcome: Outcome, *, ran: bool) -> Outcome:
        state = _STATES[outcome.kind]
        now = self._milliseconds()
        sets: dict[str, Any] = {"state": state, "outcome_at": now, "reason": outcome.reason}
        if outcome.delay is not None:
            sets["not_before"] = now + round(outcome.delay.total_seconds() * 1000)
        if outcome.error is not None:
            sets["error"], sets["message"] = outcome.error.name, outcome.error.message
        if outcome.kind is Kind.PARKED:
            sets["body"] = delivery.body
        if outcome.kind in (Kind.PARKED, Kind.DEAD):
            sets["listed"], sets["workload"] = f"{self.app}#{state}", self._workload
        # A run that was deferred, or never started, is no attempt: take its start back. Else it has ended, so that
        # starts - ends counts the runs that never told how they ended.
        counted = ran and outcome.kind is not Kind.DEFER
        adds = {"ends": 1} if counted else {"starts": -1}
        if claim.crashes:
            sets["crashes_seen"] = claim.crashes
        # What is parked waits for a human without limit of time: DynamoDB must not expire it.
        removes = ["lease", "ttl"] if outcome.kind is Kind.PARKED else ["lease"]
        if outcome.error is None:
            removes += ["error", "message"]  # of an earlier attempt
        if outcome.kind is Kind.SUCCEEDED:
            sets.update(self._result(claim.ref, outcome.result))
        try:
            self.table.update(Update(claim.ref, _mine(claim), sets=sets, adds=adds, removes=removes))
        except ConditionFailedError as failed:
            if failed.item.get("owner") == claim.owner and failed.item.get("state") == state:
                return outcome  # the SDK repeated a write whose answer was lost
            return Outcome(Kind.LOST, "owner_changed")
        return outcome

    def is_cancelled(self, claim: Claim) -> bool:
        item = self.table.get(claim.ref)
        return item is not None and bool(item.get("cancel"))

    def progress(self, claim: Claim, done: int, total: int) -> None:
        """Raises LostClaimError if another owner took the job over."""
        now = self._milliseconds()
        if now - claim.last_progress < PROGRESS_EVERY_MS and done < total:
            return
        claim.last_progress = now
        try:
            self.table.update(Update(claim.ref, _mine(claim), sets={"done": done, "total": total}))
        except ConditionFailedError:
            raise LostClaimError("another owner took the job over") from None

    def mark_effect(self, claim: Claim, step: str, state: str | None) -> None:
        """Record that a guarded step has begun or is done; None: it certainly did not happen.

        Raises:
            LostClaimError: another owner took the job over.
        """
        effects = {name: value for name, value in {**claim.effects, step: state}.items() if value is not None}
        try:
            self.table.update(
                Update(claim.ref, _mine(claim), sets={"effects": [f"{v}:{k}" for k, v in effects.items()]})
            )
        except ConditionFailedError:
            raise LostClaimError("another owner took the job over") from None
        claim.effects.clear()
        claim.effects.update(effects)

    def commit(self, claim: Claim, writes: Sequence[Mapping[str, Any]], outbox: Sequence[str], result: Any) -> None:
        """Complete the job together with its own writes, or do nothing of both.

        Raises:
            ConditionFailedError: another owner took the job over.
            Exception: one of the caller's conditions did not hold, or the service failed.
        """
        sets = {"state": "DONE", "outcome_at": self._milliseconds(), "reason": "", **self._result(claim.ref, result)}
        if outbox:
            sets["outbox"] = list(outbox)
        change = Update(claim.ref, _mine(claim), sets=sets, adds={"ends": 1}, removes=("lease",))
        try:
            self.table.transact(change, writes, token=secrets.token_hex(16))
        except ConditionFailedError as failed:
            if failed.item.get("owner") != claim.owner or failed.item.get("state") != "DONE":
                raise
        except Exception:
            # The answer may have been lost on its way, not the transaction: look.
            item = self.table.get(claim.ref) or {}
            if item.get("owner") != claim.owner or item.get("state") != "DONE":
                raise

    def clear_outbox(self, leftover: Leftover) -> None:
        """The follow-up jobs are published."""
        same = all_of(equals("state", "DONE"), equals("owner", leftover.owner))
        with suppress(ConditionFailedError):  # somebody else was faster, and the key may be in use again
            self.table.update(Update(leftover.ref, same, removes=("outbox",)))

    def _result(self, ref: str, result: Any) -> dict[str, Any]:
        """The stored form of what a job returned. One that is too large, or that JSON cannot hold, never endangers the
        record.
        """
        if result is None:
            return {}
        try:
            text = to_json(result, ensure_ascii=True, inf_nan_mode="strings").decode("ascii")
            if len(text) <= MAX_RESULT_BYTES:
                return {"result": text}
            if self._claims is not None:
                return {"result_claim": self._claims.store_result(ref, text)}
        except Exception as error:
            return {"result_error": f"{type(result).__name__} cannot be kept ({type(error).__name__})"}
        return {"result_error": f"{len(text)} bytes; at most {MAX_RESULT_BYTES} are kept without a claim check"}

    def _milliseconds(self) -> int:
        return round(self.now().timestamp() * 1000)

    def _ttl(self) -> int:
        return int((self.now() + KEEP).timestamp())

    def _jittered(self, seconds: float) -> timedelta:
        wait = max(0.0, seconds) + self._random.uniform(0, MAX_JITTER_SECONDS)
        return min(timedelta(seconds=wait), MAX_WAIT)


def _failure(item: Mapping[str, Any]) -> Failure | None:
    return Failure(item["error"], item.get("message", "")) if "error" in item else None


def _expired(item: Mapping[str, Any], now: int) -> bool:
    return "ttl" in item and bool(item["ttl"] <= now // 1000)


def _takeable(now: int, generation: int, message_id: str, digest: str) -> Condition:
    return any_of(
        absent("pk"),
        all_of(
            above("ttl", now // 1000),
            equals("args_hash", digest),
            at_most("generation", generation),
            any_of(
                # Not only for the publication that registered it: its producer may have died before sending.
                equals("state", "QUEUED"),
                all_of(equals("state", "RETRY"), any_of(at_most("not_before", now), equals("msg", message_id))),
                all_of(equals("state", "RUNNING"), below("lease", now)),
            ),
        ),
    )


def _mine(claim: Claim) -> Condition:
    return all_of(equals("owner", claim.owner), equals("state", "RUNNING"))


def _claim(ref: str, owner: str, item: Mapping[str, Any], envelope: Envelope) -> Claim:
    crashes = item["starts"] - 1 - item.get("ends", 0)
    return Claim(
        attempt=envelope.attempts_before + item["starts"],
        ref=ref,
        owner=owner,
        crashes=crashes,
        new_crash=crashes > item.get("crashes_seen", 0),
        cancelled=item.get("cancel", False),
        effects={step: state for state, _, step in (text.partition(":") for text in item.get("effects", ()))},
    )


def args_digest(envelope: Envelope) -> str:
    """``payload_digest`` of a job; with a claim check the claim's hash, since the payload may not have been read."""
    if envelope.claim is None:
        return payload_digest(envelope.payload)
    return envelope.claim.digest or envelope.claim.sha256[:16]
