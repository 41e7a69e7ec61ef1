"""The options of `parse`: each is read from what the caller gave, or refused by its name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from sexton.errors import ScheduleError
from sexton.schedules.calendar import Calendar
from sexton.schedules.once import read_time
from sexton.schedules.wall import from_wall, to_wall
from sexton.schedules.zone import EPOCH, Zone

Time = datetime | str | None
Excluded = date | str | tuple[object, object] | Calendar
Choice = TypeVar("Choice", bound=StrEnum)


def choose(choices: type[Choice], value: str | None, field: str) -> Choice | None:
    return None if value is None else choices(choose_one(value, tuple(choices), field))


def choose_one(value: str, choices: tuple[str, ...], field: str) -> str:
    if value not in choices:
        known = ", ".join(choices)
        raise ScheduleError(
            "bad_option", f"{field} {value!r} is unknown", field=field, hint=f"use one of {known}"
        )
    return value


def instant(value: Time, in_zone: Zone, field: str, zone_given: bool) -> datetime | None:
    """A time; a naive one is wall time in the zone, and the first one if the clock shows it twice."""
    if value is None:
        return None
    moment = read_time(value, field) if isinstance(value, str) else value
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    if not zone_given:
        raise naive(moment.isoformat(), field)
    at = in_zone.first_instant(to_wall(moment))
    return EPOCH + timedelta(seconds=at, microseconds=moment.microsecond)


def anchor(value: Time, in_zone: Zone, zone_given: bool, *, keep_wall: bool) -> datetime | None:
    """With `keep_wall` a naive anchor stays wall time, as a DTSTART would, also in a gap."""
    if keep_wall and zone_given and value is not None:
        moment = read_time(value, "anchor") if isinstance(value, str) else value
        if getattr(moment, "tzinfo", UTC) is None:
            return moment
    return instant(value, in_zone, "anchor", zone_given)


def wall_of(anchor: datetime, in_zone: Zone) -> int:
    if anchor.tzinfo is None:
        return to_wall(anchor)
    at = (anchor - EPOCH) // timedelta(seconds=1)
    return at + in_zone.period(at).offset


def check_start(anchor: datetime | None, wall: int, in_zone: Zone) -> None:
    """Refuse an anchor if the text names another start: Sexton would use only one of the two."""
    if anchor is None or wall_of(anchor, in_zone) == wall:
        return
    if anchor.tzinfo is None or (anchor - EPOCH) // timedelta(seconds=1) != in_zone.first_instant(wall):
        raise ScheduleError(
            "bad_option",
            f"anchor is not the start that the text itself names, {from_wall(wall).isoformat()}",
            field="anchor",
            hint="leave anchor out, or take the start out of the text",
        )


def naive(value: str, field: str) -> ScheduleError:
    hint = "add Z or an offset, or give a timezone"
    return ScheduleError("naive_time", f"{value} has no time zone", field=field, hint=hint)


def calendars(exclude: Iterable[Excluded] | Excluded) -> tuple[Calendar, ...]:
    """Calendars as they are; single dates and ranges go together into one without a name."""
    single = isinstance(exclude, date | str | Calendar)
    items: list[object] = [exclude] if single else list(exclude)  # type: ignore[arg-type]
    named, dates, ranges = [], [], []
    for item in items:
        if isinstance(item, Calendar):
            named.append(item)
        elif isinstance(item, tuple | list):
            ranges.append(tuple(item))
        elif isinstance(item, str) and ("/" in item or ".." in item):
            ranges.append(tuple(item.replace("..", "/").split("/", 1)))
        else:
            dates.append(item)
    if dates or ranges:
        named.append(Calendar("", tuple(dates), tuple(ranges)))  # type: ignore[arg-type]
    return tuple(named)
