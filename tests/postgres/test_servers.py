"""Several servers at one address: connections go to the primary, and follow it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio

from sexton.errors import Unavailable
from sexton.postgres.cluster import DATABASE, ROLE
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import migrate
from sexton.postgres.server import PrivateServer
from sexton.postgres.servers import NotPrimaryError, Servers
from tests.faults.proxy import Proxy
from tests.postgres.standby import Pair, standby


@pytest_asyncio.fixture
async def proxies(server_url: str) -> AsyncIterator[list[Proxy]]:
    """Two ways to the same server."""
    query = parse_qs(urlsplit(server_url).query)
    if "host" not in query:
        pytest.skip("the proxies go to a socket")
    made = [Proxy(f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}") for _ in range(2)]
    for proxy in made:
        await proxy.start()
    yield made
    for proxy in made:
        await proxy.stop()


def address(proxies: list[Proxy], database_url: str) -> str:
    hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
    return f"postgresql://sexton:secret@{hosts}{urlsplit(database_url).path}?sslmode=disable"


async def test_a_server_that_is_cut_off_is_passed_over(proxies: list[Proxy], database_url: str) -> None:
    database = await Database.open(address(proxies, database_url), size=1)
    assert await database.fetchval("cluster/get_setting", name="shards") == "4"
    await proxies[0].cut()
    await patiently(database.check)
    await proxies[1].cut()
    proxies[0].restore()
    await patiently(database.check)
    await database.close()


async def test_a_server_that_does_not_answer_is_passed_over(proxies: list[Proxy], database_url: str) -> None:
    """What waits for its answer is told as soon as another server is found."""
    servers = Servers(address(proxies, database_url))
    first = await servers.connect(timeout=10)
    proxies[0].black_hole()
    waiting = asyncio.create_task(first.fetchval("select 1"))
    second = await servers.connect(timeout=10)
    with pytest.raises(asyncpg.PostgresConnectionError):
        await waiting
    assert first.is_closed()
    assert await second.fetchval("select 1") == 1
    await second.close()


async def test_each_server_is_named_with_what_is_wrong(proxies: list[Proxy], database_url: str) -> None:
    await proxies[0].cut()
    proxies[1].black_hole()
    with pytest.raises(NotPrimaryError) as failed:
        await Servers(address(proxies, database_url)).connect(timeout=1)
    told = str(failed.value)
    assert f"127.0.0.1:{proxies[0].port}: " in told
    assert f"127.0.0.1:{proxies[1].port}: no answer in time" in told
    assert "secret" not in told


async def test_what_waiting_does_not_cure_is_told_first(proxies: list[Proxy], database_url: str) -> None:
    proxies[0].black_hole()
    url = address(proxies, database_url).replace(urlsplit(database_url).path, "/nowhere")
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await Servers(url).connect(timeout=1)


async def test_the_system_watches_the_other_end(proxies: list[Proxy], database_url: str) -> None:
    connection: Any = await Servers(address(proxies, database_url)).connect(timeout=10)
    peer = connection._transport.get_extra_info("socket")
    assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
    await connection.close()


async def test_a_pool_forgets_connections_that_became_read_only(database_url: str) -> None:
    database = await Database.open(database_url, size=2)
    async with database.connection() as one, database.connection() as two:
        for connection in (one, two):
            await connection.execute("set default_transaction_read_only = on")
    with pytest.raises(Unavailable, match="it is read-only, so it is not the primary") as refused:
        await database.execute("cluster/set_setting", name="a", value="1")
    assert refused.value.code == "database_unavailable"
    for _ in range(3):
        await database.execute("cluster/set_setting", name="a", value="1")
    await database.close()


@pytest.fixture
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with standby(tmp_path_factory.mktemp("pair")) as made:
        yield made


def hosts_of(*servers: PrivateServer) -> str:
    places = [parse_qs(urlsplit(server.url).query) for server in servers]
    hosts, ports = (",".join(place[name][0] for place in places) for name in ("host", "port"))
    return f"postgresql://{ROLE}@/{DATABASE}?host={hosts}&port={ports}"


async def test_the_primary_is_followed_through_a_switchover(pair: Pair) -> None:
    """Whichever of the two comes first in the address; a replica alone is refused until it is the primary."""
    one, two = pair.primary, pair.replica
    databases = [await Database.open(hosts_of(*order), size=2) for order in ((one, two), (two, one))]
    await migrate(databases[0], shards=4)
    with pytest.raises(Unavailable, match="cannot be reached: it is read-only") as refused:
        await Database.open(two.url)
    assert refused.value.code == "database_unavailable"
    reading = await Database.open(two.url, primary=False)

    async def written() -> list[str]:
        async with databases[0].connection() as connection:
            return [row[0] for row in await connection.fetch("select name from sexton.settings")]

    for turn in range(2):
        for number, database in enumerate(databases):

            async def write(database: Database = database, name: str = f"{turn}-{number}") -> None:
                await database.execute("cluster/set_setting", name=name, value="1")

            await patiently(write)
            assert f"{turn}-{number}" in await written()
        await asyncio.to_thread(pair.switch_over)
    await patiently(written)
    for database in (*databases, reading):
        await database.close()
