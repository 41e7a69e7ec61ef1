"""When jobs should have fired, worked out by brute force: every second of the window is looked at. It shares
nothing with `sexton.schedules`, and knows only the few rules that the fault tests use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Every:
    """`every Ns`: the anchor, on a whole second, and every multiple after it."""

    seconds: int
    anchor: datetime

    def matches(self, moment: datetime) -> bool:
        past = moment - self.anchor
        return past >= timedelta(0) and past % timedelta(seconds=self.seconds) == timedelta(0)


@dataclass(frozen=True, slots=True)
class Cron:
    """Six fields, of which the last three are `*`: second, minute and hour as `*`, `*/N`, `A-B` or `A,B`."""

    text: str
    zone: str = "UTC"

    def matches(self, moment: datetime) -> bool:
        local = moment.astimezone(ZoneInfo(self.zone))
        second, minute, hour, *days = self.text.split()
        assert days == ["*", "*", "*"]
        clock = ((second, local.second), (minute, local.minute), (hour, local.hour))
        return all(_holds(field, value) for field, value in clock)


Rule = Every | Cron


def occurrences(rule: Rule, since: datetime, until: datetime) -> Iterator[datetime]:
    """Those after `since`, up to and including `until`."""
    moment = since.astimezone(UTC).replace(microsecond=0) + SECOND
    while moment <= until:
        if rule.matches(moment):
            yield moment
        moment += SECOND


def _holds(field: str, value: int) -> bool:
    for part in field.split(","):
        if part == "*" or (part.startswith("*/") and value % int(part[2:]) == 0):
            return True
        first, _, last = part.partition("-")
        if first.isdigit() and int(first) <= value <= int(last or first):
            return True
    return False
