"""One message in hand: when its clocks are started again, in which order, and who it belongs to afterwards."""

import threading
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from runtime.engine import Report, Run
from runtime.execute import JobStalled, JobTimeout
from runtime.heartbeat import Heartbeat
from runtime.job import JobClass
from runtime.ledger import Claim, LostClaimError
from runtime.observability import Observer
from runtime.outcome import Defer
from runtime.watch import LONGEST_SECONDS, Held, State

from .helpers import Aws, delivery, job_of, nothing, seconds, stack

LEASE = 60.0


class Books:
    """A ledger of which only the renewals are looked at."""

    def __init__(self, journal: list[str]) -> None:
        self.journal, self.leases = journal, list[tuple[float, Any]]()
        self.fault: BaseException | None = None

    def renew(self, claim: Claim, lease: timedelta, progress: Any) -> None:
        self.journal.append("lease")
        if self.fault is not None:
            raise self.fault
        self.leases.append((lease.total_seconds(), progress))


class Bench:
    def __init__(self, job: JobClass | None = None, *, received: float = 0.0, limit: float | None = None) -> None:
        """``received``: so many seconds ago."""
        self.aws, self.let_go = Aws(), list[Held]()
        self.books = Books(self.aws.journal)
        self.lines: list[bytes] = []
        self.observer = Observer("shop", "email", write=self.lines.append)
        self.heart = Heartbeat(list, lambda: self.aws, stack(), self.observer, LEASE, self.let_go.append)
        self.held = Held(delivery(), LEASE, time.monotonic() - received)
        ledger: Any = self.books
        run = Run(job or job_of(nothing), Claim(1, "ref", "me"), ledger, Report(delivery()), limit)
        with self.held.lock:
            self.held.begin(run)

    def later(self, passed: float) -> None:
        """As if so much time had passed."""
        held = self.held
        for name in ("received_at", "visible_at", "started_at", "moved_at", "renewed_at", "told_at", "ends_at"):
            value = getattr(held, name)
            if value is not None:
                setattr(held, name, value - passed)

    def look(self) -> None:
        self.heart.look_at(self.held)

    def hidden(self) -> list[int]:
        return [
            e["VisibilityTimeout"] for call in self.aws.of("change_message_visibility_batch") for e in call["Entries"]
        ]


def test_first_the_lease_and_then_the_visibility() -> None:
    bench = Bench()
    bench.later(25)
    bench.held.progress(3, 10)
    bench.look()
    assert bench.aws.journal == ["lease", "change_message_visibility_batch"]
    assert bench.hidden() == [60]
    ((lease, progress),) = bench.books.leases
    assert (lease, progress) == (59, (3, 10))  # a second less: whoever receives the message next finds it free
    assert bench.held.visible_at - time.monotonic() == pytest.approx(60, abs=1)


def test_it_is_renewed_three_times_a_lease_and_only_for_new_progress() -> None:
    bench = Bench()
    bench.held.progress(1, 10)
    bench.look()
    assert bench.aws.journal == []  # too early
    bench.later(20)
    bench.look()
    bench.look()
    assert len(bench.books.leases) == 1
    bench.later(20)
    bench.held.progress(1, 10)  # the same again
    bench.look()
    assert len(bench.books.leases) == 1
    bench.held.progress(2, 10)
    bench.look()
    assert len(bench.books.leases) == 2


def test_if_the_ledger_does_not_answer_the_message_is_not_hidden_either() -> None:
    bench = Bench()
    bench.later(25)
    bench.held.progress(1, 2)
    bench.books.fault = ConnectionError()
    bench.look()
    assert bench.aws.journal == ["lease"]
    bench.books.fault = None
    bench.look()  # with the next beat
    assert bench.aws.journal == ["lease", "lease", "change_message_visibility_batch"]


def test_if_the_queue_does_not_answer_it_is_tried_again() -> None:
    bench = Bench()
    bench.later(25)
    bench.held.progress(1, 2)
    bench.aws.fail("change_message_visibility_batch", ConnectionError())
    bench.look()
    before = bench.held.visible_at
    bench.aws.answers.clear()
    bench.look()
    assert bench.held.visible_at > before + 20


def test_a_lost_claim_is_told_and_not_renewed_again() -> None:
    bench = Bench()
    bench.later(25)
    bench.held.progress(1, 2)
    bench.books.fault = LostClaimError()
    bench.look()
    bench.look()
    assert bench.aws.journal == ["lease"]
    assert bench.held.stopping
    with pytest.raises(LostClaimError):
        bench.held.check()


def test_it_is_never_hidden_for_more_than_twelve_hours_in_all() -> None:
    bench = Bench(received=LONGEST_SECONDS - 40)
    bench.held.visible_at = time.monotonic() + 30
    bench.held.progress(1, 2)
    bench.look()
    assert bench.hidden() == [40]
    bench.later(45)
    bench.held.progress(2, 2)
    bench.look()
    assert bench.hidden() == [40]
    with pytest.raises(JobStalled):
        bench.held.check()


def test_told_and_then_let_go() -> None:
    bench = Bench(job_of(nothing, stall_after=seconds(10)))
    bench.later(9)
    bench.look()
    assert not bench.held.stopping
    bench.later(2)
    bench.look()
    assert bench.held.stopping
    with pytest.raises(JobStalled):
        bench.held.check()
    bench.held.progress(9, 10)
    bench.look()
    assert (bench.held.state, bench.books.leases) == (State.HELD, [])  # too late for progress
    bench.later(6)
    bench.look()
    assert (bench.held.state, bench.let_go) == (State.LET_GO, [bench.held])
    assert not bench.held.end()
    with pytest.raises(LostClaimError):
        bench.held.check()
    bench.look()
    assert bench.let_go == [bench.held]  # once


def test_stall_after_is_no_longer_than_the_lease() -> None:
    bench = Bench(job_of(nothing, stall_after=timedelta(hours=1)))
    bench.later(LEASE - 0.5)
    bench.look()
    assert bench.held.stopping


def test_one_that_comes_back_in_time_is_its_slots_own() -> None:
    bench = Bench()
    bench.later(LEASE - 0.5)
    bench.look()
    assert bench.held.end()
    bench.later(60)
    bench.look()
    assert bench.let_go == []
    with bench.held.lock:
        assert not bench.held.let_go()


def test_the_limit_of_a_run_is_told() -> None:
    bench = Bench(limit=10)
    bench.later(9)
    bench.held.check()
    bench.later(2)
    with pytest.raises(JobTimeout):
        bench.held.check()
    bench.look()
    assert bench.held.fault is JobTimeout


def test_what_was_let_go_before_its_job_began_is_not_begun() -> None:
    held = Held(delivery(), LEASE, time.monotonic())
    with held.lock:
        assert held.let_go()
    run: Any = SimpleNamespace(limit=None)
    with pytest.raises(LostClaimError):
        held.execute(run, lambda: pytest.fail("it has begun"))


@pytest.mark.parametrize("fault", [JobTimeout, JobStalled, LostClaimError])
def test_an_interruption_that_comes_too_late_is_taken_back(fault: type[BaseException]) -> None:
    held = Held(delivery(), LEASE, time.monotonic())
    begun, go_on, results = threading.Event(), threading.Event(), list[Any]()
    run: Any = SimpleNamespace(limit=None)

    def call() -> str:
        begun.set()
        go_on.wait(5)
        return "done"

    def slot() -> None:
        results.append(held.execute(run, call))
        results.append(sum(number for number in range(100_000)))

    thread = threading.Thread(target=slot)
    thread.start()
    assert begun.wait(5)
    with held.lock:  # the job's code comes to its end, and waits to say so
        go_on.set()
        time.sleep(0.2)
        held.tell(fault)
    thread.join(5)
    assert results == ["done", 4999950000]
    assert held.state is State.OVER


def test_one_whose_progress_aws_did_not_take_has_not_stalled() -> None:
    bench = Bench()
    bench.books.fault = ConnectionError()
    bench.later(58)
    bench.held.progress(3, 10)
    bench.later(1.5)  # it moved a moment ago, and neither clock could be started again
    bench.look()
    assert bench.held.fault is LostClaimError
    assert b"job stalled" not in b"".join(bench.lines)
    assert b"message not kept" in b"".join(bench.lines)


def test_what_took_too_long_to_claim_is_not_begun_and_is_no_attempt() -> None:
    held = Held(delivery(), LEASE, time.monotonic())
    with held.lock:
        held.tell(JobStalled)
    run: Any = SimpleNamespace(limit=None)
    with pytest.raises(Defer):
        held.execute(run, lambda: pytest.fail("it has begun"))


class GuardlessLock:
    """Python 3.14's way of `with`: an interruption may strike when the lock is taken and nothing guards it yet."""

    def __init__(self) -> None:
        self.lock, self.strikes = threading.RLock(), 1

    def acquire(self) -> bool:
        self.lock.acquire()
        if self.strikes:
            self.strikes -= 1
            raise JobStalled
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lock, name)


def test_an_interruption_at_the_lock_itself_leaves_it_free_for_others() -> None:
    held = Held(delivery(), LEASE, time.monotonic())
    held.lock = GuardlessLock()  # type: ignore[assignment]
    assert held.end()
    free: list[bool] = []
    other = threading.Thread(target=lambda: free.append(held.lock.lock.acquire(timeout=2)))  # type: ignore[attr-defined]
    other.start()
    other.join(5)
    assert free == [True]
