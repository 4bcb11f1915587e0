"""What must hold. The witness sees every change of the table, every run and every message, keeps its own account of
them, and never asks the runtime for its opinion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime import JobContext
from runtime.envelope import payload_digest
from runtime.job import JobClass
from runtime.ledger import reference
from runtime.publisher import Message
from runtime.table import Update

from .cloud import APP, Stored

if TYPE_CHECKING:
    from .episode import Episode, Worker

FINAL = ("DONE", "DEAD", "PARKED", "DISCARDED")
SKEW = 60.0


class Violation(Exception):  # noqa: N818 - it is a finding
    """A rule does not hold. ``rule`` is its name."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule


@dataclass
class Attempt:
    """One claim: who, since when, and what came of it."""

    owner: str
    lease_until: int  # by its owner's clock; it may hold longer than it must, but not for ever
    lease_at_most: int
    entered: bool = False
    deferred: bool = False
    ended: str = ""

    @property
    def counts(self) -> bool:
        """Whether it has used up an attempt: it ran and did not defer itself."""
        return self.entered and not (self.deferred and self.ended)

    @property
    def burnt(self) -> bool:
        """As the record may see it: also a claim that never told how it ended, run or not."""
        return self.counts or not self.ended


@dataclass
class Story:
    """Everything about one piece of work, that is, one record."""

    job: JobClass
    attempts: list[Attempt] = field(default_factory=list)  # of this life: a redrive begins another
    digest: str = ""
    requests: int = 1  # how often a unique publication has begun the work anew after its end
    commits: int = 0
    charges: int = 0
    outbox: list[str] = field(default_factory=list)
    cancelled: bool = False
    successes: int = 0
    digests: set[str] = field(default_factory=set)  # payloads that were published
    done: set[str] = field(default_factory=set)  # payloads whose work was done at some time
    dropped: set[str] = field(default_factory=set)  # payloads that were discarded at some time


class Witness:
    def __init__(self, episode: "Episode") -> None:
        self._episode = episode
        self.stories: dict[str, Story] = {}
        self.accepted: set[str] = set()

    def need(self, holds: bool, rule: str, what: str) -> None:
        if not holds:
            self._episode.fail(Violation(rule, what))

    # Messages

    def published(self, message: Stored) -> None:
        self.accepted.add(message.envelope.id)
        self.story(message).digests.add(message.digest)

    def story(self, message: Stored) -> Story:
        job = self._episode.job(message.envelope.job)
        return self.stories.setdefault(message.ref, Story(job))

    def gone(self, message: Stored) -> None:
        """A message was deleted. If it was the last one of its work, the work must be at an end."""
        story, cloud = self.story(message), self._episode.cloud
        if cloud.holds(message.ref, message.digest):
            return
        item, about = self._episode.table.items.get(message.ref), f"{message.ref} ({message.message_id})"
        late = message.envelope.expires_at is not None and (
            self._episode.now > message.envelope.expires_at.timestamp() - SKEW
        )
        if not story.job.ledger:
            self.need(story.successes > 0, "nothing is lost", f"{about} has no record, no letter and never succeeded")
            return
        if item is None:
            self.need(story.job.regenerable and late, "nothing is lost", f"{about} was acknowledged, without a record")
            return
        match item["state"]:
            case "DONE":
                missing = [child for child in story.outbox if child not in self.accepted]
                self.need(not missing, "follow-up jobs are published", f"{about} is acknowledged, not so {missing}")
                same = message.digest in {item.get("args_hash"), *story.done, *story.dropped}
                self.need(same, "nothing is lost", f"{about} was acknowledged for the work of another payload")
            case "PARKED":
                pass  # its body was checked when it was written
            case "DISCARDED":
                allowed = story.cancelled or (story.job.regenerable and late) or item.get("reason") == "stale"
                self.need(allowed, "nothing is lost", f"{about} was discarded ({item.get('reason')})")
                missing = [child for child in story.outbox if child not in self.accepted]
                self.need(not missing, "follow-up jobs are published", f"{about} is discarded, not so {missing}")
            case state:
                # Done once, its key may be in use again: for a unique job that was published later.
                if not (late and story.job.regenerable) and message.digest not in story.done:
                    self.need(False, "nothing is lost", f"{about} was acknowledged, but is {state} without any message")

    # Records

    def changed(
        self, worker: "Worker | None", update: Update, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> None:
        """The table has applied a change; ``worker`` is None for a producer or an operator."""
        ref, old, new = update.key, before.get("state"), after.get("state")
        story = self.stories.get(ref)
        if worker is not None and new == "RUNNING" and after.get("owner") != before.get("owner"):
            assert story is not None
            self._claimed(worker, story, before, after)
            return
        if worker is None:
            self._from_outside(ref, before, after)
            return
        if story is None:
            self.need(False, "only owners write", f"{ref} became {new} out of nothing")
            return
        if old == "RUNNING":
            owner = str(before.get("owner"))
            self.need(worker.owners.get(ref) == owner, "only owners write", f"{ref}: {worker} wrote, not its owner")
            if new != "RUNNING":
                self._ended(story, owner, ref, after)
        else:
            self.need(new == old, "an end is final", f"{ref}: {worker} made {new} of {old}")
        if "outbox" in before and "outbox" not in after:
            missing = [m.id for m in map(Message.from_json, before["outbox"]) if m.id not in self.accepted]
            self.need(not missing, "follow-up jobs are published", f"{ref} forgot {missing}")

    def _claimed(self, worker: "Worker", story: Story, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        delivery, ref, old = worker.delivery, after["pk"], before.get("state")
        assert delivery is not None
        envelope = worker.message(delivery).envelope
        clock, digest = worker.milliseconds(), payload_digest(envelope.payload)
        lease_until = worker.lease_until(story.job)
        at_most = max(lease_until, clock + round(story.job.lease.total_seconds() * 1000)) + 10_000
        worker.owners[ref] = after["owner"]
        short = lease_until - after["lease"]
        self.need(short <= 1, "a lease is written", f"{ref}: it ends {short} ms too early")
        higher = envelope.generation > before.get("generation", 0)
        match old:
            case None | "QUEUED":
                fresh = True
            case "RETRY" | "RUNNING":
                fresh = False
                same = digest == story.digest
                self.need(same, "one payload under a key", f"{ref} was claimed by another payload")
            case "DEAD":
                fresh = True
                newer = (delivery.sent_at or 0) * 1000 > before["outcome_at"]
                redriven = higher or newer or "dead" in delivery.attributes
                redriven = redriven and delivery.message_id != before["msg"]
                self.need(redriven, "an end is final", f"{ref}: a late duplicate woke the dead")
            case "PARKED" | "DISCARDED":
                fresh = True
                # What was cancelled stays so for what was published before; a later request of the key is another one.
                born = 0 if envelope.enqueued_at is None else envelope.enqueued_at.timestamp() * 1000
                after_it = envelope.key is not None and born > before["outcome_at"]
                newer_one = old == "DISCARDED" and before.get("id") != envelope.id
                newer_one = newer_one and (before["reason"] != "cancelled" or after_it)
                self.need(higher or newer_one, "an end is final", f"{ref}: {old} began anew without a redrive")
            case _:
                fresh = True
                self.need(False, "done is final", f"{ref} began anew")
        if old == "RETRY" and delivery.message_id != before.get("msg"):
            due = before["not_before"]
            self.need(clock >= due, "a retry waits", f"{ref}: another message took it {due - clock} ms early")
        if old == "RUNNING":
            last = next(a for a in story.attempts if a.owner == before["owner"])
            left = last.lease_until - clock
            self.need(left <= 1, "a lease holds", f"{ref} was taken over {left} ms before its end")
        if fresh:
            story.attempts, story.digest, story.outbox = [], digest, []
            self.need(after["starts"] == 1, "a redrive begins anew", f"{ref}: starts is {after['starts']}")
            self.need("outbox" not in before, "follow-up jobs are published", f"{ref} began anew with an outbox")
        story.attempts.append(Attempt(after["owner"], lease_until, at_most))

    def deferred_for_another(self, worker: "Worker", before: Mapping[str, Any], message: Stored) -> None:
        """A worker says "in progress" of a record that looked like ``before`` when it took the message."""
        now = self._episode.table.items.get(message.ref, {})
        if before.get("state") == "RUNNING" and now.get("owner") == before["owner"]:
            last = next(a for a in self.stories[message.ref].attempts if a.owner == before["owner"])
            over = worker.taken_ms() - last.lease_at_most
            self.need(over <= 0, "a lease ends", f"{message.ref}: it ended {over} ms ago")

    def _ended(self, story: Story, owner: str, ref: str, after: Mapping[str, Any]) -> None:
        state, reason = after["state"], after.get("reason", "")
        attempt = next(a for a in story.attempts if a.owner == owner)
        attempt.ended = state
        earlier = [a for a in story.attempts if a is not attempt]
        if reason == "attempts_exhausted":
            burnt = sum(a.burnt for a in story.attempts)
            self.need(burnt >= story.job.max_attempts, "every attempt is given", f"{ref}: dead after {burnt}")
        if reason == "crash_loop":
            crashes = sum(not a.ended for a in earlier)
            self.need(crashes >= story.job.max_crashes, "every attempt is given", f"{ref}: {crashes} crashes")
        if state == "PARKED":
            body = after.get("body", "")
            whole = bool(body) and Stored(body, "", 0, 0).ref == ref
            self.need(whole, "what is parked is kept", f"{ref} has the body {body!r}")
            self.need("ttl" not in after, "what is parked is kept", f"{ref} will expire")
        if state == "DONE":
            story.done.add(story.digest)
        elif state == "DISCARDED":
            story.dropped.add(story.digest)
        if "outbox" in after:
            story.outbox = [Message.from_json(text).id for text in after["outbox"]]

    def _from_outside(self, ref: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        old, new = before.get("state"), after.get("state")
        if new == "QUEUED" and old != "QUEUED":
            story = self.stories.setdefault(ref, Story(self._episode.job(after["job"])))
            story.requests += old is not None
            story.cancelled = False
            if old is not None:  # what was published before had its end
                story.done |= story.digests
            self.need(old in (None, "DONE", "DEAD", "DISCARDED"), "unique jobs wait for the end", f"{ref} was {old}")
            missing = [child for child in story.outbox if child not in self.accepted]
            self.need(not missing, "follow-up jobs are published", f"{ref} forgot {missing}")
        elif after.get("cancel"):
            self.stories[ref].cancelled = True
        elif new == "DISCARDED":
            story = self.stories[ref]
            story.cancelled = True
            story.dropped |= {story.digest} if old == "RETRY" else story.digests
            self.need(old in (None, "QUEUED", "RETRY"), "an end is final", f"{ref}: cancelled though {old}")

    def committed(self, ref: str, writes: Sequence[Mapping[str, Any]]) -> None:
        story = self.stories[ref]
        story.commits += len(writes)
        self.need(story.commits <= story.requests, "one commit", f"{ref} committed {story.commits} times")

    # Runs

    def entered(self, job: JobClass, ctx: JobContext) -> int:
        """A job's code starts. Returns how many runs of this life there were before."""
        worker, ref = self._running(job, ctx)
        story = self.stories[ref]
        if not job.ledger:
            return ctx.attempt - 1
        position = sum(a.entered for a in story.attempts)
        attempt = next((a for a in story.attempts if a.owner == worker.owners.get(ref)), None)
        if attempt is None:  # its life is over: it was paused between claim and run
            return position
        earlier = story.attempts[: story.attempts.index(attempt)]
        attempt.entered = True
        crashes = sum(not a.ended for a in earlier)
        self.need(crashes < job.max_crashes, "crashes are bounded", f"{ref} runs after {crashes} crashes")
        if job.after_crash == "park":
            self.need(crashes == 0, "crashes are bounded", f"{ref} runs again after a crash")
        runs = sum(a.counts for a in story.attempts)
        self.need(runs <= job.max_attempts, "attempts are bounded", f"{ref} runs for the {runs}th time")
        digest = payload_digest(ctx.envelope.payload)
        self.need(digest == story.digest, "one payload under a key", f"{ref} runs with another payload")
        return position

    def deferred(self, job: JobClass, ctx: JobContext) -> None:
        worker, ref = self._running(job, ctx)
        for attempt in self.stories[ref].attempts:
            if attempt.owner == worker.owners.get(ref):
                attempt.deferred = True

    def succeeded(self, job: JobClass, ctx: JobContext) -> None:
        self.stories[self._running(job, ctx)[1]].successes += 1

    def charged(self, job: JobClass, ctx: JobContext) -> None:
        ref = self._running(job, ctx)[1]
        story = self.stories[ref]
        story.charges += 1
        self.need(story.charges <= story.requests, "a guarded effect happens once", f"{ref}: {story.charges} times")

    def _running(self, job: JobClass, ctx: JobContext) -> "tuple[Worker, str]":
        worker = self._episode.active
        assert worker is not None
        return worker, reference(APP, job.name, ctx.job_id, ctx.envelope.key)

    # The end

    def at_rest(self) -> None:
        """All messages are gone from the queue: every job must be in exactly one place."""
        cloud, items = self._episode.cloud, self._episode.table.items
        for ref, story in self.stories.items():
            if not story.digests:
                continue  # registered, but its producer died before sending it
            state = items.get(ref, {}).get("state")
            letters = {letter.digest for letter in cloud.dead if letter.ref == ref}
            if state == "DONE" and story.job.name in COMMITTING:
                self.need(story.commits > 0, "one commit", f"{ref} is done without its commit")
                missing = [child for child in story.outbox if child not in self.accepted]
                self.need(not missing or bool(letters), "follow-up jobs are published", f"{ref}: {missing}")
            if state not in FINAL:
                kept = letters | story.done | story.dropped >= story.digests
                kept = kept or not story.job.ledger or story.job.regenerable
                self.need(kept, "every job comes to an end", f"{ref} is {state}, letters for {letters}")
            if state == "DEAD" and not story.job.regenerable:  # redriven after its deadline that one is dropped
                self.need(bool(letters), "nothing is lost", f"{ref} is dead without a letter")


COMMITTING = ("keyed", "child", "committing", "fleeting_commit")
