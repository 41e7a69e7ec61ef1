"""Schedules in words: a table of what is said, and that different rules are said differently."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.schedules import parse, words
from sexton.schedules.cron import SPECS, Cron, CronDays, FieldSpec
from sexton.schedules.rfc5545 import Frequency, Parts
from sexton.schedules.zone import zone_names

CRON = [
    ("* * * * *", "Every minute"),
    ("*/15 * * * *", "Every 15 minutes"),
    ("*/7 * * * *", "Every 7th minute from 0 to 56 of every hour"),
    ("5/15 * * * *", "Every 15th minute from 5 to 50 of every hour"),
    ("0 * * * *", "Every hour"),
    ("30 * * * *", "At minute 30 of every hour"),
    ("0 */2 * * *", "Every 2 hours"),
    ("0 */5 * * *", "Every 5 hours from 00:00 to 20:00 every day"),
    ("30 */2 * * *", "Every 2 hours from 00:30 to 22:30 every day"),
    ("0 9 * * *", "At 09:00 every day"),
    ("0 9,17 * * 1-5", "At 09:00 and 17:00 on weekdays"),
    ("* 9-17 * * 1-5", "Every minute from 09:00 to 17:59 on weekdays"),
    ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:45 on weekdays"),
    ("0 9-17 * * *", "Every hour from 09:00 to 17:00 every day"),
    ("0 22-4 * * 1", "Every hour from 00:00 to 04:00 and from 22:00 to 23:00 on Monday"),
    ("*/10 22-4 * * *", "Every 10 minutes from 00:00 to 04:50 and from 22:00 to 23:50 every day"),
    ("*/15 */2 * * *", "Every 15th minute from 0 to 45 of every 2nd hour from 0 to 22"),
    ("5,10,32 * * * *", "At minutes 5, 10 and 32 of every hour"),
    ("5,10,32 9-17 * * *", "At minutes 5, 10 and 32 of every hour from 9 to 17"),
    ("10-20 * * * *", "Every minute from 10 to 20 of every hour"),
    ("0-5,30 8,12 * * *", "At minutes 0 through 5 and 30 of hours 8 and 12"),
    ("0 9 LW * *", "At 09:00 on the last weekday of the month"),
    ("0 9 L * *", "At 09:00 on the last day of the month"),
    ("0 9 L-3 * *", "At 09:00 on the fourth-to-last day of the month"),
    ("0 9 L-3W * *", "At 09:00 on the weekday nearest the fourth-to-last day of the month"),
    ("0 9 15W * *", "At 09:00 on the weekday nearest the 15th of the month"),
    ("0 9 1,15 * *", "At 09:00 on the 1st and 15th of the month"),
    ("0 9 1-7 * *", "At 09:00 on the 1st through 7th of the month"),
    ("0 9 */2 * *", "At 09:00 on every 2nd day from the 1st to the 31st of the month"),
    ("0 0 1 1 *", "At 00:00 on 1 January"),
    ("0 0 25 12 *", "At 00:00 on 25 December"),
    ("0 0 1 */3 *", "At 00:00 on the 1st of January, April, July and October"),
    ("0 0 13 * 5", "At 00:00 on the 13th of the month and on every Friday"),
    ("0 0 13 1 5", "At 00:00 in January, on the 13th and on every Friday"),
    ("0 0 13 * */2", "At 00:00 on the 13th of the month if it is a Tuesday, Thursday, Saturday or Sunday"),
    ("0 0 */2 * 1", "At 00:00 on every 2nd day from the 1st to the 31st of the month if it is a Monday"),
    ("0 0 */2 * 1-5", "At 00:00 on every 2nd day from the 1st to the 31st of the month if it is a weekday"),
    ("0 9 * * 5#2", "At 09:00 on the second Friday of the month"),
    ("0 9 * * 5L", "At 09:00 on the last Friday of the month"),
    ("0 9 * * 5L,1", "At 09:00 on Monday and the last Friday of the month"),
    (
        "0 9 * 3-5 5#2,1#1",
        "At 09:00 on the first Monday and the second Friday of each month in March through May",
    ),
    ("0 9 * * 1-4", "At 09:00 on Monday through Thursday"),
    ("0 9 * * FRI-MON", "At 09:00 on Friday through Monday"),
    ("0 9 * * 0,6", "At 09:00 on Saturday and Sunday"),
    ("0 9 * 11-2 *", "At 09:00 every day in November through February"),
    ("0 9 1-31 * 5", "At 09:00 every day"),
    ("0 9 1 * 0-6", "At 09:00 every day"),
    ("0 9 1 * 1-5", "At 09:00 on the 1st of the month and on every weekday"),
    ("* * * * * *", "Every second"),
    ("*/10 * * * * *", "Every 10 seconds"),
    ("30 * * * * *", "At second 30 of every minute"),
    ("30 */15 * * * *", "At second 30 of every 15th minute from 0 to 45 of every hour"),
    ("*/10 * 9-17 * * *", "Every 10 seconds from 09:00:00 to 17:59:50 every day"),
    ("15 30 9 * * *", "At 09:30:15 every day"),
    ("15 30 * * * *", "At second 15 of minute 30 of every hour"),
    ("*/7 3,9 9-17 * * *", "Every 7th second from 0 to 56 of minutes 3 and 9 of every hour from 9 to 17"),
    ("0 30 9-12,15 * * *", "At 09:30, 10:30, 11:30, 12:30 and 15:30 every day"),
    ("0 0 0,12 * * *", "At 00:00 and 12:00 every day"),
    ("0 0 */8 * * *", "Every 8 hours"),
    ("0 1,3,4,8,11,13,17 * * *", "At 01:00, 03:00, 04:00, 08:00, 11:00, 13:00 and 17:00 every day"),
    ("30 1-3,5-7 * * *", "Every hour from 01:30 to 03:30 and from 05:30 to 07:30 every day"),
    (
        "* 1,3,5 * * *",
        "Every minute from 01:00 to 01:59, from 03:00 to 03:59 and from 05:00 to 05:59 every day",
    ),
    ("0 0 29 2 *", "At 00:00 on 29 February"),
    ("0 0 L 2 *", "At 00:00 on the last day of February"),
    ("0 0 1,L * *", "At 00:00 on the 1st and the last day of the month"),
    (
        "0 0 1,15W * 1#1",
        "At 00:00 on the 1st and the weekday nearest the 15th of the month and on the first Monday",
    ),
    ("@yearly", "At 00:00 on 1 January"),
    ("@weekly", "At 00:00 on Sunday"),
    ("0 12 ? * MON", "At 12:00 on Monday"),
    ("59 23 31 12 *", "At 23:59 on 31 December"),
    ("*/20 9 * * *", "At 09:00, 09:20 and 09:40 every day"),
    ("0,30 9-17 * * 1-5", "Every 30 minutes from 09:00 to 17:30 on weekdays"),
    ("1-59/2 * * * *", "Every 2nd minute from 1 to 59 of every hour"),
    ("0 6-18/3 * * *", "Every 3 hours from 06:00 to 18:00 every day"),
    ("0 0 1,15 * 1", "At 00:00 on the 1st and 15th of the month and on every Monday"),
    ("0 0 1 1-3 *", "At 00:00 on the 1st of each month in January through March"),
    ("0 0 * * 1-5,0", "At 00:00 on Sunday through Friday"),
    ("0 0 L-1 12 *", "At 00:00 on the second-to-last day of December"),
    ("0 0 1W 1,7 *", "At 00:00 on the weekday nearest the 1st of January and July"),
    ("0 0 8-14 * *", "At 00:00 on the 8th through 14th of the month"),
    (
        "0 0 8-14/2 * 2",
        "At 00:00 on every 2nd day from the 8th to the 14th of the month and on every Tuesday",
    ),
    ("0 9 * 1 5L", "At 09:00 on the last Friday in January"),
    ("0,10,20,30 0 9 * * *", "At 09:00:00, 09:00:10, 09:00:20 and 09:00:30 every day"),
    ("0/5 14,18 * * *", "Every 5 minutes from 14:00 to 14:55 and from 18:00 to 18:55 every day"),
    ("* 0-11 * * *", "Every minute from 00:00 to 11:59 every day"),
    ("* 0,12 * * *", "Every minute from 00:00 to 00:59 and from 12:00 to 12:59 every day"),
]

RECURRENCES = [
    ("FREQ=DAILY", "Every day at 09:00"),
    ("FREQ=DAILY;INTERVAL=3", "Every 3 days at 09:00"),
    ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0", "Every day at 09:00 and 17:00"),
    ("FREQ=DAILY;BYHOUR=9", "Every day at 09:00"),
    ("FREQ=DAILY;BYHOUR=8,9,10,11,12,13;BYMINUTE=0,30", "Every day, every 30 minutes from 08:00 to 13:30"),
    ("FREQ=DAILY;BYDAY=MO,FR", "Every day at 09:00, only on Monday and Friday"),
    ("FREQ=DAILY;BYMONTH=1,2", "Every day at 09:00, only in January and February"),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0;COUNT=10",
        "Every 2 weeks on Monday and Friday at 09:00, 10 times",
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;WKST=SU;UNTIL=20261231T235959Z",
        "Every 2 weeks on Friday at 09:00, weeks starting on Sunday, until 31 December 2026 23:59:59 UTC",
    ),
    ("FREQ=WEEKLY;UNTIL=20261231", "Every week on Monday at 09:00, until 31 December 2026"),
    (
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;UNTIL=20261231T120000",
        "Every week on weekdays at 09:00, until 31 December 2026 12:00",
    ),
    ("FREQ=MONTHLY", "Every month on the 2nd at 09:00"),
    ("FREQ=MONTHLY;BYMONTHDAY=15,-1", "Every month on the 15th and the last day at 09:00"),
    ("FREQ=MONTHLY;BYMONTHDAY=-2", "Every month on the second-to-last day at 09:00"),
    ("FREQ=MONTHLY;BYDAY=2FR", "Every month on the second Friday at 09:00"),
    ("FREQ=MONTHLY;BYDAY=-1FR,1MO", "Every month on the first Monday and the last Friday at 09:00"),
    ("FREQ=MONTHLY;BYDAY=MO,2TU", "Every month on every Monday and the second Tuesday at 09:00"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "Every month on the last weekday at 09:00"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1", "Every month on the first and last weekday at 09:00"),
    (
        "FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1;BYHOUR=9,17",
        "Every month on every Saturday and Sunday at 09:00 and 17:00, only the first of each month",
    ),
    (
        "FREQ=MONTHLY;BYDAY=TU,WE;BYSETPOS=3",
        "Every month on every Tuesday and Wednesday at 09:00, only the third of each month",
    ),
    ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "Every month on the 13th at 09:00, if it is a Friday"),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYMONTH=3,6;BYMONTHDAY=15",
        "Every 2 months on the 15th at 09:00, only in March and June",
    ),
    ("FREQ=YEARLY", "Every year on 2 November at 09:00"),
    ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25", "Every year on 25 December at 09:00"),
    ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "Every year on the fourth Thursday in November at 09:00"),
    (
        "FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=2,3,4,5,6,7,8;BYDAY=TU;INTERVAL=4",
        "Every 4 years on the 2nd through 8th of November at 09:00, if it is a Tuesday",
    ),
    ("FREQ=YEARLY;BYDAY=20MO", "Every year on the 20th Monday of the year at 09:00"),
    ("FREQ=YEARLY;BYDAY=MO", "Every year on every Monday at 09:00"),
    ("FREQ=YEARLY;BYDAY=MO;BYMONTH=3", "Every year on every Monday in March at 09:00"),
    ("FREQ=YEARLY;BYWEEKNO=20", "Every year on every Monday in week 20 of the year at 09:00"),
    (
        "FREQ=YEARLY;BYWEEKNO=20,-1;BYDAY=MO",
        "Every year on every Monday in week 20 and the last week of the year at 09:00",
    ),
    ("FREQ=YEARLY;BYYEARDAY=1,100,200", "Every year on the 1st, 100th and 200th day of the year at 09:00"),
    ("FREQ=YEARLY;BYYEARDAY=-1", "Every year on the last day of the year at 09:00"),
    ("FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR", "Every year on 13 November at 09:00, if it is a Friday"),
    ("FREQ=YEARLY;BYMONTHDAY=13", "Every year on 13 November at 09:00"),
    ("FREQ=YEARLY;BYMONTH=1,7", "Every year on the 2nd of January and July at 09:00"),
    ("FREQ=HOURLY", "Every hour"),
    ("FREQ=HOURLY;INTERVAL=3;BYMINUTE=30", "Every 3 hours at minute 30"),
    (
        "FREQ=HOURLY;BYHOUR=9,10,11,12;BYMINUTE=0,15,30,45",
        "Every hour, every 15th minute from 0 to 45, only in hours 9 through 12",
    ),
    ("FREQ=HOURLY;BYDAY=MO", "Every hour, only on Monday"),
    (
        "FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10,11,12,13,14,15,16",
        "Every 15 minutes, only in hours 9 through 16",
    ),
    ("FREQ=MINUTELY;INTERVAL=90", "Every 90 minutes"),
    ("FREQ=MINUTELY;BYSECOND=0,30", "Every minute at seconds 0 and 30"),
    ("FREQ=SECONDLY;INTERVAL=10", "Every 10 seconds"),
    ("FREQ=SECONDLY;BYSECOND=0,30", "Every second, only in seconds 0 and 30"),
    ("FREQ=DAILY;COUNT=1", "Every day at 09:00, only once"),
    (
        "FREQ=HOURLY;BYMONTHDAY=1;BYDAY=MO;COUNT=3",
        "Every hour, only on the 1st of the month if it is a Monday, 3 times",
    ),
]

# Without an anchor, what it would have to say is left unsaid.
OPEN_RECURRENCES = [
    ("FREQ=DAILY", "Every day"),
    ("FREQ=DAILY;BYHOUR=9", "Every day at hour 9"),
    ("FREQ=WEEKLY;UNTIL=20261231", "Every week, until 31 December 2026"),
    ("FREQ=MONTHLY", "Every month"),
    ("FREQ=YEARLY", "Every year"),
    ("FREQ=YEARLY;BYWEEKNO=20", "Every year in week 20 of the year"),
    ("FREQ=YEARLY;BYMONTHDAY=13", "Every year on the 13th of the month it starts in"),
    ("FREQ=YEARLY;BYMONTH=1,7", "Every year, only in January and July"),
]

OTHERS = [
    ("every 90s", "Every 1 minute and 30 seconds"),
    ("every 15m", "Every 15 minutes"),
    ("every 1h", "Every hour"),
    ("@every 1h30m", "Every 1 hour and 30 minutes"),
    ("every 1d", "Every 24 hours"),
    ("every 1w", "Every 7 days"),
    ("every 2d1s", "Every 2 days and 1 second"),
    ("PT36H", "Every 1 day and 12 hours"),
    ("2026-12-24T18:00", "Once on 24 December 2026 at 18:00, UTC"),
    ("2026-02-01T00:00:30", "Once on 1 February 2026 at 00:00:30, UTC"),
]

PLACES = [
    ("UTC", "UTC"),
    ("Etc/UTC", "UTC"),
    ("America/New_York", "New York time"),
    ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
    ("Australia/Lord_Howe", "Lord Howe time"),
    ("US/Eastern", "US Eastern time"),
    ("Japan", "Japan time"),
    ("EST5EDT", "EST5EDT"),
    ("Etc/GMT+5", "GMT-5"),
]


@pytest.mark.parametrize(("text", "said"), CRON)
def test_cron(text: str, said: str) -> None:
    assert parse(text).explain() == f"{said}, UTC"


@pytest.mark.parametrize(("text", "said"), RECURRENCES)
def test_recurrence(text: str, said: str) -> None:
    assert parse(text, anchor="2026-11-02T09:00", timezone="UTC").explain() == f"{said}, UTC"


@pytest.mark.parametrize(("text", "said"), OPEN_RECURRENCES)
def test_recurrence_without_anchor(text: str, said: str) -> None:
    assert parse(text).explain() == f"{said}, UTC"


@pytest.mark.parametrize(("text", "said"), OTHERS)
def test_interval_and_once(text: str, said: str) -> None:
    assert parse(text, timezone="UTC").explain() == said


@pytest.mark.parametrize(("name", "said"), PLACES)
def test_place(name: str, said: str) -> None:
    assert words.place(name) == said


def test_hashed_fields_are_said_as_the_times_they_stand_for() -> None:
    schedule = parse("H H * * *", key="reports")
    at = schedule.next_after(datetime(2026, 1, 1, tzinfo=UTC))
    assert at is not None
    assert schedule.explain() == f"At {at:%H:%M} every day, UTC"


def test_every_zone_has_a_name_that_people_say() -> None:
    for name in zone_names():
        said = words.place(name)
        assert said
        assert "/" not in said
        assert "_" not in said


# Different rules, different words

# What the values of one field may look like: written alone and combined with each other.
TIMES = (
    "*",
    "0",
    "5",
    "0,30",
    "*/2",
    "*/7",
    "1-59/2",
    "5/15",
    "*/15",
    "0-5",
    "0-5,9",
    "1,4,5,6,11,23",
    "0-23",
    "12",
)
HOURS = (
    "*",
    "0",
    "9",
    "0,12",
    "*/2",
    "*/5",
    "9-17",
    "22-4",
    "8,9,13",
    "1-3,5-7",
    "0-11,13-23",
    "2/7",
    "1,3,4,8,9,17,20,21,22",
)
DATES = (
    "*",
    "1",
    "1,15",
    "1-7",
    "*/2",
    "2/2",
    "L",
    "L-1",
    "LW",
    "L-1W",
    "15W",
    "1,L",
    "31",
    "1-31",
    "15,15W",
    "1-30",
    "*/16",
    "1,17",
)
MONTHS = ("*", "1", "1,7", "11-2", "3-5", "*/3", "2")
WEEKDAYS = (
    "*",
    "1",
    "1-5",
    "0,6",
    "FRI-MON",
    "*/2",
    "0,2,4,6",
    "5L",
    "5#2",
    "1,5#2",
    "1-4",
    "0-6",
    "1#1,5L",
    "0",
)


def meaning_of_days(rule: Cron) -> tuple[object, ...]:
    """The matching days of every month there can be: four lengths, seven first weekdays."""
    _, _, _, dom, month, dow = rule.fields
    days = CronDays(dom, month, dow)
    months = [(2000 + year, number) for year in range(28) for number in sorted(month.values)]
    return tuple(sorted({(year % 28, number, days.mask(year, number)) for year, number in months}))


def test_every_combination_of_times_has_words_of_its_own() -> None:
    said: dict[str, tuple[frozenset[int], ...]] = {}
    for second, minute, hour in product(TIMES, TIMES, HOURS):
        rule = Cron.parse(f"{second} {minute} {hour} * * *")
        values = tuple(field.values for field in rule.fields[:3])
        assert said.setdefault(rule.words(), values) == values, rule.words()


def test_every_combination_of_days_has_words_of_its_own() -> None:
    said: dict[str, tuple[object, ...]] = {}
    for dom, month, dow in product(DATES, MONTHS, WEEKDAYS):
        rule = Cron.parse(f"0 0 {dom} {month} {dow}")
        meaning = meaning_of_days(rule)
        assert said.setdefault(rule.words(), meaning) == meaning, rule.words()


def numbers(spec: FieldSpec) -> st.SearchStrategy[str]:
    """A field as any list of numbers, ranges and steps."""
    number = st.integers(spec.low, spec.high)
    step = st.integers(1, spec.high)
    item = st.one_of(
        number.map(str),
        st.tuples(number, number).map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(number, number, step).map(lambda three: f"{three[0]}-{three[1]}/{three[2]}"),
        st.just("*"),
        step.map("*/{}".format),
    )
    return st.lists(item, min_size=1, max_size=4).map(",".join)


LINES = st.tuples(*map(numbers, SPECS))


@given(LINES, LINES)
def test_lines_that_differ_in_one_field_differ_in_words(
    first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    rule = Cron.parse(" ".join(first))
    for place in range(6):
        other = Cron.parse(" ".join((*first[:place], second[place], *first[place + 1 :])))
        same_times = all(a.values == b.values for a, b in zip(rule.fields[:3], other.fields[:3], strict=True))
        alike = same_times and meaning_of_days(rule) == meaning_of_days(other)
        assert alike or rule.words() != other.words()


def some(low: int, high: int, *, negative: bool = False) -> st.SearchStrategy[tuple[int, ...]]:
    number = st.integers(low, high)
    signed = number | number.map(lambda value: -value) if negative else number
    return st.just(()) | st.sets(signed, max_size=5).map(lambda values: tuple(sorted(values)))


EPOCH = date(1970, 1, 1)
PARTS = st.builds(
    Parts,
    freq=st.sampled_from(Frequency),
    interval=st.integers(1, 40),
    count=st.none() | st.integers(1, 20),
    second=some(0, 59),
    minute=some(0, 59),
    hour=some(0, 23),
    weekday=st.sets(st.tuples(st.integers(-5, 5), st.integers(0, 6)), max_size=4).map(
        lambda days: tuple(sorted(days))
    ),
    monthday=some(1, 31, negative=True),
    yearday=some(1, 366, negative=True),
    weekno=some(1, 53, negative=True),
    month=some(1, 12),
    setpos=some(1, 366, negative=True),
    week_start=st.integers(0, 6),
)


@given(PARTS, st.none() | st.integers(0, 2**32))
def test_every_recurrence_can_be_said(parts: Parts, anchor: int | None) -> None:
    said = words.recurrence(parts, anchor)
    assert said.startswith("Every ")
    assert "  " not in said
    assert " ," not in said


@given(PARTS, PARTS)
def test_recurrences_that_differ_in_one_part_differ_in_words(parts: Parts, others: Parts) -> None:
    for name in ("freq", "interval", "count", "month", "monthday", "yearday", "weekno", "weekday", "setpos"):
        other = replace(parts, **{name: getattr(others, name)})
        if parts.with_days_of(EPOCH) != other.with_days_of(EPOCH):
            assert words.recurrence(parts, 0) != words.recurrence(other, 0)


@given(st.integers(1, 10**10), st.integers(1, 10**10))
def test_intervals_differ_in_words(first: int, second: int) -> None:
    assert (first == second) == (words.interval(first) == words.interval(second))
