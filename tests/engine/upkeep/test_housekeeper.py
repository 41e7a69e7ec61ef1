"""Histories that namespaces keep for a shorter time than the cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest_asyncio

from sexton.config import Settings
from sexton.engine.upkeep.housekeeper import Housekeeper, shorten_histories
from sexton.postgres.database import Database
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import change_namespace, create_namespace
from sexton.security.quota_spec import QuotaChanges
from tests.seeding import Store

TODAY = datetime(2030, 5, 20, 12, tzinfo=UTC)
DAYS = 6


@pytest_asyncio.fixture
async def own(own_database_url: str) -> AsyncIterator[Store]:
    """A run a day of each of three jobs, in two namespaces, each with an attempt and a line in its log."""
    database = await Database.open(own_database_url, size=5)
    store = Store(database)
    for offset in range(DAYS):
        await make_partitions(database, now=TODAY - timedelta(days=offset), days=0)
    for namespace, count in (("a", 2), ("b", 1)):
        await create_namespace(Context(database), NamespaceSpec(name=namespace))
        for _ in range(count):
            job = await store.job(namespace=namespace)
            for offset in range(DAYS):
                at = TODAY - timedelta(days=offset)
                run = job * 100 + offset
                await store.execute(
                    """insert into sexton.history
                        (recorded_at, run_id, job_id, scheduled_at, status, fired_at)
                    values ($1, $2, $3, $1, 'success', $1::timestamptz - interval '1 hour')""",
                    at, run, job,
                )  # fmt: skip
                for table, columns, values in (
                    ("attempts", "attempt, outcome", "1, 'failed'"),
                    ("run_logs", "attempt, at, message", "1, $1, 'hello'"),
                ):
                    into = f"insert into sexton.{table} (recorded_at, run_id, {columns})"
                    await store.execute(f"{into} values ($1, $2, {values})", at, run)
    yield store
    await database.close()


async def kept(store: Store, table: str = "history") -> dict[str, list[int]]:
    """How many days ago each row of a namespace was recorded."""
    rows = await store.fetch(
        f"""select job.namespace, row.recorded_at from sexton.{table} as row
        join sexton.jobs as job on job.id = row.run_id / 100 order by row.recorded_at desc, row.run_id"""
    )
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["namespace"], []).append((TODAY - row["recorded_at"]).days)
    return found


async def keep_days(store: Store, days: int | None) -> None:
    await change_namespace(Context(store.database), "a", QuotaChanges(history_days=days))


async def test_a_namespace_keeps_its_history_for_as_long_as_its_quota(own: Store) -> None:
    await keep_days(own, 2)
    await Housekeeper(own.database, Settings(retention_days=90), now=lambda: TODAY).tick()
    for table in ("history", "attempts", "run_logs"):
        assert await kept(own, table) == {"a": [0, 0, 1, 1, 2, 2], "b": list(range(DAYS))}, table
    context = Context(own.database, now=TODAY)
    assert await shorten_histories(context, 90) == 0
    # A day later, one more day is over.
    context = Context(own.database, now=TODAY + timedelta(days=1))
    assert await shorten_histories(context, 90) == 2
    await keep_days(own, 1)
    assert await shorten_histories(context, 90) == 2
    assert (await kept(own))["a"] == [0, 0]


async def test_it_is_deleted_in_bounded_batches(own: Store) -> None:
    await keep_days(own, 1)
    context = Context(own.database, now=TODAY)
    rows = [await shorten_histories(context, 6, most=1) for _ in range(6)]
    assert sum(rows) == 8
    assert max(rows) <= 2
    assert await shorten_histories(context, 6) == 0
    assert (await kept(own))["a"] == [0, 0, 1, 1]


async def test_the_history_of_the_cluster_is_the_longest(own: Store) -> None:
    await keep_days(own, 400)
    assert await shorten_histories(Context(own.database, now=TODAY), 90) == 0
    await keep_days(own, None)
    assert await shorten_histories(Context(own.database, now=TODAY), 90) == 0
    assert len((await kept(own))["a"]) == 2 * DAYS
