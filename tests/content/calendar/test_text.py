"""The calendar as iCalendar: what the icalendar library reads is what was planned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import icalendar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.content.calendar.calendar import CalendarEntry
from sexton.content.calendar.text import CalendarText, folded
from sexton.content.model import Action


def entry(**fields: Any) -> CalendarEntry:
    given: dict[str, Any] = {
        "scheduled_at_utc": datetime(2027, 3, 14, 8, tzinfo=UTC),
        "timezone": "Europe/Berlin",
        "local_time_display": "2027-03-14 09:00 CET (Europe/Berlin)",
        "schedule_id": "c_1",
        "content_id": "post/42",
        "entity_type": "post",
        "entity_id": "42",
        "action": Action.PUBLISH,
        "status": "pending",
        "adapter": "builtin",
        "created_by": "ann",
        "created_at": datetime(2027, 3, 1, 12, tzinfo=UTC),
        "revision": 1,
    }
    return CalendarEntry(**{**given, **fields})


def read(*entries: CalendarEntry, name: str = "Content") -> tuple[Any, list[Any]]:
    text = CalendarText(name)
    for each in entries:
        text.add(each)
    encoded = text.encoded()
    assert encoded.endswith(b"\r\n")
    assert all(len(line) <= 75 for line in encoded.split(b"\r\n"))
    for line in encoded.split(b"\r\n"):
        line.decode()  # no character is cut
    calendar: Any = icalendar.Calendar.from_ical(encoded)
    assert calendar.errors == []
    events: list[Any] = calendar.walk("VEVENT")
    assert [each.errors for each in events] == [[] for _ in events]
    return calendar, events


def test_an_event_has_what_calendars_need() -> None:
    calendar, [event] = read(entry(revision=3), name="Ann's posts")
    assert (calendar["VERSION"], calendar["CALSCALE"]) == ("2.0", "GREGORIAN")
    assert calendar["PRODID"].startswith("-//Sexton//")
    assert calendar["X-WR-CALNAME"] == "Ann's posts"
    assert event["UID"] == "c_1-publish@sexton"
    assert event.decoded("DTSTART") == datetime(2027, 3, 14, 8, tzinfo=UTC)
    assert event.decoded("DTSTAMP") == datetime(2027, 3, 1, 12, tzinfo=UTC)
    assert (event["SEQUENCE"], event["SUMMARY"], event["STATUS"]) == (2, "publish post/42", "CONFIRMED")
    assert event["DESCRIPTION"] == "pending, planned by ann\n2027-03-14 09:00 CET (Europe/Berlin)"


def test_each_time_of_a_series_has_its_own_identity_and_a_moved_action_keeps_its() -> None:
    later = datetime(2027, 3, 21, 8, tzinfo=UTC)
    series = {"recurrence_rule": "FREQ=WEEKLY", "schedule_id": "c_2"}
    _, events = read(entry(**series), entry(**series, scheduled_at_utc=later), entry(scheduled_at_utc=later))
    assert len({each["UID"] for each in events}) == 3
    assert events[2]["UID"] == read(entry())[1][0]["UID"]


@pytest.mark.parametrize(
    ("status", "shown", "summary"),
    [
        ("done", "CONFIRMED", "✓ publish post/42"),
        ("failed", "CONFIRMED", "✗ publish post/42"),
        ("skipped", "CANCELLED", "– publish post/42"),
    ],
)
def test_the_state_is_shown(status: str, shown: str, summary: str) -> None:
    _, [event] = read(entry(status=status, last_error="why"))
    assert (event["STATUS"], event["SUMMARY"]) == (shown, summary)
    assert "why" in event["DESCRIPTION"]


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn")), max_size=200))
def test_any_text_comes_back(text: str) -> None:
    _, [event] = read(entry(note=f"<{text}>\n✓ next; line, \\n"))
    printable = "".join(each for each in text if each.isprintable())
    assert event["DESCRIPTION"].endswith(f"<{printable}>\n✓ next; line, \\n")


def test_lines_are_folded_between_characters() -> None:
    assert folded("x" * 75) == b"x" * 75 + b"\r\n"
    assert folded("x" * 150) == b"x" * 75 + b"\r\n " + b"x" * 74 + b"\r\n x\r\n"
    assert folded("é" * 50) == ("é" * 37).encode() + b"\r\n " + ("é" * 13).encode() + b"\r\n"
