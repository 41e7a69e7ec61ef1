"""Reading a rule of RFC 5545: the value of an RRULE. What RFC 7529 added is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from enum import IntEnum

from sexton.errors import ScheduleError

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Frequency(IntEnum):
    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3
    HOURLY = 4
    MINUTELY = 5
    SECONDLY = 6


@dataclass(frozen=True, slots=True)
class Until:
    """An inclusive end: an instant (`utc`) or wall time, as it was written."""

    at: datetime
    utc: bool


@dataclass(frozen=True, slots=True)
class Parts:
    """An RRULE as it was written; what it leaves out is empty."""

    freq: Frequency
    interval: int = 1
    count: int | None = None
    until: Until | None = None
    second: tuple[int, ...] = ()
    minute: tuple[int, ...] = ()
    hour: tuple[int, ...] = ()
    weekday: tuple[tuple[int, int], ...] = ()  # (nth or 0, weekday from Monday)
    monthday: tuple[int, ...] = ()
    yearday: tuple[int, ...] = ()
    weekno: tuple[int, ...] = ()
    month: tuple[int, ...] = ()
    setpos: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def needs_anchor(self) -> bool:
        """Whether anything is taken from DTSTART."""
        freq = self.freq
        return bool(
            self.interval > 1
            or self.count
            or not (self.second or freq >= Frequency.SECONDLY)
            or not (self.minute or freq >= Frequency.MINUTELY)
            or not (self.hour or freq >= Frequency.HOURLY)
            or self.with_days_of(date(1970, 1, 1)) != self
        )

    def with_days_of(self, anchor: date) -> Parts:
        """The rule with its missing days filled in from the anchor."""
        month, monthday, weekday = self.month, self.monthday, self.weekday
        if self.freq is Frequency.YEARLY:
            if self.weekno:
                if not (weekday or monthday or self.yearday):
                    weekday = ((0, anchor.weekday()),)
            elif not self.yearday and (monthday or not weekday):
                month = month or (anchor.month,)
                monthday = monthday or (anchor.day,)
        elif self.freq is Frequency.MONTHLY and not (monthday or weekday):
            monthday = (anchor.day,)
        elif self.freq is Frequency.WEEKLY and not weekday:
            weekday = ((0, anchor.weekday()),)
        return replace(self, month=month, monthday=monthday, weekday=weekday)


_NUMBER_PARTS = {
    "BYSECOND": ("second", 0, 60, False),
    "BYMINUTE": ("minute", 0, 59, False),
    "BYHOUR": ("hour", 0, 23, False),
    "BYMONTHDAY": ("monthday", 1, 31, True),
    "BYYEARDAY": ("yearday", 1, 366, True),
    "BYWEEKNO": ("weekno", 1, 53, True),
    "BYMONTH": ("month", 1, 12, False),
    "BYSETPOS": ("setpos", 1, 366, True),
}


def read_parts(text: str, position: int = 0) -> Parts:
    """The value of an RRULE; `position` is where it stands in the schedule's text."""
    found: dict[str, object] = {}
    seen: dict[str, int] = {}
    for piece in text.split(";"):
        name, equals, value = piece.partition("=")
        name = name.strip().upper()
        value = value.strip().upper()
        at = position + piece.find("=") + 1
        if not piece.strip():
            raise refuse("an empty part", position, "remove the extra ;")
        if not equals or not value:
            raise refuse(
                f"{name or piece!r} has no value", position, "write a name, = and a value, such as INTERVAL=2"
            )
        if name in seen:
            raise refuse(f"{name} is given twice", position, "give every part once")
        seen[name] = position
        match name:
            case "FREQ":
                if value not in Frequency.__members__:
                    known = ", ".join(Frequency.__members__)
                    raise refuse(f"unknown FREQ {value!r}", at, f"use one of {known}")
                found["freq"] = Frequency[value]
            case "INTERVAL" | "COUNT":
                found[name.lower()] = _positive(name, value, at)
            case "UNTIL":
                found["until"] = _read_until(value, at)
            case "WKST":
                if value not in WEEKDAYS:
                    raise refuse(f"unknown weekday {value!r}", at, f"use one of {', '.join(WEEKDAYS)}")
                found["week_start"] = WEEKDAYS.index(value)
            case "BYDAY":
                found["weekday"] = _read_weekdays(value, at)
            case "DTSTART" | "RDATE" | "EXDATE" | "TZID":
                hint = "write lines, such as DTSTART:20261231T235959Z RRULE:FREQ=DAILY"
                raise refuse(f"{name} is no part of a rule", position, hint)
            case "RSCALE" | "SKIP":
                raise refuse(f"{name} (RFC 7529) is not supported", position, "leave it out")
            case _:
                if name not in _NUMBER_PARTS:
                    names = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_NUMBER_PARTS)
                    near = get_close_matches(name, names, 1)
                    hint = f"did you mean {near[0]}={value}?" if near else f"use {', '.join(names)}"
                    raise refuse(f"unknown part {name!r}", position, hint)
                field, low, high, negative = _NUMBER_PARTS[name]
                numbers = _read_numbers(name, value, at, low, high, negative)
                if name == "BYSECOND":  # a leap second is read as the second before it, as RFC 5545 advises
                    numbers = tuple(sorted({min(number, 59) for number in numbers}))
                found[field] = numbers
        position += len(piece) + 1
    if "freq" not in found:
        raise refuse("FREQ is missing", seen.get("INTERVAL", 0), "write for example FREQ=DAILY")
    parts = Parts(**found)  # type: ignore[arg-type]
    _check(parts, seen)
    return parts


def _check(parts: Parts, seen: dict[str, int]) -> None:
    """Combinations that RFC 5545 forbids."""
    freq = parts.freq

    def forbid(condition: bool, name: str, why: str) -> None:
        if condition:
            raise refuse(why, seen[name], "RFC 5545 3.3.10 says which parts go together")

    both_ends = parts.count is not None and parts.until is not None
    forbid(both_ends, "COUNT", "COUNT and UNTIL exclude each other: use one of them")
    weeks = bool(parts.weekno) and freq is not Frequency.YEARLY
    forbid(weeks, "BYWEEKNO", f"BYWEEKNO needs FREQ=YEARLY, not {freq.name}")
    shorter = freq in (Frequency.DAILY, Frequency.WEEKLY, Frequency.MONTHLY)
    forbid(bool(parts.yearday) and shorter, "BYYEARDAY", f"BYYEARDAY does not go with FREQ={freq.name}")
    in_week = bool(parts.monthday) and freq is Frequency.WEEKLY
    forbid(in_week, "BYMONTHDAY", "BYMONTHDAY does not go with FREQ=WEEKLY")
    numbered = any(nth for nth, _ in parts.weekday)
    elsewhere = numbered and freq not in (Frequency.MONTHLY, Frequency.YEARLY)
    forbid(elsewhere, "BYDAY", f"a numbered BYDAY needs FREQ=MONTHLY or YEARLY, not {freq.name}")
    forbid(numbered and bool(parts.weekno), "BYDAY", "a numbered BYDAY does not go with BYWEEKNO")
    times, days = (parts.second, parts.minute, parts.hour), (parts.weekday, parts.monthday, parts.yearday)
    chosen = any((*times, *days, parts.weekno, parts.month))
    forbid(bool(parts.setpos) and not chosen, "BYSETPOS", "BYSETPOS needs another BY part to choose from")


def _positive(name: str, value: str, position: int) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", value) or int(value) == 0:
        raise refuse(f"{name} {value!r} is not a number from 1 on", position, f"write for example {name}=2")
    return int(value)


def _read_numbers(
    name: str, value: str, position: int, low: int, high: int, negative: bool
) -> tuple[int, ...]:
    numbers = set()
    for item in value.split(","):
        if not re.fullmatch(r"[+-]?[0-9]{1,4}" if negative else r"[0-9]{1,4}", item) or not (
            low <= abs(int(item)) <= high
        ):
            also = f" or -{high} to -{low}" if negative else ""
            raise ScheduleError(
                "out_of_range", f"{name} has {item!r}", position=position, hint=f"use {low} to {high}{also}"
            )
        numbers.add(int(item))
        position += len(item) + 1
    return tuple(sorted(numbers))


def _read_weekdays(value: str, position: int) -> tuple[tuple[int, int], ...]:
    days = set()
    for item in value.split(","):
        match = re.fullmatch(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", item)
        if not match:
            raise refuse(f"unknown weekday {item!r}", position, f"use {', '.join(WEEKDAYS)}, or 1MO, -1FR")
        nth = int(match[1]) if match[1] else 0
        if match[1] and not 1 <= abs(nth) <= 53:
            raise ScheduleError(
                "out_of_range", f"BYDAY has {item!r}", position=position, hint="use 1 to 53 or -53 to -1"
            )
        days.add((nth, WEEKDAYS.index(match[2])))
        position += len(item) + 1
    return tuple(sorted(days))


def _read_until(value: str, position: int) -> Until:
    at, utc, whole_day = read_stamp(value, position, "UNTIL")
    return Until(at.replace(hour=23, minute=59, second=59) if whole_day else at, utc)


def read_stamp(value: str, position: int, name: str) -> tuple[datetime, bool, bool]:
    """An RFC 5545 DATE or DATE-TIME as (naive time, is UTC, is a date)."""
    match = re.fullmatch(r"([0-9]{8})(?:T([0-9]{6})(Z?))?", value)
    try:
        if not match:
            raise ValueError
        if match[2] is None:
            return datetime.strptime(match[1], "%Y%m%d"), False, True
        time = match[2][:4] + ("59" if match[2][4:] == "60" else match[2][4:])
        return datetime.strptime(match[1] + time, "%Y%m%d%H%M%S"), match[3] == "Z", False
    except ValueError:
        raise ScheduleError(
            "bad_date",
            f"{name} {value!r} is not a date or time",
            position=position,
            hint="write 20261231, 20261231T235959 or 20261231T235959Z",
        ) from None


def refuse(what: str, position: int, hint: str) -> ScheduleError:
    return ScheduleError("bad_recurrence", what, position=position, hint=hint)
