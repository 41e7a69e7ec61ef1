"""Listeners are told what was recorded, and can harm nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sexton.engine.worker import audience
from sexton.engine.worker.queue import RunQueue
from sexton.errors import Unavailable
from sexton.model import Cancel, Snooze
from sexton.runs.events import EVENTS, RunEvent
from sexton.targets.face import Run
from tests.seeding import Store, claim, settled, working

Told = list[tuple[str, int]]


async def succeed(run: Run) -> None:
    """Returns nothing."""


def everything(told: Told) -> audience.Listeners:
    async def listen(event: RunEvent) -> None:
        told.append((event.name, event.attempt))

    return {name: [listen] for name in EVENTS}


async def claim_all(worker: Any, store: Store) -> None:
    await claim(worker, [await store.lane()], 10)
    await settled(worker)
    await worker.audience.idle()


@pytest.mark.parametrize(
    ("handler", "fields", "expected"),
    [
        (succeed, {}, [("succeeded", 1)]),
        (lambda run: {"a": 1}, {}, [("succeeded", 1)]),
        (lambda run: 1 / 0, {}, [("failed", 1)]),
        (lambda run: 1 / 0, {"max_retries": 0}, [("failed", 1), ("dead", 1)]),
        (lambda run: Cancel("enough"), {}, [("cancelled", 1)]),
        (lambda run: Snooze(5), {}, []),
    ],
)
async def test_each_outcome_is_told_after_it_was_recorded(
    store: Store, handler: Any, fields: Any, expected: Told
) -> None:
    told: Told = []
    await store.run(await store.job(**fields))
    async with working(store.database, {"work": handler}, listeners=everything(told)) as worker:
        await claim_all(worker, store)
    assert told == expected


@pytest.mark.parametrize("carried_out", [True, False])
async def test_it_is_told_once_though_the_answer_was_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch, carried_out: bool
) -> None:
    real, calls = RunQueue.finish, 0

    async def finish(queue: RunQueue, *given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = await real(queue, *given, **named) if carried_out or calls > 1 else None
        if calls == 1:
            raise Unavailable("database_unavailable", "the answer was lost")
        return answer

    monkeypatch.setattr(RunQueue, "finish", finish)
    told: Told = []
    await store.run()
    async with working(store.database, {"work": succeed}, listeners=everything(told)) as worker:
        await claim_all(worker, store)
    assert told == [("succeeded", 1)]


async def test_an_outcome_that_does_not_count_is_not_told(store: Store) -> None:
    """Another worker has taken the run over."""
    told: Told = []
    run = await store.run()

    async def work(context: Run) -> None:
        await store.value("update sexton.runs set claim = claim + 1 where id = $1 returning claim", run)

    async with working(store.database, {"work": work}, listeners=everything(told)) as worker:
        await claim_all(worker, store)
    assert told == []


async def test_a_success_in_the_handlers_transaction_is_told(store: Store) -> None:
    told: list[Any] = []

    async def work(run: Run) -> None:
        async with run.transaction({"rows": 3}) as connection:
            await connection.execute("select")

    await store.run()
    listeners: audience.Listeners = {"succeeded": [lambda event: told.append(event.result)]}
    async with working(store.database, {"work": work}, listeners=listeners) as worker:
        await claim_all(worker, store)
    assert told == [{"rows": 3}]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), asyncio.CancelledError()])
async def test_a_listener_that_raises_is_logged_and_harms_nothing(
    store: Store, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    told: Told = []

    async def broken(event: RunEvent) -> None:
        raise error

    def broken_too(event: RunEvent) -> None:
        raise error

    listeners = {**everything(told)}
    listeners["succeeded"] = [broken, broken_too, *listeners["succeeded"]]
    runs = [await store.run() for _ in range(2)]
    async with working(store.database, {"work": succeed}, listeners=listeners) as worker:
        await claim_all(worker, store)
    assert told == [("succeeded", 1)] * 2
    assert await store.statuses() == dict.fromkeys(runs, "success")
    assert caplog.text.count("the listener broken failed at succeeded of") == 2
    assert caplog.text.count("the listener broken_too failed at succeeded of") == 2
    assert type(error).__name__ in caplog.text


async def test_one_that_never_returns_delays_itself_alone_and_is_left_behind(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audience, "STOP_SECONDS", 0.01)
    monkeypatch.setattr(audience, "LONGEST_LINE", 2)
    both = asyncio.Event()
    told: Told = []

    async def stuck(event: RunEvent) -> None:
        await asyncio.Event().wait()

    async def quick(event: RunEvent) -> None:
        told.append((event.name, event.attempt))
        if len(told) == 5:
            both.set()

    for _ in range(5):
        await store.run()
    listeners: audience.Listeners = {"succeeded": [stuck, quick]}
    async with working(store.database, {"work": succeed}, listeners=listeners) as worker:
        for _ in range(5):
            await claim(worker, [await store.lane()], 1)
            await settled(worker)
        await both.wait()
    assert len(told) == 5
    assert "the listener stuck is too slow" in caplog.text
    assert "they missed 2 events" in caplog.text


async def test_without_a_listener_nothing_is_kept(store: Store) -> None:
    await store.run()
    async with working(store.database, {"work": succeed}) as worker:
        await worker.joined()
        batch = worker.state.batch
        assert batch is not None
        await claim_all(worker, store)
        assert batch.heard == {}
