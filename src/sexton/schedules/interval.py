"""Intervals: elapsed time from an anchor, whatever the clocks do: `every 15m`, `@every 1h30m`, `PT15M`."""

from __future__ import annotations

import re

from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.wall import LAST_WALL, Budget, Rule

UNITS = {
    "w": 604_800, "week": 604_800, "weeks": 604_800,
    "d": 86_400, "day": 86_400, "days": 86_400,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
}  # fmt: skip

LONGEST = 100 * 366 * 86_400
TIME_OF_DAY = "for a time of day write a cron line, such as 0 9 * * *"

ISO_DURATION = re.compile(
    r"P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9.,]+)S)?)?",
    re.IGNORECASE,
)


class Interval(Rule):
    """Every so many seconds from the anchor on. Its wall time is UTC, so no clock change touches it."""

    def __init__(self, seconds: int, anchor: int) -> None:
        self.seconds = seconds
        self.first = anchor

    def next(self, wall: int, budget: Budget) -> int | None:
        if wall < self.first:
            return self.first
        following = wall + self.seconds - (wall - self.first) % self.seconds
        return following if following < LAST_WALL else None

    def count(self, after: int, last: int) -> int:
        up_to_last = (last - self.first) // self.seconds + 1
        up_to_after = (after - self.first) // self.seconds + 1
        return max(0, up_to_last) - max(0, up_to_after)

    def canonical(self) -> tuple[object, ...]:
        # Anchors a whole number of intervals apart give the same times, but each only from its own start on.
        return ("interval", self.seconds, self.first)

    def words(self) -> str:
        return words.interval(self.seconds)


def is_interval(text: str) -> bool:
    return bool(re.match(r"@?every\s|P[0-9T]", text, re.IGNORECASE))


def read_seconds(text: str) -> int:
    """The length of an interval in seconds."""
    match = re.match(r"@?every\s+", text, re.IGNORECASE)
    if match:
        seconds = _read_units(text, match.end(), "every")
    elif text[:1] in ("P", "p"):
        seconds = _read_iso(text)
    else:
        raise _refuse(f"{text!r} is not an interval", 0, "write every 15m or PT15M")
    return _bounded(seconds, "every")


def read_delay(text: str) -> int:
    """How many seconds `in 10m` says."""
    return _bounded(_read_units(text, len("in "), "in"), "in")


def _bounded(seconds: int, word: str) -> int:
    if seconds < 1:
        raise _refuse("an interval is at least one second", 0, f"write {word} 1s or more")
    if seconds > LONGEST:
        raise _refuse("an interval is at most 100 years", 0, "use a shorter one")
    return seconds


def _read_units(text: str, position: int, word: str) -> int:
    seconds, added = 0, 0
    if text[position : position + 1].isalpha():  # every hour
        text, added = f"{text[:position]}1{text[position:]}", 1
    end = position
    for match in re.finditer(r"\s*([0-9.,]+)\s*([a-zA-Z]*)", text[position:]):
        if match.start() + position != end:
            break
        end = position + match.end()
        number, unit = match[1], match[2].lower()
        if not number.isdigit():
            hint = f"use smaller units, such as {word} 1h30m"
            raise _refuse(f"{number} is not a whole number", position + match.start(1), hint)
        place = position + match.start(2) - added
        if match[2] == "M" and not text.isupper():
            hint = f"write {word} {number}m for minutes, FREQ=MONTHLY for months"
            raise _refuse("M may be minutes or months", place, hint)
        if unit not in UNITS:
            other = word == "every" and _other_way(unit, text[position + match.start(1) :])
            what = f"unknown unit {match[2]!r}" if unit else f"{number} has no unit"
            raise _refuse(what, place, other or f"use s, m, h, d or w, such as {word} 15m")
        seconds += int(number[:15]) * UNITS[unit]
    if end == position or text[end:].strip():
        at = re.match(r"\s*at\b", text[end:], re.IGNORECASE)
        raise _refuse(
            f"{text[end:].strip()!r} is not understood",
            end - added,
            TIME_OF_DAY if at else f"write for example {word} 1h30m",
        )
    return seconds


def _other_way(unit: str, rest: str) -> str | None:
    """What to write for something that is no length of time."""
    if re.match("[0-9]{1,2}:[0-9]{2}", rest):
        return TIME_OF_DAY
    if unit == "other":
        last = rest.split()[-1].lower()
        return f"write every 2{last[0] if last in UNITS else 'd'}"
    for day in words.DAY_NAMES:
        if len(unit) > 2 and f"{day.lower()}s".startswith(unit):
            return f"for a weekday write a cron line, such as 0 9 * * {day[:3].upper()}"
    if unit in ("weekday", "weekdays", "workday", "workdays"):
        return "for weekdays write a cron line, such as 0 9 * * 1-5"
    for name, frequency in (("month", "MONTHLY"), ("year", "YEARLY")):
        if len(unit) > 1 and f"{name}s".startswith(unit):
            return f"for {name}s write a rule, such as FREQ={frequency}"
    return None


def _read_iso(text: str) -> int:
    match = ISO_DURATION.fullmatch(text)
    if not match or not any(match.groups()):
        raise _refuse(f"{text!r} is not an ISO-8601 duration", 0, "write for example PT15M")
    years, months, weeks, days, hours, minutes, seconds = match.groups()
    if years or months:
        place = match.start(1 if years else 2)
        raise _refuse("months and years have no fixed length", place, "write a rule, such as FREQ=MONTHLY")
    if seconds and not seconds.isdigit():
        raise _refuse(f"{seconds} is not a whole number", match.start(7), "use whole seconds")
    numbers = [int((group or "0")[:15]) for group in (weeks, days, hours, minutes, seconds)]
    return sum(number * size for number, size in zip(numbers, (604_800, 86_400, 3600, 60, 1), strict=True))


def _refuse(what: str, position: int, hint: str) -> ScheduleError:
    return ScheduleError("bad_interval", what, position=position, hint=hint)
