"""Where PostgreSQL says "not now", the answer is 503 with Retry-After."""

from __future__ import annotations

import contextlib

import asyncpg
import pytest

from sexton.config import Settings
from sexton.postgres.database import Database, unavailable
from tests.api.conftest import Api, Reply, serve

JOB = {"name": "hourly", "schedule": "0 * * * *"}


def check(reply: Reply) -> None:
    assert (reply.status, reply.headers["Retry-After"]) == (503, "1"), reply.content
    assert reply.code in ("database_busy", "database_unavailable")


async def edit(api: Api) -> Reply:
    return await api("PATCH", "/jobs/hourly", {"schedule": "5 * * * *"})


@pytest.mark.asyncio
async def test_a_database_that_is_read_only(database: Database) -> None:
    """It is not the primary any more: nothing of it is believed, until there is one again."""
    async with serve(database, Settings()) as api:
        await api("POST", "/jobs", JOB)
        for request in (
            edit,
            lambda api: api("POST", "/jobs", {**JOB, "name": "b"}, headers={"Idempotency-Key": "k"}),
            lambda api: api("DELETE", "/jobs/hourly"),
        ):
            await make_read_only(database)
            check(await request(api))
            assert (await api("GET", "/jobs/hourly")).status == 200
        assert (await edit(api)).status == 200
        await make_read_only(database)
        ready = await api("GET", "/readyz")
        assert ready.status == 503
        assert "read-only, so it is not the primary" in ready.json()["database"]


async def make_read_only(database: Database) -> None:
    """What the connections that are there lead to; new ones are made to the primary."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(database.pool.get_max_size()):
            connection = await stack.enter_async_context(database.connection())
            await connection.execute("set default_transaction_read_only = on")


@pytest.mark.asyncio
async def test_a_table_that_is_being_altered(own_database_url: str) -> None:
    impatient = await Database.open(own_database_url, settings={"lock_timeout": "100ms"})
    altering = await asyncpg.connect(own_database_url)
    async with serve(impatient, Settings()) as api:
        await api("POST", "/jobs", JOB)
        assert (await edit(api)).status == 200
        async with altering.transaction():
            await altering.execute("alter table sexton.jobs alter column name type varchar(500)")
            check(await edit(api))
            check(await api("GET", "/jobs"))
        # Statements that were prepared before are prepared anew.
        for _ in range(3):
            assert (await edit(api)).status == 200
            assert (await api("GET", "/jobs")).status == 200
    await altering.close()
    await impatient.close()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "state",
    ["40001", "40P01", "53100", "53200", "53400", "55006", "55P03", "57014", "57P05", "58030"],
)
async def test_every_way_to_say_not_now(
    database: Database, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    async def fetchrow(self: Database, *_: object, **__: object) -> None:
        async with self.connection() as connection:
            await connection.execute(
                f"do $$ begin raise exception 'not now' using errcode = '{state}'; end $$"
            )

    monkeypatch.setattr(Database, "fetchrow", fetchrow)
    async with serve(database, Settings()) as api:
        check(await edit(api))


def test_a_database_that_is_slow_is_not_called_unreachable() -> None:
    assert unavailable(TimeoutError()).message == "the database does not answer in time"
    assert unavailable(OSError("refused")).message == "the database cannot be reached: refused"
