"""Sequences: messages with waits between them, for each recipient that enters. An event can end a sequence.

When a recipient enters, one transaction creates the messages of all steps. They are ordinary messages, each
with its `why`. Stopping the sequence cancels those that are not submitted.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.errors import Conflict, InvalidField
from sexton.jobs.moment import find_zone, local_text
from sexton.model import encode_id
from sexton.notifications.campaigns.campaign import read_channels
from sexton.notifications.message import MessageOrigin, cancel_message, make_message
from sexton.notifications.model import MESSAGE
from sexton.notifications.recurring.following import zone_of
from sexton.notifications.recurring.named import NamedTable
from sexton.notifications.recurring.spec import MemberSpec, SequenceSpec, SequenceStep
from sexton.postgres.jsonb import json_text
from sexton.postgres.page import Page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text

DAY = timedelta(days=1)


class SequenceView(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence."""

    name: Annotated[str, about("Its name.")]
    steps: Annotated[list[SequenceStep], about("In the order of their times.")]
    stop_on: Annotated[list[str], about("Events that end it for a recipient.")]
    topic: Annotated[str | None, about("What it is about.")]
    revision: Annotated[int, about("Grows with every change.")]
    changed_by: Annotated[str, about("Who wrote it.")]
    changed_at: Annotated[datetime, about("When it was changed last.")]


class MemberStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of one recipient."""

    notification_id: Annotated[str, about("The message, `n_…`.")]
    status: Annotated[str, about("Its status.")]
    send_at_utc: Annotated[datetime, about("Its time.")]


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A recipient in a sequence."""

    user_id: Annotated[str, about("The recipient.")]
    entered_at: Annotated[datetime, about("When the recipient entered the sequence.")]
    revision: Annotated[int, about("The sequence as it was then.")]
    steps: Annotated[list[MemberStep], about("The messages.")]
    stopped_at: Annotated[datetime | None, about("When it was stopped.")]
    stopped_by: Annotated[str | None, about("The event or the caller that stopped it.")]


def _show(row: asyncpg.Record) -> SequenceView:
    return from_row(SequenceView, row, steps=msgspec.json.decode(row["steps"], type=list[SequenceStep]))


SEQUENCES = NamedTable(
    "sequence", _show, "sequences/get", "sequences/put", "sequences/list", "sequences/delete"
)


@command
async def put_sequence(context: Context, name: str, spec: SequenceSpec) -> SequenceView:
    """Create or change a sequence. Recipients who have entered keep their messages."""
    for place, step in enumerate(spec.steps):
        _check_step(step, f"steps[{place}]")
    steps = json_text(spec.steps)
    return await SEQUENCES.put(context, name, steps=steps, stop_on=spec.stop_on, topic=spec.topic)


@query
async def get_sequence(context: Context, name: str) -> SequenceView:
    return _show(await SEQUENCES.find(context, name))


@query
async def list_sequences(context: Context, *, cursor: str | None, limit: int) -> Page[SequenceView]:
    return await SEQUENCES.page(context, cursor, limit)


@command
async def delete_sequence(context: Context, name: str) -> None:
    """Delete a sequence. Recipients who have entered keep their messages."""
    await SEQUENCES.delete(context, name)


@command
async def enter(context: Context, name: str, spec: MemberSpec) -> MemberView:
    """Create the messages of all steps for a recipient. Refuses a recipient who is already in the
    sequence."""
    row = await SEQUENCES.find(context, name)
    named = {"sequence_id": row["id"], "user_id": spec.user_id}
    await context.execute("sequences/lock", id=row["id"])
    last = await context.fetchrow("sequences/get_member", **named)
    now = await context.time()
    if last is not None and last["stopped_at"] is None and last["live"]:
        raise Conflict(
            "already_member",
            f"{spec.user_id} is in the sequence {name} since {iso(last['entered_at'], 'seconds')}",
            hint="wait until it is over, or stop it first",
        )
    zone = await zone_of(context, spec.user_id)
    steps = msgspec.json.decode(row["steps"], type=list[SequenceStep])
    numbers = []
    for place, step in enumerate(steps):
        try:
            numbers.append(await _make(context, row, step, spec, zone, now))
        except InvalidField as error:
            raise InvalidField(
                error.code, f"step {place + 1}: {error.message}", field=error.field, hint=error.hint
            ) from None
    await context.execute(
        "sequences/add_member",
        entered=1 if last is None else last["entered"] + 1,
        revision=row["revision"],
        message_ids=numbers,
        **named,
    )
    context.changed("sequence.entered", name, name, detail={"user_id": spec.user_id, "steps": len(numbers)})
    return await get_member(context, name, spec.user_id)


@query
async def get_member(context: Context, name: str, user_id: str) -> MemberView:
    row = await SEQUENCES.find(context, name)
    member = await context.require(
        "member", user_id, "sequences/get_member", sequence_id=row["id"], user_id=user_id
    )
    found = await context.fetch("sequences/list_messages", ids=list(member["message_ids"]))
    return MemberView(
        user_id=user_id,
        entered_at=member["entered_at"],
        revision=member["revision"],
        steps=[
            MemberStep(
                notification_id=encode_id(MESSAGE, each["id"]),
                status=each["status"],
                send_at_utc=each["scheduled_at"],
            )
            for each in found
        ],
        stopped_at=member["stopped_at"],
        stopped_by=member["stopped_by"],
    )


@command
async def leave(context: Context, name: str, user_id: str) -> MemberView:
    """Stop a sequence for one recipient: cancels the messages that are not submitted. A second call does
    nothing."""
    row = await SEQUENCES.find(context, name)
    members = await context.fetch(
        "sequences/lock_members", user_id=user_id, sequence_id=row["id"], event=None
    )
    await _stop(context, members, f"stopped by {context.actor}")
    return await get_member(context, name, user_id)


@command
async def note_event(context: Context, user_id: str, event: str) -> list[str]:
    """Stop the sequences of a recipient that end with this event; returns their names."""
    check_text(event, "event", 200)
    members = await context.fetch("sequences/lock_members", user_id=user_id, sequence_id=None, event=event)
    await _stop(context, members, event)
    return sorted(each["name"] for each in members)


async def _stop(context: Context, members: list[asyncpg.Record], why: str) -> None:
    told = f"the sequence was stopped: {why}"[:1000]
    for member in members:
        for number in member["open_ids"] or ():
            try:
                await cancel_message(context, encode_id(MESSAGE, number), why=told)
            except Conflict:
                continue  # a worker is already submitting it
        await context.execute(
            "sequences/stop_member",
            sequence_id=member["sequence_id"],
            user_id=member["user_id"],
            entered=member["entered"],
            stopped_by=why[:1000],
        )
        context.changed(
            "sequence.stopped",
            member["name"],
            member["name"],
            detail={"user_id": member["user_id"], "by": why},
        )


async def _make(
    context: Context, row: asyncpg.Record, step: SequenceStep, spec: MemberSpec, zone: str, now: datetime
) -> int:
    given: dict[str, Any] = {
        "template_id": step.template_id,
        "channel": step.channel,
        "user_id": spec.user_id,
        "template_vars": {**spec.template_vars, **step.template_vars},
        "topic": row["topic"],
        "urgency": step.urgency,
        "expires_seconds": step.expires_seconds,
        **_time(step, zone, now),
    }
    return await make_message(context, given, MessageOrigin(sequence_id=row["id"]))


def _time(step: SequenceStep, zone: str, now: datetime) -> dict[str, Any]:
    """The time of a step: its local time on its day, or a day later if that has passed on the first day."""
    if step.day is None:
        return {"send_at": iso(now + timedelta(seconds=step.after_seconds or 0))}
    wall = now.astimezone(find_zone(zone).info).replace(tzinfo=None)
    if step.at is None:
        local = wall.replace(microsecond=0) + step.day * DAY
        if step.day == 0:
            return {"send_at": iso(now)}
    else:
        local = datetime.combine(wall.date() + step.day * DAY, _clock(step.at, "at"))
        if local < wall:
            local += DAY
    return {"local_time": local_text(local), "timezone": zone, "fold": "first", "gap": "after"}


def _clock(text: str, field: str) -> time:
    try:
        found = time.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise InvalidField("bad_time", f"{text!r} is not a time of day", field=field, hint="such as 09:00")
    return found.replace(microsecond=0)


def _check_step(step: SequenceStep, field: str) -> None:
    read_channels(step.channel)
    if (step.day is None) == (step.after_seconds is None):
        raise InvalidField(
            "missing_field",
            f"{field} has both day and after_seconds" if step.day is not None else f"{field} has no time",
            field=f"{field}.day",
            hint='give "day" with "at", or "after_seconds"',
        )
    if step.at is not None:
        if step.day is None:
            raise InvalidField(
                "bad_value", "at has no effect without day", field=f"{field}.at", hint='give "day"'
            )
        _clock(step.at, f"{field}.at")
