"""The whole system at a glance: who is there, who leads, what waits, how much there is."""

from __future__ import annotations

from datetime import datetime

from asyncpg import Record

from sexton.engine.cluster.view import Backlog, Cluster, Counts, ElectorView, ShardView
from sexton.jobs.queues import MOST_COUNTED
from sexton.model import encode_id
from sexton.postgres.database import Connection, Database
from sexton.runs.situation import node_of, serves
from sexton.runs.view import NodeView


async def get_cluster(
    database: Database,
    *,
    count_jobs: bool = False,
    counting: Database | None = None,
    now: datetime | None = None,
) -> Cluster:
    """Who is there, who leads, what waits. `count_jobs`: those of each shard, however many there are.
    `counting`: where to count what there is, if not here."""
    async with database.connection() as connection:
        at = now or await connection.fetchval("select clock_timestamp()")
        nodes = [node_of(row) for row in await connection.fetch(database.statement("list_nodes"), at)]
        backlog = await connection.fetch(database.statement("list_backlog"), at, MOST_COUNTED)
        work = await connection.fetchrow(database.statement("count_work"), at)
        assert work is not None
        exactly = count_jobs or work["jobs_estimate"] is None
        jobs = (
            {row["shard"]: row["jobs"] for row in await connection.fetch(database.statement("count_timers"))}
            if exactly
            else dict.fromkeys(range(work["shards"]), work["jobs_estimate"] // work["shards"])
        )
        shards = await connection.fetch(database.statement("list_shards"), at)
        return Cluster(
            at=at,
            nodes=nodes,
            shards=work["shards"],
            shards_led=work["shards_led"],
            leaders=[_shard_of(row, jobs) for row in shards],
            jobs_estimated=not exactly,
            elector=_elector_of(nodes),
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
            counts=await (get_counts(counting, now=now) if counting else _counts(database, connection, work)),
        )


def _shard_of(row: Record, jobs: dict[int, int]) -> ShardView:
    entries = row["wheel_entries"]
    return ShardView(
        shard=row["id"],
        leader=row["name"],
        leader_id=None if row["leader"] is None else encode_id("n", row["leader"]),
        epoch=row["epoch"],
        lease_left_seconds=row["lease_left_seconds"],
        taken_at=row["taken_at"],
        jobs=jobs.get(row["id"], 0),
        wheel_entries=None if entries is None else int(entries),
    )


def _elector_of(nodes: list[NodeView]) -> ElectorView:
    """What the live schedulers say of it."""
    asking = [node for node in nodes if node.elector is not None and node.state in ("live", "draining")]
    names = sorted({node.elector for node in asking if node.elector is not None})
    errors = [
        f"{node.name}: {node.elector_error or 'no answer'}" for node in asking if node.elector_ok is False
    ]
    if len(names) > 1:
        errors.append(f"the schedulers use different electors: {', '.join(names)}")
    return ElectorView(name=names[0] if names else None, ok=not errors, errors=errors)


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
