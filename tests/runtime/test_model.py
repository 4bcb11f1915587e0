"""Engine, ledger and settlement under everything that may go wrong at once, and the proof that this would notice."""

import pytest

from .model.mutants import MUTANTS, Mutant
from .model.search import search

SEEDS = ("north", "east", "south", "west")
STEPS = 60_000  # of each seed
STEPS_UNTIL_CAUGHT = 300_000


@pytest.mark.parametrize("seed", SEEDS)
def test_no_job_is_lost_and_no_effect_is_doubled(seed: str) -> None:
    done, finding = search(seed, STEPS)
    assert finding is None, str(finding)
    # The episodes did meet what they are for.
    for outcome in ("succeeded", "retry", "defer", "dead", "parked", "discarded", "duplicate", "lost"):
        assert done.seen[f"says {outcome}"] > 10, outcome
    for event in ("dies", "pauses", "refused", "lost", "repeated", "redrives", "releases", "cancels"):
        assert done.seen[event] > 10, event
    for change in ("DEAD to RUNNING", "PARKED to RUNNING", "None to QUEUED", "QUEUED to RUNNING", "DONE to QUEUED"):
        assert done.seen[change] > 0, change


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_seeded_defect_is_caught(mutant: Mutant) -> None:
    with mutant.applied():
        done, finding = search("mutant", STEPS_UNTIL_CAUGHT)
    assert finding is not None, f"{mutant.name}: not noticed in {done.steps} steps"
