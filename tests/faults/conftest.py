"""A PostgreSQL for the faults alone, which is restarted now and then; a proxy in front of the common one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio

from tests.faults.proxy import Proxy
from tests.faults.servers import Server


@pytest.fixture(scope="session")
def fault_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("faults"))
    asyncio.run(_start(server))
    yield server
    asyncio.run(server.stop())


@pytest_asyncio.fixture
async def proxy(server_url: str) -> AsyncIterator[Proxy]:
    """In front of the server of the other tests."""
    query = parse_qs(urlsplit(server_url).query)
    if "host" not in query:
        pytest.skip("the proxy goes to a socket")
    proxy = Proxy(f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}")
    await proxy.start()
    yield proxy
    await proxy.stop()


async def _start(server: Server) -> None:
    await server.start()
    # The machine does not crash here, only processes do: what was written need not reach the disk.
    connection = await asyncpg.connect(server.url)
    for setting in ("fsync", "full_page_writes"):
        await connection.execute(f"alter system set {setting} = off")
    await connection.execute("select pg_reload_conf()")
    await connection.close()
