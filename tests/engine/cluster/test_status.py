"""The whole system at a glance."""

from __future__ import annotations

import json

import pytest

from sexton.engine.cluster.status import get_cluster, get_counts
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import get_run
from sexton.runs.words import first_line, span
from tests.runs.rows import (
    HOUR,
    MINUTE,
    NOON,
    make_job,
    make_live,
    make_node,
    set_timer,
)


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
    found = await get_cluster(Context(database, now=NOON))
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
async def test_who_leads_each_shard_and_how_the_elector_is(database: Database) -> None:
    detail = {"elector": "redis", "elector_ok": True, "skew_ms": -7, "wheel": 12, "wheels": {"1": 9}}
    await make_node(database, 1, roles=["scheduler"], detail=json.dumps(detail))
    silent = {"elector": "redis", "elector_ok": False, "elector_error": "no answer from redis"}
    await make_node(database, 2, roles=["scheduler"], detail=json.dumps(silent))
    job = await make_job(database)
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                "update sexton.shards set holder = 1, epoch = 5 + id, taken_at = $1 where id in (1, 2)"
            ),
            NOON,
        )
        shard = await connection.fetchval(
            database.sql("select shard from sexton.timers where job_id = $1"), job
        )
        await connection.execute(database.sql("insert into sexton.shards (id, epoch) values (4, 9)"))
        try:
            found = await get_cluster(Context(database, now=NOON + MINUTE / 2))
        finally:
            await connection.execute(database.sql("delete from sexton.shards where id = 4"))
    assert [each.shard for each in found.leaders] == [0, 1, 2, 3]  # the fifth is from before a reshard
    assert (found.shards, found.shards_led) == (4, 2)
    one = found.leaders[1]
    assert (one.leader, one.leader_id, one.epoch, one.taken_at) == ("host:1:abc", "n_1", 6, NOON)
    assert (one.lease_left_seconds, one.wheel_entries) == (30, 9)
    assert (found.leaders[0].leader, found.leaders[0].lease_left_seconds) == (None, None)
    assert [each.jobs for each in found.leaders] == [int(number == shard) for number in range(4)]
    assert (found.nodes[0].skew_ms, found.nodes[0].wheel_entries) == (-7, 12)
    assert found.nodes[0].heartbeat_age_seconds == 30
    assert (found.elector.name, found.elector.ok) == ("redis", False)
    assert found.elector.errors == ["host:2:abc: no answer from redis"]


@pytest.mark.asyncio
async def test_schedulers_with_different_electors_are_told(database: Database) -> None:
    for number, name in ((1, "redis"), (2, "postgres")):
        await make_node(database, number, roles=["scheduler"], detail=json.dumps({"elector": name}))
    elector = (await get_cluster(Context(database, now=NOON))).elector
    assert elector.errors == ["the schedulers use different electors: postgres, redis"]


@pytest.mark.asyncio
async def test_very_many_jobs_are_estimated_unless_counted(own_database_url: str) -> None:
    database = await Database.open(own_database_url, size=2)
    try:
        await make_job(database)
        async with database.connection() as connection:
            await connection.execute(
                "update pg_class set reltuples = 10000000 where oid = 'sexton.jobs'::regclass"
            )
        found = await get_cluster(Context(database))
        assert found.jobs_estimated
        assert [each.jobs for each in found.leaders] == [2_500_000] * 4
        counted = await get_cluster(Context(database), count_jobs=True)
        assert not counted.jobs_estimated
        assert sum(each.jobs for each in counted.leaders) == 1
    finally:
        await database.close()


@pytest.mark.asyncio
@pytest.mark.parametrize(("queues", "served"), [(["*"], True), (["default"], True), (["other"], False)])
async def test_a_worker_serves_its_queues_or_all(database: Database, queues: list[str], served: bool) -> None:
    job = await make_job(database)
    await make_live(database, job, 1, NOON - HOUR)
    await make_node(database, 1, handlers=["hourly"], queues=queues)
    [backlog] = (await get_cluster(Context(database, now=NOON))).backlog
    assert backlog.served is served


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("apps", "reason"),
    [
        (["one"], None),
        (["one", "one"], None),
        (
            ["one", "two"],
            "several applications have a handler hourly (one, two): the target must name one, one:hourly",
        ),
    ],
)
async def test_what_several_applications_could_mean_is_served_by_none(
    database: Database, apps: list[str], reason: str | None
) -> None:
    await make_live(database, await make_job(database), 1, NOON - HOUR)
    for number, app in enumerate(apps, 1):
        await make_node(database, number, handlers=["hourly"], app=app)
    context = Context(database, now=NOON)
    [backlog] = (await get_cluster(context)).backlog
    assert (backlog.served, backlog.reason) == (reason is None, reason)
    assert (await get_run(context, 1)).waiting_for == (reason or "all workers are busy")


@pytest.mark.asyncio
async def test_nothing_yet(database: Database) -> None:
    counts = await get_counts(Context(database))
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
