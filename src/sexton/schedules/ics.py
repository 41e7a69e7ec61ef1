"""The events of an iCalendar file, for a calendar. Recurring events keep recurring.

An event with RECURRENCE-ID replaces that one occurrence of the event with the same UID, or, if it is
cancelled, takes it away. Floating times (without a zone) are times of the schedule that asks the calendar.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from icalendar import Calendar as File
from icalendar import Event as Entry
from icalendar import IncompleteComponent

from sexton.errors import ScheduleError
from sexton.schedules.calendar import Event, refuse
from sexton.schedules.lines import RecurrenceText, Stamp, read_line, read_recurrence, read_stamps
from sexton.schedules.parse import recurrence
from sexton.schedules.wall import DAY
from sexton.schedules.zone import zone


def read_events(name: str, text: str) -> tuple[list[date], list[tuple[date, date]], list[Event]]:
    """Single days, single ranges, and events that recur. Cancelled events are left out."""
    dates: list[date] = []
    ranges: list[tuple[date, date]] = []
    events: list[Event] = []
    try:
        files = File.from_ical(text.removeprefix("\ufeff"), multiple=True)
        if not files:
            raise ValueError("no BEGIN:VCALENDAR")
        entries = [entry for file in files for entry in file.walk("VEVENT") if isinstance(entry, Entry)]
        replaced = _replaced(name, entries)
        for entry in entries:
            if str(entry.get("STATUS", "")).upper() == "CANCELLED":
                continue
            if ("RRULE" in entry or "RDATE" in entry) and "RECURRENCE-ID" not in entry:
                events.append(_recurring(name, entry, replaced[str(entry.get("UID", ""))]))
            else:
                _read_single(name, entry, dates, ranges)
    except (ValueError, IncompleteComponent) as error:
        raise refuse(name, f"not an iCalendar file: {error}", "export it again as .ics") from error
    return dates, ranges, events


def _replaced(name: str, entries: list[Entry]) -> dict[str, list[Stamp]]:
    """By UID, the occurrences that have an event of their own."""
    found: dict[str, list[Stamp]] = defaultdict(list)
    for entry in entries:
        if "RECURRENCE-ID" not in entry:
            continue
        line = read_line(_lines(entry, ("RECURRENCE-ID",))[0])
        if any(parameter.upper().startswith("RANGE=") for parameter in line.parameters):
            what = f"event {_title(entry)} changes all later occurrences (RANGE)"
            raise refuse(name, what, "end the first event with UNTIL and make a second one")
        try:
            found[str(entry.get("UID", ""))] += read_stamps(line)
        except ScheduleError as error:
            raise _refuse_event(name, entry, error) from error
    return found


def _read_single(name: str, entry: Entry, dates: list[date], ranges: list[tuple[date, date]]) -> None:
    start, length = entry.start, entry.duration
    if not isinstance(start, datetime):
        dates.extend(start + timedelta(days=number) for number in range(max(length.days, 1)))
    elif length:
        if start.tzinfo is None:
            _refuse_unknown_zone(name, entry)
        moment = start.astimezone(UTC) if start.tzinfo else start
        ranges.append((moment, moment + length))


def _refuse_unknown_zone(name: str, entry: Entry) -> None:
    """A time in a zone that neither the file nor the zone database describes is read as a floating one."""
    try:
        for stamp in read_stamps(read_line(_lines(entry, ("DTSTART",))[0])):
            zone(stamp.tzid or "UTC")
    except ScheduleError as error:
        raise _refuse_event(name, entry, error) from error


def _recurring(name: str, entry: Entry, replaced: list[Stamp]) -> Event:
    text = "\n".join(_lines(entry, ("DTSTART", "RRULE", "RDATE", "EXDATE")))
    whole_days = not isinstance(entry.start, datetime)
    try:
        lines = read_recurrence(text)
        lines = replace(lines, exdates=lines.exdates + tuple(replaced))
        schedule = recurrence(text, _in_days(lines) if whole_days else lines)
    except ScheduleError as error:
        raise _refuse_event(name, entry, error) from error
    seconds = max(entry.duration // timedelta(seconds=1), DAY if whole_days else 1)
    stamps = [stamp for stamp in (lines.dtstart, *lines.rdates, *lines.exdates) if stamp is not None]
    floating = not (whole_days or stamps[0].utc or any(stamp.tzid for stamp in stamps))
    return Event(schedule, seconds, whole_days, floating)


def _in_days(lines: RecurrenceText) -> RecurrenceText:
    """Days have no zone and no time: an UNTIL in UTC, which some programs write, is the end of a day like any
    other, and an EXDATE with a time is its day."""
    days = [replace(stamp, at=stamp.at.replace(hour=0, minute=0, second=0)) for stamp in lines.exdates]
    exdates = tuple(replace(stamp, utc=False, tzid=None, whole_day=True) for stamp in days)
    parts = lines.parts
    if parts is not None and parts.until is not None:
        parts = replace(parts, until=replace(parts.until, utc=False))
    return replace(lines, parts=parts, exdates=exdates)


def _lines(entry: Entry, names: tuple[str, ...]) -> list[str]:
    """The content lines of an entry that have these names, unfolded."""
    return [str(line) for line in entry.content_lines() if re.split("[:;]", line)[0].upper() in names]


def _refuse_event(name: str, entry: Entry, error: ScheduleError) -> ScheduleError:
    return refuse(name, f"event {_title(entry)}: {error.message}", "correct or remove it")


def _title(entry: Entry) -> str:
    return str(entry.get("SUMMARY") or entry.get("UID", ""))
