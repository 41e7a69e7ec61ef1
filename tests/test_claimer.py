"""When a worker claims, how much, and what it runs alone."""

from __future__ import annotations

import asyncio

import pytest_asyncio

from sexton.execution import RunContext
from sexton.postgres.database import Database
from tests.runs import Store, settled, working


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def succeed(run: RunContext) -> None:
    """Returns nothing."""


async def test_a_twice_crashed_run_waits_until_it_can_run_alone(store: Store) -> None:
    """Other work ends first, nothing is claimed beside it, and afterwards everything goes on."""
    first = await store.run()
    order: list[int] = []
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: RunContext) -> None:
        assert not order or not run.alone or worker.in_hand == 1
        order.append(run.id)
        if run.id in (first, suspect):
            running.set()
            await go.wait()

    suspect = 0
    async with working(store.database, {"work": work}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await running.wait()
        suspect, later = await store.run(crashes=2), await store.run()
        worker.claimer._suspects_at = float("-inf")
        await worker.claimer.tick()
        assert worker.in_hand == 1
        assert (await store.live(later))["state"] == "pending"
        running.clear()
        go.set()
        await settled(worker)
        go.clear()
        await worker.claimer.tick()
        await running.wait()
        await worker.claimer.tick()
        assert [run.id for run in worker.running.values()] == [suspect]
        go.set()
        await settled(worker)
        await worker.claimer.tick()
        await settled(worker)
    assert order == [first, suspect, later]
    assert await store.statuses() == dict.fromkeys(order, "success")


async def test_a_worker_does_not_wait_forever_to_be_alone(store: Store) -> None:
    long = await store.run()
    running = asyncio.Event()

    async def work(run: RunContext) -> None:
        if run.id == long:
            running.set()
            await asyncio.Event().wait()

    async with working(store.database, {"work": work}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await running.wait()
        await store.run(crashes=2)
        other = await store.run()
        worker.claimer._suspects_at = float("-inf")
        await worker.claimer.tick()
        assert (await store.live(other))["state"] == "pending"
        worker.claimer._giving_way_until = 0.0
        await worker.claimer.tick()
        while other not in await store.statuses():
            worker.settler.wake()
            await worker.queue.suspects([])
    assert (await store.statuses()) == {other: "success"}


async def test_a_fast_worker_claims_ahead_and_a_slow_one_does_not(store: Store) -> None:
    async with working(store.database, {"work": succeed}, concurrency=10, claim_size=100) as worker:
        await worker.joined()
        claimer = worker.claimer
        assert claimer.room() == 10
        claimer._waiting = True
        claimer.measured(1000, 0.1)
        assert 10 < claimer.room() <= 10 + 2 * 100
        for _ in range(20):
            claimer.measured(1000, 0.1)
        assert claimer.room() == 10 + 2 * 100
        for _ in range(20):
            claimer.measured(1, 10)
        assert claimer.room() == 10
        claimer.measured(1000, 0.1)
        claimer.slow_down()
        assert claimer.room() == 10


async def test_new_lanes_are_found_and_only_those_it_can_serve(store: Store) -> None:
    mine, http = await store.lane("work"), await store.lane(target="http")
    await store.lane("work", queue="elsewhere")
    await store.lane("unknown")
    async with working(store.database, {"work": succeed}, queues="default") as worker:
        await worker.joined()
        await worker.find_lanes()
        assert worker.lanes == [mine, http]
    async with working(store.database, {"work": succeed}, queues="*") as worker:
        await worker.joined()
        await worker.find_lanes()
        assert len(worker.lanes) == 3


async def test_every_lane_gets_its_turn(store: Store) -> None:
    async with working(store.database, {"work": succeed}) as worker:
        worker.lanes = [1, 2, 3]
        orders = {tuple(worker.claimer._rotated()) for _ in range(200)}
    assert orders == {(1, 2, 3), (2, 3, 1), (3, 1, 2)}
