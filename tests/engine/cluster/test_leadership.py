"""Who leads what: by leases on the database's clock, with epochs that never go back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sexton import clock
from sexton.engine.cluster.electors.advisory import AdvisoryElector
from sexton.engine.cluster.leadership import wanted
from sexton.engine.cluster.status import get_cluster
from sexton.errors import Unavailable
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.scheduling import Stage, execute, fetch
from tests.waiting import until


async def test_the_first_node_takes_everything(database: Database) -> None:
    stage = await Stage(database).lead()
    [[shards]] = await fetch(database, "select count(*) from sexton.shards")
    assert len(stage.leadership.led) == shards
    assert set(stage.leadership.led.values()) == {1}
    assert stage.leadership.trusted()


async def test_a_second_node_gets_its_share_and_only_that_moves(database: Database) -> None:
    first = await Stage(database).lead()
    second = await Stage(database).lead()
    assert second.leadership.led == {}  # nothing is free yet
    await first.leadership.tick()  # sees the other one and hands its share over
    await second.leadership.tick()
    mine, others = set(first.leadership.led), set(second.leadership.led)
    assert mine & others == set()
    assert len(mine | others) == 4
    assert {first.leadership.led[shard] for shard in mine} <= {1}
    assert {second.leadership.led[shard] for shard in others} <= {2}


async def test_a_dead_nodes_shards_are_taken_with_new_epochs(database: Database) -> None:
    first, second = await Stage(database).lead(), await Stage(database).lead()
    await execute(
        database,
        "update sexton.nodes set lease_until = now() - interval '1 second' where id = $1",
        first.leadership.membership.node,
    )
    await second.leadership.tick()
    assert set(second.leadership.led.values()) == {2}
    # The first one comes back: it finds that it was replaced, and fires nothing under its old epochs.
    await first.leadership.tick()
    assert 1 not in first.leadership.led.values()
    assert (first.leadership.shards_lost, first.leadership.fenced) == (4, 0)


async def test_no_node_takes_what_a_live_node_holds(database: Database) -> None:
    await Stage(database).lead()
    assert await take(database, epoch=1, final=False) is None


async def test_a_takeover_from_an_old_view_fails(database: Database) -> None:
    stage = await Stage(database).lead()
    await execute(database, "update sexton.nodes set lease_until = now() - interval '1 second'")
    assert await take(database, epoch=0, final=False) is None
    assert await take(database, epoch=stage.leadership.led[0], final=False) is not None


async def test_a_node_that_was_declared_dead_joins_under_a_new_identity(database: Database) -> None:
    stage = await Stage(database).lead()
    before = stage.leadership.membership.node
    await execute(database, "update sexton.nodes set state = 'dead'")
    await stage.leadership.tick()
    assert stage.leadership.membership.node != before
    assert stage.leadership.led == {}
    await stage.leadership.tick()
    assert set(stage.leadership.led.values()) == {2}


async def test_a_clean_stop_hands_everything_over_at_once(database: Database) -> None:
    first, second = await Stage(database).lead(), await Stage(database).lead()
    await first.leadership.teardown()
    assert not first.leadership.trusted()
    await second.leadership.tick()
    assert set(second.leadership.led.values()) == {2}
    [[nodes]] = await fetch(database, "select count(*) from sexton.nodes")
    assert nodes == 1


def test_rendezvous_moves_only_what_it_must() -> None:
    nodes = [3, 7, 11, 19]
    before = {node: wanted(node, [other for other in nodes if other != node], 64) for node in nodes}
    assert sorted(shard for shards in before.values() for shard in shards) == list(range(64))
    left = [3, 7, 11]
    after = {node: wanted(node, [other for other in left if other != node], 64) for node in left}
    for node in left:
        assert before[node] <= after[node]
    assert sorted(shard for shards in after.values() for shard in shards) == list(range(64))
    assert min(len(shards) for shards in before.values()) > 4


async def test_a_node_that_cannot_reach_its_elector_is_to_lead_nothing(database: Database) -> None:
    first, second = await Stage(database).lead(), await Stage(database).lead()
    await execute(
        database,
        """update sexton.nodes set detail = '{"elector": "redis", "elector_ok": false}' where id = $1""",
        second.leadership.membership.node,
    )
    await first.leadership.tick()
    assert len(first.leadership.led) == 4


# Nodes that live, but cannot fire.


async def two(database: Database) -> tuple[Stage, Stage]:
    """Two that share the shards."""
    first, second = await Stage(database).lead(), await Stage(database).lead()
    await first.leadership.tick()
    await second.leadership.tick()
    return first, second


def be_unable(stage: Stage, seconds: float) -> None:
    """It could not fire for so long, and still cannot."""
    stage.leadership.firing.failed()
    stage.leadership.firing._failing_since = clock.monotonic() - seconds
    stage.leadership.firing.able = False


async def test_a_node_that_cannot_fire_hands_over_to_one_that_can(database: Database) -> None:
    first, second = await two(database)
    await second.round()
    await second.leadership.tick()
    be_unable(first, seconds=60)
    await first.leadership.tick()
    assert first.leadership.led == {}
    assert not first.scheduler.healthy()
    await second.leadership.tick()
    assert len(second.leadership.led) == 4
    assert first.leadership.trusted()  # it lives
    shown = {node.node_id: node.fires for node in (await get_cluster(Context(database))).nodes}
    assert shown == {
        encode_id("n", first.membership.node or 0): False,
        encode_id("n", second.membership.node or 0): True,
    }


async def test_without_one_that_has_shown_that_it_can_the_shards_stay(database: Database) -> None:
    first, second = await two(database)
    await second.round()
    await second.leadership.tick()
    before = dict(first.leadership.led), dict(second.leadership.led)
    be_unable(first, seconds=-60)  # since after the other one has fired
    for stage in (first, second, first):
        await stage.leadership.tick()
    assert (first.leadership.led, second.leadership.led) == before


async def test_a_node_that_cannot_fire_takes_nothing_until_it_can(database: Database) -> None:
    stage = await Stage(database).lead()
    be_unable(stage, seconds=60)
    await execute(database, "update sexton.shards set holder = null")
    await stage.leadership.tick()
    assert stage.leadership.led == {}
    await stage.round()
    await stage.leadership.tick()
    await stage.leadership.tick()
    assert len(stage.leadership.led) == 4


async def test_one_that_can_again_keeps_what_it_has_though_it_is_not_believed_yet(database: Database) -> None:
    first, second = await two(database)
    await second.round()
    await second.leadership.tick()
    be_unable(first, seconds=60)
    await first.round()
    await first.leadership.tick()
    assert not first.leadership.firing.able
    assert len(first.leadership.led) + len(second.leadership.led) == 4


async def test_a_round_whose_answer_does_not_come_is_ended_and_its_session_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = await Stage(database).lead()
    await stage.round()
    connection, silent = stage.scheduler._connection, asyncio.Event()
    assert connection is not None
    pid = connection.get_server_pid()

    async def no_answer(*_: object, **__: object) -> None:
        silent.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(stage.scheduler, "_prove", no_answer)
    waiting = asyncio.create_task(stage.round())
    await silent.wait()
    stage.leadership.firing.patience = 0.0
    await stage.leadership.tick()
    with pytest.raises(Unavailable):
        await waiting
    assert connection.is_closed()
    await until(lambda: is_gone(database, pid))


async def is_gone(database: Database, pid: int) -> bool:
    return not await fetch(database, "select from pg_stat_activity where pid = $1", pid)


async def test_a_session_works_unless_it_waits_for_its_client(database: Database) -> None:
    session = await database.connect("sexton scheduler", timeout=10, command_timeout=60)
    pid = session.get_server_pid()

    async def works() -> bool:
        return bool(await database.fetchval("cluster/is_working", backend_pids=[pid]))

    assert not await works()
    async with database.transaction() as other:
        await other.execute("lock table sexton.timers")
        slow = asyncio.create_task(session.execute("select from sexton.timers"))
        await until(works)
    await slow
    await until(lambda: idle(works))
    await database.execute("cluster/end_own_backends", backend_pids=[pid])
    await until(lambda: is_gone(database, pid))
    assert not await works()
    session.terminate()


async def idle(works: Callable[[], Awaitable[bool]]) -> bool:
    return not await works()


async def test_nodes_with_different_electors_are_warned_of(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    first = await Stage(database).lead()
    await Stage(database, elector=AdvisoryElector(database, lease_seconds=4)).lead()
    for _ in range(2):
        await first.leadership.tick()
    warning = "other nodes use the elector advisory, this one uses postgres: set the same on all"
    assert caplog.messages.count(warning) == 1


async def test_the_word_of_another_elector_is_enough(database: Database) -> None:
    await Stage(database).lead()
    assert await take(database, epoch=1, final=True) == 2


async def take(database: Database, *, epoch: int, final: bool) -> int | None:
    """Another node tries to take the first shard."""
    taken: int | None = await database.fetchval(
        "cluster/take_shard", shard=0, node=12345, epoch=epoch, final=final
    )
    return taken
