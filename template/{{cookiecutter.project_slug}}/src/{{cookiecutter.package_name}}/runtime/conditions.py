"""Conditions on a stored item, as data: the ledger states a rule once, and both tables understand it.

``holds`` is what ``MemoryTable`` asks; ``Expression`` writes the same rule as a DynamoDB condition expression. That the
two agree is tested against a DynamoDB with random items and rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Absent:
    """The attribute does not exist."""

    name: str

    def holds(self, item: Item) -> bool:
        return self.name not in item


@dataclass(frozen=True, slots=True)
class Compare:
    """Attribute ``=``, ``<`` , ``<=``, ``>`` or ``>=`` value. False if the attribute is absent or of another type."""

    name: str
    operator: str
    value: Any

    def holds(self, item: Item) -> bool:
        if self.name not in item:
            return False
        have = item[self.name]
        if isinstance(have, str) is not isinstance(self.value, str):
            return False
        match self.operator:
            case "=":
                return bool(have == self.value)
            case "<":
                return bool(have < self.value)
            case "<=":
                return bool(have <= self.value)
            case ">":
                return bool(have > self.value)
            case ">=":
                return bool(have >= self.value)
        raise ValueError(f"unknown operator {self.operator!r}")


@dataclass(frozen=True, slots=True)
class Every:
    parts: "tuple[Condition, ...]"

    def holds(self, item: Item) -> bool:
        return all(part.holds(item) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Either:
    parts: "tuple[Condition, ...]"

    def holds(self, item: Item) -> bool:
        return any(part.holds(item) for part in self.parts)


Condition = Absent | Compare | Every | Either


def absent(name: str) -> Condition:
    return Absent(name)


def equals(name: str, value: Any) -> Condition:
    return Compare(name, "=", value)


def below(name: str, value: Any) -> Condition:
    return Compare(name, "<", value)


def at_most(name: str, value: Any) -> Condition:
    return Compare(name, "<=", value)


def above(name: str, value: Any) -> Condition:
    return Compare(name, ">", value)


def all_of(*parts: Condition) -> Condition:
    return Every(parts)


def any_of(*parts: Condition) -> Condition:
    return Either(parts)


def one_of(name: str, *values: Any) -> Condition:
    return Either(tuple(equals(name, value) for value in values))


@dataclass(slots=True)
class Expression:
    """Collects the placeholders of one DynamoDB call. Names always go through placeholders: ``state`` and ``owner`` are
    reserved words.
    """

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        return self.names.setdefault(attribute, f"#n{len(self.names)}")

    def value(self, value: Any) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def write(self, condition: Condition) -> str:
        match condition:
            case Absent(name):
                return f"attribute_not_exists({self.name(name)})"
            case Compare(name, operator, value):
                return f"{self.name(name)} {operator} {self.value(value)}"
            case Every((part,)) | Either((part,)):
                return self.write(part)  # DynamoDB refuses redundant parentheses
            case Every(parts):
                return "(" + " AND ".join(self.write(part) for part in parts) + ")"
            case Either(parts):
                return "(" + " OR ".join(self.write(part) for part in parts) + ")"
