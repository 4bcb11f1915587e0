"""A mistake in a job class fails when its module is imported, with a text that says what to do."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from runtime.context import JobContext
from runtime.job import Job, JobDeclarationError, upcast
from runtime.outcome import Discard, Park, Permanent
from runtime.policy import fixed

from .helpers import Work, job_of, nothing


def generator(self: Any, args: Work, ctx: JobContext) -> Iterator[int]:
    yield 1


async def async_generator(self: Any, args: Work, ctx: JobContext) -> AsyncIterator[int]:
    yield 1


def lift(raw: dict[str, Any]) -> dict[str, Any]:
    return raw


@pytest.mark.parametrize(
    ("attributes", "rule", "remedy"),
    [
        (
            {"name": "Send Invoice"},
            "the wire name 'Send Invoice' does not match",
            "Use lower case words joined by dots",
        ),
        ({"name": "Ünicode"}, "the wire name 'Ünicode' does not match", "lower case"),
        ({"name": "9lives"}, "the wire name '9lives' does not match", "lower case"),
        ({"name": "a" * 101}, "does not match", "lower case"),
        ({"name": 7}, "the wire name 7 does not match", "lower case"),
        ({"aliases": ("Old",)}, "the wire name 'Old' does not match", "lower case"),
        ({"aliases": "old"}, "aliases='old' is a text, not a tuple", r"Write aliases = \('old',\)"),
        ({"run": generator}, "run is a generator, whose body would never be executed", "instead of yielding"),
        ({"run": async_generator}, "run is a generator, whose body would never be executed", "instead of yielding"),
        ({"version": 0}, "version=0 is not a number from 1", "Start at 1"),
        ({"version": "2"}, "version='2' is not a number from 1", "Start at 1"),
        ({"retry": 5}, "retry=5 is no retry policy", r"Use linear\(...\)"),
        ({"retry": Permanent("x")}, "retry=.* is no retry policy", r"Use linear\(...\)"),
        ({"on": {"ValueError": Park("x")}}, "on has the key 'ValueError', which is no exception class", "Keys of on"),
        ({"on": {ValueError: "park"}}, "on maps ValueError to 'park'", "Map it to a retry policy"),
        ({"on": {ValueError: Permanent}}, "on maps ValueError to", r'such as Permanent\("reason"\)'),
        ({"on": {ValueError: Discard("x")}}, "but the job is not regenerable", "Set regenerable = True if"),
        ({"timeout": 30}, "timeout=30 is not a positive timedelta", r"Write timeout = timedelta\(seconds=...\)"),
        ({"timeout": timedelta(0)}, "timeout=.* is not a positive timedelta", "leave it out"),
        ({"ttl": timedelta(-1)}, "ttl=.* is not a positive timedelta", "Write ttl"),
        (
            {"log_fields": ("label", "lable")},
            r"log_fields names \['lable'\], which the payload model lacks",
            "Name fields",
        ),
        (
            {"lift": upcast(1, 2)(lift)},
            r"@upcast from version \[1\] does not lead to version 1",
            "Add the missing step",
        ),
        ({"lift": upcast(1, 2)(lift), "version": 3}, r"@upcast from version \[1\] does not lead to version 3", "Add"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_broken_declaration(attributes: dict[str, Any], rule: str, remedy: str) -> None:
    with pytest.raises(JobDeclarationError, match=rule) as caught:
        job_of(nothing, **attributes)
    assert str(caught.value).startswith("tests.runtime.helpers.Probe: ")
    with pytest.raises(JobDeclarationError, match=remedy):
        job_of(nothing, **attributes)


def test_a_job_needs_a_model() -> None:
    with pytest.raises(JobDeclarationError, match=r"it has no payload model\. Derive from Job\[YourModel, None\]"):

        class Bare(Job):  # type: ignore[type-arg]
            name = "bare"

            def run(self, args: Any, ctx: JobContext) -> None:
                return None


def test_a_model_is_a_pydantic_model() -> None:
    with pytest.raises(JobDeclarationError, match="it has no payload model"):

        class Loose(Job[dict, None]):  # type: ignore[type-arg,type-var]
            name = "loose"

            def run(self, args: Any, ctx: JobContext) -> None:
                return None


def test_a_job_needs_code() -> None:
    with pytest.raises(JobDeclarationError, match=r"it has no run method\. Write def run\(self, args, ctx\)"):

        class Idle(Job[Work, None]):
            name = "idle"


@pytest.mark.parametrize("versions", [(0, 1), (2, 2), (3, 1)])
def test_upcasts_rise(versions: tuple[int, int]) -> None:
    with pytest.raises(JobDeclarationError, match="the versions must rise and start at 1 or more"):
        upcast(*versions)


def test_a_class_without_a_name_is_a_base_for_others() -> None:
    class Base(Job[Work, None]):
        retry = fixed(timedelta(seconds=1), max_attempts=2)
        on = {ValueError: Permanent("wrong")}

    class Derived(Base):
        name = "derived"

        def run(self, args: Work, ctx: JobContext) -> None:
            return None

    assert Derived.payload_model is Work
    assert Derived.retry is Base.retry
    assert Derived.on == Base.on


def test_upcasts_are_inherited_and_extended() -> None:
    class First(Job[Work, None]):
        one = upcast(1, 2)(lift)

    class Second(First):
        name = "second"
        version = 3
        two = upcast(2, 3)(lift)

        def run(self, args: Work, ctx: JobContext) -> None:
            return None

    assert {old: new for old, (new, _) in Second.upcasters.items()} == {1: 2, 2: 3}
    assert First.upcasters.keys() == {1}


def test_every_good_declaration_is_taken() -> None:
    class Model(BaseModel):
        label: str
        account: str

    job = job_of(
        nothing,
        name="billing.invoice_send-v1",
        aliases=("old.name",),
        workload="email",
        group=staticmethod(lambda args: args.label),
        retry=fixed(timedelta(seconds=1), max_attempts=1),
        on={ValueError: Discard("old"), KeyError: fixed(timedelta(0), max_attempts=3)},
        regenerable=True,
        timeout=timedelta(seconds=1),
        ttl=timedelta(hours=1),
        log_fields=("label",),
        version=2,
        lift=upcast(1, 2)(lift),
    )
    assert job.upcasters == {1: (2, lift)}
    assert job_of(nothing, name="a" * 100).name == "a" * 100


def test_a_keyed_payload_has_an_order() -> None:
    class Tags(BaseModel):
        number: int
        tags: set[str] | None = None

    with pytest.raises(JobDeclarationError, match=r"tags of the payload is a set.*sorted"):

        class Tagged(Job[Tags, None]):
            name = "tagged"
            key = "number"

            def run(self, args: Tags, ctx: JobContext) -> None:
                return None
