"""The forms a schedule is written in: two spellings answer alike, and the kind is told from the text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sexton.schedules import parse

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 6, 1, tzinfo=UTC)


def answers(text: str, number: int = 40, **options: Any) -> list[datetime]:
    return list(islice(parse(text, **options).between(START, END), number))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0 9 * * 1-5", "cron"),
        ("0 0 9 * * 1-5", "cron"),
        ("@daily", "cron"),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "cron"),
        ("FREQ=DAILY", "recurrence"),
        ("RRULE:FREQ=DAILY", "recurrence"),
        ("DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY", "recurrence"),
        ("every 15m", "interval"),
        ("@every 1h30m", "interval"),
        ("PT15M", "interval"),
        ("P1DT12H", "interval"),
        ("2026-12-24T18:00:00Z", "once"),
        ("2026-12-24T18:00:00+01:00", "once"),
        ("2026-12-24T18:00", "once"),
    ],
)
def test_the_kind_is_told_from_the_text(text: str, kind: str) -> None:
    told = parse(text, timezone=None if "CRON_TZ" in text else "UTC")
    given = parse(text, kind=kind, timezone=None if "CRON_TZ" in text else "UTC")
    assert told.kind == given.kind == kind
    assert told.timing_key == given.timing_key


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@every_minute", "* * * * *"),
        ("@every_second", "* * * * * *"),
        ("@DAILY", "@daily"),
        ("  0   9 *\t* *  ", "0 9 * * *"),
        ("0 9 * * MON", "0 9 * * 1"),
        ("0 9 * * mon-fri", "0 9 * * 1-5"),
        ("0 9 * jan,JUL *", "0 9 * 1,7 *"),
        ("0 9 * * 7", "0 9 * * 0"),
        ("0 9 * * fri-mon", "0 9 * * 5,6,0,1"),
        ("0 22-4 * * *", "0 22,23,0,1,2,3,4 * * *"),
        ("0 9 ? * ?", "0 9 * * *"),
        ("0 9 L * *", "0 9 L-0 * *"),
        ("0 9 * * 5L", "0 9 * * friL"),
        ("0 9 * * 0#2", "0 9 * * 7#2"),
        ("0 0 9 * * *", "0 9 * * *"),
        ("*/60 * * * *", "0 * * * *"),
    ],
)
def test_cron_spellings(text: str, same: str) -> None:
    assert answers(text, timezone="America/New_York") == answers(same, timezone="America/New_York")


def test_a_zone_in_the_text() -> None:
    text = "CRON_TZ=Europe/Berlin 0 9 * * *"
    assert parse(text).timezone == "Europe/Berlin"
    assert answers(text) == answers("0 9 * * *", timezone="Europe/Berlin")
    assert answers(text, timezone="Europe/Berlin") == answers(text)


def test_seconds_last() -> None:
    assert answers("30 9 * * 1 15", seconds="last") == answers("15 30 9 * * 1")
    assert answers("30 9 * * 1", seconds="last") == answers("30 9 * * 1")
    assert parse("1 2 3 4 5 6", seconds="last").timing_key != parse("1 2 3 4 5 6").timing_key


@pytest.mark.parametrize("text", ["H H * * *", "H * * * *", "H H 1 * *", "H H * * H", "H H H * *"])
def test_a_hash_spreads_and_stays(text: str) -> None:
    keys = [f"job-{n}" for n in range(200)]
    places = {key: answers(text, 5, key=key) for key in keys}
    assert all(len(found) == 5 for found in places.values())
    assert places == {key: answers(text, 5, key=key) for key in keys}
    assert len({at.minute for found in places.values() for at in found}) > 30
    firsts = {found[0].minute for found in places.values()}
    assert firsts <= set(range(60))
    assert parse(text, key="a").timing_key != parse(text, key="c").timing_key


def test_a_hash_counts_once_a_period() -> None:
    for key in ("a", "b", "c", "a very long name indeed"):
        daily = answers("H H * * *", 30, key=key)
        assert {b - a for a, b in pairwise(daily)} == {timedelta(days=1)}
        monthly = answers("H H H * *", 12, key=key)
        assert [at.month for at in monthly] == list(range(1, 13))


def test_the_key_matters_only_to_a_hash() -> None:
    assert parse("0 9 * * *", key="a").timing_key == parse("0 9 * * *", key="b").timing_key


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("every 90s", "PT90S"),
        ("every 15m", "PT15M"),
        ("every 2h", "@every 2h"),
        ("every 1d", "every 24h"),
        ("every 1w", "P1W"),
        ("every 1w", "every 7d"),
        ("every 1h30m", "every 90m"),
        ("every 1h30m", "@every 1h30m"),
        ("every 1d12h", "P1DT12H"),
        ("every 60m", "PT1H"),
    ],
)
def test_interval_spellings(text: str, same: str) -> None:
    anchor = datetime(2026, 3, 7, 12, 34, 56, tzinfo=UTC)
    assert answers(text, anchor=anchor) == answers(same, anchor=anchor)
    assert answers(text, anchor=anchor)[0] == anchor


def test_an_interval_made_now_fires_one_interval_later() -> None:
    anchor = datetime(2026, 3, 8, 6, 50, tzinfo=UTC)
    schedule = parse("every 15m", anchor=anchor, timezone="America/New_York")
    assert schedule.next_after(anchor) == anchor + timedelta(minutes=15)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-12-24T18:00:00Z", "UTC"),
        ("2026-12-24T18:00Z", "Asia/Tokyo"),
        ("2026-12-24T19:00:00+01:00", "America/New_York"),
        ("2026-12-24T13:00:00", "America/New_York"),
        ("2026-12-24T13:00", "America/New_York"),
        ("2026-12-24 13:00", "America/New_York"),
        ("2026-12-24T23:45", "Asia/Kathmandu"),
    ],
)
def test_one_instant(text: str, zone: str) -> None:
    assert answers(text, timezone=zone) == [datetime(2026, 12, 24, 18, tzinfo=UTC)]


@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=5",
        "DTSTART;TZID=America/New_York:20260105T090000\r\nRRULE:FREQ=WEEKLY;COUNT=5\r\n",
        "RRULE:FREQ=WEEKLY;COUNT=5\nDTSTART;TZID=America/New_York:20260105T090000",
        "DTSTART:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=5",
        "DTSTART:20260105T140000Z\nRRULE:FREQ=WEEKLY;COUNT=5",
        "dtstart;tzid=America/New_York:20260105T090000\nrrule:freq=weekly;count=5",
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:COUNT=5;FREQ=WEEKLY",
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;UNTIL=20260202T140000Z",
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;UNTIL=20260202T090000",
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;UNTIL=20260202",
        (
            "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=1\n"
            "RDATE;TZID=America/New_York:20260112T090000,20260119T090000\nRDATE:20260126T140000Z,20260202T140000Z"
        ),
        "DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=WEEKLY;COUNT=6\nEXDATE:20260209T140000Z",
    ],
)
def test_recurrence_lines(lines: str) -> None:
    """Five Mondays at nine in New York, however they are written."""
    expected = [datetime(2026, 1, 5, 14, tzinfo=UTC) + timedelta(weeks=n) for n in range(5)]
    assert answers(lines, timezone="America/New_York") == expected


def test_a_date_starts_at_midnight() -> None:
    for head in ("DTSTART;VALUE=DATE:20260105", "DTSTART:20260105"):
        found = answers(f"{head}\nRRULE:FREQ=DAILY;COUNT=3", timezone="Europe/Berlin")
        assert found == [datetime(2026, 1, day, 23, tzinfo=UTC) for day in (4, 5, 6)]


def test_the_zone_of_dtstart_is_used_when_none_is_given() -> None:
    schedule = parse("DTSTART;TZID=America/New_York:20260105T090000\nRRULE:FREQ=DAILY")
    assert schedule.timezone == "America/New_York"


def test_dtstart_fires_only_if_the_rule_yields_it() -> None:
    found = answers("DTSTART:20260106T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=2")
    assert found == [datetime(2026, 1, 12, 9, tzinfo=UTC), datetime(2026, 1, 19, 9, tzinfo=UTC)]


@pytest.mark.parametrize(("fold", "hours"), [(None, 25), ("both", 25), ("first", 24), ("second", 24)])
def test_an_hourly_rule_on_the_long_day(fold: str | None, hours: int) -> None:
    zone = ZoneInfo("America/New_York")
    start, end = datetime(2026, 10, 31, 23, 59, tzinfo=zone), datetime(2026, 11, 1, 23, 59, tzinfo=zone)
    schedule = parse("0 * * * *", timezone="America/New_York", fold=fold)
    assert len(list(schedule.between(start, end))) == hours


def test_parsing_is_cached() -> None:
    options: dict[str, Any] = {"timezone": "Europe/Berlin", "gap": "skip"}
    assert parse("7 9 * * *", **options) is parse("7 9 * * *", **options)


def test_the_attributes_say_what_was_given() -> None:
    schedule = parse("0 9 * * 1", timezone="America/New_York", gap="skip", fold="both")
    assert (schedule.kind, schedule.text, schedule.timezone) == ("cron", "0 9 * * 1", "America/New_York")
    assert (schedule.gap, schedule.fold) == ("skip", "both")
    assert schedule.explain() == "At 09:00 on Monday, New York time"
    assert schedule.to_dict()["timing_key"] == schedule.timing_key


# --------------------------------------------------------------- what random rules once found to be wrong


def test_exdate_strikes_an_rdate_written_otherwise() -> None:
    lines = "DTSTART;TZID=America/New_York:20260101T090000\nRRULE:FREQ=YEARLY\n"
    for rdate in ("RDATE:20260601T130000Z", "RDATE;TZID=America/New_York:20260601T090000"):
        for exdate in ("EXDATE:20260601T130000Z", "EXDATE;TZID=America/New_York:20260601T090000"):
            assert datetime(2026, 6, 1, 13, tzinfo=UTC) in answers(f"{lines}{rdate}")
            assert datetime(2026, 6, 1, 13, tzinfo=UTC) not in answers(f"{lines}{rdate}\n{exdate}")


def test_exdate_strikes_a_nominal_time_not_its_neighbour() -> None:
    """00:00 does not exist that day and falls on 01:00, which was not struck."""
    lines = "DTSTART;TZID=Africa/Cairo:20260424T000000\nRRULE:FREQ=HOURLY;COUNT=3"
    struck = f"{lines}\nEXDATE;TZID=Africa/Cairo:20260424T000000"
    assert answers(struck, gap="after") == answers(lines, gap="after")
    assert answers(lines, gap="after")[0] == datetime(2026, 4, 23, 22, tzinfo=UTC)


def test_a_rule_that_needs_no_anchor_begins_at_one() -> None:
    rule = "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"
    schedule = parse(rule, anchor="2030-01-01T12:00:00Z")
    assert schedule.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2030, 1, 2, 9, tzinfo=UTC)
    assert schedule.previous_before(datetime(2030, 1, 2, 9, tzinfo=UTC)) is None
    assert parse(rule).anchor is parse(rule, starts_at="2030-01-01T12:00:00Z").anchor is None


def test_an_anchor_in_a_gap_keeps_its_wall_time() -> None:
    found = answers("FREQ=DAILY;COUNT=2", timezone="America/New_York", anchor=datetime(2026, 3, 8, 2, 30))
    assert found == [datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 3, 9, 6, 30, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("zone", "start", "rule"),
    [
        ("Asia/Tehran", "20210322T010000", "FREQ=SECONDLY;BYYEARDAY=81;BYMONTHDAY=-11;BYDAY=MO;BYSECOND=0"),
        ("Africa/Cairo", "20250425T010000", "FREQ=MINUTELY;BYYEARDAY=1;BYHOUR=0;BYMINUTE=0;INTERVAL=11"),
        ("America/St_Johns", "20250309T025959", "FREQ=HOURLY;BYYEARDAY=1,365;BYHOUR=3;INTERVAL=25"),
    ],
)
def test_looking_back_stops_at_dtstart(zone: str, start: str, rule: str) -> None:
    schedule = parse(f"DTSTART;TZID={zone}:{start}\nRRULE:{rule}")
    began = datetime.strptime(start, "%Y%m%dT%H%M%S").replace(tzinfo=ZoneInfo(zone))
    first = schedule.next_after(began)
    assert first is not None
    assert schedule.previous_before(began + timedelta(minutes=6)) is None
    assert schedule.previous_before(first) is None
    assert schedule.previous_before(first + timedelta(seconds=1)) == first
