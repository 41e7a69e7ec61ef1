"""When the clock of a zone changes, and what that does to a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Annotated

import msgspec

from sexton.refusal import about
from sexton.schedules import Occurrence, Schedule
from sexton.schedules.zone import zone

# How far ahead clock changes are searched for.
AHEAD = timedelta(days=400)
# The occurrences around a change that are examined: one per second for two hours.
MOST_AROUND = 7300
SECOND = timedelta(seconds=1)


class ClockChange(msgspec.Struct, frozen=True, kw_only=True):
    """When the clock of the zone changes."""

    at: Annotated[datetime, about("The instant.")]
    text: Annotated[str, about("The change in English.")]
    effect: Annotated[
        str | None, about("What the change does to the schedule; null: the request named no schedule.")
    ] = None


def clock_changes(timezone: str, start: datetime, end: datetime) -> list[ClockChange]:
    """When the clock of a zone changes between two instants, and by how much."""
    found = []
    first, last = int(start.timestamp()), int(end.timestamp())
    for (_, before), (at, offset) in pairwise(zone(timezone).changes(first, last)):
        if at > last:
            break
        moment = datetime.fromtimestamp(at, UTC)
        info = zone(timezone).info
        was, is_ = (moment - timedelta(seconds=1)).astimezone(info), moment.astimezone(info)
        length = _length(abs(offset - before))
        shown = (was + timedelta(seconds=1)).replace(microsecond=0)
        way, between = ("forward", "do not exist") if offset > before else ("back", "exist twice")
        text = f"{shown:%H:%M} becomes {is_:%H:%M}, times in between {between}"
        found.append(ClockChange(at=moment, text=f"{is_:%d %B %Y}: clocks go {way} {length}: {text}"))
    return found


def changes_ahead(schedule: Schedule, now: datetime) -> list[ClockChange]:
    """The clock changes of the next 400 days and their effect on the schedule. A schedule without a wall
    clock has none."""
    if schedule.kind in ("interval", "once"):
        return []
    info = zone(schedule.timezone).info
    found = []
    for each in clock_changes(schedule.timezone, now, now + AHEAD):
        before, after = (each.at - SECOND).astimezone(info), each.at.astimezone(info)
        shift = abs((after.utcoffset() or timedelta()) - (before.utcoffset() or timedelta()))
        found.append(msgspec.structs.replace(each, effect=_effect(schedule, each.at, shift)))
    return found


def _effect(schedule: Schedule, at: datetime, shift: timedelta) -> str:
    around = islice(schedule.occurrences(at - shift - SECOND, at + shift), MOST_AROUND)
    touched = [each for each in around if each.note is not None and each.skipped in (None, "dst_gap")]
    if not touched:
        return "it is not touched: it has no time in between"
    if len(touched) == 1:
        return _told(touched[0])
    skipped = sum(each.skipped is not None for each in touched)
    if skipped == len(touched):
        return f"{skipped} times do not exist, and are skipped"
    if "twice" in (touched[0].note or ""):
        return _twice(touched)
    return f"{len(touched) - skipped} times do not exist, and are moved"


def _twice(touched: Sequence[Occurrence]) -> str:
    times = {each.local.replace(tzinfo=None) for each in touched}
    what = f"{min(times):%H:%M} happens" if len(times) == 1 else f"{len(times)} times happen"
    if len(times) < len(touched):
        return f"{what} twice: it fires both times"
    return f"{what} twice: it fires at the {(touched[0].note or '').rpartition(' ')[2]}"


def _told(occurrence: Occurrence) -> str:
    """Its note, without the day that stands beside it."""
    note = (occurrence.note or "").replace(f" on {occurrence.local.date().isoformat()}", "")
    return note.replace(": this is the ", ": it fires at the ")


def _length(seconds: int) -> str:
    hours, minutes = divmod(seconds // 60, 60)
    parts = [f"{hours} h" if hours else "", f"{minutes} min" if minutes else ""]
    return " ".join(part for part in parts if part) or f"{seconds} s"
