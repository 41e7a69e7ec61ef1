"""Handlers that go on although they were stopped, until the worker has enough of them."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from sexton.engine.worker.wear import LEFT_PER_RUN
from sexton.engine.worker.worker import Worker
from sexton.targets.face import Run
from tests.seeding import Store, claim, settled, turn, working
from tests.waiting import until


async def leave_behind(store: Store, worker: Worker, began: list[int], times: int) -> None:
    """Runs whose handlers do not end, each until its time is over. `began` has those that began."""
    for _ in range(times):
        run = await store.run(await store.job(timeout_seconds=0, max_retries=0))
        await claim(worker)
        while run not in began:
            await turn(worker)
        left = worker.wear.left_behind
        while worker.wear.left_behind == left:
            worker.watcher.watch()
            await turn(worker)
        await settled(worker)
        assert (await store.history(run))["status"] == "dead"


async def test_a_worker_with_too_many_hung_threads_takes_no_more_runs(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    go, began = threading.Event(), list[int]()

    def work(run: Run) -> None:
        began.append(run._attempt.id)
        go.wait()

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await leave_behind(store, worker, began, LEFT_PER_RUN - 1)
        worker.watcher.watch()
        assert not worker.state.worn_out.is_set()
        await worker.claimer.tick()
        worker.claimer.last_tick = float("inf")
        assert worker.claimer.healthy()

        await leave_behind(store, worker, began, 1)
        worker.watcher.watch()
        assert worker.state.worn_out.is_set()
        assert not worker.claimer.healthy()
        assert f"takes no more runs: {LEFT_PER_RUN} handlers go on" in caplog.text
        waiting = await store.run()
        await worker.claimer.tick()
        assert (await store.live(waiting))["state"] == "pending"

        go.set()
        await until(lambda: worker.wear.left_behind <= LEFT_PER_RUN // 2)
        worker.watcher.watch()
        assert not worker.state.worn_out.is_set()
        await worker.claimer.tick()
        await settled(worker)
        assert (await store.history(waiting))["status"] == "success"


async def test_coroutines_that_ignore_their_cancellation_count_as_well(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.engine.worker.watcher.STOP_PATIENCE_SECONDS", -1.0)
    go, began = asyncio.Event(), list[int]()

    async def work(run: Run) -> None:
        began.append(run._attempt.id)
        while not go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go.wait()

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        await leave_behind(store, worker, began, LEFT_PER_RUN)
        worker.watcher.watch()
        assert worker.state.worn_out.is_set()
        go.set()
        await until(lambda: worker.wear.left_behind == 0)


async def test_a_worker_that_can_start_no_thread_takes_no_more_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await store.run()

    def work(run: Run) -> None:
        """Never called."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with working(store.database, {"work": work}) as worker:
        await worker.joined()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            await claim(worker)
            await settled(worker)
        worker.watcher.watch()
        assert worker.state.worn_out.is_set()
    live = await store.live(run)
    assert (live["state"], live["attempt"]) == ("pending", 0)
    assert live["error"] == "no thread can be started for it: can't start new thread"
