"""Handles releases whose run is dead. A run that crashed its worker again and again could not record its
items, and may have carried out a part of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import asyncpg

from sexton.content.model import ACTOR, Left, OnFailure
from sexton.content.releases.execution import ReleasedItem, lock_of_run, note_items, tell_failed
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.trigger import run_now
from sexton.targets.run import RunContext


async def give_up(database: Database, run: RunContext, why: str) -> None:
    """Handle the dead run of a release. If it crashed its worker, a part of the items may have been carried
    out. With `on_failure: undo` the release is then marked as failed, and a new run undoes these items; an
    item in doubt counts as carried out. If that run dies too, the remaining items are recorded as not
    undone."""
    context = Context(database, actor=ACTOR)
    with suppress(Left):
        async with database.transaction() as connection:
            row = await lock_of_run(replace(context, connection=connection), run, "release")
            own = replace(context, connection=connection, namespace=row["namespace"])
            over = row["cancelled_at"] is not None or row["done_at"] is not None
            if not over and row["begun_run"] == run.id and row["on_failure"] == OnFailure.UNDO:
                await _leave_half_way(own, run, row, why)
    await tell_failed(database, run, why)


async def _leave_half_way(context: Context, run: RunContext, row: asyncpg.Record, why: str) -> None:
    items = await context.fetch("content/list_items", release_id=row["id"])
    if row["failed_at"] is not None:
        left = [item for item in items if item["result"] == "changed"]
        await note_items(
            context,
            run,
            [ReleasedItem(item, "not_undone", f"it could not be undone: {why}") for item in left],
        )
        return
    account = [
        ReleasedItem(item, "skipped", "another item failed")
        if item["begun_at"] is None
        else ReleasedItem(item, "changed", f"it may have gone out: {why}")
        for item in items
        if item["result"] is None
    ]
    await note_items(context, run, account)
    await context.execute("content/end_release", release_id=row["id"], failed=True, error=why, run_id=run.id)
    if any(item["begun_at"] is not None for item in items):
        await run_now(context, encode_id("j", row["job_id"]))
