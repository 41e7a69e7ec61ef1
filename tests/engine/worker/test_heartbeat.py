"""The worker's sign of life: it does not depend on the worker's loop, and it learns of its own death."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sexton.engine.worker.worker import Worker
from sexton.targets.face import Run
from tests.seeding import (
    NOW,
    Store,
    claim,
    settled,
    turn,
    working,
)
from tests.waiting import PATIENCE


async def succeed(run: Run) -> None:
    """Returns nothing."""


async def test_a_worker_registers_what_it_can_do(store: Store) -> None:
    async with working(store.database, {"work": succeed}, concurrency=7, queues="default, slow") as worker:
        node = await worker.joined()
        row = await store.row("select * from sexton.nodes where id = $1", node)
    assert (row["roles"], row["state"], row["capacity"]) == (["worker"], "live", 7)
    assert set(row["handlers"]) == {"work", "sexton.noop", "sexton.log", "sexton.fail"}
    assert row["queues"] == ["default", "slow"]
    assert row["name"] == worker.membership.name


async def test_it_is_healthy_while_its_thread_lives_and_the_lease_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(store.database, {"work": succeed}) as worker:
        beat = worker.heartbeat
        await worker.joined()
        assert beat.healthy()
        with monkeypatch.context() as late:
            late.setattr(worker.membership.lease, "trusted_until", 0.0)
            assert not beat.healthy()
        assert beat.healthy()
        await beat.stop()
        assert not beat.healthy()


async def test_the_lease_is_renewed_while_a_handler_blocks_the_loop(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    run = await store.run()
    beaten = threading.Event()

    async def rude(run: Run) -> None:
        # Holds the event loop until the other thread has renewed the lease and complained about it.
        assert beaten.wait(60)

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has not answered" in record.getMessage() and worker.heartbeat.beats >= 2:
                beaten.set()

    logging.getLogger("sexton").addHandler(listener := Listener())
    try:
        async with working(
            store.database, {"work": rude}, worker_lease_seconds=30, heartbeat_seconds=0.2
        ) as worker:
            await claim_all(worker, store)
            await settled(worker)
            assert worker.membership.trusted()
    finally:
        logging.getLogger("sexton").removeHandler(listener)
    assert await store.statuses() == {run: "success"}
    message = next(
        record.getMessage() for record in caplog.records if "has not answered" in record.getMessage()
    )
    name = await store.value("select name from sexton.jobs")
    assert f"the handler of {name}" in message
    assert "rude" in message


async def test_a_worker_that_was_declared_dead_takes_a_new_identity(store: Store) -> None:
    run = await store.run()
    running, ended = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            assert run.cancelled
            ended.set()

    async with working(store.database, {"work": work}) as worker:
        old = await worker.joined()
        await claim_all(worker, store)
        await running.wait()
        await store.execute("update sexton.nodes set state = 'dead' where id = $1", old)
        worker.heartbeat.poke()
        await ended.wait()
        while (new := await worker.joined()) == old:
            await turn(worker)
        await settled(worker)
        assert worker.membership.trusted()
        # The run is as it was: taking it back is the sweeper's business.
        live = await store.live(run)
        assert (live["state"], live["node"], live["claim"]) == ("running", old, 1)
        assert await store.value("select state from sexton.nodes where id = $1", new) == "live"
    assert await store.statuses() == {}


async def test_what_a_dead_identity_has_claimed_is_not_run(store: Store) -> None:
    await store.run()
    started = []

    async def work(run: Run) -> None:
        started.append(run._attempt.id)

    async with working(store.database, {"work": work}) as worker:
        old = await worker.joined()
        rows = await worker.queue.claim(old, [await store.lane()], 10, now=NOW)
        await store.execute("update sexton.nodes set state = 'dead' where id = $1", old)
        worker.heartbeat.poke()
        while worker.state.node in (old, None):
            await turn(worker)
        worker.runner.take(rows, old)
        await settled(worker)
    assert started == []


async def test_a_worker_that_cannot_beat_takes_no_work(store: Store) -> None:
    lane = await store.lane()
    async with working(store.database, {"work": succeed}) as worker:
        await worker.joined()
        worker.membership.lease.trusted_until = 0.0
        run = await store.run()
        await worker.claimer.tick()
        assert worker.state.in_hand == 0
        assert (await store.live(run))["state"] == "pending"
        worker.heartbeat.poke()
        while not worker.membership.trusted():
            await turn(worker)
        await worker.claimer.tick()
        await settled(worker)
        assert worker.state.lanes == [lane]
    assert await store.statuses() == {run: "success"}


async def test_the_heartbeat_survives_its_connection(store: Store) -> None:
    async with working(store.database, {}) as worker:
        node = await worker.joined()
        await store.execute(
            """select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = 'sexton heartbeat'"""
        )
        beats = worker.heartbeat.beats
        while worker.heartbeat.beats == beats:
            worker.heartbeat.poke()
            await turn(worker)
        assert worker.state.node == node


async def test_a_worker_stops_though_every_thread_of_asyncio_is_taken(store: Store) -> None:
    go, taken = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        taken.release()
        go.wait()

    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        async with working(store.database, {}) as worker:
            await worker.joined()
            threads.submit(hang)
            taken.acquire(timeout=PATIENCE)
        assert not worker.heartbeat.healthy()
        go.set()


async def test_nothing_ends_the_heartbeat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(store.database, {}) as worker:
        await worker.joined()
        heartbeat, real, failed = worker.heartbeat, worker.heartbeat._renew, threading.Event()

        async def renew(connection: Any) -> None:
            if not failed.is_set():
                failed.set()
                raise ValueError("an error that no code expects")
            await real(connection)

        monkeypatch.setattr(heartbeat, "_renew", renew)
        monkeypatch.setattr(heartbeat, "_running_now", lambda: 1 / 0)
        assert "ZeroDivisionError" in heartbeat._culprit()
        beats = heartbeat.beats
        while heartbeat.beats == beats:
            heartbeat.poke()
            await turn(worker)
    assert failed.is_set()


async def claim_all(worker: Worker, store: Store) -> None:
    await claim(worker, [await store.lane()], 10)
