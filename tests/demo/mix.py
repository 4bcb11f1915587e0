"""The jobs of the demo: about two hundred over four workloads, of which some fail once, some for ever, and some are
no jobs at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CALENDAR, WEBHOOKS, CALLS, ROLLOUTS = "calendar", "webhooks", "calls", "rollouts"

# Each is unique, so that its way can be followed to the dead letters by its text.
MALFORMED = {
    CALENDAR: ("hello from the console", '{"job": "calendar.appointment.propagate", "payload": ', "[1, 2, 3]"),
    WEBHOOKS: ("null", '{"id": "no-name", "payload": {}}', "\ufeff{}"),
    CALLS: ('{"id": "x-1", "job": "calls.plan.prepare", "payload": {"call_id": 7}}',),
}


@dataclass(frozen=True)
class Order:
    """Jobs of one class to publish in one call."""

    workload: str
    job: str
    payloads: list[Mapping[str, Any]]

    @property
    def request(self) -> dict[str, Any]:
        return {"job": self.job, "payloads": self.payloads}


def orders(servers: str) -> list[Order]:
    """Everything to publish, in waves."""
    return [
        *(Order(CALENDAR, "calendar.appointment.propagate", wave) for wave in _halves(_appointments(servers))),
        *(Order(WEBHOOKS, "webhooks.deliver", wave) for wave in _halves(_webhooks(servers))),
        *(Order(CALLS, "calls.plan.prepare", wave) for wave in _halves(_calls())),
        *(Order(ROLLOUTS, "rollouts.step.apply", wave) for wave in _halves(_steps(servers))),
    ]


def _halves(payloads: list[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    middle = len(payloads) // 2
    return [payloads[:middle], payloads[middle:]]


def _appointments(servers: str) -> list[Mapping[str, Any]]:
    """80: seven calendars are busy at first, two people have left, and one job takes its process with it in mid-
    batch.
    """
    people = [f"person-{number}" for number in range(80)]
    for number in range(3, 80, 11):
        people[number] = f"busy-{number}"
    people[20], people[50] = "gone-20", "gone-50"
    return [
        {
            "appointment_id": f"a-{number}",
            "title": "Weekly review",
            "starts_at": "2030-01-07T09:00:00+01:00",
            "calendar": f"{servers}/calendars/{person}",
            "chaos": number == 26,
        }
        for number, person in enumerate(people)
    ]


def _webhooks(servers: str) -> list[Mapping[str, Any]]:
    """50: every fifth endpoint answers 503 at first, two are gone, one is down for good."""
    names = [f"flaky-{number}" if number % 5 == 2 else f"customer-{number}" for number in range(50)]
    names[9], names[31], names[44] = "closed-9", "closed-31", "down-44"
    return [
        {"url": f"{servers}/hooks/{name}", "event": "order.shipped", "data": {"order": f"o-{number}"}}
        for number, name in enumerate(names)
    ]


def _calls() -> list[Mapping[str, Any]]:
    """30: one customer has not consented, and the process that prepares another one's plan is killed."""
    return [
        {
            "call_id": f"c-{number}",
            "customer": f"customer-{number}",
            "open_tickets": number % 5,
            "months_since_purchase": number,
            "consent": number != 12,
            "chaos": number == 5,
        }
        for number in range(30)
    ]


def _steps(servers: str) -> list[Mapping[str, Any]]:
    """40: four steps for each of ten accounts, of which one is locked at first and one refuses a step for ever."""
    accounts = ["locked-1", "old-2", *(f"account-{number}" for number in range(3, 11))]
    return [
        {"account": account, "api": f"{servers}/accounts/{account}", "change": "currency-2030", "number": number}
        for number in range(1, 5)
        for account in accounts
    ]
