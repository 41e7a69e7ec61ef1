"""When a worker claims, how much, and what it runs alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sexton import clock
from sexton.engine.worker.claimer import (
    GIVE_WAY_SECONDS,
    SPREAD_SECONDS,
    SUSPECTS_SECONDS,
    UNKNOWN_SECONDS,
    rotated,
)
from sexton.engine.worker.isolation import PAUSE_SECONDS, Isolation, Origin
from sexton.engine.worker.outcome_writer import APART_COMPANY
from sexton.engine.worker.queue import RunQueue
from sexton.errors import Unavailable
from sexton.targets.face import Run
from tests.seeding import (
    NOW,
    QUIET,
    Store,
    settled,
    working,
)


async def succeed(run: Run) -> None:
    """Returns nothing."""


async def test_a_worker_whose_claims_get_no_answer_is_not_healthy(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    async with working(store.database, {"work": succeed}, worker_lease_seconds=15) as worker:
        worker.claimer.last_tick = clock.monotonic()
        pass_time(5)
        assert worker.claimer.healthy()
        pass_time(20)
        assert not worker.claimer.healthy()


async def test_a_suspect_waits_until_it_can_run_alone(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    """Other work ends first, nothing is claimed beside it, and afterwards everything goes on."""
    first = await store.run()
    order: list[int] = []
    running, go = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        assert run._attempt.company == 0 or worker.state.in_hand == 1
        order.append(run._attempt.id)
        if run._attempt.id in (first, suspect):
            running.set()
            await go.wait()

    suspect = 0
    async with working(store.database, {"work": work}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await running.wait()
        suspect, later = await store.run(company=1), await store.run()
        pass_time(SUSPECTS_SECONDS)
        await worker.claimer.tick()
        assert worker.state.in_hand == 1
        assert (await store.live(later))["state"] == "pending"
        running.clear()
        go.set()
        await settled(worker)
        go.clear()
        await worker.claimer.tick()
        await running.wait()
        await worker.claimer.tick()
        assert [run.id for run in worker.state.running.values()] == [suspect]
        go.set()
        await settled(worker)
        await worker.claimer.tick()
        await settled(worker)
    assert order == [first, suspect, later]
    assert await store.statuses() == dict.fromkeys(order, "success")


async def test_a_worker_does_not_wait_forever_to_be_alone(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    long = await store.run()
    running = asyncio.Event()

    async def work(run: Run) -> None:
        if run._attempt.id == long:
            running.set()
            await asyncio.Event().wait()

    async with working(store.database, {"work": work}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await running.wait()
        await store.run(company=1)
        other = await store.run()
        pass_time(SUSPECTS_SECONDS)
        await worker.claimer.tick()
        assert (await store.live(other))["state"] == "pending"
        pass_time(GIVE_WAY_SECONDS)
        await worker.claimer.tick()
        while other not in await store.statuses():
            worker.outcome_writer.wake()
            await worker.queue.suspects([])
    assert (await store.statuses()) == {other: "success"}


class Asked(Isolation):
    """Counts how often a process was wanted, and starts none. `lacking` are handlers that it cannot load."""

    def __init__(self, store: Store, *lacking: str) -> None:
        super().__init__(store.database, QUIET, [], Origin())
        self._lacking = frozenset(lacking)
        self.times = 0

    def wanted(self) -> None:
        self.times += 1


async def test_a_suspect_is_left_to_a_process_of_its_own(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    """The worker goes on as if it were not there."""
    suspect, other, isolation = await store.run(company=1), await store.run(), Asked(store)
    async with working(store.database, {"work": succeed}, isolation=isolation) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await settled(worker)
        assert isolation.times == 1
        await worker.claimer.tick()
        assert isolation.times == 1
        pass_time(SUSPECTS_SECONDS)
        await worker.claimer.tick()
        assert isolation.times == 2
    assert await store.statuses() == {other: "success"}
    assert (await store.live(suspect))["claim"] == 0


async def test_a_suspect_that_cannot_be_loaded_elsewhere_runs_alone_here(store: Store) -> None:
    suspect, isolation = await store.run(company=4), Asked(store, "work")
    async with working(store.database, {"work": succeed}, isolation=isolation) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await settled(worker)
    assert await store.statuses() == {suspect: "success"}
    assert isolation.times == 0


async def test_a_suspect_does_not_run_beside_outcomes_that_are_not_recorded(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    """They would be lost with the process, and their runs run again."""
    first = await store.run()
    async with working(store.database, {"work": succeed}) as worker:
        await worker.joined()
        await worker.outcome_writer.stop()
        await worker.claimer.tick()
        await worker.idle()
        assert worker.state.unwritten_outcomes == 1
        suspect = await store.run(company=1)
        pass_time(SUSPECTS_SECONDS)
        await worker.claimer.tick()
        assert (await store.live(suspect))["claim"] == 0
        await worker.outcome_writer.tick()
        await worker.claimer.tick()
        await worker.idle()
        await worker.outcome_writer.tick()
    assert await store.statuses() == dict.fromkeys((first, suspect), "success")


async def test_the_runs_of_a_job_that_has_ended_a_process_are_set_apart(store: Store) -> None:
    """Whatever they do, they do it elsewhere. The others are run."""
    guilty = await store.job()
    await store.run(guilty, company=1, crashes=1)
    run, other = await store.run(guilty), await store.run()
    async with working(store.database, {"work": succeed}, isolation=Asked(store)) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await settled(worker)
        live = await store.live(run)
        assert (live["state"], live["attempt"], live["company"]) == ("pending", 0, APART_COMPANY)
        assert "a run of its job has ended the process of a worker" in live["error"]
        assert await store.statuses() == {other: "success"}
        # It ran elsewhere, and did no harm: the next one is like any other.
        await store.execute("delete from sexton.runs where company > 0")
        await worker.claimer.look_for_suspects()
        later = await store.run(guilty)
        await worker.claimer.tick()
        await settled(worker)
    assert await store.statuses() == dict.fromkeys((other, later), "success")


async def test_workers_that_are_told_of_suspects_do_not_all_start_processes_at_once(
    store: Store, pass_time: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them know at once which jobs to leave alone."""
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    guilty, isolation = await store.job(), Asked(store)
    await store.lane()
    async with working(store.database, {"work": succeed}, isolation=isolation) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await store.run(guilty, company=1, crashes=1)
        worker.claimer._rung("suspects")
        await worker.claimer.tick()
        assert worker.state.suspicious == {guilty}
        assert isolation.times == 0
        pass_time(SPREAD_SECONDS)
        await worker.claimer.tick()
        assert isolation.times == 1


async def test_what_a_process_of_its_own_has_left_is_looked_for_at_once(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    isolation = Asked(store)
    await store.run(company=1)
    async with working(store.database, {"work": succeed}, isolation=isolation) as worker:
        await worker.joined()
        await worker.claimer.tick()
        isolation.on_end()
        pass_time(PAUSE_SECONDS)
        await worker.claimer.tick()
        assert isolation.times == 2


async def test_new_lanes_are_found_and_only_those_it_can_serve(store: Store) -> None:
    mine, http = await store.lane("work"), await store.lane(target="http")
    await store.lane("work", queue="elsewhere")
    await store.lane("unknown")
    async with working(store.database, {"work": succeed}, queues="default") as worker:
        await worker.joined()
        await worker.claimer.find_lanes()
        assert worker.state.lanes == [mine, http]
    async with working(store.database, {"work": succeed}, queues="*") as worker:
        await worker.joined()
        await worker.claimer.find_lanes()
        assert len(worker.state.lanes) == 3


async def test_what_the_runs_of_a_lane_need_is_imported_with_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the first run: by then, another release may be in the place of the files."""
    clients = [f"sexton.targets.message.brokers.{broker}" for broker in ("mqtt", "nats")]
    for client in clients:
        monkeypatch.delitem(sys.modules, client, raising=False)
    await store.value(
        "insert into sexton.lanes (queue, target, handler) values ('q', 'message', 'mqtt') returning id"
    )
    async with working(store.database, {}) as worker:
        await worker.joined()
        await worker.claimer.find_lanes()
        assert [client in sys.modules for client in clients] == [True, False]


def test_every_lane_gets_its_turn() -> None:
    orders = {tuple(rotated([1, 2, 3])) for _ in range(200)}
    assert orders == {(1, 2, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1), (1, 3, 2), (2, 1, 3)}


@pytest.mark.parametrize("alone", [False, True])
async def test_a_lost_claim_is_given_back_though_there_is_no_room(
    store: Store, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    """All slots are taken for hours: what a lost answer has claimed goes to another worker."""
    long, name = await store.run(), "claim_suspects" if alone else "claim"
    running = asyncio.Event()

    async def work(run: Run) -> None:
        running.set()
        await asyncio.Event().wait()

    async with working(store.database, {"work": work}, concurrency=1) as worker:
        claimer = worker.claimer
        await worker.joined()
        real = getattr(RunQueue, name)

        async def lose(queue: RunQueue, *arguments: Any, **named: Any) -> Any:
            await real(queue, *arguments, **named)
            raise Unavailable("database_unavailable", "the answer was lost")

        monkeypatch.setattr(RunQueue, name, lose)
        if alone:
            await store.execute("update sexton.runs set company = 1")
        with pytest.raises(Unavailable):
            await claimer.tick()
        assert (await store.live(long))["state"] == "running"
        monkeypatch.setattr(RunQueue, name, real)
        monkeypatch.setattr(claimer, "room", lambda: 0)
        await claimer.tick()
        live = await store.live(long)
        assert (live["state"], live["attempt"], live["node"]) == ("pending", 0, None)


async def test_what_is_held_unknowingly_is_looked_for_now_and_then(
    store: Store, pass_time: Callable[[float], None]
) -> None:
    async with working(store.database, {"work": succeed}) as worker:
        node, claimer = await worker.joined(), worker.claimer
        held = await store.run(state="running", node=node, claim=1, attempt=1)
        await claimer.tick()
        assert (await store.live(held))["state"] == "running"
        pass_time(UNKNOWN_SECONDS)
        await claimer.tick()
        await settled(worker)
    assert await store.statuses() == {held: "success"}


async def test_a_worker_that_stops_after_a_lost_claim_gives_it_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, real = await store.run(), RunQueue.claim

    async def lose(queue: RunQueue, *arguments: Any, **named: Any) -> Any:
        await real(queue, *arguments, **named)
        raise Unavailable("database_unavailable", "the answer was lost")

    monkeypatch.setattr(RunQueue, "claim", lose)
    async with working(store.database, {"work": succeed}) as worker:
        await worker.joined()
        with pytest.raises(Unavailable):
            await worker.claimer.tick()
        assert (await store.live(run))["state"] == "running"
        await worker.claimer.teardown()
        live = await store.live(run)
        assert (live["state"], live["crashes"], live["node"]) == ("pending", 0, None)


async def test_one_run_that_cannot_be_read_does_not_take_the_others_with_it(store: Store) -> None:
    strange = await store.run(await store.job(max_retries="as many as it takes"))
    fine = await store.run()
    async with working(store.database, {"work": succeed}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        await settled(worker)
        live = await store.live(strange)
        assert (live["state"], live["attempt"]) == ("pending", 0)
        assert live["available_at"] > NOW
    assert await store.statuses() == {fine: "success"}
