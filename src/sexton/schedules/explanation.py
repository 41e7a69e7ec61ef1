"""A whole schedule in English: its rule and its zone, then what is added, taken away, bounded and excluded.

    Every day at 09:00, Berlin time, also on 20 October 2026 15:00, except on 21 October 2026 09:00

Times after the zone are times of that zone; an interval has none, and its times are in UTC.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from sexton.schedules import words
from sexton.schedules.calendar import Calendar, Roll, Rolled
from sexton.schedules.once import Listed
from sexton.schedules.wall import DAY, Rule, from_wall
from sexton.schedules.zone import EPOCH, Zone

if TYPE_CHECKING:
    from sexton.schedules.schedule import Schedule

LONGEST_LIST = 8


def explain(schedule: Schedule) -> str:
    rule = _unrolled(schedule.mappings[0].rule)
    in_zone = schedule.zone if schedule.kind == "recurrence" else schedule.mappings[0].zone
    added = _added(schedule, in_zone)
    said = [words.once(added) if isinstance(rule, Listed) and added else rule.words()]
    if schedule.kind != "interval":
        said.append(words.place(in_zone.name))
    if added and not isinstance(rule, Listed):
        said.append(f"also on {_times(added)}")
    said += _struck(schedule, in_zone)
    for word, bound in (("from", schedule.options.starts_at), ("until", schedule.options.ends_at)):
        if bound is not None:
            utc = " UTC" if schedule.kind == "interval" else ""
            said.append(f"{word} {words.moment(_local(bound, in_zone))}{utc}")
    # The times of an interval have no zone, but excluded days are days of one.
    place = words.place(schedule.timezone)
    days = f" ({place})" if schedule.kind == "interval" and place != "UTC" else ""
    said += [_excluded(calendar) + days for calendar in schedule.options.exclude]
    return ", ".join(said)


def _unrolled(rule: Rule) -> Rule:
    return _unrolled(rule.rule) if isinstance(rule, Rolled) else rule


def _added(schedule: Schedule, in_zone: Zone) -> list[datetime]:
    """The times of RDATE. Those given as instants are rules in UTC."""
    walls: set[int] = set()
    for mapping in schedule.mappings if schedule.kind == "recurrence" else ():
        rule = _unrolled(mapping.rule)
        if isinstance(rule, Listed):
            walls |= {
                wall if mapping.zone is in_zone else wall + in_zone.period(wall).offset for wall in rule.walls
            }
    return [from_wall(wall) for wall in sorted(walls)]


def _struck(schedule: Schedule, in_zone: Zone) -> list[str]:
    """EXDATE: times, and whole days."""
    struck = schedule.struck
    walls = struck.walls | {at + in_zone.period(at).offset for at in struck.instants}
    times = [from_wall(wall) for wall in sorted(walls)]
    days = [words.date_of(from_wall(day * DAY)) for day in sorted(struck.days)]
    said = [f"except on {_times(times)}"] if times else []
    return said + ([f"except on {_some(days, 'days')}"] if days else [])


def _excluded(calendar: Calendar) -> str:
    name = calendar.name
    if not name:
        days = [words.date_of(day) for day in calendar.dates if isinstance(day, date)]
        spans = [_span(start, end) for start, end in calendar.ranges]
        return f"except on {_some(days + spans, 'days and ranges')}"
    if calendar.roll == Roll.SKIP:
        return f"{'only' if calendar.only else 'except'} during {name}"
    return f"moved to the {calendar.roll.value} day {'of' if calendar.only else 'outside'} {name}"  # type: ignore[attr-defined]


def _span(start: object, end: object) -> str:
    assert isinstance(start, date)
    assert isinstance(end, date)
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return f"{words.date_of(start)} through {words.date_of(end)}"
    return f"{words.moment(start)} to {words.moment(end)}{' UTC' if start.tzinfo else ''}"


def _times(times: list[datetime]) -> str:
    return _some([words.moment(at) for at in times], "times")


def _some(items: Collection[str], noun: str) -> str:
    """All of them, or from the first to the last and how many there are."""
    if len(items) <= LONGEST_LIST:
        return words.listed(items)
    first, *_, last = items
    return f"{len(items)} {noun} from {first} to {last}"


def _local(at: datetime, in_zone: Zone) -> datetime:
    seconds = (at - EPOCH) // timedelta(seconds=1)
    return from_wall(seconds + in_zone.period(seconds).offset)
