"""Summer time, as arithmetic: what the documentation promises of a schedule at 02:30 or 01:30."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from .wall_clock import moment_of, next_moment, zone_of


def moments(zone: str, clock: str, day: str, days: int = 3) -> list[str]:
    """When a daily schedule sends, from one day on: what `cron(MM HH * * ? *)` says."""
    hour, minute = map(int, clock.split(":"))

    def next_wall(wall: datetime) -> datetime:
        today = wall.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return today if today > wall else today + timedelta(days=1)

    midnight = datetime.fromisoformat(f"{day}T00:00:00").replace(tzinfo=zone_of(zone))
    found, moment, end = [], midnight.astimezone(UTC), midnight + timedelta(days=days)
    while (following := next_moment(moment, zone_of(zone), next_wall)) is not None and following < end:
        found.append(following.strftime("%m-%d %H:%M"))
        moment = following
    return found


@pytest.mark.parametrize(
    ("zone", "clock", "day", "sent"),
    [
        # There is no 02:30 on the day on which summer time begins: that day's occurrence is missing.
        ("America/New_York", "02:30", "2027-03-13", ["03-13 07:30", "03-15 06:30"]),
        ("Europe/Berlin", "02:30", "2027-03-27", ["03-27 01:30", "03-29 00:30"]),
        # There is 01:30 twice on the day on which it ends: once.
        ("America/New_York", "01:30", "2026-10-31", ["10-31 05:30", "11-01 05:30", "11-02 06:30"]),
        ("Europe/Berlin", "02:30", "2026-10-24", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        # Outside the gap every day has its occurrence, at the wall clock's time, and UTC knows no summer time.
        ("America/New_York", "03:30", "2027-03-13", ["03-13 08:30", "03-14 07:30", "03-15 07:30"]),
        ("UTC", "02:30", "2027-03-27", ["03-27 02:30", "03-28 02:30", "03-29 02:30"]),
    ],
)
def test_a_daily_schedule_over_a_change_of_the_clocks(zone: str, clock: str, day: str, sent: list[str]) -> None:
    assert moments(zone, clock, day) == sent


@pytest.mark.parametrize(
    ("start", "hours"),
    [
        (datetime(2027, 3, 27, 22, tzinfo=UTC), [1, 1, 1, 1, 1, 1]),
        (datetime(2026, 10, 24, 22, tzinfo=UTC), [1, 1, 2, 1, 1, 1]),  # the hour that comes twice
    ],
    ids=["spring", "autumn"],
)
def test_an_hourly_schedule_in_a_local_time_zone_leaves_an_hour_out_in_autumn(
    start: datetime, hours: list[int]
) -> None:
    def next_wall(wall: datetime) -> datetime:
        return wall.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)

    moment, steps = start, []
    for _ in hours:
        following = next_moment(moment, zone_of("Europe/Berlin"), next_wall)
        assert following is not None
        steps.append((following - moment) // timedelta(hours=1))
        moment = following
    assert steps == hours


def test_a_one_time_schedule_in_the_gap_has_no_moment() -> None:
    assert moment_of(datetime(2027, 3, 28, 2, 30), zone_of("Europe/Berlin")) is None
    assert moment_of(datetime(2027, 1, 5, 8), zone_of("Europe/Berlin")) == datetime(2027, 1, 5, 7, tzinfo=UTC)
    assert next_moment(datetime(2027, 1, 1, tzinfo=UTC), UTC, lambda wall: None) is None
