"""Seeded defects: each breaks one rule of the runtime, by a small change of one function's source.

What cannot be broken without somebody noticing is what is tested.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from runtime import effects, engine, ledger, settlement

Change = Callable[[str], str]


@dataclass(frozen=True)
class Mutant:
    name: str
    module: ModuleType
    function: str
    change: Change

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The runtime of this process has the defect meanwhile."""
        *path, name = self.function.split(".")
        owner: Any = self.module
        for part in path:
            owner = getattr(owner, part)
        original = vars(owner)[name]
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(original)))
        changed = self.change(source)
        assert changed != source, f"{self.name}: {self.function} has changed, the seeded defect does not fit any more"
        scope = dict(vars(sys.modules[self.module.__name__]))
        exec(compile(changed, f"<{self.name}>", "exec"), scope)
        setattr(owner, name, scope[name])
        try:
            yield
        finally:
            setattr(owner, name, original)


def instead(old: str, new: str) -> Change:
    def change(source: str) -> str:
        assert source.count(old) == 1, f"{old!r} stands there {source.count(old)} times"
        return source.replace(old, new)

    return change


def _count_only_the_first_start(source: str) -> str:
    change = instead("defaults=about,", 'defaults={**about, "starts": 1},')
    return instead('adds={"starts": 1},', "")(change(source))


def _clear_the_outbox_first(source: str) -> str:
    (call,) = re.findall(r"^ +(self\.ledger\.clear_outbox\(.*\))\n", source, re.MULTILINE)
    without = re.sub(r"^ +self\.ledger\.clear_outbox\(.*\)\n", "", source, flags=re.MULTILINE)
    changed = re.sub(r"^( +)(self\._publish_all\()", rf"\1{call}\n\1\2", without, flags=re.MULTILINE)
    assert changed != without
    return changed


MUTANTS = (
    Mutant(
        "an old owner records its outcome",
        ledger,
        "JobLedger.finish",
        instead("_mine(claim), sets=sets", 'equals("state", "RUNNING"), sets=sets'),
    ),
    Mutant(
        "an old owner commits",
        ledger,
        "JobLedger.commit",
        instead("_mine(claim), sets=sets", 'equals("state", "RUNNING"), sets=sets'),
    ),
    Mutant(
        "acknowledged before the dead letter is sent",
        settlement,
        "Settlement._dead_letter",
        instead("letter = dead_letter(", "self.acknowledge(report.delivery); letter = dead_letter("),
    ),
    Mutant(
        "a lost claim acknowledges the message",
        settlement,
        "Settlement.settle",
        instead("return 0.0  # its new owner", "return None  # its new owner"),
    ),
    Mutant(
        "leases are written in seconds",
        ledger,
        "JobLedger.acquire",
        instead("round(lease.total_seconds() * 1000)", "round(lease.total_seconds())"),
    ),
    Mutant(
        "leases are compared in seconds",
        ledger,
        "_takeable",
        instead('below("lease", now)', 'below("lease", now // 1000)'),
    ),
    Mutant(
        "only the first start is counted",
        ledger,
        "JobLedger.acquire",
        _count_only_the_first_start,
    ),
    Mutant(
        "a deferral uses up an attempt",
        ledger,
        "JobLedger.finish",
        instead("counted = ran and outcome.kind is not Kind.DEFER", "counted = ran"),
    ),
    Mutant(
        "crashes are not counted",
        engine,
        "_must_not_run",
        instead("claim.crashes >= job.max_crashes", "claim.crashes < 0"),
    ),
    Mutant(
        "the outbox is cleared before it is published",
        engine,
        "Engine._publish_leftover",
        _clear_the_outbox_first,
    ),
    Mutant(
        "done is not final",
        ledger,
        "_takeable",
        instead(
            'all_of(equals("state", "RUNNING"), below("lease", now)),',
            'all_of(equals("state", "RUNNING"), below("lease", now)), equals("state", "DONE"),',
        ),
    ),
    Mutant(
        "any message takes a retry before its time",
        ledger,
        "_takeable",
        instead('any_of(at_most("not_before", now), equals("msg", message_id))', 'above("ttl", 0)'),
    ),
    Mutant(
        "a redrive goes on counting",
        ledger,
        "JobLedger.acquire",
        instead(', "starts": 1}', "}"),
    ),
    Mutant(
        "the payload of a key is not compared",
        ledger,
        "_takeable",
        instead('equals("args_hash", digest),', ""),
    ),
    Mutant(
        "an effect is not marked before it begins",
        effects,
        "Effects.once",
        instead('ledger.mark_effect(self._claim, step, "begun")', "pass"),
    ),
    Mutant(
        "parked without its body",
        ledger,
        "JobLedger.finish",
        instead('sets["body"] = delivery.body', "pass"),
    ),
    Mutant(
        "acknowledged though the outcome could not be recorded",
        engine,
        "Engine._finish",
        instead("return self._ledger_fault(error)", "return outcome"),
    ),
)
