"""Back-off and classification, as functions of error, attempt and random."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from runtime.execute import JobTimeout
from runtime.outcome import MAX_RETRY_WAIT, MAX_WAIT, Decision, Defer, Discard, Kind, Outcome, Park, Permanent, Retry
from runtime.policy import Backoff, Rule, classify, decide, fixed, full_jitter, linear

from .helpers import Middle, seconds

RETRY = fixed(seconds(10), max_attempts=3)


def decision(
    error: BaseException,
    attempt: int = 1,
    *,
    on: Mapping[type[BaseException], Rule] | None = None,
    retry: Backoff = RETRY,
    regenerable: bool = False,
) -> Outcome:
    return decide(error, attempt, retry=retry, on=on or {}, regenerable=regenerable, random=Middle())


def brief(outcome: Outcome) -> tuple[Kind, str, timedelta | None]:
    return outcome.kind, outcome.reason, outcome.delay


def test_linear_waits_grow_by_the_step() -> None:
    policy = linear(step=seconds(15), base=seconds(30), max_attempts=10)
    assert [policy.delay(n, Middle()).total_seconds() for n in (1, 2, 3, 10)] == [30, 45, 60, 165]
    assert linear(step=seconds(15), max_attempts=2).delay(1, Middle()) == seconds(15)


def test_fixed_waits_stay() -> None:
    assert {fixed(seconds(7), max_attempts=9).delay(n, Middle()) for n in range(1, 10)} == {seconds(7)}


@given(
    base=st.floats(0.001, 3600),
    factor=st.floats(1, 10),
    attempt=st.integers(1, 100_000),
    seed=st.integers(),
)
def test_full_jitter_stays_within_its_bounds(base: float, factor: float, attempt: int, seed: int) -> None:
    cap = seconds(base * factor)
    policy = full_jitter(base=seconds(base), cap=cap, max_attempts=5)
    ceiling = min(cap.total_seconds(), policy.base.total_seconds() * 2 ** min(attempt - 1, 60))
    # One microsecond is what a timedelta rounds by.
    assert timedelta(0) <= policy.delay(attempt, Random(seed)) <= seconds(ceiling) + timedelta(microseconds=1)


def test_full_jitter_doubles_up_to_its_cap() -> None:
    policy = full_jitter(base=seconds(5), cap=seconds(60), max_attempts=9)
    assert [policy.delay(n, Middle()).total_seconds() for n in (1, 2, 3, 4, 5, 6, 5000)] == [2.5, 5, 10, 20, 30, 30, 30]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed(seconds(1), max_attempts=0), "max_attempts=0: at least 1"),
        (lambda: linear(step=seconds(1), max_attempts=-1), "max_attempts=-1: at least 1"),
        (lambda: full_jitter(max_attempts=0), "max_attempts=0: at least 1"),
        (lambda: fixed(seconds(-1), max_attempts=1), "outside 0..364 days"),
        (lambda: fixed(timedelta(days=365), max_attempts=1), "outside 0..364 days"),
        (lambda: linear(step=timedelta(days=190), max_attempts=3), "outside 0..364 days"),
        (lambda: full_jitter(base=seconds(0)), "0 < base <= cap"),
        (lambda: full_jitter(base=seconds(9), cap=seconds(8)), "0 < base <= cap"),
        (lambda: full_jitter(cap=timedelta(days=365)), "outside 0..364 days"),
        (lambda: Defer(timedelta(hours=12)), "publish a new job for later"),
        (lambda: Defer(seconds(-1)), "outside 0..11:30:00"),
        (lambda: Retry(timedelta(days=365)), "outside 0..364 days"),
    ],
)
def test_a_policy_that_cannot_be_kept_is_refused_when_written(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Permanent("gone"), (Kind.DEAD, "gone", None)),
        (Park("credentials"), (Kind.PARKED, "credentials", None)),
        (Discard("old"), (Kind.PARKED, "old", None)),  # only a regenerable job may be dropped
        (Defer(seconds(5), "busy"), (Kind.DEFER, "busy", seconds(5))),
        (Retry(), (Kind.RETRY, "retry", seconds(10))),
        (Retry(seconds(77), "later"), (Kind.RETRY, "later", seconds(77))),
        (ValueError(), (Kind.RETRY, "error", seconds(10))),
        (JobTimeout(), (Kind.RETRY, "timeout", seconds(10))),
        (SystemExit(0), (Kind.RETRY, "error", seconds(10))),
        (SystemExit(1), (Kind.RETRY, "error", seconds(10))),
        (GeneratorExit(), (Kind.RETRY, "error", seconds(10))),
        (MemoryError(), (Kind.RETRY, "error", seconds(10))),
        (KeyboardInterrupt(), (Kind.DEFER, "cancelled", seconds(0))),
        (asyncio.CancelledError(), (Kind.DEFER, "cancelled", seconds(0))),
    ],
    ids=repr,
)
def test_what_a_job_raises_decides(error: BaseException, expected: object) -> None:
    outcome = decision(error)
    assert brief(outcome) == expected
    assert outcome.error is not None
    assert outcome.error.name == type(error).__name__


def test_a_regenerable_job_may_be_discarded() -> None:
    assert brief(decision(Discard("old"), regenerable=True)) == (Kind.DISCARDED, "old", None)


@pytest.mark.parametrize("error", [ValueError(), Retry(), Retry(seconds(5)), JobTimeout(), SystemExit(0)], ids=repr)
def test_attempts_run_out(error: BaseException) -> None:
    assert decision(error, 2).kind is Kind.RETRY
    assert brief(decision(error, 3)) == (Kind.DEAD, "attempts_exhausted", None)
    assert brief(decision(error, 30)) == (Kind.DEAD, "attempts_exhausted", None)


@pytest.mark.parametrize("attempt", [1, 3, 30])
def test_waiting_uses_up_no_attempt(attempt: int) -> None:
    assert decision(Defer(seconds(5)), attempt).kind is Kind.DEFER
    assert decision(KeyboardInterrupt(), attempt).kind is Kind.DEFER


def test_the_first_match_of_the_table_wins() -> None:
    on: dict[type[BaseException], Rule] = {
        FileNotFoundError: Permanent("missing"),
        PermissionError: Park("credentials"),
        OSError: linear(step=seconds(30), max_attempts=20),
        Exception: Permanent("other"),
    }
    assert brief(decision(FileNotFoundError(), on=on)) == (Kind.DEAD, "missing", None)
    assert brief(decision(PermissionError(), on=on)) == (Kind.PARKED, "credentials", None)
    assert brief(decision(BlockingIOError(), 4, on=on)) == (Kind.RETRY, "error", seconds(120))
    assert decision(BlockingIOError(), 20, on=on).reason == "attempts_exhausted"
    assert brief(decision(KeyError(), on=on)) == (Kind.DEAD, "other", None)


def test_what_a_job_says_on_purpose_comes_before_its_table() -> None:
    assert decision(Defer(seconds(5)), on={Exception: Permanent("other")}).kind is Kind.DEFER


def test_a_table_may_defer_and_discard() -> None:
    on: dict[type[BaseException], Rule] = {KeyError: Defer(seconds(9), "busy"), ValueError: Discard("old")}
    assert brief(decision(KeyError(), on=on)) == (Kind.DEFER, "busy", seconds(9))
    assert decision(ValueError(), on=on, regenerable=True).kind is Kind.DISCARDED


def test_a_broad_rule_does_not_mean_running_out_of_memory() -> None:
    assert decision(MemoryError(), on={Exception: Permanent("other")}).kind is Kind.RETRY
    assert decision(MemoryError(), on={BaseException: Permanent("other")}).kind is Kind.RETRY
    assert decision(MemoryError(), on={MemoryError: Park("too_big")}).kind is Kind.PARKED


def test_a_broad_rule_does_not_catch_the_end_of_time_or_the_process() -> None:
    on: dict[type[BaseException], Rule] = {Exception: Permanent("other")}
    assert decision(JobTimeout(), on=on).reason == "timeout"
    assert decision(SystemExit(1), on=on).kind is Kind.RETRY


def test_a_decision_of_the_projects_own_is_retried() -> None:
    class Odd(Decision):
        pass

    assert brief(decision(Odd("odd"))) == (Kind.RETRY, "odd", seconds(10))


def test_data_that_does_not_fit_never_will() -> None:
    class Model(BaseModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"number": "x"})
    assert brief(decision(caught.value)) == (Kind.DEAD, "validation_error", None)
    assert decision(caught.value, on={ValidationError: RETRY}).kind is Kind.RETRY


class ClientError(Exception):
    def __init__(self, code: str) -> None:
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}


class HttpStatusError(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(status)
        self.response = SimpleNamespace(
            status_code=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )


class ClientResponseError(Exception):
    def __init__(self, status: int) -> None:
        self.status, self.headers = status, {"Retry-After": "4"}


class UrlError(Exception):
    def __init__(self, code: int) -> None:
        self.code = code
        self.headers: dict[str, str] = {}


class ReadTimeout(Exception):  # noqa: N818 - as httpx and requests call theirs
    pass


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ClientError("ThrottlingException"), ("throttled", 0)),
        (ClientError("ProvisionedThroughputExceededException"), ("throttled", 0)),
        (ClientError("AccessDenied"), ("error", 0)),
        (HttpStatusError(429, Retry_After="120"), ("throttled", 120)),
        (HttpStatusError(429), ("throttled", 0)),
        (HttpStatusError(503, retry_after="30"), ("http_503", 30)),
        (HttpStatusError(503, Retry_After="Wed, 21 Oct 2030 07:28:00 GMT"), ("http_503", 0)),
        (HttpStatusError(503, Retry_After="-5"), ("http_503", 0)),
        (HttpStatusError(503, Retry_After="9" * 30), ("http_503", MAX_WAIT.total_seconds())),
        (HttpStatusError(404, Retry_After="30"), ("error", 0)),
        (ClientResponseError(500), ("http_500", 4)),
        (UrlError(502), ("http_502", 0)),
        (SystemExit(503), ("error", 0)),  # a number named `code` makes no HTTP answer
        (ConnectionResetError(), ("connection", 0)),
        (TimeoutError(), ("connection", 0)),
        (ReadTimeout(), ("connection", 0)),
        (JobTimeout(), ("timeout", 0)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_common_errors_are_known_by_their_shape(error: BaseException, expected: tuple[str, float]) -> None:
    reason, wait = classify(error)
    assert (reason, wait.total_seconds()) == expected


def test_the_other_side_may_ask_for_more_time_but_not_for_less() -> None:
    assert decision(HttpStatusError(503, Retry_After="120")).delay == seconds(120)
    assert decision(HttpStatusError(503, Retry_After="2")).delay == seconds(10)


def test_a_policy_of_the_projects_own_is_asked_and_bounded() -> None:
    class Endless:
        max_attempts = 2

        def delay(self, attempt: int, random: Random) -> timedelta:
            return timedelta(days=1000 * attempt)

    assert decision(ValueError(), retry=Endless()).delay == MAX_RETRY_WAIT
    assert decision(ValueError(), 2, retry=Endless()).kind is Kind.DEAD


@given(attempt=st.integers(1, 10**6), most=st.integers(1, 100))
def test_a_failed_job_either_comes_back_in_time_or_is_dead(attempt: int, most: int) -> None:
    outcome = decision(ValueError(), attempt, retry=full_jitter(max_attempts=most))
    assert (outcome.kind is Kind.DEAD) == (attempt >= most)
    assert outcome.kind is Kind.DEAD or (outcome.delay is not None and timedelta(0) <= outcome.delay <= MAX_WAIT)
