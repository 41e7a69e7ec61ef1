"""Faults under a load of content, as `scenarios`: importing this adds them. Nothing is lost, doubled, early,
or out of order for an entity, in PostgreSQL and at a site."""

from __future__ import annotations

import signal

from tests.faults.content_load import content_load
from tests.faults.harness import Cluster
from tests.faults.scenarios import scenario

STEPS = ("step.begun", "step.acted", "step.noted")


@scenario("content: `kill -9` of a worker at every step of an action, and at random", schedulers=1, workers=1)
async def content_worker_killed(cluster: Cluster) -> None:
    async with content_load(cluster) as load:
        for passage in range(1, cluster.scale.rounds + 1):
            await cluster.mark()
            doomed = [await cluster.start("worker", crash_at=f"{point}:{passage}") for point in STEPS]
            await load.until_gone(doomed)
            for member in doomed:
                assert await cluster.gone(member) == -signal.SIGKILL, cluster.said()
            await load.wave()
            await cluster.pass_seconds(2 + 3 * cluster.random.random())
            await cluster.random.choice(cluster.living("worker")).kill()
            await cluster.start("worker")


@scenario("content: `kill -9` of a leader")
async def content_leader_killed(cluster: Cluster) -> None:
    async with content_load(cluster) as load:
        for _ in range(cluster.scale.rounds):
            await load.wave()
            await cluster.pass_seconds(2 + 3 * cluster.random.random())
            leader = await cluster.leader()
            await cluster.mark()
            await leader.kill()
            await cluster.leads(await cluster.start("api,scheduler"))
            await load.ended()


@scenario("content: PostgreSQL restarted", schedulers=1)
async def content_postgres_restarted(cluster: Cluster) -> None:
    async with content_load(cluster) as load:
        for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)[-cluster.scale.rounds :]:
            await load.wave()
            await cluster.pass_seconds(2 + 3 * cluster.random.random())
            await cluster.mark()
            await cluster.server.restart(how)
            await load.ended()
