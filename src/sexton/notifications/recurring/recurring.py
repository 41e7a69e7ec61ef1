"""Recurring notifications: each is a job, and each of its runs creates one message, in the transaction that
ends the run.

The rule is in local time. Without its own zone, it uses that of the recipient. When that zone changes, the
job continues in the new zone: the next message is sent at 09:00 there.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec
from msgspec import UNSET

from sexton.errors import InvalidField, ScheduleError
from sexton.jobs import state
from sexton.jobs.create import create
from sexton.jobs.moment import find_zone, local_text
from sexton.jobs.spec import JobSpec
from sexton.model import Backoff, Cancel, MissedWindow, Outcome, Success, decode_id, encode_id
from sexton.notifications.message import MessageOrigin, check_message, make_message, read_spec
from sexton.notifications.model import QUEUE
from sexton.notifications.recurring.following import SCHEDULE, bad_rule, move_job, rule_text, zone_of
from sexton.notifications.recurring.spec import RecurringChanges, RecurringSpec
from sexton.notifications.spec import NotificationSpec
from sexton.postgres.jsonb import json_text
from sexton.postgres.page import Page, make_page, number_in_cursor
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, aware
from sexton.schedules import Schedule, parse
from sexton.schedules.once import read_time
from sexton.targets.run import RunContext

TARGET: dict[str, Any] = {"notification": {}}
SECOND = timedelta(seconds=1)
ACTOR = "sexton"


class RecurringView(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that recurs."""

    schedule_id: Annotated[str, about("Its id, `ns_…`.")]
    name: Annotated[str | None, about("A name for people.")]
    user_id: Annotated[str | None, about("The recipient.")]
    recurrence_rule: Annotated[str, about("The rule, on the wall clock.")]
    recurrence_end: Annotated[datetime | None, about("Nothing after this instant.")]
    timezone: Annotated[str, about("The current zone.")]
    follows_recipient: Annotated[bool, about("Whether this is the recipient's zone, and changes with it.")]
    local_time: Annotated[str | None, about("Where the rule begins.")]
    next_fire_at: Annotated[datetime | None, about("The next time; null: none, or it is paused.")]
    is_active: Annotated[bool, about("Whether it is sent.")]
    template_id: Annotated[str, about("The template that is sent.")]
    channel: Annotated[str | list[str], about("The channel.")]
    template_vars: Annotated[dict[str, Any], about("Values of variables.")]
    job_id: Annotated[str, about("Its job.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]


@command
async def create_recurring(context: Context, spec: RecurringSpec) -> RecurringView:
    """Create a recurring notification, or raise `InvalidField`."""
    if (spec.user_id is None) == (spec.address is None) and spec.user_id is None:
        raise InvalidField(
            "missing_field",
            "the notification names no recipient",
            field="user_id",
            hint="give user_id or address",
        )
    message = _message(spec)
    await check_message(context, message)
    zone = await _zone(context, spec.timezone, spec.user_id)
    now = await context.time()
    starts_at = _start(spec.local_time, zone, now)
    number: int = await context.fetchval("campaigns/take_id")
    job = await _make_job(context, number, spec, zone, starts_at)
    await context.execute(
        "recurring/create",
        id=number,
        name=spec.name,
        user_id=spec.user_id,
        spec=json_text(message),
        recurrence_rule=spec.recurrence_rule,
        recurrence_end=spec.recurrence_end,
        starts_at=starts_at,
        timezone=spec.timezone,
        zone=zone,
        job_id=decode_id("j", job),
        is_active=spec.is_active,
        created_by=context.actor,
    )
    if not spec.is_active:
        await state.pause(context, job)
    context.changed(
        "notification_schedule.created",
        encode_id(SCHEDULE, number),
        spec.name,
        after={**_audited(spec), "zone": zone},
        job_id=decode_id("j", job),
    )
    return await _view(context, number)


@query
async def get_recurring(context: Context, ref: str) -> RecurringView:
    return _show(await _find(context, ref))


@query
async def list_recurring(
    context: Context, *, user_id: str | None, cursor: str | None, limit: int
) -> Page[RecurringView]:
    rows = await context.fetch(
        "recurring/list",
        user_id=user_id,
        after=0 if cursor is None else number_in_cursor(cursor, SCHEDULE),
        limit=limit + 1,
    )
    return make_page([(encode_id(SCHEDULE, row["id"]), _show(row)) for row in rows], limit)


@command
async def change_recurring(context: Context, ref: str, changes: RecurringChanges) -> RecurringView:
    """Change some fields. Existing messages stay as they are."""
    row = await _find(context, ref, locked=True)
    before = _show(row)
    message = _changed_message(row, changes)
    if message is not None:
        await check_message(context, message)
    given = {name: getattr(changes, name) for name in changes.__struct_fields__}
    rule = given["recurrence_rule"] if given["recurrence_rule"] is not UNSET else row["recurrence_rule"]
    own_zone = given["timezone"] if given["timezone"] is not UNSET else row["timezone"]
    end = given["recurrence_end"] if given["recurrence_end"] is not UNSET else row["recurrence_end"]
    zone = await _zone(context, own_zone, row["user_id"])
    starts_at = row["starts_at"]
    if given["local_time"] is not UNSET:
        starts_at = _start(given["local_time"], zone, await context.time())
    if end is not None:
        aware(end, "recurrence_end")
    await move_job(context, row, rule, zone, starts_at, end)
    active = given["is_active"] if given["is_active"] is not UNSET else row["is_active"]
    if active != row["is_active"]:
        await (state.resume if active else state.pause)(context, encode_id("j", row["job_id"]))
    await context.execute(
        "recurring/change",
        id=row["id"],
        spec=row["spec"] if message is None else json_text(message),
        recurrence_rule=rule,
        recurrence_end=end,
        starts_at=starts_at,
        timezone=own_zone,
        zone=zone,
        is_active=active,
    )
    shown = await _view(context, row["id"])
    context.changed(
        "notification_schedule.changed",
        ref,
        row["name"],
        before=_audited(before),
        after=_audited(shown),
        detail={"template_vars": "changed"} if changes.template_vars is not UNSET else None,
        job_id=row["job_id"],
    )
    return shown


@command
async def delete_recurring(context: Context, ref: str) -> None:
    """Delete a recurring notification. Existing messages stay as they are."""
    row = await _find(context, ref, locked=True)
    await context.execute("recurring/delete", id=row["id"])
    await state.delete(context, encode_id("j", row["job_id"]), final=True)
    context.changed(
        "notification_schedule.deleted",
        ref,
        row["name"],
        before={"recurrence_rule": row["recurrence_rule"]},
        job_id=row["job_id"],
    )


async def fire(context: Context, run: RunContext, number: int) -> Outcome:
    """Create the message of an occurrence, in the transaction that ends the run."""
    row = await context.fetchrow("recurring/get_of_run", id=number, job_id=run.job)
    if row is None or not row["is_active"]:
        return Cancel("the notification is no longer planned")
    own = replace(context, namespace=row["namespace"], actor=row["created_by"])
    nominal = _nominal(row, run.scheduled_at)
    spec = msgspec.structs.replace(
        read_spec(row["spec"]), local_time=local_text(nominal), timezone=row["zone"], fold="first",
        gap="after",
    )  # fmt: skip
    try:
        async with run.transaction({"schedule_id": encode_id(SCHEDULE, number)}) as connection:
            await make_message(replace(own, connection=connection), spec, MessageOrigin(schedule_id=number))
    except InvalidField as error:
        # The template or the recipient was deleted. The next occurrence may succeed.
        return Cancel(error.message)
    return Success()


def _audited(shown: RecurringSpec | RecurringView) -> dict[str, Any]:
    """The state for the audit, without addresses and values, because the audit outlasts the recipient."""
    fields: dict[str, Any] = msgspec.to_builtins(shown)
    return {name: value for name, value in fields.items() if name not in ("address", "template_vars")}


# Jobs.


async def _make_job(
    context: Context, number: int, spec: RecurringSpec, zone: str, starts_at: datetime
) -> str:
    ref = encode_id(SCHEDULE, number)
    if spec.recurrence_end is not None:
        aware(spec.recurrence_end, "recurrence_end")
    try:
        made = await create(
            context,
            JobSpec(
                name=f"notifications/schedule/{ref}",
                schedule=rule_text(spec.recurrence_rule, zone, starts_at),
                timezone=zone,
                ends_at=spec.recurrence_end,
                target=TARGET,
                payload={"schedule": ref},
                queue=QUEUE,
                priority=1,
                max_retries=100,
                retry_backoff=Backoff.FIXED,
                retry_base_seconds=10,
                missed_window=MissedWindow.RUN_ONCE,
                description=f"sends {spec.template_id} again and again"[:200],
            ),
        )
    except (ScheduleError, InvalidField) as error:
        raise bad_rule(error) from None
    return made.job_id


def schedule_of(rule: str, zone: str, starts_at: datetime) -> Schedule:
    """The schedule of a rule in the local time of a zone. Raises `InvalidField`."""
    try:
        return parse(rule_text(rule, zone, starts_at), timezone=zone)
    except ScheduleError as error:
        raise bad_rule(error) from None


def _nominal(row: asyncpg.Record, at: datetime) -> datetime:
    """The nominal local time of an occurrence, even if the clock never showed it."""
    schedule = schedule_of(row["recurrence_rule"], row["zone"], row["starts_at"])
    for occurrence in schedule.occurrences(at - SECOND, at):
        if occurrence.at == at and occurrence.skipped is None:
            return occurrence.local.replace(tzinfo=None)
    return at.astimezone(find_zone(row["zone"]).info).replace(tzinfo=None)


# What was asked for.


def _message(spec: RecurringSpec) -> NotificationSpec:
    names = (
        "template_id", "channel", "user_id", "address", "template_vars", "topic", "urgency",
        "expires_seconds", "max_retries",
    )  # fmt: skip
    return read_spec({name: getattr(spec, name) for name in names})


def _changed_message(row: asyncpg.Record, changes: RecurringChanges) -> NotificationSpec | None:
    given = {
        name: getattr(changes, name)
        for name in ("template_id", "template_vars", "channel")
        if getattr(changes, name) is not UNSET
    }
    if not given:
        return None
    return read_spec({**msgspec.json.decode(row["spec"]), **given})


async def _zone(context: Context, own: str | None, user_id: str | None) -> str:
    return await zone_of(context, user_id) if own is None else find_zone(own).name


def _start(text: str | None, zone: str, now: datetime) -> datetime:
    """The given local time, or the present minute."""
    wall = now.astimezone(find_zone(zone).info).replace(tzinfo=None, second=0, microsecond=0)
    if text is None:
        return wall
    try:
        at = time.fromisoformat(text.strip()) if len(text.strip()) <= 8 else None
    except ValueError:
        at = None
    if at is not None and at.tzinfo is None:
        return datetime.combine(wall.date(), at.replace(microsecond=0))
    try:
        moment = read_time(text.strip(), "local_time")
    except ScheduleError as error:
        raise InvalidField(error.code, error.message, field="local_time", hint=error.hint) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).astimezone(find_zone(zone).info).replace(tzinfo=None)
    return moment.replace(microsecond=0)


# Reading.


async def _find(context: Context, ref: str, *, locked: bool = False) -> asyncpg.Record:
    return await context.require(
        "schedule of notifications",
        ref,
        "recurring/lock" if locked else "recurring/get",
        id=number_of(SCHEDULE, ref, "schedule of notifications"),
    )


async def _view(context: Context, number: int) -> RecurringView:
    [row] = await context.fetch("recurring/get", id=number)
    return _show(row)


def _show(row: asyncpg.Record) -> RecurringView:
    spec = msgspec.json.decode(row["spec"])
    starts_at = row["starts_at"]
    return from_row(
        RecurringView,
        row,
        schedule_id=encode_id(SCHEDULE, row["id"]),
        timezone=row["zone"],
        follows_recipient=row["timezone"] is None and row["user_id"] is not None,
        local_time=None if starts_at is None else local_text(starts_at),
        next_fire_at=row["next_fire_at"] if row["is_active"] else None,
        template_id=spec["template_id"],
        channel=spec["channel"],
        template_vars=spec.get("template_vars", {}),
        job_id=encode_id("j", row["job_id"]),
    )
