"""Schedules in English: "At 09:00 on Monday", "Every 15 minutes".

The words come from the values that a field stands for, not from how it was written: `*/15` and `0,15,30,45`
read alike, rules that match different times do not. A set of times is said in the first way that fits: a
whole cycle ("every 15 minutes"), stretches of a cycle ("every 15 minutes from 09:00 to 17:45"), a list ("at
09:00 and 17:00"), and at last field by field ("at minutes 7 and 9 of every hour").
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from sexton.schedules.wall import DAY, from_wall

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import date, datetime

    from sexton.schedules.cron import Field
    from sexton.schedules.rfc5545 import Parts

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = ("", "first", "second", "third", "fourth", "fifth")
UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY, SECONDLY = range(7)  # the frequencies of recurrences
SECONDS_IN = {"day": DAY, "hour": 3600, "minute": 60, "second": 1}

EVERY_DAY, WEEKDAYS, WEEKEND = frozenset(range(7)), frozenset(range(5)), frozenset({5, 6})
SETS_OF_DAYS = {EVERY_DAY: "day", WEEKDAYS: "weekday", WEEKEND: "weekend day"}

LONGEST_LIST = 8
MOST_STRETCHES = 3

UTC_NAMES = {"UTC", "UCT", "Zulu", "Universal", "Etc/UTC", "Etc/UCT", "Etc/Zulu", "Etc/Universal"}
COUNTRIES = {"US", "Canada", "Brazil", "Chile", "Mexico"}


def cron(second: Field, minute: Field, hour: Field, dom: Field, month: Field, dow: Field) -> str:
    times, named = _times(hour.values, minute.values, second.values)
    months = _months(month.values)
    dates = _dates(dom.values, [_special_date(form, number) for form, number, _ in dom.special])
    plain = frozenset((number - 1) % 7 for number in dow.values)
    numbered = [(nth or -1, (number - 1) % 7) for _, number, nth in dow.special]
    any_date, any_weekday = len(dom.values) == 31, plain == EVERY_DAY
    either = not (dom.star or dow.star)
    if (any_date and any_weekday) or (either and (any_date or any_weekday)):
        days = (" every day" if named else "") + (f" in {months}" if months else "")
    elif any_date:
        days = f" on {listed(_weekdays(plain, numbered))}"
        days += _in_months(months, numbered) or (" of the month" if numbered else "")
    elif not either:
        days = f" on {_dates_of(dates, months or 'the month')}"
        days += "" if any_weekday else f" if it is {listed(_weekdays(plain, numbered, 'a '), 'or')}"
    else:
        days = f" in {months}, on {listed(dates)}" if months else f" on {listed(dates)}"
        days += "" if months and _each(months) == months else " of the month"
        days += f" and on {listed(_weekdays(plain, numbered, 'every '))}"
    return _sentence(times + days)


def recurrence(parts: Parts, anchor: int | None) -> str:
    """The rule, with its missing parts taken from the anchor; without an anchor they are left out."""
    if anchor is not None:
        parts = _filled(parts, from_wall(anchor))
    freq, unit = parts.freq, UNITS[parts.freq]
    days, times = _recurring_days(parts), _recurring_times(parts)
    text = f"every {_several(parts.interval, unit)}"
    if days and freq <= WEEKLY:
        text += f" {days.pop(0)}"
    if times:
        text += f" {times}" if times.startswith("at") else f", {times}"
    clauses = [text]
    if days:
        clauses.append(f"{'only ' if freq >= DAILY else ''}{' '.join(days)}")
    if (months := _months(parts.month)) and not _months_with_days(parts):
        clauses.append(f"only in {months}")
    for finest, values in ((HOURLY, parts.hour), (MINUTELY, parts.minute), (SECONDLY, parts.second)):
        if values and freq >= finest:
            clauses.append(f"only in {_members(UNITS[finest], values)}")
    if parts.setpos and not _chosen_day(parts):
        clauses.append(f"only the {listed(_places(parts.setpos))} of each {unit}")
    if parts.week_start and (parts.weekno or (freq == WEEKLY and (parts.interval > 1 or parts.setpos))):
        clauses.append(f"weeks starting on {DAY_NAMES[parts.week_start]}")
    if parts.count:
        clauses.append("only once" if parts.count == 1 else f"{parts.count} times")
    if parts.until:
        at, utc = parts.until.at, parts.until.utc
        whole_day = not utc and (at.hour, at.minute, at.second) == (23, 59, 59)
        clauses.append(f"until {date_of(at)}{'' if whole_day else ' ' + _time(at)}{' UTC' if utc else ''}")
    return _sentence(", ".join(clauses))


def interval(seconds: int) -> str:
    """Elapsed time: a day of it is said as 24 hours, which it is also when clocks change."""
    return "Every 24 hours" if seconds == DAY else f"Every {_span(seconds)}"


def delay(seconds: int) -> str:
    """Elapsed time until a single time."""
    return f"Once, in {_span(seconds)}"


def once(times: Sequence[datetime]) -> str:
    """Times given one by one, in their order."""
    if len(times) == 1:
        return f"Once on {date_of(times[0])} at {_time(times[0])}"
    if len(times) <= LONGEST_LIST:
        return f"On {listed(map(moment, times))}"
    return f"{len(times)} times, from {moment(times[0])} to {moment(times[-1])}"


def date_of(at: date) -> str:
    return f"{at.day} {MONTH_NAMES[at.month - 1]} {at.year}"


def moment(at: datetime) -> str:
    return f"{date_of(at)} {_time(at)}"


def days_of_week(dow: Field) -> str:
    plain = frozenset((number - 1) % 7 for number in dow.values)
    return listed(_weekdays(plain, [(nth or -1, (number - 1) % 7) for _, number, nth in dow.special]))


def place(timezone: str) -> str:
    """`America/New_York` as people say it: `New York time`."""
    if timezone in UTC_NAMES:
        return "UTC"
    area, _, city = timezone.replace("_", " ").rpartition("/")
    if area == "Etc":  # its signs are the wrong way round: Etc/GMT+5 is five hours behind
        return city.translate(str.maketrans("+-", "-+"))
    if area in COUNTRIES:
        city = f"{area} {city}"
    return f"{city} time" if area or city.istitle() else city


def listed(items: Iterable[str], last: str = "and") -> str:
    *most, end = items
    return f"{', '.join(most)} {last} {end}" if most else end


# Times of day


def _times(hours: Collection[int], minutes: Collection[int], seconds: Collection[int]) -> tuple[str, bool]:
    """A product of hours, minutes and seconds in words, and whether they name times of day."""
    size = len(hours) * len(minutes) * len(seconds)
    step, stretches = _step_in_hour(minutes, seconds), _runs(hours)
    if step == 3600:
        if apart := _spacing(hours):
            step, stretches = step * apart, [(min(hours), max(hours))]
        elif any(first == last for first, last in stretches):
            step = 0
    first, last = min(minutes) * 60 + min(seconds), max(minutes) * 60 + max(seconds)
    if size > 2 and size * step == DAY and first == min(hours) == 0:
        return f"every {_span(step)}", False

    def clock(hour: int, rest: int) -> str:
        return f"{hour:02}:{rest // 60:02}" + (f":{rest % 60:02}" if set(seconds) != {0} else "")

    if size > 3 and step and len(hours) < 24 and len(stretches) <= MOST_STRETCHES:
        pieces = [f"from {clock(begin, first)} to {clock(end, last)}" for begin, end in stretches]
        return f"every {_span(step)} {listed(pieces)}", True
    if size <= LONGEST_LIST:
        times = [(hour, minute * 60 + second) for hour in hours for minute in minutes for second in seconds]
        return f"at {listed(clock(*time) for time in sorted(times))}", True
    return _field_by_field(hours, minutes, seconds), False


def _field_by_field(hours: Collection[int], minutes: Collection[int], seconds: Collection[int]) -> str:
    """A field that is empty is not mentioned, nor is second 0."""
    fields = (("second", set(seconds) - {0} and seconds, 60), ("minute", minutes, 60), ("hour", hours, 24))
    said = " of ".join(_members(noun, values, size) for noun, values, size in fields if values)
    said = said.replace("every minute of every hour", "every minute")
    return said if said.startswith("every") or not said else f"at {said}"


def _members(noun: str, values: Collection[int], size: int = 0) -> str:
    """Numbers of a field of that size; without a size, as a plain list."""
    if len(values) == size:
        return f"every {noun}"
    if size and len(values) > 3 and (step := _spacing(values)):
        return f"every {'' if step == 1 else _ordinal(step) + ' '}{noun} from {min(values)} to {max(values)}"
    return f"{noun}{'s' * (len(values) > 1)} {listed(_series(values, str))}"


def _step_in_hour(minutes: Collection[int], seconds: Collection[int]) -> int:
    """The seconds from one to the next if they cut the hour into equal parts, else 0."""
    values, unit = (seconds, 1) if len(minutes) == 60 else (minutes, 60)
    step = 60 // len(values)
    even = 60 % len(values) == 0 and set(values) == set(range(min(values), 60, step))
    return step * unit if even and (unit == 1 or len(seconds) == 1) else 0


def _filled(parts: Parts, start: datetime) -> Parts:
    """What the rule expands but does not say comes from its anchor."""
    return replace(
        parts.with_days_of(start.date()),
        hour=parts.hour or ((start.hour,) if parts.freq < HOURLY else ()),
        minute=parts.minute or ((start.minute,) if parts.freq < MINUTELY else ()),
        second=parts.second or ((start.second,) if parts.freq < SECONDLY else ()),
    )


def _recurring_times(parts: Parts) -> str:
    freq = parts.freq
    hours = parts.hour if freq < HOURLY else ()
    minutes = parts.minute if freq < MINUTELY else ()
    seconds = (parts.second if freq < SECONDLY else ()) or (0,)
    if hours and minutes:
        return _times(hours, minutes, seconds)[0]
    on_the_hour = freq == HOURLY and (minutes, seconds) == ((0,), (0,))
    return "" if on_the_hour else _field_by_field(hours, minutes, seconds)


# Days


def _dates(values: Collection[int], others: Sequence[str]) -> list[str]:
    """Days of the month, as what can follow "on"."""
    if len(values) > 3 and (step := _spacing(values)) > 1:
        numbers = (
            f"every {_ordinal(step)} day from the {_ordinal(min(values))} to the {_ordinal(max(values))}"
        )
    else:
        numbers = f"the {listed(_series(values, _ordinal))}" if values else ""
    return [numbers, *others] if numbers else [*others]


def _special_date(form: str, number: int) -> str:
    """`L-1` is the second-to-last day; the weekday nearest the last day is the last weekday."""
    if form == "LW" and number == 0:
        return "the last weekday"
    day = f"the {_ordinal(number)}" if form == "W" else f"the {_place(-1 - number)} day"
    return day if form == "L" else f"the weekday nearest {day}"


def _dates_of(dates: Sequence[str], owner: str) -> str:
    """`the 1st and 15th of the month`; one day of one month is `25 December`."""
    number = dates[0].removeprefix("the ")[:-2]
    if len(dates) == 1 and number.isdigit() and owner in MONTH_NAMES:
        return f"{number} {owner}"
    return f"{listed(dates)} of {_each(owner)}"


def _weekdays(plain: Collection[int], numbered: Iterable[tuple[int, int]], article: str = "") -> list[str]:
    """Days from Monday, and (nth, day) of the month; the article of plain days is "a" or "every"."""
    if set(plain) == WEEKDAYS:
        names = [f"{article}weekday" if article else "weekdays"]
    else:
        names = _series(plain, lambda day: DAY_NAMES[day % 7], cycle=7)
        names[:1] = [article + name for name in names[:1]]
    return names + [f"the {_place(nth)} {DAY_NAMES[day]}" for nth, day in numbered]


def _months(values: Collection[int]) -> str:
    if len(values) in (0, 12):
        return ""
    return listed(_series([number - 1 for number in values], lambda month: MONTH_NAMES[month % 12], cycle=12))


def _in_months(months: str, counted: Collection[object]) -> str:
    """What is counted within a month (the last Friday) is counted in each one."""
    if not months:
        return ""
    return f" of {_each(months)}" if counted and _each(months) != months else f" in {months}"


def _each(months: str) -> str:
    """`the 1st of January through March` could be one stretch of days, so it is said of each month."""
    return f"each month in {months}" if " through " in months else months


def _recurring_days(parts: Parts) -> list[str]:
    """All that narrows the days down: `on the 13th`, `if it is a Friday`."""
    freq, months = parts.freq, _months_with_days(parts)
    said = []
    if parts.yearday:
        numbers = _series([number for number in parts.yearday if number > 0], _ordinal)
        last = _places(number for number in parts.yearday if number < 0)
        said.append(f"the {listed(numbers + last)} day of the year")
    if parts.monthday:
        last = [f"the {name} day" for name in _places(number for number in parts.monthday if number < 0)]
        dates = _dates([number for number in parts.monthday if number > 0], last)
        open_month = "any month" if parts.yearday or parts.weekno else "the month it starts in"
        owner = months or (open_month if freq == YEARLY else "the month")
        said.append(listed(dates) if freq == MONTHLY else _dates_of(dates, owner))
    if parts.weekday:
        numbered = sorted((each for each in parts.weekday if each[0]), key=lambda each: (each[0] < 0, each))
        article = "a " if said else "every " if freq <= MONTHLY else ""
        names = _weekdays([day for nth, day in parts.weekday if not nth], numbered, article)
        of_year = numbered and freq == YEARLY and not parts.month
        owner = " of the year" if of_year else "" if parts.monthday else _in_months(months, numbered)
        said.append((_chosen_day(parts) or listed(names, "or" if said else "and")) + owner)
    phrases = [f"{'if it is' if place else 'on'} {days}" for place, days in enumerate(said)]
    if parts.weekno:
        weeks = [f"week {number}" for number in parts.weekno if number > 0]
        weeks += [f"the {name} week" for name in _places(number for number in parts.weekno if number < 0)]
        phrases[:1] = [" ".join([*phrases[:1], f"in {listed(weeks)} of the year"])]
    return phrases


def _months_with_days(parts: Parts) -> str:
    """The months, where they are said with the days: `on 25 December`."""
    days = parts.monthday or parts.weekday
    if parts.freq != YEARLY or not (days and parts.month) or parts.yearday or parts.weekno:
        return ""
    return _months(parts.month) or "any month"


def _chosen_day(parts: Parts) -> str:
    """BYSETPOS where it picks whole days of a month: `the last weekday`."""
    days = frozenset(day for _, day in parts.weekday)
    noun = DAY_NAMES[min(days)] if len(days) == 1 else SETS_OF_DAYS.get(days)
    others = parts.monthday or any(nth for nth, _ in parts.weekday)
    one_time = all(len(values) <= 1 for values in (parts.hour, parts.minute, parts.second))
    if noun and parts.setpos and parts.freq == MONTHLY and one_time and not others:
        return f"the {listed(_places(parts.setpos))} {noun}"
    return ""


# Numbers and lists


def _runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbours as (first, last)."""
    runs: list[tuple[int, int]] = []
    for value in sorted(values):
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def _series(values: Iterable[int], name: Callable[[int], str], cycle: int = 0) -> list[str]:
    """Names, with `Monday through Wednesday` for neighbours. In a cycle a single run may go over its end."""
    runs = _runs(values)
    if len(runs) == 2 and runs[0][0] == 0 and runs[1][1] == cycle - 1:
        runs = [(runs[1][0], runs[0][1] + cycle)]
    names = []
    for first, last in runs:
        if last - first >= 2:
            names.append(f"{name(first)} through {name(last)}")
        else:
            names += [name(number) for number in range(first, last + 1)]
    return names


def _spacing(values: Iterable[int]) -> int:
    """How far evenly spaced values are apart, 0 if they are not."""
    steps = {later - earlier for earlier, later in pairwise(sorted(values))}
    return max(steps, default=1) if len(steps) <= 1 else 0


def _ordinal(number: int) -> str:
    suffix = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _place(number: int) -> str:
    """first, 12th, and from the end: last, second-to-last."""
    if number == -1:
        return "last"
    name = PLACES[abs(number)] if abs(number) < len(PLACES) else _ordinal(abs(number))
    return name if number > 0 else f"{name}-to-last"


def _places(numbers: Iterable[int]) -> list[str]:
    return [_place(number) for number in sorted(numbers, key=lambda number: (number < 0, number))]


def _several(number: int, unit: str) -> str:
    return unit if number == 1 else f"{number} {unit}s"


def _span(seconds: int) -> str:
    amounts = []
    for unit, size in SECONDS_IN.items():
        number, seconds = divmod(seconds, size)
        if number:
            amounts.append((number, unit))
    if len(amounts) == 1:
        return _several(*amounts[0])
    return listed(f"{number} {unit}" + "s" * (number > 1) for number, unit in amounts)


def _time(at: datetime) -> str:
    return f"{at.hour:02}:{at.minute:02}" + (f":{at.second:02}" if at.second else "")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
