"""Reading the events of an iCalendar file for a calendar. Recurring events keep recurring."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from icalendar import Calendar as File
from icalendar import Event as Entry
from icalendar import IncompleteComponent

from sexton.errors import ScheduleError
from sexton.schedules.calendar import Event
from sexton.schedules.parse import parse
from sexton.schedules.wall import DAY


def read_events(name: str, text: str) -> tuple[list[date], list[tuple[date, date]], list[Event]]:
    """Single days, single ranges, and events that recur. Cancelled events are left out."""
    dates: list[date] = []
    ranges: list[tuple[date, date]] = []
    events: list[Event] = []
    try:
        for file in File.from_ical(text, multiple=True):
            for entry in file.walk("VEVENT"):
                if isinstance(entry, Entry) and str(entry.get("STATUS", "")).upper() != "CANCELLED":
                    _read_event(name, entry, dates, ranges, events)
    except (ValueError, IncompleteComponent) as error:
        raise _refuse(name, f"not an iCalendar file: {error}", "export it again as .ics") from error
    return dates, ranges, events


def _read_event(
    name: str, entry: Entry, dates: list[date], ranges: list[tuple[date, date]], events: list[Event]
) -> None:
    start, length = entry.start, entry.duration
    if "RRULE" in entry or "RDATE" in entry:
        events.append(_recurring(name, entry, start, length))
    elif not isinstance(start, datetime):
        dates.extend(start + timedelta(days=number) for number in range(max(length.days, 1)))
    elif length:
        moment = start.astimezone(UTC) if start.tzinfo else start
        ranges.append((moment, moment + length))


def _recurring(name: str, entry: Entry, start: date, length: timedelta) -> Event:
    names = ("DTSTART", "RRULE", "RDATE", "EXDATE")
    lines = [str(line) for line in entry.content_lines() if re.split("[:;]", line)[0].upper() in names]
    whole_days = not isinstance(start, datetime)
    try:
        schedule = parse("\n".join(lines), kind="recurrence")
    except ScheduleError as error:
        raise _refuse(
            name, f"event {entry.get('SUMMARY', '')!s}: {error.message}", "correct or remove it"
        ) from error
    seconds = max(length // timedelta(seconds=1), DAY if whole_days else 1)
    return Event(schedule, seconds, whole_days)


def _refuse(name: str, what: str, hint: str) -> ScheduleError:
    return ScheduleError("bad_calendar", f"calendar {name!r}: {what}", field="exclude", hint=hint)
