"""Recurrences as calendar programs write them: pasted events, folded lines, other names of zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules import parse
from sexton.schedules.zone import zone, zone_names
from sexton.schedules.zone_alias import WINDOWS, iana_name

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 6, 1, tzinfo=UTC)

EVENT = """BEGIN:VEVENT
UID:standup@example.com
SUMMARY:Standup: RRULE:FREQ=SECONDLY and more
DTSTART;TZID=W. Europe Standard Time;X-VOBJ-FLOATINGTIME-ALLOWED=TRUE:20260105T090000
DTEND;TZID=W. Europe Standard Time:20260105T091500
RRULE:FREQ=WEEKLY;
 COUNT=5
EXDATE;TZID=W. Europe Standard Time:20260112T090000
X-MICROSOFT-CDO-BUSYSTATUS:BUSY
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT15M
DURATION:PT15M
REPEAT:1
END:VALARM
END:VEVENT"""

CALENDAR = f"""BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
END:STANDARD
END:VTIMEZONE
{EVENT}
END:VCALENDAR
"""


def answers(text: str, **options: Any) -> list[datetime]:
    return list(parse(text, **options).between(START, END))


def refused(text: str, **options: Any) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        parse(text, **options)
    return caught.value


@pytest.mark.parametrize("text", [EVENT, CALENDAR, CALENDAR.replace("\n", "\r\n")])
def test_a_pasted_event(text: str) -> None:
    schedule = parse(text)
    assert (schedule.kind, schedule.timezone) == ("recurrence", "Europe/Berlin")
    first = datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert answers(text) == [first + timedelta(weeks=number) for number in (0, 2, 3, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z\nRRULE:FREQ=DAILY;COUNT=2",
        "DTSTART:20260105T090000Z DURATION:PT1H RRULE:FREQ=DAILY;COUNT=2",
        "  DTSTART:20260105T090000Z\n  RRULE:FREQ=DAILY;COUNT=2",
        "DTSTART:20260105T090000Z\n RRULE:FREQ=DAILY;COUNT=2",
        "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY; COUNT=2",
        "DTSTART;X-NAME=a b;VALUE=DATE-TIME:20260105T090000Z\nRRULE;X-A=1:FREQ=DAILY;COUNT=2\nX-B;C=1:d",
        'DTSTART;TZID="UTC":20260105T090000\r\nRRULE:FREQ=DAI\r\n LY;COUNT=2',
        "DTSTART:20260105T090000Z FREQ=DAILY;COUNT=2",
        "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;COUNT=1\nRDATE:20260106T090000Z, 20260106T090000Z",
    ],
)
def test_lines_that_say_the_same(text: str) -> None:
    assert answers(text) == [datetime(2026, 1, day, 9, tzinfo=UTC) for day in (5, 6)]


@pytest.mark.parametrize(
    ("name", "zone_name"),
    [
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("w. europe standard time", "Europe/Berlin"),
        ("Pacific Standard Time", "America/Los_Angeles"),
        ("/freeassociation.sourceforge.net/Europe/Berlin", "Europe/Berlin"),
        ("/mozilla.org/20070129_1/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("Europe/Berlin", "Europe/Berlin"),
    ],
)
def test_names_of_zones_that_calendar_programs_write(name: str, zone_name: str) -> None:
    lines = f"DTSTART;TZID={name}:20260105T090000\nRRULE:FREQ=DAILY"
    assert parse(lines).timezone == zone_name
    assert parse(lines, timezone=zone_name).timezone == zone_name
    assert parse(lines.replace(name, f'"{name}"')).timezone == zone_name


def test_every_windows_name_is_a_zone_whose_clock_it_names() -> None:
    assert set(WINDOWS.values()) <= zone_names()
    assert all(iana_name(name) == zone_name for name, zone_name in WINDOWS.items())
    winter = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    for hours in (-11, -9, -8, -2, 12, 13):
        assert zone(WINDOWS[f"UTC{hours:+03}"]).period(winter).offset == hours * 3600


@pytest.mark.parametrize(
    ("text", "message", "wrong"),
    [
        (EVENT + "\n" + EVENT, "more than one event", "BEGIN:VEVENT"),
        (EVENT.replace("UID:", "STATUS:CANCELLED\nUID:"), "cancelled", "STATUS:CANCELLED"),
        (EVENT.replace("UID:", "RECURRENCE-ID:20260105T080000Z\nUID:"), "RECURRENCE-ID", "RECURRENCE-ID"),
        (
            "BEGIN:VCALENDAR\nBEGIN:VTODO\nRRULE:FREQ=DAILY\nEND:VTODO\nEND:VCALENDAR",
            "no event",
            "BEGIN:VCALENDAR",
        ),
        ("BEGIN:VEVENT\nRRULE:FREQ=DAILY\nEND:VCALENDAR", "ends nothing", "END:"),
        (EVENT.replace("COUNT=5", "COUNT=x"), "COUNT 'X'", "x\nEXDATE"),
        ("DTSTART;LANGUAGE=en:20260105T090000Z\nRRULE:FREQ=DAILY", "LANGUAGE", "DTSTART"),
    ],
)
def test_what_is_wrong_with_a_pasted_event(text: str, message: str, wrong: str) -> None:
    error = refused(text)
    assert message in error.message
    assert error.position == text.rindex(wrong)


@pytest.mark.parametrize(
    ("start", "once", "zone_name"),
    [
        ("DTSTART:20260105T090000Z", "2026-01-05T09:00:00Z", None),
        ("DTSTART;TZID=Romance Standard Time:20260105T090000", "2026-01-05T09:00:00", "Europe/Paris"),
    ],
)
def test_an_event_that_happens_once_is_one_instant(start: str, once: str, zone_name: str | None) -> None:
    error = refused(f"BEGIN:VEVENT\n{start}\nEND:VEVENT")
    assert once in str(error.hint)
    assert parse(once, timezone=zone_name).kind == "once"
    assert zone_name is None or zone_name in str(error.hint)


@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Europe/Berlin:20260106T090000",
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=1\nRDATE;TZID=Europe/Berlin:20260107T090000",
        "FREQ=DAILY;COUNT=3\nEXDATE;TZID=W. Europe Standard Time:20260106T090000",
    ],
)
def test_a_zone_that_only_rdate_or_exdate_names_is_the_zone_of_the_rule(lines: str) -> None:
    anchor = None if "DTSTART" in lines else datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert parse(lines).timezone == "Europe/Berlin"
    assert answers(lines, anchor=anchor) == [datetime(2026, 1, day, 8, tzinfo=UTC) for day in (5, 7)]


def test_a_zone_of_rdate_or_exdate_beside_another_one() -> None:
    exdate = "EXDATE;TZID=Europe/Berlin:20260106T090000"
    utc = f"DTSTART:20260105T080000Z\nRRULE:FREQ=DAILY;COUNT=3\n{exdate}"
    assert parse(utc).timezone == "UTC"
    assert [at.day for at in answers(utc)] == [5, 7]
    tokyo = f"DTSTART:20260105T170000\nRRULE:FREQ=DAILY;COUNT=3\n{exdate}"
    assert [at.day for at in answers(tokyo, timezone="Asia/Tokyo")] == [5, 7]
    error = refused(f"FREQ=DAILY\n{exdate}\nRDATE;TZID=Asia/Tokyo:20260107T090000")
    assert (error.code, error.field) == ("timezone_conflict", "timezone")


@pytest.mark.parametrize("start", ["DTSTART;TZID=Europe/Berlin:20260329T023000", "DTSTART:20260105T090000Z"])
def test_an_anchor_beside_dtstart_must_be_the_same_time(start: str) -> None:
    lines = f"{start}\nRRULE:FREQ=DAILY;COUNT=3"
    first = answers(lines)[0]
    assert answers(lines, anchor=first) == answers(lines)
    assert parse(lines, anchor=first).timing_key == parse(lines).timing_key
    assert parse(lines, starts_at=first - timedelta(days=9)).anchor is None
    error = refused(lines, anchor=first + timedelta(hours=1))
    assert (error.code, error.field) == ("bad_option", "anchor")
