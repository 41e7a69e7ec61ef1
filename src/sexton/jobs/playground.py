"""Explains a schedule without a job and without an account: words, the next times, clock changes, and the
difference to another schedule. Anyone may ask, so all work is bounded."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.errors import InvalidField
from sexton.jobs.preview import Preview, preview
from sexton.jobs.spec import JobSpec
from sexton.jobs.timing import read_schedule
from sexton.refusal import about
from sexton.schedules import Schedule
from sexton.schedules.comparison import compare
from sexton.schedules.zone import zone, zone_names

LONGEST_TEXT = 1000
MOST_TIMES = 100
# How far ahead two schedules are compared, and how many occurrences.
AHEAD = timedelta(days=400)
MOST_COMPARED = 2000
MOST_DIFFERENCES = 50
MOST_ZONES = 20

Text = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
ZoneName = Annotated[str, Meta(max_length=100)]


class OtherSchedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A schedule to compare with."""

    schedule: Annotated[Text, about("The schedule: cron, a recurrence, an interval or an instant.")]
    timezone: Annotated[ZoneName | None, about("The zone of the schedule. Default: UTC.")] = None


class ExplainRequest(OtherSchedule, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A schedule to explain."""

    gap: Annotated[
        Literal["after", "shift", "skip"] | None, about("What happens to a local time that does not exist.")
    ] = None
    fold: Annotated[
        Literal["first", "second", "both"] | None, about("What happens to a local time that exists twice.")
    ] = None
    count: Annotated[Annotated[int, Meta(ge=1, le=MOST_TIMES)], about("How many occurrences to list.")] = 10
    compare: Annotated[OtherSchedule | None, about("Another schedule, to see where the two differ.")] = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """An instant that only one of two schedules has."""

    at: Annotated[datetime, about("The instant.")]
    only_in: Annotated[Literal["first", "second"], about("Which of the two schedules has it.")]


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Where two schedules differ."""

    explanation: Annotated[str, about("The other schedule in English.")]
    until: Annotated[datetime, about("Up to when they were compared.")]
    common: Annotated[int, about("How many instants both have.")]
    only_in_first: Annotated[int, about("How many only the first has.")]
    only_in_second: Annotated[int, about("How many only the second has.")]
    differences: Annotated[list[Difference], about(f"The first {MOST_DIFFERENCES} of them.")]


class Explained(Preview, frozen=True, kw_only=True):
    """A schedule in words, with its next occurrences."""

    kind: Annotated[str, about("cron, recurrence, interval or once.")]
    difference: Annotated[Differences | None, about("Where the other schedule differs.")]


class ZoneFound(msgspec.Struct, frozen=True, kw_only=True):
    """A time zone."""

    zone: Annotated[str, about("The name of the zone in the zone database.")]
    offset: Annotated[str, about("The offset from UTC now: +02:00.")]
    abbreviation: Annotated[str, about("The abbreviation of the offset: CEST.")]


def explain_schedule(wish: ExplainRequest, now: datetime) -> Explained:
    """Explain a schedule. Raises what creating a job with it would raise."""
    spec = JobSpec(
        name="preview", schedule=wish.schedule, timezone=wish.timezone, gap=wish.gap, fold=wish.fold
    )
    shown = preview(spec, count=wish.count, now=now)
    schedule, _ = read_schedule(spec, now)
    fields = {name: getattr(shown, name) for name in Preview.__struct_fields__}
    return Explained(
        **fields,
        kind=schedule.kind,
        difference=None if wish.compare is None else _differences(schedule, wish.compare, now),
    )


def find_zones(text: str, now: datetime) -> list[ZoneFound]:
    """Zones with this text in their names; first those whose city begins with it."""
    wanted = text.strip().lower().replace(" ", "_")
    named = [name for name in zone_names() if wanted in name.lower()]
    named.sort(
        key=lambda name: (not name.lower().rpartition("/")[2].startswith(wanted), "/" not in name, name)
    )
    found = []
    for name in named[:MOST_ZONES]:
        local = now.astimezone(zone(name).info)
        offset = local.strftime("%z")
        shown = f"{offset[:3]}:{offset[3:5]}"
        found.append(ZoneFound(zone=name, offset=shown, abbreviation=local.tzname() or shown))
    return found


def _differences(schedule: Schedule, other: OtherSchedule, now: datetime) -> Differences:
    spec = JobSpec(name="preview", schedule=other.schedule, timezone=other.timezone)
    try:
        second, _ = read_schedule(spec, now)
    except InvalidField as error:
        error.field = f"compare.{error.field}"
        raise
    found = compare(schedule, second, now, now + AHEAD, MOST_DIFFERENCES, MOST_COMPARED)
    return Differences(
        explanation=second.explain(),
        until=found.compared_to,
        common=found.common,
        only_in_first=found.only[0],
        only_in_second=found.only[1],
        differences=[
            Difference(at=at, only_in="second" if which else "first") for at, which in found.differences
        ],
    )
