"""Lanes of handlers that several applications have: no worker guesses which is meant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sexton.engine.cluster.application import Application
from sexton.engine.worker.worker import Worker
from sexton.errors import Conflict
from tests.seeding import QUIET, Store
from tests.waiting import until


async def nothing(run: Any) -> None: ...


@asynccontextmanager
async def worker(store: Store, app: str, *handlers: str) -> AsyncIterator[Callable[[], Any]]:
    """A worker of an application; what it is called with says which handlers' lanes it claims from."""
    made = Worker(
        store.database,
        QUIET,
        dict.fromkeys(handlers, nothing),
        app=Application(app, f"/srv/{app}.py", given=False),
        loops=(),
    )
    await made.start()
    await until(lambda: made.heartbeat.beats)  # the next one is far away

    async def served() -> set[str]:
        await made.claimer.find_lanes()
        rows = await store.fetch("select handler from sexton.lanes where id = any($1)", made.state.lanes)
        return {row["handler"] for row in rows}

    try:
        yield served
    finally:
        await made.stop(0)


async def test_a_worker_serves_the_handlers_of_its_own_application(store: Store) -> None:
    names = ("tick", "one:tick", "two:tick", "sexton.noop", "one:only", "only", "a:b", "one:a:b")
    for name in names:
        await store.lane(name)
    async with worker(store, "one", "tick", "only", "a:b") as one:
        assert await one() == {"tick", "one:tick", "sexton.noop", "only", "one:only", "one:a:b"}


async def test_a_name_without_an_application_is_served_while_only_one_has_it(store: Store) -> None:
    for name in ("tick", "one:tick", "two:tick", "sexton.noop", "only"):
        await store.lane(name)
    async with worker(store, "one", "tick", "only") as one:
        assert "tick" in await one()
        async with worker(store, "one", "tick") as sibling:
            assert "tick" in await one() & await sibling()
        async with worker(store, "two", "tick") as two:
            assert await one() == {"one:tick", "sexton.noop", "only"}
            assert await two() == {"two:tick", "sexton.noop"}
            await store.execute("update sexton.nodes set state = 'draining' where app = 'two'")
            assert "tick" in await one()
            await store.execute(
                "update sexton.nodes set state = 'live', lease_until = now() where app = 'two'"
            )
            assert "tick" in await one()


async def test_a_worker_whose_name_was_taken_while_it_was_away_claims_nothing(store: Store) -> None:
    def made(file: str) -> Worker:
        settings = QUIET
        return Worker(store.database, settings, {}, app=Application("main", file, given=False), loops=())

    away, other = made("/a/main.py"), made("/b/main.py")
    await away.start()
    await until(lambda: away.heartbeat.beats)
    # The process sleeps, is counted as dead, and wakes up.
    await store.execute("update sexton.nodes set state = 'dead'")
    await other.start()
    away.heartbeat.poke()
    await until(lambda: away.state.node is None)
    with pytest.raises(Conflict):
        await made("/a/main.py").start()
    await other.stop(0)
    away.heartbeat.poke()
    await until(lambda: away.state.node is not None)
    await away.stop(0)
