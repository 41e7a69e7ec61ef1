"""Cron: five fields, or six with the seconds first.

Dialects of cron differ in many places. Sexton reads:

- Day of month and day of week as in Debian's cron: a day matches either, unless one of the two fields starts
  with `*`, then it must match both.
- Ranges may wrap (`22-4`, `FRI-MON`), and steps continue over the wrap. `N/s` runs to the end of the field,
  for the day of week to Saturday. 0 and 7 are Sunday. `?` is `*`, in the two day fields only.
- `15W` is the weekday nearest to the 15th in the same month; a month without a 31st has no `31W`. `L` is the
  last day, `L-3` three days before, `LW` the weekday nearest to it, `5L` the last Friday, `5#2` the second.
- `H` stands for a number hashed from the schedule's key, so that many `H H * * *` spread over the day.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.wall import (
    DAY,
    FIRST_WALL,
    LAST_WALL,
    Budget,
    DayFilter,
    Rule,
    TimesOfDay,
    month_length,
)

MONTHS = {name[:3].upper(): number for number, name in enumerate(words.MONTH_NAMES, 1)}
DAYS = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
    "@every_minute": "* * * * *",
    "@every_second": "* * * * * *",
}


class Token(NamedTuple):
    """A word of the text and where it stands."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Field:
    """One field as it was read: plain values, and for days the special forms (`L`, `W`, `#`) beside them."""

    text: str
    values: frozenset[int]
    special: tuple[tuple[str, int, int], ...] = ()

    @property
    def star(self) -> bool:
        return self.text[0] in "*?"


class FieldSpec(NamedTuple):
    name: str
    low: int
    high: int
    names: Mapping[str, int]


SECOND = FieldSpec("second", 0, 59, {})
MINUTE = FieldSpec("minute", 0, 59, {})
HOUR = FieldSpec("hour", 0, 23, {})
DAY_OF_MONTH = FieldSpec("day of month", 1, 31, {})
MONTH = FieldSpec("month", 1, 12, MONTHS)
DAY_OF_WEEK = FieldSpec("day of week", 0, 6, DAYS)
SPECS = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


class Cron(Rule):
    """A cron line as a set of wall seconds."""

    def __init__(
        self, second: Field, minute: Field, hour: Field, dom: Field, month: Field, dow: Field
    ) -> None:
        self.fields = (second, minute, hour, dom, month, dow)
        self.running = minute.star or hour.star
        self._times = TimesOfDay(hour.values, minute.values, second.values)
        self._days = CronDays(dom, month, dow)

    def next(self, wall: int, budget: Budget) -> int | None:
        wall = max(wall, FIRST_WALL) + 1
        if wall >= LAST_WALL:
            return None
        day, time = divmod(wall, DAY)
        allowed = self._days.at_or_after(day, budget)
        if allowed == day:
            time = self._times.at_or_after(time)
            if time >= 0:
                return day * DAY + time
            allowed = self._days.at_or_after(day + 1, budget)
        if allowed is None or allowed * DAY >= LAST_WALL:
            return None
        return allowed * DAY + self._times.first

    def count(self, after: int, last: int) -> int:
        """Whole days count as many times as a day has."""
        first_day, first_time = divmod(after + 1, DAY)
        last_day, last_time = divmod(last + 1, DAY)
        whole = self._days.count(first_day, last_day) * self._times.size
        before = self._times.rank(first_time) if self._days.count(first_day, first_day + 1) else 0
        beyond = self._times.rank(last_time) if self._days.count(last_day, last_day + 1) else 0
        return whole - before + beyond

    def canonical(self) -> tuple[object, ...]:
        values = tuple((tuple(sorted(field.values)), field.special) for field in self.fields)
        return ("cron", values, self._days.both, self.running)

    def words(self) -> str:
        return words.cron(*self.fields)

    @classmethod
    def parse(cls, text: str, *, key: str | None = None, seconds: str = "first") -> Cron:
        tokens = [Token(match.group(), match.start()) for match in re.finditer(r"[^ \t]+", text)]
        if tokens and tokens[0].text.startswith("@"):
            return cls._macro(tokens)
        if len(tokens) == 5:
            tokens.insert(0, Token("0", tokens[0].position))
        elif len(tokens) != 6:
            raise _wrong_count(tokens, text)
        elif seconds == "last":
            tokens.insert(0, tokens.pop())
        return cls(
            *(_FieldReader(spec, token, key).read() for spec, token in zip(SPECS, tokens, strict=True))
        )

    @classmethod
    def _macro(cls, tokens: list[Token]) -> Cron:
        name = tokens[0].text.lower()
        if name not in MACROS:
            once = "for once write 2026-12-24T18:00:00Z, or in 10m"
            hint = once if name == "@once" else f"known: {' '.join(MACROS)}"
            raise _refuse("bad_macro", f"unknown name {tokens[0].text!r}", tokens[0].position, hint)
        if len(tokens) > 1:
            what = f"nothing may follow {name}"
            raise _refuse("bad_macro", what, tokens[1].position, f"write {name} alone")
        return cls.parse(MACROS[name])


class CronDays(DayFilter):
    """The days of a cron line. A month's mask depends only on its length and its first weekday."""

    __slots__ = ("_dom", "_dow", "_masks", "_months", "both")

    def __init__(self, dom: Field, month: Field, dow: Field) -> None:
        super().__init__()
        self._dom = dom
        self._dow = dow
        self._months = tuple(sorted(month.values))
        self._masks: dict[tuple[int, int], int] = {}
        self.both = dom.star or dow.star

    def mask(self, year: int, month: int) -> int:
        if month not in self._months:
            return 0
        length = month_length(year, month)
        first_weekday = _first_weekday(year, month)
        key = (length, first_weekday)
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._make_mask(length, first_weekday)
        return mask

    def next_month(self, year: int, month: int) -> tuple[int, int]:
        for allowed in self._months:
            if allowed > month:
                return year, allowed
        return year + 1, self._months[0]

    def _make_mask(self, length: int, first_weekday: int) -> int:
        def weekday(day: int) -> int:
            return (first_weekday + day - 1) % 7  # Sunday is 0

        days = range(1, length + 1)
        by_date = {day for day in days if day in self._dom.values}
        for form, number, _ in self._dom.special:
            day = number if form == "W" else length - number
            if 1 <= day <= length:
                by_date.add(day if form == "L" else _nearest_weekday(day, length, weekday(day)))
        by_weekday = {day for day in days if weekday(day) in self._dow.values}
        for form, number, nth in self._dow.special:
            matching = [day for day in days if weekday(day) == number]
            if form == "L":
                by_weekday.add(matching[-1])
            elif nth <= len(matching):
                by_weekday.add(matching[nth - 1])
        chosen = by_date & by_weekday if self.both else by_date | by_weekday
        return sum(1 << (day - 1) for day in chosen)


def _nearest_weekday(day: int, length: int, weekday: int) -> int:
    if weekday == 6:  # Saturday: the day before, unless that is in the month before
        return day - 1 if day > 1 else day + 2
    if weekday == 0:  # Sunday: the day after, unless that is in the month after
        return day + 1 if day < length else day - 2
    return day


def _first_weekday(year: int, month: int) -> int:
    """Sunday is 0. Zeller's arithmetic: a date object would cost twice as much."""
    if month < 3:
        month += 12
        year -= 1
    return (1 + (13 * (month + 1)) // 5 + year + year // 4 - year // 100 + year // 400 + 6) % 7


class _FieldReader:
    """Reads one field; every error names the field and points at the item."""

    def __init__(self, spec: FieldSpec, token: Token, key: str | None) -> None:
        self.spec = spec
        self.token = token
        self.key = key
        self.values: set[int] = set()
        self.special: set[tuple[str, int, int]] = set()

    def read(self) -> Field:
        position = self.token.position
        for item in self.token.text.split(","):
            self._item(item, position)
            position += len(item) + 1
        return Field(self.token.text, frozenset(self.values), tuple(sorted(self.special)))

    def _item(self, item: str, position: int) -> None:
        if not item:
            raise self._error("an empty item in the list", position, "remove the extra comma")
        if item[0] in "Hh" and (item[1:2] in ("", "/", "(")):
            self.values.update(self._hashed(item, position))
        elif not self._read_special(item, position):
            self.values.update(self._range(item, position))

    def _read_special(self, item: str, position: int) -> bool:
        upper = item.upper()
        if self.spec is DAY_OF_MONTH:
            if match := re.fullmatch(r"L(?:-([0-9]{1,2}))?(W?)", upper):
                back = int(match[1] or 0)
                if back > 30:
                    raise self._error(
                        f"L-{back} is before the 1st of every month", position, "use L-0 to L-30"
                    )
                self.special.add(("LW" if match[2] else "L", back, 0))
                return True
            if match := re.fullmatch(r"([0-9]{1,2})W", upper):
                day = self._in_range(int(match[1]), position)
                self.special.add(("W", day, 0))
                return True
        if self.spec is DAY_OF_WEEK:
            if match := re.fullmatch(r"([0-9]{1,2}|[A-Z]{3})L", upper):
                self.special.add(("L", self._number(match[1], position) % 7, 0))
                return True
            if match := re.fullmatch(r"([0-9]{1,2}|[A-Z]{3})#([0-9]+)", upper):
                if match[2] not in ("1", "2", "3", "4", "5"):
                    what = f"#{match[2]}: a month has the 1st to the 5th of a weekday"
                    raise self._error(what, position, "write a number from 1 to 5 after #, such as 5#2")
                self.special.add(("#", self._number(match[1], position) % 7, int(match[2])))
                return True
        return False

    def _range(self, item: str, position: int) -> list[int]:
        """`*`, `N`, `N-M`, each with `/step`."""
        body, slash, step_text = item.partition("/")
        step = self._step(step_text, position + len(body) + 1) if slash else 1
        low, high, size = self.spec.low, self.spec.high, self.spec.high - self.spec.low + 1
        if body == "?" and self.spec not in (DAY_OF_MONTH, DAY_OF_WEEK):
            raise self._error("? stands for any day, in the two day fields only", position, "write * here")
        if body in ("*", "?"):
            return list(range(low, high + 1, step))
        first_text, dash, last_text = body.partition("-")
        first = self._number(first_text, position)
        if not dash:
            last = first if not slash else max(high, first)
        else:
            last = self._number(last_text, position + len(first_text) + 1)
        if self.spec is DAY_OF_WEEK and first == 7 and (dash or slash):
            first = 0
            last = last % 7 if dash else high
        if last < first:
            last += size
        return [low + (value - low) % size for value in range(first, last + 1, step)]

    def _number(self, text: str, position: int) -> int:
        if text.isascii() and text.isdigit():
            return self._in_range(int(text), position)
        number = self.spec.names.get(text.upper())
        if number is None:
            raise self._error(f"{text!r} is not understood", position, self._hint(text))
        return number

    def _in_range(self, number: int, position: int) -> int:
        high = 7 if self.spec is DAY_OF_WEEK else self.spec.high
        if not self.spec.low <= number <= high:
            what = f"{self.spec.name} {number} is out of range"
            raise _refuse("out_of_range", what, position, f"use {self.spec.low} to {high}")
        return number

    def _step(self, text: str, position: int) -> int:
        if not (text.isascii() and text.isdigit()):
            raise self._error(f"step {text!r} is not a number", position, "write for example */5")
        if int(text) == 0:
            raise self._error("a step of 0 never moves on", position, "use a step of 1 or more")
        return int(text)

    def _hashed(self, item: str, position: int) -> list[int]:
        match = re.fullmatch(r"H(?:\(([0-9]+)-([0-9]+)\))?(?:/([0-9]+))?", item.upper())
        if not match:
            raise self._error(f"{item!r} is not understood", position, "write H, H(0-29), H/15 or H(0-29)/10")
        if self.key is None:
            raise ScheduleError(
                "key_missing",
                "H needs a key to hash",
                position=position,
                field="key",
                hint="pass key=, such as the job's name",
            )
        # The 28th is the last day that every month has.
        low, high = self.spec.low, 28 if self.spec is DAY_OF_MONTH else self.spec.high
        if match[1]:
            low, high = self._in_range(int(match[1]), position), self._in_range(int(match[2]), position)
            if high < low:
                raise self._error(
                    f"{item!r} ends before it begins", position, "write the smaller number first"
                )
        digest = hashlib.blake2b(f"{self.key}\0{self.spec.name}".encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        if match[3] is None:
            return [low + number % (high - low + 1)]
        step = self._step(match[3], position)
        return list(range(low + number % min(step, high - low + 1), high + 1, step))

    def _hint(self, text: str) -> str:
        upper = text.upper()
        if "~" in text:
            low, _, high = text.partition("~")
            within = f"H({low}-{high})" if low.isdigit() and high.isdigit() else "H"
            return f"for a number of the job's own write {within} instead of {text}"
        if self.spec is DAY_OF_WEEK and upper.startswith(("WEEKDAY", "WORKDAY", "WEEKEND")):
            return f"write {'6,0' if upper.startswith('WEEKEND') else '1-5'}"
        if self.spec is DAY_OF_WEEK and re.fullmatch("L[0-7]?", upper):
            return f"for the last one of a month write for example {upper[1:] or 5}L"
        if self.spec.names:
            close = next(
                (name for name in self.spec.names if len(upper) >= 2 and name.startswith(upper[:2])), None
            )
            if close:
                return f"did you mean {close}?"
            return f"use {self.spec.low} to {self.spec.high} or {', '.join(self.spec.names)}"
        if upper in ("L", "W", "LW") or "#" in upper:
            return f"L, W and # are for days, not for the {self.spec.name}"
        return f"use numbers from {self.spec.low} to {self.spec.high}, lists, ranges and steps"

    def _error(self, what: str, position: int, hint: str) -> ScheduleError:
        return _refuse("bad_cron", f"{self.spec.name}: {what}", position, hint)


def never_comes(rule: Cron) -> str:
    """Why a cron line matches no day: `30 February never comes`."""
    _, _, _, dom, month, _ = rule.fields
    names = [words.MONTH_NAMES[number - 1] for number in sorted(month.values)]
    day, longest = min(dom.values, default=0), max(month_length(2000, number) for number in month.values)
    if len(dom.values) == len(names) == 1 and not dom.special and day > longest:
        return f"{day} {names[0]} never comes"
    return f"no day matches {dom.text!r} in {words.listed(names)}"


def _wrong_count(tokens: list[Token], text: str) -> ScheduleError:
    if not tokens:
        return _refuse("empty", "the schedule is empty", 0, "write for example 0 9 * * 1-5")
    if len(tokens) == 7:
        what, hint = "a year field is not supported", "bound the schedule with starts_at and ends_at"
        return _refuse("bad_cron", f"seven fields: {what}", tokens[6].position, hint)
    return _refuse(
        "bad_cron",
        f"{len(tokens)} field{'s' if len(tokens) > 1 else ''}: cron has five, or six with the seconds first",
        tokens[6].position if len(tokens) > 6 else len(text.rstrip()),
        "write minute hour day-of-month month day-of-week, such as 0 9 * * 1-5",
    )


def _refuse(code: str, what: str, position: int, hint: str) -> ScheduleError:
    return ScheduleError(code, what, position=position, hint=hint)
