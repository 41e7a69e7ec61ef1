"""The whole system at a glance: who is there, who leads, what waits, how much there is."""

from __future__ import annotations

from datetime import datetime

from asyncpg import Record

from sexton.ledger.situation import node_of, serves
from sexton.ledger.views import MOST_COUNTED, Backlog, Cluster, Counts
from sexton.postgres.database import Connection, Database


async def get_cluster(database: Database, *, now: datetime | None = None) -> Cluster:
    """Who is there, who leads, what waits."""
    async with database.connection() as connection:
        at = now or await connection.fetchval("select clock_timestamp()")
        nodes = [node_of(row) for row in await connection.fetch(database.statement("list_nodes"), at)]
        backlog = await connection.fetch(database.statement("list_backlog"), at, MOST_COUNTED)
        work = await connection.fetchrow(database.statement("count_work"), at)
        assert work is not None
        return Cluster(
            at=at,
            nodes=nodes,
            shards=work["shards"],
            shards_led=work["shards_led"],
            oldest_due_at=work["oldest_due_at"],
            backlog=[
                Backlog(
                    queue=row["queue"],
                    target=row["target"],
                    handler=row["handler"] or None,
                    waiting=row["waiting"],
                    oldest_available_at=row["oldest_available_at"],
                    served=any(serves(node, row) for node in nodes),
                )
                for row in backlog
            ],
            counts=await _counts(database, connection, work),
        )


async def get_counts(database: Database, *, now: datetime | None = None) -> Counts:
    """How many jobs, live runs and dead letters there are."""
    async with database.connection() as connection:
        work = await connection.fetchrow(database.statement("count_work"), now)
        return await _counts(database, connection, work)


async def _counts(database: Database, connection: Connection, work: Record | None) -> Counts:
    assert work is not None
    jobs = (
        {row["status"]: row["jobs"] for row in await connection.fetch(database.statement("count_jobs"))}
        if work["jobs_estimate"] is None
        else {"total": work["jobs_estimate"]}
    )
    runs = await connection.fetch(database.statement("count_runs"), MOST_COUNTED)
    dead = work["dead_estimate"]
    problems = await connection.fetchrow(database.statement("examine_problems"))
    assert problems is not None
    if dead is None:
        dead = await connection.fetchval(database.sql("select count(*) from sexton.dead"))
    return Counts(
        jobs=jobs,
        runs={row["state"]: row["runs"] for row in runs},
        dead=dead,
        problems=problems["problems"],
        estimated=work["jobs_estimate"] is not None or work["dead_estimate"] is not None,
    )
