"""The engine against cronsim, croniter and dateutil, wherever they read a text as Sexton does.

Where they part, and why Sexton is right (corpus/README.md has a case for most of them):

- `9-9/3` is 9; cronsim reads `9/3`: 9, 12, 15 … A range of one number holds one number.
- `1/2` in the day of the week is 1, 3, 5; cronsim goes on to 7 and so adds Sunday. The largest day is 6.
- `22-4` and `FRI-MON` wrap; cronsim refuses them.
- Asked in the second pass of a fold, cronsim answers with a time that is past.
- Around half-hour changes and changes at midnight (Lord Howe, St John's, Havana …) cronsim loses firings.
- `5-5` is 5; croniter reads the whole field.
- `59/15` in the minutes is 59; croniter reads `*/15`. From 59 on there is only 59.
- `57-3/2` is 57, 59, 1, 3; croniter starts the step anew at 0, which breaks the spacing.
- Of two day fields both must match if one starts with `*`, as in `*/2 * Sun`; croniter takes either unless
  one is a bare `*`. Debian's cron looks at the first character only.
- `0 0 1 * 0#1` is the first of the month or its first Sunday, as any two day fields; croniter wants both.
- Six fields have the seconds first; croniter has them last, which `seconds="last"` reads.
- A fixed time in a fold fires once; croniter fires it twice. Debian's cron does not re-run it.
- A fixed time in a gap fires at the gap's end; croniter has it later or not at all.
- `BYDAY=MO,2TU` is every Monday and the second Tuesday; dateutil yields nothing. RFC 5545 gives each day its
  own number.
- WEEKLY with BYSETPOS counts the whole week; dateutil counts the first one from DTSTART.
- BYWEEKNO counts the RFC's weeks, from WKST; dateutil puts 1 and 2 January into week 53 in some years.
- BYWEEKNO without a day means the day of DTSTART; dateutil yields all seven. RFC 5545: what a rule lacks
  comes from DTSTART.
- YEARLY with BYMONTHDAY and no BYMONTH means the month of DTSTART, by the same sentence; dateutil takes every
  month.
- What RFC 5545 forbids (BYYEARDAY with DAILY, `BYDAY=1MO` with WEEKLY …) is refused; dateutil answers.
- A rule that never comes is refused or ends; dateutil searches up to the year 9999, or forever.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from croniter.croniter import CroniterError
from cronsim import CronSim, CronSimError
from dateutil.rrule import rrulestr
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from sexton.errors import ScheduleError
from sexton.schedules import parse
from tests.schedules.oracle import DAY_NAMES, MONTH_NAMES
from tests.schedules.strategies import (
    SPANS,
    Question,
    cron_near_changes,
    cron_over_months,
    recurrences,
    times,
)

if TYPE_CHECKING:
    from sexton.schedules import Schedule

# Whole hours, in the small hours but not at midnight: what both cronsim and Debian's cron were made for.
PLAIN_ZONES = [
    ("America/New_York", 2026),
    ("Europe/Berlin", 2026),
    ("Europe/London", 2025),
    ("Australia/Sydney", 2024),
]


def first(schedule: Schedule, at: datetime, number: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < number and (following := schedule.next_after(at)) is not None:
        found.append(at := following)
    return found


def has_range_of_one(text: str) -> bool:
    """`5-5`, but also `0-SUN` and `JAN-1`."""
    ranges = re.findall(r"(\d+)-(\d+)", without_names(text))
    return any(int(a) == int(b) or {a, b} == {"0", "7"} for a, b in ranges)


def has_stepped_wrap(text: str) -> bool:
    return any(int(a) > int(b) for a, b in re.findall(r"(\d+)-(\d+)/", without_names(text)))


def without_names(text: str) -> str:
    for n, name in [*enumerate(DAY_NAMES), *enumerate(MONTH_NAMES, 1)]:
        text = re.sub(name, str(n), text, flags=re.IGNORECASE)
    return text


@settings(max_examples=times(200))
@given(st.one_of(cron_near_changes(), cron_over_months()))
def test_cronsim_in_utc(question: Question) -> None:
    text = question.text.replace("?", "*")
    assume(not has_range_of_one(text))
    assume(not re.search(r"(^|,)\d/", text.split()[-1]))
    start = question.start.replace(microsecond=0)
    try:
        simulated = list(islice(CronSim(text, start), 8))
    except CronSimError:
        event("refused by cronsim")
        return
    event("compared")
    if simulated:
        assert first(parse(text, timezone="UTC"), start, 8) == simulated
    else:
        with pytest.raises(ScheduleError, match="never"):
            parse(text, timezone="UTC")


@pytest.mark.parametrize(("zone", "year"), PLAIN_ZONES)
def test_cronsim_over_clock_changes(zone: str, year: int) -> None:
    """Debian's reading, by another library: running rules follow the clock, fixed ones come once."""
    plain = re.compile(r"\d{1,2}|\*|\*/[1-9]\d?")

    @settings(max_examples=times(40))
    @given(cron_near_changes(near=[(zone, year)]))
    def ask(question: Question) -> None:
        minute, hour, *days = question.text.split()
        assume(len(days) == 3)
        assume(plain.fullmatch(minute) and plain.fullmatch(hour))
        start = question.start.replace(microsecond=0, second=0, minute=0) - timedelta(hours=12)
        simulated = list(islice(CronSim(question.text, start.astimezone(ZoneInfo(zone))), 60))
        expected = [at.astimezone(UTC) for at in simulated if at <= question.end]
        assert (
            list(parse(question.text, timezone=zone).between(start, question.end))[: len(expected)]
            == expected
        )

    ask()


@settings(max_examples=times(200))
@given(st.one_of(cron_near_changes(), cron_over_months()))
def test_croniter_in_utc(question: Question) -> None:
    text = question.text
    fields = text.split()
    month_day, _, week_day = fields[-3:]
    assume(not has_range_of_one(text))
    assume(not has_stepped_wrap(text))
    assume(not re.search(r"(?<![-\d])\d+/", text))
    assume(not re.search(r"[LW?]|7", f"{month_day} {week_day}"))
    assume("*" in (month_day, week_day) or not set("*#") & set(month_day + week_day))
    start = question.start.replace(microsecond=0)
    order = " ".join([*fields[1:], fields[0]]) if len(fields) == 6 else text
    try:
        other = croniter(order, start, ret_type=datetime, max_years_between_matches=20)
        simulated = [other.get_next() for _ in range(8)]
    except CroniterError:
        event("refused by croniter")
        return
    event("compared")
    assert first(parse(text, timezone="UTC"), start, 8) == simulated
    assert first(parse(order, timezone="UTC", seconds="last"), start, 8) == simulated


@pytest.mark.parametrize("frequency", SPANS)
def test_dateutil_in_utc(frequency: str) -> None:
    @settings(max_examples=times(40))
    @given(recurrences(frequency))
    def ask(question: Question) -> None:
        text = re.sub(r"DTSTART;TZID=[^:]*:(\d+T\d+)", r"DTSTART:\1Z", question.text)
        text = re.sub(r"(UNTIL=\d+T\d+)(?!\d|Z)", r"\1Z", text)
        assume(not parts_ways(text))
        start = datetime.strptime(text[8:23], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        try:
            schedule = parse(text, timezone="UTC")
            ours = first(schedule, start - timedelta(seconds=1), 10)
        except ScheduleError as refused:
            # Whether a refusal is just is asked against the oracle.
            event(refused.code)
            return
        # Asking dateutil beyond the last answer, or over a long silence, takes minutes.
        near = [at for at in ours if at - start < 3 * SPANS[frequency][0]]
        event("compared" if near else "no answer nearby")
        if near:
            assert list(islice(rrulestr(text), len(near))) == near

    ask()


def parts_ways(text: str) -> bool:
    """Whether dateutil is known to read a rule otherwise; the table above says how."""
    rule = dict(part.split("=") for part in text.split("RRULE:")[1].split(";"))
    numbered = {bool(re.match(r"[-+\d]", day)) for day in rule.get("BYDAY", "").split(",")}
    return (
        numbered == {True, False}
        or "BYWEEKNO" in rule
        or (rule["FREQ"] == "WEEKLY" and "BYSETPOS" in rule)
        or (rule["FREQ"] == "YEARLY" and "BYMONTHDAY" in rule and "BYMONTH" not in rule)
        or re.fullmatch(r"\d{8}", rule.get("UNTIL", "")) is not None
    )
