"""Write modules/schedule/time-zones.json: every time zone of the IANA database, with the hours of the day that its
clocks skip once a year.

    python -m tests.terraform.time_zones

Terraform knows no time zones, and the AWS provider accepts any text of 1 to 50 characters.
"""

from __future__ import annotations

import json
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tests.local_aws.paths import MODULES

FILE = MODULES / "schedule" / "time-zones.json"
NO_ZONES = {"Factory", "localtime"}  # placeholders of the database and of this machine
YEARS = range(2026, 2037)
SECOND = timedelta(seconds=1)


def names() -> list[str]:
    return sorted(zoneinfo.available_timezones() - NO_ZONES)


def skipped_hours(name: str) -> list[int]:
    """Hours of the day in which at some day of these years a part does not exist."""
    zone, found = zoneinfo.ZoneInfo(name), set()
    for moment, before, after in _changes(zone):
        wall, end = moment + before, moment + after  # the clocks jump from here to there
        while wall < end:
            found.add(wall.hour)
            wall = wall.replace(minute=0, second=0) + timedelta(hours=1)
    return sorted(found)


def _changes(zone: zoneinfo.ZoneInfo) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    def offset(moment: datetime) -> timedelta:
        return moment.astimezone(zone).utcoffset() or timedelta(0)

    day, last = datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[-1], 12, 31, tzinfo=UTC)
    while day < last:
        start, end = day, day + timedelta(days=1)
        before, after = offset(start), offset(end)
        if before != after:
            while end - start > SECOND:
                middle = start + (end - start) // 2
                start, end = (middle, end) if offset(middle) == before else (start, middle)
            yield end.replace(microsecond=0), before, after
        day += timedelta(days=1)


def text() -> str:
    lines = [f"  {json.dumps(name)}: {json.dumps(skipped_hours(name))}" for name in names()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
