"""A PostgreSQL for the faults alone, as it is restarted now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from tests.faults.harness import Server


@pytest.fixture(scope="session")
def fault_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("faults"))
    asyncio.run(_start(server))
    yield server
    asyncio.run(server.stop())


async def _start(server: Server) -> None:
    await server.start()
    # The machine does not crash here, only processes do: what was written need not reach the disk.
    connection = await asyncpg.connect(server.url)
    for setting in ("fsync", "full_page_writes"):
        await connection.execute(f"alter system set {setting} = off")
    await connection.execute("select pg_reload_conf()")
    await connection.close()
