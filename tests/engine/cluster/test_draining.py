"""Draining: who is meant, what it gives up, and what it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from sexton.engine.cluster.draining import drain, meant
from sexton.errors import InvalidField, NotFound
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.view import NodeView
from tests.runs.rows import NOON
from tests.scheduling import Stage
from tests.seeding import NOW, Store, working
from tests.waiting import PATIENCE


async def succeed(run: object) -> None:
    pass


def node(number: int, name: str) -> NodeView:
    return NodeView(
        node_id=f"n_{number}",
        name=name,
        state="live",
        roles=["worker"],
        version="0",
        started_at=NOON,
        heartbeat_at=NOON,
        lease_until=NOON,
    )


NODES = [
    node(1, "web-1:100:aaaaaa"),
    node(2, "web-1:100:bbbbbb"),
    node(3, "web-1:101:cccccc"),
    node(4, "web-2:100:dddddd"),
    node(5, "web-10:7:eeeeee"),
]


@pytest.mark.parametrize(
    ("ref", "ids"),
    [
        ("n_2", ["n_2"]),
        ("web-1:100:aaaaaa", ["n_1", "n_2"]),
        ("web-1:100", ["n_1", "n_2"]),
        ("web-1:101", ["n_3"]),
        ("web-2", ["n_4"]),
        ("web-10", ["n_5"]),
        ("web-1", ["n_1", "n_2", "n_3"]),
        ("web-2:1", ["n_4"]),
    ],
)
def test_who_is_meant(ref: str, ids: list[str]) -> None:
    assert [each.node_id for each in meant(NODES, ref)] == ids


@pytest.mark.parametrize("ref", ["", "n_9", "db-1", "web-1:2"])
def test_no_node_is_meant(ref: str) -> None:
    with pytest.raises(NotFound) as refused:
        meant(NODES, ref)
    assert refused.value.code == "node_not_found"


def test_too_many_are_meant() -> None:
    with pytest.raises(InvalidField) as refused:
        meant(NODES, "web-1:10")
    assert refused.value.message == "web-1:10 could be web-1:100, web-1:101"


async def test_a_draining_scheduler_hands_its_shards_over_and_gets_them_back(database: Database) -> None:
    stages = [await Stage(database).lead(), await Stage(database).lead()]
    for stage in stages:
        await stage.leadership.tick()
    # Numbers of nodes have a random part, and with it their shares: one of the two may lead nothing.
    second, first = sorted(stages, key=lambda stage: len(stage.leadership.led))
    share = dict(first.leadership.led)
    assert share
    asked = await drain(Context(database), encode_id("n", first.leadership.membership.node or 0))
    assert [each.state for each in asked.nodes] == ["draining"]
    assert asked.warnings == []
    for stage in (first, second):
        await stage.leadership.tick()
    assert first.leadership.led == {}
    assert len(second.leadership.led) == 4
    assert (
        await drain(Context(database), encode_id("n", second.leadership.membership.node or 0))
    ).warnings == ["no other scheduler is live: nothing fires meanwhile"]
    for stage in (first, second):
        back = await drain(
            Context(database), encode_id("n", stage.leadership.membership.node or 0), undo=True
        )
        assert [each.state for each in back.nodes] == ["live"]
    for stage in (second, first, second):
        await stage.leadership.tick()
    assert first.leadership.led.keys() == share.keys()


async def test_a_draining_worker_finishes_what_it_has_and_takes_no_more(database: Database) -> None:
    store = Store(database)
    started, end = asyncio.Event(), asyncio.Event()

    async def slow(run: object) -> None:
        started.set()
        await end.wait()

    long = await store.run(handler="slow")
    handlers = {"slow": slow, "work": succeed}
    async with working(database, handlers, by_itself=True, poll_seconds=0.02) as worker:
        node = encode_id("n", await worker.joined())
        await asyncio.wait_for(started.wait(), 60)
        asked = await drain(Context(database), node)
        assert asked.nodes[0].state == "draining"
        other = await store.run(handler="work")
        assert await worker.queue.claim(await worker.joined(), worker.state.lanes, 10, now=NOW) == []
        await until(lambda: worker.membership.draining)  # it was told: the next beat is far off
        end.set()
        await until(lambda: not worker.state.in_hand and not worker.state.unwritten_outcomes)
        assert await store.statuses() == {long: "success"}
        assert (await store.live(other))["state"] == "pending"
        await drain(Context(database), node, undo=True)
        await until(lambda: not worker.membership.draining)
        async with asyncio.timeout(PATIENCE):
            while other not in await store.statuses():
                await asyncio.sleep(0.01)


async def test_a_worker_that_was_declared_dead_drains_on(database: Database) -> None:
    store = Store(database)
    async with working(database, {"work": succeed}) as worker:
        first = await worker.joined()
        await drain(Context(database), encode_id("n", first))
        worker.heartbeat.poke()
        await until(lambda: worker.membership.draining)
        await store.execute("update sexton.nodes set state = 'dead'")
        worker.heartbeat.poke()
        await until(lambda: worker.state.node not in (None, first))
        assert (
            await store.value("select state from sexton.nodes where id = $1", worker.state.node) == "draining"
        )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)  # what is waited for happens in another thread
