"""When the messages of a campaign are due: one instant for all, or a time on the wall of each zone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sexton.errors import ScheduleError
from sexton.notifications.campaigns.spec import WhenPast
from sexton.schedules.wall import to_wall
from sexton.schedules.zone import EPOCH, zone

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
# The first zone of the earth is so far ahead of UTC, and the last one behind.
EARLIEST, LATEST = timedelta(hours=14), timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class ZoneTime:
    """When a campaign is due in a zone; `at` None: not at all there, `note` says why. `note` also tells what
    was made of a local time that does not exist or happens twice."""

    at: datetime | None
    note: dict[str, Any] | None = None


def due_in_zone(name: str, local: datetime, when_past: WhenPast, armed_at: datetime) -> ZoneTime:
    """The instant when the wall clock of a zone shows `local`. Where that was over when the campaign was
    armed, `when_past` decides."""
    try:
        place = zone(name)
    except ScheduleError:
        return ZoneTime(due_in_zone("UTC", local, when_past, armed_at).at, {"unknown_zone": name})
    at, note = _instant(place, local)
    if at >= armed_at:
        return ZoneTime(at, note)
    match when_past:
        case WhenPast.SEND_NOW:
            return ZoneTime(whole_second(armed_at), {"when_past": "send_now"})
        case WhenPast.SKIP:
            return ZoneTime(None, {"when_past": "skip"})
        case WhenPast.NEXT_DAY:
            days = 0
            while at < armed_at:
                days += 1 + (armed_at - at) // DAY
                at, note = _instant(place, local + days * DAY)
            return ZoneTime(at, {**(note or {}), "when_past": "next_day"})


def first_possible(send_at: datetime | None, local: datetime | None) -> datetime:
    """When the first message can be due, whatever zones there are."""
    if send_at is not None:
        return send_at
    assert local is not None
    return local.replace(tzinfo=UTC) - EARLIEST


def whole_second(at: datetime) -> datetime:
    """Never early: up to the whole second."""
    return at if not at.microsecond else at.replace(microsecond=0) + SECOND


def _instant(place: Any, local: datetime) -> tuple[datetime, dict[str, Any] | None]:
    wall = to_wall(local)
    found = place.instants_of(wall)
    at = EPOCH + timedelta(seconds=found[0] if found else place.first_instant(wall))
    if len(found) == 1:
        return at, None
    return at, {"fold": "first"} if found else {"gap": "after"}
