"""Who owns a job's state. The engine asks before it runs a job and tells what came of it; nothing else touches the
state.

``NoLedger`` keeps nothing: attempts come from the message itself, a job may run twice, and parked work goes to the
dead-letter queue.
"""

from dataclasses import dataclass
from typing import Protocol

from .delivery import Delivery
from .envelope import Envelope
from .job import JobClass
from .outcome import Outcome


@dataclass(slots=True)
class Claim:
    """The right to run a job once. ``attempt`` counts from 1; ``owner`` fences later writes."""

    attempt: int
    owner: str = ""


class Ledger(Protocol):
    keeps_parked: bool
    """Whether a parked job is safe here. If not, parking means the dead-letter queue."""

    def acquire(self, job: JobClass, envelope: Envelope, delivery: Delivery) -> Claim | Outcome:
        """Claim the job, or say what to do instead: Duplicate, Defer (another owner), Dead."""
        ...

    def finish(self, claim: Claim, envelope: Envelope, outcome: Outcome) -> Outcome:
        """Record the outcome before anything is sent; returns it, or Lost if another owner took the job over."""
        ...


class NoLedger:
    """Attempts are receives: one that did not run the job (a deferral, a mate that killed the process) counts too."""

    keeps_parked = False

    def acquire(self, job: JobClass, envelope: Envelope, delivery: Delivery) -> Claim | Outcome:  # noqa: ARG002
        return Claim(attempt=envelope.attempts_before + delivery.receive_count)

    def finish(self, claim: Claim, envelope: Envelope, outcome: Outcome) -> Outcome:  # noqa: ARG002
        return outcome
