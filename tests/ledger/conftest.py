"""A migrated database of its own for every test, on one private server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
import pytest_asyncio

from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.server import private_server


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with private_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest_asyncio.fixture
async def database(server_url: str) -> AsyncIterator[Database]:
    schema = f"s{uuid4().hex[:12]}"
    database = await Database.open(server_url, schema=schema, size=4)
    async with database.connection() as connection:
        await connection.execute(f"create schema {schema}")
    await migrate(database)
    async with database.connection() as connection:
        for table in ("history", "attempts", "run_logs"):
            await connection.execute(
                f"create table {schema}.{table}_all partition of {schema}.{table} "
                "for values from (minvalue) to (maxvalue)"
            )
    yield database
    async with database.connection() as connection:
        await connection.execute(f"drop schema {schema} cascade")
    await database.close()
