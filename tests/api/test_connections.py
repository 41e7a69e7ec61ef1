"""A call holds one connection of the pool at a time, and a caller without a key or token holds none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar

import pytest

from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.config import Settings
from sexton.postgres.database import Connection, Database
from tests.api.conftest import Api, serve

JOB = {"name": "hourly", "schedule": "0 * * * *"}
KEY = "a-key-of-sixteen-or-more"
held: ContextVar[int] = ContextVar("held", default=0)


@pytest.fixture
def nested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where a connection was taken beside another one; `taken` entries tell of every one."""
    found: list[str] = []
    plain = Database.connection

    @asynccontextmanager
    async def watched(self: Database) -> AsyncIterator[Connection]:
        found.append("nested" if held.get() else "taken")
        async with plain(self) as connection:
            token = held.set(held.get() + 1)
            try:
                yield connection
            finally:
                held.reset(token)

    monkeypatch.setattr(Database, "connection", watched)
    return found


def path_of(one: Operation) -> str:
    path = one.template.replace("{run}", "r_1").replace("{name}", "other")
    return path.replace("{job}", "hourly").replace("{queue}", "default").replace("{node}", "n_1")


@pytest.mark.asyncio
async def test_no_operation_takes_a_second_connection(api: Api, nested: list[str]) -> None:
    await api("POST", "/jobs", JOB)
    for one in operations():
        nested.clear()
        body = None if isinstance(one.example, str) else one.example
        headers = {"Idempotency-Key": f"key of {one.name}", "Sexton-Run-Token": "1.x"}
        data = one.example.encode() if isinstance(one.example, str) else None
        if data is not None:
            headers["Content-Type"] = "application/x-ndjson"
        for _ in range(2):
            if one.name == "get_events":
                # It goes on for ever: its beginning says that it was read.
                async with api.session.get(f"{api.base}{one.template}") as response:
                    assert await response.content.readline(), one.name
                continue
            reply = await api(one.method, path_of(one), body, data=data, headers=headers)
            assert reply.status < 500, (one.name, reply.content)
        assert "nested" not in nested, one.name


@pytest.mark.asyncio
async def test_the_test_of_a_target_holds_no_connection_while_it_is_sent(
    api: Api, nested: list[str], database: Database
) -> None:
    """The other side may take as long as it likes."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def serve_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve_slowly, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        body = {"target": {"http": {"url": f"http://127.0.0.1:{port}/"}}}
        sending = asyncio.create_task(api("POST", "/targets/test", body, headers={"Idempotency-Key": "k"}))
        await asked.wait()
        assert database.pool.get_size() == database.pool.get_idle_size()
        answer.set()
        assert (await sending).json()["success"] is True
    assert "nested" not in nested


@pytest.mark.asyncio
async def test_a_caller_without_a_key_or_token_takes_no_connection(
    database: Database, nested: list[str]
) -> None:
    async with serve(database, Settings(api_keys=KEY)) as api:
        first = {"Idempotency-Key": "k", "Sexton-Run-Token": "1.x"}
        assert (await api("POST", "/runs/r_1/complete", headers=first)).code == "bad_token"
        assert (await api("GET", "/inbox/made-up")).code == "inbox_not_found"
        # The keys of these are read once.
        nested.clear()
        for one in operations():
            # The report of a provider is signed with a secret of that provider, which must be read.
            if not one.root and one.name != "take_provider_report":
                search = "?search=Berlin" if one.name == "list_zones" else ""
                reply = await api(one.method, path_of(one) + search, one.example, headers=first)
                # The address of a feed is its secret: a wrong one is not there.
                expected = 404 if "{token}" in one.template else 200 if one.open else 401
                assert reply.status == expected, one.name
                assert nested == [], one.name


@pytest.mark.asyncio
async def test_all_who_ask_whether_the_database_answers_share_a_connection(
    database: Database, nested: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no key."""
    monkeypatch.setattr("sexton.api.database_check.CHECK_SECONDS", 0.5)
    async with serve(database, Settings(api_keys=KEY)) as api, AsyncExitStack() as held_here:
        for _ in range(database.pool.get_max_size()):
            await held_here.enter_async_context(database.pool.acquire())
        replies = await asyncio.gather(*(api("GET", "/readyz") for _ in range(10)))
    assert {reply.status for reply in replies} == {503}
    assert nested == ["taken"]


@pytest.mark.asyncio
async def test_outsiders_cannot_probe_idempotency_keys(database: Database) -> None:
    """The answer is the same whether a key was used or not."""
    async with serve(database, Settings(api_keys=KEY)) as api:
        known = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": "used"}
        assert (await api("POST", "/jobs", JOB, headers=known)).status == 201
        for key in ("used", "unused", ""):
            for path in ("/jobs", "/runs/r_1/complete"):
                reply = await api(
                    "POST", path, {}, headers={"Idempotency-Key": key, "Sexton-Run-Token": "1.x"}
                )
                assert (reply.status, reply.code) == (401, "no_key" if path == "/jobs" else "bad_token")
