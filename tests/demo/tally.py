"""What became of each published job, worked out from the consumers' log lines, the dead-letter queues and the parked
records alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.local_aws.stack import DeadLetter

FINAL = {"succeeded", "dead", "parked", "discarded"}
# A delivery of a job that had ended before: its process was killed after the end and before the acknowledgement. If it
# was killed before it could even write a line, that is all there is to see.
AGAIN = "duplicate"


@dataclass(frozen=True)
class Row:
    """One line of the live table."""

    workload: str
    published: int
    succeeded: int
    retried: int
    dead: int
    parked: int
    depth: int
    oldest_seconds: float


@dataclass
class Tally:
    """`jobs` maps job id to workload; `bodies` maps the text of a malformed body to workload."""

    started: float = field(default_factory=time.monotonic)
    jobs: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    published_at: dict[str, float] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    parked: list[dict[str, Any]] = field(default_factory=list)
    depths: Mapping[str, int] = field(default_factory=dict)

    def add_jobs(self, workload: str, ids: Iterable[str]) -> None:
        now = time.monotonic()
        for job_id in ids:
            self.jobs[job_id] = workload
            self.published_at[job_id] = now

    def add_body(self, workload: str, body: str) -> None:
        self.bodies[body] = workload
        self.published_at[body] = time.monotonic()

    def outcomes(self) -> dict[str, list[str]]:
        """Job id to its outcomes, in order."""
        found: dict[str, list[str]] = {job_id: [] for job_id in self.jobs}
        for line in self.lines:
            if line["job_id"] in found:
                found[line["job_id"]].append(line["outcome"])
        return found

    def unsettled(self) -> set[str]:
        """Jobs and bodies of which the end is not yet proven."""
        kept = {"dead": {letter.job_id for letter in self.letters}, "parked": {record["id"] for record in self.parked}}
        open_jobs = set()
        for job_id, outcomes in self.outcomes().items():
            end = _end(outcomes)
            if end is None or (end in kept and job_id not in kept[end]):
                open_jobs.add(job_id)
        return open_jobs | (set(self.bodies) - {letter.body for letter in self.letters})

    def rows(self) -> list[Row]:
        outcomes = self.outcomes()
        unsettled = self.unsettled()
        workloads = sorted({*self.jobs.values(), *self.bodies.values(), *self.depths})
        return [self._row(workload, outcomes, unsettled) for workload in workloads]

    def _row(self, workload: str, outcomes: Mapping[str, list[str]], unsettled: set[str]) -> Row:
        mine = [job_id for job_id, owner in self.jobs.items() if owner == workload]
        bodies = [body for body, owner in self.bodies.items() if owner == workload]
        now = time.monotonic()
        return Row(
            workload=workload,
            published=len(mine) + len(bodies),
            succeeded=sum("succeeded" in outcomes[job_id] for job_id in mine),
            retried=sum(outcomes[job_id].count("retry") for job_id in mine),
            # Not the letters: one whose process was killed after sending it has two, alike byte for byte.
            dead=len({letter.body for letter in self.letters if letter.workload == workload}),
            parked=sum(record["workload"] == workload for record in self.parked),
            depth=self.depths.get(workload, 0),
            oldest_seconds=max(
                (now - self.published_at[key] for key in (*mine, *bodies) if key in unsettled), default=0
            ),
        )

    def ends(self) -> Counter[str]:
        """How the jobs and bodies ended, for the summary."""
        found: Counter[str] = Counter()
        for outcomes in self.outcomes().values():
            end = _end(outcomes) or "unaccounted for"
            retried = "after retries" if "retry" in outcomes and end == "succeeded" else ""
            found[f"{end} {retried}".strip()] += 1
        lettered = {letter.body for letter in self.letters}
        for body in self.bodies:
            found["malformed, in the dead letters" if body in lettered else "malformed, unaccounted for"] += 1
        return found

    def delivered_again(self) -> int:
        """Deliveries of jobs that had ended before."""
        return sum(outcomes.count(AGAIN) for outcomes in self.outcomes().values())

    def ran_again(self) -> list[str]:
        """Jobs that succeeded more than once."""
        return [job_id for job_id, outcomes in self.outcomes().items() if outcomes.count("succeeded") > 1]


def _end(outcomes: list[str]) -> str | None:
    """The outcome that ended a job; None if it is still under way."""
    return next((outcome for outcome in outcomes if outcome in FINAL), AGAIN if AGAIN in outcomes else None)
