"""What is announced, what is not, and that a firing never waits for it."""

from __future__ import annotations

from datetime import timedelta

import pytest_asyncio

from sexton.config import Settings
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.doorbells.ringer import MOST_WAITING, Ringer
from sexton.engine.telemetry import Telemetry
from sexton.engine.worker.queue import CLAIM_DEFAULTS
from sexton.engine.worker.receiver import read_notice
from sexton.postgres.database import BY_KEY, Database, array_text
from tests.engine.doorbells.memory import Memory, MemoryBroker
from tests.engine.doorbells.suite import count
from tests.postgres.test_statements import fill, read
from tests.seeding import NOW, Store


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


def ringer_of(store: Store, memory: Memory, **settings: float) -> Ringer:
    broker = BrokerConnection(store.database, lambda cluster: MemoryBroker(memory, cluster))
    changed = Settings(**{"poll_seconds": 1e-6, "sweep_seconds": 1e-6, **settings})  # type: ignore[arg-type]
    return Ringer(store.database, changed, broker, Telemetry(), sweeping=lambda: True)


def announced(memory: Memory) -> list[int]:
    """The runs in the memory, which then is empty."""
    runs = [run for place in memory.lanes.values() for body in place for run in read_notice(body).runs]
    memory.lanes.clear()
    return sorted(runs)


async def test_a_firing_does_not_wait_and_what_does_not_fit_is_counted(store: Store) -> None:
    ringer = ringer_of(store, Memory())
    for _ in range(MOST_WAITING + 3):
        ringer.fired(array_text([1]), array_text([1]), [NOW], 7)
    assert count(ringer._telemetry.rings_dropped) == 3 * 7


async def test_limited_and_paused_queues_are_not_announced(store: Store) -> None:
    lanes = {name: await store.lane(queue=name) for name in ("free", "limited", "paused")}
    await store.execute("insert into sexton.queues (name, concurrency) values ('limited', 1)")
    await store.execute("insert into sexton.queues (name, paused_at) values ('paused', now())")
    now = await store.value("select now()")
    past = now - timedelta(seconds=20)
    times = {"available_at": past, "scheduled_at": past, "due_at": past}
    jobs, runs = {}, {}
    for name, lane in lanes.items():
        jobs[name] = await store.job()
        runs[name] = await store.run(jobs[name], lane=lane, **times)
    memory = Memory()
    ringer = ringer_of(store, memory, sweep_seconds=10)
    ringer.fired(array_text(list(jobs.values())), array_text([1, 1, 1]), [past], 3)
    await ringer.tick()
    assert set(announced(memory)) == {runs["free"]}


async def test_a_long_wait_is_announced_ever_more_rarely(store: Store) -> None:
    """By the age of a run: at 10, 20, 40, 80 seconds, and not in between."""
    now = await store.value("select clock_timestamp()")
    ages = (1, 11, 15, 21, 30, 41, 60, 81)
    runs = {age: await store.run(available_at=now - timedelta(seconds=age)) for age in ages}
    rows = await store.database.fetch(
        "claiming/find_unanswered",
        since=now - timedelta(seconds=5),
        ages=[10.0 * 2**turn for turn in range(5)],
        limit=100,
    )
    [row] = rows
    assert set(row["runs"]) == {runs[age] for age in (11, 21, 41, 81)}


async def test_what_is_claimed_by_id_is_found_by_its_key(store: Store) -> None:
    """However much waits."""
    lane = await fill(store, analyze_first=False)
    node = await store.node()
    some = [row["id"] for row in await store.fetch("select id from sexton.runs order by random() limit 50")]
    ways = await read(
        store.database,
        "claiming/claim_by_id",
        BY_KEY,
        node=node,
        lanes=[lane],
        runs=array_text(some),
        now=NOW,
        **CLAIM_DEFAULTS,
    )
    assert set(ways) <= {"runs_pkey", "Tid Scan", "runs_slot"}
    assert sum(ways.values()) <= 3 * len(some)


async def test_what_was_fired_is_found_by_its_job_and_time(store: Store) -> None:
    await fill(store, analyze_first=False)
    jobs = list(range(1, 101))
    ways = await read(
        store.database,
        "claiming/find_fired",
        BY_KEY,
        jobs=array_text(jobs),
        groups=array_text([1] * len(jobs)),
        times=[NOW],
    )
    assert set(ways) == {"runs_job"}
    assert sum(ways.values()) <= 2 * len(jobs)
