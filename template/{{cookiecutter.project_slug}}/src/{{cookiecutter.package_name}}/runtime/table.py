"""The little that the ledger needs of a database: one item by key, changed under a condition, alone or several at once.

``MemoryTable`` keeps items in a dictionary, for tests; ``dynamodb.DynamoTable`` is the real one.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .conditions import Condition

KEY = "pk"


class ConditionFailedError(Exception):
    """The item did not satisfy the condition. ``item`` is what stood there, empty if nothing did."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        super().__init__("the condition does not hold")
        self.item = item


@dataclass(frozen=True, slots=True)
class Update:
    """One change of one item.

    Attributes:
        key: value of the key attribute.
        condition: must hold, or nothing is changed; None always holds.
        sets: attributes to set.
        defaults: attributes to set only if they are absent.
        adds: numbers to add; an absent attribute counts as 0.
        removes: attributes to remove.
    """

    key: str
    condition: Condition | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)
    removes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for values in (self.sets, self.defaults):
            for name, value in values.items():
                for part in value if isinstance(value, list | tuple) else (value,):
                    if not isinstance(part, str | int):
                        raise TypeError(
                            f"{name}: the ledger keeps texts, whole numbers, booleans and lists of them, "
                            f"not {type(part).__name__}"
                        )


class Table(Protocol):
    def update(self, update: Update) -> dict[str, Any]:
        """Apply one change and return the item as it is then.

        Raises:
            ConditionFailedError: with the item as it stood.
        """
        ...

    def get(self, key: str) -> dict[str, Any] | None:
        """The item, read consistently, or None."""
        ...

    def transact(self, update: Update, others: Sequence[Mapping[str, Any]], token: str) -> None:
        """Apply the change and the caller's own writes together, or none of them.

        Args:
            update: the change of this table.
            others: entries of DynamoDB's ``TransactItems`` for other tables.
            token: makes a repeated call harmless (DynamoDB's ClientRequestToken, valid for ten minutes).

        Raises:
            ConditionFailedError: the change's own condition did not hold.
            Exception: a condition of the caller's writes did not hold, or the service failed.
        """
        ...


class MemoryTable:
    """A table in memory, with the same rules."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.items: dict[str, dict[str, Any]] = {}
        self.others: list[Mapping[str, Any]] = []

    def update(self, update: Update) -> dict[str, Any]:
        with self._lock:
            item = self.items.get(update.key, {})
            if update.condition is not None and not update.condition.holds(item):
                raise ConditionFailedError(dict(item))
            changed = {KEY: update.key, **item, **update.sets}
            for name, value in update.defaults.items():
                changed.setdefault(name, value)
            for name, number in update.adds.items():
                changed[name] = item.get(name, 0) + number
            for name in update.removes:
                changed.pop(name, None)
            self.items[update.key] = changed
            return dict(changed)

    def get(self, key: str) -> dict[str, Any] | None:
        item = self.items.get(key)
        return None if item is None else dict(item)

    def transact(self, update: Update, others: Sequence[Mapping[str, Any]], token: str) -> None:  # noqa: ARG002
        self.update(update)
        self.others.extend(others)
