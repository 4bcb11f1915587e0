"""Circuit breakers shared by all workers: a dependency that is down is asked by one run per interval, not by each.

An open circuit puts a job off without an attempt, before its ledger record is claimed. After recovery starts are
ramped up: all waiting jobs at once would be a second outage. The rules are in ``breaker_state``; here is what keeps
them in the ledger's table, one item per dependency (``<app>##breaker#<name>``).

API calls of a job that names one dependency:

- closed, no failures: no write; one read per process and 2 s, however many jobs.
- closed, a failure: one write (an ADD), one more for the failure that opens the circuit. The next success: one write.
- open: that same read. A probe: one write, and one more if it succeeds. A process that loses the race for the probe:
  one refused write.
- ramp: one write per start; a failure one more.

If the table does not answer, every run is let through: the breaker must not be an outage of its own.

Powertools' ``circuit_breaker`` (3.37) counts failures in each execution environment on its own, binds probing to one
thread and lets all traffic through when it closes, so it can carry neither a shared count nor a ramp.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random, SystemRandom

from .breaker_state import (
    Ask,
    Dependency,
    Failed,
    Grant,
    Phase,
    State,
    Succeeded,
    milliseconds,
    step,
    suspected,
    trip,
    wait,
)
from .conditions import Condition, absent, any_of, equals
from .outcome import Decision, Defer
from .policy import classify
from .table import ConditionFailedError, Table, Update

KEEP = timedelta(days=30)
TRIES = 3  # how often a change is tried again because another worker was faster

Opened = Callable[[Dependency, State], None]


@dataclass(frozen=True, slots=True)
class Admission:
    """One run may use the dependency, by the state of that version."""

    grant: Grant
    version: int


class Breaker:
    """The breaker of one dependency in one process.

    Args:
        app: name of the application; its workers share the breaker.
        rule: the dependency.
        table: the ledger's table.
        now: the clock; aware, UTC.
        random: source of jitter.
        on_open: called by the worker that found the circuit opening, or its probe failing: once per interval. What it
            raises is ignored.
    """

    def __init__(
        self,
        app: str,
        rule: Dependency,
        table: Table,
        now: Callable[[], datetime],
        random: Random | None = None,
        on_open: Opened | None = None,
    ) -> None:
        self.rule = rule
        self._key = f"{app}##breaker#{rule.name}"
        self._table, self._now, self._random, self._on_open = table, now, random or SystemRandom(), on_open
        self._state = State()
        self._read_at: int | None = None
        self._cache = milliseconds(rule.cache)

    def ask(self, run: str) -> Admission | None:
        """Let a run through, or not. ``run`` is the job's id."""
        for _ in range(TRIES):
            now = self._milliseconds()
            state = self._current(now)
            after = step(state, Ask(run), now, self.rule)
            if after.state is state:
                return None if after.grant is None else Admission(after.grant, state.version)
            try:
                if self._swap(state, after.state, now):
                    assert after.grant is not None
                    return Admission(after.grant, after.state.version)
            except Exception:
                self._remember(State(), now)
                return Admission(Grant.FREE, 0)
        return None

    def refuses(self, run: str) -> bool:
        """Whether ``ask`` would say no. Takes no probe and no start, so that several dependencies can be asked."""
        now = self._milliseconds()
        return step(self._current(now), Ask(run), now, self.rule).grant is None

    def succeeded(self, admission: Admission) -> None:
        """The dependency answered."""
        now = self._milliseconds()
        for _ in range(TRIES):
            # What this process knew when it let the run through is enough: nothing has to be read to learn that
            # nothing has to be written.
            state = self._state
            after = step(state, Succeeded(admission.version, admission.grant), now, self.rule).state
            if after is state:
                return
            try:
                if after.phase is Phase.CLOSED:
                    self._update(Update(self._key, _closed(), sets={"failures": 0, "ttl": self._ttl(now)}), now)
                    return
                if self._swap(state, after, now):
                    return
            except Exception:
                return

    def failed(self, admission: Admission) -> bool:
        """The dependency is down.

        Returns:
            False if the run failed like any other. True if the failure is the dependency's and not the job's, so that
            no attempt should be counted: the circuit is not closed, or half way to opening. (Where jobs are few, one
            that is retried quickly would else use up its attempts before ten failures have come together.)
        """
        now = self._milliseconds()
        try:
            state = self._count(admission, now)
        except Exception:
            return False
        if state.at(now, self.rule) is Phase.CLOSED:
            return suspected(state, self.rule)
        if admission.grant is Grant.PROBE and state.phase is Phase.OPEN:
            self._tell(state)
        return True

    def wait(self, receives_left: int | None) -> timedelta:
        """How long to put off a job that was refused.

        Args:
            receives_left: how often the queue will hand it out again; None if unknown.
        """
        return wait(self._state, self._milliseconds(), self.rule, receives_left, self._random)

    def rest(self) -> timedelta:
        """How long a worker that polls need not receive messages: until the next probe or the next start of a ramp."""
        now = self._milliseconds()
        state = self._current(now)
        left = 0 if state.at(now, self.rule) is Phase.CLOSED else max(0, state.next_at - now)
        return timedelta(milliseconds=left)

    def is_open(self) -> bool:
        """Whether nothing but probes is let through, as far as this process knows."""
        now = self._milliseconds()
        return self._current(now).at(now, self.rule) is Phase.OPEN

    def counts(self, error: BaseException) -> bool:
        """Whether an exception means that the dependency is down."""
        if self.rule.counts is not None:
            return isinstance(error, self.rule.counts)
        return not isinstance(error, Decision) and classify(error)[0] != "error"

    def _count(self, admission: Admission, now: int) -> State:
        for _ in range(TRIES):
            state = self._state
            if state.phase is Phase.CLOSED:
                # Not by ``_swap``: failures of many workers come together, and each must count.
                counted = Update(
                    self._key,
                    _closed(),
                    sets={"state": str(Phase.CLOSED), "ttl": self._ttl(now)},
                    defaults={"version": 0},
                    adds={"failures": 1},
                )
                if self._update(counted, now):
                    return self._trip(now)
            else:
                after = step(state, Failed(admission.version), now, self.rule).state
                if after is state:
                    return state
                if self._swap(state, after, now):
                    if after.phase is Phase.OPEN:
                        self._tell(after)
                    return after
        return self._state

    def _trip(self, now: int) -> State:
        after = trip(self._state, now, self.rule)
        if after is not self._state and self._swap(self._state, after, now):
            self._tell(after)
        return self._state

    def _tell(self, state: State) -> None:
        if self._on_open is not None:
            try:
                self._on_open(self.rule, state)
            except Exception:
                return  # jobs are put off one by one then

    def _current(self, now: int) -> State:
        if self._read_at is None or not 0 <= now - self._read_at < self._cache:
            try:
                self._remember(State.of(self._table.get(self._key)), now)
            except Exception:
                self._remember(State(), now)
        return self._state

    def _swap(self, before: State, after: State, now: int) -> bool:
        """Replace one state by the next, unless another worker was faster; then that worker's state is known."""
        same = equals("version", before.version)
        condition = same if before.version else any_of(absent("version"), same)
        return self._update(Update(self._key, condition, sets={**after.item(), "ttl": self._ttl(now)}), now)

    def _update(self, update: Update, now: int) -> bool:
        try:
            self._remember(State.of(self._table.update(update)), now)
        except ConditionFailedError as failed:
            self._remember(State.of(failed.item), now)
            return False
        return True

    def _remember(self, state: State, now: int) -> None:
        self._state, self._read_at = state, now

    def _milliseconds(self) -> int:
        return round(self._now().timestamp() * 1000)

    def _ttl(self, now: int) -> int:
        return now // 1000 + int(KEEP.total_seconds())


def _closed() -> Condition:
    return any_of(absent("state"), equals("state", str(Phase.CLOSED)))


class Breakers:
    """The breakers of one process, made on first use. Arguments as of ``Breaker``."""

    def __init__(
        self,
        app: str,
        table: Table,
        now: Callable[[], datetime],
        random: Random | None = None,
        on_open: Opened | None = None,
    ) -> None:
        self._app, self._table, self._now, self._random, self._on_open = app, table, now, random, on_open
        self._breakers: dict[Dependency, Breaker] = {}

    def of(self, dependency: str | Dependency) -> Breaker:
        """The breaker of a dependency; a name alone means the default rules.

        Raises:
            ValueError: the name breaks the rule for names.
        """
        rule = dependency if isinstance(dependency, Dependency) else Dependency(dependency)
        if rule not in self._breakers:
            self._breakers[rule] = Breaker(self._app, rule, self._table, self._now, self._random, self._on_open)
        return self._breakers[rule]

    def gate(self, run: str, receives_left: int | None = None) -> "Gate":
        """The way of a run that names no dependency beforehand. Arguments as of ``open_gate``."""
        return Gate(self, run, receives_left)

    def open_gate(
        self, dependencies: Iterable[str | Dependency], run: str, receives_left: int | None = None
    ) -> "Gate | Defer":
        """What a run may use, or Defer if one of its dependencies is down.

        Args:
            dependencies: what the job names.
            run: the job's id.
            receives_left: how often the queue will hand the message out again; None if unknown.
        """
        breakers = [self.of(dependency) for dependency in dependencies]
        gate = Gate(self, run, receives_left, breakers)
        # First look at all of them: a probe of one is lost on a run that another refuses.
        for breaker in breakers:
            if len(breakers) > 1 and breaker.refuses(run):
                return gate.refusal(breaker)
        for breaker in breakers:
            if not gate.pass_through(breaker):
                return gate.refusal(breaker)
        return gate


class Gate:
    """One run's way to its dependencies."""

    def __init__(
        self, breakers: Breakers, run: str, receives_left: int | None = None, declared: Sequence[Breaker] = ()
    ) -> None:
        self._breakers, self._run, self._receives_left = breakers, run, receives_left
        self._declared = {breaker.rule.name: breaker for breaker in declared}
        self._admissions: dict[str, Admission] = {}
        self._reported: set[str] = set()

    def pass_through(self, breaker: Breaker) -> bool:
        admission = breaker.ask(self._run)
        if admission is None:
            return False
        self._admissions[breaker.rule.name] = admission
        return True

    def refusal(self, breaker: Breaker, reason: str = "circuit_open") -> Defer:
        return Defer(breaker.wait(self._receives_left), f"{reason}:{breaker.rule.name}")

    @contextmanager
    def guard(self, dependency: str | Dependency, *, ignore: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Use a dependency: ``with ctx.breaker("smtp"): send(...)``.

        Args:
            dependency: its name, or a ``Dependency``; a name that the job declares has the rules declared there.
            ignore: exceptions that are answers, such as a refused address: they count as a success.

        Raises:
            Defer: the circuit is open, or the failure is the dependency's and not the job's (see ``Breaker.failed``).
                No attempt is used up.
        """
        breaker = self._breaker(dependency)
        name = breaker.rule.name
        if not self._may_go_on(breaker) and not self.pass_through(breaker):
            raise self.refusal(breaker)
        admission = self._admissions[name]
        self._reported.add(name)
        try:
            yield
        except BaseException as error:
            if isinstance(error, ignore):
                breaker.succeeded(admission)
            elif breaker.counts(error):
                put_off = self._failed(breaker, admission)
                if put_off is not None:
                    raise put_off from error
            raise
        breaker.succeeded(admission)

    def succeeded(self) -> None:
        """The run came to its end: so the dependencies that its class names are well, as far as no ``guard`` told."""
        for name, breaker in self._untold():
            breaker.succeeded(self._admissions[name])

    def failed(self, error: BaseException) -> BaseException:
        """What a run raised may mean that a dependency that its class names is down, as far as no ``guard`` told. If it
        names several, nobody knows which of them an error is about, unless ``counts`` does.

        Returns:
            ``error``, or a Defer in its place, as ``guard`` raises it.
        """
        result = error
        for name, breaker in self._untold():
            if breaker.counts(error) and (len(self._declared) == 1 or breaker.rule.counts is not None):
                result = self._failed(breaker, self._admissions[name]) or result
        return result

    def _untold(self) -> list[tuple[str, Breaker]]:
        return [
            (name, breaker)
            for name, breaker in self._declared.items()
            if name in self._admissions and name not in self._reported
        ]

    def _may_go_on(self, breaker: Breaker) -> bool:
        """A run that was let through as a probe or in the ramp goes on, unless the circuit has opened again since."""
        name = breaker.rule.name
        admission = self._admissions.get(name)
        if admission is None or admission.grant is Grant.FREE:
            return False
        return (admission.grant is Grant.PROBE and name not in self._reported) or not breaker.is_open()

    def _failed(self, breaker: Breaker, admission: Admission) -> Defer | None:
        self._admissions.pop(breaker.rule.name, None)
        return self.refusal(breaker, "dependency_down") if breaker.failed(admission) else None

    def _breaker(self, dependency: str | Dependency) -> Breaker:
        if isinstance(dependency, str) and dependency in self._declared:
            return self._declared[dependency]
        return self._breakers.of(dependency)
