"""Advisory locks as the elector."""

from __future__ import annotations

import asyncpg
import pytest

from sexton.config import Settings
from sexton.engine.cluster.electors.advisory import AdvisoryElector
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.errors import InvalidField
from sexton.postgres.database import Database
from tests.engine.cluster.electors.suite import (
    STEADY,
    Cluster,
    ElectorSuite,
    socket_of,
    through,
    view_of,
)
from tests.scheduling import fetch
from tests.servers.address import address
from tests.waiting import until


class TestAdvisory(ElectorSuite):
    def target(self, database: Database) -> str:
        return socket_of(database)

    def elector(self, database: Database, port: int, lease_seconds: float) -> AdvisoryElector:
        return AdvisoryElector(database, lease_seconds=lease_seconds, url=through(database, port))

    async def test_a_session_that_ends_takes_the_trust_with_it(self, cluster: Cluster) -> None:
        [node] = await cluster.running(1, **STEADY)
        await node.stand_still()
        [pid] = node.elector.backend_pids
        lost: list[bool] = []
        node.elector.on_lost = lambda: lost.append(node.leadership.trusted())
        await fetch(cluster.database, "select pg_terminate_backend($1, 5000)", pid)
        await until(lambda: lost)
        assert lost == [False]
        node.leadership.start()
        await cluster.settled(node)
        assert node.elector.backend_pids != [pid]

    async def test_the_session_of_a_stopped_holder_is_ended_when_its_lease_is_over(
        self, cluster: Cluster
    ) -> None:
        [stopped] = await cluster.running(1)
        await stopped.stand_still()
        [pid] = stopped.elector.backend_pids
        other = (await cluster.node()).start()
        await cluster.settled(other)
        sessions = await fetch(cluster.database, "select from pg_stat_activity where pid = $1", pid)
        assert sessions == []

    async def test_clusters_in_one_database_do_not_mind_each_other(self, cluster: Cluster) -> None:
        [node] = await cluster.running(1, **STEADY)
        other = AdvisoryElector(cluster.database, lease_seconds=60)
        await other.open("another")
        view = await view_of(node)
        assert await other.acquire(view.epochs, view) == set(view.epochs)
        await other.close()
        assert other.backend_pids == []


@pytest.mark.servers
async def test_it_is_refused_behind_a_pooler_of_transactions(database: Database) -> None:
    elector = AdvisoryElector(database, lease_seconds=4, url=address("SEXTON_TEST_PGBOUNCER_URL"))
    membership = Membership(roles=["scheduler"], lease_seconds=4)
    leadership = Leadership(database, Settings(), membership, elector=elector)
    with pytest.raises(InvalidField, match="PgBouncer in transaction mode") as refused:
        await leadership.open_elector()
    assert refused.value.field == "elector"
    assert "SEXTON_ELECTOR=postgres" in str(refused.value)


@pytest.mark.servers
async def test_the_pooler_of_the_tests_serves_statements() -> None:
    connection = await asyncpg.connect(address("SEXTON_TEST_PGBOUNCER_URL"), statement_cache_size=0)
    assert await connection.fetchval("select 1") == 1
    await connection.close()
