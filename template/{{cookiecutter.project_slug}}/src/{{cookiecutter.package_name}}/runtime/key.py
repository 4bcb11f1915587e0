"""The business key of a job: two jobs with one key are one piece of work."""

from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from .job import JobClass


class MissingKeyError(ValueError):
    """The job declares a key, but this payload has none that can be used."""


def business_key(job: JobClass, args: BaseModel) -> str | None:
    """The key of a payload, or None if the job declares none.

    A text is taken as it is, surrounding blanks included. Whole numbers and booleans are values (``0`` and ``false``
    are keys), written as in JSON; dates, UUIDs, decimals and enum members are written as they travel. Nothing, an empty
    text, a float (which is not exact) and lists or objects are no keys.

    Raises:
        MissingKeyError: naming the job and the rule, not the value.
    """
    if job.key is None:
        return None
    return written_key(job, getattr(args, job.key) if isinstance(job.key, str) else job.key(args))


def written_key(job: JobClass, value: Any) -> str:
    """A key as it stands in the record. Raises MissingKeyError."""
    if isinstance(value, float):
        raise MissingKeyError(
            f"job {job.name!r}: its key is a float, which is not exact; use a text, a whole number or a Decimal"
        )
    written = to_jsonable_python(value)
    if isinstance(written, bool):
        return "true" if written else "false"
    if isinstance(written, int):
        return str(written)
    if isinstance(written, str) and written:
        return written
    kind = "empty" if written in (None, "") else f"a {type(written).__name__}"
    raise MissingKeyError(
        f"job {job.name!r}: its key is {kind}; a key is a text, a number, a date, a UUID or an enum member"
    )
