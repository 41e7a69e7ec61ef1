"""Leaders that live and renew their lease, but cannot fire, as `scenarios`: importing this adds them."""

from __future__ import annotations

import resource

from tests.faults.harness import Cluster
from tests.faults.member import Member
from tests.faults.scenarios import scenario

# The connection on which a scheduler fires.
FIRING_CONNECTION = "sexton scheduler"


@scenario("a leader whose firings are swallowed, while its lease is renewed")
async def firings_swallowed(cluster: Cluster) -> None:
    for _ in range(min(2, cluster.scale.rounds)):
        leader = await cluster.leader()
        shards = (await cluster.leaders())[leader]
        await cluster.mark()
        leader.proxy.swallow(FIRING_CONNECTION)
        await gives_up(cluster, leader, shards)
        assert await leader.readiness() == 503, cluster.said()
        leader.proxy.restore()
        await leads_again(cluster, leader)


@scenario("a leader that loses the connection it fires on, and has no descriptor for another")
async def leader_without_descriptors(cluster: Cluster) -> None:
    for _ in range(min(2, cluster.scale.rounds)):
        leader = await cluster.leader()
        shards = (await cluster.leaders())[leader]
        await cluster.mark()
        # Descriptors that are open stay open, but no other one is given out.
        before = resource.prlimit(leader.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(leader.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        await leader.proxy.refuse(FIRING_CONNECTION)
        leader.proxy.restore()
        await gives_up(cluster, leader, shards)
        resource.prlimit(leader.process.pid, resource.RLIMIT_NOFILE, before)
        await leads_again(cluster, leader)


@scenario("no scheduler can fire for a while, while their leases are renewed")
async def no_firings_at_all(cluster: Cluster) -> None:
    """Once all of them know it, no one is there to give the shards to, so each node keeps its own. The first
    one to notice may still give its shards to the next."""
    epochs = "select array_agg(epoch order by id) from sexton.shards"
    schedulers = cluster.living("scheduler")
    for scheduler in schedulers:
        scheduler.proxy.swallow(FIRING_CONNECTION)
    await cluster.pass_seconds(3 * cluster.scale.lease)
    for scheduler in schedulers:
        assert await scheduler.readiness() == 503, cluster.said()
    kept = await cluster.value(epochs)
    await cluster.pass_seconds(cluster.scale.lease)
    assert await cluster.value(epochs) == kept, cluster.said()
    await cluster.mark()
    for scheduler in schedulers:
        scheduler.proxy.restore()
    await cluster.recovered()


async def gives_up(cluster: Cluster, leader: Member, shards: list[int]) -> None:
    """The others fire for it, though it lives and its lease is good."""
    await cluster.taken_over(leader)
    await cluster.turn(1)
    await cluster.recovered()
    await cluster.measure_failover(shards)
    assert leader.alive, cluster.said()
    assert await cluster.holds_lease(leader), cluster.said()


async def leads_again(cluster: Cluster, leader: Member) -> None:
    await cluster.leads(leader)
    await cluster.turn(1)

    async def ready() -> bool:
        return await leader.readiness() == 200

    await cluster.until(ready, f"{leader} is ready")
