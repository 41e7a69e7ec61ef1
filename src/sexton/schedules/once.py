"""One instant: ISO-8601 with an offset, a local date and time in the schedule's zone, or `in 10m`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from sexton.clock import iso
from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.wall import Budget, Rule, from_wall, to_wall
from sexton.schedules.zone import EPOCH, Zone


class Listed(Rule):
    """Wall seconds given one by one."""

    def __init__(self, walls: Collection[int]) -> None:
        self.walls = tuple(sorted(set(walls)))
        self.first = self.walls[0]

    def next(self, wall: int, budget: Budget) -> int | None:
        place = bisect_right(self.walls, wall)
        return self.walls[place] if place < len(self.walls) else None

    def canonical(self) -> tuple[object, ...]:
        return ("listed", self.walls)

    def words(self) -> str:
        return words.once([from_wall(wall) for wall in self.walls])


class Delay(Listed):
    """One instant, this many seconds after an anchor that is not known yet."""

    def __init__(self, seconds: int) -> None:
        super().__init__((seconds,))

    def canonical(self) -> tuple[object, ...]:
        return ("delay", self.first)

    def words(self) -> str:
        return words.delay(self.first)


def is_once(text: str) -> bool:
    return is_delay(text) or bool(re.match(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T ]|$)", text, re.IGNORECASE))


def is_delay(text: str) -> bool:
    return bool(re.match(r"in\s", text, re.IGNORECASE))


def read_time(text: str, field: str = "schedule") -> datetime:
    """An ISO-8601 date and time; naive if it has no offset."""
    position = None if field != "schedule" else 0
    if re.fullmatch(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}", text):
        what = f"{text} is a date without a time"
        raise ScheduleError("bad_time", what, position=position, field=field, hint=f"write {text}T09:00")
    try:
        if not re.match(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[T ]", text, re.IGNORECASE) or not text.isascii():
            raise ValueError("not a date and a time")
        return datetime.fromisoformat(text)
    except ValueError as error:
        why = "" if "isoformat" in str(error) else f": {error}"
        hint = "write for example 2026-12-24T18:00:00Z, or 2026-12-24T18:00 with a timezone"
        if named := re.fullmatch(r"(.+(?:Z|[+-][0-9:]+))\[[\w/+-]+\]", text):
            hint = f"write {named[1]}"
        what = f"{text!r} is not an ISO-8601 time{why}"
        raise ScheduleError("bad_time", what, position=position, field=field, hint=hint) from None


def refuse_unclear(naive: datetime, zone: Zone) -> None:
    """Refuse a local time that the clock shows twice or never, with the instants it could mean."""
    wall = to_wall(naive)
    instants = zone.instants_of(wall)
    if len(instants) == 1:
        return
    place = words.place(zone.name).removesuffix(" time")
    when = f"{naive:%H:%M} on {naive:%Y-%m-%d}"
    if instants:
        first, second = (_utc(at, naive) for at in instants)
        instant = EPOCH + timedelta(seconds=instants[0])
        raise ScheduleError(
            "ambiguous_time",
            f"{when} happens twice in {place}: {first} or {second}, choose fold=first or second",
            position=0,
            hint=f"pass fold=first or second, or write the instant, such as {iso(instant, 'seconds')}",
        )
    after = zone.first_instant(wall)
    before = zone.period(after - 1).offset
    first, second = _utc(after, naive), _utc(wall - before, naive)
    raise ScheduleError(
        "nonexistent_time",
        f"{when} does not exist in {place}: the clock jumps over it; "
        f"choose gap=after ({first}) or gap=shift ({second})",
        position=0,
        hint="pass gap=after or gap=shift, or another time",
    )


def _utc(at: int, near: datetime) -> str:
    """An instant; its date is left out if it is the date of `near`."""
    instant = EPOCH + timedelta(seconds=at)
    time = f"{instant.astimezone(UTC):%H:%M:%S}".removesuffix(":00")
    return f"{time}Z" if instant.date() == near.date() else f"{instant:%Y-%m-%d}T{time}Z"
