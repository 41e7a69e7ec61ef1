"""Dead letters: runs that used up their attempts or failed permanently; one by one, and grouped by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from asyncpg import Record

from sexton.model import encode_id
from sexton.postgres.jsonb import json_value
from sexton.postgres.page import (
    MOST_ROWS,
    Number,
    Page,
    decode_cursor,
    encode_cursor,
    make_page,
)
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, query
from sexton.runs.read import attempt_of, key_of
from sexton.runs.view import Attempt, DeadGroup, DeadLetter

DeadSort = Literal["died_at", "-died_at"]
LISTS: Mapping[DeadSort, str] = {"-died_at": "reading/list_dead", "died_at": "reading/list_dead_oldest"}
# The hours for which each group has a count.
HOURS = 24


async def list_dead(
    context: Context,
    *,
    job: int | None = None,
    group: str | None = None,
    reason: str | None = None,
    sort: DeadSort = "-died_at",
    cursor: str | None = None,
    limit: int = 50,
) -> Page[DeadLetter]:
    """Dead letters, the latest first, or the oldest with `died_at`."""
    limit = max(1, min(limit, MOST_ROWS))
    died_at, run_id = decode_cursor(cursor, tuple[datetime, Number]) if cursor else (None, None)
    rows = await context.fetch(
        LISTS[sort],
        job_id=job,
        error_group=group,
        reason=reason,
        died_at=died_at,
        run_id=run_id,
        limit=limit + 1,
    )
    return make_page([(encode_cursor(row["died_at"], row["run_id"]), _dead(row)) for row in rows], limit)


@query
async def get_dead(context: Context, run_id: int) -> DeadLetter:
    """One dead letter with its payload and attempts."""
    row = await context.require("dead letter", encode_id("r", run_id), "reading/get_dead", run_id=run_id)
    tries = await context.fetch("reading/list_attempts", run_id=run_id)
    return _dead(row, payload=json_value(row["payload"]), attempts=[attempt_of(each) for each in tries])


async def list_groups(context: Context, *, job: int | None = None, limit: int = 100) -> list[DeadGroup]:
    """Dead letters by cause, the largest group first."""
    hours: dict[tuple[str, str], list[int]] = {}
    for row in await context.fetch("reading/list_dead_hours", job_id=job):
        hours.setdefault((row["error_group"], row["reason"]), [0] * HOURS)[row["hour"]] += row["letters"]
    groups = [
        from_row(
            DeadGroup,
            row,
            latest_run_id=encode_id("r", row["latest_run"]),
            hours=hours.get((row["error_group"], row["reason"]), [0] * HOURS),
        )
        for row in await context.fetch("reading/list_dead_groups", job_id=job, limit=limit)
    ]
    return make_page([("", group) for group in groups], limit).items


def _dead(row: Record, payload: Any = None, attempts: Sequence[Attempt] = ()) -> DeadLetter:
    return from_row(
        DeadLetter,
        row,
        payload=payload,
        attempts=list(attempts),
        run_id=encode_id("r", row["run_id"]),
        job_id=encode_id("j", row["job_id"]),
        parent_run=row["parent_run"] and encode_id("r", row["parent_run"]),
        idempotency_key=key_of(row),
        handler=row["handler"] or None,
    )
