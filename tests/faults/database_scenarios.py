"""Scenarios in which PostgreSQL answers, but not as it should: it is not the primary any more, cannot be
written to, or its tables are being altered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tests.faults.harness import Cluster
from tests.faults.scenarios import scenario
from tests.faults.servers import ReplicatedServer, socket_of

JOB = {"name": "refused", "schedule": "0 0 1 1 *", "target": {"handler": "work"}}


def pair_of(cluster: Cluster) -> ReplicatedServer:
    assert isinstance(cluster.server, ReplicatedServer)
    return cluster.server


@scenario("switchovers between two servers that the address names", hosts=2)
async def switchover(cluster: Cluster) -> None:
    """The primary is stopped in good order, its replica promoted, and the old primary comes back as the
    replica: every node finds the new one by itself. Twice, so that the first of the names leads again."""
    for _ in range(2):
        await pair_of(cluster).switch_over()
        await cluster.mark()
        await cluster.turn(1)
        await cluster.recovered()


@scenario("a switchover after which the only address leads to the old primary for a while", hosts=1)
async def switchover_behind_one_address(cluster: Cluster) -> None:
    """Nodes that reach the old primary, which is read-only by now, do not stay there."""
    await pair_of(cluster).switch_over()
    await refuses_to_write(cluster)
    await cluster.pass_seconds(3 * cluster.scale.lease)
    await cluster.mark()
    for member in cluster.members:
        member.proxy.socket_path = socket_of(pair_of(cluster).pair.primary)
    await cluster.turn(1)
    await cluster.recovered()


@scenario("a failover: the machine of the primary is gone, and its replica is promoted", hosts=2)
async def failover(cluster: Cluster) -> None:
    """Packets to the lost machine are swallowed, so that no client is told that it is gone."""
    await pair_of(cluster).replicate_synchronously()
    await cluster.turn(1)
    for member in cluster.members:
        member.proxy.black_hole()
    await pair_of(cluster).fail_over()
    await cluster.mark()
    await cluster.turn(1)
    await cluster.recovered()


@scenario("a failover that loses what the last seconds have committed", hosts=2, schedulers=1)
async def failover_losing_transactions(cluster: Cluster) -> None:
    """Ids of runs are given out again. No outcome of a run that was lost lands on another one, what was lost
    fires again, and the nodes notice."""
    pair = pair_of(cluster)
    await pair.cut_replica_off()
    known = await cluster.value(f"select max(id) from ({EVERY_RUN}) as run")
    await cluster.until_true(f"select count(*) filter (where id > $1) > 5 from ({EVERY_RUN}) as run", known)
    await cluster.turn()
    proxies = [proxy for member in cluster.members for proxy in member.proxies]
    for proxy in proxies:
        proxy.black_hole()
    await pair.fail_over()
    # Sessions take ids a thousand at a time, and the server skips more when it starts: as if they did not.
    await cluster.fetch("select setval('sexton.run_ids', $1)", known)
    await cluster.mark()
    cluster.rewound_at = cluster.marks[-1]
    for member in cluster.members:
        member.proxies[1].restore()
    await cluster.turn(1)
    await cluster.recovered()

    async def noticed() -> bool:
        scheduler = cluster.living("scheduler")[0]
        return scheduler.said("gone back in time") and await scheduler.metric(REWINDS) == 1

    await cluster.until(noticed, "the scheduler notices what was lost")


REWINDS = "sexton_database_rewinds_total"
EVERY_RUN = "select id from sexton.runs union all select run_id from sexton.history where run_id is not null"


@scenario("a transaction left open while jobs go on firing", schedulers=1, workers=1)
async def transaction_left_open(cluster: Cluster) -> None:
    """No version of a row that is older than it is can be removed. That makes firing no slower, and once it
    has ended, the table of timers grows no more."""
    size = "select pg_relation_size('sexton.timers')"
    async with another_transaction(cluster) as idle:
        await idle.execute("select pg_current_xact_id()")
        await cluster.pass_seconds(40 if cluster.scale.rounds > 1 else 3)
    await cluster.mark()
    await cluster.fetch("vacuum sexton.timers")
    grown = await cluster.value(size)
    await cluster.turn(2)
    assert await cluster.value(size) <= grown, cluster.said()
    await cluster.recovered()


@scenario("PostgreSQL read-only for a while, without a restart")
async def read_only(cluster: Cluster) -> None:
    await cluster.set_default("default_transaction_read_only", "on")
    await refuses_to_write(cluster)
    await cluster.pass_seconds(3 * cluster.scale.lease)
    await cluster.mark()
    await cluster.set_default("default_transaction_read_only", "off")
    await cluster.turn(1)
    await cluster.recovered()


@scenario("the disk of PostgreSQL full for a while")
async def disk_full(cluster: Cluster) -> None:
    """A trigger says what PostgreSQL says then."""
    tables = ("jobs", "timers", "runs", "history", "attempts")
    await cluster.fetch(
        """create function disk_full() returns trigger language plpgsql as $$
        begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end
        $$"""
    )
    for table in tables:
        await cluster.fetch(
            f"""create trigger disk_full before insert or update or delete on sexton.{table}
            execute function disk_full()"""
        )
    await refuses_to_write(cluster)
    await cluster.pass_seconds(3 * cluster.scale.lease)
    await cluster.mark()
    await cluster.fetch("drop function disk_full cascade")
    await cluster.turn(1)
    await cluster.recovered()


@scenario("tables altered: locked for a while, then not what statements were prepared for")
async def tables_altered(cluster: Cluster) -> None:
    for table in ("jobs", "timers", "runs"):
        async with another_transaction(cluster) as altering:
            await altering.execute(f"alter table sexton.{table} add column later text")
            await cluster.pass_seconds(2 * cluster.scale.lease)
            await cluster.mark()
        await cluster.turn(1)
    await cluster.recovered()
    api = cluster.living("api")[0]
    status, _ = await api.request("POST", "/api/v1/jobs", {**JOB, "name": "made"})
    assert status == 201, cluster.said()


@asynccontextmanager
async def another_transaction(cluster: Cluster) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """As that of a migration."""
    connection = await asyncpg.connect(cluster.server.database_url(cluster.name))
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


async def refuses_to_write(cluster: Cluster) -> None:
    """Every api answers 503 and says when to try again."""
    for api in cluster.living("api"):
        status, headers = await api.request("POST", "/api/v1/jobs", JOB)
        assert (status, headers.get("Retry-After")) == (503, "1"), f"{status}\n{cluster.said()}"
