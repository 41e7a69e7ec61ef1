"""The periods of every zone, against the transitions that the standard library reads from the same data."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules.zone import EPOCH, STRETCH, zone, zone_names

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


def test_a_change_on_the_edge_of_a_stretch_is_kept() -> None:
    """Stretches are cut at fixed instants; a change there is the end of one and the start of the next."""
    new_york = zone("America/New_York")
    edges = range(0, LAST, STRETCH)
    for edge in edges:
        before, after = new_york.period(edge - 1), new_york.period(edge)
        assert before.end == after.start == edge
        assert (before.after, after.before) == (after.offset, before.offset)


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
