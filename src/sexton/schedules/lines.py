"""The lines of a recurrence: DTSTART, RRULE, RDATE and EXDATE of RFC 5545, or a bare rule.

Newlines or spaces separate the lines. They may be folded, or stand inside the one VEVENT of a VCALENDAR. The
reader ignores what does not say when something happens there (DTEND, SUMMARY, X- parameters). It refuses
EXRULE.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sexton.errors import ScheduleError
from sexton.schedules.rfc5545 import Parts, read_parts, read_stamp, refuse
from sexton.schedules.zone_alias import iana_name

NAMES = "DTSTART|RRULE|RDATE|EXDATE|EXRULE|DTEND|DURATION|RECURRENCE-ID|BEGIN|END|X-[A-Z0-9-]+"

# A space parts two lines where a name follows; after ; or , it is inside a rule.
BETWEEN = re.compile(rf"(?<![;,\s])\s+(?=(?:{NAMES})[:;]|[A-Z]+=)|\s*\n\s*", re.IGNORECASE)
FOLD = re.compile(rf"\r?\n[ \t](?!\s*(?:{NAMES})[:;])", re.IGNORECASE)
# The colon ends the name and its parameters, unless it is inside quotes.
HEAD = re.compile(r'((?:[^":]|"[^"]*")*):(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A DATE or DATE-TIME as it was written: naive, with what was said about its zone."""

    at: datetime
    utc: bool = False
    tzid: str | None = None
    whole_day: bool = False


@dataclass(frozen=True, slots=True)
class RecurrenceText:
    """What the lines of a recurrence say."""

    parts: Parts | None
    dtstart: Stamp | None = None
    rdates: tuple[Stamp, ...] = ()
    exdates: tuple[Stamp, ...] = ()


class Line(NamedTuple):
    """One content line, and where its name and its value stand in the unfolded text."""

    name: str
    parameters: tuple[str, ...]
    value: str
    position: int
    value_position: int


def is_recurrence(text: str) -> bool:
    """Whether a text begins as a recurrence, or has a line of one further down."""
    return bool(
        re.match(rf"(?:{NAMES})[:;]|[A-Z-]+=", text, re.IGNORECASE)
        or re.search(r"^[ \t]*(?:DTSTART|RRULE)[:;]", text, re.IGNORECASE | re.MULTILINE)
    )


def read_recurrence(text: str) -> RecurrenceText:
    """What the lines say. A text that begins a component (BEGIN:) must hold exactly one event."""
    unfolded, places = _unfold(text)
    try:
        return _read(list(_split(unfolded)))
    except ScheduleError as error:
        if error.position is not None:
            error.position = places[min(error.position, len(places) - 1)]
        raise


def _read(lines: list[Line]) -> RecurrenceText:
    if any(line.name == "BEGIN" for line in lines):
        lines = _only_event(lines)
    parts: Parts | None = None
    dtstart: Stamp | None = None
    rdates: list[Stamp] = []
    exdates: list[Stamp] = []
    for line in lines:
        match line.name:
            case "RRULE":
                if parts is not None:
                    raise refuse(
                        "a second RRULE", line.position, "make two jobs, or put the extra times into RDATE"
                    )
                parts = read_parts(line.value, line.value_position)
            case "DTSTART":
                if dtstart is not None:
                    raise refuse("a second DTSTART", line.position, "give one DTSTART")
                dtstart = read_stamps(line)[0]
            case "RDATE":
                rdates += read_stamps(line)
            case "EXDATE":
                exdates += read_stamps(line)
            case "EXRULE":
                raise refuse(
                    "EXRULE was removed from the standard (RFC 5545) and is not supported",
                    line.position,
                    "list the times in EXDATE, or exclude a calendar",
                )
            case "RECURRENCE-ID":
                raise refuse(
                    "RECURRENCE-ID: this event is one changed occurrence of another event",
                    line.position,
                    "paste the event that has the RRULE",
                )
            case name if name in ("DTEND", "DURATION") or name.startswith("X-"):
                pass
            case _:
                known = "use DTSTART, RRULE, RDATE and EXDATE"
                hint = f"{known}, or paste the event from BEGIN:VEVENT to END:VEVENT"
                raise refuse(f"unknown line {line.name!r}", line.position, hint)
    if parts is None and not rdates:
        raise _nothing_recurs(dtstart)
    return RecurrenceText(parts, dtstart, tuple(rdates), tuple(exdates))


def read_line(text: str) -> Line:
    """One content line, unfolded."""
    return next(_split(text))


def read_stamps(line: Line) -> list[Stamp]:
    """The dates and times of DTSTART, RDATE, EXDATE or RECURRENCE-ID."""
    tzid = _tzid(line)
    stamps = []
    position = line.value_position
    for item in line.value.upper().split(","):
        at, utc, whole_day = read_stamp(item.strip(), position, line.name)
        if utc and tzid:
            raise refuse(f"{line.name} has both TZID and Z", position, "use one of them")
        stamps.append(Stamp(at, utc, tzid, whole_day))
        position += len(item) + 1
    return stamps


def _split(unfolded: str) -> Iterator[Line]:
    separator = re.compile(r"\s*\n\s*") if re.search(r"\bBEGIN:", unfolded, re.IGNORECASE) else BETWEEN
    start = 0
    for end, following in [*(match.span() for match in separator.finditer(unfolded)), (len(unfolded),) * 2]:
        piece = unfolded[start:end]
        content = piece.strip()
        position = start + len(piece) - len(piece.lstrip())
        start = following
        if not content:
            continue
        if head := HEAD.fullmatch(content):
            name, *parameters = re.findall(r'(?:[^";]|"[^"]*")+', head[1]) or [""]
            value_position = position + len(head[1]) + 1
            yield Line(name.upper(), tuple(parameters), head[2], position, value_position)
        else:
            yield Line("RRULE", (), content, position, position)


def _unfold(text: str) -> tuple[str, range | list[int]]:
    """The text with folded lines joined, and where each of its characters stood before."""
    folds = [match.span() for match in FOLD.finditer(text)]
    if not folds:
        return text, range(len(text) + 1)
    kept = [place for place in range(len(text) + 1) if not any(start <= place < end for start, end in folds)]
    return "".join(text[place] for place in kept[:-1]), kept


def _only_event(lines: list[Line]) -> list[Line]:
    """The lines that say when the one event happens; other components are left out."""
    found: list[Line] = []
    inside: list[str] = []
    events = 0
    for line in lines:
        kind = line.value.strip().upper()
        if line.name == "BEGIN":
            inside.append(kind)
            events += kind == "VEVENT"
            if events > 1:
                hint = "paste one event, or make a job of each"
                raise refuse("more than one event", line.position, hint)
        elif line.name == "END":
            if not inside or inside.pop() != kind:
                raise refuse(f"END:{kind} ends nothing", line.position, "paste the event as a whole")
        elif inside and inside[-1] == "VEVENT":
            if line.name == "STATUS" and kind == "CANCELLED":
                raise refuse("the event is cancelled", line.position, "remove STATUS, or the event")
            if re.fullmatch(NAMES, line.name):
                found.append(line)
    if not events:
        hint = "paste a VEVENT, or its lines DTSTART and RRULE"
        raise refuse("no event (VEVENT) in this text", 0, hint)
    return found


def _nothing_recurs(dtstart: Stamp | None) -> ScheduleError:
    if dtstart is None or dtstart.whole_day:
        return refuse("neither RRULE nor RDATE: nothing recurs", 0, "add a line such as RRULE:FREQ=DAILY")
    once = f"{dtstart.at.isoformat()}{'Z' if dtstart.utc else ''}"
    zone = f" with timezone {dtstart.tzid}" if dtstart.tzid else ""
    return refuse("neither RRULE nor RDATE: nothing recurs", 0, f"for one time write {once}{zone}")


def _tzid(line: Line) -> str | None:
    tzid = None
    for parameter in line.parameters:
        name, _, value = parameter.partition("=")
        name, value = name.strip().upper(), value.strip().strip('"')
        if name == "TZID":
            tzid = iana_name(value)
        elif name.startswith("X-") or (name == "VALUE" and value.upper() in ("DATE", "DATE-TIME")):
            continue
        else:
            periods = name == "VALUE" and value.upper() == "PERIOD"
            raise refuse(
                f"{parameter!r} is not supported here",
                line.position,
                f"write the start of each period alone, such as {line.name}:20261231T235959Z"
                if periods
                else "use TZID, VALUE=DATE or VALUE=DATE-TIME",
            )
    return tzid
