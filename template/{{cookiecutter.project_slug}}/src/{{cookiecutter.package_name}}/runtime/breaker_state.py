"""The rules of a circuit breaker, without storage and without a clock of its own: ``step(state, event, now)``.

::

    CLOSED --(so many failures in a row, of all workers together)--> OPEN
    OPEN   --(one run per interval is let through: a probe; it succeeds)--> RAMP
    RAMP   --(starts per second double each second, up to a ceiling or for a minute)--> CLOSED
    RAMP   --(a failure halves the rate, which then grows slowly)--> RAMP
    RAMP   --(a failure at the lowest rate)--> OPEN

Times are epoch milliseconds of the worker that asks, and clocks may differ: a worker whose clock is ahead takes at most
one probe (one start) too early, and delays the others by no more than the difference. What is old and what is new is
told by version numbers, not by clocks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import Any

from .outcome import MAX_WAIT

NAME_PATTERN = r"[a-z][a-z0-9_.-]{0,63}"
REMEMBERED_PROBES = 8
RECEIVES_IF_UNKNOWN = 5
GROWTH_AFTER_A_FAILURE = 500  # thousandths of a start per second, each second


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside that jobs need, and how its breaker behaves. The name alone, as a text, means the defaults.

    Args:
        name: shared by all jobs of the application that use it.
        counts: exception types that mean "it is down". None: what ``policy.classify`` knows as connection failure,
            timeout, throttling or HTTP 5xx.
        failures: that many in a row, counted across all workers, open the circuit.
        probe_every: an open circuit lets one run through in this time.
        ramp_start: starts per second right after a successful probe; doubled each second.
        ramp_ceiling: at this rate the circuit counts as closed again.
        ramp_for: after that long without a failure it does so too.
        outlast: jobs that are put off spend the receives they have left so that they survive an outage of about this
            length without ending in the dead-letter queue.
        cache: how long a process trusts what it has read.
    """

    name: str
    counts: tuple[type[BaseException], ...] | None = None
    failures: int = 10
    probe_every: timedelta = timedelta(seconds=15)
    ramp_start: float = 1.0
    ramp_ceiling: float = 100.0
    ramp_for: timedelta = timedelta(seconds=60)
    outlast: timedelta = timedelta(hours=1)
    cache: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        """Raises ValueError, naming the breaker, the value and the rule."""
        zero = timedelta(0)
        for holds, rule in (
            (
                isinstance(self.name, str) and re.fullmatch(NAME_PATTERN, self.name) is not None,
                f"the name must match {NAME_PATTERN}",
            ),
            (self.failures >= 1, f"failures={self.failures} must be 1 or more"),
            (self.probe_every > zero, f"probe_every={self.probe_every} must be more than 0"),
            (
                0 < self.ramp_start <= self.ramp_ceiling <= 1000,
                f"0 < ramp_start={self.ramp_start} <= ramp_ceiling={self.ramp_ceiling} <= 1000 does not hold",
            ),
            (self.ramp_for > zero, f"ramp_for={self.ramp_for} must be more than 0"),
            (zero < self.outlast <= MAX_WAIT, f"outlast={self.outlast} must be more than 0 and at most {MAX_WAIT}"),
            (zero <= self.cache < self.probe_every, f"cache={self.cache} must be 0 or more and below probe_every"),
            (
                self.counts is None or (isinstance(self.counts, tuple) and all(map(_is_exception, self.counts))),
                f"counts={self.counts!r} must be a tuple of exception classes",
            ),
        ):
            if not holds:
                raise ValueError(f"dependency {self.name!r}: {rule}")


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


class Phase(StrEnum):
    CLOSED = "CLOSED"
    OPEN = "OPEN"
    RAMP = "RAMP"


@dataclass(frozen=True, slots=True)
class State:
    """What the workers share about one dependency. Whole numbers only, since that is what the table keeps.

    Attributes:
        version: raised by every change but the count of failures; the condition of the next change.
        epoch: the version in which phase or rate were last set: what was let through before says nothing about now.
        failures: in a row, while closed.
        since: when the circuit opened, or when the rate was last set.
        next_at: not before this the next probe (open) or the next start (ramp).
        rate: starts per 1000 seconds at the last start.
        wary: the rate was halved: it grows slowly now.
        probes: the runs that probed last, the newest at the end.
    """

    phase: Phase = Phase.CLOSED
    version: int = 0
    epoch: int = 0
    failures: int = 0
    since: int = 0
    next_at: int = 0
    rate: int = 0
    wary: bool = False
    probes: tuple[str, ...] = ()

    @classmethod
    def of(cls, item: Mapping[str, Any] | None) -> "State":
        """Of a stored item; an absent one, or a phase that is not understood, means closed."""
        have = item or {}
        phase = have.get("state", "CLOSED")
        if phase not in Phase.__members__:
            return cls(version=have.get("version", 0))
        return cls(
            phase=Phase(phase),
            version=have.get("version", 0),
            epoch=have.get("epoch", 0),
            failures=have.get("failures", 0),
            since=have.get("since", 0),
            next_at=have.get("next_at", 0),
            rate=have.get("rate", 0),
            wary=have.get("wary", False),
            probes=tuple(have.get("probes", ())),
        )

    def item(self) -> dict[str, Any]:
        return {
            "state": str(self.phase),
            "version": self.version,
            "epoch": self.epoch,
            "failures": self.failures,
            "since": self.since,
            "next_at": self.next_at,
            "rate": self.rate,
            "wary": self.wary,
            "probes": list(self.probes),
        }

    def at(self, now: int, rule: Dependency) -> Phase:
        """The phase that holds now: a ramp ends by itself, without a write."""
        if self.phase is Phase.RAMP and (
            now - self.since >= milliseconds(rule.ramp_for) or self.rate_at(now) >= rule.ramp_ceiling * 1000
        ):
            return Phase.CLOSED
        return self.phase

    def rate_at(self, now: int) -> float:
        """Starts per 1000 seconds in a ramp. It grows only while it is used: what nobody asked for has proved nothing,
        and workers that slept through the ramp must not come all at once.
        """
        pause = _pause(self.rate)
        elapsed = max(0, now - (self.next_at - pause))  # since the last start
        if elapsed > 2 * pause:
            return float(self.rate)
        seconds = min(elapsed / 1000, 1.0)
        return self.rate + GROWTH_AFTER_A_FAILURE * seconds if self.wary else float(self.rate * 2**seconds)


class Grant(StrEnum):
    """Why a run may use the dependency."""

    FREE = "free"
    PROBE = "probe"
    RAMP = "ramp"


@dataclass(frozen=True, slots=True)
class Ask:
    """May this run start? ``run`` tells one job from another, so that probes go round."""

    run: str


@dataclass(frozen=True, slots=True)
class Succeeded:
    """A run that was let through in ``version`` got its answer."""

    version: int
    grant: Grant


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that was let through in ``version`` found the dependency down."""

    version: int


Event = Ask | Succeeded | Failed


@dataclass(frozen=True, slots=True)
class Step:
    """The state after an event (the same object if nothing changes), and the answer to ``Ask``: None is no."""

    state: State
    grant: Grant | None = None


def step(state: State, event: Event, now: int, rule: Dependency) -> Step:
    """Apply one event."""
    phase = state.at(now, rule)
    match event:
        case Ask(run):
            if phase is Phase.CLOSED:
                return Step(state, Grant.FREE)
            if phase is Phase.OPEN:
                return _ask_open(state, run, now, rule)
            if now < state.next_at:
                return Step(state)
            rate = round(state.rate_at(now))
            return Step(_changed(state, rate=rate, next_at=now + _pause(rate)), Grant.RAMP)
        case Succeeded(version, grant):
            if phase is Phase.CLOSED and state.phase is Phase.CLOSED and state.failures:
                return Step(replace(state, failures=0))
            if phase is Phase.OPEN and grant is Grant.PROBE and version >= state.epoch:
                # By the clock that is ahead: else the others would believe that the ramp is long over.
                start = max(now, state.next_at - milliseconds(rule.probe_every))
                first = _first_rate(rule)
                return Step(
                    _set(state, phase=Phase.RAMP, since=start, next_at=start + _pause(first), rate=first, wary=False)
                )
            return Step(state)
        case Failed(version):
            if phase is Phase.CLOSED and state.phase is Phase.CLOSED:
                return Step(trip(replace(state, failures=state.failures + 1), now, rule))
            if phase is Phase.CLOSED:  # the first one after a ramp
                return Step(trip(_set(state, phase=Phase.CLOSED, failures=1), now, rule))
            if phase is Phase.RAMP and version >= state.epoch:
                half = round(state.rate_at(now) / 2)
                if half < _first_rate(rule):
                    return Step(_open(state, now, rule))
                since = max(now, state.since)
                later = max(state.next_at, now) + _pause(half)
                return Step(_set(state, since=since, rate=half, wary=True, next_at=later))
            return Step(state)


def trip(state: State, now: int, rule: Dependency) -> State:
    """Open a closed circuit that has counted enough failures."""
    if state.phase is Phase.CLOSED and state.failures >= rule.failures:
        return _open(state, now, rule)
    return state


def suspected(state: State, rule: Dependency) -> bool:
    """Whether a closed circuit is half way to opening."""
    return state.phase is Phase.CLOSED and 2 * state.failures >= max(rule.failures, 2)


def _open(state: State, now: int, rule: Dependency) -> State:
    return _set(state, phase=Phase.OPEN, since=now, next_at=now + milliseconds(rule.probe_every), failures=0)


def _first_rate(rule: Dependency) -> int:
    return max(1, round(rule.ramp_start * 1000))


def _pause(rate: int) -> int:
    return round(1_000_000 / rate)


def _ask_open(state: State, run: str, now: int, rule: Dependency) -> Step:
    interval = milliseconds(rule.probe_every)
    # A job that cannot succeed whatever the dependency does must not be the one that asks each time. If nobody else
    # comes, it may again.
    due = state.next_at + (interval if run in state.probes else 0)
    if now < due:
        return Step(state)
    probes = (*(probe for probe in state.probes if probe != run), run)[-REMEMBERED_PROBES:]
    return Step(_changed(state, next_at=now + interval, probes=probes), Grant.PROBE)


def _changed(state: State, **changes: Any) -> State:
    return replace(state, version=state.version + 1, **changes)


def _set(state: State, **changes: Any) -> State:
    return _changed(state, epoch=state.version + 1, **changes)


def wait(state: State, now: int, rule: Dependency, receives_left: int | None, random: Random) -> timedelta:
    """How long to put off a job that was not let through.

    Not before the next probe, and then spread, so that those put off together do not come back together. Each receive
    counts (SQS moves a message to the dead-letter queue after ``maxReceiveCount``), so the receives that are left are
    spent in growing steps, the last after about ``outlast``: many left means about as long again as it is down, few
    left means longer.
    """
    shortest = milliseconds(rule.probe_every)
    phase = state.at(now, rule)
    down = shortest if phase is Phase.CLOSED else max(now - state.since, shortest)
    if phase is Phase.OPEN or suspected(state, rule):
        horizon = milliseconds(rule.outlast)
    else:  # in a ramp, or it closed while this run was being refused
        horizon = 2 * milliseconds(rule.ramp_for)
    left = max(1, RECEIVES_IF_UNKNOWN if receives_left is None else receives_left)
    growth = max(horizon / down, 2.0) ** (1 / left)
    spread = max(down * (growth - 1), shortest)
    until = 0 if phase is Phase.CLOSED else max(0, state.next_at - now)
    return min(timedelta(milliseconds=until + spread * random.uniform(0.5, 1.0)), MAX_WAIT)


def milliseconds(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)
