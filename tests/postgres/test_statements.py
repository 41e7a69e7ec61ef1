"""What is asked every few seconds does not look at all the runs that wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.engine.worker.queue import CLAIM_DEFAULTS
from sexton.jobs.spec import DEFAULTS
from sexton.postgres.database import BY_KEY, Database
from tests.plans import explain, rows_read
from tests.seeding import NOW, Store

WAITING = 20_000
MANY = """
insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision, expires_at)
select n, $1, 2, $2, $2, $2, 1, case when n % 2 = 0 then $2::timestamptz + interval '1 hour' end
from generate_series(1, $3::int) as n
"""


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def fill(store: Store, *, analyze_first: bool) -> int:
    """Many runs that wait; the statistics are of them, or of a moment when all earlier ones had ended."""
    lane = await store.lane()
    if analyze_first:
        await store.execute(MANY, lane, NOW, 100)
        await store.execute("delete from sexton.runs")
        await store.execute("analyze sexton.runs")
    await store.execute(MANY, lane, NOW, WAITING)
    if not analyze_first:
        await store.execute("analyze sexton.runs")
    return lane


async def read(
    database: Database,
    name: str,
    settings: Mapping[str, str],
    /,
    *,
    table: str = "runs",
    **parameters: Any,
) -> dict[str, int]:
    """How many rows of the table were read by which way (an index, or a scan of all)."""
    connection = await asyncpg.connect(database.url, server_settings={"jit": "off", **settings})
    try:
        plan = await explain(connection, *database.prepared(name, **parameters), undone=False)
    finally:
        await connection.close()
    return rows_read(plan, table)


@pytest.mark.parametrize("analyze_first", [True, False])
async def test_a_beat_reads_only_what_is_to_be_cancelled(store: Store, analyze_first: bool) -> None:
    await fill(store, analyze_first=analyze_first)
    node = await store.node()
    for _ in range(3):
        await store.run(state="running", node=node, claim=1, cancel_requested_at=NOW)
    ways = await read(
        store.database,
        "cluster/renew",
        BY_KEY,
        node=node,
        lease_seconds=15.0,
        running=3,
        backend_pids=[],
        detail="{}",
    )
    assert ways == {"runs_cancelling": 3}


@pytest.mark.parametrize("analyze_first", [True, False])
async def test_expiry_reads_only_what_has_expired_or_is_cancelled(store: Store, analyze_first: bool) -> None:
    await fill(store, analyze_first=analyze_first)
    for _ in range(3):
        await store.run(expires_at=NOW - timedelta(seconds=1))
    await store.run(cancel_requested_at=NOW)
    ways = await read(store.database, "recording/expire", BY_KEY, now=NOW, limit=5000)
    assert (ways.pop("runs_expiring"), ways.pop("runs_cancelling")) == (3, 1)
    assert sum(ways.values()) <= 10
    assert len(await store.statuses()) == 4


@pytest.mark.parametrize("analyze_first", [True, False])
async def test_runs_to_be_run_alone_are_found_among_many(store: Store, analyze_first: bool) -> None:
    lane = await fill(store, analyze_first=analyze_first)
    node = await store.node()
    await store.run(company=1)
    found = await read(store.database, "claiming/find_suspects", BY_KEY, lanes=[lane], now=NOW)
    assert (found.pop("runs_suspect") <= 2, found) == (True, {})
    ways = await read(
        store.database,
        "claiming/claim_suspects",
        BY_KEY,
        node=node,
        lanes=[lane],
        limit=1,
        company=None,
        now=NOW,
        **CLAIM_DEFAULTS,
    )
    assert ways.pop("runs_suspect") == 2
    assert sum(ways.values()) <= 2


async def test_reaping_reads_nothing_while_no_worker_has_died(store: Store) -> None:
    await fill(store, analyze_first=False)
    await store.node()
    ways = await read(store.database, "recording/reap", {}, now=NOW, limit=5000, harmless=[])
    assert sum(ways.values()) == 0


async def test_ends_are_looked_up_by_their_jobs(store: Store) -> None:
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, claim, node)
        select $1::timestamptz, n, n % 1000, $1, 'success', 1, 7 from generate_series(1, 20000) as n""",
        NOW,
    )
    connection = await asyncpg.connect(store.database.url, server_settings=dict(BY_KEY))
    try:
        runs = list(range(1, 11))
        statement, arguments = store.database.prepared(
            "recording/find_recorded", runs=runs, claims=[1] * 10, jobs=runs, node=7, since=NOW
        )
        assert len(await connection.fetch(statement, *arguments)) == 10
        plan = await explain(connection, statement, arguments)
    finally:
        await connection.close()
    scans = [node for node in plan if node.get("Relation Name", "").startswith("history")]
    rows = sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in scans
    )
    assert rows <= 10 * 20


async def test_one_offs_whose_time_has_not_come_are_not_looked_at(store: Store) -> None:
    await store.execute(
        """insert into sexton.jobs
        (name, kind, schedule, timezone, timing_key, target, status, completed_at, options)
        select 'job-' || n, 'once', '', 'UTC', gen_random_uuid(), '{}', 'completed', $1::timestamptz,
            case when n <= 3 then '{"keep_completed_seconds": 0}'::jsonb else '{}' end
        from generate_series(1, 5000) as n""",
        NOW,
    )
    await store.execute("analyze sexton.jobs")
    ways = await read(
        store.database,
        "jobs/remove_completed",
        BY_KEY,
        now=NOW,
        limit=5000,
        keep_days=90,
        table="jobs",
    )
    assert ways.pop("jobs_completed") == 3
    assert sum(ways.values()) <= 3
    assert await store.value("select count(*) from sexton.jobs where status <> 'deleted'") == 4997


async def test_the_index_of_completed_jobs_has_the_default_of_the_field(store: Store) -> None:
    seconds = await store.value("select extract(epoch from sexton.kept_for('{}'))")
    assert seconds == DEFAULTS.keep_completed_seconds
