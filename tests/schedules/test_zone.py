"""The periods of every zone, against the transitions that the standard library reads from the same data."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import islice
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules.tzfile import read_rule
from sexton.schedules.wall import FIRST_WALL
from sexton.schedules.zone import EPOCH, zone, zone_names

# The standard library's reader in Python keeps the transitions it has read.
READER: Any = importlib.import_module("zoneinfo._zoneinfo")

FIRST = int(datetime(1970, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(2040, 1, 1, tzinfo=UTC).timestamp())


def changes_of(name: str) -> list[tuple[int, int]]:
    """(instant, new offset) of every change between 1970 and 2040, by walking the periods."""
    found = []
    period = zone(name).period(FIRST)
    while period.end <= LAST:
        if period.after != period.offset:
            found.append((period.end, period.after))
        following = zone(name).period(period.end)
        assert (following.start, following.before, following.offset) == (
            period.end,
            period.offset,
            period.after,
        )
        period = following
    return found


@pytest.mark.parametrize("part", range(4))
def test_every_change_in_the_data_is_found(part: int) -> None:
    checked = 0
    for name in sorted(zone_names())[part::4]:
        *folders, file = name.split("/")
        with resources.files("tzdata.zoneinfo").joinpath(*folders, file).open("rb") as data:
            reference = READER.ZoneInfo.from_file(data, key=name)

        def offset(at: int, reference: Any = reference) -> int:
            local = (EPOCH + timedelta(seconds=at)).astimezone(reference)
            found = local.utcoffset()
            assert found is not None
            return found // timedelta(seconds=1)

        expected = [
            (at, offset(at))
            for at in reference._trans_utc
            if FIRST < at <= LAST and offset(at) != offset(at - 1)
        ]
        found = changes_of(name)
        last_listed = reference._trans_utc[-1] if reference._trans_utc else FIRST
        assert [change for change in found if change[0] <= last_listed] == expected, name
        for at, new in found:
            assert offset(at) == new != offset(at - 1), name
        checked += len(found)
    assert checked > 5_000


@pytest.mark.parametrize(
    "name", ["America/New_York", "Africa/Casablanca", "Europe/Dublin", "Asia/Tokyo", "UTC"]
)
def test_periods_join_from_the_first_year_to_the_last(name: str) -> None:
    """Also after the listed changes, where a rule makes those of every year."""
    one = zone(name)
    for year in [1, 1800, 1883, *range(1960, 2100), 2436, 7777, 9998, 9999]:
        at = int((datetime(year, 7, 1, tzinfo=UTC) - EPOCH).total_seconds())
        period = one.period(at)
        offset = (EPOCH + timedelta(seconds=at)).astimezone(one.info).utcoffset()
        assert timedelta(seconds=period.offset) == offset
        if period.start > FIRST_WALL:
            before = one.period(period.start - 1)
            assert (before.end, before.offset, before.after) == (period.start, period.before, period.offset)
        after = one.period(period.end)
        assert (after.start, after.before, after.offset) == (period.end, period.offset, period.after)


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("EST5EDT,M3.2.0,M11.1.0", ["2028-03-12T07:00", "2028-11-05T06:00"]),
        ("IST-2IDT,M3.4.4/26,M10.5.0", ["2028-03-24T00:00", "2028-10-28T23:00"]),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ["2028-03-26T01:00", "2028-10-29T01:00"]),
        ("AAA3:30BBB,J60/0:30,J300", ["2028-03-01T04:00", "2028-10-27T04:30"]),
        ("AAA-1BBB-2,59,299/3:00:30", ["2028-02-29T01:00", "2028-10-26T01:00:30"]),
        ("<+03>-3", []),
    ],
)
def test_the_rule_on_the_last_line_of_a_zone_file(rule: str, changes: list[str]) -> None:
    read = read_rule(rule)
    found = read.changes_in(2028) if read else []
    assert [EPOCH + timedelta(seconds=at) for at, _ in found] == [
        datetime.fromisoformat(change).replace(tzinfo=UTC) for change in changes
    ]


def test_gaps_come_in_order_and_end_where_the_clock_settles() -> None:
    def walls(name: str, first: str, number: int) -> list[tuple[str, str]]:
        start = int((datetime.fromisoformat(first) - EPOCH.replace(tzinfo=None)).total_seconds())
        gaps = islice(zone(name).gaps(start), number)
        return [tuple(f"{EPOCH + timedelta(seconds=wall):%Y-%m-%dT%H:%M}" for wall in gap) for gap in gaps]  # type: ignore[misc]

    assert walls("America/New_York", "2026-03-08T02:30", 2) == [
        ("2026-03-08T02:30", "2026-03-08T03:00"),
        ("2027-03-14T02:00", "2027-03-14T03:00"),
    ]
    assert walls("Pacific/Apia", "2011-12-01T00:00", 1) == [("2011-12-30T00:00", "2011-12-31T00:00")]
    assert walls("Asia/Tokyo", "1952-01-01T00:00", 9) == walls("UTC", "0002-01-01T00:00", 9) == []


@pytest.mark.parametrize(
    ("wall", "count"),
    [
        ("2026-03-08T02:30:00", 0),
        ("2026-11-01T01:30:00", 2),
        ("2026-07-01T12:00:00", 1),
        ("2026-03-08T03:00:00", 1),
    ],
)
def test_instants_of_a_wall_time(wall: str, count: int) -> None:
    seconds = int(datetime.fromisoformat(wall).replace(tzinfo=UTC).timestamp())
    instants = zone("America/New_York").instants_of(seconds)
    assert len(instants) == count
    for at in instants:
        local = (EPOCH + timedelta(seconds=at)).astimezone(zone("America/New_York").info)
        assert local.replace(tzinfo=None) == datetime.fromisoformat(wall)


def test_a_missing_day_is_a_gap_of_a_day() -> None:
    wall = int(datetime(2011, 12, 30, 9, tzinfo=UTC).timestamp())
    apia = zone("Pacific/Apia")
    assert apia.instants_of(wall) == ()
    assert EPOCH + timedelta(seconds=apia.first_instant(wall)) == datetime(2011, 12, 30, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("America/New York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("New_York", "America/New_York"),
        ("Europe/Berln", "Europe/Berlin"),
        ("Tokyo", "Asia/Tokyo"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        zone(name)
    assert refused.value.code == "unknown_timezone"
    assert refused.value.field == "timezone"
    assert refused.value.hint == f"did you mean {suggestion}?"


@pytest.mark.parametrize(
    "name", ["", "..", "/etc/passwd", "../zones", "America", "America/", "\0", "x" * 5000]
)
def test_what_is_no_name_at_all_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError, match="unknown time zone"):
        zone(name)


def test_a_fingerprint_tells_zones_apart_and_stays_the_same() -> None:
    def of(name: str) -> str:
        return zone(name).fingerprint(FIRST, LAST)

    assert of("Europe/Berlin") == of("Europe/Berlin")
    assert of("Europe/Berlin") != of("Europe/London")
    assert of("UTC") == of("Etc/GMT")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("UTC+2", "write Etc/GMT-2 for this offset all year"),
        ("GMT-0300", "write Etc/GMT+3 for this offset all year"),
        ("+00:00", "write UTC for this offset all year"),
        ("+05:30", "write the name of a place with that clock"),
        ("UTC+20", "write the name of a place with that clock"),
    ],
)
def test_an_offset_is_no_zone(name: str, hint: str) -> None:
    """`did you mean UTC?` would be another time."""
    with pytest.raises(ScheduleError) as refused:
        zone(name)
    assert str(refused.value.hint).startswith(hint)
