"""What comes into a queue and leaves it: counted once, whether it has ended or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import throughput
from sexton.runs.activity import count_recorded
from sexton.runs.throughput import MINUTES, Throughput, read_throughput
from sexton.runs.trigger import run_now
from tests.seeding import Store

ENDED = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at)
values ($1, $2, $3, $4, 'success', 'schedule', 1, $4, $1)
"""
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def make(database: Database, name: str, queue: str = "default") -> int:
    made = await create(Context(database), read_spec({"name": name, "schedule": "@yearly", "queue": queue}))
    number = decode_id("j", made.job_id)
    assert number is not None
    return number


async def minute_of(store: Store) -> datetime:
    at: datetime = await store.value("select date_trunc('minute', clock_timestamp())")
    return at


async def test_ended_and_live_runs_are_counted_by_the_queue_of_their_job(store: Store) -> None:
    database = store.database
    mail, other = await make(database, "mail", "mail"), await make(database, "other")
    at = await minute_of(store) - 10 * MINUTE
    for run in range(3):
        await store.execute(ENDED, at + MINUTE, run, mail, at)
    await store.execute(ENDED, at, 9, other, at)
    skipped = "insert into sexton.history (recorded_at, job_id, scheduled_at, status) values ($1, $2, $1, $3)"
    await store.execute(skipped, at, mail, "skipped")
    for name in ("mail", "mail"):
        await run_now(Context(database), name)

    async def check() -> None:
        found = await read_throughput(Context(database))
        hour, place = found.hour("mail"), int((at - found.since) / MINUTE)
        assert (sum(hour.fired), sum(hour.ended)) == (5, 3)
        assert (hour.fired[place], hour.ended[place], hour.ended[place + 1]) == (3, 0, 3)
        assert (sum(found.hour("default").fired), sum(found.hour("default").ended)) == (1, 1)
        assert sum(found.hour("nowhere").fired) == 0
        assert not found.cut

    await check()
    while not (await count_recorded(Context(database), timedelta(days=1)))[1]:
        pass
    assert await store.value("select sum(ended) from sexton.queue_activity") == 4
    await check()
    only = await read_throughput(Context(database), "mail")
    assert (sum(only.hour("mail").fired), sum(only.hour("default").fired)) == (5, 0)
    assert sum((await read_throughput(Context(database, "elsewhere"))).hour("mail").fired) == 0


async def test_a_backlog_costs_the_reader_so_many_rows_and_no_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(store.database, "mail", "mail")
    for _ in range(3):
        await run_now(Context(store.database), "mail")
    monkeypatch.setattr(throughput, "MOST_LIVE", 2)
    found = await read_throughput(Context(store.database))
    assert (sum(found.hour("mail").fired), found.cut) == (2, True)


async def test_what_is_hours_old_is_not_kept(store: Store) -> None:
    job = await make(store.database, "mail", "mail")
    now = await minute_of(store)
    await store.execute(ENDED, now - 10 * MINUTE, 1, job, now - timedelta(hours=5))
    while not (await count_recorded(Context(store.database), timedelta(days=1)))[1]:
        pass
    rows = await store.fetch("select fired, ended from sexton.queue_activity")
    assert [tuple(row) for row in rows] == [(0, 1)]
    await count_recorded(Context(store.database, now=now + timedelta(hours=4)), timedelta(days=1))
    assert await store.value("select count(*) from sexton.queue_activity") == 0


def test_a_rate_is_that_of_a_minute_at_least() -> None:
    at = datetime(2026, 6, 1, 12, 0, 30, tzinfo=UTC)
    found = Throughput(at, at.replace(second=0) - (MINUTES - 1) * MINUTE)
    found.add("mail", at.replace(second=0), 9, 0)
    found.add("mail", at.replace(second=0) - MINUTE, 0, 45)
    found.add("mail", at.replace(second=0) - 2 * MINUTE, 1000, 1000)
    found.add("mail", at - timedelta(hours=2), 1000, 1000)
    assert found.rates("mail") == (0.1, 0.5)
    assert found.rates("none") == (0.0, 0.0)
