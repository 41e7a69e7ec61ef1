"""Decides what happens to a due message. A pure function, without a database or a clock.

    expired     the message is too late
    suppressed  the recipient is suppressed, or has opted out of the topic; or each channel has no address, an
                opt-out, or a suppressed address
    held        until the recipient's quiet hours end, the window of the campaign opens, and caps allow it in
                the recipient's day or week: the first instant at which all of them allow it
    sent        on the first channel that is possible

A held message is decided about again at that instant, with the data of that time.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from sexton.clock import whole_second
from sexton.notifications.recipients.quiet import Ranges, instant, open_from, quiet_until, ranges_of
from sexton.notifications.recipients.suppression import normal_address
from sexton.notifications.spec import FrequencyCap, OptOut
from sexton.schedules.wall import DAY, weekday_of
from sexton.schedules.zone import EPOCH, Zone, zone

SECOND = timedelta(seconds=1)
MOST_ROUNDS = 20
EPOCH_DATE = EPOCH.date()

#: The recipient, the subject of the cap, and the first day of the recipient's day or week.
CapKey = tuple[str, str, date]


class DueMessage(NamedTuple):
    """The data of a message and its recipient that the decision needs, as they are stored."""

    channels: Sequence[str]
    channel_index: int
    topic: str | None
    urgency: str | None
    scheduled_at: datetime
    expires_at: datetime | None
    user_id: str | None
    timezone: str | None
    #: JSON, as it is stored.
    quiet_hours: str | None
    opt_outs: str | None
    caps: str | None
    #: By channel; None or an empty list means no address.
    addresses: Mapping[str, Any]
    #: Why the recipient gets nothing.
    suppressed_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The data that all messages of a batch share."""

    now: datetime
    #: The settings of the namespace, for recipients without their own.
    timezone: str = "UTC"
    quiet_hours: str | None = None
    quiet_passes: frozenset[str] = frozenset({"asap"})
    caps: str | None = None
    #: The hours of the recipient's day in which a campaign may send; empty: all.
    window: Ranges = ()
    #: Suppressed channels and addresses, with reasons.
    suppressed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    #: The counts of messages of recipients with caps. Decisions to send are added.
    counts: MutableMapping[CapKey, int] = field(default_factory=dict)
    _until: dict[tuple[str, str | None], int | None] = field(default_factory=dict)

    def quiet_until(self, place: Zone, quiet_hours: str) -> int | None:
        """The end of the present quiet hours, computed once for all recipients with the same ones."""
        key = (place.name, quiet_hours)
        if key not in self._until:
            self._until[key] = quiet_until(ranges_of(quiet_hours), place, _seconds(self.now))
        return self._until[key]


class FellBack(NamedTuple):
    """A channel that was skipped, and the reason."""

    channel: str
    reason: str


class Sent(NamedTuple):
    """The message is sent on this channel; `counted` are the caps that count it."""

    channel_index: int
    passed: tuple[FellBack, ...]
    timezone: str
    counted: tuple[CapKey, ...]


class Held(NamedTuple):
    """The message waits until this instant."""

    until: datetime
    reason: str
    channel_index: int
    passed: tuple[FellBack, ...]
    timezone: str


class Suppressed(NamedTuple):
    reason: str
    passed: tuple[FellBack, ...]


class TooLate(NamedTuple):
    """The message has expired, this long after its time."""

    late: timedelta


Decision = Sent | Held | Suppressed | TooLate


def decide(message: DueMessage, circumstances: Circumstances) -> Decision:
    now = circumstances.now
    if message.expires_at is not None and now > message.expires_at:
        return TooLate(now - message.scheduled_at)
    if message.suppressed_reason is not None:
        return Suppressed(f"the recipient is suppressed: {message.suppressed_reason}", ())
    opt_outs = opt_outs_of(message.opt_outs) if message.opt_outs is not None else ()
    if opt_outs and (reason := _unwanted(opt_outs, None, message.topic)):
        return Suppressed(reason, ())
    passed: tuple[FellBack, ...] = ()
    for index in range(message.channel_index, len(message.channels)):
        channel = message.channels[index]
        reason = _unreachable(message, channel, opt_outs, circumstances)
        if reason is None:
            break
        passed += (FellBack(channel, reason),)
    else:
        return Suppressed(passed[-1].reason if passed else "no channel is left", passed)
    place = zone(message.timezone or circumstances.timezone)
    caps = _caps(message, channel, circumstances)
    held = _held(message, place, caps, circumstances)
    if held is not None:
        until, why = held
        if message.expires_at is not None and until > message.expires_at:
            until = whole_second(message.expires_at + SECOND)
        return Held(until, why, index, passed, place.name)
    counted: tuple[CapKey, ...] = ()
    if caps and message.user_id is not None:
        wall = _wall(place, _seconds(now))
        counted = tuple((message.user_id, subject_of(cap), _period(cap, wall)) for cap in caps)
        for key in counted:
            circumstances.counts[key] = circumstances.counts.get(key, 0) + 1
    return Sent(index, passed, place.name, counted)


def cap_keys(message: DueMessage, circumstances: Circumstances) -> list[CapKey]:
    """The counts that the decision about a message needs, for the present day and week."""
    caps = message.caps if message.caps is not None else circumstances.caps
    if caps is None or message.user_id is None:
        return []
    wall = _wall(zone(message.timezone or circumstances.timezone), _seconds(circumstances.now))
    return [(message.user_id, subject_of(cap), _period(cap, wall)) for cap in caps_of(caps)]


def subject_of(cap: FrequencyCap) -> str:
    """The name of a cap in the counts: `email/day`, `email#news/week`."""
    return f"{cap.channel or ''}{'#' + cap.topic if cap.topic else ''}/{cap.per}"


@lru_cache(maxsize=4096)
def opt_outs_of(text: str) -> tuple[OptOut, ...]:
    return tuple(msgspec.json.decode(text, type=list[OptOut] | None) or ())


@lru_cache(maxsize=4096)
def caps_of(text: str) -> tuple[FrequencyCap, ...]:
    return tuple(msgspec.json.decode(text, type=list[FrequencyCap] | None) or ())


def _unwanted(opt_outs: Sequence[OptOut], channel: str | None, topic: str | None) -> str | None:
    """The opt-out that applies; without a channel, only opt-outs for all channels."""
    for each in opt_outs:
        if each.channel is None:
            if channel is None and each.topic is not None and each.topic == topic:
                return f"the recipient has opted out of {topic}"
        elif each.channel == channel and (each.topic is None or each.topic == topic):
            what = f"{topic} by {channel}" if each.topic else str(channel)
            return f"the recipient has opted out of {what}"
    return None


def _unreachable(
    message: DueMessage, channel: str, opt_outs: Sequence[OptOut], circumstances: Circumstances
) -> str | None:
    address = message.addresses.get(channel)
    if not address:
        return f"there is no address for {channel}"
    if opt_outs and (reason := _unwanted(opt_outs, channel, message.topic)):
        return reason
    if circumstances.suppressed and isinstance(address, str):
        return circumstances.suppressed.get((channel, normal_address(channel, address)))
    return None


def _caps(message: DueMessage, channel: str, circumstances: Circumstances) -> list[FrequencyCap]:
    """The caps that apply to a message."""
    text = message.caps if message.caps is not None else circumstances.caps
    if text is None or message.user_id is None:
        return []
    return [
        cap
        for cap in caps_of(text)
        if cap.channel in (None, channel) and (cap.topic is None or cap.topic == message.topic)
    ]


def _held(
    message: DueMessage, place: Zone, caps: Sequence[FrequencyCap], circumstances: Circumstances
) -> tuple[datetime, str] | None:
    """The first instant at which nothing holds the message, and what holds it until then; None if that is
    now."""
    start = at = _seconds(circumstances.now)
    text = None
    if message.urgency is None or message.urgency not in circumstances.quiet_passes:
        text = message.quiet_hours if message.quiet_hours is not None else circumstances.quiet_hours
    if text is None and not caps and not circumstances.window:
        return None
    reasons: dict[str, None] = {}
    for _ in range(MOST_ROUNDS):
        before = at
        if text is not None:
            quiet = (
                circumstances.quiet_until(place, text)
                if at == start
                else quiet_until(ranges_of(text), place, at)
            )
            if quiet is not None:
                at = quiet
                reasons["quiet hours"] = None
        if circumstances.window and (opens := open_from(circumstances.window, place, at)) is not None:
            at = opens
            reasons["the campaign's window"] = None
        for cap in caps:
            wall = _wall(place, at)
            key = (message.user_id or "", subject_of(cap), _period(cap, wall))
            if circumstances.counts.get(key, 0) >= cap.n:
                at = place.first_instant(_next_period(cap, wall))
                reasons[f"the cap of {cap.n} {cap_words(cap)}"] = None
        if at == before:
            break
    return None if at == start else (instant(at), " and ".join(reasons))


def cap_words(cap: FrequencyCap) -> str:
    """`email a day`, `messages about news a week`."""
    what = f"{cap.channel} messages" if cap.channel else "messages"
    return f"{what}{' about ' + cap.topic if cap.topic else ''} a {cap.per}"


def _period(cap: FrequencyCap, wall: int) -> date:
    """The first day of the recipient's day or week."""
    day = wall // DAY
    return EPOCH_DATE + timedelta(days=day - (weekday_of(day) if cap.per == "week" else 0))


def _next_period(cap: FrequencyCap, wall: int) -> int:
    """The start of the next day or week, on the wall clock."""
    day = wall // DAY
    return (day - weekday_of(day) + 7 if cap.per == "week" else day + 1) * DAY


def _wall(place: Zone, at: int) -> int:
    return at + place.period(at).offset


def _seconds(at: datetime) -> int:
    return (at - EPOCH) // SECOND
