"""The calendar as iCalendar (RFC 5545): one event for each time, in UTC, lines folded between characters."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sexton import __version__
from sexton.content.calendar.calendar import CalendarEntry

# Octets of a line, without its end.
LONGEST_LINE = 75
REFRESH = "PT15M"
DESCRIPTIONS = ("X-WR-CALDESC", "DESCRIPTION")
MARKS = {"done": "✓", "failed": "✗", "skipped": "–", "processing": "…"}


class CalendarText:
    """Builds a calendar. `about` describes it; `size` is the size of its events in bytes."""

    def __init__(self, name: str, about: str | None = None) -> None:
        self.about = about
        self.size = 0
        self._events: list[bytes] = []
        self._head = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            f"PRODID:-//Sexton//Sexton {__version__}//EN",
            "CALSCALE:GREGORIAN",
            "METHOD:PUBLISH",
            f"X-WR-CALNAME:{escaped(name)}",
            f"NAME:{escaped(name)}",
            f"REFRESH-INTERVAL;VALUE=DURATION:{REFRESH}",
            f"X-PUBLISHED-TTL:{REFRESH}",
        ]

    def add(self, entry: CalendarEntry, *, brief: bool = False) -> None:
        """Add an entry; with `brief`, only its name and time."""
        about = [entry.local_time_display]
        if not brief:
            about.insert(0, f"{entry.status}, planned by {entry.created_by}")
            about += [] if entry.version is None else [f"version {entry.version}"]
            about += [text for text in (entry.last_error, entry.note) if text]
        mark = f"{MARKS[entry.status]} " if entry.status in MARKS else ""
        lines = [
            f"UID:{_uid(entry)}",
            f"DTSTAMP:{stamp(entry.created_at)}",
            f"SEQUENCE:{entry.revision - 1}",
            f"DTSTART:{stamp(entry.scheduled_at_utc)}",
            f"SUMMARY:{escaped(f'{mark}{entry.action} {entry.content_id}')}",
            f"DESCRIPTION:{escaped(chr(10).join(about))}",
            f"CATEGORIES:{escaped(entry.action)},{escaped(entry.entity_type)}",
            f"STATUS:{'CANCELLED' if entry.status in ('cancelled', 'skipped') else 'CONFIRMED'}",
        ]
        self.event(lines)

    def event(self, lines: Iterable[str]) -> None:
        """Add an event of these lines."""
        event = b"".join(map(folded, ("BEGIN:VEVENT", *lines, "TRANSP:TRANSPARENT", "END:VEVENT")))
        self._events.append(event)
        self.size += len(event)

    def encoded(self) -> bytes:
        about = [] if self.about is None else [f"{name}:{escaped(self.about)}" for name in DESCRIPTIONS]
        head = map(folded, (*self._head, *about))
        return b"".join((*head, *self._events, folded("END:VCALENDAR")))


def _uid(entry: CalendarEntry) -> str:
    """A stable id of the event. A single action keeps it when it is moved. Each time of a series, and the end
    of each window, has its own."""
    place = f"-{int(entry.scheduled_at_utc.timestamp())}" if entry.recurrence_rule is not None else ""
    return f"{entry.schedule_id}{place}-{entry.action}@sexton"


def stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def escaped(text: str) -> str:
    """Escape a text, and remove control characters other than line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(each for each in text if each in "\n\t" or each.isprintable())
    for mark, written in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        text = text.replace(mark, written)
    return text


def folded(line: str) -> bytes:
    """Lines of at most 75 octets; one that goes on begins with a space, and no character is cut."""
    if line.isascii():
        octets = line.encode()
        first, rest = octets[:LONGEST_LINE], octets[LONGEST_LINE:]
        width = LONGEST_LINE - 1
        parts = [first, *(b" " + rest[at : at + width] for at in range(0, len(rest), width))]
        return b"\r\n".join(parts) + b"\r\n"
    parts, part = [], b""
    for each in line:
        octets = each.encode()
        if len(part) + len(octets) > LONGEST_LINE:
            parts.append(part)
            part = b" "
        part += octets
    return b"\r\n".join((*parts, part)) + b"\r\n"
