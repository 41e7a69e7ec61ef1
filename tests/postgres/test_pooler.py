"""Behind a pooler: what a connection is like is said in every transaction, and nothing depends on a session.

Those marked `servers` go through a real PgBouncer in transaction mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton import Run, Sexton, clock
from sexton.config import Settings
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.engine.cluster.reshard import reshard
from sexton.engine.node import Node
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.errors import InvalidField, Unavailable
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.postgres.pooler import connecting
from sexton.postgres.transaction import Context
from tests.conftest import with_database
from tests.scheduling import fetch
from tests.servers.address import address
from tests.waiting import PATIENCE

NUMBERS = count(1)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


async def test_settings_hold_in_every_transaction_and_nowhere_else(database_url: str) -> None:
    connection = await asyncpg.connect(
        database_url, **connecting("test", {"lock_timeout": "500ms", "jit": "off"}, pooled=True)
    )
    try:
        assert await connection.fetchval("show lock_timeout") == "500ms"
        assert (await connection.fetchrow("show lock_timeout"))["lock_timeout"] == "500ms"
        assert [row[0] for row in await connection.fetch("show lock_timeout")] == ["500ms"]
        async with connection.transaction():
            assert await connection.fetchval("show jit") == "off"
            async with connection.transaction():
                assert await connection.fetchval("show lock_timeout") == "500ms"
        await connection.execute("do $$ begin assert current_setting('lock_timeout') = '0'; end $$")
        await connection.execute("create temporary table t (lock_timeout text)")
        await connection.execute("insert into t values ($1 || current_setting('lock_timeout'))", "it is ")
        assert await connection.fetchval("select * from t") == "it is 500ms"
        assert not connection.is_in_transaction()
    finally:
        await connection.close()


async def test_postgresql_itself_is_not_taken_for_a_pooler(database: Database) -> None:
    assert not database.pooled
    async with database.alone(77) as first, database.alone(77) as second:
        assert first is not None
        assert second is None
    async with database.alone(77) as again:
        assert again is not None


class Pooled:
    """A migrated database, by its address through the pooler and by its own."""

    def __init__(self, url: str, direct: str) -> None:
        self.url = url
        self.direct = direct


@pytest_asyncio.fixture
async def pooled() -> AsyncIterator[Pooled]:
    through = address("SEXTON_TEST_PGBOUNCER_URL")
    connection = await asyncpg.connect(through, statement_cache_size=0)
    name = f"pooled_{next(NUMBERS)}"
    try:
        folder = await connection.fetchval("show unix_socket_directories")
        port = await connection.fetchval("show port")
        user = await connection.fetchval("select current_user")
        await connection.execute(f"drop database if exists {name} with (force)")
        await connection.execute(f"create database {name}")
        direct = f"postgresql://{user}@/{name}?host={folder}&port={port}"
        database = await Database.open(direct, size=2)
        await migrate(database, shards=4)
        await make_partitions(database, days=1)
        await database.close()
        yield Pooled(with_database(through, name), direct)
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


@pytest_asyncio.fixture
async def database_behind(pooled: Pooled) -> AsyncIterator[Database]:
    database = await Database.open(pooled.url, size=6)
    yield database
    await database.close()


@pytest.mark.servers
async def test_a_pooler_is_noticed(database_behind: Database) -> None:
    assert database_behind.pooled
    async with database_behind.alone(77) as first, database_behind.alone(77) as second:
        assert first is not None
        assert second is None
    async with database_behind.alone(77) as again:
        assert again is not None


@pytest.mark.servers
async def test_a_migration_is_refused_and_says_what_to_do(pooled: Pooled, database_behind: Database) -> None:
    assert await migrate(database_behind) == []
    other = await Database.open(pooled.url, schema="elsewhere")
    try:
        with pytest.raises(Unavailable) as refused:
            await migrate(other)
    finally:
        await other.close()
    assert refused.value.code == "needs_session"
    assert "--database-url" in (refused.value.hint or "")


@pytest.mark.servers
async def test_jobs_are_made_fired_executed_and_finished(pooled: Pooled) -> None:
    app = Sexton(pooled.url, name="behind", poll_seconds=0.2)
    seen: asyncio.Queue[Any] = asyncio.Queue()

    @app.job("every 1s")
    async def tick(run: Run) -> None:
        seen.put_nowait(run.payload)

    @app.handler("once")
    async def once(run: Run) -> str:
        async with run.transaction(result="written") as connection:
            await connection.execute("create table kept (payload text)")
        seen.put_nowait(run.payload)
        return "written"

    async with asyncio.timeout(PATIENCE), app.running():
        assert app._node is not None
        assert app._node.leadership is not None
        assert not app._node.scheduler.listening()  # type: ignore[union-attr]
        for _ in range(3):
            assert await seen.get() is None
        await app.pause(tick)
        while not seen.empty():
            seen.get_nowait()
        job = await app.schedule("once", at=clock.now() + timedelta(seconds=1), payload={"n": 1})
        while await seen.get() != {"n": 1}:
            pass
        while [run.status for run in await app.history(job.job_id)] != ["success"]:
            await clock.sleep(0.05)
        while not (nodes := await _nodes(app)):
            await clock.sleep(0.05)
        # A process number that the pooler made up could belong to any process.
        assert nodes == [[]]


async def _nodes(app: Sexton) -> list[list[int]]:
    async with app.connected() as database:
        rows = await fetch(
            database,
            "select backend_pids from sexton.nodes where 'scheduler' = any(roles) and detail ? 'wheel'",
        )
    return [row["backend_pids"] for row in rows]


@pytest.mark.servers
async def test_two_schedulers_share_and_a_reshard_works(database_behind: Database) -> None:
    settings = Settings(lease_seconds=2, renew_seconds=0.2, poll_seconds=0.2)
    nodes = [Node(settings, database_behind, roles=["scheduler"]) for _ in range(2)]
    for node in nodes:
        await node.start()
    try:
        assert (await reshard(Context(database_behind), 8)).after == 8
        async with asyncio.timeout(PATIENCE):
            while sorted(shard for node in nodes for shard in node.leadership.led) != list(range(8)):  # type: ignore[union-attr]
                await clock.sleep(0.05)
    finally:
        for node in nodes:
            await node.stop()


@pytest.mark.servers
async def test_old_partitions_are_dropped(database_behind: Database) -> None:
    await make_partitions(database_behind, now=LONG_AGO, days=1)
    await Housekeeper(database_behind, Settings()).tick()
    names = await fetch(database_behind, "select tablename from pg_tables where tablename like '%_2020%'")
    assert names == []
    leaked = await fetch(database_behind, "show lock_timeout")
    assert [row[0] for row in leaked] == ["0"]


@pytest.mark.servers
async def test_the_advisory_elector_is_refused(database_behind: Database) -> None:
    membership = Membership(roles=["scheduler"], lease_seconds=4)
    leadership = Leadership(database_behind, Settings(elector="advisory"), membership)
    with pytest.raises(InvalidField) as refused:
        await leadership.open_elector()
    assert refused.value.code == "pooled_elector"
