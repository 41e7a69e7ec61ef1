"""The whole system at a glance: the nodes, the leaders, the waiting runs, the counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec
from asyncpg import Record

from sexton.config import EVERY
from sexton.engine.cluster.view import Backlog, Cluster, Counts, ElectorView, ShardView
from sexton.jobs.queues import MOST_COUNTED
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, query
from sexton.runs.situation import list_nodes, serves_namespace, worker_wanted
from sexton.runs.view import NodeView


async def get_cluster(
    context: Context, *, count_jobs: bool = False, counting: Database | None = None
) -> Cluster:
    """The nodes, the leaders, and the waiting runs. `count_jobs`: count the jobs of each shard exactly.
    `counting`: the replica to count on, if there is one; its connection is released before the next one is
    taken."""
    counts = None
    if counting is not None:
        counts = await get_counts(replace(context, database=counting, connection=None))
    return await _get_cluster(context, count_jobs, counts)


@query
async def _get_cluster(context: Context, count_jobs: bool, counts: Counts | None) -> Cluster:
    now = await context.time()
    nodes = await list_nodes(context, now)
    work = await context.fetchrow("reading/count_work", now=now)
    assert work is not None
    exactly = count_jobs or work["jobs_estimate"] is None
    jobs = (
        {row["shard"]: row["jobs"] for row in await context.fetch("reading/count_timers")}
        if exactly
        else dict.fromkeys(range(work["shards"]), work["jobs_estimate"] // work["shards"])
    )
    shards = await context.fetch("reading/list_shards", now=now)
    return Cluster(
        at=now,
        nodes=nodes,
        shards=work["shards"],
        shards_led=work["shards_led"],
        leaders=[_shard_of(row, jobs) for row in shards],
        jobs_estimated=not exactly,
        elector=_elector_of(nodes),
        oldest_due_at=work["oldest_due_at"],
        backlog=await get_backlog(context, now, nodes=nodes),
        counts=counts or await _counts(context, work),
    )


async def get_backlog(
    context: Context,
    now: datetime,
    *,
    namespace: str | None = None,
    nodes: list[NodeView] | None = None,
) -> list[Backlog]:
    """The runs that wait for a worker, the longest queue first; of one namespace, or of all."""
    nodes = await list_nodes(context, now) if nodes is None else nodes
    rows = await context.fetch("reading/list_backlog", namespace=namespace, now=now, most=MOST_COUNTED)
    return [_backlog_of(row, nodes) for row in rows]


@query
async def backlog_of(context: Context) -> list[Backlog]:
    """The runs of the namespace that wait for a worker."""
    return await get_backlog(context, await context.time(), namespace=context.namespace)


@query
async def workers_of(context: Context) -> list[NodeView]:
    """The workers that serve the namespace. The answer hides which other namespaces they serve."""
    nodes = await list_nodes(context, await context.time())
    return [
        node if EVERY in node.namespaces else msgspec.structs.replace(node, namespaces=[context.namespace])
        for node in nodes
        if "worker" in node.roles and serves_namespace(node, context.namespace)
    ]


def _backlog_of(row: Record, nodes: list[NodeView]) -> Backlog:
    reason = worker_wanted(nodes, row)
    return from_row(Backlog, row, handler=row["handler"] or None, served=reason is None, reason=reason)


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
    """The elector, as the live schedulers report it."""
    asking = [node for node in nodes if node.elector is not None and node.state in ("live", "draining")]
    names = sorted({node.elector for node in asking if node.elector is not None})
    errors = [
        f"{node.name}: {node.elector_error or 'no answer'}" for node in asking if node.elector_ok is False
    ]
    if len(names) > 1:
        errors.append(f"the schedulers use different electors: {', '.join(names)}")
    return ElectorView(name=names[0] if names else None, ok=not errors, errors=errors)


@query
async def get_counts(context: Context) -> Counts:
    """How many jobs, live runs and dead letters there are."""
    work = await context.fetchrow("reading/count_work", now=context.now)
    assert work is not None
    return await _counts(context, work)


async def _counts(context: Context, work: Record) -> Counts:
    jobs = (
        {row["status"]: row["jobs"] for row in await context.fetch("reading/count_jobs")}
        if work["jobs_estimate"] is None
        else {"total": work["jobs_estimate"]}
    )
    runs = await context.fetch("reading/count_runs", most=MOST_COUNTED)
    dead = work["dead_estimate"]
    if dead is None:
        dead = await context.fetchval("reading/count_dead")
    return Counts(
        jobs=jobs,
        runs={row["state"]: row["runs"] for row in runs},
        dead=dead,
        problems=await context.fetchval("reading/examine_problems"),
        estimated=work["jobs_estimate"] is not None or work["dead_estimate"] is not None,
    )
