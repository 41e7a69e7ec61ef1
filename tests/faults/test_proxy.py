"""The proxy does to connections what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from sexton.postgres.database import Connection
from tests.faults.proxy import Proxy

LOST = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError)


@pytest_asyncio.fixture
async def connection(proxy: Proxy) -> AsyncIterator[Connection]:
    connection = await connect(proxy)
    yield connection
    connection.terminate()


@pytest_asyncio.fixture
async def direct(server_url: str) -> AsyncIterator[Connection]:
    """Past the proxy, with a table to write to."""
    connection = await asyncpg.connect(server_url)
    await connection.execute("create table written (number integer)")
    yield connection
    await connection.execute("drop table written")
    await connection.close()


async def connect(proxy: Proxy, seconds: float = 10) -> Connection:
    return await asyncpg.connect(
        f"postgresql://sexton@127.0.0.1:{proxy.port}/sexton?sslmode=disable", timeout=seconds
    )


async def test_it_passes_everything_on(connection: Connection) -> None:
    assert await connection.fetchval("select repeat('x', 1000000) || $1", "!") == "x" * 1_000_000 + "!"


async def test_a_black_hole_keeps_everything_and_tells_nothing(proxy: Proxy, connection: Connection) -> None:
    proxy.black_hole()
    asked = asyncio.create_task(connection.fetchval("select 1"))
    with pytest.raises(TimeoutError):
        await connect(proxy, seconds=0.1)
    assert not asked.done()
    proxy.restore()
    assert await asked == 1


async def test_a_cut_ends_connections_and_makes_no_new_ones(proxy: Proxy, connection: Connection) -> None:
    await proxy.cut()
    with pytest.raises(LOST):
        await connection.fetchval("select 1")
    with pytest.raises(LOST):
        await connect(proxy)
    proxy.restore()
    await (await connect(proxy)).close()


async def test_a_reset_ends_connections_once(proxy: Proxy, connection: Connection) -> None:
    await proxy.reset()
    with pytest.raises(LOST):
        await connection.fetchval("select 1")
    await (await connect(proxy)).close()


async def test_a_delay_lets_things_arrive_later(proxy: Proxy, connection: Connection) -> None:
    proxy.delay(0.2)
    with pytest.raises(TimeoutError):
        await connection.fetchval("select 1", timeout=0.1)


@pytest.mark.parametrize("text", ["insert into written values (1)", "insert into written select $1::integer"])
async def test_a_statement_is_carried_out_but_its_answer_does_not_arrive(
    proxy: Proxy, connection: Connection, direct: Connection, text: str
) -> None:
    trap = proxy.trap("drop_answer", "into written")
    with pytest.raises(LOST):
        await connection.execute(text, *([1] if "$1" in text else []))
    await trap.wait()
    assert await direct.fetchval("select count(*) from written") == 1


async def test_a_commit_arrives_but_its_answer_does_not(
    proxy: Proxy, connection: Connection, direct: Connection
) -> None:
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("insert into written values (1)")
    proxy.trap("drop_answer", "COMMIT")
    with pytest.raises(LOST):
        await transaction.commit()
    assert await direct.fetchval("select count(*) from written") == 1


async def test_a_held_statement_arrives_when_it_is_released(
    proxy: Proxy, connection: Connection, direct: Connection
) -> None:
    trap = proxy.trap("hold", "into written")
    asked = asyncio.create_task(connection.execute("insert into written select $1::integer", 1))
    await trap.wait()
    assert await direct.fetchval("select count(*) from written") == 0
    trap.release()
    await asked
    assert await direct.fetchval("select count(*) from written") == 1


async def test_a_held_commit_leaves_the_transaction_open(
    proxy: Proxy, connection: Connection, direct: Connection
) -> None:
    trap = proxy.trap("hold_commit", "into written")
    asked = asyncio.create_task(connection.execute("insert into written select $1::integer", 1))
    await trap.wait()
    locked = (
        "select count(*) from pg_locks where relation = 'written'::regclass and mode = 'RowExclusiveLock'"
    )
    while not await direct.fetchval(locked):
        pass
    assert await direct.fetchval("select count(*) from written") == 0
    trap.release()
    await asked
    assert await direct.fetchval("select count(*) from written") == 1
