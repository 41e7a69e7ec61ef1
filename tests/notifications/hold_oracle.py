"""When a message may go, found by walking from minute to minute, with nothing of the product in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
MOST_DAYS = 30
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Hours:
    """A part of the day, over midnight if it ends before it begins; `days` are those on which it begins."""

    start: time
    end: time
    days: tuple[str, ...] = DAYS

    def hold(self, wall: datetime) -> bool:
        today, before = DAYS[wall.weekday()], DAYS[wall.weekday() - 1]
        if self.start < self.end:
            return today in self.days and self.start <= wall.time() < self.end
        return (today in self.days and wall.time() >= self.start) or (
            before in self.days and wall.time() < self.end
        )


@dataclass(frozen=True)
class Cap:
    """At most `n` in a day or week of hers; `had` by its first day."""

    n: int
    per: str
    had: Mapping[date, int]

    def full(self, wall: datetime) -> bool:
        day = wall.date()
        first = day - timedelta(days=day.weekday()) if self.per == "week" else day
        return self.had.get(first, 0) >= self.n


def first_allowed(
    now: datetime,
    zone: str,
    *,
    quiet: Sequence[Hours] = (),
    window: Hours | None = None,
    caps: Sequence[Cap] = (),
    paused: Callable[[datetime], bool] = lambda at: False,
) -> datetime:
    """The first minute from `now` on in which nothing holds a message. `now` is a whole minute."""
    at, end = now, now + timedelta(days=MOST_DAYS)
    while at < end:
        wall = at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        held = (
            any(hours.hold(wall) for hours in quiet)
            or (window is not None and not window.hold(wall))
            or any(cap.full(wall) for cap in caps)
            or paused(at)
        )
        if not held:
            return at
        at += MINUTE
    raise AssertionError("nothing was allowed for a month")
