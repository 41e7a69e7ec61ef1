"""Schedules in English: "At 09:00 on Monday", "Every 15 minutes".

The words are made from the values that a field stands for, not from how it was written, so `*/15` and
`0,15,30,45` read alike, and rules that fire at different times do not. A set of times is said in the first
of these ways that fits it: a whole cycle ("every 15 minutes"), a list ("at 09:00 and 17:00"), stretches of a
cycle ("every 15 minutes from 09:00 to 17:45"), and at last field by field ("at minute 7 of hours 1, 5 and 6").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime
from math import prod
from typing import TYPE_CHECKING

from sexton.schedules.wall import from_wall

if TYPE_CHECKING:
    from sexton.schedules.cron import Field
    from sexton.schedules.recurrence import Parts

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = ("", "first", "second", "third", "fourth", "fifth")
UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
SECONDS_IN = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}

YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY, SECONDLY = range(7)
EVERY_DAY = frozenset(range(7))
WEEKDAYS = frozenset(range(5))
WEEKEND = frozenset({5, 6})

LONGEST_LIST = 6
MOST_STRETCHES = 3

UTC_NAMES = {"UTC", "UCT", "Zulu", "Universal", "Etc/UTC", "Etc/UCT", "Etc/Zulu", "Etc/Universal"}
COUNTRIES = {"US", "Canada", "Brazil", "Chile", "Mexico", "Australia"}


def cron(second: Field, minute: Field, hour: Field, dom: Field, month: Field, dow: Field) -> str:
    times, named = _times(hour.values, minute.values, second.values)
    months = _months(month.values)
    dates = [] if len(dom.values) == 31 else _dates(dom.values, [_special_date(*each) for each in dom.special])
    plain = frozenset((number - 1) % 7 for number in dow.values)
    numbered = [(nth or -1, (number - 1) % 7) for _, number, nth in dow.special]
    weekdays = _weekdays(plain, numbered) if plain != EVERY_DAY else []
    if not (dom.star or dow.star) and not (dates and weekdays):
        dates = weekdays = []  # either of two, and one of them is every day
    if dates and weekdays and not (dom.star or dow.star):
        each = _weekdays(plain, numbered, "every ")
        both = f"{_list(dates)}{'' if months else ' of the month'} and on {_list(each)}"
        days = f" in {months}, on {both}" if months else f" on {both}"
    elif dates:
        days = f" on {_dated(dom.values, dates, months) or _list(dates) + ' of ' + (months or 'the month')}"
        if weekdays:
            days += f" if it is {_list(_weekdays(plain, numbered, 'a '), 'or')}"
    elif weekdays:
        days = f" on {_list(weekdays)}" + (f" in {months}" if months else " of the month" if numbered else "")
    else:
        days = (" every day" if named else "") + (f" in {months}" if months else "")
    return _sentence(times + days)


def recurrence(parts: Parts, anchor: int | None) -> str:
    """What the rule leaves open is taken from the anchor; without one it is not said."""
    start = None if anchor is None else from_wall(anchor)
    freq, unit = int(parts.freq), UNITS[parts.freq]
    days, only = _recurring_days(parts if start is None else parts.with_days_of(start.date()), start)
    times = _recurring_times(parts, start)
    text = f"every {_several(parts.interval, unit)}{days}" + (times if times.startswith(" at ") else f"{times and ','}{times}")
    for number, (values, finer) in {HOURLY: (parts.hour, freq), MINUTELY: (parts.minute, freq), SECONDLY: (parts.second, freq)}.items():
        if values and finer >= number:
            only.append(f"only in {_members(UNITS[number], values, 0)}")
    if parts.setpos and not _chosen_day(parts):
        only.append(f"only the {_list(_place(each) for each in parts.setpos)} of each {unit}")
    if parts.week_start and (parts.weekno or (freq == WEEKLY and (parts.interval > 1 or parts.setpos))):
        only.append(f"weeks starting on {DAY_NAMES[parts.week_start]}")
    if parts.count:
        only.append("once" if parts.count == 1 else f"{parts.count} times")
    if parts.until:
        at = parts.until.at
        whole_day = not parts.until.utc and (at.hour, at.minute, at.second) == (23, 59, 59)
        only.append(f"until {_date(at)}" + ("" if whole_day else f" {_time(at)}") + (" UTC" if parts.until.utc else ""))
    return _sentence(", ".join([text, *only]))


def interval(seconds: int) -> str:
    """Elapsed time: a day of it is said as 24 hours, which it is also when clocks change."""
    if seconds == SECONDS_IN["day"]:
        return "Every 24 hours"
    amounts = []
    rest = seconds
    for unit, size in SECONDS_IN.items():
        number, rest = divmod(rest, size)
        if number:
            amounts.append((number, unit))
    if len(amounts) == 1:
        return f"Every {_several(*amounts[0])}"
    return f"Every {_list(f'{number} {unit}' + 's' * (number != 1) for number, unit in amounts)}"


def once(at: datetime) -> str:
    return f"Once on {_date(at)} at {_time(at)}"


def place(timezone: str) -> str:
    """`America/New_York` as people say it: `New York time`."""
    if timezone in UTC_NAMES:
        return "UTC"
    area, _, city = timezone.replace("_", " ").rpartition("/")
    if area == "Etc":  # its signs are the wrong way round: Etc/GMT+5 is five hours behind
        return city.translate(str.maketrans("+-", "-+")) if city[-1].isdigit() else city
    if area in COUNTRIES and city != "Lord Howe":
        city = f"{area} {city}"
    return f"{city} time" if area or city.istitle() else city


# Times of day


def _times(hours: Collection[int], minutes: Collection[int], seconds: Collection[int]) -> tuple[str, bool]:
    """A product of hours, minutes and seconds, and whether times of day are named in it."""
    size = prod(map(len, (hours, minutes, seconds)))
    step, offset = _cycle(minutes, seconds)
    apart = _spacing(hours) if step == 3600 else int(step > 0)
    if apart and offset == 0 and min(hours) == 0 and apart * len(hours) == 24 and size > 2:
        return f"every {_span(step * apart)}", False
    first, last = min(minutes) * 60 + min(seconds), max(minutes) * 60 + max(seconds)
    precise = set(seconds) != {0}

    def clock(hour: int, rest: int) -> str:
        return f"{hour:02}:{rest // 60:02}" + (f":{rest % 60:02}" if precise else "")

    def stretch(from_hour: int, to_hour: int) -> list[str]:
        if step == 3600 and to_hour - from_hour < 2 and not apart > 1:
            return [f"at {clock(hour, first)}" for hour in range(from_hour, to_hour + 1)]
        return [f"from {clock(from_hour, first)} to {clock(to_hour, last)}"]

    if size > 3 and step and len(hours) < 24:
        runs = [(min(hours), max(hours))] if apart > 1 else _runs(hours)
        pieces = [piece for run in runs for piece in stretch(*run)]
        if len(pieces) <= MOST_STRETCHES and pieces[0].startswith("from"):
            return f"every {_span(step * max(apart, 1))} {_list(pieces)}", True
    if size <= LONGEST_LIST:
        every = sorted((hour, minute * 60 + second) for hour in hours for minute in minutes for second in seconds)
        return f"at {_list(clock(*each) for each in every)}", True
    return _field_by_field(seconds, minutes, hours), False


def _field_by_field(seconds: Collection[int], minutes: Collection[int], hours: Collection[int]) -> str:
    """Fields left out are empty."""
    levels = [("second", seconds if set(seconds) != {0} else (), 60), ("minute", minutes, 60), ("hour", hours, 24)]
    said = " of ".join(_members(*level) for level in levels if level[1])
    said = said.replace("every minute of every hour", "every minute")
    return said if said.startswith("every") else f"at {said}"


def _members(noun: str, values: Collection[int], size: int) -> str:
    """Some numbers of a field; `size` is how many it has (0: always name them)."""
    runs = _runs(values)
    if len(values) == size:
        return f"every {noun}"
    if size and len(values) > 3 and (step := _spacing(values)):
        nth = "" if step == 1 else f"{_ordinal(step)} "
        return f"every {nth}{noun} from {min(values)} to {max(values)}"
    return f"{noun}{'s' * (len(values) > 1)} {_list(_series(runs, str))}"


def _cycle(minutes: Collection[int], seconds: Collection[int]) -> tuple[int, int]:
    """The (step, offset) in seconds at which an hour is cut into equal parts, (0, 0) if it is not."""
    for values, unit, offset in ((seconds, 1, 0), (minutes, 60, min(seconds))):
        step = 60 // len(values)
        if set(values) == set(range(min(values), 60, step)) and 60 % len(values) == 0:
            if unit == 1 and len(minutes) == 60:
                return step, min(values)
            if unit == 60 and len(seconds) == 1:
                return step * 60, min(values) * 60 + offset
    return 0, 0


def _spacing(values: Collection[int]) -> int:
    """How far apart evenly spaced values are, 0 if they are not; one value is 1 apart."""
    ordered = sorted(values)
    steps = {later - earlier for earlier, later in zip(ordered, ordered[1:], strict=False)}
    return 1 if not steps else steps.pop() if len(steps) == 1 else 0


def _recurring_times(parts: Parts, start: datetime | None) -> str:
    given = [parts.hour, parts.minute, parts.second]
    if start:
        given = [values or (open_,) for values, open_ in zip(given, (start.hour, start.minute, start.second), strict=True)]
    elif not any(given[max(parts.freq - DAILY, 0) :]):
        return ""
    hours, minutes, seconds = given
    seconds = seconds or (0,)
    if parts.freq <= DAILY:
        if hours and minutes:
            return f" {_times(hours, minutes, seconds)[0]}"
        return f" {_field_by_field(seconds, minutes, hours)}"
    if parts.freq == SECONDLY or (parts.freq == MINUTELY and set(seconds) == {0}):
        return ""
    if parts.freq == MINUTELY or not minutes:
        return f" {_field_by_field(seconds, (), ())}"
    return "" if (set(minutes), set(seconds)) == ({0}, {0}) else f" {_field_by_field(seconds, minutes, ())}"


# Days


def _dates(values: Iterable[int], others: list[str]) -> list[str]:
    """Days of the month, as what can follow "on"."""
    numbers = sorted(values)
    if len(numbers) > 3 and (step := _spacing(numbers)) > 1:
        numbered = [f"every {_ordinal(step)} day from the {_ordinal(numbers[0])} to the {_ordinal(numbers[-1])}"]
    else:
        numbered = [f"the {_list(_series(_runs(numbers), _ordinal))}"] if numbers else []
    return numbered + others


def _special_date(form: str, number: int, _: int) -> str:
    last = f"the {_ordinal(number)} day before the last day" if number else "the last day"
    match form:
        case "W":
            return f"the weekday nearest the {_ordinal(number)}"
        case "LW":
            return f"the weekday nearest {last}" if number else "the last weekday"
    return last


def _dated(values: Collection[int], dates: list[str], months: str) -> str:
    """One day of one month: 25 December."""
    if len(dates) == len(values) == 1 and min(values) > 0 and months in MONTH_NAMES:
        return f"{min(values)} {months}"
    return ""


def _weekdays(plain: Collection[int], numbered: Iterable[tuple[int, int]], article: str = "") -> list[str]:
    """`numbered` holds (nth, weekday); with an article, plain days are each of them: "a Monday", "every Monday"."""
    if set(plain) == WEEKDAYS:
        names = [f"{article}weekday" if article else "weekdays"]
    else:
        names = _series(_runs(plain, 7), DAY_NAMES.__getitem__)
        names[:1] = [article + name for name in names[:1]]
    return names + [f"the {_place(nth)} {DAY_NAMES[day]}" for nth, day in numbered]


def _months(values: Collection[int]) -> str:
    return "" if len(values) in (0, 12) else _list(_series(_runs([number - 1 for number in values], 12), MONTH_NAMES.__getitem__))


def _recurring_days(parts: Parts, start: datetime | None) -> tuple[str, list[str]]:
    """What follows "every month", and what only narrows it down."""
    freq, months = parts.freq, _months(parts.month)
    last_days = [f"the {_place(number)} day" for number in reversed(parts.monthday) if number < 0]
    dates = _dates([number for number in parts.monthday if number > 0], last_days)
    plain = [day for nth, day in parts.weekday if not nth]
    numbered = [each for each in parts.weekday if each[0]]
    owned = freq == YEARLY and months and (dates or plain or numbered) and not (parts.yearday or parts.weekno)
    said = [f"the {_list(_place(day) for day in parts.yearday)} day of the year"] if parts.yearday else []
    if dates:
        open_month = start is None and not (parts.weekday or parts.yearday or parts.weekno)
        owner = months if owned else "the month it starts in" if open_month else "any month"
        date_alone = owned and not parts.weekday and _dated(parts.monthday, dates, months)
        said.append(date_alone or _list(dates) + (f" of {owner}" if freq == YEARLY else " of the month" if freq > MONTHLY else ""))
    if parts.weekday:
        article = "a " if said else "every " if freq <= MONTHLY else ""
        owner = f" {'of' if numbered else 'in'} {months}" if owned and not dates else " of the year" if numbered and freq == YEARLY else ""
        names = [_chosen_day(parts)] if _chosen_day(parts) else _weekdays(plain, numbered, article)
        said.append(_list(names, "or" if said else "and") + owner)
    days = " if it is ".join(said)
    if parts.weekno:
        numbers = [f"week {number}" if number > 0 else f"the {_place(number)} week" for number in parts.weekno]
        days += f" in {_list(numbers)} of the year"
    only = [f"only on {days}"] if days and freq >= DAILY else []
    if months and not owned:
        only.append(f"only in {months}")
    if not days or only[:1] == [f"only on {days}"]:
        return "", only
    return f" on {days}" if said else days, only


def _chosen_day(parts: Parts) -> str:
    """BYSETPOS where it picks whole days of a month: the last weekday."""
    days = frozenset(day for _, day in parts.weekday)
    nouns = {WEEKDAYS: "weekday", WEEKEND: "weekend day", EVERY_DAY: "day"}
    noun = nouns.get(days) or (DAY_NAMES[min(days)] if len(days) == 1 else "")
    others = parts.monthday or any(nth for nth, _ in parts.weekday) or max(map(len, (parts.hour, parts.minute, parts.second))) > 1
    if not parts.setpos or not noun or others or parts.freq != MONTHLY:
        return ""
    return f"the {_list(_place(each) for each in parts.setpos)} {noun}"


# Numbers and lists


def _runs(values: Iterable[int], cycle: int = 0) -> list[tuple[int, int]]:
    """Neighbours as (first, last); in a cycle a single run may go over its end."""
    runs: list[tuple[int, int]] = []
    for value in sorted(values):
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    if len(runs) == 2 and cycle and runs[0][0] == 0 and runs[1][1] == cycle - 1:
        return [(runs[1][0], runs[0][1] + cycle)]
    return runs


def _series(runs: Iterable[tuple[int, int]], name: Callable[[int], str]) -> list[str]:
    """Names, with "through" for three or more neighbours."""
    ...


def _list(items: Iterable[str], last: str = "and") -> str:
    *most, end = items
    return f"{', '.join(most)} {last} {end}" if most else end


def _ordinal(number: int) -> str:
    suffix = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _place(number: int) -> str:
    """first, 12th; -1 is last, -2 second-to-last."""
    if number == -1:
        return "last"
    name = PLACES[abs(number)] if abs(number) < len(PLACES) else _ordinal(abs(number))
    return name if number > 0 else f"{name}-to-last"


def _several(number: int, unit: str) -> str:
    return unit if number == 1 else f"{number} {unit}s"


def _span(seconds: int) -> str:
    unit, size = next((unit, size) for unit, size in SECONDS_IN.items() if seconds % size == 0)
    return _several(seconds // size, unit)


def _date(at: date) -> str:
    return f"{at.day} {MONTH_NAMES[at.month - 1]} {at.year}"


def _time(at: datetime) -> str:
    return f"{at.hour:02}:{at.minute:02}" + (f":{at.second:02}" if at.second else "")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
