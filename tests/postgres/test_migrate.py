"""Steps are applied once, as a whole, and say which nodes work with what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from sexton.errors import Unavailable
from sexton.postgres.database import Database
from sexton.postgres.migrate import (
    Migration,
    migrate,
    migrations,
    pending,
    require_migrated,
    shard_count,
)
from tests.conftest import with_database

KNOWN = migrations()
LAST = KNOWN[-1].number


def step(number: int, works_from: int | None) -> Migration:
    said = "" if works_from is None else f"-- works from: {works_from}\n"
    return Migration(number, "later", f"{said}create table sexton.later_{number} ()")


@pytest_asyncio.fixture
async def empty(server_url: str) -> AsyncIterator[Database]:
    """A database without tables."""
    server = await asyncpg.connect(server_url)
    await server.execute("drop database if exists unmigrated with (force)")
    await server.execute("create database unmigrated")
    database = await Database.open(with_database(server_url, "unmigrated"), size=2)
    yield database
    await database.close()
    await server.execute("drop database unmigrated with (force)")
    await server.close()


async def test_tables_and_shards_are_made_together(empty: Database) -> None:
    """A runner that dies in between leaves nothing that looks migrated."""
    text = "create table sexton.shards_are_made (id integer)"
    broken = Migration(1, "engine", KNOWN[0].text + text + ";select 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty, shards=8, known=[broken])
    with pytest.raises(Unavailable, match=f"the database is not migrated: {len(KNOWN)} steps to go"):
        await require_migrated(empty)
    assert [each.number for each in await migrate(empty, shards=8)] == [each.number for each in KNOWN]
    await require_migrated(empty)
    async with empty.connection() as connection:
        assert await connection.fetchval("select count(*) from sexton.shards") == 8
    assert await shard_count(empty) == 8
    assert await migrate(empty, shards=16) == []
    assert await shard_count(empty) == 8


async def test_several_runners_apply_each_step_once(empty: Database) -> None:
    others = [await Database.open(empty.url, size=1) for _ in range(3)]
    done = await asyncio.gather(*(migrate(other, shards=8) for other in others))
    assert sorted(len(steps) for steps in done) == [0, 0, len(KNOWN)]
    for other in others:
        await other.close()


@pytest.mark.parametrize("works_from", [1, LAST])
async def test_a_node_works_with_newer_tables_that_say_so(empty: Database, works_from: int) -> None:
    await migrate(empty, known=[*KNOWN, step(LAST + 1, works_from), step(LAST + 2, works_from)])
    await require_migrated(empty)
    assert await pending(empty) == []
    assert await migrate(empty) == []


@pytest.mark.parametrize("works_from", [None, LAST + 1, LAST + 2])
async def test_a_node_is_refused_by_newer_tables_that_do_not(empty: Database, works_from: int | None) -> None:
    """One such step is enough, though a later one says otherwise."""
    newer = [step(LAST + 1, None), step(LAST + 2, works_from), step(LAST + 3, 1)]
    await migrate(empty, known=[*KNOWN, *newer])
    with pytest.raises(Unavailable, match=rf"\(step {LAST + 3}\), and works with those that know") as refused:
        await require_migrated(empty)
    assert (refused.value.code, refused.value.hint) == ("newer_database", "upgrade this Sexton")
    with pytest.raises(Unavailable, match="newer Sexton"):
        await migrate(empty)


async def test_a_file_that_was_changed_is_refused(empty: Database) -> None:
    await migrate(empty, known=[*KNOWN, step(LAST + 1, 1)])
    with pytest.raises(Unavailable, match=f"migration {LAST + 1} was changed"):
        await pending(empty, [*KNOWN, step(LAST + 1, None)])
