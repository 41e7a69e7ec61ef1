"""Times as people write them, turned into instants and schedules.

A single local time that happens twice, or does not exist, is refused; the error lists the instants that it
could mean. A series follows the wall clock: 09:00 stays 09:00 before and after a clock change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from sexton.clock import iso
from sexton.errors import InvalidField, ScheduleError
from sexton.refusal import aware
from sexton.schedules.once import read_time
from sexton.schedules.wall import to_wall
from sexton.schedules.zone import EPOCH, Zone, zone, zone_names

MINUTE = timedelta(minutes=1)
FOLDS, GAPS = ("first", "second"), ("after", "shift")


class UnclearTime(InvalidField):
    """A local time that happens twice or does not exist. `candidates` are the instants that it could mean."""

    def __init__(self, message: str, *, field: str, hint: str, candidates: list[dict[str, str]]) -> None:
        code = "ambiguous_time" if "fold" in candidates[0] else "nonexistent_time"
        super().__init__(code, message, field=field, hint=hint)
        self.candidates = candidates

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "candidates": self.candidates}


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant, with the local time that it is in a zone."""

    at: datetime
    local: datetime
    timezone: str

    def schedule(self, rule: str | None) -> str:
        """The schedule of a job that fires at this moment; with a `rule`, repeatedly from it on."""
        if rule is None:
            return iso(self.at)
        return f"DTSTART;TZID={self.timezone}:{self.local:%Y%m%dT%H%M%S}\nRRULE:{rule_of(rule)}"


def read_moment(
    local_time: str | None,
    at: datetime | None,
    timezone: str | None,
    *,
    fold: str | None = None,
    gap: str | None = None,
    field: str = "local_time",
    instant_field: str = "at",
) -> Moment:
    """The moment of `local_time` or `at`, of which the caller gives exactly one. `field` and `instant_field`
    are the caller's names for them."""
    for name, value, choices in (("fold", fold, FOLDS), ("gap", gap, GAPS)):
        if value is not None and value not in choices:
            raise InvalidField(
                "bad_value", f"{name} is {value!r}", field=name, hint=f"use {' or '.join(choices)}"
            )
    if local_time is not None and at is not None:
        raise InvalidField(
            "too_many_times",
            f"both local_time and {instant_field} say when",
            field=field,
            hint="give one of them",
        )
    if local_time is None and at is None:
        raise InvalidField(
            "missing_field",
            f"give one of local_time and {instant_field}",
            field=field,
            hint='write "local_time": "2027-03-14 09:00" with "timezone": "Europe/Berlin"',
        )
    if at is not None:
        return _instant(aware(at, instant_field), timezone)
    assert local_time is not None
    moment = _read(local_time, field)
    if moment.tzinfo is not None:
        return _instant(aware(moment, field), timezone)
    if timezone is None:
        raise InvalidField(
            "no_timezone",
            f"{local_time} is a local time without a time zone",
            field="timezone",
            hint='give "timezone" (--timezone), such as Europe/Berlin, or an instant such as'
            " 2027-03-14T08:00:00Z",
        )
    place = find_zone(timezone)
    return Moment(_choose(moment, place, fold, gap, field), moment, place.name)


def midnight(text: str, timezone: str | None, field: str) -> datetime | None:
    """The start of the day, if `text` is a date such as 2027-03-14; None if it is not a date."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    if not 1900 <= day.year <= 9000:
        raise InvalidField("out_of_range", f"the year is {day.year}", field=field, hint="such as 2027-03-14")
    place = find_zone(timezone or "UTC")
    return EPOCH + timedelta(seconds=place.first_instant(to_wall(datetime.combine(day, time()))))


def find_zone(name: str) -> Zone:
    try:
        return zone(name)
    except ScheduleError as error:
        raise InvalidField(error.code, error.message, field="timezone", hint=error.hint) from None


def shifted(at: datetime, timezone: str, *, days: int = 0, minutes: int = 0) -> datetime:
    """So many days later on the wall clock of the zone, and so many minutes after that."""
    start = read_moment(None, at, timezone)
    if days:
        start = read_moment(local_text(start.local + timedelta(days=days)), None, timezone)
    return start.at + timedelta(minutes=minutes)


def later_on_the_wall(moment: Moment, wall: timedelta, place: Zone) -> datetime:
    """The instant at which the wall clock has advanced by `wall`: the first of two, or the end of a gap."""
    seconds = place.first_instant(to_wall(moment.local + wall))
    return EPOCH + timedelta(seconds=seconds)


def end_of_window(opened_at: datetime, open_for: timedelta, timezone: str) -> Moment:
    """The end of a window that opened at this instant, `open_for` later on the wall clock."""
    place = find_zone(timezone)
    opened = Moment(opened_at, local_of(opened_at, place), place.name)
    # A clock change must not end a window before it starts.
    end = max(later_on_the_wall(opened, open_for, place), opened_at + timedelta(seconds=1))
    return Moment(end, local_of(end, place), place.name)


def local_of(at: datetime, place: Zone) -> datetime:
    """The local time, without its zone."""
    info: tzinfo = place.info
    return at.astimezone(info).replace(tzinfo=None)


def local_text(local: datetime) -> str:
    """A time on a wall clock as people write it: `2027-03-14 09:00:00`."""
    return local.replace(tzinfo=None).isoformat(" ", "seconds")


def local_iso(at: datetime, timezone: str) -> str | None:
    """The local time with its offset: `2027-03-14T09:00:00+01:00`. None if the zone database does not have
    the zone."""
    return at.astimezone(zone(timezone).info).isoformat() if timezone in zone_names() else None


def display(at: datetime, timezone: str) -> str:
    """For people: `2027-03-14 09:00 CET (Europe/Berlin)`."""
    local = at.astimezone(zone(timezone).info)
    seconds = ":%S" if local.second else ""
    return f"{local.strftime(f'%Y-%m-%d %H:%M{seconds} %Z')} ({timezone})"


def rule_of(text: str) -> str:
    """The rule without `RRULE:`."""
    rule = text.strip()
    rule = rule[6:] if rule.upper().startswith("RRULE:") else rule
    if "\n" in rule or "DTSTART" in rule.upper():
        raise InvalidField(
            "bad_rule",
            "the recurrence rule has several lines or a DTSTART",
            field="recurrence_rule",
            hint="write the RRULE alone, such as FREQ=WEEKLY;BYDAY=MO: local_time says when it begins",
        )
    return rule


def _read(text: str, field: str) -> datetime:
    try:
        return read_time(text.strip(), field)
    except ScheduleError as error:
        raise InvalidField(error.code, error.message, field=field, hint=error.hint) from None


def _instant(at: datetime, timezone: str | None) -> Moment:
    place = find_zone(timezone or "UTC")
    return Moment(at.astimezone(UTC), local_of(at, place), place.name)


def _choose(local: datetime, place: Zone, fold: str | None, gap: str | None, field: str) -> datetime:
    wall = to_wall(local)
    found = [EPOCH + timedelta(seconds=at) for at in place.instants_of(wall)]
    if len(found) == 1:
        return found[0]
    when = f"{local:%H:%M} on {local:%Y-%m-%d} in {place.name}"
    if found:
        if fold is not None:
            return found[fold == "second"]
        raise UnclearTime(
            f"{when} happens twice: the clock goes back",
            field=field,
            hint="choose one with fold: first or second",
            candidates=[
                {"fold": choice, **_spelled(at, place)} for choice, at in zip(FOLDS, found, strict=True)
            ],
        )
    after = place.first_instant(wall)
    shift = wall - place.period(after - 1).offset
    choices = {"after": EPOCH + timedelta(seconds=after), "shift": EPOCH + timedelta(seconds=shift)}
    if gap is not None:
        return choices[gap]
    raise UnclearTime(
        f"{when} does not exist: the clock jumps over it",
        field=field,
        hint="choose one with gap: after or shift",
        candidates=[{"gap": choice, **_spelled(at, place)} for choice, at in choices.items()],
    )


def _spelled(at: datetime, place: Zone) -> dict[str, str]:
    local = at.astimezone(place.info)
    text = local.isoformat(timespec="seconds")
    return {"local": text[:-6], "offset": text[-6:], "utc": iso(at)}
