"""How many suspects are together in a process of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from sexton.engine.worker.worker import Worker
from sexton.targets.face import Run
from sexton.targets.handler import Handler
from tests.seeding import NOW, QUIET, Store, settled


@asynccontextmanager
async def suspecting(store: Store, handlers: Mapping[str, Handler]) -> AsyncIterator[Worker]:
    """A worker for suspects; the test lets it claim."""
    worker = Worker(store.database, QUIET, handlers, now=lambda: NOW, loops=["outcome_writer"], suspects=True)
    await worker.start()
    try:
        await worker.joined()
        yield worker
    finally:
        await worker.stop(0)


async def test_it_claims_suspects_and_nothing_else(store: Store) -> None:
    run, suspect = await store.run(), await store.run(company=1, crashes=2)

    async def work(run: Run) -> None:
        assert (run._attempt.company, run._attempt.crashes) == (1, 2)

    async with suspecting(store, {"work": work}) as worker:
        await worker.claimer.tick()
        await settled(worker)
        await worker.claimer.tick()
        assert worker.state.in_hand == 0
    assert await store.statuses() == {suspect: "success"}
    assert (await store.live(run))["claim"] == 0


async def test_as_many_are_together_as_each_of_them_allows(store: Store) -> None:
    """Others join them when some have ended and are recorded; the most suspicious run alone."""
    before = NOW - timedelta(seconds=1)
    weak = [await store.run(company=3, available_at=before) for _ in range(4)]
    alone = await store.run(company=1)
    go = asyncio.Queue[None]()

    async def work(run: Run) -> None:
        await go.get()

    async with suspecting(store, {"work": work}) as worker:

        async def claim() -> set[int]:
            await worker.claimer.tick()
            await asyncio.sleep(0)
            return set(worker.state.running)

        async def end(runs: int) -> None:
            left = worker.state.in_hand - runs
            for _ in range(runs):
                go.put_nowait(None)
            while worker.state.in_hand > left:
                await asyncio.sleep(0)

        assert await claim() == set(weak[:3])
        assert await claim() == set(weak[:3])
        await end(2)
        held = set(worker.state.running)
        # Not before they are recorded.
        assert await claim() == held
        await worker.outcome_writer.tick()
        assert await claim() == held | {weak[3]}
        await end(2)
        await worker.outcome_writer.tick()
        assert await claim() == {alone}
        await end(1)
        await settled(worker)
    assert await store.statuses() == dict.fromkeys((*weak, alone), "success")


async def test_the_limits_of_queues_count_for_suspects_too(store: Store) -> None:
    await store.execute("insert into sexton.queues (name, concurrency) values ('default', 1)")
    runs = [await store.run(company=5) for _ in range(2)]
    go = asyncio.Event()

    async def work(run: Run) -> None:
        await go.wait()

    async with suspecting(store, {"work": work}) as worker:
        for _ in range(2):
            await worker.claimer.tick()
            assert worker.state.in_hand == 1
        go.set()
        await settled(worker)
        await worker.claimer.tick()
        await settled(worker)
    assert await store.statuses() == dict.fromkeys(runs, "success")
