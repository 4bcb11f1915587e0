"""Play many episodes; make a failing one small and readable."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .choices import Choices, reduced
from .episode import Episode
from .witness import Violation

REDUCTIONS = 2_000


@dataclass(frozen=True)
class Finding:
    """A failed episode. ``steps`` counts those of the episodes before it too."""

    seed: str
    rule: str
    error: Exception
    steps: int
    drawn: Sequence[int]

    def __str__(self) -> str:
        """The shortest episode found that breaks the same rule, line by line."""
        small = reduced(self.drawn, lambda numbers: play("", numbers)[1] == self.rule, REDUCTIONS)
        choices = Choices(replay=small)
        episode = Episode(choices)
        error: Exception = self.error
        try:
            episode.play()
        except Exception as again:
            error = again
        lines = (" ".join(map(str, line)) for line in episode.trace)
        return f"seed {self.seed!r} breaks {self.rule!r}\n{error}\n" + "\n".join(lines)


@dataclass
class Search:
    """What was played."""

    steps: int = 0
    episodes: int = 0
    seen: Counter[str] = field(default_factory=Counter)


def play(seed: str, replay: Sequence[int] | None = None) -> tuple[Episode, str, Exception | None]:
    """One episode, the rule it broke (or "") and the error."""
    episode = Episode(Choices(seed, replay))
    try:
        episode.play()
    except Violation as violation:
        return episode, violation.rule, violation
    except Exception as error:  # what the runtime or a job should not have raised
        return episode, type(error).__name__, error
    return episode, "", None


def search(seed: str, steps: int) -> tuple[Search, Finding | None]:
    """Play episodes until so many steps are done, or one fails."""
    done = Search()
    while done.steps < steps:
        episode, rule, error = play(f"{seed}/{done.episodes}")
        done.steps += episode.steps
        done.episodes += 1
        for _, what, *rest in episode.trace:
            done.seen[str(what)] += 1
            if what == "says":
                done.seen[f"says {rest[1]}"] += 1
            elif what == "table":
                done.seen[f"{rest[1]} to {rest[2]}"] += 1
        if error is not None:
            return done, Finding(f"{seed}/{done.episodes - 1}", rule, error, done.steps, episode.choices.drawn)
    return done, None
