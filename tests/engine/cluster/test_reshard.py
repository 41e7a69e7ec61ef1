"""Another number of shards: nothing is lost or doubled while others fire and create."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.cluster import reshard as resharding
from sexton.engine.cluster.reshard import reshard
from sexton.engine.node import Node
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.errors import Conflict, InvalidField
from sexton.jobs.bulk import create_many
from sexton.jobs.spread import shard_of
from sexton.jobs.state import pause, resume
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of
from tests.waiting import PATIENCE

SECOND = timedelta(seconds=1)


@pytest_asyncio.fixture
async def own(own_database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(own_database_url, size=12)
    yield database
    await Stage.close_all()
    await database.close()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.05)  # what is waited for happens by itself


async def misplaced(database: Database) -> list[Any]:
    [[shards]] = await fetch(database, "select value::int from sexton.settings where name = 'shards'")
    rows = await fetch(database, "select job_id, shard from sexton.timers")
    assert rows
    return [row for row in rows if row["shard"] != shard_of(row["job_id"], shards)]


async def test_postgresql_works_out_the_same_shards(database: Database) -> None:
    ids = [1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1]
    ids += [random.getrandbits(random.randint(1, 63)) for _ in range(2000)]
    for shards in (1, 4, 64, 100, 4096):
        rows = await fetch(
            database, "select id, sexton.shard_of(id, $2) from unnest($1::bigint[]) as id", ids, shards
        )
        assert [tuple(row) for row in rows] == [(number, shard_of(number, shards)) for number in ids]


async def test_firing_goes_on_without_a_gap_while_it_grows_and_shrinks(own: Database) -> None:
    settings = Settings(lease_seconds=2, renew_seconds=0.2, sweep_seconds=0.5)
    nodes = [Node(settings, own, roles=["scheduler"]) for _ in range(2)]
    for node in nodes:
        await node.start()
    jobs = [await add_job(own, name=f"before-{number}", schedule="every 1s") for number in range(20)]
    stop = asyncio.Event()

    async def create() -> None:
        """One at a time and many at once, and others that change."""
        while not stop.is_set():
            number = len(jobs)
            jobs.append(await add_job(own, name=f"during-{number}", schedule="every 1s"))
            if number % 5 == 0:
                items = [
                    {"name": f"bulk-{number}-{each}", "schedule": "@yearly", "target": {"handler": "work"}}
                    for each in range(20)
                ]
                await create_many(Context(own), items)
                ref = encode_id("j", await add_job(own, name=f"changing-{number}", schedule="@yearly"))
                await pause(Context(own), ref)
                await resume(Context(own), ref)
            await asyncio.sleep(0.01)

    creating = asyncio.create_task(create())
    try:
        for shards in (16, 3, 5):
            done = await reshard(Context(own), shards)
            assert done.after == shards
            assert done.timers > 0
            assert await misplaced(own) == []
            count = len(jobs)
            await until(lambda count=count: _has_grown(jobs, count))  # type: ignore[misc]
        stop.set()
        await creating
        assert await misplaced(own) == []
        last = await now(own) + SECOND
        query = (
            "select count(*) from (select job_id from sexton.runs group by 1 having max(scheduled_at) > $1) f"
        )
        await until(lambda: _counted(own, query, last, at_least=len(jobs)))
    finally:
        stop.set()
        for node in nodes:
            await node.stop()
    for job in jobs:
        at = [row["scheduled_at"] for row in await runs_of(own, job)]
        assert at == [at[0] + number * SECOND for number in range(len(at))], encode_id("j", job)
    skipped = await fetch(own, "select * from sexton.history")
    assert skipped == []
    [[shards, least]] = await fetch(own, "select count(*), min(epoch) from sexton.shards")
    assert shards == 16  # never deleted
    assert least >= 1


async def _has_grown(jobs: list[int], count: int) -> bool:
    return len(jobs) > count + 5


async def _counted(database: Database, query: str, *arguments: Any, at_least: int) -> bool:
    [[count]] = await fetch(database, query, *arguments)
    return bool(count >= at_least)


async def test_a_leader_that_slept_through_it_cannot_fire(own: Database) -> None:
    job = await add_job(own)
    await move_timer(own, job, hour_before(await now(own)))
    stage = await Stage(own, lease_seconds=1, renew_seconds=0.5).lead()
    before = dict(stage.leadership.led)
    await reshard(Context(own), 8)  # waits until its lease is over
    stage.leadership.membership.lease.trusted_until += 1000  # it has not noticed that yet
    await stage.round()
    assert await runs_of(own, job) == []
    assert stage.leadership.fenced == 1
    await stage.leadership.tick()
    await stage.leadership.tick()
    assert stage.leadership.led.keys() == set(range(8))
    assert all(stage.leadership.led[shard] > epoch for shard, epoch in before.items())
    await stage.round()
    assert len(await runs_of(own, job)) == 1


async def test_leaders_give_their_shards_up_at_once(own: Database) -> None:
    stage = await Stage(own).lead()
    await execute(
        own, "insert into sexton.settings values ('resharding', to_jsonb(extract(epoch from now()) + 60))"
    )
    await stage.leadership.tick()
    assert stage.leadership.led == {}
    assert stage.leadership.fenced == 0
    await execute(own, "update sexton.settings set value = '1' where name = 'resharding'")  # it died
    await stage.leadership.tick()
    assert len(stage.leadership.led) == 4


async def test_the_backend_of_a_leader_stopped_in_a_firing_is_ended(
    own: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resharding, "LOCK_SECONDS", 0.1)
    await add_job(own)
    stage = await Stage(own).lead()
    await stage.scheduler._connect()
    await stage.leadership.tick()  # tells its backend
    stopped = stage.scheduler._connection
    assert stopped is not None
    await stopped.execute("begin")
    await stopped.execute("select from sexton.shards for share")
    await execute(own, "update sexton.nodes set lease_until = now() - interval '1 second'")
    told: list[str] = []
    assert (await reshard(Context(own), 2, progress=told.append)).after == 2
    assert any("its backend is ended" in line for line in told)


async def test_a_firing_that_stays_open_is_not_waited_for_forever(
    own: Database, own_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resharding, "LOCK_SECONDS", 0.01)
    monkeypatch.setattr(resharding, "LOCK_TRIES", 2)
    other = await asyncpg.connect(own_database_url)
    async with other.transaction():
        await other.execute("select from sexton.shards for share")
        with pytest.raises(Conflict) as refused:
            await reshard(Context(own), 2)
    await other.close()
    assert refused.value.code == "shards_busy"
    assert await fetch(own, "select from sexton.settings where name = 'resharding'") == []


async def test_what_breaks_off_changes_nothing(own: Database) -> None:
    await add_job(own)

    def fail(text: str) -> None:
        if "moved" in text:
            raise RuntimeError(text)

    with pytest.raises(RuntimeError):
        await reshard(Context(own), 2, progress=fail)
    assert await misplaced(own) == []
    names = await fetch(own, "select name, value from sexton.settings where name in ('shards', 'resharding')")
    assert [tuple(row) for row in names] == [("shards", "4")]
    [[epochs]] = await fetch(own, "select max(epoch) from sexton.shards")
    assert epochs == 0


KILLED = """
import asyncio, os, signal, sys
from sexton.engine.cluster.reshard import reshard
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context

url, point = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def progress(text):
    if point in text:
        die()

async def main():
    database = await Database.open(url)
    if point == "after":
        asyncio.gather = die  # the first thing that follows COMMIT
    await reshard(Context(database), 8, progress=progress)

asyncio.run(main())
"""


@pytest.mark.parametrize(("point", "shards"), [("give theirs up", 4), ("timers read", 4), ("after", 8)])
async def test_one_that_is_killed_can_be_run_again(own: Database, point: str, shards: int) -> None:
    """Whenever it was: nothing is fired twice or never, and no node has to wait for the pause to run out."""
    jobs = [await add_job(own, name=f"job-{number}") for number in range(8)]
    for job in jobs:
        await move_timer(own, job, hour_before(await now(own)))
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, own.url, point)
    assert await killed.wait() == -signal.SIGKILL
    [[number]] = await fetch(own, "select value::int from sexton.settings where name = 'shards'")
    assert number == shards
    assert await misplaced(own) == []
    await reshard(Context(own), 8)
    assert await misplaced(own) == []
    stage = await Stage(own).lead()
    assert len(stage.leadership.led) == 8
    await stage.round()
    assert [len(await runs_of(own, job)) for job in jobs] == [1] * 8


async def test_the_same_number_and_impossible_ones(own: Database) -> None:
    assert (await reshard(Context(own), 4)).moved == 0
    for shards in (0, -1, 4097):
        with pytest.raises(InvalidField):
            await reshard(Context(own), shards)


async def test_the_sweeper_mends_timers_without_a_leader(database: Database) -> None:
    job = await add_job(database)
    await execute(database, "update sexton.timers set shard = 77")
    sweeper = Sweeper(database, Settings(), Telemetry(), steady=lambda: False)
    await sweeper.sweep()
    [[shard]] = await fetch(database, "select shard from sexton.timers where job_id = $1", job)
    assert shard == shard_of(job, 4)
