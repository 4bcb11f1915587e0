"""When a time of the day happens, by EventBridge Scheduler's rule for summer time (user guide, "Schedule types"): a
time that the clocks skip is skipped, one that they show twice happens once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

NextWall = Callable[[datetime], datetime | None]
"""The next time that a wall clock shows after a given one; both without a zone."""


def zone_of(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)  # which a machine without a zone database has, too


def moment_of(wall: datetime, zone: tzinfo) -> datetime | None:
    """The moment at which the clocks show a time, the first one if they show it twice; None if they never do."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    return moment if moment.astimezone(zone).replace(tzinfo=None, fold=0) == wall else None


def next_moment(after: datetime, zone: tzinfo, next_wall: NextWall) -> datetime | None:
    """The first moment after another one at which a schedule's clock shows one of its times."""
    wall = next_wall(after.astimezone(zone).replace(tzinfo=None, fold=0))
    while wall is not None:
        moment = moment_of(wall, zone)
        if moment is not None and moment > after:
            return moment
        wall = next_wall(wall)  # skipped by the clocks, or shown for the second time
    return None
