"""Runs of a target, carried out by a worker."""

from __future__ import annotations

import json
from typing import Any

from sexton.jobs.change import lane_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.targets.table import read_target
from tests.seeding import Store, drained, working


async def waiting(database: Database, target: dict[str, Any], **job: Any) -> tuple[Store, int]:
    """A run of a job with this target, due now."""
    store = Store(database)
    read = read_target(target)
    number = await store.job(target=target, **{"max_retries": 0, **job})
    lane = await lane_id(Context(database), ("default", read.kind.name, read.need, False))
    return store, await store.run(number, lane=lane)


async def carry_out(
    database: Database, target: dict[str, Any], settings: dict[str, Any] | None = None, **job: Any
) -> tuple[Store, int]:
    store, run = await waiting(database, target, **job)
    async with working(database, {}, **(settings or {})) as worker:
        await drained(worker)
    return store, run


async def end_of(store: Store, run: int) -> tuple[str, Any, str | None]:
    """Its status, result and error."""
    row = await store.history(run)
    return row["status"], None if row["result"] is None else json.loads(row["result"]), row["error"]
