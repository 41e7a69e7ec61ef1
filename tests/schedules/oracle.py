"""A slow and obvious second opinion on when a schedule fires.

Nothing here is clever. A cron line is answered by walking over every date and every time of day of the wall
clock and asking each field; a recurrence by listing every candidate of every period since DTSTART; a wall
time is turned into instants by trying all offsets its zone used around that day. The readings where dialects
part are those of corpus/README.md.
"""

from __future__ import annotations

import calendar
import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The operating system's copy of the zone database may differ from the package's.
zoneinfo.reset_tzpath(to=())

DAY = timedelta(days=1)
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
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


@dataclass(frozen=True, order=True)
class Fire:
    """One wall time a rule produced: `at` is None when the gap took it, `why` names the clock change."""

    wall: datetime
    at: datetime | None
    why: str | None  # None, "gap" (moved), "skip" (taken away), "fold" (happens twice)


def answers(
    text: str,
    *,
    start: datetime,
    end: datetime,
    timezone: str = "UTC",
    gap: str | None = None,
    fold: str | None = None,
    anchor: datetime | None = None,
) -> list[datetime]:
    """Every distinct instant at which the schedule fires, start < t <= end."""
    found = fires(text, start=start, end=end, timezone=timezone, gap=gap, fold=fold, anchor=anchor)
    return sorted({fire.at for fire in found if fire.at is not None and start < fire.at <= end})


def fires(
    text: str,
    *,
    start: datetime,
    end: datetime,
    timezone: str = "UTC",
    gap: str | None = None,
    fold: str | None = None,
    anchor: datetime | None = None,
) -> list[Fire]:
    """Every wall time of the schedule that may fire in (start, end], and what became of it."""
    zone = zoneinfo.ZoneInfo(timezone)
    first = naive(start, zone) - largest_change(start, zone)
    last = naive(end, zone) + largest_change(end, zone)
    if every := re.fullmatch(r"every (\d+)([smhdw])", text):
        return list(interval_fires(every, anchor, start, end))
    if re.match(r"\d{4}-\d\d-\d\dT", text):
        return once_fires(datetime.fromisoformat(text), zone, gap, fold)
    if "FREQ=" in text:
        rule = policies(gap, fold, running=is_running_recurrence(text))
        rdate = policies(gap, fold, running=False)
        return list(recurrence_fires(text, zone, rule, rdate, first, last))
    gap, fold = policies(gap, fold, running=is_running_cron(text))
    return [fire for wall in cron_walls(text, first, last) for fire in resolve(wall, zone, gap, fold)]


# ---------------------------------------------------------------------------------------------- the clock


def policies(gap: str | None, fold: str | None, *, running: bool) -> tuple[str, str]:
    """What holds when one policy or both are not given."""
    if gap is None and fold is None:
        return ("skip", "both") if running else ("after", "first")
    return gap or "after", fold or "first"


def resolve(wall: datetime, zone: zoneinfo.ZoneInfo, gap: str, fold: str) -> list[Fire]:
    """The instants of a wall time under a gap and a fold policy."""
    instants = instants_of(wall, zone)
    if len(instants) == 1:
        return [Fire(wall, instants[0], None)]
    if instants:
        chosen = {"first": instants[:1], "second": instants[-1:], "both": instants}[fold]
        return [Fire(wall, at, "fold") for at in chosen]
    if gap == "skip":
        return [Fire(wall, None, "skip")]
    after = end_of_gap(wall, zone)
    if gap == "after":
        return [Fire(wall, after, "gap")]
    gap_began = naive(after - timedelta(seconds=1), zone) + timedelta(seconds=1)
    return [Fire(wall, after + (wall - gap_began), "gap")]


def instants_of(wall: datetime, zone: zoneinfo.ZoneInfo) -> list[datetime]:
    """All instants whose local time is `wall`: none in a gap, two in a fold."""
    guesses = {wall.replace(tzinfo=UTC) - offset for offset in offsets_around(wall.date(), zone)}
    return sorted(guess for guess in guesses if naive(guess, zone) == wall)


def end_of_gap(wall: datetime, zone: zoneinfo.ZoneInfo) -> datetime:
    """The first instant at which the local time is past `wall`, which does not exist: walk until it is."""
    at = wall.replace(tzinfo=UTC) - max(offsets_around(wall.date(), zone))
    for step in (timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)):
        while naive(at + step, zone) < wall:
            at += step
    return at + timedelta(seconds=1)


@cache
def offsets_around(day: date, zone: zoneinfo.ZoneInfo) -> frozenset[timedelta]:
    """The offsets from UTC that the zone uses within two and a half days of a date, looked up every hour."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    hours = [noon + hour * timedelta(hours=1) for hour in range(-60, 61)]
    return frozenset(naive(at, zone) - at.replace(tzinfo=None) for at in hours)


def largest_change(instant: datetime, zone: zoneinfo.ZoneInfo) -> timedelta:
    """How far apart a wall time and its instant can get by a clock change nearby; a day in Apia."""
    offsets = offsets_around(naive(instant, zone).date(), zone)
    return max(offsets) - min(offsets)


def naive(instant: datetime, zone: zoneinfo.ZoneInfo) -> datetime:
    """What the wall clock of the zone shows at an instant."""
    return instant.astimezone(zone).replace(tzinfo=None)


# ------------------------------------------------------------------------------------------ interval, once


def interval_fires(
    every: re.Match[str], anchor: datetime | None, start: datetime, end: datetime
) -> Iterator[Fire]:
    """The anchor and every whole interval after it; zones play no part."""
    assert anchor is not None
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[every[2]]
    at = anchor
    while at <= end:
        if start < at:
            yield Fire(at.replace(tzinfo=None), at, None)
        at += timedelta(seconds=int(every[1]) * unit)


def once_fires(when: datetime, zone: zoneinfo.ZoneInfo, gap: str | None, fold: str | None) -> list[Fire]:
    if when.tzinfo is not None:
        return [Fire(naive(when, zone), when.astimezone(UTC), None)]
    return resolve(when, zone, gap or "after", fold or "first")


# ---------------------------------------------------------------------------------------------------- cron


def cron_walls(text: str, first: datetime, last: datetime) -> Iterator[datetime]:
    """Every wall time from `first` to `last` that matches all fields."""
    second, minute, hour, month_day, month, week_day = cron_fields(text)
    seconds = [n for n in range(60) if n in numbers(second, 0, 59)]
    minutes = [n for n in range(60) if n in numbers(minute, 0, 59)]
    hours = [n for n in range(24) if n in numbers(hour, 0, 23)]
    months = numbers(month, 1, 12, MONTH_NAMES)
    day = first.date()
    while day <= last.date():
        if day.month in months and cron_day_matches(day, month_day, week_day):
            for h in hours:
                for m in minutes:
                    for s in seconds:
                        wall = datetime(day.year, day.month, day.day, h, m, s)
                        if first <= wall <= last:
                            yield wall
        day += DAY


def cron_fields(text: str) -> list[str]:
    """Six fields: seconds come first and are 0 where there are five."""
    fields = MACROS.get(text.lower(), text).upper().split()
    return fields if len(fields) == 6 else ["0", *fields]


def is_running_cron(text: str) -> bool:
    _, minute, hour, *_ = cron_fields(text)
    return minute[0] in "*?" or hour[0] in "*?"


def numbers(field: str, low: int, high: int, names: tuple[str, ...] = ()) -> set[int]:
    """The numbers a field of numbers, names, ranges, lists and steps stands for."""
    found: set[int] = set()
    for item in field.split(","):
        body, slash, step = item.partition("/")
        start, dash, stop = body.partition("-")
        if start in ("*", "?"):
            row = list(range(low, high + 1))
        elif dash:
            a, b = number(start, low, names), number(stop, low, names)
            row = list(range(a, b + 1)) if a <= b else [*range(a, high + 1), *range(low, b + 1)]
        elif slash:
            row = list(range(number(start, low, names), high + 1))
        else:
            row = [number(start, low, names)]
        found.update(row[:: int(step or 1)])
    return found


def number(text: str, low: int, names: tuple[str, ...]) -> int:
    return names.index(text) + low if text in names else int(text)


def cron_day_matches(day: date, month_day: str, week_day: str) -> bool:
    """Either of the two day fields, unless one of them starts with a star: then both."""
    in_month = any(month_day_matches(day, item) for item in month_day.split(","))
    in_week = any(week_day_matches(day, item) for item in week_day.split(","))
    if month_day[0] in "*?" or week_day[0] in "*?":
        return in_month and in_week
    return in_month or in_week


def month_day_matches(day: date, item: str) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    if special := re.fullmatch(r"(L(?:-(\d+))?|(\d+))(W?)", item):
        if special[3]:
            target = int(special[3])
        else:
            target = length - int(special[2] or 0)
        if not 1 <= target <= length:
            return False
        if special[4]:
            target = nearest_working_day(day.replace(day=target), length)
        return day.day == target
    return day.day in numbers(item, 1, 31)


def nearest_working_day(day: date, length: int) -> int:
    """Monday to Friday, a day away or two where that would leave the month."""
    if day.isoweekday() == 6:
        return day.day - 1 if day.day > 1 else day.day + 2
    if day.isoweekday() == 7:
        return day.day + 1 if day.day < length else day.day - 2
    return day.day


def week_day_matches(day: date, item: str) -> bool:
    today = day.isoweekday() % 7
    length = calendar.monthrange(day.year, day.month)[1]
    if special := re.fullmatch(r"(\w+)#(\d)", item):
        return number(special[1], 0, DAY_NAMES) % 7 == today and (day.day + 6) // 7 == int(special[2])
    if special := re.fullmatch(r"(\w+)L", item):
        return number(special[1], 0, DAY_NAMES) % 7 == today and day.day > length - 7
    return today in {n % 7 for n in numbers(item, 0, 6, DAY_NAMES)}


# ---------------------------------------------------------------------------------------------- recurrence


@dataclass
class Rule:
    """The lines of a recurrence, read as they stand."""

    start: datetime
    parts: dict[str, str]
    numbers: dict[str, list[int]]
    rdates: list[str]
    exdates: list[str]

    @property
    def freq(self) -> str:
        return self.parts["FREQ"]

    @property
    def interval(self) -> int:
        return int(self.parts.get("INTERVAL", 1))

    @property
    def week_start(self) -> int:
        return WEEKDAYS.index(self.parts.get("WKST", "MO"))

    def has(self, *names: str) -> bool:
        return any(name in self.parts for name in names)

    def ints(self, name: str) -> list[int]:
        return self.numbers[name]


def read_rule(text: str, zone: zoneinfo.ZoneInfo) -> Rule:
    lines = dict.fromkeys(("DTSTART", "RRULE", "RDATE", "EXDATE"), "")
    for line in text.split("\n"):
        head, _, value = line.partition(":")
        lines[head.split(";")[0]] = value
    parts = dict(part.split("=") for part in lines["RRULE"].split(";"))
    return Rule(
        start=as_wall(lines["DTSTART"], zone),
        parts=parts,
        numbers={
            name: [int(value) for value in values.split(",")]
            for name, values in parts.items()
            if name.startswith("BY") and name != "BYDAY"
        },
        rdates=[value for value in lines["RDATE"].split(",") if value],
        exdates=[value for value in lines["EXDATE"].split(",") if value],
    )


def as_wall(value: str, zone: zoneinfo.ZoneInfo) -> datetime:
    """19970902T090000 as it stands, 19970902T130000Z on the wall clock of the zone, 19970902 at midnight."""
    if value.endswith("Z"):
        return naive(datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC), zone)
    return datetime.strptime(value, "%Y%m%dT%H%M%S" if "T" in value else "%Y%m%d")


def is_running_recurrence(text: str) -> bool:
    return bool(re.search(r"FREQ=(HOURLY|MINUTELY|SECONDLY)", text))


def recurrence_fires(
    text: str,
    zone: zoneinfo.ZoneInfo,
    rule_policies: tuple[str, str],
    rdate_policies: tuple[str, str],
    first: datetime,
    last: datetime,
) -> Iterator[Fire]:
    """COUNT and UNTIL end the rule, then RDATE adds and EXDATE removes; an RDATE is not a running rule."""
    rule = read_rule(text, zone)
    until, count = rule.parts.get("UNTIL"), int(rule.parts.get("COUNT", 10**9))
    found: list[Fire] = []
    for wall in rule_walls(rule, last):
        if count == 0 or until_is_past(wall, until):
            break
        become = resolve(wall, zone, *rule_policies)
        if become[0].why != "skip":
            count -= 1
        found.extend(fire for fire in become if not instant_is_past(fire, zone, until))
    for value in rule.rdates:
        if value.endswith("Z"):
            found.append(Fire(as_wall(value, zone), as_instant(value), None))
        else:
            found.extend(resolve(as_wall(value, zone), zone, *rdate_policies))
    for fire in found:
        if first <= fire.wall <= last and not is_excluded(fire, rule.exdates):
            yield fire


def rule_walls(rule: Rule, last: datetime) -> Iterator[datetime]:
    """Every wall time of the rule from DTSTART on, before COUNT and UNTIL are applied."""
    for dates, hours, minutes, seconds in periods(rule, last):
        candidates = [
            datetime(day.year, day.month, day.day, h, m, s)
            for day in dates
            if date_matches(day, rule)
            for h in hours
            for m in minutes
            for s in seconds
        ]
        if rule.has("BYSETPOS"):
            picked = {n - 1 if n > 0 else len(candidates) + n for n in rule.ints("BYSETPOS")}
            candidates = [wall for n, wall in enumerate(candidates) if n in picked]
        yield from (wall for wall in candidates if rule.start <= wall <= last)


def periods(rule: Rule, last: datetime) -> Iterator[tuple[list[date], list[int], list[int], list[int]]]:
    """For each period the rule visits: its dates, and its hours, minutes and seconds, in order."""
    start, step = rule.start, rule.interval
    hours = sorted(set(rule.ints("BYHOUR"))) if rule.has("BYHOUR") else [start.hour]
    minutes = sorted(set(rule.ints("BYMINUTE"))) if rule.has("BYMINUTE") else [start.minute]
    seconds = sorted(set(rule.ints("BYSECOND"))) if rule.has("BYSECOND") else [start.second]
    if rule.freq == "YEARLY":
        for year in range(start.year, last.year + 1, step):
            yield days_from(date(year, 1, 1), 366 if calendar.isleap(year) else 365), hours, minutes, seconds
    elif rule.freq == "MONTHLY":
        for month in range(start.year * 12 + start.month - 1, last.year * 12 + last.month, step):
            began = date(month // 12, month % 12 + 1, 1)
            length = calendar.monthrange(began.year, began.month)[1]
            yield days_from(began, length), hours, minutes, seconds
    elif rule.freq == "WEEKLY":
        began = start.date() - (start.weekday() - rule.week_start) % 7 * DAY
        while began <= last.date():
            yield days_from(began, 7), hours, minutes, seconds
            began += step * 7 * DAY
    elif rule.freq == "DAILY":
        day = start.date()
        while day <= last.date():
            yield [day], hours, minutes, seconds
            day += step * DAY
    else:
        size = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}[rule.freq]
        at = start.replace(minute=0 if size == 3600 else start.minute, second=0 if size > 1 else start.second)
        while at <= last:
            if (not rule.has("BYHOUR") or at.hour in hours) and (
                size == 3600 or not rule.has("BYMINUTE") or at.minute in minutes
            ):
                if size == 3600:
                    yield [at.date()], [at.hour], minutes, seconds
                elif size == 60:
                    yield [at.date()], [at.hour], [at.minute], seconds
                elif not rule.has("BYSECOND") or at.second in seconds:
                    yield [at.date()], [at.hour], [at.minute], [at.second]
            at += timedelta(seconds=step * size)


def days_from(day: date, length: int) -> list[date]:
    return [day + n * DAY for n in range(length) if day + n * DAY <= date.max]


def date_matches(day: date, rule: Rule) -> bool:
    """Every BY part about days that the rule has, and what DTSTART gives for those it lacks."""
    year = 366 if calendar.isleap(day.year) else 365
    month = calendar.monthrange(day.year, day.month)[1]
    year_day = day.timetuple().tm_yday
    if rule.has("BYMONTH") and day.month not in rule.ints("BYMONTH"):
        return False
    if rule.has("BYYEARDAY") and not {year_day, year_day - year - 1} & set(rule.ints("BYYEARDAY")):
        return False
    if rule.has("BYMONTHDAY") and not {day.day, day.day - month - 1} & set(rule.ints("BYMONTHDAY")):
        return False
    if rule.has("BYWEEKNO"):
        week, weeks = week_number(day, rule.week_start)
        if not {week, week - weeks - 1} & set(rule.ints("BYWEEKNO")):
            return False
    if rule.has("BYDAY"):
        if rule.freq == "MONTHLY" or rule.has("BYMONTH"):
            places = {None, (day.day - 1) // 7 + 1, -((month - day.day) // 7 + 1)}
        else:
            places = {None, (year_day - 1) // 7 + 1, -((year - year_day) // 7 + 1)}
        if not any(
            name == WEEKDAYS[day.weekday()] and place in places
            for place, name in by_days(rule.parts["BYDAY"])
        ):
            return False
    return default_matches(day, rule)


def default_matches(day: date, rule: Rule) -> bool:
    """Where the rule says too little about the day, it is the day of DTSTART."""
    if rule.freq == "WEEKLY":
        return rule.has("BYDAY") or day.weekday() == rule.start.weekday()
    if rule.freq == "MONTHLY":
        return rule.has("BYDAY", "BYMONTHDAY") or day.day == rule.start.day
    if rule.freq == "YEARLY":
        if rule.has("BYYEARDAY"):
            return True
        if rule.has("BYWEEKNO"):
            return rule.has("BYDAY", "BYMONTHDAY") or day.weekday() == rule.start.weekday()
        if rule.has("BYMONTHDAY"):
            return rule.has("BYMONTH") or day.month == rule.start.month
        if rule.has("BYDAY"):
            return True
        return (rule.has("BYMONTH") or day.month == rule.start.month) and day.day == rule.start.day
    return True


def by_days(text: str) -> list[tuple[int | None, str]]:
    return [(int(item[:-2]) if item[:-2] else None, item[-2:]) for item in text.split(",")]


def week_number(day: date, week_start: int) -> tuple[int, int]:
    """The week's number, and how many weeks its year has: a week is of the year that its fourth day is in."""
    fourth = day - (day.weekday() - week_start) % 7 * DAY + 3 * DAY
    fourth_days = days_of_year(fourth.year, fourth.weekday())
    return fourth_days.index(fourth) + 1, len(fourth_days)


@cache
def days_of_year(year: int, weekday: int) -> list[date]:
    length = 366 if calendar.isleap(year) else 365
    return [day for day in days_from(date(year, 1, 1), length) if day.weekday() == weekday]


def as_instant(value: str) -> datetime:
    return datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def until_is_past(wall: datetime, until: str | None) -> bool:
    """UNTIL as a date or a local time is compared on the wall clock."""
    if until is None or until.endswith("Z"):
        return False
    limit = as_wall(until, zoneinfo.ZoneInfo("UTC"))
    return wall > limit if "T" in until else wall.date() > limit.date()


def instant_is_past(fire: Fire, zone: zoneinfo.ZoneInfo, until: str | None) -> bool:
    """UNTIL in UTC is compared with the instant."""
    if until is None or not until.endswith("Z"):
        return False
    return (fire.at or end_of_gap(fire.wall, zone)) > as_instant(until)


def is_excluded(fire: Fire, exdates: list[str]) -> bool:
    for value in exdates:
        if value.endswith("Z"):
            if fire.at == as_instant(value):
                return True
        elif "T" not in value:
            if fire.wall.date() == as_wall(value, zoneinfo.ZoneInfo("UTC")).date():
                return True
        elif fire.wall == as_wall(value, zoneinfo.ZoneInfo("UTC")):
            return True
    return False
