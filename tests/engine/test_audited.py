"""What Sexton changes by itself is in the audit, with the node that did it; what it does all the time is not.

Catching up and replanning are tested with their own modules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest_asyncio

from sexton.config import Settings
from sexton.engine.cluster.egress import decide_egress
from sexton.engine.scheduler.set_aside import SetAside, forget_solved
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.engine.upkeep.sweeper import Sweeper
from sexton.jobs.state import pause
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context
from sexton.security.audit import record
from sexton.security.audit_chain import seal, verify
from tests.changes import entries
from tests.scheduling import Stage, add_job, hour_before, move_timer, now
from tests.seeding import NOW, Store, drained, working


@pytest_asyncio.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    yield Store(database)
    await Stage.close_all()


@pytest_asyncio.fixture
async def own(own_database_url: str) -> AsyncIterator[Store]:
    database = await Database.open(own_database_url)
    yield Store(database)
    await database.close()


async def only(store: Store, action: str) -> dict[str, Any]:
    """The one entry of this action, as Sexton itself wrote it."""
    [entry] = [each for each in await entries(store) if each["action"] == action]
    assert (entry["actor"], entry["face"]) == ("sexton", "sexton")
    for name in ("before", "after", "detail"):
        entry[name] = None if entry[name] is None else json.loads(entry[name])
    return entry


def sweeper(store: Store, at: datetime | None = None) -> Sweeper:
    return Sweeper(
        store.database, Settings(), Telemetry(), steady=lambda: True, node="me:1:a", now=lambda: at
    )


async def test_a_worker_that_is_declared_dead(store: Store) -> None:
    node = await store.node(lease_until=NOW - timedelta(seconds=1))
    await sweeper(store, NOW).sweep()
    entry = await only(store, "node.declared_dead")
    assert (entry["object_id"], entry["object_name"]) == (encode_id("n", node), "test:1:abc")
    assert (entry["before"], entry["after"], entry["address"]) == (
        {"state": "live"}, {"state": "dead"}, "me:1:a",
    )  # fmt: skip
    assert entry["namespace"] == "*"


async def test_a_takeover_from_a_leader_that_is_gone(store: Store) -> None:
    first = await Stage(store.database).lead()
    assert await entries(store) == [], "shards without a leader are taken, not taken over"
    await store.execute("update sexton.nodes set lease_until = now() - interval '1 s'")
    second = Stage(store.database)
    second.membership._facts["name"] = "other:1:b"
    await second.lead()
    found = [each for each in await entries(store) if each["action"] == "shard.taken_over"]
    assert [each["object_id"] for each in found] == ["0", "1", "2", "3"]
    assert (json.loads(found[0]["before"]), json.loads(found[0]["after"]), found[0]["address"]) == (
        {"leader": first.membership.name, "epoch": 1},
        {"leader": "other:1:b", "epoch": 2},
        "other:1:b",
    )


async def test_a_takeover_that_finds_another_epoch_changes_nothing(store: Store) -> None:
    await Stage(store.database).lead()
    taken = await store.database.fetchval("cluster/take_shard", shard=0, node=12345, epoch=7, final=True)
    assert taken is None
    assert await entries(store) == []


async def test_shards_that_are_handed_over(store: Store) -> None:
    stage = await Stage(store.database).lead()
    await stage.leadership.teardown()
    entry = await only(store, "shards.handed_over")
    assert (entry["detail"], entry["address"]) == ({"shards": [0, 1, 2, 3]}, stage.membership.name)


async def test_a_job_that_is_set_aside_and_planned_again(store: Store) -> None:
    job = await add_job(store.database)
    found = SetAside(store.database, "me:1:a")
    for _ in range(2):
        found.add(job, 1, "no such zone")
        await found.write()
    entry = await only(store, "job.set_aside")
    assert (entry["object_name"], entry["job_id"], entry["namespace"]) == ("job", job, "default")
    assert (entry["after"], entry["address"]) == ({"problem": "no such zone"}, "me:1:a")
    await forget_solved(Context(store.database))
    assert (await only(store, "job.planned_again"))["before"] == {"problem": "no such zone"}


async def test_a_pause_that_ends_by_itself(store: Store) -> None:
    await add_job(store.database)
    until = datetime.now(UTC) + timedelta(hours=1)
    await pause(Context(store.database), "job", until=until)
    await store.execute("update sexton.jobs set paused_until = now() - interval '1 s'")
    await sweeper(store).sweep()
    entry = await only(store, "job.resumed")
    assert (entry["reason"], entry["object_name"]) == ("its pause is over", "job")
    assert entry["before"]["status"] == "paused"
    assert entry["after"]["status"] == "active"


async def test_timers_in_a_shard_that_there_is_not(store: Store) -> None:
    await add_job(store.database)
    await store.execute("update sexton.timers set shard = 99")
    await sweeper(store).sweep()
    assert (await only(store, "timers.moved"))["detail"]["count"] == 1


async def test_what_retention_removes(own: Store) -> None:
    at = datetime(2031, 1, 15, 12, tzinfo=UTC)
    await make_partitions(own.database, now=at, days=0)
    await own.job(kind="once")
    await own.execute("update sexton.jobs set status = 'completed', completed_at = $1", at)
    await record(Context(own.database, now=at), "thing.old")
    await seal(Context(own.database))
    later = at + timedelta(days=500)
    await Housekeeper(own.database, Settings(), node="me:1:a", now=lambda: later).tick()
    found = await entries(own)
    dropped = {each["object_id"] for each in found if each["action"] == "partition.dropped"}
    assert {"history_20310115", "attempts_20310115", "run_logs_20310115"} <= dropped
    assert (await only(own, "jobs.removed"))["detail"] == {"deleted": 1, "removed": 0}
    assert (await only(own, "audit.removed"))["detail"] == {"keep_days": 365, "count": 1, "last": 1}
    assert {each["address"] for each in found} == {"me:1:a"}
    await seal(Context(own.database))
    assert (await verify(Context(own.database, now=later))).sound
    told = len(found)
    await Housekeeper(own.database, Settings(), now=lambda: later).tick()
    assert len(await entries(own)) == told, "there was nothing left to remove"


async def test_settings_that_a_process_decides(store: Store) -> None:
    for wish in ("refuse", "refuse", "allow"):
        await decide_egress(store.database, Settings(egress_private=wish), ["worker"])
    found = [(each["before"], each["after"]) for each in await entries(store)]
    assert [tuple(map(json.loads, pair)) for pair in found] == [
        ({"egress_private": None}, {"egress_private": "refuse"}),
        ({"egress_private": "refuse"}, {"egress_private": "allow"}),
    ]


async def test_firing_and_running_write_nothing(store: Store) -> None:
    """Nor do claims, retries, reports and the life of nodes: history tells of them."""
    stage = await Stage(store.database).lead()
    await stage.scheduler.setup()
    job = await add_job(store.database, target={"handler": "work"})
    await move_timer(store.database, job, hour_before(await now(store.database)))
    await store.execute(
        "update sexton.timers set due_at = clock_timestamp(), scheduled_at = clock_timestamp()"
    )
    told = len(await entries(store))
    await stage.round()
    assert stage.scheduler.fired == 1
    run = (await store.row("select id from sexton.runs"))["id"]

    async def work() -> None: ...

    async with working(store.database, {"work": work}) as worker:
        await drained(worker)
    assert (await store.history(run))["status"] == "success"
    assert len(await entries(store)) == told
