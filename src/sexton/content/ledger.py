"""Executions of actions: when and on which worker each was carried out, and how it ended.

A list begins with live executions, the newest first, and continues with ended ones, the latest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from asyncpg import Record

from sexton.content.model import Action, Entity, ExecutionStatus
from sexton.content.read import in_words
from sexton.model import encode_id
from sexton.postgres.jsonb import json_value
from sexton.postgres.page import Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.runs.read import START, WINDOWS, attempt_of
from sexton.runs.situation import worker_of
from sexton.runs.view import Attempt

# By the status of the run, or the result of the item of a release.
STATUS: dict[str, ExecutionStatus] = {
    "success": "success",
    "changed": "success",
    "no_op": "success",
    "not_undone": "success",
    "dead": "failure",
    "failed": "failure",
}
RUN_STATUSES: dict[str, list[str]] = {
    "success": ["success", "changed", "no_op", "not_undone"],
    "failure": ["dead", "failed"],
    "skipped": ["cancelled", "expired", "skipped", "undone"],
}
EFFECT = {"changed": "changed", "not_undone": "changed", "no_op": "no_op"}
MOST_ATTEMPTS = 1000


class ExecutionView(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of an action, or the reason why it was not carried out."""

    execution_id: Annotated[str | None, about("The run, `r_…`; null: it was not begun.")]
    schedule_id: Annotated[str, about("The action, `c_…`.")]
    content_id: Annotated[str, about("The entity, `type/id`.")]
    action: Annotated[Action, about("publish, unpublish or archive.")]
    status: Annotated[ExecutionStatus, about("running, success, failure or skipped.")]
    scheduled_at_utc: Annotated[datetime, about("The time it was planned for.")]
    execution_started: Annotated[datetime | None, about("When a worker began with it.")] = None
    execution_finished: Annotated[datetime | None, about("When it ended.")] = None
    worker_id: Annotated[str | None, about("Who carried it out: `host:pid:random`.")] = None
    error_message: Annotated[str | None, about("Why it failed, or was skipped.")] = None
    effect: Annotated[str | None, about("changed, or no_op: it was so already.")] = None
    version: Annotated[int | None, about("The version that was out afterwards.")] = None
    retry_count: Annotated[int, about("How often it was tried again.")] = 0
    attempts: Annotated[list[Attempt], about("The tries that failed.")] = []
    trigger: Annotated[str | None, about("schedule, catch_up, manual, …")] = None
    occurrences: Annotated[int | None, about("How many times in a row were skipped alike.")] = None
    until_at: Annotated[datetime | None, about("The last of these.")] = None
    adapter: Annotated[str, about("Where the entity lives.")]
    created_by: Annotated[str, about("Who planned it.")]


@query
async def list_executions(
    context: Context,
    *,
    schedule: int | None = None,
    entity_type: str | None = None,
    entity_id: str | None = None,
    created_by: str | None = None,
    adapter: str | None = None,
    status: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[ExecutionView]:
    """The executions of one action, of one entity, or of all; `start` and `end` are about when they ended."""
    filters: dict[str, Any] = {
        "schedule_id": schedule,
        "entity_type": entity_type,
        "entity_id": entity_id,
        "created_by": created_by,
        "adapter": adapter,
    }
    live_place, place = _place(cursor)
    found: list[tuple[str, ExecutionView]] = []
    async with context.planned_anew():
        live: list[Record] = []
        if place is None and status in (None, "running") and end is None:
            run_id, plan_id = live_place or (None, None)
            live = await context.fetch(
                "content/list_live_executions",
                run_id=run_id,
                plan_id=plan_id,
                limit=limit + 1,
                **filters,
            )
        ended: list[Record] = []
        if len(live) <= limit and status != "running":
            few = schedule is not None or entity_id is not None
            statuses = None if status is None else RUN_STATUSES[status]
            # A whole page of them: those that ended between the two statements are in both.
            ended = await _ended(context, place, start, end, few, statuses, limit + 1, filters)
        over = {(row["run_id"], row["schedule_id"]) for row in ended}
        live = [row for row in live if (row["run_id"], row["schedule_id"]) not in over]
    tries = await _attempts(context, [row for row in (*live, *ended) if row["run_id"] is not None])
    found += [(encode_cursor(row["run_id"], row["schedule_id"]), _live(row, tries)) for row in live]
    found += [(encode_cursor(*_place_of(row)), _shown(row, tries)) for row in ended]
    return make_page(found, limit)


Live = tuple[Number, Number]
Ended = tuple[datetime, Number, datetime, Number]


def _place(cursor: str | None) -> tuple[Any, Any]:
    """The place in a list: after a live run, or after an ended one."""
    if cursor is None:
        return None, None
    place = decode_cursor(cursor, Live, Ended)
    return (place, None) if len(place) == 2 else (None, place)


async def _ended(
    context: Context,
    place: tuple[datetime, int, datetime, int] | None,
    start: datetime | None,
    end: datetime | None,
    few: bool,
    statuses: Sequence[str] | None,
    limit: int,
    filters: dict[str, Any],
) -> list[Record]:
    """A page of ended executions. For `few` actions, search everything at once; else a minute back, then
    further, until the page is full."""
    recorded, run_id, scheduled, plan_id = place or (None, None, None, None)
    last = recorded or end or await context.time() + timedelta(hours=1)
    earliest = start or START
    rows: list[Record] = []
    for window in WINDOWS[-1:] if few else WINDOWS:
        first = max(earliest, last - min(window, last - START))
        rows = await context.fetch(
            "content/list_ended_executions",
            first=first,
            last=last,
            run_id=run_id,
            scheduled_at=scheduled,
            plan_id=plan_id,
            statuses=statuses,
            limit=limit,
            **filters,
        )
        if len(rows) >= limit or first <= earliest:
            break
    return rows


def _place_of(row: Record) -> tuple[datetime, int, datetime, int]:
    return row["recorded_at"], row["run_id"] or 0, row["scheduled_at"], row["schedule_id"]


async def _attempts(context: Context, rows: Sequence[Record]) -> dict[int, list[Attempt]]:
    """The failed attempts of runs; most have none."""
    tried = [row["run_id"] for row in rows if (row["attempt"] or 0) > 1 or row["error"] is not None]
    if not tried:
        return {}
    found: dict[int, list[Attempt]] = {}
    for row in await context.fetch("content/list_attempts", run_ids=tried, limit=MOST_ATTEMPTS):
        found.setdefault(row["run_id"], []).append(attempt_of(row))
    return found


def _live(row: Record, tries: dict[int, list[Attempt]]) -> ExecutionView:
    return ExecutionView(
        **_common(row, tries),
        status="running",
        execution_started=row["started_at"] if row["attempt"] else None,
        error_message=row["error"],
    )


def _shown(row: Record, tries: dict[int, list[Attempt]]) -> ExecutionView:
    result = json_value(row["result"])
    result = result if isinstance(result, dict) else {}
    status = STATUS.get(row["item_result"] or row["status"], "skipped")
    return ExecutionView(
        **_common(row, tries),
        status=status,
        execution_started=row["started_at"],
        execution_finished=None if row["run_id"] is None else row["finished_at"] or row["recorded_at"],
        error_message=None
        if status == "success"
        else row["item_error"] or row["error"] or in_words(row["reason"]),
        effect=EFFECT.get(row["item_result"]) if row["item_result"] else result.get("effect"),
        version=result.get("version"),
        occurrences=row["occurrences"],
        until_at=row["until_at"],
    )


def _common(row: Record, tries: dict[int, list[Attempt]]) -> dict[str, Any]:
    return {
        "execution_id": row["run_id"] and encode_id("r", row["run_id"]),
        "schedule_id": encode_id("c", row["schedule_id"]),
        "content_id": str(Entity.of(row)),
        "action": Action(row["action"]),
        "scheduled_at_utc": row["scheduled_at"],
        "worker_id": worker_of(row),
        "retry_count": max(0, (row["attempt"] or 1) - 1),
        "attempts": tries.get(row["run_id"], []),
        "trigger": row["trigger"],
        "adapter": row["adapter"],
        "created_by": row["created_by"],
    }
