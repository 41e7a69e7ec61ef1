"""Warnings about a text that other programs read in another way, or whose author probably means more.

A warning is one plain sentence: what the text means here, and what to write for the other meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sexton.errors import ScheduleError
from sexton.schedules import words
from sexton.schedules.cron import SPECS, Cron, Field, FieldSpec
from sexton.schedules.foreign import weekdays_from_one
from sexton.schedules.recurrence import Recurrence
from sexton.schedules.rfc5545 import Frequency
from sexton.schedules.wall import Budget, from_wall, month_length

ANCHOR = "this schedule counts from no start, so the anchor is not used: to begin later give starts_at"

#: For each field: what it counts, and where the count starts again.
COUNTED = {
    "second": ("seconds", "minute"),
    "minute": ("minutes", "hour"),
    "hour": ("hours", "day"),
    "day of month": ("days", "month"),
    "month": ("months", "year"),
    "day of week": ("days", "week"),
}


def of_steps(rule: Cron) -> list[str]:
    """Steps that leave their field after one value, or after two unevenly: cron does not carry them over."""
    fields = zip(SPECS, rule.fields, strict=True)
    return [
        said for spec, field in fields for item in field.text.split(",") if (said := _of_step(spec, item))
    ]


def of_dates(days: Collection[int], months: Collection[int]) -> list[str]:
    """Months that have none of the days of the month that are wanted, while others have."""
    without = [month for month in sorted(months) if month_length(2000, month) < min(days)]
    if not without or len(months) in (len(without), 12):
        return []
    names = words.listed([words.MONTH_NAMES[month - 1] for month in without])
    wanted = words.listed([str(day) for day in sorted(days)], "or")
    return [f"{names} {'has' if len(without) == 1 else 'have'} no day {wanted}: nothing fires then"]


def of_cron_dates(rule: Cron) -> list[str]:
    """For a line whose days are dates alone."""
    _, _, _, dom, month, dow = rule.fields
    return of_dates(dom.values, month.values) if dow.star and dom.values and not dom.special else []


def of_dialects(rule: Cron, text: str, seconds: str | None, key: str | None) -> list[str]:
    """Lines that Quartz, Spring and croniter read as other times."""
    second, _, _, dom, _, dow = rule.fields
    six = len(text.split()) == 6
    found = []
    if "?" in dom.text and (other := _in_quartz(dow)):
        found.append(
            f"day of week {dow.text} is {words.days_of_week(dow)} here, where 0 and 7 are Sunday, and "
            f"{other} in Quartz, where 1 is Sunday: write names, such as MON"
        )
    if six and not (dom.star or dow.star):
        found.append(
            f"a day has to match day of month {dom.text} or day of week {dow.text} here, and both in Spring: "
            "for both write a recurrence with BYMONTHDAY and BYDAY"
        )
    if six and seconds is None and (other := _seconds_last(rule, text, key)):
        found.append(
            f"the first of the six fields, {second.text}, is read as the seconds; croniter takes the last "
            f"one as the seconds and reads: {other} (for that give seconds=last, else seconds=first)"
        )
    if six and seconds is None and (other := _year_last(text, key)):
        line = " ".join(text.split()[:5])
        found.append(
            "the six fields are read with the seconds first; programs with the year last read: "
            f"{other} (for that write {line})"
        )
    return found


def of_recurrence(rule: Recurrence, *, complete: bool) -> list[str]:
    """Of a rule; a `complete` one has a DTSTART of its own."""
    parts = rule.parts
    found = []
    if (
        parts.freq is Frequency.YEARLY
        and parts.monthday
        and not (parts.month or parts.yearday or parts.weekno)
    ):
        month = "the month of its start"
        if rule.anchor is not None:
            month = words.MONTH_NAMES[from_wall(rule.anchor).month - 1]
        found.append(
            f"FREQ=YEARLY with BYMONTHDAY and without BYMONTH comes in {month} only: "
            "for every month write FREQ=MONTHLY"
        )
    if parts.monthday and min(parts.monthday) > 0 and not (parts.yearday or parts.weekno):
        found += of_dates(parts.monthday, parts.month)
    first = rule.next(rule.first - 1, Budget()) if complete else None
    if first is not None and first != rule.first:
        found.append(
            f"DTSTART, {words.moment(from_wall(rule.first))}, does not match the rule and is no occurrence: "
            f"the first is {words.moment(from_wall(first))}"
        )
    return found


def _of_step(spec: FieldSpec, item: str) -> str | None:
    body, _, step_text = item.partition("/")
    size = spec.high - spec.low + 1
    if not step_text.isdigit() or body[:1] in "Hh" or (step := int(step_text)) == size:
        return None
    from_start = body in ("*", "?", str(spec.low))
    first, dash, last = body.partition("-")
    short = dash and first.isdigit() and last.isdigit() and 0 <= int(last) - int(first) < step
    if step > size or short:
        matched = str(spec.low) if from_start else first
    elif from_start and 2 * step > size and spec.high in (59, 23):
        matched = f"{spec.low} and {spec.low + step}"
    else:
        return None
    units, whole = COUNTED[spec.name]
    wanted = f"FREQ=MONTHLY;INTERVAL={step}" if units == "months" else f"every {step}{units[0]}"
    return (
        f"{item} in the field {spec.name} matches {matched} only, since steps start again with each {whole}: "
        f"for every {step} {units} write {wanted}"
    )


def _in_quartz(dow: Field) -> str | None:
    """The days that Quartz reads, if they are others. A line with the day 0 is not from Quartz."""
    shifted = weekdays_from_one(dow.text)
    if shifted is None:
        return None
    other = Cron.parse(f"0 0 * * {shifted}").fields[-1]
    same = (other.values, other.special) == (dow.values, dow.special)
    return None if same else words.days_of_week(other)


def _year_last(text: str, key: str | None) -> str | None:
    """What the line means without its last field, where that may stand for any year: few authors want every
    hour of some months."""
    *_, hour, _, month, last = text.split()
    if last != "*" or not hour.startswith("*") or month.startswith("*"):
        return None
    try:
        return Cron.parse(text.rsplit(None, 1)[0], key=key).words()
    except ScheduleError:
        return None


def _seconds_last(rule: Cron, text: str, key: str | None) -> str | None:
    """What the line means with the seconds last, where its last field may be seconds: 0, a step, or a number
    with an open hour."""
    *_, hour, _, _, last = text.split()
    if not (re.fullmatch(r"0+|[*0]/[0-9]+", last) or (last.isdigit() and hour.startswith("*"))):
        return None
    try:
        other = Cron.parse(text, key=key, seconds="last")
    except ScheduleError:
        return None
    comes = other.canonical() != rule.canonical() and other.next(0, Budget()) is not None
    return other.words() if comes else None
