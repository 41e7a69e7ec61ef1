"""From text and options to a schedule. The shape of the text tells its kind, unless the caller gives it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from sexton.errors import ScheduleError
from sexton.schedules import option, warning, words
from sexton.schedules.calendar import Calendar, Roll, Rolled
from sexton.schedules.count import end_after
from sexton.schedules.cron import Cron, never_comes
from sexton.schedules.foreign import reads_with_seconds_last, refuse_lookalikes
from sexton.schedules.form import Form, check_text, read_form
from sexton.schedules.interval import Interval, is_interval, read_delay, read_seconds
from sexton.schedules.lines import RecurrenceText, Stamp, is_recurrence, read_recurrence
from sexton.schedules.once import Delay, Listed, is_delay, is_once, read_time, refuse_unclear
from sexton.schedules.option import Excluded, Time
from sexton.schedules.recurrence import Recurrence
from sexton.schedules.schedule import Dates, Options, Schedule
from sexton.schedules.wall import DAY, FIRST_WALL, LAST_WALL, Budget, Rule, to_wall
from sexton.schedules.zone import EPOCH, Fold, Gap, Mapping, Zone, zone
from sexton.schedules.zone_alias import iana_name


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

    `timezone` is UTC unless the text names one (TZID, CRON_TZ). `anchor` is where intervals, delays and
    recurrences without DTSTART start. `gap` (after, shift, skip) and `fold` (first, second, both) say what
    happens at clock changes. `starts_at` and `ends_at` are inclusive; naive times are wall times of the zone.
    `exclude` takes dates, ranges and calendars. `key` is what the `H` of cron hashes; `seconds="last"` reads
    six fields in croniter's order.

        >>> parse("every 15m").kind
        'interval'
    """
    check_text(text)
    calendars = option.calendars(exclude)
    asked = Asked(timezone, kind, anchor, gap, fold, starts_at, ends_at, calendars, key, seconds)
    for field in ("timezone", "kind", "gap", "fold", "key", "seconds"):
        if (value := getattr(asked, field)) is not None and not isinstance(value, str):
            raise ScheduleError(
                "bad_option", f"{field} is text, not {value!r}", field=field, hint="write it as text"
            )
    for field in ("anchor", "starts_at", "ends_at"):
        if (moment := getattr(asked, field)) is not None and not isinstance(moment, datetime | str):
            hint = "pass a datetime or ISO-8601 text"
            raise ScheduleError("bad_time", f"{moment!r} is not a time", field=field, hint=hint)
    return _parse(text, asked)


class Asked(NamedTuple):
    """The options of `parse` as the caller gave them; the zone may come from the text."""

    timezone: str | None
    kind: str | None
    anchor: Time
    gap: str | None
    fold: str | None
    starts_at: Time
    ends_at: Time
    calendars: tuple[Calendar, ...]
    key: str | None
    seconds: str | None


@lru_cache(maxsize=16_384)
def _parse(text: str, asked: Asked) -> Schedule:
    form = read_form(text)
    if asked.timezone is None:
        asked = asked._replace(timezone=form.timezone)
    elif form.timezone not in (None, asked.timezone):
        raise ScheduleError(
            "timezone_conflict",
            f"the text says {form.timezone}, but timezone is {asked.timezone}",
            position=text.find(form.timezone or ""),
            field="timezone",
            hint="give the zone once",
        )
    try:
        return _read(text, form, asked)
    except ScheduleError as error:
        form.locate(error)
        raise


def _read(text: str, form: Form, asked: Asked) -> Schedule:
    which = option.choose(Kind, asked.kind, "kind") or _kind_of(form.body)
    seconds = (
        None if asked.seconds is None else option.choose_one(asked.seconds, ("first", "last"), "seconds")
    )
    if seconds == "last" and which is not Kind.CRON:
        raise ScheduleError(
            "bad_option", "seconds=last is for cron alone", field="seconds", hint="leave it out"
        )
    timezone = asked.timezone
    lines = read_recurrence(form.body) if which is Kind.RECURRENCE else None
    if lines is not None:
        timezone = _zone_of(lines, timezone)
    in_zone = _named_zone(timezone, text, form.lead)
    zone_given = timezone is not None
    starts_at = option.instant(asked.starts_at, in_zone, "starts_at", zone_given)
    options = Options(
        timezone=in_zone.name,
        anchor=option.anchor(asked.anchor, in_zone, zone_given, keep_wall=which is Kind.RECURRENCE),
        gap=option.choose(Gap, asked.gap, "gap"),
        fold=option.choose(Fold, asked.fold, "fold"),
        starts_at=starts_at,
        ends_at=option.instant(asked.ends_at, in_zone, "ends_at", zone_given),
        exclude=asked.calendars,
        key=asked.key,
        seconds=seconds,
    )
    if options.starts_at and options.ends_at and options.ends_at < options.starts_at:
        raise ScheduleError("bad_option", "ends_at is before starts_at", field="ends_at", hint="swap them")
    if lines is not None and lines.dtstart is not None:
        start = _in_calendar(_wall_of(lines.dtstart, in_zone), "schedule")
        option.check_start(options.anchor, start, in_zone)
        options = replace(options, anchor=None)
    elif form.start is not None:
        own = option.instant(form.start, in_zone, "schedule", zone_given)
        assert own is not None
        start = _in_calendar(option.wall_of(own, in_zone), "schedule")
        option.check_start(options.anchor, start, in_zone)
        options = replace(options, anchor=own)
    elif options.anchor is None and _counts(which, form.body, lines):
        options = replace(options, anchor=starts_at)
    match which:
        case Kind.CRON:
            made = _cron(text, form, options, in_zone)
        case Kind.RECURRENCE:
            assert lines is not None
            made = _recurrence(text, lines, options, in_zone)
        case Kind.INTERVAL:
            made = _interval(text, form.body, options)
        case Kind.ONCE:
            made = _once(text, form.body, options, in_zone, zone_given)
    if options.anchor is None or lines is not None or _counts(which, form.body, lines):
        return made
    return replace(made, options=replace(options, anchor=None), warnings=(*made.warnings, warning.ANCHOR))


def kind_of(text: str) -> Kind:
    """The kind of schedule that a text looks like."""
    return _kind_of(read_form(text).body)


@lru_cache(maxsize=1024)
def names_start(text: str) -> bool:
    """Whether a text names its own start, so that it needs no anchor."""
    form = read_form(text)
    lines = read_recurrence(form.body) if _kind_of(form.body) is Kind.RECURRENCE else None
    return form.start is not None or (lines is not None and lines.dtstart is not None)


@lru_cache(maxsize=1024)
def takes_anchor(text: str) -> bool:
    """Whether a schedule begins at an anchor that its text does not name."""
    form = read_form(text)
    which = _kind_of(form.body)
    if which is Kind.RECURRENCE:
        return read_recurrence(form.body).dtstart is None
    return form.start is None and _counts(which, form.body, None)


@lru_cache(maxsize=1024)
def delay_in(text: str) -> timedelta | None:
    """The delay of a text such as `in 10m`; None for any other text."""
    form = read_form(text)
    if not is_delay(form.body):
        return None
    try:
        return timedelta(seconds=read_delay(form.body))
    except ScheduleError as error:
        form.locate(error)
        raise


def zone_in(text: str) -> str | None:
    """The zone that a text names."""
    form = read_form(text)
    if _kind_of(form.body) is Kind.RECURRENCE:
        return _zone_of(read_recurrence(form.body), form.timezone)
    return form.timezone


def recurrence(text: str, lines: RecurrenceText) -> Schedule:
    """A schedule from lines that the caller has read, however long they are. Floating times are in UTC."""
    in_zone = zone(_zone_of(lines, None) or "UTC")
    return _recurrence(text, lines, Options(timezone=in_zone.name), in_zone)


def _kind_of(body: str) -> Kind:
    if is_interval(body):
        return Kind.INTERVAL
    if is_recurrence(body):
        return Kind.RECURRENCE
    return Kind.ONCE if is_once(body) else Kind.CRON


def _counts(which: Kind, body: str, lines: RecurrenceText | None) -> bool:
    """Whether a schedule must count from a start that its text does not name."""
    if lines is not None:
        return lines.dtstart is None and lines.parts is not None and lines.parts.needs_anchor
    return which is Kind.INTERVAL or (which is Kind.ONCE and is_delay(body))


def _cron(text: str, form: Form, options: Options, in_zone: Zone) -> Schedule:
    refuse_lookalikes(form.body, seconds_last=options.seconds == "last")
    try:
        rule = Cron.parse(form.body, key=options.key, seconds=options.seconds or "first")
    except ScheduleError as error:
        last_field = form.body.rpartition(" ")[2]
        out = error.code == "out_of_range" and error.position == len(form.body) - len(last_field)
        if out and options.seconds is None and reads_with_seconds_last(form.body):
            error.hint = f"{error.hint}; if the last of the six fields is the seconds, give seconds=last"
        raise
    if rule.next(0, Budget()) is None:
        position = [match.start() for match in re.finditer(r"\S+", form.body)][-3]
        raise ScheduleError(
            "never_fires", never_comes(rule), position=position, hint="check the days and months"
        )
    advice = warning.of_steps(rule) + warning.of_cron_dates(rule)
    if not form.translated:
        advice += warning.of_dialects(rule, form.body, options.seconds, options.key)
    return Schedule(
        Kind.CRON.value, text, options, (_mapping(rule, options, in_zone),), warnings=tuple(advice)
    )


def _recurrence(text: str, lines: RecurrenceText, options: Options, in_zone: Zone) -> Schedule:
    anchor: int | None = None
    if lines.dtstart is not None:
        anchor = _in_calendar(_wall_of(lines.dtstart, in_zone), "schedule")
    elif options.anchor is not None:
        anchor = _in_calendar(option.wall_of(options.anchor, in_zone), "anchor")
    mappings, until, needs_anchor = [], None, False
    advice: list[str] = []
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
        advice = warning.of_recurrence(rule, complete=lines.dtstart is not None)
    listed = _dates(lines.rdates, in_zone, midnight=True)
    struck = _dates(lines.exdates, in_zone, midnight=False)
    if struck.walls:
        shown = frozenset(at for wall in struck.walls for at in in_zone.instants_of(wall))
        struck = replace(struck, wall_instants=shown)
    if listed.walls:
        mappings.append(_mapping(Listed(listed.walls), options, in_zone))
    if listed.instants:
        mappings.append(Mapping(Listed(listed.instants), zone("UTC"), Gap.AFTER, Fold.FIRST))
    kind, walks, said = Kind.RECURRENCE.value, tuple(mappings), tuple(advice)
    return Schedule(kind, text, options, walks, until, struck, needs_anchor, warnings=said)


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
    if is_delay(body):
        return _delay(text, body, options)
    moment = read_time(body)
    fraction = timedelta(microseconds=moment.microsecond)
    if moment.tzinfo is not None:
        at = _in_calendar((moment - EPOCH) // timedelta(seconds=1), "schedule")
        mapping = Mapping(Listed((at,)), zone("UTC"), Gap.AFTER, Fold.FIRST)
    else:
        if not zone_given:
            raise option.naive(body, "schedule")
        if options.fold is Fold.BOTH:
            raise ScheduleError(
                "bad_option", "a single time cannot fire twice", field="fold", hint="use fold=first or second"
            )
        wall = _in_calendar(to_wall(moment), "schedule")
        if options.gap is None and options.fold is None:
            refuse_unclear(moment, in_zone)
        mapping = _mapping(Listed((wall,)), options, in_zone)
    return Schedule(Kind.ONCE.value, text, options, (mapping,), fraction=fraction)


def _delay(text: str, body: str, options: Options) -> Schedule:
    """A time this long after the anchor, rounded up to a full second."""
    length, anchor = read_delay(body), options.anchor
    rule: Rule = Delay(length)
    if anchor is not None:
        rule = Listed((_in_calendar(-((EPOCH - anchor) // timedelta(seconds=1)) + length, "anchor"),))
    mapping = Mapping(rule, zone("UTC"), Gap.AFTER, Fold.FIRST)
    return Schedule(Kind.ONCE.value, text, options, (mapping,), needs_anchor=anchor is None)


def _mapping(rule: Rule, options: Options, in_zone: Zone) -> Mapping:
    for calendar in options.exclude:
        if calendar.roll != Roll.SKIP:
            rule = Rolled(rule, calendar)
    if options.gap is None and options.fold is None and rule.running:
        return Mapping(rule, in_zone, Gap.SKIP, Fold.BOTH)
    return Mapping(rule, in_zone, options.gap or Gap.AFTER, options.fold or Fold.FIRST)


def _in_calendar(wall: int, field: str) -> int:
    """Refuse times in the first and the last year of the calendar: no offset may lead out of it."""
    if not FIRST_WALL <= wall < LAST_WALL:
        hint = "use a time from the year 2 to the year 9998"
        raise ScheduleError(
            "out_of_range",
            f"the time is in the year {1 if wall < FIRST_WALL else 9999}",
            field=field,
            hint=hint,
        )
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
    """The zone of the rule: that of DTSTART; where DTSTART names none, that of RDATE and EXDATE."""
    start = lines.dtstart
    tzid = start.tzid if start else None
    if tzid and given is not None and tzid != given:
        raise ScheduleError(
            "timezone_conflict",
            f"DTSTART is in {tzid}, but timezone is {given}",
            field="timezone",
            hint=f"leave timezone out, or set it to {tzid}",
        )
    if given is not None or tzid or (start and start.utc):
        return tzid if given is None else given
    listed = sorted({stamp.tzid for stamp in lines.rdates + lines.exdates if stamp.tzid})
    if len(listed) > 1:
        raise ScheduleError(
            "timezone_conflict",
            f"RDATE and EXDATE are in {words.listed(listed)}: which one is the zone of the rule?",
            field="timezone",
            hint=f"set timezone, for example to {listed[0]}",
        )
    return listed[0] if listed else None


def _wall_of(stamp: Stamp, in_zone: Zone) -> int:
    """DTSTART in UTC is moved to the schedule's zone: from there on the rule follows that clock."""
    wall = to_wall(stamp.at)
    return wall + in_zone.period(wall).offset if stamp.utc else wall


def _named_zone(name: str | None, text: str, lead: int) -> Zone:
    """The zone. The refusal of an unknown zone points at its name, if the text itself has it."""
    try:
        return zone("UTC" if name is None else name)
    except ScheduleError as error:
        named = re.search(rf"""TZ(?:ID)?\s*=\s*["']?({re.escape(name or "")})""", text, re.IGNORECASE)
        error.position = named.start(1) - lead if named else None
        if name and (other := iana_name(name)) != name:
            error.hint = f"did you mean {other}?"
        raise
