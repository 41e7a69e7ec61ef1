"""A private PostgreSQL for the session, and a migrated database of its own for every test that wants one.

SEXTON_TEST_DATABASE_URL names another server instead, of any version from 14 on: the address of a superuser
named sexton, over a socket for the tests that put a proxy in between. The server's settings are changed, and
it is not durable afterwards.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import pytest_asyncio

from sexton.postgres.database import Connection, Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.postgres.server import private_server
from tests.faults.fork_server import ForkServer, fork_server
from tests.kept import NAME, Keeper
from tests.seeding import NOW

# Processes that test at the same time on a server that was given must not meet.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
SHARED = f"sexton_test_{WORKER}"
TEMPLATE = f"sexton_template_{WORKER}"
NUMBERS = count(1)
KEEPER = Keeper()

# A function of the one connection that empties: its plans are made once. With statements that were put
# together before every test it took 5 ms of a processor each time, instead of two. Nothing is vacuumed, so
# large tables are cut off: otherwise what is gone is read past, for 60 ms before each test after a large one.
PREPARE_EMPTYING = """
do $$
declare tables oid[]; statements text;
begin
    select array_agg(oid), string_agg(
        format('if exists (select from %1$s) then delete from %1$s; end if;', oid::regclass), ' '
    ) filter (where not relispartition)
    into tables, statements from pg_class
    where relnamespace = 'sexton'::regnamespace and relkind in ('r', 'p') and relname not in (
        'migrations', 'settings', 'shards', 'namespaces', 'access_version', 'audit_head'
    );
    execute format('create function pg_temp.empty() returns void language plpgsql as %L', format($body$
        declare large text;
        begin
            select string_agg(oid::regclass::text, ', ') into large from unnest(%L::oid[]) as oid
            where pg_relation_size(oid) > 100000;
            if large is not null then
                execute 'truncate ' || large;
            end if;
            %s
            delete from pg_statistic where starelid = any (%1$L::oid[]);
            delete from sexton.settings where name <> 'shards';
            delete from sexton.namespaces;
            insert into sexton.namespaces (name) values ('default');
            update sexton.audit_head set sequence = 0, hash = '', removed_sequence = 0, removed_hash = '';
            perform setval('sexton.catch_up_free_at', 1);
            update sexton.shards set epoch = 0, holder = null, taken_at = null where epoch > 0;
        end
    $body$, tables, statements));
end
$$
"""
# Sessions that a failed test has left behind are cut off first.
EMPTY = f"""
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
    and (application_name <> '{NAME}' or state <> 'idle');
select pg_temp.empty();
"""


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"kept": lambda: KEEPER.loop}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected is garbage: to look for it takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    KEEPER.loop.end()


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if given := os.environ.get("SEXTON_TEST_DATABASE_URL"):
        asyncio.run(_be_careless(given))
        yield given
        return
    with private_server(tmp_path_factory.mktemp("server")) as url:
        asyncio.run(_be_careless(url))
        yield url


@pytest.fixture(scope="session")
def forking() -> Iterator[ForkServer]:
    with fork_server() as server:
        yield server


@pytest.fixture(scope="session")
def programs(forking: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the PATH of a shell: a directory with a `sexton` that does not start Python anew each time."""
    directory = tmp_path_factory.mktemp("programs")
    forking.write_command(directory)
    return directory


@pytest.fixture(scope="session")
def template_database(server_url: str) -> str:
    """The name of a migrated database: copying it takes a tenth of migrating another one."""
    asyncio.run(_make(server_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="session")
def migrated_url(server_url: str, template_database: str) -> str:
    """The address of a migrated database that all tests share, one after the other."""
    asyncio.run(_copy(server_url, template_database, SHARED))
    return with_database(server_url, SHARED)


@pytest.fixture(scope="session")
def emptying(migrated_url: str) -> Iterator[Callable[[], None]]:
    """Makes the shared database what it is after the migration.

    Over one connection, in a loop and a thread of its own: a new one for every test takes five times as long.
    """
    connection: Connection | None = None

    async def empty() -> None:
        nonlocal connection
        if connection is None or connection.is_closed():
            connection = await asyncpg.connect(migrated_url)
            await connection.execute(PREPARE_EMPTYING)
        await connection.execute(EMPTY)

    async def close() -> None:
        if connection is not None:
            await connection.close()

    def wait_for(done: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(done, loop).result()

    def empty_again() -> None:
        try:
            wait_for(empty())
        except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError):  # a test has ended it
            wait_for(empty())

    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    yield empty_again
    wait_for(close())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def database_url(migrated_url: str, emptying: Callable[[], None]) -> str:
    """The address of a database as it is after the migration. Emptying one takes less than copying one."""
    emptying()
    return migrated_url


@pytest_asyncio.fixture
async def own_database_url(server_url: str, template_database: str) -> AsyncIterator[str]:
    """The address of a migrated database that a test may alter as it likes."""
    name = f"own_{WORKER}_{next(NUMBERS)}"
    await _copy(server_url, template_database, name)
    yield with_database(server_url, name)
    await _administer(server_url, f"drop database {name} with (force)")


@pytest.fixture(scope="module")
def module_database_url(server_url: str, template_database: str) -> Iterator[str]:
    """The address of a migrated database for all tests of a module: for many rows that they only read."""
    name = f"module_{WORKER}_{next(NUMBERS)}"
    asyncio.run(_copy(server_url, template_database, name))
    yield with_database(server_url, name)
    asyncio.run(_administer(server_url, f"drop database {name} with (force)"))


@pytest.fixture(scope="session")
def keeper(migrated_url: str) -> Iterator[Keeper]:
    yield KEEPER
    KEEPER.close()


@pytest_asyncio.fixture
async def database(database_url: str, keeper: Keeper) -> AsyncIterator[Database]:
    database = await keeper.lend(database_url)
    yield database
    await keeper.take_back(database)


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


async def _be_careless(url: str) -> None:
    """Nothing on this server has to survive the session: making and dropping databases gets much faster."""
    for setting in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum"):
        await _administer(url, f"alter system set {setting} = off")
    await _administer(url, "select pg_reload_conf()")


async def _copy(url: str, template: str, name: str) -> None:
    await _administer(url, f"drop database if exists {name}")
    connection = await asyncpg.connect(url)
    try:
        # The strategy that PostgreSQL 14 has no word for, and no other one.
        how = "" if connection.get_server_version() < (15,) else "strategy file_copy"
        await connection.execute(f"create database {name} template {template} {how}")
    finally:
        await connection.close()


async def _make(url: str, name: str) -> None:
    await _administer(url, f"drop database if exists {name}")
    await _administer(url, f"create database {name}")
    database = await Database.open(with_database(url, name))
    await migrate(database, shards=4)
    await make_partitions(database, days=1)
    await make_partitions(database, now=NOW, days=1)
    await database.close()


async def _administer(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
