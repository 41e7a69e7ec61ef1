"""A private PostgreSQL for the session, and a migrated database of its own for every test that wants one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import pytest_asyncio

from sexton.maintenance import make_partitions
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.server import private_server
from tests.runs import NOW

TEMPLATE = "sexton_template"
NUMBERS = count(1)


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with private_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """The name of a migrated database to copy."""
    asyncio.run(_make_template(server_url))
    return TEMPLATE


@pytest_asyncio.fixture
async def database_url(server_url: str, template: str) -> AsyncIterator[str]:
    """The address of a fresh, migrated database."""
    name = f"test_{next(NUMBERS)}"
    # Nothing of a test database outlives the session: the checkpoints of FILE_COPY would only cost time.
    await _administer(server_url, f"create database {name} template {template} strategy wal_log")
    yield with_database(server_url, name)
    await _administer(server_url, f"drop database {name} with (force)")


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=5)
    yield database
    await database.close()


def with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


async def _make_template(url: str) -> None:
    await _administer(url, f"create database {TEMPLATE}")
    database = await Database.open(with_database(url, TEMPLATE))
    await migrate(database)
    await make_partitions(database, days=1)
    await make_partitions(database, now=NOW, days=1)
    await database.close()


async def _administer(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
