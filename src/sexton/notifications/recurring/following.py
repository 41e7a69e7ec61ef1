"""Changes of recurring notifications when the zone of a recipient changes, and when a recipient is erased. In
a module of its own, because the module of recipients imports it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from sexton.clock import iso
from sexton.errors import InvalidField, ScheduleError, SextonError
from sexton.jobs import edit, state
from sexton.jobs.moment import find_zone
from sexton.model import encode_id
from sexton.postgres.transaction import Context, command

#: The prefix of their ids.
SCHEDULE = "ns"
# Schedules that are read at a time.
MOST_FOLLOWED = 1000


@command
async def follow_recipients(context: Context, user_ids: Sequence[str]) -> int:
    """After recipients have changed, move the schedules that follow their zones to the new zones. Returns how
    many."""
    moved = 0
    while rows := await context.fetch("recurring/list_astray", user_ids=list(user_ids), limit=MOST_FOLLOWED):
        moved += len(rows)
        for row in rows:
            await move_job(
                context, row, row["recurrence_rule"], row["wanted"], row["starts_at"], row["recurrence_end"]
            )
            await context.execute("recurring/set_zone", id=row["id"], zone=row["wanted"])
            context.changed(
                "notification_schedule.followed",
                encode_id(SCHEDULE, row["id"]),
                row["name"],
                before={"zone": row["zone"]},
                after={"zone": row["wanted"]},
                job_id=row["job_id"],
            )
    return moved


@command
async def forget_recipient(context: Context, user_id: str) -> int:
    """Delete the recurring notifications of a person, and their jobs; returns how many."""
    rows = await context.fetch("recurring/forget", user_id=user_id)
    for row in rows:
        await state.delete(context, encode_id("j", row["job_id"]), final=True)
    return len(rows)


async def zone_of(context: Context, user_id: str | None) -> str:
    """The zone of a recipient, else that of the namespace, else UTC."""
    known = await context.fetchval("recurring/get_zone", user_id=user_id)
    return find_zone(known or "UTC").name


async def move_job(
    context: Context,
    row: asyncpg.Record,
    rule: str,
    zone: str,
    starts_at: datetime,
    end: datetime | None,
) -> None:
    changes = {
        "schedule": rule_text(rule, zone, starts_at),
        "timezone": zone,
        "ends_at": None if end is None else iso(end),
    }
    try:
        await edit.edit(context, encode_id("j", row["job_id"]), changes)
    except (ScheduleError, InvalidField) as error:
        raise bad_rule(error) from None


def rule_text(rule: str, zone: str, starts_at: datetime) -> str:
    """The schedule of a job: an RRULE starts at the local time `starts_at`; cron has no start."""
    text = rule.strip()
    if "FREQ=" not in text.upper():
        return text
    text = text[6:] if text.upper().startswith("RRULE:") else text
    return f"DTSTART;TZID={zone}:{starts_at:%Y%m%dT%H%M%S}\nRRULE:{text}"


def bad_rule(error: SextonError) -> InvalidField:
    field = getattr(error, "field", None)
    known = field in ("recurrence_end", "timezone")
    return InvalidField(
        error.code, error.message, field=str(field) if known else "recurrence_rule", hint=error.hint
    )
