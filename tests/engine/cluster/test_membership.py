"""A process among the nodes: the same for a scheduler, a worker and an api."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from sexton.engine.cluster.application import Application
from sexton.engine.cluster.draining import drain
from sexton.engine.cluster.membership import Membership
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.scheduling import execute, fetch

SHOP = Application("shop", "/srv/shop.py", given=True)


def member(role: str = "worker", **facts: Any) -> Membership:
    return Membership(roles=[role], lease_seconds=15, **facts)


async def row_of(database: Database, node: int | None) -> asyncpg.Record:
    [row] = await fetch(
        database, "select *, lease_until - heartbeat_at as lease from sexton.nodes where id = $1", node
    )
    return row


async def test_it_joins_with_what_it_is(database: Database) -> None:
    one = member(app=SHOP, handlers=["mail"], targets=["http"], queues=["slow"], capacity=7)
    assert not one.trusted()
    assert await one.join(database, detail={"lag_ms": 3}) == one.node
    assert one.trusted()
    row = await row_of(database, one.node)
    assert (row["name"], row["roles"], row["state"]) == (one.name, ["worker"], "live")
    assert (row["app"], row["app_file"]) == ("shop", "/srv/shop.py")
    assert (row["handlers"], row["targets"]) == (["mail"], ["http"])
    assert (row["queues"], row["capacity"]) == (["slow"], 7)
    assert '"lag_ms": 3' in row["detail"]
    assert '"skew_ms"' in row["detail"]
    assert one.time.known


@pytest.mark.parametrize("statement", ["cluster/renew", "cluster/beat"])
async def test_it_notices_that_the_database_has_gone_back_in_time(
    database: Database, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A failover has lost a beat that was acknowledged: ids of runs and jobs may have been lost as well."""
    rewinds: list[None] = []
    one = member("scheduler", on_rewind=lambda: rewinds.append(None))
    await one.join(database)
    for _ in range(2):
        await one.renew(database, statement)
    [before] = await fetch(
        database, "select nextval('sexton.run_ids') as run, nextval('sexton.job_ids') as job"
    )
    await one.renew(database, statement)
    assert rewinds == []
    await execute(database, "update sexton.nodes set heartbeat_at = heartbeat_at - interval '3 s'")
    await one.renew(database, statement)
    await one.renew(database, statement)
    assert len(rewinds) == 1
    assert "has gone back in time" in caplog.text
    async with database.connection() as connection:
        await connection.execute("discard sequences")
        after = await connection.fetchrow(
            database.sql("select nextval('sexton.run_ids') as run, nextval('sexton.job_ids') as job")
        )
    assert after is not None
    assert all(after[name] > before[name] + 900_000 for name in ("run", "job"))


async def test_a_renewal_records_how_it_is(database: Database) -> None:
    one = member()
    await one.join(database)
    await execute(database, "update sexton.nodes set lease_until = now(), heartbeat_at = now()")
    answer = await one.renew(database, running=5, backend_pids=[17], detail={"lag_ms": 3})
    assert answer is not None
    assert (answer["state"], answer["cancelled"]) == ("live", [])
    row = await row_of(database, one.node)
    assert 14.9 < row["lease"].total_seconds() < 15.1
    assert (row["running"], row["backend_pids"]) == (5, [17])
    assert '"lag_ms": 3' in row["detail"]


@pytest.mark.parametrize("fate", ["update sexton.nodes set state = 'dead'", "delete from sexton.nodes"])
async def test_one_that_was_declared_dead_takes_a_new_identity(
    database: Database, fate: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = member()
    old = await one.join(database)
    await execute(database, fate)
    assert await one.renew(database) is None
    assert one.node is None
    assert not one.trusted()
    assert "was declared dead; it takes a new identity" in caplog.text
    assert await one.join(database) != old
    assert one.trusted()
    assert not one.steady(1)


async def test_it_learns_that_it_drains_and_stays_so_when_it_joins_again(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    one = member()
    await one.join(database)
    await drain(Context(database), one.name)
    for _ in range(2):
        await one.renew(database)
    assert one.draining
    assert caplog.text.count("draining: this node hands its shards over") == 1
    await execute(database, "update sexton.nodes set state = 'dead'")
    await one.renew(database)
    await one.join(database)
    assert (await row_of(database, one.node))["state"] == "draining"
    await drain(Context(database), one.name, undo=True)
    await one.renew(database)
    assert not one.draining


async def test_before_it_leaves_it_drains(database: Database) -> None:
    one = member()
    await one.drain(database)  # it has not joined
    node = await one.join(database)
    await one.drain(database)
    assert (await row_of(database, node))["state"] == "draining"


async def test_a_worker_that_leaves_is_shown_as_stopped_and_its_runs_are_looked_for(
    database: Database,
) -> None:
    one = member("worker")
    node = await one.join(database)
    await one.leave(database)
    assert one.node is None
    assert not one.trusted()
    row = await row_of(database, node)
    assert (row["state"], row["running"]) == ("dead", 1)
    assert '"stopped": true' in row["detail"]
    await one.leave(database)  # it has left


@pytest.mark.parametrize("role", ["scheduler", "api"])
async def test_nothing_remains_of_another_node_that_leaves(database: Database, role: str) -> None:
    one, other = member(role), member(role)
    for each in (one, other):
        await each.join(database)
    await one.leave(database)
    assert [row["id"] for row in await fetch(database, "select id from sexton.nodes")] == [other.node]
