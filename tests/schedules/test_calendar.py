"""Calendars: what they exclude, what they allow, and where excluded occurrences go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.errors import ScheduleError
from sexton.schedules import Calendar, Schedule, parse

ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Sexton//tests//EN
BEGIN:VEVENT
UID:christmas
SUMMARY:Christmas
DTSTART;VALUE=DATE:20201225
DTEND;VALUE=DATE:20201227
RRULE:FREQ=YEARLY
EXDATE;VALUE=DATE:20271225
END:VEVENT
BEGIN:VEVENT
UID:freeze
SUMMARY:Release freeze
DTSTART;TZID=Europe/Berlin:20261201T120000
DTEND;TZID=Europe/Berlin:20261201T180000
END:VEVENT
BEGIN:VEVENT
UID:maintenance
SUMMARY:Maintenance
DTSTART;TZID=America/New_York:20261203T070000
DURATION:PT2H
RRULE:FREQ=WEEKLY
END:VEVENT
BEGIN:VEVENT
UID:off
SUMMARY:Called off
STATUS:CANCELLED
DTSTART;VALUE=DATE:20261205
END:VEVENT
END:VCALENDAR
"""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def locals_of(schedule: Schedule, start: str, end: str) -> list[str]:
    """The fired occurrences of a range as local times."""
    return [
        f"{occurrence.local:%Y-%m-%d %H:%M}"
        for occurrence in schedule.occurrences(utc(start), utc(end))
        if occurrence.skipped is None
    ]


def skipped_of(schedule: Schedule, start: str, end: str) -> list[str]:
    found = [one for one in schedule.occurrences(utc(start), utc(end)) if one.skipped]
    assert all(one.skipped == "excluded" and one.note for one in found)
    return [f"{one.local:%Y-%m-%d %H:%M}" for one in found]


def test_dates_are_days_of_the_schedules_zone() -> None:
    schedule = parse("0 23 * * *", timezone="America/New_York", exclude=["2026-12-25"])
    assert skipped_of(schedule, "2026-12-24", "2026-12-28") == ["2026-12-25 23:00"]
    assert schedule.next_after(utc("2026-12-25T12:00")) == utc("2026-12-27T04:00")


@pytest.mark.parametrize(
    "days",
    [
        [("2026-12-24", "2026-12-26")],
        ["2026-12-24..2026-12-26"],
        ["2026-12-24/2026-12-26"],
        [date(2026, 12, 24), date(2026, 12, 25), "2026-12-26"],
        Calendar("break", ranges=((date(2026, 12, 24), date(2026, 12, 26)),)),
        [Calendar("a", ("2026-12-24",)), Calendar("b", ("2026-12-25", "2026-12-26"))],
    ],
)
def test_ranges_of_days_include_both_ends(days: Any) -> None:
    schedule = parse("0 9 * * *", exclude=days)
    assert skipped_of(schedule, "2026-12-23", "2026-12-28") == [
        "2026-12-24 09:00",
        "2026-12-25 09:00",
        "2026-12-26 09:00",
    ]


def test_ranges_of_times_exclude_their_end() -> None:
    wall = parse("0 * * * *", timezone="Europe/Berlin", exclude=[("2026-12-01T12:00", "2026-12-01T14:00")])
    assert skipped_of(wall, "2026-12-01", "2026-12-02") == ["2026-12-01 12:00", "2026-12-01 13:00"]
    instants = parse(
        "0 * * * *", timezone="Europe/Berlin", exclude=[("2026-12-01T12:00Z", "2026-12-01T14:00Z")]
    )
    assert skipped_of(instants, "2026-12-01", "2026-12-02") == ["2026-12-01 13:00", "2026-12-01 14:00"]


def test_a_calendar_of_allowed_days() -> None:
    office = Calendar("office days", schedule=parse("0 0 * * 1-5"), only=True)
    schedule = parse("every 8h", anchor=utc("2026-07-31"), exclude=office)
    assert locals_of(schedule, "2026-07-31", "2026-08-03T09:00") == [
        "2026-07-31 08:00",
        "2026-07-31 16:00",
        "2026-08-03 00:00",
        "2026-08-03 08:00",
    ]
    days = Calendar("two days", ("2026-08-10", "2030-01-01"), only=True)
    hourly = parse("0 */12 * * *", exclude=days)
    assert hourly.next_after(utc("2026-08-10T12:00")) == utc("2030-01-01")
    assert hourly.next_after(utc("2030-01-01T12:00")) is None


def test_events_of_a_file() -> None:
    calendar = Calendar.from_ics("company", ICS)
    schedule = parse("0 13 * * *", timezone="Europe/Berlin", exclude=calendar)
    # The freeze of 1 December, Thursdays from 13:00 to 15:00 in Berlin, Christmas but for 2027.
    assert skipped_of(schedule, "2026-11-30", "2026-12-12") == [
        "2026-12-01 13:00",
        "2026-12-03 13:00",
        "2026-12-10 13:00",
    ]
    assert skipped_of(schedule, "2028-12-24", "2028-12-28") == ["2028-12-25 13:00", "2028-12-26 13:00"]
    assert "2027-12-25 13:00" in locals_of(schedule, "2027-12-24", "2027-12-28")


def calendar_of(*events: str) -> Calendar:
    lines = "\n".join(f"BEGIN:VEVENT\nUID:one\n{event}\nEND:VEVENT" for event in events)
    return Calendar.from_ics("company", f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{lines}\nEND:VCALENDAR\n")


@pytest.mark.parametrize(
    "exdate",
    [
        "EXDATE;VALUE=DATE:20261208",
        "EXDATE:20261208T000000Z",
        "EXDATE;TZID=Europe/Berlin:20261208T000000",
        "EXDATE:20261208T120000",
    ],
)
def test_a_day_is_taken_out_of_an_event_of_whole_days_however_it_is_written(exdate: str) -> None:
    weekly = f"DTSTART;VALUE=DATE:20261201\nRRULE:FREQ=WEEKLY\n{exdate}"
    schedule = parse("0 13 * * *", timezone="Europe/Berlin", exclude=calendar_of(weekly))
    assert skipped_of(schedule, "2026-12-01", "2026-12-24") == [
        "2026-12-01 13:00",
        "2026-12-15 13:00",
        "2026-12-22 13:00",
    ]


def test_a_file_without_a_calendar_is_refused() -> None:
    with pytest.raises(ScheduleError, match="no BEGIN:VCALENDAR"):
        Calendar.from_ics("company", "\n")


def test_a_changed_occurrence_replaces_the_regular_one() -> None:
    weekly = "DTSTART;TZID=Europe/Berlin:20261201T120000\nDURATION:PT2H\nRRULE:FREQ=WEEKLY"
    moved = (
        "RECURRENCE-ID;TZID=Europe/Berlin:20261208T120000\n"
        "DTSTART;TZID=Europe/Berlin:20261209T120000\nDURATION:PT2H"
    )
    cancelled = "RECURRENCE-ID:20261215T110000Z\nSTATUS:CANCELLED\nDTSTART:20261215T110000Z"
    schedule = parse("0 13 * * *", timezone="Europe/Berlin", exclude=calendar_of(weekly, moved, cancelled))
    assert skipped_of(schedule, "2026-12-01", "2026-12-24") == [
        "2026-12-01 13:00",
        "2026-12-09 13:00",
        "2026-12-22 13:00",
    ]


def test_a_changed_day_replaces_the_regular_one() -> None:
    yearly = "DTSTART;VALUE=DATE:20251226\nRRULE:FREQ=YEARLY;UNTIL=20271226T000000Z"
    moved = "RECURRENCE-ID;VALUE=DATE:20261226\nDTSTART;VALUE=DATE:20261228"
    schedule = parse("0 9 * * *", exclude=calendar_of(yearly, moved))
    found = [skipped_of(schedule, f"{year}-12-20", f"{year}-12-31") for year in (2025, 2026, 2027, 2028)]
    assert found == [["2025-12-26 09:00"], ["2026-12-28 09:00"], ["2027-12-26 09:00"], []]


@pytest.mark.parametrize("timezone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("only", [False, True])
def test_floating_times_are_times_of_the_schedules_zone(timezone: str, only: bool) -> None:
    events = calendar_of("DTSTART:20261201T120000\nDURATION:PT2H\nRRULE:FREQ=DAILY")
    calendar = Calendar("lunch", events=events.events, only=only)
    schedule = parse("0 * * * *", timezone=timezone, exclude=calendar)
    inside = ["2026-12-07 12:00", "2026-12-07 13:00"]
    found = locals_of(schedule, "2026-12-06", "2026-12-09")
    assert [hour for hour in found if hour.startswith("2026-12-07") and (hour in inside)] == (
        inside if only else []
    )
    assert len([hour for hour in found if hour.startswith("2026-12-07")]) == (2 if only else 22)
    start = utc("2026-12-05")
    following = schedule.next_after(start)
    assert following == next(schedule.between(start, utc("2026-12-09")))


def test_a_long_list_of_exceptions() -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(0, 600, 2)]
    struck = "\n".join(f"EXDATE;TZID=Europe/Berlin:{day:%Y%m%d}T120000" for day in days[:100])
    struck += "\nEXDATE;TZID=Europe/Berlin:" + ",".join(f"{day:%Y%m%d}T120000" for day in days[100:])
    event = f"DTSTART;TZID=Europe/Berlin:20260101T120000\nDURATION:PT1H\nRRULE:FREQ=DAILY\n{struck}"
    schedule = parse("0 12 * * *", timezone="Europe/Berlin", exclude=calendar_of(event))
    assert [day[:10] for day in locals_of(schedule, "2026-01-01", "2027-08-20")] == [
        day.isoformat() for day in days if day < date(2027, 8, 20)
    ]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (["DTSTART;TZID=Nowhere/Land:20261201T120000\nDURATION:PT1H"], "unknown time zone 'Nowhere/Land'"),
        (["DTSTART;TZID=Nowhere/Land:20261201T120000\nRRULE:FREQ=DAILY"], "unknown time zone 'Nowhere/Land'"),
        (
            [
                "DTSTART:20261201T120000Z\nRRULE:FREQ=DAILY",
                "RECURRENCE-ID;RANGE=THISANDFUTURE:20261208T120000Z\nDTSTART:20261208T130000Z",
            ],
            "all later occurrences",
        ),
    ],
)
def test_events_that_cannot_be_kept_to_are_refused(events: list[str], message: str) -> None:
    with pytest.raises(ScheduleError, match=message) as refused:
        calendar_of(*events)
    assert refused.value.code == "bad_calendar"


def test_a_file_with_a_byte_order_mark_and_names_of_windows_for_zones() -> None:
    text = "\ufeff" + ICS.replace("Europe/Berlin", "W. Europe Standard Time").replace(
        "America/New_York", "Eastern Standard Time"
    )
    plain, other = (
        parse("0 13 * * *", timezone="Europe/Berlin", exclude=Calendar.from_ics("company", each))
        for each in (ICS, text)
    )
    assert skipped_of(plain, "2026-11-30", "2026-12-28") == skipped_of(other, "2026-11-30", "2026-12-28")


WEEKEND = parse("0 0 * * 6,0")


@pytest.mark.parametrize(
    ("roll", "expected"),
    [
        ("skip", ["2026-09-01", "2026-09-15", "2026-10-01", "2026-10-15"]),
        (
            "next",
            [
                "2026-08-03",
                "2026-08-17",
                "2026-09-01",
                "2026-09-15",
                "2026-10-01",
                "2026-10-15",
                "2026-11-02",
            ],
        ),
        (
            "previous",
            [
                "2026-07-31",
                "2026-08-14",
                "2026-09-01",
                "2026-09-15",
                "2026-10-01",
                "2026-10-15",
                "2026-10-30",
            ],
        ),
    ],
)
def test_the_first_and_the_fifteenth_around_weekends(roll: str, expected: list[str]) -> None:
    weekend = Calendar("weekend", schedule=WEEKEND, roll=roll)
    schedule = parse("0 9 1,15 * *", timezone="America/New_York", exclude=weekend)
    assert [day[:10] for day in locals_of(schedule, "2026-07-30", "2026-11-10")] == expected


def test_times_that_roll_onto_one_day_are_sorted_and_merged() -> None:
    weekend = Calendar("weekend", schedule=WEEKEND, roll="next")
    schedule = parse("0 9,17 * * 5-1", exclude=weekend)  # Friday to Monday
    assert locals_of(schedule, "2026-08-07", "2026-08-11") == [
        "2026-08-07 09:00",
        "2026-08-07 17:00",
        "2026-08-10 09:00",
        "2026-08-10 17:00",
    ]
    moved = list(parse("0 10 * * 6", exclude=weekend).occurrences(utc("2026-08-08"), utc("2026-08-11")))
    assert [one.note for one in moved] == ["moved from a day excluded by weekend"]


@given(
    minute=st.sampled_from(["0", "*/30", "15,45"]),
    hour=st.sampled_from(["9", "*", "0,23", "8-10"]),
    days=st.sampled_from(["* *", "1,15 *", "L *", "* 6", "* 0,3", "13 5"]),
    excluded=st.sets(st.integers(0, 40), max_size=25),
    roll=st.sampled_from(["skip", "next", "previous"]),
    zone=st.sampled_from(["UTC", "America/New_York", "Pacific/Apia"]),
    start=st.integers(0, 40 * 24 * 60),
)
def test_rolling_against_a_day_by_day_reading(
    minute: str, hour: str, days: str, excluded: set[int], roll: str, zone: str, start: int
) -> None:
    first = date(2026, 6, 1)
    off = {first + timedelta(days=number) for number in excluded}
    day_of_month, day_of_week = days.split()
    text = f"{minute} {hour} {day_of_month} * {day_of_week}"
    plain = parse(text, timezone=zone)
    calendar = Calendar("off", tuple(sorted(off)), roll=roll)
    schedule = parse(text, timezone=zone, exclude=calendar)
    expected = set()
    for one in plain.occurrences(utc("2026-04-01"), utc("2026-09-15")):
        day = one.local.date()
        if day in off and roll == "skip":
            continue
        while day in off:
            day += timedelta(days=1 if roll == "next" else -1)
        expected.add(datetime.combine(day, one.local.time(), one.local.tzinfo).astimezone(UTC))
    begin, end = utc("2026-06-01") + timedelta(minutes=start), utc("2026-07-20")
    wanted = sorted(at for at in expected if begin < at <= end)
    assert list(schedule.between(begin, end)) == wanted
    assert [one.at for one in schedule.occurrences(begin, end) if not one.skipped] == wanted
    if wanted:
        assert schedule.next_after(begin) == wanted[0]
        assert schedule.previous_before(end + timedelta(seconds=1)) == wanted[-1]


def test_a_long_exclusion_is_jumped_over() -> None:
    schedule = parse("* * * * * *", timezone="America/New_York", exclude=[("2026-01-01", "2046-01-01")])
    assert schedule.next_after(utc("2026-07-01")) == utc("2046-01-02T05:00")
    assert schedule.previous_before(utc("2036-07-01")) == utc("2026-01-01T04:59:59")


def test_calendars_are_part_of_the_timing_key() -> None:
    def key(calendar: Calendar) -> str:
        return parse("0 9 * * *", exclude=calendar).timing_key

    christmas = Calendar("christmas", (date(2026, 12, 25),))
    assert key(christmas) == key(Calendar("noel", (date(2026, 12, 25),))) != parse("0 9 * * *").timing_key
    assert key(christmas) != key(Calendar("christmas", (date(2026, 12, 26),)))
    assert key(christmas) != key(Calendar("christmas", (date(2026, 12, 25),), roll="next"))
    assert key(christmas) != key(Calendar("christmas", (date(2026, 12, 25),), only=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Calendar("c", ("2026-02-30",)), "'2026-02-30' is not a date"),
        (lambda: Calendar("c", (utc("2026-01-01"),)), "is a time, not a day"),
        (lambda: Calendar("c", ranges=(("2026-01-02", "2026-01-01"),)), "ends before it begins"),
        (lambda: Calendar("c", ranges=(("2026-01-02", "2026-01-03T10:00"),)), "mixes a day and a time"),
        (lambda: Calendar("c", ranges=(("2026-01-02T10:00", "2026-01-03T10:00Z"),)), "has one offset"),
        (lambda: Calendar("c", ranges=(cast("tuple[str, str]", ("2026-01-02",)),)), "is not a range"),
        (lambda: Calendar("c", ranges=(("2026-01-02T99:00", "2026-01-03T00:00"),)), "is not a range"),
        (lambda: Calendar("c", roll="nearest"), "unknown roll"),
        (
            lambda: Calendar("c", ranges=(("2026-01-02T10:00", "2026-01-03T10:00"),), roll="next"),
            "only whole days can roll",
        ),
        (lambda: Calendar.from_ics("c", "no calendar at all"), "not an iCalendar file"),
        (lambda: Calendar.from_ics("c", ICS.replace("FREQ=YEARLY", "FREQ=YEARLY;BYMONTH=13")), "Christmas"),
    ],
)
def test_bad_calendars_are_refused(make: Callable[[], Calendar], message: str) -> None:
    with pytest.raises(ScheduleError, match=message) as refused:
        make()
    assert refused.value.code == "bad_calendar"
    assert refused.value.field == "exclude"
    assert refused.value.hint


def test_an_interval_does_not_roll() -> None:
    with pytest.raises(ScheduleError, match="cannot move to another day"):
        parse("every 1d", exclude=Calendar("weekend", schedule=WEEKEND, roll="next"))
