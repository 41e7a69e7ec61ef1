"""Quiet hours: on the wall clock of the recipient, by day of the week, across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.errors import InvalidField
from sexton.notifications.recipients.quiet import (
    EVERY_DAY,
    DayRange,
    instant,
    is_quiet,
    quiet_until,
    read_ranges,
)
from sexton.notifications.spec import QuietRange
from sexton.schedules.zone import EPOCH, zone

ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia",
    "America/Sao_Paulo", "Africa/Casablanca", "Asia/Tehran", "America/St_Johns", "Pacific/Auckland",
    "Antarctica/Troll", "UTC",
)  # fmt: skip
NIGHT = read_ranges(QuietRange(start="22:00", end="08:00"))


def seconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(seconds=1)


def until(spec: QuietRange | list[QuietRange], name: str, at: datetime) -> datetime | None:
    found = quiet_until(read_ranges(spec), zone(name), seconds(at))
    return None if found is None else instant(found)


def test_a_night_ends_in_the_morning_where_the_recipient_is() -> None:
    night = QuietRange(start="22:00", end="08:00")
    assert until(night, "Europe/Berlin", datetime(2027, 3, 1, 6, 59, 59, tzinfo=UTC)) == datetime(
        2027, 3, 1, 7, tzinfo=UTC
    )
    assert until(night, "Europe/Berlin", datetime(2027, 3, 1, 7, tzinfo=UTC)) is None
    assert until(night, "Europe/Berlin", datetime(2027, 3, 1, 20, 59, 59, tzinfo=UTC)) is None
    assert until(night, "Europe/Berlin", datetime(2027, 3, 1, 21, tzinfo=UTC)) == datetime(
        2027, 3, 2, 7, tzinfo=UTC
    )


def test_the_night_of_a_clock_change_is_longer_or_shorter() -> None:
    night = QuietRange(start="22:00", end="08:00")
    begins = datetime(2027, 3, 27, 21, tzinfo=UTC)
    assert until(night, "Europe/Berlin", begins) == begins + timedelta(hours=9)
    begins = datetime(2027, 10, 30, 20, tzinfo=UTC)
    assert until(night, "Europe/Berlin", begins) == begins + timedelta(hours=11)


def test_an_end_that_the_clock_jumps_over_is_the_end_of_the_gap() -> None:
    early = QuietRange(start="00:00", end="02:30")
    assert until(early, "Europe/Berlin", datetime(2027, 3, 28, 0, 30, tzinfo=UTC)) == datetime(
        2027, 3, 28, 1, tzinfo=UTC
    )


def test_days_are_those_on_which_a_range_begins() -> None:
    weekend = [
        QuietRange(start="22:00", end="10:00", days=["fri", "sat"]),
        QuietRange(start="00:00", end="24:00", days=["sun"]),
    ]
    friday = datetime(2027, 3, 5, 23, tzinfo=UTC)
    assert until(weekend, "UTC", friday) == datetime(2027, 3, 6, 10, tzinfo=UTC)
    assert until(weekend, "UTC", friday - timedelta(days=1)) is None
    # From Saturday night through Sunday to Monday.
    assert until(weekend, "UTC", friday + timedelta(days=1)) == datetime(2027, 3, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (QuietRange(start="25:00", end="08:00"), "bad_time"),
        (QuietRange(start="08:00", end="08:00"), "empty_range"),
        (QuietRange(start="00:00", end="24:00"), "always_quiet"),
        (QuietRange(start="22:00", end="08:00", days=["someday"]), "bad_day"),
        (QuietRange(start="22:00", end="08:00", days=[]), "empty"),
    ],
)
def test_what_cannot_be_meant_is_refused(spec: QuietRange, code: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_ranges(spec)
    assert refused.value.code == code


@given(
    name=st.sampled_from(ZONES),
    at=st.integers(0, 20 * 365 * 86_400).map(lambda each: each + seconds(datetime(2020, 1, 1, tzinfo=UTC))),
    ranges=st.lists(
        st.builds(
            lambda start, length, days: DayRange(start * 900, (start + length) % 96 * 900, days),
            st.integers(0, 95),
            st.integers(1, 60),
            st.sampled_from([EVERY_DAY, frozenset({0, 2, 4}), frozenset({6})]),
        ),
        min_size=1,
        max_size=1,
    ).map(tuple),
)
def test_quiet_ends_at_the_first_minute_that_is_not(name: str, at: int, ranges: tuple[DayRange, ...]) -> None:
    """Against going through it quarter by quarter."""
    place = zone(name)
    at -= at % 900

    def quiet(moment: int) -> bool:
        return is_quiet(ranges, moment + place.period(moment).offset)

    found = quiet_until(ranges, place, at)
    if not quiet(at):
        assert found is None
        return
    slow = at
    while quiet(slow):
        slow += 900
    assert found == slow
