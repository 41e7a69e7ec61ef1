"""What every elector must do. A backend's test file says how to make one, and inherits the rest.

Nodes are real but for their process: each runs its leadership on a database of the test's own, and reaches
its elector through a proxy of its own. `vanish` is what is left of a killed process, `stand_still` of a
stopped one.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio

from sexton import clock
from sexton.engine.cluster.electors.base import Elector, View
from sexton.engine.cluster.leadership import wanted
from sexton.engine.cluster.reshard import reshard
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.engine.cluster.electors.proxy import Proxy
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of
from tests.waiting import until

SHARDS = 16
FAST = {"lease_seconds": 1.0, "renew_seconds": 0.2}
SHARDS_IN_USE = """select id, epoch, holder from sexton.shards
where id < (select value::int from sexton.settings where name = 'shards') order by id"""
# Renewed many times before it ends, however busy the machine is.
STEADY = {"lease_seconds": 15.0, "renew_seconds": 0.2}
# Nothing ends by itself while the test runs.
SLOW = {"lease_seconds": 3600.0, "renew_seconds": 0.2}


class Node(Stage):
    """A scheduler whose leadership can run by itself."""

    def __init__(self, database: Database, proxy: Proxy, elector: Elector | None, **settings: float) -> None:
        super().__init__(database, elector=elector, **settings)
        self.proxy = proxy
        self.elector = self.leadership._guard._elector

    @property
    def led(self) -> dict[int, int]:
        return self.leadership.led

    def start(self) -> Node:
        self.leadership.start()
        return self

    async def stand_still(self) -> None:
        """As a process that is stopped: connections stay, nothing moves."""
        task = self.leadership._task
        assert task is not None
        while not task.done():  # before Python 3.12, wait_for may lose a cancellation
            task.cancel()
            await asyncio.wait([task], timeout=0.1)
        self.leadership._task = None

    async def vanish(self) -> None:
        """As a process that was killed: what it held is not released."""
        await self.proxy.cut()
        await self.stand_still()

    async def stop(self) -> None:
        """Cleanly, if it still runs; what is left of it otherwise."""
        if self.leadership._task is not None:
            await self.leadership.stop()
        await self.scheduler.teardown()
        await self.leadership.teardown()


class Cluster:
    """Makes nodes and knows their database. What a test leaves behind is ended after it."""

    def __init__(self, database: Database, suite: ElectorSuite, stack: AsyncExitStack) -> None:
        self.database = database
        self._suite = suite
        self._stack = stack
        self.nodes: list[Node] = []

    async def node(self, **settings: float) -> Node:
        settings = settings or FAST
        proxy = Proxy(self._suite.target(self.database))
        await proxy.start()
        self._stack.push_async_callback(proxy.stop)
        seen = await self._suite.database(self.database, proxy.port, self._stack)
        node = Node(seen, proxy, self._suite.elector(seen, proxy.port, settings["lease_seconds"]), **settings)
        self.nodes.append(node)
        self._stack.push_async_callback(node.stop)
        return node

    async def running(self, count: int, **settings: float) -> list[Node]:
        """So many nodes, started one after the other, that lead everything."""
        nodes = [(await self.node(**settings)).start() for _ in range(count)]
        await self.settled(*nodes)
        return nodes

    async def settled(self, *nodes: Node) -> None:
        """Until these lead everything, each what it should for good, and PostgreSQL agrees."""

        async def agreed() -> bool:
            rows = await fetch(self.database, SHARDS_IN_USE)
            if not all(node.leadership.trusted() for node in nodes):
                return False
            ids = [
                node.leadership.membership.node
                for node in nodes
                if node.leadership.membership.node is not None
            ]
            led = [
                (shard, epoch, node.leadership.membership.node)
                for node in nodes
                for shard, epoch in node.led.items()
            ]
            # Who has not heard of a new one yet will still hand over to it.
            due = [
                (shard, each)
                for each in ids
                for shard in wanted(each, [other for other in ids if other != each], len(rows))
            ]
            placed = sorted(due) == [(row["id"], row["holder"]) for row in rows]
            return placed and sorted(led) == [tuple(row) for row in rows]

        try:
            await until(agreed)
        except TimeoutError:
            led = {node.leadership.membership.node: (node.leadership.trusted(), node.led) for node in nodes}
            rows = await fetch(self.database, SHARDS_IN_USE)
            pytest.fail(f"not settled: {led}\nin PostgreSQL: {[tuple(row) for row in rows]}")

    async def epochs(self) -> dict[int, int]:
        return {row["id"]: row["epoch"] for row in await fetch(self.database, SHARDS_IN_USE)}

    async def detail(self, node: Node) -> dict[str, object]:
        [row] = await fetch(
            self.database,
            """select detail ->> 'elector' as elector, (detail ->> 'elector_ok')::boolean as ok,
            detail ->> 'elector_error' as error from sexton.nodes where id = $1""",
            node.leadership.membership.node,
        )
        return dict(row)


class ElectorSuite(ABC):
    """Inherit as Test…, and say how a node comes by its elector."""

    # Whether the elector can be down though PostgreSQL is not.
    external = True

    @abstractmethod
    def target(self, database: Database) -> tuple[str, int] | str:
        """What the proxy of a node stands in front of."""

    @abstractmethod
    def elector(self, database: Database, port: int, lease_seconds: float) -> Elector:
        """An elector that goes through the proxy at this port."""

    async def database(self, database: Database, port: int, stack: AsyncExitStack) -> Database:
        """What a node uses as its database."""
        return database

    @pytest_asyncio.fixture
    async def cluster(self, own_database_url: str) -> AsyncIterator[Cluster]:
        database = await Database.open(own_database_url, size=10)
        await reshard(Context(database), SHARDS)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(database.close)
            yield Cluster(database, self, stack)

    async def test_every_shard_has_one_holder(self, cluster: Cluster) -> None:
        first, second, third = await cluster.running(3, **STEADY)
        assert sum(len(node.led) for node in (first, second, third)) == SHARDS

    async def test_no_other_node_can_hold_what_is_held(self, cluster: Cluster) -> None:
        [holder] = await cluster.running(1, **SLOW)
        await holder.stand_still()  # it would hand over what the other should lead
        rival = await cluster.node(**SLOW)
        await rival.leadership.setup()
        view = await view_of(rival)
        assert await rival.elector.renew(view) == set()
        assert await rival.elector.acquire(view.epochs, view) == set()
        await rival.elector.release(view.epochs)  # of another node: changes nothing
        await rival.leadership._take(view, set(), set(view.epochs))
        assert rival.led == {}
        assert await holder.elector.renew(await view_of(holder)) == set(range(SHARDS))
        await rival.leadership.teardown()

    async def test_renewal_keeps_what_is_held(self, cluster: Cluster) -> None:
        nodes = await cluster.running(2, **STEADY)
        before = [dict(node.led) for node in nodes]
        later = max(node.leadership.membership.lease.trusted_until for node in nodes) + 1
        await until(lambda: all(node.leadership.membership.lease.trusted_until > later for node in nodes))
        assert [node.led for node in nodes] == before
        assert all(node.leadership.trusted() and node.leadership.fenced == 0 for node in nodes)

    async def test_who_vanishes_is_replaced(self, cluster: Cluster) -> None:
        gone = (await cluster.node()).start()
        rest = [(await cluster.node(**SLOW)).start() for _ in range(2)]
        await cluster.settled(gone, *rest)
        epochs, kept = await cluster.epochs(), {shard for node in rest for shard in node.led}
        await gone.vanish()
        await cluster.settled(*rest)
        after = await cluster.epochs()
        assert {shard for shard, epoch in epochs.items() if after[shard] > epoch} == epochs.keys() - kept

    async def test_a_clean_stop_hands_everything_over_at_once(self, cluster: Cluster) -> None:
        first, second = await cluster.running(2, **SLOW)
        await first.stop()
        await cluster.settled(second)
        assert not first.leadership.trusted()

    async def test_a_join_and_a_leave_move_only_what_they_must(self, cluster: Cluster) -> None:
        nodes = await cluster.running(2, **SLOW)
        before, epochs = [set(node.led) for node in nodes], await cluster.epochs()
        third = (await cluster.node(**SLOW)).start()
        await cluster.settled(*nodes, third)
        moved = set(third.led)
        assert [set(node.led) for node in nodes] == [shards - moved for shards in before]
        assert {shard for shard, epoch in (await cluster.epochs()).items() if epoch > epochs[shard]} == moved
        await third.stop()
        await cluster.settled(*nodes)
        assert [set(node.led) for node in nodes] == before

    async def test_who_is_cut_off_stops_and_is_replaced_and_comes_back(self, cluster: Cluster) -> None:
        first, second = await cluster.running(2)
        lost = dict(first.led)
        first.proxy.pause()
        await until(lambda: not first.leadership.trusted())
        await cluster.settled(second)
        first.proxy.restore()
        await cluster.settled(first, second)
        epochs = await cluster.epochs()
        assert all(epochs[shard] > epoch for shard, epoch in lost.items())

    async def test_when_it_is_down_no_node_leads_until_it_is_back(self, cluster: Cluster) -> None:
        nodes = await cluster.running(2)
        epochs = await cluster.epochs()
        for node in nodes:
            await node.proxy.cut()
        await until(lambda: not any(node.leadership.trusted() for node in nodes))
        if self.external:
            await until(lambda: not any(node.leadership.elector_health.ok for node in nodes))

            async def told() -> bool:
                return [(await cluster.detail(node))["ok"] for node in nodes] == [False, False]

            await until(told)
            assert (await cluster.detail(nodes[0]))["error"]
        for node in nodes:
            node.proxy.restore()
        await cluster.settled(*nodes)
        assert all(node.leadership.elector_health.ok for node in nodes)
        assert all(epoch >= epochs[shard] for shard, epoch in (await cluster.epochs()).items())

    async def test_epochs_only_grow_from_holder_to_holder(self, cluster: Cluster) -> None:
        [stays] = await cluster.running(1, **SLOW)
        seen = [await cluster.epochs()]
        for _ in range(2):
            other = (await cluster.node()).start()
            await cluster.settled(stays, other)
            await other.vanish()
            await cluster.settled(stays)
            seen.append(await cluster.epochs())
        for before, after in pairwise(seen):
            grown = [after[shard] - epoch for shard, epoch in before.items()]
            assert min(grown) >= 0
            assert max(grown) >= 2  # taken, and taken back

    async def test_who_was_stopped_fires_nothing_after_a_takeover(self, cluster: Cluster) -> None:
        [stopped] = await cluster.running(1)
        job = await add_job(cluster.database)
        await move_timer(cluster.database, job, hour_before(await now(cluster.database), -1))
        await stopped.round()
        await stopped.stand_still()
        other = (await cluster.node()).start()
        await cluster.settled(other)
        await move_timer(cluster.database, job, hour_before(await now(cluster.database)))
        # It goes on where it was stopped: its lease is over by its own clock.
        assert not stopped.leadership.trusted()
        await stopped.round()
        assert await runs_of(cluster.database, job) == []
        # And even if it thought otherwise, it would be refused.
        stopped.leadership.membership.lease.trusted_until = stopped.elector.trusted_until = math.inf
        stopped.scheduler._horizon.epochs.clear()
        for _ in range(3):
            await stopped.round()
        assert stopped.scheduler.fired == stopped.scheduler.caught_up.jobs == 0
        assert stopped.leadership.fenced > 0
        assert await runs_of(cluster.database, job) == []

    async def test_a_leader_stopped_in_a_firing_is_replaced(self, cluster: Cluster) -> None:
        [stopped] = await cluster.running(1)
        await stopped.scheduler._connect()
        connection = stopped.scheduler._connection
        assert connection is not None
        firing = connection.transaction()
        await firing.start()
        await connection.execute("select from sexton.shards for share")
        told = stopped.leadership.backend_pids

        async def known() -> bool:
            [[pids]] = await fetch(cluster.database, "select backend_pids from sexton.nodes")
            return set(told) <= set(pids)

        await until(known)
        await stopped.stand_still()
        await cluster.settled((await cluster.node()).start())
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connection.execute("select 1")

    async def test_a_draining_node_hands_over_and_takes_nothing(self, cluster: Cluster) -> None:
        first, second = await cluster.running(2, **SLOW)
        await execute(
            cluster.database,
            "update sexton.nodes set state = 'draining' where id = $1",
            first.leadership.membership.node,
        )
        await cluster.settled(second)
        await second.stop()
        beats = clock.monotonic()
        await until(lambda: (first.leadership.last_tick or 0) > beats)
        assert first.leadership.membership.draining
        assert first.led == {}
        await execute(cluster.database, "update sexton.nodes set state = 'live'")
        await cluster.settled(first)

    async def test_the_number_of_shards_may_change(self, cluster: Cluster) -> None:
        nodes = await cluster.running(2, **SLOW)
        for shards in (40, 24, 32):
            await reshard(Context(cluster.database), shards)
            await cluster.settled(*nodes)


async def view_of(node: Node) -> View:
    """What a beat tells a node now."""
    row = await node.database.fetchrow(
        "cluster/beat",
        node=node.leadership.membership.node,
        lease_seconds=3600,
        running=0,
        backend_pids=[],
        detail="{}",
    )
    assert row is not None
    return node.leadership._view(row)


def socket_of(database: Database) -> str:
    """The socket of the private PostgreSQL."""
    where = parse_qs(urlsplit(database.url).query)
    return f"{where['host'][0]}/.s.PGSQL.{where.get('port', ['5432'])[0]}"


def through(database: Database, port: int) -> str:
    """The address of a database through a proxy."""
    parts = urlsplit(database.url)
    return f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}?sslmode=disable"


def host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port
