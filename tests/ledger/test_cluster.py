"""The whole system at a glance."""

from __future__ import annotations

import pytest

from sexton.ledger.cluster import get_cluster, get_counts
from sexton.ledger.words import first_line, span
from sexton.postgres.database import Database
from tests.ledger.rows import HOUR, MINUTE, NOON, make_job, make_live, make_node, set_timer


@pytest.mark.asyncio
async def test_nodes_shards_backlog_and_counts(database: Database) -> None:
    job = await make_job(database)
    await set_timer(database, job, NOON - MINUTE)
    await make_live(database, job, 1, NOON - HOUR)
    await make_live(database, job, 2, NOON - HOUR, state="running")
    await make_node(database, 1, roles=["scheduler"])
    await make_node(database, 2, lease_until=NOON - MINUTE)
    await make_node(database, 3, lease_until=NOON - 2 * HOUR)
    async with database.connection() as connection:
        await connection.execute(database.sql("update sexton.shards set holder = 1, epoch = 1 where id < 2"))
        shards = await connection.fetchval(database.sql("select count(*) from sexton.shards"))
    found = await get_cluster(database, now=NOON)
    assert [(node.name, node.state, node.shards) for node in found.nodes] == [
        ("host:1:abc", "live", 2),
        ("host:2:abc", "expired", 0),
    ]
    assert (found.shards, found.shards_led) == (shards, 2)
    assert found.oldest_due_at == NOON - MINUTE
    assert [(each.handler, each.waiting, each.served) for each in found.backlog] == [("hourly", 1, False)]
    assert found.counts.jobs == {"active": 1}
    assert found.counts.runs == {"pending": 1, "running": 1}
    assert (found.counts.dead, found.counts.estimated) == (0, False)


@pytest.mark.asyncio
@pytest.mark.parametrize(("queues", "served"), [(["*"], True), (["default"], True), (["other"], False)])
async def test_a_worker_serves_its_queues_or_all(database: Database, queues: list[str], served: bool) -> None:
    job = await make_job(database)
    await make_live(database, job, 1, NOON - HOUR)
    await make_node(database, 1, handlers=["hourly"], queues=queues)
    [backlog] = (await get_cluster(database, now=NOON)).backlog
    assert backlog.served is served


@pytest.mark.asyncio
async def test_nothing_yet(database: Database) -> None:
    counts = await get_counts(database)
    assert (counts.jobs, counts.runs, counts.dead) == ({}, {}, 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.04, "0 s"), (2.44, "2.4 s"), (59.96, "1 min"), (60, "1 min"), (200, "3 min 20 s"),
        (7200, "2 h"), (12_000, "3 h 20 min"), (90_000, "1 d 1 h"),
    ],
)  # fmt: skip
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert span(MINUTE * (seconds / 60)) == text


def test_the_first_line_says_most() -> None:
    assert first_line("ValueError: no\n\n  File …\n    raise ValueError\n") == "ValueError: no"
    assert first_line(None) == first_line("  ") == "no error recorded"
    assert len(first_line("x" * 500)) == 120
