"""The test engine beside a test client: the web application runs in an event loop and a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest
from anyio.from_thread import start_blocking_portal
from litestar import Litestar, get, post
from litestar.params import FromQuery
from litestar.testing import TestClient

from sexton import Run, Sexton
from sexton.testing import Engine, engine

MONDAY = datetime(2026, 10, 26, tzinfo=UTC)
Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Engine]]


class Shop:
    """A web application that schedules reminders, as one with `app.running()` in its lifespan would."""

    def __init__(self) -> None:
        self.app = Sexton(name="shop")
        self.reminded: list[tuple[str, datetime]] = []
        self.app.handler("remind")(self.remind)

        @post("/orders")
        async def order(name: FromQuery[str]) -> str:
            job = await self.app.schedule("remind", after="2h", payload={"name": name}, name=name)
            assert job.next_run_at is not None
            return job.next_run_at.isoformat()

        @get("/orders")
        async def orders(name: FromQuery[str]) -> list[str]:
            return [run.status for run in await self.app.history(name)]

        @asynccontextmanager
        async def lifespan(_: Litestar) -> AsyncIterator[None]:
            async with self.app.running():
                yield

        self.web = Litestar([order, orders], lifespan=[lifespan], debug=True)

    async def remind(self, run: Run) -> None:
        self.reminded.append((run.payload["name"], run.scheduled_at))


async def test_requests_and_the_engine_take_turns(sexton_engine: Start) -> None:
    shop = Shop()
    async with sexton_engine(shop.app, at=MONDAY) as test:
        with TestClient(shop.web) as client:
            assert client.post("/orders?name=milk").text == (MONDAY + timedelta(hours=2)).isoformat()
            assert client.get("/orders?name=milk").json() == []
            await test.advance(hours=1)
            client.post("/orders?name=tea")
            await test.advance(hours=1)
            assert shop.reminded == [("milk", MONDAY + timedelta(hours=2))]
            assert client.get("/orders?name=milk").json() == ["success"]
            await test.advance(hours=1)
            assert client.get("/orders?name=tea").json() == ["success"]
    assert test.now == MONDAY + timedelta(hours=3)


def test_a_plain_function_lends_the_engine_a_loop(sexton_server: str) -> None:
    shop = Shop()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(engine(shop.app, at=MONDAY, server=sexton_server)) as test,
        TestClient(shop.web) as client,
    ):
        client.post("/orders?name=milk")
        portal.call(test.advance, MONDAY + timedelta(hours=2))
        assert shop.reminded == [("milk", MONDAY + timedelta(hours=2))]
        assert client.get("/orders?name=milk").json() == ["success"]
        assert [run.status for run in asyncio.run(shop.app.history("milk"))] == ["success"]


async def test_a_request_of_a_handler_finds_its_own_instant(sexton_engine: Start) -> None:
    """The engine is many instants ahead of what is written when the request comes from another thread."""
    shop = Shop()

    @shop.app.job("* * * * *")
    def minutely(run: Run) -> None:
        if run.scheduled_at.minute == 20:
            found.append(client.get("/orders?name=minutely").json())
            found.append(client.post("/orders?name=milk").text)

    found: list[object] = []
    async with sexton_engine(shop.app, at=MONDAY) as test:
        with TestClient(shop.web) as client:
            await test.advance(minutes=50)
            assert found[0] == ["running"] + ["success"] * 19
            assert found[1] == (MONDAY + timedelta(hours=2, minutes=20)).isoformat()
            await test.advance(hours=2)
    assert shop.reminded == [("milk", MONDAY + timedelta(hours=2, minutes=20))]
    assert [run.job_name for run in test.runs].count("minutely") == 170


async def test_a_handler_that_blocks_the_loop_which_it_needs_is_told_so(
    sexton_engine: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.testing.watch.PATIENCE_SECONDS", 0.2)
    shop = Shop()

    @shop.app.job("* * * * *")
    async def minutely(run: Run) -> int:
        answer = client.get("/orders?name=minutely")
        assert "the event loop of the test engine is blocked" in answer.text
        return answer.status_code

    async with sexton_engine(shop.app, at=MONDAY) as test:
        with TestClient(shop.web) as client:
            [run] = await test.advance(minutes=1)
    assert (run.status, run.result) == ("success", 500)


async def test_the_engine_must_come_first(sexton_app: Sexton, sexton_engine: Start) -> None:
    """Else what is connected already would go on with the application's own database."""
    before = sexton_app.settings
    async with sexton_app.connected():
        with pytest.raises(RuntimeError, match="is in use already: enter engine"):
            async with sexton_engine(sexton_app, at=MONDAY):
                pass
    async with sexton_engine(sexton_app, at=MONDAY):
        with pytest.raises(RuntimeError, match="is in use already: enter engine"):
            async with sexton_engine(sexton_app, at=MONDAY):
                pass
    assert sexton_app.settings is before
