"""Where the jobs of the model find the episode that is being played: they are made by the registry, not by the test."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .episode import Episode

_playing: "list[Episode]" = []


def enter(episode: "Episode") -> None:
    _playing[:] = [episode]


def playing() -> "Episode":
    return _playing[0]
