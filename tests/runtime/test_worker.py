"""The worker on a queue in memory: what it receives, keeps, lets go and gives back."""

import asyncio
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from runtime import JobContext, Permanent, clients, fixed
from runtime.execute import JobStalled, JobTimeout
from runtime.ledger import LostClaimError
from runtime.outcome import Defer
from runtime.worker import EXIT_ABANDONED, LIVENESS_SECONDS

from .helpers import Work, body, job_of, lines_of, note_of, nothing, raising, seconds
from .queue import Place, until

# Lower than a job may declare: a test does not wait for half a minute.
SOON = fixed(seconds(0), max_attempts=5)


def test_what_is_done_is_deleted_and_counted() -> None:
    place = Place(job_of(nothing))
    ids = place.queue.put(body("a"), body("b"))
    with place.working():
        until(lambda: not place.queue.messages)
    assert sorted(place.queue.deleted) == sorted(ids)
    assert place.metric("JobSucceeded") == 2
    assert {item["state"] for item in place.table.items.values()} == {"DONE"}


def test_it_receives_no_more_than_it_has_free_slots() -> None:
    running: list[str] = []
    most = Counter[str]()

    def act(args: Work, ctx: JobContext) -> None:
        running.append(args.label)
        most["running"] = max(most["running"], len(running))
        time.sleep(0.05)
        running.remove(args.label)

    place = Place(job_of(act))
    place.queue.put(*(body(str(n)) for n in range(20)))
    with place.working(slots=3):
        until(lambda: not place.queue.messages)
    assert most["running"] == 3
    assert max(place.queue.asked) == 3
    assert all(1 <= number <= 3 for number in place.queue.asked)
    assert all(message.receives == 1 for message in place.queue.messages.values())


def test_a_receive_asks_for_ten_at_most() -> None:
    place = Place(job_of(nothing))
    place.queue.put(body("a"))
    with place.working(slots=25):
        until(lambda: not place.queue.messages)
    assert max(place.queue.asked) == 10


def test_eight_slots_do_the_effect_of_each_of_five_hundred_jobs_once() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        if int(args.label) % 7 == 0 and ctx.attempt == 1:
            raise OSError
        ctx.commit(ctx.put("effects", {"pk": args.label}))

    place = Place(job_of(act, retry=SOON))
    place.queue.put(*(body(str(n)) for n in range(500)))
    place.queue.put(*(body(str(n)) for n in range(0, 500, 10)))  # published twice
    with place.working(slots=8, lease=seconds(30)):
        until(lambda: not place.queue.messages, timeout=60)
    effects = Counter(entry["Put"]["Item"]["pk"]["S"] for entry in place.table.others)
    assert effects == Counter(str(n) for n in range(500))
    assert place.metric("JobSucceeded") == 500
    assert place.metric("JobRetried") == len(range(0, 500, 7))


def test_jobs_of_one_slot_share_a_loop_and_slots_have_one_each() -> None:
    loops: dict[str, set[int]] = {}

    async def act() -> None:
        await asyncio.sleep(0.02)
        loops.setdefault(threading.current_thread().name, set()).add(id(asyncio.get_running_loop()))

    place = Place(job_of(lambda args, ctx: act()))
    place.queue.put(*(body(str(n)) for n in range(12)))
    with place.working(slots=3):
        until(lambda: not place.queue.messages)
    assert len(loops) == 3
    assert all(len(of_one) == 1 for of_one in loops.values())
    assert len(set.union(*loops.values())) == 3


# What is no job.


HOSTILE = [
    "",
    "no JSON",
    "[]",
    "null",
    "\ud83d" * 3,
    '{"id": 1}',
    body("x", job="unknown"),
    body(payload=[1]),
    "{" * 2000,
]


def test_a_hostile_body_harms_no_neighbour() -> None:
    place = Place(job_of(nothing))
    place.queue.put(*HOSTILE)
    good = place.queue.put(*(body(str(n)) for n in range(5)))
    with place.working(slots=4):
        until(lambda: set(good) <= set(place.queue.deleted))
        until(lambda: len(place.queue.dead_letters) >= len(HOSTILE) - 1)
    assert place.metric("JobSucceeded") == 5
    assert not place.said("runtime error")


@pytest.mark.parametrize(
    "error", [SystemExit(1), KeyboardInterrupt(), MemoryError(), RecursionError(), GeneratorExit()]
)
def test_an_unusual_end_of_a_job_costs_no_slot(error: BaseException) -> None:
    place = Place(job_of(raising(error), retry=SOON, name="bad"), job_of(nothing, name="good"))
    place.queue.put(body("a", job="bad"))
    with place.working():
        until(lambda: place.outcomes())
        place.queue.put(body("b", job="good"))
        until(lambda: ("succeeded", "") in place.outcomes())


def test_what_cannot_succeed_is_dead_lettered_and_acknowledged() -> None:
    place = Place(job_of(raising(Permanent("no_such_account"))))
    (message,) = place.queue.put(body("a"))
    with place.working():
        until(lambda: place.queue.deleted == [message])
    assert note_of(place.queue.dead_letters[0])["reason"] == "no_such_account"


def test_a_failed_job_comes_again_after_its_delay() -> None:
    place = Place(job_of(raising(OSError()), retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(body("a"))
    with place.working():
        until(place.outcomes)
        until(lambda: place.queue.hidden)
    assert [asked for _, asked in place.queue.hidden] == [600]


# Keeping a message.


def test_progress_keeps_a_job_beyond_its_lease() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        for done in range(18):
            ctx.progress(done, 18)
            time.sleep(0.2)

    place = Place(job_of(act))
    place.queue.put(body("a"))
    with place.working(slots=2, lease=seconds(2)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", "")]
    renewals = [asked for _, asked in place.queue.hidden]
    assert 3 <= len(renewals) <= 8  # three times a lease
    assert set(renewals) == {2}
    assert place.metric("JobStalled") == 0


def test_a_job_without_progress_is_not_kept_but_works_within_its_lease() -> None:
    place = Place(job_of(lambda args, ctx: time.sleep(1.1)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(2)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", "")]
    assert place.queue.hidden == []


def test_saying_the_same_again_is_no_progress() -> None:
    told: list[type[BaseException]] = []

    def act(args: Work, ctx: JobContext) -> None:
        try:
            while True:
                ctx.progress(1, 2)
                time.sleep(0.01)
        except BaseException as error:
            told.append(type(error))
            raise

    place = Place(job_of(act, retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(1)) as working:
        until(place.outcomes)
    assert working.code == 0
    assert told == [JobStalled]
    assert place.outcomes() == [("retry", "stalled")]
    assert place.metric("JobStalled") == 1
    assert len(place.queue.hidden) == 2  # one renewal, and the delay of the retry


def test_stall_after_is_shorter_than_the_lease() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        while True:  # asks nothing: told in the middle of its code
            pass

    place = Place(job_of(act, retry=fixed(seconds(600), max_attempts=5), stall_after=seconds(0.3)))
    place.queue.put(body("a"))
    started = time.monotonic()
    with place.working(lease=seconds(20)):
        until(place.outcomes)
        assert 0.3 < time.monotonic() - started < 3
    assert place.outcomes() == [("retry", "stalled")]


def test_an_async_job_that_waits_is_told() -> None:
    ended: list[str] = []

    async def act() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned up")

    place = Place(job_of(lambda args, ctx: act(), retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(1)) as working:
        until(place.outcomes)
    assert (place.outcomes(), ended, working.code) == ([("retry", "stalled")], ["cleaned up"], 0)


def test_a_job_that_hangs_is_let_go_and_its_late_end_does_not_count() -> None:
    come_back = threading.Event()

    def act(args: Work, ctx: JobContext) -> None:
        if ctx.attempt == 1:
            come_back.wait()  # in C: nothing can interrupt it

    place = Place(job_of(act))
    (message,) = place.queue.put(body("a"))
    try:
        started = time.monotonic()
        with place.working(lease=seconds(1)) as first:
            assert first.join() == EXIT_ABANDONED
        assert time.monotonic() - started < 3
        assert place.queue.deleted == []
        with place.working(lease=seconds(1)):
            until(lambda: place.queue.deleted == [message])
        assert time.monotonic() - started < 6
        (item,) = place.table.items.values()
        assert (item["state"], item["starts"], item["ends"]) == ("DONE", 2, 1)
        come_back.set()
        until(lambda: place.said("late end of a job that was let go"))
        assert (item["state"], place.queue.deleted) == ("DONE", [message])
        assert [outcome for outcome, _ in place.outcomes()] == ["succeeded"]
    finally:
        come_back.set()


def test_the_other_jobs_of_a_worker_in_which_one_hangs_are_finished() -> None:
    come_back = threading.Event()

    def hang(args: Work, ctx: JobContext) -> None:
        come_back.wait()

    def act(args: Work, ctx: JobContext) -> None:
        for done in range(15):
            ctx.progress(done, 15)
            time.sleep(0.2)
            assert not ctx.stopping

    place = Place(job_of(hang, name="hangs"), job_of(act, name="works"))
    place.queue.put(body("a", job="hangs"), body("b", job="works"))
    try:
        with place.working(slots=2, lease=seconds(2)) as working:
            assert working.join() == EXIT_ABANDONED
        assert place.outcomes() == [("succeeded", "")]
        assert len(place.said("job let go")) == 1
    finally:
        come_back.set()


def test_who_lost_the_claim_is_told_and_touches_nothing() -> None:
    told: list[type[BaseException]] = []
    place: Place

    def act(args: Work, ctx: JobContext) -> None:
        (item,) = place.table.items.values()
        item["owner"] = "somebody else"
        try:
            for done in range(100):
                ctx.progress(done, 100)
                time.sleep(0.05)
        except BaseException as error:
            told.append(type(error))
            raise

    place = Place(job_of(act))
    place.queue.put(body("a"))
    with place.working(lease=seconds(2)):
        until(place.outcomes)
    assert told == [LostClaimError]
    assert place.outcomes() == [("lost", "owner_changed")]
    assert (place.queue.deleted, place.queue.hidden) == ([], [])


def test_without_a_ledger_the_message_is_kept() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        for done in range(15):
            ctx.progress(done, 15)
            time.sleep(0.2)

    place = Place(job_of(act), ledger=False)
    place.queue.put(body("a"))
    with place.working(slots=2, lease=seconds(2)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", "")]


def test_progress_after_the_commit_is_harmless() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        ctx.commit()
        ctx.progress(1, 1)
        time.sleep(0.7)  # the heartbeat comes by

    place = Place(job_of(act))
    (message,) = place.queue.put(body("a"))
    with place.working(slots=2, lease=seconds(1)):
        until(lambda: place.queue.deleted == [message])
    assert place.outcomes() == [("succeeded", "")]
    assert place.queue.hidden == [(message, 1)]


def test_the_lease_in_the_ledger_ends_just_before_the_message_is_seen_again() -> None:
    leases: list[float] = []

    def act(args: Work, ctx: JobContext) -> None:
        (item,) = place.table.items.values()
        (message,) = place.queue.messages.values()
        leases.append(message.visible_at - time.monotonic() - (item["lease"] / 1000 - time.time()))

    place = Place(job_of(act))
    place.queue.put(body("a"))
    with place.working(lease=seconds(30)):
        until(lambda: not place.queue.messages)
    assert 0.5 < leases[0] < 1.5


def test_what_jobs_of_several_slots_log_and_measure_is_not_mixed(capfd: pytest.CaptureFixture[str]) -> None:
    together = threading.Barrier(2, timeout=10)

    def act(args: Work, ctx: JobContext) -> None:
        together.wait()
        ctx.logger.info("first of %s", args.label)
        ctx.metrics.add_metric("Lines", "Count", int(args.label))
        together.wait()
        ctx.logger.info("second of %s", args.label)

    place = Place(job_of(act))
    place.queue.put(body("1"), body("2"), body("3"), body("4"))
    with place.working(slots=2, lease=seconds(30)):
        until(lambda: not place.queue.messages, timeout=20)
    lines = lines_of(capfd.readouterr().out)
    logged = [(line["message"][-1], line["job_id"]) for line in lines if "message" in line]
    assert len(logged) == 8
    assert all(job_id == f"job-{label}" for label, job_id in logged)
    assert sorted(line["Lines"] for line in lines if "_aws" in line) == [[1], [2], [3], [4]]


# Limits of a run, which signals cannot keep in a thread.


def test_a_busy_job_is_stopped_at_its_limit() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        while True:
            sum(range(1000))

    place = Place(job_of(act, timeout=seconds(0.3), retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
    assert place.outcomes() == [("retry", "timeout")]


def test_an_async_job_is_stopped_at_its_limit() -> None:
    place = Place(
        job_of(lambda args, ctx: asyncio.sleep(60), timeout=seconds(0.3), retry=fixed(seconds(600), max_attempts=5))
    )
    place.queue.put(body("a"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
    assert place.outcomes() == [("retry", "timeout")]


def test_the_context_tells_that_the_limit_is_over() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        try:
            while True:
                time.sleep(0.01)
        except JobTimeout:
            ctx.progress(1, 2)  # goes on all the same

    place = Place(job_of(act, timeout=seconds(0.3), retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(20)):
        until(place.outcomes)
    assert place.outcomes() == [("retry", "timeout")]


def test_an_interruption_strikes_the_job_or_nobody() -> None:
    """Jobs that end at about the moment at which they are interrupted: whatever comes first, the slot goes on."""

    def act(args: Work, ctx: JobContext) -> None:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass

    place = Place(job_of(act, timeout=seconds(0.05), retry=fixed(seconds(600), max_attempts=5)))
    place.queue.put(*(body(str(n)) for n in range(60)))
    with place.working(slots=2, lease=seconds(1)):  # ticks of 50 ms
        until(lambda: len(place.outcomes()) == 60, timeout=30)
    assert set(place.outcomes()) <= {("succeeded", ""), ("retry", "timeout")}
    assert not place.said("runtime error")


# The end.


def test_a_job_that_ends_in_time_is_waited_for() -> None:
    seen: list[bool] = []

    def act(args: Work, ctx: JobContext) -> None:
        seen.append(ctx.stopping)
        until(lambda: ctx.stopping)
        seen.append(ctx.stopping)
        time.sleep(0.3)

    place = Place(job_of(act))
    (message,) = place.queue.put(body("a"))
    with place.working(lease=seconds(20), stop_timeout=seconds(30)) as working:
        until(lambda: seen)
        assert working.end() == 0
    assert seen == [False, True]
    assert place.queue.deleted == [message]
    assert place.outcomes() == [("succeeded", "")]


def test_a_job_that_does_not_end_in_time_is_given_back_and_no_attempt() -> None:
    go_on, late = threading.Event(), threading.Event()

    def act(args: Work, ctx: JobContext) -> None:
        try:
            go_on.wait(30)
            ctx.commit()
        finally:
            late.set()

    place = Place(job_of(act))
    (message,) = place.queue.put(body("a"))
    try:
        with place.working(lease=seconds(20), stop_timeout=seconds(6)) as working:
            until(lambda: any(item["state"] == "RUNNING" for item in place.table.items.values()))
            started = time.monotonic()
            assert working.end() == 0
            assert working.worker.threads_left
        assert time.monotonic() - started < 3
        (item,) = place.table.items.values()
        assert (item["state"], item["reason"], item["starts"]) == ("RETRY", "shutdown", 0)
        assert place.queue.hidden == [(message, 0)]
        assert place.outcomes() == [("defer", "shutdown")]
        go_on.set()
        assert late.wait(5)
        until(lambda: place.said("late end of a job that was let go"))
        (item,) = place.table.items.values()
        assert item["state"] == "RETRY"
        with place.working(lease=seconds(20)):
            until(lambda: place.queue.deleted == [message])
        (item,) = place.table.items.values()
        assert (item["state"], item["starts"], item["ends"]) == ("DONE", 1, 1)
    finally:
        go_on.set()


def test_a_job_that_ends_in_the_last_moment_is_settled_by_its_slot() -> None:
    place = Place(job_of(nothing))
    original, begun = place.queue.delete_message, threading.Event()

    def delete(**request: Any) -> dict[str, Any]:
        begun.set()
        time.sleep(0.8)  # the time is up meanwhile
        return original(**request)

    vars(place.queue)["delete_message"] = delete
    (message,) = place.queue.put(body("a"))
    with place.working(lease=seconds(20), stop_timeout=seconds(5)) as working:
        assert begun.wait(10)
        assert working.end() == 0
    assert place.queue.deleted == [message]
    assert place.outcomes() == [("succeeded", "")]
    assert place.queue.hidden == []


def test_what_a_poll_still_brings_is_put_back_at_once() -> None:
    place = Place(job_of(nothing))
    worker = place.worker()
    place.queue.before_answer = worker.stop
    ids = place.queue.put(body("a"), body("b"), "no job")
    worker._free = [worker._new_slot(0), worker._new_slot(1), worker._new_slot(2)]
    worker._poll()
    assert place.queue.hidden == [(ids[0], 0), (ids[1], 0)]
    assert place.queue.deleted == [ids[2]]  # what is no job is none for the next worker either
    assert place.table.items == {}


def test_a_second_stop_changes_nothing() -> None:
    place = Place(job_of(lambda args, ctx: time.sleep(0.5)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(20)) as working:
        until(lambda: place.table.items)
        working.worker.stop("SIGTERM")
        working.worker.stop("SIGINT")
    assert place.outcomes() == [("succeeded", "")]
    assert place.said("worker ended")[0]["reason"] == "SIGTERM"


def test_it_ends_when_idle_and_not_before() -> None:
    place = Place(job_of(lambda args, ctx: time.sleep(0.6)))
    place.queue.put(body("a"))
    started = time.monotonic()
    with place.working(lease=seconds(20), exit_when_idle=seconds(0.4)) as working:
        assert working.join() == 0
    assert time.monotonic() - started > 1.0
    assert place.outcomes() == [("succeeded", "")]
    assert place.said("worker ended")[0]["reason"] == "idle"


def test_the_liveness_file_is_touched_while_all_slots_are_busy(tmp_path: Path) -> None:
    file = tmp_path / "alive"
    come_back = threading.Event()
    place = Place(job_of(lambda args, ctx: come_back.wait(20)))
    place.queue.put(body("a"))
    with place.working(lease=seconds(30), liveness=file) as working:
        until(lambda: place.table.items)
        for round_number in range(3):
            last = file.stat().st_mtime_ns
            until(lambda: file.stat().st_mtime_ns > last, timeout=5)  # noqa: B023 - asked in this round only
            if round_number == 1:
                working.worker.stop()  # also while it waits for the end of its jobs
        come_back.set()


def test_metrics_are_written_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.worker.METRICS_SECONDS", 0.2)
    place = Place(job_of(nothing))
    place.queue.put(body("a"))
    with place.working():
        until(lambda: place.metric("JobSucceeded") == 1)
        place.queue.put(body("b"))
        until(lambda: place.metric("JobSucceeded") == 2)


# AWS.


def test_a_poll_may_take_longer_than_any_other_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    try:
        poll = clients.polling_client().meta.config
        assert poll.read_timeout > clients.POLL_SECONDS + 5
        assert poll.retries["total_max_attempts"] == 1  # the receiver's own back-off comes instead
        assert clients.polling_client() is clients.polling_client()
    finally:
        for made in (clients._polling_client, clients._session):
            made.cache_clear()


def test_a_poll_beside_a_running_job_does_not_put_the_idle_end_off() -> None:
    place = Place(job_of(lambda args, ctx: time.sleep(0.3)))
    place.queue.put(body("a"))
    started = time.monotonic()
    with place.working(slots=2, lease=seconds(30), poll_seconds=20, exit_when_idle=seconds(1)) as working:
        assert working.join() == 0
    assert time.monotonic() - started < 3  # of the 4 s that the tests' queue makes of a whole poll


@pytest.mark.parametrize(
    "fault",
    [
        ConnectionRefusedError(),
        ClientError({"Error": {"Code": "ThrottlingException"}}, "ReceiveMessage"),
    ],
    ids=["connection", "throttled"],
)
def test_an_outage_is_waited_out_without_spinning(fault: Exception, tmp_path: Path) -> None:
    place = Place(job_of(nothing))
    place.queue.fault = fault
    file = tmp_path / "alive"
    with place.working(exit_when_idle=seconds(1), liveness=file) as working:
        time.sleep(1.5)
        assert len(place.queue.asked) <= 4
        assert working.code is None  # not idle: nobody knows
        assert time.time() - file.stat().st_mtime < LIVENESS_SECONDS + 1
        place.queue.fault = None
        place.queue.put(body("a"))
        until(lambda: not place.queue.messages, timeout=10)
    waits = [line["wait_seconds"] for line in place.said("receive failed")]
    assert waits
    assert all(wait >= 0.2 for wait in waits)


def test_a_message_that_cannot_be_deleted_costs_no_slot() -> None:
    place = Place(job_of(nothing))
    refused = [True]
    original = place.queue.delete_message

    def delete(**request: Any) -> dict[str, Any]:
        if refused:
            refused.clear()
            raise ConnectionResetError
        return original(**request)

    vars(place.queue)["delete_message"] = delete
    place.queue.put(body("a"))
    with place.working(lease=seconds(1)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", ""), ("duplicate", "done")]


def test_a_dependency_that_is_down_stops_the_polling() -> None:
    place = Place(job_of(raising(ConnectionError()), dependencies=("smtp",), retry=fixed(seconds(0), max_attempts=50)))
    place.queue.put(*(body(str(n)) for n in range(60)))
    with place.working(slots=4, lease=seconds(30)):
        until(lambda: place.app.breakers.of("smtp").is_open())
        time.sleep(0.3)
        asked = len(place.queue.asked)
        time.sleep(1.5)
        assert len(place.queue.asked) - asked <= 1
        assert any(message.receives == 0 for message in place.queue.messages.values())


def test_a_defer_of_another_kind_does_not_stop_the_polling() -> None:
    place = Place(job_of(raising(Defer(seconds(600), "provider window"))))
    place.queue.put(*(body(str(n)) for n in range(10)))
    with place.working():
        until(lambda: len(place.outcomes()) == 10)


# FIFO.


def test_a_group_runs_in_order_and_groups_run_at_once() -> None:
    order: list[str] = []
    together: list[int] = []
    running: list[str] = []

    def act(args: Work, ctx: JobContext) -> None:
        running.append(args.label)
        together.append(len(running))
        time.sleep(0.1)
        order.append(args.label)
        running.remove(args.label)

    place = Place(job_of(act), fifo=True)
    for number in range(3):
        for group in "ab":
            place.queue.put(body(f"{group}{number}"), group=group)
    with place.working(slots=6, lease=seconds(20)):
        until(lambda: not place.queue.messages)
    assert [label for label in order if label[0] == "a"] == ["a0", "a1", "a2"]
    assert [label for label in order if label[0] == "b"] == ["b0", "b1", "b2"]
    assert max(together) == 2


def test_a_failing_head_stops_its_tail() -> None:
    ran: list[str] = []

    def act(args: Work, ctx: JobContext) -> None:
        ran.append(args.label)
        if args.label == "0" and ctx.attempt == 1:
            raise OSError

    place = Place(job_of(act, retry=fixed(seconds(1), max_attempts=3)), fifo=True)
    place.queue.put(*(body(str(n)) for n in range(3)), group="g")
    with place.working(slots=3, lease=seconds(20)):
        until(lambda: not place.queue.messages)
    assert ran == ["0", "0", "1", "2"]


def test_the_tail_is_kept_as_long_as_its_head_makes_progress() -> None:
    ran: list[str] = []

    def act(args: Work, ctx: JobContext) -> None:
        ran.append(args.label)
        for done in range(15):
            ctx.progress(done, 15)
            time.sleep(0.2 if args.label == "0" else 0.0)

    place = Place(job_of(act), fifo=True)
    ids = place.queue.put(body("0"), body("1"), group="g")
    with place.working(slots=4, lease=seconds(2)):
        until(lambda: not place.queue.messages)
    assert ran == ["0", "1"]
    assert place.outcomes() == [("succeeded", ""), ("succeeded", "")]
    assert Counter(message for message, _ in place.queue.hidden)[ids[1]] >= 3


def test_a_tail_that_has_waited_too_long_is_left_alone() -> None:
    def act(args: Work, ctx: JobContext) -> None:
        if args.label == "0":
            place.queue.messages[ids[1]].visible_at = 0.0  # the queue does not hide it any longer
            time.sleep(0.5)

    place = Place(job_of(act), fifo=True)
    ids = place.queue.put(body("0"), body("1"), group="g")
    with place.working(slots=2, lease=seconds(2)):
        until(lambda: not place.queue.messages)
    assert place.outcomes() == [("succeeded", ""), ("lost", "waited_too_long"), ("succeeded", "")]


def test_a_job_that_may_not_be_cut_off_is_parked_when_the_time_is_up() -> None:
    go_on = threading.Event()
    place = Place(job_of(lambda args, ctx: go_on.wait(30), after_crash="park"))
    (message,) = place.queue.put(body("a"))
    try:
        with place.working(lease=seconds(20), stop_timeout=seconds(6)) as working:
            until(lambda: any(item["state"] == "RUNNING" for item in place.table.items.values()))
            assert working.end() == 0
        (item,) = place.table.items.values()
        assert (item["state"], item["reason"]) == ("PARKED", "crashed")
        assert place.queue.deleted == [message]
    finally:
        go_on.set()


@pytest.mark.parametrize("reason", ["dependency_down", "circuit_open:SMTP Server"])
def test_a_jobs_own_reason_that_sounds_like_a_breakers_is_settled(reason: str) -> None:
    place = Place(job_of(raising(Defer(seconds(300), reason))))
    (message,) = place.queue.put(body("a"))
    with place.working(lease=seconds(30)):
        until(lambda: place.queue.hidden)
    assert place.queue.hidden == [(message, 300)]
    assert place.outcomes() == [("defer", reason)]
