"""Rows as the engine writes them, for asking the ledger about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


async def make_job(database: Database, now: datetime = NOON - 24 * HOUR, **fields: Any) -> int:
    """A job made in the past."""
    view = await create(
        Context(database, now=now), read_spec({"name": "hourly", "schedule": "0 * * * *", **fields})
    )
    number = decode_id("j", view.job_id)
    assert number is not None
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.jobs set created_at = $2 where id = $1"), number, now
        )
    return number


async def insert(database: Database, table: str, **values: Any) -> None:
    names = ", ".join(values)
    places = ", ".join(f"${index}" for index in range(1, len(values) + 1))
    async with database.connection() as connection:
        await connection.execute(
            database.sql(f"insert into sexton.{table} ({names}) values ({places})"), *values.values()
        )


async def make_live(database: Database, job: int, run: int, scheduled_at: datetime, **more: Any) -> None:
    async with database.connection() as connection:
        lane = await connection.fetchval(
            database.sql("select lane from sexton.timers where job_id = $1"), job
        )
    values = {
        "id": run,
        "job_id": job,
        "lane": lane,
        "priority": 2,
        "available_at": scheduled_at,
        "scheduled_at": scheduled_at,
        "due_at": scheduled_at,
        "fired_at": scheduled_at,
        "revision": 1,
        **more,
    }
    await insert(database, "runs", **values)


async def make_ended(
    database: Database, job: int, run: int | None, scheduled_at: datetime, **more: Any
) -> None:
    values: dict[str, Any] = {
        "recorded_at": scheduled_at + timedelta(seconds=2),
        "run_id": run,
        "job_id": job,
        "scheduled_at": scheduled_at,
        "status": "success" if run else "skipped",
        "revision": 1,
    }
    if run:
        values |= {
            "trigger": "schedule",
            "attempt": 1,
            "fired_at": scheduled_at,
            "started_at": scheduled_at + timedelta(milliseconds=20),
            "finished_at": scheduled_at + timedelta(seconds=2),
        }
    await insert(database, "history", **{**values, **more})


async def make_node(database: Database, number: int, now: datetime = NOON, **more: Any) -> None:
    values = {
        "id": number,
        "name": f"host:{number}:abc",
        "roles": ["worker"],
        "handlers": [],
        "queues": ["default"],
        "lease_until": now + MINUTE,
        "heartbeat_at": now,
        "started_at": now - HOUR,
        "version": "0.1.0",
        **more,
    }
    await insert(database, "nodes", **values)


async def set_timer(database: Database, job: int, scheduled_at: datetime, **more: Any) -> None:
    """Where the scheduler has come to."""
    due_at = more.get("due_at", scheduled_at)
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.timers set scheduled_at = $2, due_at = $3 where job_id = $1"),
            job,
            scheduled_at,
            due_at,
        )
