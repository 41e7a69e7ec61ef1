"""A command is one transaction, its own or its caller's; a query holds one connection."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.errors import Unavailable
from sexton.postgres.database import Database
from sexton.postgres.transaction import TRIES, Context, command, query
from tests.seeding import NOW

FAR = NOW + timedelta(days=3650)


@pytest_asyncio.fixture
async def context(database: Database) -> Context:
    return Context(database)


async def write(context: Context, name: str) -> None:
    await context.open.execute(
        context.database.sql("insert into sexton.settings (name, value) values ($1, '1')"), name
    )


async def written(database: Database) -> list[str]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            database.sql("select name from sexton.settings where name <> 'shards' order by name")
        )
    return [row["name"] for row in rows]


@command
async def keep(context: Context, *names: str, error: Exception | None = None) -> int:
    for name in names:
        await write(context, name)
    if error is not None:
        raise error
    return len(names)


async def test_a_command_opens_and_commits_a_transaction(context: Context) -> None:
    assert await keep(context, "a", "b") == 2
    assert context.connection is None
    assert await written(context.database) == ["a", "b"]


async def test_a_command_that_raises_leaves_nothing_behind(context: Context) -> None:
    with pytest.raises(ValueError, match="refused"):
        await keep(context, "a", error=ValueError("refused"))
    assert await written(context.database) == []


async def test_commands_within_a_command_share_its_transaction(context: Context) -> None:
    @command
    async def both(context: Context, *, error: Exception | None = None) -> None:
        await keep(context, "a")
        await keep(context, "b", error=error)

    with pytest.raises(ValueError, match="refused"):
        await both(context, error=ValueError("refused"))
    assert await written(context.database) == []
    await both(context)
    assert await written(context.database) == ["a", "b"]


async def test_the_callers_transaction_survives_a_command_that_raises(context: Context) -> None:
    @command
    async def outer(context: Context) -> None:
        await keep(context, "a")
        with pytest.raises(ValueError, match="refused"):
            await keep(context, "b", error=ValueError("refused"))

    await outer(context)
    assert await written(context.database) == ["a"]


@pytest.mark.parametrize("error", [asyncpg.DeadlockDetectedError, asyncpg.SerializationError])
async def test_a_deadlock_is_tried_again(context: Context, error: type[Exception]) -> None:
    tries: list[str] = []

    @command
    async def unlucky(context: Context) -> None:
        tries.append(f"try {len(tries)}")
        await write(context, tries[-1])
        if len(tries) < 3:
            raise error

    await unlucky(context)
    assert await written(context.database) == ["try 2"]


async def test_a_deadlock_is_not_tried_again_for_ever(context: Context) -> None:
    tries = 0

    @command
    async def hopeless(_context: Context) -> None:
        nonlocal tries
        tries += 1
        raise asyncpg.DeadlockDetectedError

    with pytest.raises(asyncpg.DeadlockDetectedError):
        await hopeless(context)
    assert tries == TRIES


async def test_the_outermost_command_is_tried_again_after_a_deadlock(context: Context) -> None:
    """PostgreSQL has rolled the whole transaction back, so a part of it cannot be repeated alone."""
    tries = {"outer": 0, "inner": 0}

    @command
    async def inner(_context: Context) -> None:
        tries["inner"] += 1
        if tries["inner"] == 1:
            raise asyncpg.DeadlockDetectedError

    @command
    async def outer(context: Context) -> None:
        tries["outer"] += 1
        await inner(context)

    await outer(context)
    assert tries == {"outer": 2, "inner": 2}


RECORD = "insert into sexton.run_logs (run_id, attempt, at, message) values (1, 1, clock_timestamp(), 'made')"


@pytest.mark.parametrize("nested", [False, True])
async def test_a_missing_partition_is_made(own_database_url: str, nested: bool) -> None:
    @command
    async def record(context: Context) -> None:
        await context.open.execute(RECORD)

    @command
    async def around(context: Context) -> None:
        await record(context)

    database = await Database.open(own_database_url, size=3)
    try:
        async with database.connection() as connection:
            day = await connection.fetchval(
                "select to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD')"
            )
            await connection.execute(f"drop table sexton.run_logs_{day}")
            await (around if nested else record)(Context(database))
            assert await connection.fetchval("select count(*) from sexton.run_logs") == 1
    finally:
        await database.close()


async def test_another_check_that_fails_is_raised(context: Context) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="something else"):
        await keep(context, "a", error=asyncpg.CheckViolationError("something else"))
    assert await written(context.database) == []


@query
async def backends(context: Context) -> set[Any]:
    return {await context.open.fetchval("select pg_backend_pid()") for _ in range(3)}


async def test_a_query_holds_one_connection_and_no_transaction(context: Context) -> None:
    @query
    async def transactions(context: Context) -> bool:
        return context.open.is_in_transaction()

    assert len(await backends(context)) == 1
    assert not await transactions(context)


async def test_a_query_reads_on_the_callers_connection(context: Context) -> None:
    @command
    async def around(context: Context) -> set[Any]:
        return await backends(context) | {await context.open.fetchval("select pg_backend_pid()")}

    assert len(await around(context)) == 1


async def test_the_time_is_that_of_the_caller_or_of_the_database(database: Database) -> None:
    @query
    async def time(context: Context) -> Any:
        return await context.time()

    assert await time(Context(database, now=FAR)) == FAR
    assert await time(Context(database)) < FAR


async def test_a_statement_gets_what_the_context_has(context: Context) -> None:
    own = replace(context, namespace="shop", now=FAR)
    await own.execute("jobs/pause_queue", name="mail", paused=True, reason=None)
    [row] = await own.fetch("jobs/list_queues", name=None, most=1)
    assert (row["name"], row["paused_at"]) == ("mail", FAR)
    assert await context.fetch("jobs/list_queues", name=None, most=1) == []


async def test_a_caller_gives_a_statement_others(context: Context) -> None:
    named = {"namespace": "shop", "name": "mail"}
    await context.execute("jobs/pause_queue", paused=True, reason=None, now=FAR, **named)
    [row] = await context.fetch("jobs/list_queues", most=1, **named)
    assert (row["name"], row["paused_at"]) == ("mail", FAR)


async def test_outside_of_a_command_no_connection_is_open(context: Context) -> None:
    with pytest.raises(RuntimeError, match="no connection is open"):
        await context.time()


async def test_a_connection_that_is_cut_off_in_the_middle_is_lost(database: Database) -> None:
    """What asyncpg says where the end comes while a statement is being sent."""
    with pytest.raises(Unavailable):
        async with database.connection():
            raise asyncpg.InternalClientError("cannot switch to state 15; another operation is in progress")
