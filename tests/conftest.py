"""A private PostgreSQL for the session, and a migrated database of its own for every test that wants one.

SEXTON_TEST_DATABASE_URL names another server instead, of any version from 14 on: the address of a superuser
named sexton, over a socket for the tests that put a proxy in between. The server's settings are changed, and
it is not durable afterwards.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import count
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
from tests.seeding import NOW

# Processes that test at the same time on a server that was given must not meet.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
SHARED = f"sexton_test_{WORKER}"
TEMPLATE = f"sexton_template_{WORKER}"
NUMBERS = count(1)

# Sessions that a failed test has left behind are cut off first.
EMPTY = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid();
do $$
declare emptied text;
begin
    for emptied in
        select format('%I.%I', schemaname, tablename) from pg_tables
        where schemaname = 'sexton' and tablename !~ '_[0-9]{8}$'
            and tablename not in ('migrations', 'settings', 'shards', 'namespaces')
            and tablename not in ('access_version', 'audit_head')
    loop
        execute 'delete from ' || emptied;
    end loop;
end
$$;
delete from sexton.settings where name <> 'shards';
delete from sexton.namespaces;
insert into sexton.namespaces (name) values ('default');
update sexton.audit_head set sequence = 0, hash = '', removed_sequence = 0, removed_hash = '';
select setval('sexton.catch_up_free_at', 1);
update sexton.shards set epoch = 0, holder = null, taken_at = null where epoch > 0;
"""


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


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=5)
    yield database
    await database.close()


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
