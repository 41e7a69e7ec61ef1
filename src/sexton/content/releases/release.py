"""Commands on releases: plan, check, move, cancel and approve them.

A release is one job. Its row is the fence, like that of an action: changing the release and carrying it out
both lock this row. Its items are actions with the job and the time of the release.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg

from sexton.clock import iso
from sexton.config import Settings
from sexton.content.adapters.configured import content_target
from sexton.content.conflict import ContradictingPlans, check_conflicts, hold_entities
from sexton.content.model import RELEASE, Entity
from sexton.content.plan import FIRST_RETRY_SECONDS, KEEP_SECONDS, QUEUE, job_name, refused_time
from sexton.content.releases.preflight import (
    ReleaseFinding,
    ask_adapter,
    find_faults,
    keep_findings,
    plan_of_item,
)
from sexton.content.releases.view import ReleaseView, get_release
from sexton.content.schedule import time_over
from sexton.content.spec import MOST_ITEMS, ReleaseItemSpec, ReleaseMove, ReleaseSpec
from sexton.errors import Conflict, InvalidField, NotFound, ScheduleError
from sexton.jobs import edit, restore, state
from sexton.jobs.create import create
from sexton.jobs.moment import Moment, read_moment, shifted
from sexton.jobs.spec import JobSpec
from sexton.model import Backoff, JobStatus, MissedWindow, decode_id, encode_id
from sexton.postgres.audit_entry import State
from sexton.postgres.row import number_of
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import check_text, not_found
from sexton.targets.run import describe

TIMEOUT_SECONDS = 3600
# Removed items are still shown.
MOST_EVER = 2 * MOST_ITEMS
# The time limit for asking the adapter while a caller waits; shorter inside the transaction that stores the
# answer for an Idempotency-Key.
CHECK_SECONDS, KEPT_CHECK_SECONDS = 15, 5
NEWLINE = "\n"


async def create_release(
    context: Context, spec: ReleaseSpec, settings: Settings | None = None
) -> ReleaseView:
    """Plan a release and check it, or raise `InvalidField`, `UnclearTime` or `ContradictingPlans`."""
    number = await _create(context, spec)
    return await _check(context, encode_id(RELEASE, number), settings or Settings(), told=True)


async def check_release(context: Context, ref: str, settings: Settings | None = None) -> ReleaseView:
    """Check a release: `findings` are its problems. `settings` are those of the process, for adapters that
    use the network."""
    return await _check(context, ref, settings or Settings(), told=False)


@command
async def reschedule_release(context: Context, ref: str, move: ReleaseMove) -> ReleaseView:
    """Move a release to another time."""
    row = await lock_release(context, ref)
    await _refuse_late(context, row)
    if move.local_time is None and move.at is None:
        hint = f"give local_time or at; it is planned for {iso(row['scheduled_at'])}"
        raise InvalidField("missing_field", "the move names no time", field="local_time", hint=hint)
    moment = read_moment(
        move.local_time, move.at, move.timezone or row["timezone"], fold=move.fold, gap=move.gap
    )
    await _move(context, "content.release_moved", row, moment, force=move.force)
    return await get_release(context, ref)


@command
async def run_release(context: Context, ref: str) -> ReleaseView:
    """Carry out a release now instead of at its time."""
    row = await lock_release(context, ref)
    await _refuse_late(context, row)
    now = (await context.time()).replace(microsecond=0)
    moment = read_moment(None, now, row["timezone"])
    await _move(context, "content.release_run", row, moment, force=True)
    return await get_release(context, ref)


@command
async def cancel_release(context: Context, ref: str, *, by: str | None = None) -> ReleaseView:
    """Cancel a release: no further item is carried out. Items that were carried out stay. A second call does
    nothing."""
    row = await lock_release(context, ref)
    if row["cancelled_at"] is None:
        await _refuse_over(context, row)
        # All rows of one cancellation have the same instant.
        context = replace(context, now=await context.time())
        actor = by or context.actor
        await context.execute("content/cancel_release", actor=actor, release_id=row["id"])
        _tell(context, "content.release_cancelled", row, {"cancelled_by": None}, {"cancelled_by": actor})
        for job_id in (row["job_id"], row["check_job_id"]):
            if job_id is not None:
                await _drop_job(context, job_id)
    return await get_release(context, ref)


@command
async def restore_release(context: Context, ref: str, *, force: bool = False) -> ReleaseView:
    """Restore a cancelled release whose time is still ahead. A second call changes nothing."""
    row = await lock_release(context, ref)
    if row["cancelled_at"] is None:
        return await get_release(context, ref)
    await _refuse_over(context, row)
    await context.execute("content/restore_release", release_id=row["id"])
    items = await context.fetch("content/list_items", release_id=row["id"])
    await hold_entities(context, [Entity.of(item) for item in items])
    _tell(
        context,
        "content.release_restored",
        row,
        {"cancelled_by": row["cancelled_by"]},
        {"cancelled_by": None},
    )
    job = await restore.restore(context, encode_id("j", row["job_id"]), even_final=True)
    if job.status == JobStatus.COMPLETED:
        raise time_over(ref, "release")
    if row["check_job_id"] is not None:
        # It is not checked once more if the time for that is over.
        with suppress(NotFound, Conflict):
            await restore.restore(context, encode_id("j", row["check_job_id"]), even_final=True)
    if not force:
        await _refuse_conflicts(context, row)
    return await get_release(context, ref)


@command
async def shift_release(
    context: Context, ref: str, *, days: int = 0, minutes: int = 0, force: bool = False
) -> ReleaseView:
    """Move a release by so many days on its wall clock, and so many minutes."""
    row = await lock_release(context, ref)
    at = shifted(row["scheduled_at"], row["timezone"], days=days, minutes=minutes)
    return await reschedule_release(context, ref, ReleaseMove(at=at, force=force))


@command
async def approve_release(context: Context, ref: str, *, by: str) -> ReleaseView:
    """Approve a release. A later change of its items removes the approval."""
    check_text(by, "approved_by", 200)
    row = await lock_release(context, ref)
    await _refuse_late(context, row)
    await context.execute("content/approve_release", actor=by, release_id=row["id"])
    before = {"approved_by": row["approved_by"]}
    _tell(context, "content.release_approved", row, before, {"approved_by": row["approved_by"] or by})
    return await get_release(context, ref)


@command
async def add_items(
    context: Context, ref: str, items: Sequence[ReleaseItemSpec], *, force: bool = False
) -> ReleaseView:
    """Add actions at the end of a release."""
    row = await lock_release(context, ref)
    await _refuse_late(context, row)
    present = await context.fetch("content/list_items", release_id=row["id"])
    if len(present) + len(items) > MOST_ITEMS:
        raise InvalidField(
            "too_many",
            f"the release would have {len(present) + len(items)} items",
            field="items",
            hint=f"at most {MOST_ITEMS}",
        )
    if await context.fetchval("content/count_items", release_id=row["id"]) + len(items) > MOST_EVER:
        raise Conflict(
            "too_many",
            f"{ref} has had {MOST_EVER} items, including removed ones",
            hint="create another release",
        )
    taken = [Entity.of(item) for item in present]
    await _insert_items(context, row, items, taken, force=force)
    await context.execute("content/change_release", release_id=row["id"])
    _tell(context, "content.release_items_added", row, None, {"items": [_name(item) for item in items]})
    return await get_release(context, ref)


@command
async def remove_item(context: Context, ref: str, schedule_id: str) -> ReleaseView:
    """Remove an action from a release."""
    row = await lock_release(context, ref)
    await _refuse_late(context, row)
    number = decode_id("c", schedule_id)
    if number is None or not await context.fetchval(
        "content/cancel_item", schedule_id=number, release_id=row["id"]
    ):
        raise not_found("planned action", schedule_id)
    await context.execute("content/change_release", release_id=row["id"])
    _tell(context, "content.release_item_removed", row, None, {"item": schedule_id})
    return await get_release(context, ref)


async def lock_release(context: Context, ref: str) -> asyncpg.Record:
    number = number_of(RELEASE, ref, "release")
    return await context.require("release", ref, "content/lock_release", release_id=number)


@command
async def _create(context: Context, spec: ReleaseSpec) -> int:
    target = await content_target(context, spec.adapter)
    created_by = spec.created_by or context.actor
    check_text(created_by, "created_by", 200)
    moment = read_moment(spec.local_time, spec.at, spec.timezone, fold=spec.fold, gap=spec.gap)
    number: int = await context.fetchval("content/take_id")
    job = await _make_job(context, _job(target, created_by, spec.max_retries, number, moment))
    check_job = await _make_check(context, target, created_by, number, moment, spec.preflight_seconds)
    await context.execute(
        "content/create_release",
        id=number,
        adapter=spec.adapter,
        on_failure=spec.on_failure.value,
        preflight_seconds=spec.preflight_seconds,
        note=spec.note,
        created_by=created_by,
        job_id=job,
        check_job_id=check_job,
        timezone=moment.timezone,
        scheduled_at=moment.at,
        max_retries=spec.max_retries,
        catch_up_seconds=spec.catch_up_seconds,
        needs_approval=spec.needs_approval,
    )
    row = await lock_release(context, encode_id(RELEASE, number))
    await _insert_items(context, row, spec.items, [], force=spec.force)
    after = {
        "scheduled_at": moment.at,
        "timezone": moment.timezone,
        "items": [_name(item) for item in spec.items],
        "on_failure": spec.on_failure,
        "adapter": spec.adapter,
        "created_by": created_by,
        "needs_approval": spec.needs_approval,
    }
    _tell(context, "content.release_planned", row, None, after)
    return number


async def _insert_items(
    context: Context,
    row: asyncpg.Record,
    items: Sequence[ReleaseItemSpec],
    taken: Sequence[Entity],
    *,
    force: bool,
) -> None:
    entities = [Entity(item.entity_type, str(item.entity_id)) for item in items]
    for place, entity in enumerate(entities):
        check_text(entity.type, f"items[{place}].entity_type", 64)
        check_text(entity.id, f"items[{place}].entity_id", 64)
    await hold_entities(context, entities)
    if not force:
        for place, entity in enumerate(entities):
            if entity in entities[:place] or entity in taken:
                raise ContradictingPlans(f"{entity} is in the release twice")
    await context.execute(
        "content/create_items",
        release_id=row["id"],
        types=[entity.type for entity in entities],
        ids=[entity.id for entity in entities],
        actions=[item.action.value for item in items],
        versions=[item.version for item in items],
        notes=[item.note for item in items],
    )
    if not force:
        await _refuse_conflicts(context, row)


async def _refuse_conflicts(context: Context, row: asyncpg.Record) -> None:
    for item in await context.fetch("content/list_items", release_id=row["id"]):
        await check_conflicts(context, plan_of_item(row, item), release=row["id"])


async def _check(context: Context, ref: str, settings: Settings, *, told: bool) -> ReleaseView:
    """Ask the adapter outside of a transaction, because it may use the network; then store the findings."""
    number = number_of(RELEASE, ref, "release")
    row = await context.require("release", ref, "content/find_release", release_id=number)
    items = await context.fetch("content/list_items", release_id=number)
    findings = await _ask(context, settings, row, items)
    findings += await _find(context, row, items)
    await _keep(context, row, findings, told=told)
    return await get_release(context, ref)


async def _ask(
    context: Context, settings: Settings, row: asyncpg.Record, items: Sequence[asyncpg.Record]
) -> list[ReleaseFinding]:
    """The findings of the adapter. If it cannot be reached, that is a warning: a worker asks again before the
    time of the release."""
    # Import HTTP clients only when they are needed.
    from sexton.content.adapters.opened import opened_adapters

    seconds = CHECK_SECONDS if context.connection is None else KEPT_CHECK_SECONDS
    async with opened_adapters(context.database, settings) as opened:
        mask = opened.services.secrets.mask
        try:
            async with asyncio.timeout(seconds):
                adapter = await opened.get(context, row["adapter"])
                return await ask_adapter(context, adapter, row, items, mask)
        except TimeoutError:
            why = f"{row['adapter']} did not answer within {seconds} seconds"
        except Exception as error:
            why = f"{row['adapter']} cannot be reached: {mask(describe(error).partition(NEWLINE)[0])}"
    return [ReleaseFinding(code="not_checked", message=why, warning=True)]


@query
async def _find(
    context: Context, row: asyncpg.Record, items: Sequence[asyncpg.Record]
) -> list[ReleaseFinding]:
    return await find_faults(context, row, items)


@command
async def _keep(context: Context, row: asyncpg.Record, findings: Any, *, told: bool) -> None:
    await keep_findings(context, row, findings, told=told)
    _tell(context, "content.release_checked", row, None, {"findings": len(findings)})


async def _refuse_over(context: Context, row: asyncpg.Record) -> None:
    """Refuse to change a release that has ended or is being carried out."""
    ref = encode_id(RELEASE, row["id"])
    if row["done_at"] is not None:
        raise Conflict(
            "content_done", f"{ref} went out at {iso(row['done_at'])}", hint="make another release"
        )
    if row["failed_at"] is not None:
        raise Conflict("content_done", f"{ref} has failed: {row['error']}", hint="make another release")
    if row["begun_run"] is not None and await context.fetchval("content/is_running", run_id=row["begun_run"]):
        raise Conflict("content_under_way", f"{ref} is being carried out", hint="try again in a moment")


async def _refuse_late(context: Context, row: asyncpg.Record) -> None:
    """Refuse to change a release that has begun."""
    ref = encode_id(RELEASE, row["id"])
    if row["cancelled_at"] is not None:
        raise Conflict(
            "content_cancelled", f"{row['cancelled_by']} has cancelled {ref}", hint="make another release"
        )
    await _refuse_over(context, row)
    items = await context.fetch("content/list_items", release_id=row["id"])
    if any(item["result"] is not None for item in items):
        raise Conflict(
            "content_under_way", f"a part of {ref} was already carried out", hint="cancel the rest of it"
        )


async def _move(context: Context, what: str, row: asyncpg.Record, moment: Moment, *, force: bool) -> None:
    items = await context.fetch("content/list_items", release_id=row["id"])
    await hold_entities(context, [Entity.of(item) for item in items])
    target = await content_target(context, row["adapter"])
    job = _job(target, row["created_by"], row["max_retries"], row["id"], moment)
    changes: dict[str, Any] = {
        "schedule": job.schedule,
        "timezone": job.timezone,
        "missed_window": MissedWindow.RUN_ONCE.value if force else None,
    }
    try:
        await edit.edit(context, encode_id("j", row["job_id"]), changes)
    except ScheduleError as error:
        raise refused_time(error) from None
    if row["check_job_id"] is not None:
        await _drop_job(context, row["check_job_id"])
    check_job = await _make_check(
        context, target, row["created_by"], row["id"], moment, row["preflight_seconds"]
    )
    after = {"scheduled_at": moment.at, "timezone": moment.timezone}
    await context.execute("content/move_release", check_job_id=check_job, release_id=row["id"], **after)
    if not force:
        await _refuse_conflicts(context, await lock_release(context, encode_id(RELEASE, row["id"])))
    _tell(context, what, row, {name: row[name] for name in after}, after)


def _job(target: dict[str, Any], created_by: str, max_retries: int, number: int, moment: Moment) -> JobSpec:
    """The job that fires at the time of a release."""
    ref = encode_id(RELEASE, number)
    return JobSpec(
        name=job_name(ref),
        schedule=moment.schedule(None),
        timezone=moment.timezone,
        target=target,
        payload={"release": ref},
        queue=QUEUE,
        max_retries=max_retries,
        retry_backoff=Backoff.EXPONENTIAL,
        retry_base_seconds=FIRST_RETRY_SECONDS,
        timeout_seconds=TIMEOUT_SECONDS,
        keep_completed_seconds=KEEP_SECONDS,
        description=f"release {ref}",
        owner=created_by[:200],
    )


async def _make_check(
    context: Context,
    target: dict[str, Any],
    created_by: str,
    number: int,
    moment: Moment,
    seconds: int | None,
) -> int | None:
    """Create the job that checks a release before its time; None if it is too late for it."""
    at = None if seconds is None else moment.at - timedelta(seconds=seconds)
    if at is None or at <= await context.time():
        return None
    ref = encode_id(RELEASE, number)
    spec = JobSpec(
        name=f"{job_name(ref)}/check",
        schedule=iso(at),
        target=target,
        payload={"check": ref},
        queue=QUEUE,
        description=f"check of the release {ref}",
        owner=created_by[:200],
    )
    return await _make_job(context, spec)


async def _drop_job(context: Context, number: int) -> None:
    # Completed jobs are deleted after a while, so it may not exist.
    with suppress(NotFound, Conflict):
        await state.delete(context, encode_id("j", number), final=True)


async def _make_job(context: Context, spec: JobSpec) -> int:
    try:
        number = decode_id("j", (await create(context, spec)).job_id)
    except ScheduleError as error:
        raise refused_time(error) from None
    assert number is not None
    return number


def _tell(context: Context, what: str, row: asyncpg.Record, before: State | None, after: State) -> None:
    """For the audit."""
    ref = encode_id(RELEASE, row["id"])
    context.changed(what, ref, ref, before=before, after=after, job_id=row["job_id"])


def _name(item: ReleaseItemSpec) -> str:
    return f"{item.action} {item.entity_type}/{item.entity_id}"
