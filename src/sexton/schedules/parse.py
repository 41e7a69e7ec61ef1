"""From text and options to a schedule. The kind is told from the shape of the text, unless it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from sexton.errors import ScheduleError
from sexton.schedules.calendar import Calendar, Roll, Rolled
from sexton.schedules.count import end_after
from sexton.schedules.cron import Cron, never_comes
from sexton.schedules.interval import Interval, is_interval, read_seconds
from sexton.schedules.lines import RecurrenceText, Stamp, is_recurrence, read_recurrence
from sexton.schedules.once import Listed, is_once, read_time, refuse_unclear
from sexton.schedules.recurrence import Recurrence
from sexton.schedules.schedule import Dates, Options, Schedule
from sexton.schedules.wall import DAY, FIRST_WALL, LAST_WALL, Budget, Rule, to_wall
from sexton.schedules.zone import EPOCH, Fold, Gap, Mapping, Zone, zone

LONGEST_TEXT = 2048

Time = datetime | str | None
Excluded = date | str | tuple[object, object] | Calendar


class Kind(StrEnum):
    CRON = "cron"
    RECURRENCE = "recurrence"
    INTERVAL = "interval"
    ONCE = "once"


def parse(
    text: str,
    *,
    timezone: str | None = None,
    kind: str | None = None,
    anchor: Time = None,
    gap: str | None = None,
    fold: str | None = None,
    starts_at: Time = None,
    ends_at: Time = None,
    exclude: Iterable[Excluded] | Excluded = (),
    key: str | None = None,
    seconds: str | None = None,
) -> Schedule:
    """Read a schedule, or raise `ScheduleError` with what is wrong, where, and what to write instead.

    `timezone` is UTC unless the text names one (TZID, CRON_TZ). `anchor` is where intervals and recurrences
    without DTSTART start. `gap` (after, shift, skip) and `fold` (first, second, both) say what happens at
    clock changes. `starts_at` and `ends_at` are inclusive; naive times are wall times of the zone. `exclude`
    takes dates, ranges and calendars. `key` is what the `H` of cron hashes; `seconds="last"` reads six
    fields in croniter's order.
    """
    _check_text(text)
    for field, value in (
        ("timezone", timezone),
        ("kind", kind),
        ("gap", gap),
        ("fold", fold),
        ("key", key),
        ("seconds", seconds),
    ):
        if value is not None and not isinstance(value, str):
            raise ScheduleError(
                "bad_option", f"{field} is text, not {value!r}", field=field, hint="write it as text"
            )
    for field, moment in (("anchor", anchor), ("starts_at", starts_at), ("ends_at", ends_at)):
        if not isinstance(moment, datetime | str | None):
            hint = "pass a datetime or ISO-8601 text"
            raise ScheduleError("bad_time", f"{moment!r} is not a time", field=field, hint=hint)
    calendars = _calendars(exclude)
    return _parse(text, timezone, kind, anchor, gap, fold, starts_at, ends_at, calendars, key, seconds)


@lru_cache(maxsize=16_384)
def _parse(
    text: str,
    timezone: str | None,
    kind: str | None,
    anchor: Time,
    gap: str | None,
    fold: str | None,
    starts_at: Time,
    ends_at: Time,
    calendars: tuple[Calendar, ...],
    key: str | None,
    seconds: str | None,
) -> Schedule:
    body, timezone = _split_zone(text, timezone)
    which = _choose(Kind, kind, "kind") or kind_of(body)
    if seconds is not None:
        _choose_one(seconds, ("first", "last"), "seconds")
    if seconds == "last" and which is not Kind.CRON:
        raise ScheduleError(
            "bad_option", "seconds=last is for cron alone", field="seconds", hint="leave it out"
        )
    lines = read_recurrence(body) if which is Kind.RECURRENCE else None
    if lines is not None:
        timezone = _zone_of(lines, timezone)
    in_zone = _named_zone(timezone, text)
    zone_given = timezone is not None
    start = _instant(starts_at, in_zone, "starts_at", zone_given)
    options = Options(
        timezone=in_zone.name,
        anchor=_anchor(anchor, which, in_zone, zone_given) or start,
        gap=_choose(Gap, gap, "gap"),
        fold=_choose(Fold, fold, "fold"),
        starts_at=start,
        ends_at=_instant(ends_at, in_zone, "ends_at", zone_given),
        exclude=calendars,
        key=key,
        seconds=seconds,
    )
    if options.starts_at and options.ends_at and options.ends_at < options.starts_at:
        raise ScheduleError("bad_option", "ends_at is before starts_at", field="ends_at", hint="swap them")
    match which:
        case Kind.CRON:
            return _cron(text, body, options, in_zone)
        case Kind.RECURRENCE:
            assert lines is not None
            return _recurrence(text, lines, options, in_zone)
        case Kind.INTERVAL:
            return _interval(text, body, options)
        case Kind.ONCE:
            return _once(text, body, options, in_zone, zone_given)


def kind_of(text: str) -> Kind:
    """What a text looks like."""
    if is_interval(text):
        return Kind.INTERVAL
    if is_recurrence(text):
        return Kind.RECURRENCE
    return Kind.ONCE if is_once(text) else Kind.CRON


def _cron(text: str, body: str, options: Options, in_zone: Zone) -> Schedule:
    rule = Cron.parse(body, key=options.key, seconds=options.seconds or "first")
    if rule.next(0, Budget()) is None:
        position = [match.start() for match in re.finditer(r"\S+", body)][-3]
        raise ScheduleError(
            "never_fires", never_comes(rule), position=position, hint="check the days and months"
        )
    return Schedule(Kind.CRON.value, text, options, (_mapping(rule, options, in_zone),))


def _recurrence(text: str, lines: RecurrenceText, options: Options, in_zone: Zone) -> Schedule:
    anchor: int | None = None
    if lines.dtstart is not None:
        anchor = _in_calendar(_wall_of(lines.dtstart, in_zone), "schedule")
    elif options.anchor is not None and lines.parts is not None and lines.parts.needs_anchor:
        anchor = _in_calendar(_wall_of_anchor(options.anchor, in_zone), "anchor")
    mappings, until, needs_anchor = [], None, False
    if lines.parts is not None:
        rule = Recurrence(lines.parts, anchor)
        needs_anchor = anchor is None and lines.parts.needs_anchor
        if lines.parts.until is not None and lines.parts.until.utc:
            until = (lines.parts.until.at.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
        mappings.append(_mapping(rule, options, in_zone))
        if not needs_anchor:
            budget = Budget()
            rule.check(budget, complete=lines.dtstart is not None)
            if lines.parts.count is not None:
                gaps = in_zone.gaps(rule.first) if mappings[0].gap is Gap.SKIP else ()
                end_after(rule, lines.parts.count, gaps, budget)
    listed, struck = (
        _dates(lines.rdates, in_zone, midnight=True),
        _dates(lines.exdates, in_zone, midnight=False),
    )
    if struck.walls:
        shown = frozenset(at for wall in struck.walls for at in in_zone.instants_of(wall))
        struck = replace(struck, wall_instants=shown)
    if listed.walls:
        mappings.append(_mapping(Listed(listed.walls), options, in_zone))
    if listed.instants:
        mappings.append(Mapping(Listed(listed.instants), zone("UTC"), Gap.AFTER, Fold.FIRST))
    return Schedule(Kind.RECURRENCE.value, text, options, tuple(mappings), until, struck, needs_anchor)


def _interval(text: str, body: str, options: Options) -> Schedule:
    length = read_seconds(body)
    if any(calendar.roll != Roll.SKIP for calendar in options.exclude):
        raise ScheduleError(
            "bad_option",
            "an interval counts elapsed time and cannot move to another day",
            field="exclude",
            hint="use a calendar with roll=skip, or cron",
        )
    needs_anchor = options.anchor is None
    anchor = 0 if options.anchor is None else (options.anchor - EPOCH) // timedelta(seconds=1)
    rule = Interval(length, anchor)
    mapping = _mapping(rule, options, zone("UTC"))
    return Schedule(Kind.INTERVAL.value, text, options, (mapping,), needs_anchor=needs_anchor)


def _once(text: str, body: str, options: Options, in_zone: Zone, zone_given: bool) -> Schedule:
    moment = read_time(body)
    fraction = timedelta(microseconds=moment.microsecond)
    if moment.tzinfo is not None:
        at = _in_calendar((moment - EPOCH) // timedelta(seconds=1), "schedule")
        mapping = Mapping(Listed((at,)), zone("UTC"), Gap.AFTER, Fold.FIRST)
    else:
        if not zone_given:
            raise _naive(body, "schedule")
        if options.fold is Fold.BOTH:
            raise ScheduleError(
                "bad_option", "one time cannot be two", field="fold", hint="use fold=first or second"
            )
        wall = _in_calendar(to_wall(moment), "schedule")
        if options.gap is None and options.fold is None:
            refuse_unclear(moment, in_zone)
        mapping = _mapping(Listed((wall,)), options, in_zone)
    return Schedule(Kind.ONCE.value, text, options, (mapping,), fraction=fraction)


def _mapping(rule: Rule, options: Options, in_zone: Zone) -> Mapping:
    for calendar in options.exclude:
        if calendar.roll != Roll.SKIP:
            rule = Rolled(rule, calendar)
    if options.gap is None and options.fold is None and rule.running:
        return Mapping(rule, in_zone, Gap.SKIP, Fold.BOTH)
    return Mapping(rule, in_zone, options.gap or Gap.AFTER, options.fold or Fold.FIRST)


def _in_calendar(wall: int, field: str) -> int:
    """Times at the very ends of what can be computed with are refused."""
    if not FIRST_WALL <= wall < LAST_WALL:
        hint = "use a time from the year 2 to the year 9998"
        raise ScheduleError("out_of_range", "a time at the end of the calendar", field=field, hint=hint)
    return wall


def _dates(stamps: tuple[Stamp, ...], in_zone: Zone, *, midnight: bool) -> Dates:
    """RDATE and EXDATE. A date alone is midnight where it is listed, and the whole day where it is struck."""
    walls, instants, days = set(), set(), set()
    for stamp in stamps:
        _in_calendar(to_wall(stamp.at), "schedule")
        if stamp.whole_day and not midnight:
            days.add(to_wall(stamp.at) // DAY)
        elif stamp.utc:
            instants.add(to_wall(stamp.at))
        elif stamp.tzid and stamp.tzid != in_zone.name:
            instants.add(zone(stamp.tzid).first_instant(to_wall(stamp.at)))
        else:
            walls.add(to_wall(stamp.at))
    return Dates(frozenset(walls), frozenset(instants), frozenset(days))


def _zone_of(lines: RecurrenceText, given: str | None) -> str | None:
    tzid = lines.dtstart.tzid if lines.dtstart else None
    if tzid and given and tzid != given:
        raise ScheduleError(
            "timezone_conflict",
            f"DTSTART is in {tzid}, but timezone is {given}",
            field="timezone",
            hint=f"leave timezone out, or set it to {tzid}",
        )
    return given or tzid


def _wall_of(stamp: Stamp, in_zone: Zone) -> int:
    """DTSTART in UTC is moved to the schedule's zone: from there on the rule follows that clock."""
    wall = to_wall(stamp.at)
    return wall + in_zone.period(wall).offset if stamp.utc else wall


def _split_zone(text: str, timezone: str | None) -> tuple[str, str | None]:
    """`CRON_TZ=Zone` in front of the fields. It is blanked out, so that positions stay right."""
    match = re.match(r"\s*(?:CRON_TZ|TZ)=(\S+)\s+", text)
    if not match:
        return text.strip() if text[:1].isspace() else text.rstrip(), timezone
    if timezone is not None and timezone != match[1]:
        raise ScheduleError(
            "timezone_conflict",
            f"the text says {match[1]}, but timezone is {timezone}",
            position=match.start(1),
            field="timezone",
            hint="give the zone once",
        )
    return " " * match.end() + text[match.end() :].rstrip(), match[1]


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise ScheduleError(
            "bad_text", f"a schedule is text, not {type(text).__name__}", hint="write for example 0 9 * * 1-5"
        )
    if not text.strip():
        raise ScheduleError(
            "empty", "the schedule is empty", position=0, hint="write for example 0 9 * * 1-5"
        )
    if len(encoded := text.encode("utf-8", "replace")) > LONGEST_TEXT:
        position = len(encoded[:LONGEST_TEXT].decode("utf-8", "ignore"))
        raise ScheduleError(
            "too_long",
            f"the schedule is longer than {LONGEST_TEXT} bytes",
            position=position,
            hint="split it",
        )


def _named_zone(name: str | None, text: str) -> Zone:
    """The zone; one that the text itself names is pointed at if it is unknown."""
    try:
        return zone("UTC" if name is None else name)
    except ScheduleError as error:
        named = re.search(rf'TZ(?:ID)?="?({re.escape(name or "")})', text)
        error.position = named.start(1) if named else None
        raise


def _anchor(value: Time, kind: Kind, in_zone: Zone, zone_given: bool) -> datetime | None:
    """A naive anchor of a recurrence stays wall time, as a DTSTART would, also in a gap."""
    if kind is Kind.RECURRENCE and zone_given and value is not None:
        moment = read_time(value, "anchor") if isinstance(value, str) else value
        if getattr(moment, "tzinfo", UTC) is None:
            return moment
    return _instant(value, in_zone, "anchor", zone_given)


def _wall_of_anchor(anchor: datetime, in_zone: Zone) -> int:
    if anchor.tzinfo is None:
        return to_wall(anchor)
    at = (anchor - EPOCH) // timedelta(seconds=1)
    return at + in_zone.period(at).offset


def _naive(value: str, field: str) -> ScheduleError:
    hint = "add Z or an offset, or give a timezone"
    return ScheduleError("naive_time", f"{value} has no time zone", field=field, hint=hint)


def _instant(value: Time, in_zone: Zone, field: str, zone_given: bool) -> datetime | None:
    """An option that is a time; a naive one is wall time in the zone, and the first one if there are two."""
    if value is None:
        return None
    moment = read_time(value, field) if isinstance(value, str) else value
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    if not zone_given:
        raise _naive(moment.isoformat(), field)
    at = in_zone.first_instant(to_wall(moment))
    return EPOCH + timedelta(seconds=at, microseconds=moment.microsecond)


Choice = TypeVar("Choice", bound=StrEnum)


def _choose(choices: type[Choice], value: str | None, field: str) -> Choice | None:
    return None if value is None else choices(_choose_one(value, tuple(choices), field))


def _choose_one(value: str, choices: tuple[str, ...], field: str) -> str:
    if value not in choices:
        known = ", ".join(choices)
        raise ScheduleError(
            "bad_option", f"{field} {value!r} is unknown", field=field, hint=f"use one of {known}"
        )
    return value


def _calendars(exclude: Iterable[Excluded] | Excluded) -> tuple[Calendar, ...]:
    """Calendars as they are, and one without a name's worth for single dates and ranges."""
    single = isinstance(exclude, date | str | Calendar)
    items: list[object] = [exclude] if single else list(exclude)  # type: ignore[arg-type]
    named, dates, ranges = [], [], []
    for item in items:
        if isinstance(item, Calendar):
            named.append(item)
        elif isinstance(item, tuple | list):
            ranges.append(tuple(item))
        elif isinstance(item, str) and ("/" in item or ".." in item):
            ranges.append(tuple(item.replace("..", "/").split("/", 1)))
        else:
            dates.append(item)
    if dates or ranges:
        named.append(Calendar("", tuple(dates), tuple(ranges)))  # type: ignore[arg-type]
    return tuple(named)


__all__ = ["Kind", "kind_of", "parse"]
