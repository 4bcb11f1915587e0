"""A bounded, harmless description of an exception: what logs and dead letters may say about it.

An exception is foreign data: its text may hold a payload, a megabyte, or code that raises when it is printed.
"""

import traceback
from dataclasses import dataclass

MAX_MESSAGE_CHARS = 500
MAX_FRAMES = 8


@dataclass(frozen=True, slots=True)
class Failure:
    """``name`` and ``where`` are fit for logs; ``message`` may quote the payload and goes into the dead letter only."""

    name: str
    message: str
    where: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        return cls(encodable(type(error).__name__[:100]), _message(error), _where(error))


def _message(error: BaseException) -> str:
    try:
        return encodable(str(error)[:MAX_MESSAGE_CHARS])
    except BaseException as broken:  # whatever __str__ does, even sys.exit, is no reason to lose the job
        return f"(an exception whose text raises {type(broken).__name__})"


def _where(error: BaseException) -> tuple[str, ...]:
    """The innermost frames as ``file:line function``: no source lines, no values."""
    try:
        frames = traceback.extract_tb(error.__traceback__, limit=-MAX_FRAMES)
        return tuple(encodable(f"{_tail(frame.filename)}:{frame.lineno} {frame.name}") for frame in frames)
    except Exception:
        return ()


def encodable(text: str) -> str:
    """A lone surrogate cannot be encoded, not even escaped: replace it before anything tries."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tail(path: str) -> str:
    return "/".join(path.replace("\\", "/").rsplit("/", 3)[-3:])
