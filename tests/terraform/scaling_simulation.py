"""A queue, its metrics and alarms, and the tasks of a service that steps of exact capacity scale: simulated by events.

Everything is taken at its slowest or least helpful. A metric is one value a minute and is known a minute later. A task
runs `START_SECONDS` after it was asked for. A task that is to go ends its jobs and takes no further one, though
the real one would go on while it is protected. Nothing here is read from the modules: what is simulated are their
planned numbers.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MINUTE = 60
START_SECONDS = 60


@dataclass(frozen=True)
class Step:
    lower: float
    upper: float | None
    tasks: int


@dataclass(frozen=True)
class Policy:
    """What the alarms and policies of a service say."""

    min_tasks: int
    max_tasks: int
    threshold: float
    idle_minutes: int
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, scaling: dict[str, Any]) -> Policy:
        steps = tuple(Step(step["lower"], step["upper"], step["tasks"]) for step in scaling["steps"])
        return cls(scaling["min_tasks"], scaling["max_tasks"], scaling["threshold"], scaling["idle_minutes"], steps)

    def wanted(self, depths: Sequence[int]) -> int | None:
        """The capacity after a look at the depths of the last minutes, the newest last; None: as it is."""
        window = depths[-self.idle_minutes :]
        deepest = max(window, default=0)
        if deepest >= self.threshold:
            return min(self.max_tasks, max(self.min_tasks, self.step(deepest)))
        return self.min_tasks if len(window) == self.idle_minutes else None

    def step(self, depth: float) -> int:
        above = depth - self.threshold
        (found,) = [s.tasks for s in self.steps if s.lower <= above and (s.upper is None or above < s.upper)]
        return found


@dataclass
class Day:
    """What happened."""

    waits: list[float] = field(default_factory=list)  # of each job, from its message to its start
    wanted: list[int] = field(default_factory=list)  # capacity, minute by minute
    finished: float = 0.0  # when the last job had ended
    most_running: int = 0  # jobs at the same time
    task_seconds: float = 0.0

    def wait(self, share: float) -> float:
        ordered = sorted(self.waits)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def changes(self) -> list[int]:
        return [after - before for before, after in itertools.pairwise(self.wanted) if after != before]

    @property
    def turns(self) -> int:
        """How often the fleet grew after it had shrunk, or shrank after it had grown."""
        changes = self.changes
        return sum((before > 0) != (after > 0) for before, after in itertools.pairwise(changes))


@dataclass(eq=False)
class Task:
    slots: int
    ready: float
    running: int = 0
    leaving: bool = False


@dataclass
class Service:
    policy: Policy
    slots: int
    tasks: list[Task] = field(default_factory=list)

    def scale(self, wanted: int, now: float) -> None:
        # A busy task is protected: ECS has not stopped it, so it counts again when more are wanted.
        for task in [task for task in self.tasks if task.leaving][: max(0, wanted - self.staying)]:
            task.leaving = False
        while self.staying < wanted:
            self.tasks.append(Task(self.slots, now + START_SECONDS))
        idle_first = sorted((task for task in self.tasks if not task.leaving), key=lambda task: task.running)
        for task in idle_first[: max(0, self.staying - wanted)]:
            task.leaving = True
        self.tasks = [task for task in self.tasks if task.running or not task.leaving]

    @property
    def staying(self) -> int:
        return sum(not task.leaving for task in self.tasks)

    def free(self, now: float) -> Task | None:
        """The fullest task that has a free slot, so that the others can go."""
        usable = (t for t in self.tasks if not t.leaving and t.ready <= now and t.running < t.slots)
        return max(usable, key=lambda task: task.running, default=None)


def simulate(
    policy: Policy, arrivals: Iterable[float], job_seconds: Callable[[], float], slots: int, until: float
) -> Day:
    """Run a service from an empty queue until a time. Arrivals are seconds, in order."""
    service, day = Service(policy, slots), Day()
    service.tasks = [Task(slots, 0.0) for _ in range(policy.min_tasks)]
    events: list[tuple[float, int, Task | None]] = []  # a task: a job of it ends; None: look whether one can start
    waiting: deque[float] = deque()
    coming = deque(sorted(arrivals))
    depths: list[int] = []
    desired, running, serial = policy.min_tasks, 0, 0

    def start_what_can(now: float) -> None:
        nonlocal running, serial
        while waiting and (task := service.free(now)):
            day.waits.append(now - waiting.popleft())
            task.running += 1
            running += 1
            serial += 1
            heapq.heappush(events, (now + job_seconds(), serial, task))
        day.most_running = max(day.most_running, running)

    for minute in range(int(until // MINUTE)):
        end = (minute + 1) * MINUTE
        while (coming and coming[0] < end) or (events and events[0][0] < end):
            if not events or (coming and coming[0] <= events[0][0]):
                now = coming.popleft()
                waiting.append(now)
            else:
                now, _, task = heapq.heappop(events)
                if task is not None:
                    task.running -= 1
                    running -= 1
                    day.finished = now
                    service.tasks = [t for t in service.tasks if t.running or not t.leaving]
            start_what_can(now)
        # The alarm at the end of a minute knows the minutes before it.
        wanted = policy.wanted(depths)
        depths.append(len(waiting) + running)
        if wanted is not None and wanted != desired:
            desired = wanted
            service.scale(desired, end)
            serial += 1
            heapq.heappush(events, (end + START_SECONDS, serial, None))
        day.wanted.append(desired)
        day.task_seconds += MINUTE * len(service.tasks)
    return day
