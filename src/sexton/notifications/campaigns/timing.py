"""When the messages of a campaign are due: one instant for all, or a local time in each zone. Pure
functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sexton.clock import whole_second
from sexton.errors import ScheduleError
from sexton.notifications.campaigns.spec import WhenPast
from sexton.schedules.wall import to_wall
from sexton.schedules.zone import EPOCH, zone

DAY = timedelta(days=1)
# How far the first zone of the earth is ahead of UTC, and the last one behind it.
EARLIEST, LATEST = timedelta(hours=14), timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class ZoneTime:
    """When a campaign is due in a zone. If `at` is None, it is not sent there, and `note` says why. `note`
    also says how a local time was read that does not exist or happens twice."""

    at: datetime | None
    note: dict[str, Any] | None = None


def due_in_zone(name: str, local: datetime, when_past: WhenPast, armed_at: datetime) -> ZoneTime:
    """The instant of the local time in a zone. If it had passed when the campaign was started, `when_past`
    decides."""
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
    """The earliest time at which a message can be due in any zone."""
    if send_at is not None:
        return send_at
    assert local is not None
    return local.replace(tzinfo=UTC) - EARLIEST


def _instant(place: Any, local: datetime) -> tuple[datetime, dict[str, Any] | None]:
    wall = to_wall(local)
    found = place.instants_of(wall)
    at = EPOCH + timedelta(seconds=found[0] if found else place.first_instant(wall))
    if len(found) == 1:
        return at, None
    return at, {"fold": "first"} if found else {"gap": "after"}
