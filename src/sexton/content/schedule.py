"""Commands on actions: plan, move, cancel, restore, skip one time, approve, and run now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.content.conflict import check_conflicts, hold_entity
from sexton.content.foresight import warned
from sexton.content.model import RELEASE, Action, Entity
from sexton.content.plan import PlannedAction, insert, job_of, refused_time
from sexton.content.read import ScheduleView, schedule_number, view
from sexton.content.spec import ScheduleMove, ScheduleSpec
from sexton.errors import Conflict, InvalidField, ScheduleError
from sexton.jobs import edit, read, restore, state
from sexton.jobs.moment import Moment, read_moment, rule_of, shifted
from sexton.jobs.spec import JobSpec
from sexton.model import JobStatus, encode_id
from sexton.postgres.audit_entry import State
from sexton.postgres.transaction import Context, command
from sexton.refusal import check_text
from sexton.runs import trigger

CHANGED = ("schedule", "timezone", "missed_window", "payload")


@command
async def create_schedule(context: Context, spec: ScheduleSpec) -> ScheduleView:
    """Plan an action, or raise `InvalidField`, `UnclearTime` or `ContradictingPlans`."""
    plan = plan_of(spec, context.actor)
    await hold_entity(context, plan.entity)
    if not spec.force:
        await check_conflicts(context, plan)
    return await warned(context, plan, await view(context, await insert(context, plan)))


def plan_of(spec: ScheduleSpec, actor: str) -> PlannedAction:
    """What a specification asks for; `actor` plans it, unless it names another person."""
    return PlannedAction(
        entity=Entity(spec.entity_type, str(spec.entity_id)),
        action=spec.action,
        moment=read_moment(spec.local_time, spec.at, spec.timezone, fold=spec.fold, gap=spec.gap),
        rule=None if spec.recurrence_rule is None else rule_of(spec.recurrence_rule),
        adapter=spec.adapter,
        version=spec.version,
        note=spec.note,
        created_by=spec.created_by or actor,
        max_retries=spec.max_retries,
        catch_up_seconds=spec.catch_up_seconds,
        needs_approval=spec.needs_approval,
    )


@command
async def reschedule(context: Context, ref: str, move: ScheduleMove) -> ScheduleView:
    """Move an action to another time."""
    row = await lock(context, ref)
    await _refuse_late(context, row)
    if move.local_time is None and move.at is None:
        moment = Moment(row["scheduled_at"], row["scheduled_at"], row["timezone"])
        raise InvalidField(
            "missing_field",
            "the move names no time",
            field="local_time",
            hint=f"give local_time or at; it is planned for {iso(moment.at)}",
        )
    moment = read_moment(
        move.local_time, move.at, move.timezone or row["timezone"], fold=move.fold, gap=move.gap
    )
    rule = row["recurrence_rule"] if move.recurrence_rule is msgspec.UNSET else move.recurrence_rule
    rule = None if rule is None else rule_of(rule)
    return await _move(context, "content.moved", row, moment, rule, force=move.force)


@command
async def shift(
    context: Context, ref: str, *, days: int = 0, minutes: int = 0, force: bool = False
) -> ScheduleView:
    """Move a single action by so many days on its wall clock, and so many minutes."""
    row = await lock(context, ref)
    if row["recurrence_rule"] is not None:
        raise InvalidField(
            "is_a_series",
            f"{ref} is a series",
            field="schedule_id",
            hint="move it alone, to a new local_time",
        )
    at = shifted(row["scheduled_at"], row["timezone"], days=days, minutes=minutes)
    return await reschedule(context, ref, ScheduleMove(at=at, force=force))


@command
async def run_now(context: Context, ref: str) -> ScheduleView:
    """Carry out an action now: a single one instead of at its time, a series in addition to its times."""
    row = await lock(context, ref)
    await _refuse_late(context, row)
    if row["recurrence_rule"] is not None:
        await trigger.run_now(context, encode_id("j", row["job_id"]))
        return await view(context, row["id"])
    now = (await context.time()).replace(microsecond=0)
    moment = read_moment(None, now, row["timezone"])
    return await _move(context, "content.run", row, moment, None, force=True)


@command
async def cancel(context: Context, ref: str, *, by: str | None = None) -> ScheduleView:
    """Cancel an action; for the action that opens a window, the whole window. A second call does nothing."""
    row = await lock(context, ref)
    if row["cancelled_at"] is None:
        await _refuse_late(context, row)
        # All rows of one cancellation have the same instant.
        context = replace(context, now=await context.time())
        await _cancel(context, row, by or context.actor)
        if row["window_id"] == row["id"]:
            for other in await context.fetch("content/lock_closings", window_id=row["id"]):
                # A window of a series that is already open is closed at its time.
                if row["open_for"] is None:
                    await _cancel(context, other, by or context.actor)
    return await view(context, row["id"])


@command
async def restore_schedule(context: Context, ref: str, *, force: bool = False) -> ScheduleView:
    """Restore a cancelled action, as long as its time is to come; with the one that opens a
    window, the whole window. It is approved as it was. Twice is once."""
    row = await lock(context, ref)
    if row["cancelled_at"] is None:
        return await view(context, row["id"])
    if row["release_id"] is not None:
        raise in_release(ref, row)
    entity = Entity.of(row)
    await hold_entity(context, entity)
    rows = [row]
    if row["window_id"] == row["id"]:
        rows += await context.fetch(
            "content/lock_cancelled_end", window_id=row["id"], cancelled_at=row["cancelled_at"]
        )
    if not force:
        also = [(other["scheduled_at"], Action(other["action"])) for other in rows[1:]]
        await check_conflicts(context, _planned(row), besides=row["id"], also=also)
    for each in rows:
        await context.execute("content/restore", schedule_id=each["id"])
        _tell(
            context, "content.restored", each, {"cancelled_by": each["cancelled_by"]}, {"cancelled_by": None}
        )
        job = await restore.restore(context, encode_id("j", each["job_id"]), even_final=True)
        if job.status == JobStatus.COMPLETED:
            raise time_over(encode_id("c", each["id"]), "action")
    return await view(context, row["id"])


@command
async def skip_next(context: Context, ref: str) -> ScheduleView:
    """Skip the next occurrence of a series."""
    row = await lock(context, ref)
    await _refuse_late(context, row)
    if row["recurrence_rule"] is None:
        raise InvalidField(
            "not_a_series", f"{ref} happens once", field="schedule_id", hint="cancel it instead"
        )
    shown = await view(context, row["id"])
    upcoming = [at for at in shown.next_times if at not in row["skipped"]]
    if not upcoming:
        raise Conflict("content_done", f"{ref} has no time left", hint="plan another action")
    await context.execute("content/skip", schedule_id=row["id"], at=upcoming[0])
    _tell(context, "content.skipped", row, None, {"skipped": upcoming[0]})
    return await view(context, row["id"])


@command
async def approve(context: Context, ref: str, *, by: str) -> ScheduleView:
    """Approve an action."""
    check_text(by, "approved_by", 200)
    row = await lock(context, ref)
    await _refuse_late(context, row)
    await context.execute("content/approve", schedule_id=row["id"], actor=by)
    before = {"approved_by": row["approved_by"]}
    _tell(context, "content.approved", row, before, {"approved_by": row["approved_by"] or by})
    return await view(context, row["id"])


async def lock(context: Context, ref: str) -> asyncpg.Record:
    return await context.require("planned action", ref, "content/lock", schedule_id=schedule_number(ref))


async def _refuse_late(context: Context, row: asyncpg.Record) -> None:
    """Refuse to change an action that was cancelled, has been carried out, or is being carried out."""
    ref = encode_id("c", row["id"])
    if row["cancelled_at"] is not None:
        raise Conflict(
            "content_cancelled", f"{row['cancelled_by']} has cancelled {ref}", hint="plan another action"
        )
    if row["release_id"] is not None:
        raise in_release(ref, row)
    if row["recurrence_rule"] is None and row["done_at"] is not None:
        raise Conflict(
            "content_done", f"{ref} was carried out for {iso(row['done_at'])}", hint="plan another action"
        )
    if row["begun_run"] is not None and await context.fetchval("content/is_running", run_id=row["begun_run"]):
        raise Conflict("content_under_way", f"{ref} is being carried out", hint="try again in a moment")


def in_release(ref: str, row: asyncpg.Record) -> Conflict:
    release = encode_id(RELEASE, row["release_id"])
    return Conflict("in_release", f"{ref} is part of the release {release}", hint="change the release")


def time_over(ref: str, what: str) -> Conflict:
    """The error for an action whose time has passed: it cannot be restored."""
    return Conflict("time_over", f"the time of {ref} is over", hint=f"plan another {what}")


def _planned(row: asyncpg.Record) -> PlannedAction:
    """An action as its row has it, for the search for conflicts."""
    return PlannedAction(
        entity=Entity.of(row),
        action=Action(row["action"]),
        moment=read_moment(None, row["scheduled_at"], row["timezone"]),
        rule=row["recurrence_rule"],
        adapter=row["adapter"],
        version=row["version"],
        note=row["note"],
        created_by=row["created_by"],
        max_retries=0,
        catch_up_seconds=row["catch_up_seconds"],
        needs_approval=row["needs_approval"],
        open_for=row["open_for"],
    )


async def _move(
    context: Context, what: str, row: asyncpg.Record, moment: Moment, rule: str | None, *, force: bool
) -> ScheduleView:
    entity = Entity.of(row)
    shown = await read.get(context, encode_id("j", row["job_id"]))
    plan = replace(_planned(row), moment=moment, rule=rule, max_retries=shown.max_retries, open_for=None)
    await hold_entity(context, entity)
    await _refuse_turned(context, row, moment, rule)
    if not force:
        await check_conflicts(context, plan, besides=row["id"])
    job = await _edit_job(context, row, job_of(plan, row["id"], past=force))
    first = moment.at if rule is None else job.next_run_at or await _kept_place(context, row, moment)
    after = {
        "scheduled_at": first,
        "timezone": moment.timezone,
        "recurrence_rule": rule,
    }
    await context.execute("content/move", schedule_id=row["id"], **after)
    _tell(context, what, row, {name: row[name] for name in after}, after)
    return await view(context, row["id"])


async def _kept_place(context: Context, row: asyncpg.Record, moment: Moment) -> datetime:
    """The next time of a series whose job is paused."""
    timer = await context.fetchrow("reading/get_timer", job_id=row["job_id"])
    at: datetime = moment.at if timer is None else timer["scheduled_at"]
    return at


async def _refuse_turned(context: Context, row: asyncpg.Record, moment: Moment, rule: str | None) -> None:
    """Refuse to move the end of a single window before its start, or to make it a series."""
    if row["window_id"] is None or row["open_for"] is not None:
        return
    if rule is not None:
        raise InvalidField(
            "bad_rule",
            "a window that happens once cannot become a series",
            field="recurrence_rule",
            hint="cancel it, and create a window with a recurrence_rule",
        )
    other = await context.fetchrow(
        "content/find_other_end", window_id=row["window_id"], schedule_id=row["id"]
    )
    if other is None:
        return
    opens = row["id"] == row["window_id"]
    open_already = not opens and other["done_at"] is not None
    turned = moment.at >= other["scheduled_at"] if opens else moment.at <= other["scheduled_at"]
    if turned and not open_already:
        end = "ends" if opens else "starts"
        raise InvalidField(
            "bad_range",
            f"the window would end before it starts: it {end} {iso(other['scheduled_at'])}",
            field="local_time",
            hint=f"give {'an earlier' if opens else 'a later'} time, or cancel the window",
        )


def _tell(context: Context, what: str, row: asyncpg.Record, before: State | None, after: State) -> None:
    """For the audit."""
    ref, entity = encode_id("c", row["id"]), str(Entity.of(row))
    context.changed(what, ref, entity, before=before, after=after, job_id=row["job_id"])


async def _edit_job(context: Context, row: asyncpg.Record, spec: JobSpec) -> Any:
    changes = {name: value for name, value in msgspec.to_builtins(spec).items() if name in CHANGED}
    changes.setdefault("missed_window", None)
    try:
        return await edit.edit(context, encode_id("j", row["job_id"]), changes)
    except ScheduleError as error:
        raise refused_time(error) from None


async def _cancel(context: Context, row: asyncpg.Record, by: str) -> None:
    await context.execute("content/cancel", schedule_id=row["id"], actor=by)
    _tell(context, "content.cancelled", row, {"cancelled_by": None}, {"cancelled_by": by})
    await state.delete(context, encode_id("j", row["job_id"]), final=True)
