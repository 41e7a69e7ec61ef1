"""A whole schedule in words, and the words read back: what is said is what fires."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.schedules import Calendar, parse
from sexton.schedules.words import DAY_NAMES, MONTH_NAMES

BERLIN = "DTSTART;TZID=Europe/Berlin:20261020T090000\nRRULE:FREQ=DAILY"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            f"{BERLIN}\nRDATE;TZID=Europe/Berlin:20261020T150000\nEXDATE;TZID=Europe/Berlin:20261021T090000",
            {},
            "Every day at 09:00, Berlin time, also on 20 October 2026 15:00, except on 21 October 2026 09:00",
        ),
        (
            f"{BERLIN}\nRDATE:20261020T130000Z,20261225T080000Z\nEXDATE:20261021T070000Z",
            {},
            (
                "Every day at 09:00, Berlin time, also on 20 October 2026 15:00 and 25 December 2026 09:00, "
                "except on 21 October 2026 09:00"
            ),
        ),
        (
            f"{BERLIN}\nEXDATE;VALUE=DATE:20261021,20261023",
            {},
            "Every day at 09:00, Berlin time, except on 21 October 2026 and 23 October 2026",
        ),
        ("RDATE:20261020T130000Z", {}, "Once on 20 October 2026 at 13:00, UTC"),
        (
            "RDATE:20261020T130000Z\nRDATE;TZID=Asia/Tokyo:20261021T090000",
            {},
            "On 20 October 2026 22:00 and 21 October 2026 09:00, Tokyo time",
        ),
        (
            "RDATE:" + ",".join(f"202610{day:02}T130000Z" for day in range(1, 13)),
            {},
            "12 times, from 1 October 2026 13:00 to 12 October 2026 13:00, UTC",
        ),
        (
            f"{BERLIN}\nEXDATE:" + ",".join(f"202611{day:02}T080000Z" for day in range(1, 13)),
            {},
            (
                "Every day at 09:00, Berlin time, "
                "except on 12 times from 1 November 2026 09:00 to 12 November 2026 09:00"
            ),
        ),
        (
            "0 9 * * *",
            {"timezone": "Europe/Berlin", "starts_at": "2026-10-20T09:00", "ends_at": "2026-12-31T22:59:59Z"},
            "At 09:00 every day, Berlin time, from 20 October 2026 09:00, until 31 December 2026 23:59:59",
        ),
        (
            "every 15m",
            {"timezone": "Europe/Berlin", "starts_at": "2026-10-20T09:00"},
            "Every 15 minutes, from 20 October 2026 07:00 UTC",
        ),
        ("0 9 * * *", {"exclude": ["2026-12-25"]}, "At 09:00 every day, UTC, except on 25 December 2026"),
        (
            "0 9 * * *",
            {
                "exclude": [
                    "2026-12-25",
                    ("2026-12-24", "2026-12-26"),
                    ("2026-12-01T12:00Z", "2026-12-02T00:00Z"),
                ]
            },
            (
                "At 09:00 every day, UTC, except on 25 December 2026, 24 December 2026 through "
                "26 December 2026 and 1 December 2026 12:00 to 2 December 2026 00:00 UTC"
            ),
        ),
        (
            "0 9 * * *",
            {"exclude": Calendar("holidays", ("2026-12-25",))},
            "At 09:00 every day, UTC, except during holidays",
        ),
        (
            "0 9 * * *",
            {"exclude": Calendar("trading days", ("2026-12-28",), only=True)},
            "At 09:00 every day, UTC, only during trading days",
        ),
        (
            "0 9 1 * *",
            {"exclude": Calendar("weekends", schedule=parse("0 0 * * 6,0"), roll="next")},
            "At 09:00 on the 1st of the month, UTC, moved to the next day outside weekends",
        ),
        (
            "0 9 1 * *",
            {"exclude": Calendar("office", schedule=parse("0 0 * * 1-5"), only=True, roll="previous")},
            "At 09:00 on the 1st of the month, UTC, moved to the previous day of office",
        ),
        ("0 9 * 1-3 5L", {}, "At 09:00 on the last Friday of each month in January through March, UTC"),
        (
            "0 9 L 1-3,7 *",
            {},
            "At 09:00 on the last day of each month in January through March and July, UTC",
        ),
        ("0 9 * 1,7 5L", {}, "At 09:00 on the last Friday in January and July, UTC"),
        (
            "0 9 13 1-3 5",
            {},
            "At 09:00 in January through March, on the 13th of the month and on every Friday, UTC",
        ),
        ("0 9 * 1-3 5", {}, "At 09:00 on Friday in January through March, UTC"),
        (
            "FREQ=YEARLY;BYMONTH=1,2,3;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
            {},
            "Every year on the last Friday of each month in January through March at 09:00, UTC",
        ),
        (
            "FREQ=YEARLY;BYMONTH=1,2,3;BYMONTHDAY=1;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
            {},
            "Every year on the 1st of each month in January through March at 09:00, UTC",
        ),
    ],
)
def test_explanation(text: str, options: dict[str, Any], said: str) -> None:
    assert parse(text, **options).explain() == said


# Reading back


MOMENT = r"(\d+) (\w+) (\d{4}) (\d\d):(\d\d)(?::(\d\d))?"
TIMES = st.lists(
    st.datetimes(datetime(2026, 3, 1), datetime(2026, 12, 1)).map(lambda at: at.replace(microsecond=0)),
    max_size=6,
)


def moments(said: str, word: str) -> list[datetime]:
    """The times that follow a word, up to the next clause."""
    clause = re.search(rf", {word} ((?:{MOMENT}(?:, | and )?)+)", said)
    found = re.findall(MOMENT, clause[1]) if clause else []
    return [
        datetime(int(year), MONTH_NAMES.index(month) + 1, int(day), int(hour), int(minute), int(second or 0))
        for day, month, year, hour, minute, second in found
    ]


@given(TIMES, TIMES, TIMES.map(sorted).map(lambda times: [times[0], times[-1]] if len(times) > 1 else []))
def test_what_is_added_struck_and_bounded_is_what_was_said(
    added: list[datetime], struck: list[datetime], bounds: list[datetime]
) -> None:
    lines = ["DTSTART;TZID=Europe/Berlin:20260301T090000", "RRULE:FREQ=WEEKLY"]
    lines += [f"RDATE;TZID=Europe/Berlin:{at:%Y%m%dT%H%M%S}" for at in added]
    lines += [f"EXDATE;TZID=Europe/Berlin:{at:%Y%m%dT%H%M%S}" for at in struck]
    options: dict[str, Any] = dict(zip(("starts_at", "ends_at"), bounds, strict=False))
    schedule = parse("\n".join(lines), timezone="Europe/Berlin", **options)
    said = schedule.explain()
    assert moments(said, "also on") == sorted(set(added))
    assert moments(said, "except on") == sorted(set(struck))
    zone = ZoneInfo("Europe/Berlin")
    fired = list(schedule.occurrences(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)))
    for word, holds in (("from", datetime.__ge__), ("until", datetime.__le__)):
        for bound in moments(said, word):
            at = bound.replace(tzinfo=zone).astimezone(UTC)
            shown = at.astimezone(zone).replace(tzinfo=None) == bound and not _twice(bound, zone)
            assert not shown or all(holds(each.at, at) for each in fired)
    assert {each.local.replace(tzinfo=None) for each in fired}.isdisjoint(moments(said, "except on"))


def _twice(at: datetime, zone: ZoneInfo) -> bool:
    return at.replace(tzinfo=zone).utcoffset() != at.replace(tzinfo=zone, fold=1).utcoffset()


DATES = ("*", "1", "13", "31", "1,15", "1-7", "*/2", "L", "L-2")
MONTHS = ("*", "1", "2", "1,7", "11-2", "1-3", "*/3", "1-3,7")
WEEKDAYS = ("*", "1", "1-5", "0,6", "FRI-MON", "5L", "5#2", "1,5#2")
ORDER = ("first", "second", "third", "fourth", "fifth")


def spread(names: str, known: tuple[str, ...]) -> set[int]:
    """`Monday, Friday through Sunday and Tuesday` as numbers."""
    found = set()
    for item in re.split(", | and | or ", names):
        first, _, last = item.partition(" through ")
        start, end = known.index(first), known.index(last or first)
        found |= {number % len(known) for number in range(start, end + 1 + len(known) * (end < start))}
    return found


def last_day(day: date) -> int:
    following = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    return (following - timedelta(days=1)).day


def on_date(phrase: str, day: date) -> bool:
    """`the 1st and 15th`, `every 2nd day from the 1st to the 31st`, `the third-to-last day`."""
    numbers = [int(number) for number in re.findall(r"(\d+)(?:st|nd|rd|th)", phrase)]
    if phrase.startswith("every"):
        step, first, last = numbers
        return first <= day.day <= last and (day.day - first) % step == 0
    if back := re.fullmatch(r"the (?:(\w+)-to-)?last day", phrase):
        return day.day == last_day(day) - (ORDER.index(back[1]) if back[1] else 0)
    if " through " in phrase:
        return numbers[0] <= day.day <= numbers[1]
    return day.day in numbers


def on_weekday(phrase: str, day: date) -> bool:
    """`weekdays`, `Friday through Monday`, `Monday and the second Friday`."""
    plain, _, counted = phrase.partition("the ")
    plain = re.sub(r"( and | or |, )$", "", re.sub("^(every|a) ", "", plain))
    name = DAY_NAMES[day.weekday()]
    if plain in ("weekdays", "weekday"):
        if day.weekday() < 5:
            return True
    elif plain and day.weekday() in spread(plain, DAY_NAMES):
        return True
    place, _, counted_name = counted.partition(" ")
    if counted_name != name:
        return False
    return day.day + 7 > last_day(day) if place == "last" else (day.day - 1) // 7 == ORDER.index(place)


IN_MONTHS = re.compile(
    rf" (?:in|of|of each month in) ((?:{'|'.join(MONTH_NAMES)})[\w, ]*?)(?=, on | if it is |$)"
)


def matches(said: str, day: date) -> bool:
    """Whether a day is one that the words of a cron line name."""
    said = said.removeprefix("At 09:00")
    if months := IN_MONTHS.search(said):
        if day.month - 1 not in spread(months[1], MONTH_NAMES):
            return False
        said = said.replace(months[0], "")
    said = said.replace(" of the month", "").lstrip(" ,").removeprefix("on ")
    if said in ("every day", ""):
        return True
    if alone := re.fullmatch(r"(\d+) (\w+)", said):
        return (str(day.day), MONTH_NAMES[day.month - 1]) == alone.groups()
    dates, both, weekdays = said.partition(" if it is ")
    if both:
        return on_date(dates, day) and on_weekday(weekdays, day)
    dates, either, weekdays = said.partition(" and on ")
    if either:
        return on_date(dates, day) or on_weekday(weekdays, day)
    return on_date(said, day) if re.search(r"\d|last day", said) else on_weekday(said, day)


@pytest.mark.parametrize(("dates", "months"), list(product(DATES, MONTHS)))
def test_the_days_of_a_cron_line_are_those_that_were_said(dates: str, months: str) -> None:
    for weekdays in WEEKDAYS:
        if (dates, months) == ("31", "2"):
            continue
        schedule = parse(f"0 9 {dates} {months} {weekdays}")
        said = schedule.explain().removesuffix(", UTC")
        start = datetime(2027, 1, 1, tzinfo=UTC)
        fired = {at.date() for at in schedule.between(start, start + timedelta(days=800))}
        days = [start.date() + timedelta(days=number) for number in range(800)]
        assert fired == {day for day in days if matches(said, day)}, (schedule.text, said)


def test_the_excluded_days_of_an_interval_are_days_of_its_zone() -> None:
    options = {"anchor": "2026-01-01T00:00:00Z", "exclude": ["2026-12-25"]}
    said = "Every 24 hours, except on 25 December 2026"
    assert parse("every 1d", **options).explain() == said  # type: ignore[arg-type]
    berlin = parse("every 1d", timezone="Europe/Berlin", **options)  # type: ignore[arg-type]
    assert berlin.explain() == f"{said} (Berlin time)"
