"""Queues: limits on how many of their runs execute at a time and start per second, and pauses.

The limits and the pause of a queue are one row. Workers read it with their lanes, and are notified of every
change. A limit or a pause stops no run that has started. Each namespace has its own queues, even if names are
equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from asyncpg import Record
from msgspec import UNSET

from sexton.errors import InvalidField
from sexton.jobs.spec import LimitChanges, Limits
from sexton.model import LONGEST_QUEUE
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command
from sexton.refusal import about, check_ranges, check_text, not_found

MOST = 1_000_000
MOST_COUNTED = 100_000
# The smallest and the largest value of every limit.
RANGES: dict[str, tuple[float, float]] = {
    "concurrency": (1, MOST),
    "key_concurrency": (1, MOST),
    "rate": (0.001, MOST),
    "burst": (1, MOST),
}


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue: its limits, whether it is paused, and what waits in it."""

    name: Annotated[str, about("The name of the queue: the field `queue` of jobs.")]
    paused: Annotated[bool, about("Whether the queue is paused: no run is taken from it.")] = False
    paused_at: Annotated[datetime | None, about("Since when it is paused.")] = None
    paused_reason: Annotated[str | None, about("The reason that was given with the pause.")] = None
    concurrency: Annotated[int | None, about("Runs at a time, in the whole cluster.")] = None
    key_concurrency: Annotated[int | None, about("Runs at a time that share a `concurrency_key`.")] = None
    rate: Annotated[float | None, about("Starts per second, retries included.")] = None
    burst: Annotated[int | None, about("Starts at once after a pause.")] = None
    running: Annotated[
        int,
        about("How many run now or wait for a report; without limits, as the workers' last heartbeats say."),
    ] = 0
    waiting: Annotated[int, about(f"How many could start now, counted up to {MOST_COUNTED} per lane.")] = 0
    oldest_available_at: Annotated[datetime | None, about("Since when the oldest of these runs waits.")] = (
        None
    )
    warnings: Annotated[list[str], about("Warnings: what is allowed but probably not intended.")] = []


async def list_queues(context: Context) -> list[QueueView]:
    """All queues that jobs have used, or that have limits or a pause."""
    return await _queues(context, None)


async def get_queue(context: Context, name: str) -> QueueView:
    found = await _queues(context, name)
    if not found:
        raise not_found("queue", name)
    return found[0]


async def set_limits(context: Context, name: str, limits: Limits) -> QueueView:
    """Set all limits of a queue; limits that are not given are removed."""
    return await change_limits(context, name, _plain(limits))


@command
async def change_limits(context: Context, name: str, changes: LimitChanges | Mapping[str, Any]) -> QueueView:
    """Change some limits of a queue; None removes one. They apply to runs that are claimed from now on."""
    check_text(name, "queue", LONGEST_QUEUE)
    given = changes if isinstance(changes, Mapping) else _plain(changes)
    row = await context.fetchrow("jobs/lock_queue", name=name)
    before = {field: row[field] if row else None for field in RANGES}
    wanted = {field: given.get(field, before[field]) for field in RANGES}
    check_limits(wanted)
    await context.execute("jobs/set_queue", name=name, **wanted)
    context.changed("queue.limited", name, name, before=before, after=wanted)
    return await get_queue(context, name)


@command
async def pause_queue(context: Context, name: str, *, reason: str | None = None) -> QueueView:
    """Stop claiming runs of a queue. Its jobs still fire, their runs wait; runs that have started go on."""
    if reason is not None:
        check_text(reason, "reason", 1000)
    return await _set_paused(context, name, True, reason)


@command
async def resume_queue(context: Context, name: str) -> QueueView:
    """Claim the waiting runs again, the highest priority and the oldest first."""
    return await _set_paused(context, name, False, None)


async def _set_paused(context: Context, name: str, paused: bool, reason: str | None) -> QueueView:
    check_text(name, "queue", LONGEST_QUEUE)
    row = await context.fetchrow("jobs/lock_queue", name=name)
    await context.execute("jobs/pause_queue", name=name, paused=paused, reason=reason)
    was_paused, was_reason = (row["paused_at"] is not None, row["paused_reason"]) if row else (False, None)
    context.changed(
        "queue.paused" if paused else "queue.resumed",
        name,
        name,
        before={"paused": was_paused, "paused_reason": was_reason},
        after={"paused": paused, "paused_reason": reason},
        reason=reason,
    )
    return await get_queue(context, name)


def check_limits(limits: Mapping[str, Any]) -> None:
    """Refuse limits that are out of range or have no effect."""
    check_ranges(limits, RANGES, "no limit", zero="; to let nothing go, pause the queue")
    if limits["burst"] is not None and limits["rate"] is None:
        raise InvalidField(
            "needs_rate", "burst has no effect without a rate", field="burst", hint="give a rate too"
        )


def _plain(limits: Limits | LimitChanges) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(limits).items() if value is not UNSET}


async def _queues(context: Context, name: str | None) -> list[QueueView]:
    rows = await context.fetch("jobs/list_queues", name=name, most=MOST_COUNTED)
    return [_view(row) for row in rows]


def _view(row: Record) -> QueueView:
    warnings = [] if row["used"] else [f"no job has used the queue {row['name']} yet: check its name"]
    return from_row(QueueView, row, paused=row["paused_at"] is not None, warnings=warnings)
