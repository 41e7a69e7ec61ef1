"""The COMMIT of a handler's own transaction, or the answer to it, is lost: writes and success stay one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio
from asyncpg.transaction import Transaction

from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.targets.face import Run
from tests.faults.proxy import Proxy, Trap
from tests.seeding import (
    NOW,
    Store,
    drained,
    working,
)


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    """Past the proxy, with a table for the handler."""
    store = Store(database)
    await store.execute("create table if not exists public.paid (run text, attempt integer)")
    await store.execute("truncate public.paid")
    return store


@pytest_asyncio.fixture
async def behind(store: Store, proxy: Proxy) -> AsyncIterator[Database]:
    """The same database, through the proxy."""
    parts = urlsplit(store.database.url)
    url = f"postgresql://{parts.username or 'sexton'}@127.0.0.1:{proxy.port}{parts.path}?sslmode=disable"
    database = await Database.open(url, size=5)
    yield database
    await database.close()


async def test_the_answer_is_lost(store: Store, proxy: Proxy, behind: Database) -> None:
    """It was committed. The worker looks into history, finds its own claim, and does not run it again."""
    run = await store.run()

    async def pay(context: Run) -> None:
        async with context.transaction({"paid": True}) as connection:
            await connection.execute(
                "insert into public.paid values ($1, $2)", context.run_id, context.attempt
            )
            traps.append(proxy.trap("drop_answer", "COMMIT"))

    traps: list[Trap] = []
    async with working(behind, {"work": pay}) as worker:
        await drained(worker)
        assert worker.telemetry.lost._value.get() == 0
    assert traps[0].sprung.is_set()
    ended = await store.history(run)
    assert (ended["status"], ended["result"], ended["attempt"]) == ("success", '{"paid": true}', 1)
    assert [tuple(row) for row in await store.fetch("select * from public.paid")] == [
        (encode_id("r", run), 1)
    ]
    assert await store.fetch("select from sexton.attempts") == []
    assert await store.fetch("select from sexton.runs") == []


async def test_the_commit_itself_is_lost(store: Store, proxy: Proxy, behind: Database) -> None:
    """Nothing was committed: neither the handler's write nor the success. The run is tried again."""
    job = await store.job("work", retry_base_seconds=0)
    run = await store.run(job)
    attempts = 0

    async def pay(context: Run) -> None:
        nonlocal attempts
        attempts += 1
        async with context.transaction() as connection:
            await connection.execute(
                "insert into public.paid values ($1, $2)", context.run_id, context.attempt
            )
            if attempts == 1:
                pid = connection.get_server_pid()
                await store.execute("select pg_terminate_backend($1, 30000)", pid)

    async with working(behind, {"work": pay}, now=lambda: NOW) as worker:
        await drained(worker)
    assert attempts == 2
    ended = await store.history(run)
    assert (ended["status"], ended["attempt"]) == ("success", 2)
    assert [tuple(row) for row in await store.fetch("select * from public.paid")] == [
        (encode_id("r", run), 2)
    ]
    tried = await store.row("select attempt, outcome from sexton.attempts")
    assert tuple(tried) == (1, "failed")


async def test_a_connection_cut_off_in_the_middle_of_the_answer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver is confused, and says so with an error of its own: history is asked all the same."""
    real = Transaction.commit

    async def commit(transaction: Transaction) -> None:
        await real(transaction)
        raise asyncpg.InternalClientError("another operation is in progress")

    async def pay(context: Run) -> None:
        async with context.transaction({"paid": True}):
            monkeypatch.setattr(Transaction, "commit", commit)

    run = await store.run()
    async with working(store.database, {"work": pay}) as worker:
        await drained(worker)
        assert (worker.telemetry.lost._value.get(), worker.telemetry.succeeded._value.get()) == (0, 1)
    assert (await store.history(run))["status"] == "success"
