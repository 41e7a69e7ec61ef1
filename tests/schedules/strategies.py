"""Random schedules, and moments close to the clock changes that hurt."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.schedules.oracle import DAY_NAMES, MONTH_NAMES, WEEKDAYS, naive

# Zones and years whose clock changes differ in size, in hour and in cause; 2050 and 2099 are beyond the data.
CLOCK_CHANGES = [
    ("Africa/Cairo", 2025),
    ("Africa/Casablanca", 2025),
    ("Africa/Monrovia", 1972),
    ("America/Caracas", 2016),
    ("America/Havana", 2025),
    ("America/New_York", 2026),
    ("America/New_York", 2099),
    ("America/Nuuk", 2023),
    ("America/Santiago", 2022),
    ("America/Sao_Paulo", 2018),
    ("America/St_Johns", 2010),
    ("America/St_Johns", 2025),
    ("Antarctica/Troll", 2025),
    ("Asia/Amman", 2017),
    ("Asia/Gaza", 2023),
    ("Asia/Kathmandu", 1985),
    ("Asia/Pyongyang", 2015),
    ("Asia/Pyongyang", 2018),
    ("Asia/Tehran", 2021),
    ("Australia/Lord_Howe", 2025),
    ("Australia/Sydney", 2024),
    ("Europe/Berlin", 2050),
    ("Europe/Dublin", 2025),
    ("Europe/London", 2025),
    ("Europe/Moscow", 2011),
    ("Europe/Moscow", 2014),
    ("Pacific/Apia", 2011),
    ("Pacific/Auckland", 2025),
    ("Pacific/Chatham", 2025),
    ("Pacific/Kwajalein", 1993),
]
GAPS = [None, "after", "shift", "skip"]
FOLDS = [None, "first", "second", "both"]


def times(number: int) -> int:
    """How many examples: a quarter, for these are the same ones every time; `make search` tries new ones."""
    return max(1, int(number * float(os.environ.get("HYPOTHESIS_TIMES", "0.25"))))


@dataclass(frozen=True)
class Question:
    """A schedule, and a stretch of time to ask it about."""

    text: str
    timezone: str
    start: datetime
    end: datetime
    gap: str | None = None
    fold: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        return {"timezone": self.timezone, "gap": self.gap, "fold": self.fold}


@cache
def changes(zone: str, year: int) -> list[datetime]:
    """The instants of a year at which the zone's clock is changed, found by looking at it all the time."""
    info = ZoneInfo(zone)
    found = []
    at = datetime(year, 1, 1, tzinfo=UTC)
    while at.year == year:
        following = at + timedelta(hours=1)
        if offset(at, info) != offset(following, info):
            change = at
            while offset(change + timedelta(seconds=30), info) == offset(at, info):
                change += timedelta(seconds=30)
            found.append(change + timedelta(seconds=30))
        at = following
    return found


def offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return naive(at, zone) - at.replace(tzinfo=None)


@st.composite
def moments(draw: st.DrawFn, near: list[tuple[str, int]] = CLOCK_CHANGES) -> tuple[str, datetime]:
    """A zone, and an instant at which its clock is changed."""
    zone, year = draw(st.sampled_from(near))
    return zone, draw(st.sampled_from(changes(zone, year)))


@cache
def seconds(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """A stretch of time, often with a fraction of a second, often a whole number of hours."""
    return st.one_of(
        st.integers(low, high).map(lambda n: timedelta(seconds=n)),
        st.integers(low // 3600, high // 3600).map(lambda n: timedelta(hours=n)),
        st.builds(
            lambda n, fraction: timedelta(seconds=n, microseconds=fraction),
            st.integers(low, high),
            st.sampled_from([1, 500_000, 999_999]),
        ),
    )


# ---------------------------------------------------------------------------------------------------- cron


@cache
def field(
    low: int, high: int, names: tuple[str, ...] = (), *, near: int | None = None
) -> st.SearchStrategy[str]:
    """A cron field of any shape; `near` is a value that should come up often."""
    value = st.integers(low, high)
    if near is not None:
        value = st.one_of(
            value, st.integers(near - 1, near + 1).map(lambda n: (n - low) % (high - low + 1) + low)
        )
    word = value.map(lambda n: names[n - low] if names and n - low < len(names) else str(n))
    name = st.one_of(value.map(str), word, word.map(str.lower)) if names else value.map(str)
    step = st.one_of(st.integers(1, 7), st.integers(1, high + 3)).map(str)
    item = st.one_of(
        name,
        name,
        st.builds("{}-{}".format, name, name),
        st.builds("{}-{}/{}".format, name, name, step),
        st.builds("{}/{}".format, value.filter(lambda n: n <= 6 or high != 7).map(str), step),
        st.just("*"),
        st.builds("*/{}".format, step),
    )
    return st.one_of(item, item, st.lists(item, min_size=2, max_size=3).map(",".join))


@cache
def month_days() -> st.SearchStrategy[str]:
    number = st.integers(1, 31)
    special = st.one_of(
        st.just("L"),
        st.just("LW"),
        st.integers(0, 27).map(lambda n: f"L-{n}"),
        st.integers(0, 27).map(lambda n: f"L-{n}W"),
        number.map(lambda n: f"{n}W"),
        number.map(str),
    )
    return st.one_of(
        st.just("*"), st.just("?"), field(1, 31), st.lists(special, min_size=1, max_size=3).map(",".join)
    )


@cache
def week_days() -> st.SearchStrategy[str]:
    day = st.one_of(st.integers(0, 7).map(str), st.sampled_from(DAY_NAMES))
    special = st.one_of(
        day.map(lambda d: f"{d}L"),
        st.builds("{}#{}".format, day, st.integers(1, 5)),
        st.integers(0, 7).map(str),
    )
    return st.one_of(
        st.just("*"),
        st.just("?"),
        field(0, 7, DAY_NAMES),
        st.lists(special, min_size=1, max_size=2).map(",".join),
    )


@st.composite
def cron_near_changes(draw: st.DrawFn, near: list[tuple[str, int]] = CLOCK_CHANGES) -> Question:
    """Any minutes and hours, in the days around a clock change."""
    zone, change = draw(moments(near))
    hour = naive(change, ZoneInfo(zone)).hour
    days = draw(st.sampled_from(["* * *", "* * *", "* * *", "*/2 * *", "* * 0-4"]))
    minutes = draw(st.one_of(field(0, 59), st.sampled_from(["0", "30", "*/15", "0,15,45"])))
    text = f"{minutes} {draw(field(0, 23, near=hour))} {days}"
    least, most = 3 * 3600, 40 * 3600
    if draw(st.integers(0, 5)) == 0:
        text = f"{draw(field(0, 59))} {text}"
        least, most = 600, 2400
    start = change - draw(seconds(least, most))
    return Question(text, zone, start, change + draw(seconds(least, most)), *draw(policies()))


@st.composite
def cron_over_months(draw: st.DrawFn) -> Question:
    """Any days, a few times a day, over some months."""
    zone, change = draw(moments())
    hour = naive(change, ZoneInfo(zone)).hour
    minute = draw(st.sampled_from(["0", "30", "*/30", "7,59"]))
    hours = draw(st.sampled_from(["0", "23", str(hour), f"{hour}-{(hour + 2) % 24}", "*/8"]))
    months = draw(st.one_of(st.just("*"), st.just("*"), field(1, 12, MONTH_NAMES)))
    text = f"{minute} {hours} {draw(month_days())} {months} {draw(week_days())}"
    start = change - draw(seconds(0, 200 * 86400))
    return Question(text, zone, start, start + timedelta(days=draw(st.integers(1, 400))), *draw(policies()))


@cache
def policies() -> st.SearchStrategy[tuple[str | None, str | None]]:
    return st.tuples(st.sampled_from(GAPS), st.sampled_from(FOLDS))


# ---------------------------------------------------------------------------------------------- recurrence

# The longest stretch of a frequency that the oracle lists in good time, and the longest interval in it.
SPANS = {
    "YEARLY": (timedelta(days=3000), 3),
    "MONTHLY": (timedelta(days=900), 7),
    "WEEKLY": (timedelta(days=400), 5),
    "DAILY": (timedelta(days=120), 9),
    "HOURLY": (timedelta(days=6), 30),
    "MINUTELY": (timedelta(hours=7), 200),
    "SECONDLY": (timedelta(minutes=12), 200),
}


@st.composite
def recurrences(draw: st.DrawFn, frequency: str | None = None) -> Question:
    """Any rule that RFC 5545 allows, from a DTSTART not long before a clock change."""
    zone, change = draw(moments())
    freq = frequency or draw(st.sampled_from(sorted(SPANS)))
    span, longest = SPANS[freq]
    start = naive(change, ZoneInfo(zone)) - draw(seconds(0, int(span.total_seconds() / 2)))
    start = start.replace(microsecond=0)
    if draw(st.booleans()) and freq not in ("MINUTELY", "SECONDLY"):
        start = start.replace(minute=draw(st.sampled_from([0, 15, 30])), second=0)
    parts = [f"FREQ={freq}", *draw(by_parts(freq, naive(change, ZoneInfo(zone))))]
    if draw(st.booleans()):
        parts.append(f"INTERVAL={draw(st.integers(1, longest))}")
    if draw(st.integers(0, 3)) == 0:
        parts.append(f"WKST={draw(st.sampled_from(WEEKDAYS))}")
    if any(part.startswith("BY") for part in parts) and draw(st.integers(0, 3)) == 0:
        places = st.one_of(st.integers(-4, -1), st.integers(1, 4), st.integers(-366, -1), st.integers(1, 366))
        parts.append("BYSETPOS=" + ",".join(map(str, draw(st.lists(places, min_size=1, max_size=3)))))
    ending = draw(st.sampled_from(["", "", "COUNT", "UNTIL"]))
    if ending == "COUNT":
        parts.append(f"COUNT={draw(st.one_of(st.integers(1, 6), st.integers(1, 200)))}")
    elif ending == "UNTIL":
        parts.append("UNTIL=" + draw(untils(start, span)))
    head, *rest = parts
    rule = ";".join([head, *draw(st.permutations(rest))])
    text = f"DTSTART;TZID={zone}:{start:%Y%m%dT%H%M%S}\nRRULE:{rule}"
    begin = change - draw(seconds(0, int(span.total_seconds() / 2)))
    return Question(text, zone, begin, change + span / 2, *draw(policies()))


def untils(start: datetime, span: timedelta) -> st.SearchStrategy[str]:
    return st.builds(
        lambda share, form: (start + span * share).strftime(form),
        st.floats(0, 1),
        st.sampled_from(["%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"]),
    )


@st.composite
def by_parts(draw: st.DrawFn, freq: str, near: datetime) -> list[str]:
    """BY parts that may stand with a frequency; hours and days near the clock change come up often."""

    def some(values: st.SearchStrategy[int], most: int = 4) -> str:
        return ",".join(map(str, draw(st.lists(values, min_size=1, max_size=most, unique=True))))

    def either_sign(high: int, near: int) -> st.SearchStrategy[int]:
        return st.one_of(st.integers(1, high), st.integers(-high, -1), st.integers(1, 3), st.just(near))

    def wanted(odds: int = 3) -> bool:
        return draw(st.integers(0, odds)) == 0

    parts = []
    if wanted():
        parts.append("BYMONTH=" + some(st.one_of(st.integers(1, 12), st.just(near.month))))
    by_week = freq == "YEARLY" and wanted(5)
    if by_week:
        parts.append("BYWEEKNO=" + some(either_sign(53, near.isocalendar().week)))
    if freq in ("YEARLY", "SECONDLY", "MINUTELY", "HOURLY") and wanted(5):
        parts.append("BYYEARDAY=" + some(either_sign(366, near.timetuple().tm_yday)))
    if freq != "WEEKLY" and wanted():
        parts.append("BYMONTHDAY=" + some(either_sign(31, near.day)))
    if wanted(2):
        names = draw(st.lists(st.sampled_from([*WEEKDAYS, WEEKDAYS[near.weekday()]]), min_size=1, max_size=4))
        if freq in ("MONTHLY", "YEARLY") and not by_week and draw(st.booleans()):
            most = 53 if freq == "YEARLY" and not parts else 5
            place = st.one_of(st.just(""), st.integers(1, most).map(str), st.integers(-most, -1).map(str))
            names = [draw(place) + name for name in names]
        parts.append("BYDAY=" + ",".join(dict.fromkeys(names)))
    if wanted(2):
        hour = st.integers(near.hour - 1, near.hour + 2).map(lambda n: n % 24)
        parts.append("BYHOUR=" + some(st.one_of(st.integers(0, 23), hour)))
    if wanted():
        parts.append("BYMINUTE=" + some(st.one_of(st.integers(0, 59), st.sampled_from([0, 30]))))
    if wanted(6) or (freq == "SECONDLY" and wanted()):
        parts.append("BYSECOND=" + some(st.integers(0, 59)))
    return parts


@cache
def questions() -> st.SearchStrategy[Question]:
    return st.one_of(cron_near_changes(), cron_over_months(), recurrences())
