"""What a job may do at most once, by example: its commit, its follow-up jobs, and calls that cannot be taken back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from runtime import Job, JobContext, Park, Permanent, Retry, fixed, records
from runtime.delivery import Delivery
from runtime.effects import MAX_OPERATIONS, LedgerRequiredError
from runtime.execute import JobTimeout
from runtime.ledger import LostClaimError
from runtime.outcome import Kind, Outcome
from runtime.records import Cancelled

from .model.bench import Bench, Nothing

Act = Callable[[JobContext], Any]


@pytest.fixture
def bench() -> Bench:
    return Bench()


class Child(Job[Nothing, None]):
    name = "child"

    def run(self, args: Nothing, ctx: JobContext) -> None:
        pass


class Acting(Job[Nothing, Any]):
    """``acts`` are done one after the other, one a run."""

    name = "job"
    retry = fixed(timedelta(seconds=10), max_attempts=3)
    acts: ClassVar[list[Act]] = []

    def run(self, args: Nothing, ctx: JobContext) -> Any:
        return self.acts.pop(0)(ctx)


@pytest.fixture
def acting() -> type[Acting]:
    class Fresh(Acting):
        name = "job"
        acts: ClassVar[list[Act]] = []

    return Fresh


class Story:
    """One message of one job, delivered again and again."""

    def __init__(self, bench: Bench, job: type[Acting], **header: Any) -> None:
        self.bench, self.job = bench, job
        self.message = bench.message(**header)

    def run(self, *acts: Act, message: Delivery | None = None) -> Outcome:
        self.job.acts += acts
        outcome = self.bench.handle(self.job, message or self.message).outcome
        self.bench.wait(minutes=3)
        self.message = replace(self.message, receive_count=self.message.receive_count + 1)
        return outcome


@pytest.fixture
def story(bench: Bench, acting: type[Acting]) -> Story:
    return Story(bench, acting)


def commit(ctx: JobContext) -> None:
    ctx.commit(ctx.put("orders", {"pk": "o1"}), ctx.follow_up(Child, Nothing()), result={"order": "o1"})


def fail(ctx: JobContext) -> None:
    raise OSError("busy")


# The commit


def test_a_commit_completes_the_job_with_its_writes_and_its_follow_up_jobs(bench: Bench, story: Story) -> None:
    assert story.run(commit).kind is Kind.SUCCEEDED
    assert bench.table.others == [{"Put": {"TableName": "orders", "Item": {"pk": {"S": "o1"}}}}]
    assert bench.item["state"] == "DONE"
    assert bench.item["result"] == '{"order":"o1"}'
    assert "outbox" not in bench.item
    assert len(bench.published) == 1
    assert story.run() == Outcome(Kind.DUPLICATE, "done")


@pytest.mark.parametrize("fault", ["lost", "repeated"])
def test_a_commit_whose_answer_was_lost_has_happened(bench: Bench, story: Story, fault: str) -> None:
    def lose(ctx: JobContext) -> None:
        bench.table.fault = fault
        commit(ctx)

    assert story.run(lose).kind is Kind.SUCCEEDED
    assert len(bench.table.others) == len(bench.published) == 1


def test_a_commit_that_did_not_happen_leaves_nothing(bench: Bench, story: Story) -> None:
    def refuse(ctx: JobContext) -> None:
        bench.table.fault = "refused"
        commit(ctx)

    assert story.run(refuse).kind is Kind.RETRY
    assert (bench.table.others, bench.published, bench.item["state"]) == ([], [], "RETRY")
    assert story.run(commit).kind is Kind.SUCCEEDED
    assert len(bench.table.others) == 1


@pytest.mark.parametrize("error", [OSError("late"), Retry(), Permanent("no"), Park("ask"), SystemExit(1)], ids=repr)
def test_what_a_job_raises_after_its_commit_changes_nothing(story: Story, error: BaseException) -> None:
    def act(ctx: JobContext) -> None:
        commit(ctx)
        raise error

    outcome = story.run(act)
    assert (outcome.kind, outcome.reason) == (Kind.SUCCEEDED, "raised_after_commit")
    assert story.run() == Outcome(Kind.DUPLICATE, "done")


def test_a_commit_of_an_old_owner_is_refused_and_stops_the_run(bench: Bench, story: Story) -> None:
    reached = []

    def act(ctx: JobContext) -> None:
        bench.wait(minutes=3)
        bench.claim(story.message)  # somebody else
        try:
            commit(ctx)
        except Exception:
            reached.append("a job's own handler")
        reached.append("the line after")

    assert story.run(act).kind is Kind.LOST
    assert (reached, bench.table.others, bench.published) == ([], [], [])
    assert bench.item["state"] == "RUNNING"


def test_a_second_commit_in_one_run_is_refused(story: Story) -> None:
    def act(ctx: JobContext) -> None:
        commit(ctx)
        with pytest.raises(RuntimeError, match="put everything into one commit"):
            commit(ctx)

    assert story.run(act).kind is Kind.SUCCEEDED


def test_a_commit_knows_its_limits(bench: Bench, story: Story) -> None:
    def too_many(ctx: JobContext) -> None:
        ctx.commit(*[ctx.put("orders", {"pk": str(n)}) for n in range(MAX_OPERATIONS + 1)])

    outcome = story.run(too_many)
    assert outcome.error is not None
    assert (outcome.error.name, bench.item["state"]) == ("ValueError", "RETRY")


@pytest.mark.parametrize("use", ["commit", "effect"])
def test_an_effect_needs_a_ledger(story: Story, use: str) -> None:
    story.job.ledger = False

    def act(ctx: JobContext) -> None:
        with pytest.raises(LedgerRequiredError, match="job_state"):
            ctx.commit() if use == "commit" else ctx.effect("x").__enter__()

    assert story.run(act).kind is Kind.SUCCEEDED


# Follow-up jobs


def test_follow_up_jobs_that_could_not_be_published_are_swept_by_the_next_delivery(bench: Bench, story: Story) -> None:
    bench.refuse_to_publish = True
    outcome = story.run(commit)
    assert (outcome.kind, outcome.reason) == (Kind.DEFER, "outbox_not_published")
    assert bench.item["state"] == "DONE"
    assert story.run().reason == "outbox_not_published"
    bench.refuse_to_publish = False
    assert story.run() == Outcome(Kind.DUPLICATE, "done")
    assert len(bench.published) == 1
    assert story.run() == Outcome(Kind.DUPLICATE, "done")
    assert len(bench.published) == 1


def test_they_are_swept_even_if_the_job_itself_could_be_dropped_by_now(bench: Bench, acting: type[Acting]) -> None:
    acting.regenerable = True
    story = Story(bench, acting, expires_at=bench.time + timedelta(minutes=1))
    bench.refuse_to_publish = True
    story.run(commit)
    bench.refuse_to_publish = False
    assert story.run().kind is not Kind.RETRY
    assert len(bench.published) == 1


def test_a_late_job_is_dropped_only_if_nobody_is_still_at_it(bench: Bench, acting: type[Acting]) -> None:
    acting.regenerable = True
    story = Story(bench, acting, expires_at=bench.time + timedelta(minutes=1))

    def act(ctx: JobContext) -> None:
        bench.wait(minutes=3)
        assert bench.handle(acting, story.message).outcome == Outcome(Kind.DISCARDED, "expired")
        commit(ctx)

    assert story.run(act).kind is Kind.LOST
    assert (bench.table.others, bench.published) == ([], [])


def test_an_outbox_is_cleared_by_whoever_published_it_only(bench: Bench, story: Story) -> None:
    """A worker stands still after publishing; meanwhile the key is used again."""
    bench.refuse_to_publish = True
    story.run(commit)
    bench.refuse_to_publish = False
    before = dict(bench.item)

    def meanwhile() -> None:
        bench.table.before = lambda: None
        bench.table.items[before["pk"]] = {**before, "owner": "next", "outbox": ["of the next"]}

    bench.table.before = lambda: meanwhile() if bench.published else None
    story.run()
    assert bench.item["outbox"] == ["of the next"]


@pytest.mark.parametrize("way", ["commit", "enqueue"])
def test_a_follow_up_job_has_the_same_id_in_every_attempt(bench: Bench, story: Story, way: str) -> None:
    ids: list[list[str]] = []

    def act(ctx: JobContext) -> None:
        if way == "enqueue":
            ids.append([ctx.enqueue(Child, Nothing(amount=n)).id for n in (1, 1, 2)])
        else:
            ids.append([ctx.follow_up(Child, Nothing(amount=n)).message.id for n in (1, 1, 2)])
        raise OSError("busy")

    story.run(act)
    story.run(act)
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3


def test_a_follow_up_job_inherits_the_context(bench: Bench, acting: type[Acting]) -> None:
    Story(bench, acting, tenant="t", correlation="c").run(commit)
    assert bench.published[0].group == "t"
    assert '"correlation":"c"' in bench.published[0].body


# Calls that cannot be taken back


class DeclinedError(Exception):
    pass


@contextmanager
def charging(ctx: JobContext, log: list[str]) -> Iterator[None]:
    with ctx.effect("charge", clean=(DeclinedError,)) as needed:
        if needed:
            log.append("charged")
            yield
        else:
            yield


def test_an_effect_that_is_done_is_not_done_again(bench: Bench, story: Story) -> None:
    log: list[str] = []

    def act(ctx: JobContext) -> None:
        with ctx.effect("charge") as needed:
            if needed:
                log.append("charged")
        fail(ctx)

    assert [story.run(act).kind for _ in range(3)] == [Kind.RETRY, Kind.RETRY, Kind.DEAD]
    assert log == ["charged"]
    assert bench.item["effects"] == ["done:charge"]


@pytest.mark.parametrize("how", ["later", "generation"])
def test_nor_after_a_redrive(bench: Bench, story: Story, how: str) -> None:
    log: list[str] = []

    def act(ctx: JobContext) -> None:
        with ctx.effect("charge") as needed:
            if needed:
                log.append("charged")
        raise Permanent("something else")

    story.run(act)
    story.run(act, message=bench.message(generation=1 if how == "generation" else 0))
    assert log == ["charged"]


def test_an_effect_that_was_begun_by_a_worker_that_died_is_unknown(bench: Bench, story: Story) -> None:
    claim = bench.claim(story.message)
    bench.ledger.mark_effect(claim, "charge", "begun")
    bench.wait(minutes=3)
    assert story.run() == Outcome(Kind.PARKED, "effect_unknown: charge")


def test_a_cancelled_job_whose_effect_is_unknown_is_not_swept_under_the_carpet(bench: Bench, story: Story) -> None:
    claim = bench.claim(story.message)
    bench.ledger.mark_effect(claim, "charge", "begun")
    assert records.cancel(bench.table, claim.ref, bench.time) is Cancelled.ASKED
    bench.wait(minutes=3)
    assert story.run() == Outcome(Kind.PARKED, "effect_unknown: charge")


@pytest.mark.parametrize("error", [OSError("no answer"), Retry(), JobTimeout("late"), MemoryError()], ids=repr)
def test_an_effect_that_ends_with_an_error_is_unknown(bench: Bench, story: Story, error: BaseException) -> None:
    def act(ctx: JobContext) -> None:
        with ctx.effect("charge", clean=(DeclinedError,)):
            raise error

    outcome = story.run(act)
    if outcome.kind is Kind.RETRY:  # what is no Exception passes the guard; the next attempt finds it begun
        outcome = story.run()
    assert (outcome.kind, outcome.reason) == (Kind.PARKED, "effect_unknown: charge")
    assert bench.item["effects"] == ["begun:charge"]
    assert "body" in bench.item


def test_an_unknown_effect_stays_unknown_after_a_redrive(bench: Bench, story: Story) -> None:
    claim = bench.claim(story.message)
    bench.ledger.mark_effect(claim, "charge", "begun")
    bench.wait(minutes=3)
    story.run()
    assert story.run(message=bench.message(generation=1)).kind is Kind.PARKED


def test_an_error_that_surely_means_nothing_happened_lets_it_be_tried_again(bench: Bench, story: Story) -> None:
    log: list[str] = []

    def declined(ctx: JobContext) -> None:
        with charging(ctx, log):
            raise DeclinedError

    def accepted(ctx: JobContext) -> None:
        with charging(ctx, log):
            pass

    assert story.run(declined).kind is Kind.RETRY
    assert bench.item["effects"] == []
    assert story.run(accepted).kind is Kind.SUCCEEDED
    assert log == ["charged", "charged"]


def test_steps_are_guarded_each_for_itself(bench: Bench, story: Story) -> None:
    seen: list[tuple[str, bool]] = []

    def act(ctx: JobContext) -> None:
        for step in ("a:b", "c"):
            with ctx.effect(step) as needed:
                seen.append((step, needed))
            if step == "a:b" and len(seen) == 1:
                fail(ctx)

    story.run(act)
    assert story.run(act).kind is Kind.SUCCEEDED
    assert seen == [("a:b", True), ("a:b", False), ("c", True)]


@pytest.mark.parametrize("fault", ["refused", "lost"])
def test_an_effect_does_not_begin_unless_that_is_recorded(bench: Bench, story: Story, fault: str) -> None:
    log: list[str] = []

    def act(ctx: JobContext) -> None:
        bench.table.fault = fault
        with charging(ctx, log):
            pass

    assert story.run(act).kind is Kind.RETRY
    assert log == []


def test_an_old_owner_does_not_begin_an_effect(bench: Bench, story: Story) -> None:
    log: list[str] = []

    def act(ctx: JobContext) -> None:
        bench.wait(minutes=3)
        bench.claim(story.message)
        with charging(ctx, log):
            pass

    assert story.run(act).kind is Kind.LOST
    assert log == []


def test_losing_the_job_passes_a_jobs_own_handlers() -> None:
    assert not issubclass(LostClaimError, Exception)


def test_the_key_for_the_other_side_is_the_same_in_every_attempt_and_after_a_redrive(
    bench: Bench, story: Story
) -> None:
    keys: list[tuple[str, str]] = []

    def act(ctx: JobContext) -> None:
        keys.append((ctx.effect_key("a"), ctx.effect_key("b")))
        raise Permanent("no") if len(keys) > 1 else OSError

    story.run(act)
    story.run(act)
    story.run(act, message=bench.message(generation=1))
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert keys[0][0] != keys[0][1]
