"""A dependency goes down under load: what retry policies and the shared breaker make of it, on a virtual clock.

``python -m tests.benchmarks.outage`` simulates 100 workers and jobs of 4 minutes whose dependency is down for 10
minutes, with the runtime's own policies, classification and breaker; only queue, workers and dependency are modelled.
A message is handed out five times at most (unless the row says ten), and every receive counts, also one that only puts
the job off. ``reference`` holds what a plain model of the same situation gave, without shared state, cache or spread.

Scenarios: A, 10,000 jobs wait when the outage begins; B, 20 jobs a minute arrive (80 % load); C, as A and B, but once
it is back the dependency takes 5 starts a second. Failures: *fast* after 1 s; *timeout* after 30 s; *late*, at a random
point of the job. Consumers: a Lambda function receives on and puts off; a worker (or a paused mapping) stops receiving.
"""

import gc
import heapq
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from statistics import mean, median
from time import perf_counter

sys.path.append(
    str(
        Path(__file__).resolve().parents[2] / "template/{{cookiecutter.project_slug}}/src/{{cookiecutter.package_name}}"
    )
)

from runtime.breaker import Breakers, Gate
from runtime.breaker_state import Dependency
from runtime.outcome import Defer, Kind, Outcome
from runtime.policy import Backoff, decide, full_jitter, linear
from runtime.table import MemoryTable

START = datetime(2030, 1, 1, tzinfo=UTC)
SEEDS = (1, 2, 3, 4, 5, 6)
JOB_SECONDS = 240.0
CALL_SECONDS = 1.0
TIMEOUT_SECONDS = 30.0
HANDLING_SECONDS = 0.02  # to receive a message, see that the circuit is open, and put it off
ATTEMPTS = 5
LINEAR = linear(step=timedelta(seconds=15), max_attempts=ATTEMPTS)
FULL_JITTER = full_jitter(max_attempts=ATTEMPTS)
POLICIES: dict[str, Backoff] = {"linear": LINEAR, "full jitter": FULL_JITTER}
RAMPED = Dependency("smtp")
UNRAMPED = Dependency("smtp", ramp_start=1000, ramp_ceiling=1000)


class BusyError(Exception):
    """HTTP 503, as an HTTP client reports it."""

    status = 503
    headers: dict[str, str] = {}


@dataclass(frozen=True)
class Case:
    """One simulated situation."""

    scenario: str = "backlog"  # or "steady"
    mode: str = "fast"  # or "timeout", "late"
    policy: str = "linear"
    breaker: Dependency | None = None
    stops: bool = False  # the consumer stops receiving while the circuit is open
    limit: int | None = None  # starts per second that the dependency takes after the outage
    jobs: int = 10_000
    workers: int = 100
    down: float = 600.0
    receives: int = 5


@dataclass
class Result:
    failed: int = 0
    wasted: float = 0.0  # worker-minutes of runs that came to nothing
    dead: int = 0
    put_off: int = 0  # receives that only put a job off
    rejected: int = 0  # starts that the dependency refused after the outage
    makespan: float = 0.0  # minutes
    recovered: float = 0.0  # minutes from the end of the outage to the end of the last job that it hit
    done: int = 0
    starts: list[float] = field(default_factory=list)  # seconds after the outage, of the first minute


@dataclass(slots=True)
class Message:
    name: str
    receives: int = 0
    attempts: int = 0
    hit: bool = False


class Worker:
    """One process: its own cache of the breaker's state."""

    def __init__(self, table: MemoryTable, now: Callable[[], datetime], random: Random) -> None:
        self.breakers = Breakers("app", table, now, random)


class Simulation:
    """Runs one case; see ``run``."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.random = case, Random(seed)
        self.policy = POLICIES[case.policy]
        self.result = Result()
        self.clock = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._visible: deque[Message] = deque()
        self._idle: list[Worker] = []
        self._accepted: deque[float] = deque()
        self._down_from = 0.0 if case.scenario == "backlog" else 3600.0
        self._down_to = self._down_from + case.down
        table = MemoryTable()
        self._workers = [Worker(table, self.now, self.random) for _ in range(case.workers)]

    def now(self) -> datetime:
        return START + timedelta(seconds=self.clock)

    def run(self) -> Result:
        """Until every job is done or dead."""
        for worker in self._workers:
            self._at(self.random.random(), partial(self._free, worker))
        for number, arrival in enumerate(self._arrivals()):
            self._at(arrival, partial(self._arrive, Message(f"job-{number}")))
        while self._events:
            self.clock, _, action = heapq.heappop(self._events)
            action()
        self.result.makespan /= 60
        return self.result

    def _arrivals(self) -> Iterator[float]:
        if self.case.scenario == "backlog":
            yield from (0.0 for _ in range(self.case.jobs))
            return
        moment = 0.0
        rate = 0.8 * self.case.workers / JOB_SECONDS
        while moment < self._down_to + 3600:
            moment += self.random.expovariate(rate)
            yield moment

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._number), action))

    def _arrive(self, message: Message) -> None:
        self._visible.append(message)
        if self._idle:
            self._free(self._idle.pop(self.random.randrange(len(self._idle))))

    def _free(self, worker: Worker) -> None:
        if not self._visible:
            self._idle.append(worker)
            return
        if self.case.stops and self.case.breaker is not None:
            rest = worker.breakers.of(self.case.breaker).rest().total_seconds()
            if rest > 0:
                self._at(self.clock + rest + self.random.random(), partial(self._free, worker))
                return
        message = self._visible.popleft()
        message.receives += 1
        gate: Gate | None = None
        if self.case.breaker is not None:
            opened = worker.breakers.open_gate([self.case.breaker], message.name, self.case.receives - message.receives)
            if isinstance(opened, Defer):
                self.result.put_off += 1
                self._settle(message, opened)
                self._at(self.clock + HANDLING_SECONDS, partial(self._free, worker))
                return
            gate = opened
        start = self.clock
        touch = self.random.uniform(0, JOB_SECONDS - CALL_SECONDS) if self.case.mode == "late" else 0.0
        self._at(start + touch, partial(self._touch, worker, message, gate, start))

    def _touch(self, worker: Worker, message: Message, gate: Gate | None, start: float) -> None:
        guard: AbstractContextManager[None] | None = None
        if gate is not None and self.case.breaker is not None:
            guard = gate.guard(self.case.breaker)
            try:
                guard.__enter__()
            except Defer as put_off:  # it opened since the job started
                self._failed(worker, message, start, put_off)
                return
        error = self._call()
        seconds = TIMEOUT_SECONDS if isinstance(error, TimeoutError) else CALL_SECONDS
        self._at(self.clock + seconds, partial(self._called, worker, message, guard, start, error))

    def _call(self) -> Exception | None:
        """What the dependency answers now."""
        if self._down_from <= self.clock < self._down_to:
            return TimeoutError("no answer") if self.case.mode == "timeout" else ConnectionError("refused")
        if self.clock >= self._down_to:
            if self.clock < self._down_to + 60:
                self.result.starts.append(self.clock - self._down_to)
            if self.case.limit is not None:
                while self._accepted and self._accepted[0] <= self.clock - 1:
                    self._accepted.popleft()
                if len(self._accepted) >= self.case.limit:
                    self.result.rejected += 1
                    return BusyError("busy")
                self._accepted.append(self.clock)
        return None

    def _called(
        self,
        worker: Worker,
        message: Message,
        guard: AbstractContextManager[None] | None,
        start: float,
        error: Exception | None,
    ) -> None:
        if guard is not None:
            try:
                guard.__exit__(type(error) if error else None, error, None)
            except Defer as put_off:
                self._failed(worker, message, start, put_off)
                return
        if error is not None:
            self._failed(worker, message, start, error)
            return
        self._at(max(self.clock, start + JOB_SECONDS), partial(self._done, worker, message))

    def _done(self, worker: Worker, message: Message) -> None:
        self.result.done += 1
        self.result.makespan = max(self.result.makespan, self.clock)
        if message.hit:
            self.result.recovered = max(self.result.recovered, (self.clock - self._down_to) / 60)
        self._free(worker)

    def _failed(self, worker: Worker, message: Message, start: float, error: Exception) -> None:
        self.result.failed += 1
        self.result.wasted += (self.clock - start) / 60
        self._settle(message, error)
        self._free(worker)

    def _settle(self, message: Message, error: Exception) -> None:
        message.hit = True
        outcome = self._decide(message, error)
        if outcome.kind is Kind.RETRY:
            message.attempts += 1
        # As the engine does it: one receive more and the queue would move the message itself.
        if outcome.kind in (Kind.RETRY, Kind.DEFER) and message.receives < self.case.receives:
            delay = outcome.delay or timedelta(0)
            self._at(self.clock + delay.total_seconds(), partial(self._arrive, message))
        else:
            self.result.dead += 1

    def _decide(self, message: Message, error: Exception) -> Outcome:
        return decide(error, message.attempts + 1, retry=self.policy, on={}, regenerable=False, random=self.random)


def simulate(case: Case, seed: int) -> Result:
    """The outcome depends on nothing but the arguments."""
    return Simulation(case, seed).run()


# Contention: clients read a row, write it if nobody else did, and back off if somebody did.


@dataclass(frozen=True)
class Exponential:
    """The policy that the runtime does not offer, for comparison: doubling, without jitter."""

    base: timedelta
    cap: timedelta
    max_attempts: int

    def delay(self, attempt: int, random: Random) -> timedelta:
        return min(self.cap, timedelta(seconds=self.base.total_seconds() * float(2 ** min(attempt, 30))))


CONTENTION: dict[str, Backoff] = {
    "exponential": Exponential(timedelta(milliseconds=5), timedelta(seconds=2), 10**6),
    "full jitter": full_jitter(base=timedelta(milliseconds=10), cap=timedelta(seconds=2), max_attempts=10**6),
}


def contend(policy: Backoff, clients: int, seed: int) -> tuple[int, float]:
    """Writes needed until each client has written once, and the milliseconds it took. A message takes 10 +- 2 ms."""
    random = Random(seed)
    version, calls, finished = 0, 0, 0.0
    order = count()

    def travel() -> float:
        return max(0.0, random.gauss(10, 2))

    # (time, tie, step, attempt, version read)
    events = [(travel(), next(order), "read", 1, 0) for _ in range(clients)]
    heapq.heapify(events)
    while events:
        moment, _, what, attempt, seen = heapq.heappop(events)
        if what == "read":
            heapq.heappush(events, (moment + travel() + travel(), next(order), "write", attempt, version))
            continue
        calls += 1
        if seen == version:
            version += 1
            finished = max(finished, moment + travel())
            continue
        wait = policy.delay(attempt, random).total_seconds() * 1000
        heapq.heappush(events, (moment + travel() + wait + travel(), next(order), "read", attempt + 1, 0))
    return calls, finished


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    title: str
    case: Case
    reference: str = ""


def _rows() -> list[Row]:
    rows: list[Row] = []

    def add(title: str, case: Case, none: str, shared: str) -> None:
        rows.append(Row(f"{title}, no breaker", case, none))
        rows.append(Row(f"{title}, breaker, puts off", replace(case, breaker=RAMPED), shared))
        rows.append(Row(f"{title}, breaker, stops receiving", replace(case, breaker=RAMPED, stops=True), shared))

    a, b = Case(), Case(scenario="steady")
    add("A fast, linear", a, "50,000 / 833 / 9,997", "137 / 2.3 / 0; 410-411 min")
    jittered = replace(a, policy="full jitter", breaker=RAMPED)
    rows.append(Row("A fast, full jitter, breaker, puts off", jittered, "137 / 2.3 / 0"))
    add("A timeout, linear", replace(a, mode="timeout"), "2,000 / 1,000 / 0", "113 / 56.5 / 0")
    add("A late, linear", replace(a, mode="late"), "461 / 865 / 0", "110 / 223 / 0")
    add("B fast, linear", b, "1,191 / 19.9 / 149; 28 min", "326 / 5.4 / 33; 24 min")
    add("B fast, full jitter", replace(b, policy="full jitter"), "1,108 / 18.5 / 162; 29 min", "370 / 6.2 / 36; 24 min")
    add("B timeout, linear", replace(b, mode="timeout"), "910 / 455 / 110; 24 min", "221 / 110 / 0; 20 min")
    add(
        "B late, full jitter",
        replace(b, mode="late", policy="full jitter"),
        "429 / 788 / 15; 26 min",
        "163 / 339 / 0; 29 min",
    )
    ten = replace(b, breaker=RAMPED, receives=10)
    rows.append(Row("B fast, linear, breaker, puts off, ten receives", ten))
    for name, case, rejected in (("A", a, "950"), ("B", b, "965")):
        fragile = replace(case, limit=5, stops=True)
        rows.append(
            Row(f"C as {name}, breaker without ramp", replace(fragile, breaker=UNRAMPED), f"rejected {rejected}")
        )
        rows.append(Row(f"C as {name}, breaker", replace(fragile, breaker=RAMPED), "rejected 69"))
    rows.append(Row("C as A, breaker, puts off", replace(a, limit=5, breaker=RAMPED), "rejected 69"))
    return rows


ROWS = _rows()
IDEAL_MINUTES = 410.0  # of A: 10 minutes down, and 10,000 jobs of 4 minutes on 100 workers


@dataclass(frozen=True)
class Goal:
    """A bound, and the worst that any seed gave."""

    what: str
    bound: float
    value: float
    written: str

    @property
    def reached(self) -> bool:
        return self.value <= self.bound


def goals(results: dict[str, list[Result]], contention: dict[str, tuple[float, float]]) -> list[Goal]:
    """Judge by the worst seed. Both kinds of consumer must reach each goal."""
    found = []
    for kind in ("puts off", "stops receiving"):
        pairs = zip(results["A fast, linear, no breaker"], results[f"A fast, linear, breaker, {kind}"], strict=True)
        ratio = max(breaker.wasted / none.wasted for none, breaker in pairs)
        found.append(Goal(f"A: wasted, of linear without breaker ({kind})", 1 / 300, ratio, f"1/{1 / ratio:.0f}"))
        slowest = max(r.makespan for r in results[f"A fast, linear, breaker, {kind}"]) / IDEAL_MINUTES - 1
        found.append(Goal(f"A: makespan beyond the ideal ({kind})", 0.003, slowest, f"{slowest:+.2%}"))
    for scenario in ("A", "B"):
        dead = [
            r.dead for title, rs in results.items() if title.startswith(scenario) and ", breaker" in title for r in rs
        ]
        found.append(Goal(f"{scenario}: dead letters with breaker, all rows", 0, max(dead), str(max(dead))))
    for scenario in ("A", "B"):
        without = results[f"C as {scenario}, breaker without ramp"]
        pairs = zip(without, results[f"C as {scenario}, breaker"], strict=True)
        ratio = max(ramp.rejected / max(none.rejected, 1) for none, ramp in pairs)
        found.append(Goal(f"C as {scenario}: rejected starts, of an un-ramped breaker", 0.1, ratio, f"{ratio:.3f}"))
    calls, time = (contention["full jitter"][i] / contention["exponential"][i] for i in range(2))
    found.append(Goal("contention of 100: calls, of exponential", 0.45, calls, f"{calls:.2f}"))
    found.append(Goal("contention of 100: time, of exponential", 0.10, time, f"{time:.3f}"))
    return found


def contention_of(name: str, clients: int = 100, rounds: int = 30) -> tuple[float, float]:
    """Mean calls and milliseconds."""
    runs = [contend(CONTENTION[name], clients, seed) for seed in range(rounds)]
    return mean(calls for calls, _ in runs), mean(finished for _, finished in runs)


def _simulated(work: tuple[Row, int]) -> Result:
    row, seed = work
    gc.disable()  # the process lives for a minute and makes few cycles
    return simulate(row.case, seed)


def _range(values: Sequence[float], digits: int = 0) -> str:
    low, middle, high = min(values), median(values), max(values)
    if f"{low:,.{digits}f}" == f"{high:,.{digits}f}":
        return f"{middle:,.{digits}f}"
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def _line(row: Row, results: list[Result]) -> str:
    steady = row.case.scenario == "steady"
    cells = (
        _range([r.failed for r in results]),
        _range([r.wasted for r in results], 1),
        _range([r.dead for r in results]),
        _range([r.put_off for r in results]),
        _range([r.rejected for r in results]) if row.case.limit else "",
        _range([r.recovered if steady else r.makespan for r in results], 1) if any(r.done for r in results) else "",
    )
    return f"{row.title:<48}" + "".join(f"{cell:>24}" for cell in cells) + f"   {row.reference}"


def main() -> int:
    """Print the table and the goals; 1 if a goal is missed."""
    started = perf_counter()
    work = [(row, seed) for row in ROWS for seed in SEEDS]
    with ProcessPoolExecutor() as pool:
        contention = dict(zip(CONTENTION, pool.map(contention_of, CONTENTION), strict=True))
        every = list(pool.map(_simulated, work, chunksize=2))
    results = {row.title: every[i * len(SEEDS) : (i + 1) * len(SEEDS)] for i, row in enumerate(ROWS)}
    print(f"Median (range) of seeds {SEEDS}; reference: failed / wasted / dead.")
    print("minutes: A, until all is done; B, from the end of the outage until the last job that it hit is done.")
    names = ("failed", "wasted min", "dead", "put off", "rejected", "minutes")
    print(f"{'':<48}" + "".join(f"{name:>24}" for name in names) + "   reference")
    for row in ROWS:
        print(_line(row, results[row.title]))
    print()
    for name, reference in (("exponential", "1,867 / 64,127"), ("full jitter", "794 / 4,810")):
        calls, time = contention[name]
        print(f"contention of 100 clients, {name:<12} {calls:>8,.0f} calls {time:>8,.0f} ms   reference {reference}")
    print()
    judged = goals(results, contention)
    for goal in judged:
        print(f"{'reached' if goal.reached else 'MISSED':<8} {goal.what:<62} {goal.written:>8}   goal {goal.bound:.4g}")
    print(f"\n{len(work)} runs in {perf_counter() - started:.0f} s")
    return 0 if all(goal.reached for goal in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
