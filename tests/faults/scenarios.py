"""What is done to a cluster under load, a few lines each. Before and after it every job runs some times; then
the checker looks at all of it. The same scenarios run short in `make test` and long in `make chaos`."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sexton.engine import crash
from sexton.postgres.migrate import Migration, migrations
from sexton.postgres.statement import load
from tests.faults.checker import Report
from tests.faults.fork_server import ForkServer
from tests.faults.harness import Cluster, Scale
from tests.faults.harness import cluster as another
from tests.faults.member import Member
from tests.faults.proxy import Kind
from tests.faults.servers import ReplicatedServer, Server

FIRE, FIRE_SPECIAL, CLAIM, FINISH = (
    load(name).text for name in ("firing/fire", "firing/fire_special", "claiming/claim", "recording/finish")
)
FIRING = (FIRE, FIRE_SPECIAL)
Fault = Callable[[Cluster], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    fault: str
    inject: Fault
    schedulers: int
    workers: int
    settings: dict[str, Any]  # of the workers
    hosts: int  # of a primary and its replica that addresses name; 0: a server without a replica


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    fault: str, *, schedulers: int = 2, workers: int = 2, hosts: int = 0, **settings: Any
) -> Callable[[Fault], Fault]:
    def register(inject: Fault) -> Fault:
        SCENARIOS[inject.__name__] = Scenario(fault, inject, schedulers, workers, settings, hosts)
        return inject

    return register


async def play(name: str, server: Server, fork_server: ForkServer, scale: Scale) -> tuple[Report, Cluster]:
    """Start a cluster, let it run, inject the fault, let it run, and check."""
    chosen = SCENARIOS[name]
    async with replicated(server, chosen.hosts) as server, another(server, fork_server, scale) as made:
        await begin(made, chosen)
        await made.turn()
        await made.mark()
        await chosen.inject(made)
        await made.turn()
        report = await made.settled()
        if report.findings:
            raise AssertionError(f"{chosen.fault}: {report}\n{made.said()}")
        return report, made


@asynccontextmanager
async def replicated(server: Server, hosts: int) -> AsyncIterator[Server]:
    """A server with a replica, if the scenario wants one."""
    if not hosts:
        yield server
        return
    with tempfile.TemporaryDirectory(prefix="pair-", ignore_cleanup_errors=True) as data:
        pair = ReplicatedServer(Path(data), hosts)
        try:
            await pair.start()
            yield pair
        finally:
            await pair.stop()


async def begin(made: Cluster, chosen: Scenario) -> None:
    """The nodes of a scenario, and its jobs."""
    for _ in range(chosen.schedulers):
        await made.start("api,scheduler")
    for _ in range(chosen.workers):
        await made.start("worker", **chosen.settings)
    await made.add_jobs()


# Processes that die.


@scenario("`kill -9` at every crash point", schedulers=1, workers=1)
async def crash_points(cluster: Cluster) -> None:
    for passage in range(1, cluster.scale.rounds + 1):
        await cluster.mark()
        doomed = [
            await cluster.start(
                "scheduler" if point.startswith("fire") else "worker", crash_at=f"{point}:{passage}"
            )
            for point in crash.POINTS
            if not point.startswith("step.")  # the jobs of this cluster have no such target
        ]
        for member in doomed:
            assert await cluster.gone(member) == -signal.SIGKILL, cluster.said()
        await cluster.mark()
        await cluster.recovered()


@scenario("`kill -9` of a leader whose firing is carried out but not committed")
async def killed_before_commit(cluster: Cluster) -> None:
    leader = await cluster.leader()
    trap = leader.proxy.trap("hold_commit", *FIRING)
    await trap.wait()
    await leader.kill()
    trap.release()
    await cluster.taken_over(leader)
    await cluster.start("scheduler")


@scenario("`kill -9` of a leader")
async def leader_killed(cluster: Cluster) -> None:
    for _ in range(cluster.scale.rounds):
        leader = await cluster.leader()
        shards = (await cluster.leaders())[leader]
        await cluster.mark()
        await leader.kill()
        await cluster.leads(await cluster.start("api,scheduler"))
        await cluster.turn(1)
        await cluster.recovered()
        await cluster.measure_failover(shards)


@scenario("`kill -9` of a worker")
async def worker_killed(cluster: Cluster) -> None:
    for _ in range(cluster.scale.rounds):
        await cluster.mark()
        await cluster.random.choice(cluster.living("worker")).kill()
        await cluster.start("worker")
        await cluster.turn(1)
        await cluster.recovered()


@scenario("leaders flapping: one is killed every 3 s")
async def leaders_flapping(cluster: Cluster) -> None:
    for _ in range(2 + 4 * (cluster.scale.rounds - 1)):
        leader = await cluster.leader()
        await cluster.mark()
        await leader.kill()
        await cluster.start("scheduler")
        await cluster.pass_seconds(3)


@scenario("no scheduler at all for a while")
async def no_scheduler(cluster: Cluster) -> None:
    for scheduler in cluster.living("scheduler"):
        await scheduler.kill()
    await cluster.pass_seconds(3 * cluster.scale.lease)
    await cluster.mark()
    await cluster.start("scheduler")


# Processes that stop, and come back.


@scenario("SIGSTOP of a leader beyond its lease, then SIGCONT")
async def leader_frozen(cluster: Cluster) -> None:
    leader = await cluster.leader()
    leader.freeze()
    await cluster.taken_over(leader)
    await cluster.turn(1)
    leader.thaw()
    await fenced(cluster, leader)


@scenario("SIGSTOP of a leader in the middle of a firing transaction, then SIGCONT")
async def leader_frozen_in_transaction(cluster: Cluster) -> None:
    await freeze_firing(cluster, "hold_commit")


@scenario("a firing that arrives after another node has taken over")
async def late_firing(cluster: Cluster) -> None:
    await freeze_firing(cluster, "hold")


async def freeze_firing(cluster: Cluster, kind: Kind) -> None:
    """Stop a leader with a firing under way; what was held goes on after the takeover."""
    leader = await cluster.leader()
    trap = leader.proxy.trap(kind, *FIRING)
    await trap.wait()
    leader.freeze()
    await cluster.taken_over(leader)
    trap.release()
    await cluster.turn(1)
    leader.thaw()
    await fenced(cluster, leader)


async def fenced(cluster: Cluster, member: Member) -> None:
    """It says so, in log and metric, and leads again."""

    async def said() -> bool:
        return member.said("fenced") and await member.metric("sexton_shards_lost_total") > 0

    await cluster.until(said, f"{member} says that it was fenced")
    await cluster.leads(member)


@scenario("SIGSTOP of a worker beyond its lease, then SIGCONT")
async def worker_frozen(cluster: Cluster) -> None:
    worker = cluster.random.choice(cluster.living("worker"))
    await cluster.until(lambda: cluster.holds(worker), f"{worker} has runs in hand")
    worker.freeze()
    await cluster.until(lambda: cluster.declared_dead(worker), f"{worker} is declared dead")
    await cluster.turn(1)
    worker.thaw()

    async def noticed() -> bool:
        return worker.said("was declared dead; it takes a new identity")

    await cluster.until(noticed, f"{worker} notices")


# PostgreSQL restarts.


@scenario("PostgreSQL restarted (fast)")
async def postgres_fast(cluster: Cluster) -> None:
    await restart(cluster, signal.SIGINT)


@scenario("PostgreSQL restarted (immediate)")
async def postgres_immediate(cluster: Cluster) -> None:
    await restart(cluster, signal.SIGQUIT)


@scenario("`kill -9` of the postmaster")
async def postgres_killed(cluster: Cluster) -> None:
    await restart(cluster, signal.SIGKILL)


async def restart(cluster: Cluster, how: signal.Signals) -> None:
    for _ in range(min(2, cluster.scale.rounds)):
        await cluster.mark()
        await cluster.server.restart(how)
        await cluster.turn()


@scenario("a backend killed every second")
async def backends_killed(cluster: Cluster) -> None:
    for _ in range(3 * cluster.scale.rounds):
        await cluster.mark()
        await cluster.fetch(
            """select pg_terminate_backend(pid) from (
                select pid from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1
            ) as victim"""
        )
        await cluster.pass_seconds(1)


# The network.


@scenario("the network of a scheduler and a worker cut for longer than their leases")
async def network_cut(cluster: Cluster) -> None:
    cut = [await cluster.leader(), cluster.living("worker")[0]]
    for member in cut:
        await member.proxy.cut()
    await cluster.pass_seconds(cluster.scale.worker_lease * 1.5)
    for member in cut:
        member.proxy.restore()


@scenario("packets of a scheduler and a worker swallowed for longer than their leases")
async def network_swallows(cluster: Cluster) -> None:
    lost = [await cluster.leader(), cluster.living("worker")[0]]
    for member in lost:
        member.proxy.black_hole()
    await cluster.pass_seconds(cluster.scale.worker_lease * 1.5)
    for member in lost:
        member.proxy.restore()


@scenario("a slow network: 50 ms each way")
async def network_slow(cluster: Cluster) -> None:
    for member in cluster.members:
        member.proxy.delay(0.05)
    await cluster.turn()
    for member in cluster.members:
        member.proxy.restore()


@scenario("the answer to a firing, a claim, a finish and a COMMIT is lost")
async def answers_lost(cluster: Cluster) -> None:
    for _ in range(cluster.scale.rounds):
        leader, worker = await cluster.leader(), cluster.random.choice(cluster.living("worker"))
        for member, texts in (
            (leader, FIRING),
            (worker, (CLAIM,)),
            (worker, (FINISH,)),
            (worker, ("COMMIT",)),
        ):
            await member.proxy.trap("drop_answer", *texts).wait(cluster.scale.patience)
        await cluster.mark()
        await cluster.recovered()


@scenario("the database unreachable for all nodes for longer than every lease")
async def database_away(cluster: Cluster) -> None:
    """Live workers keep their runs, and no run is charged with a crash."""
    away = cluster.scale.worker_lease * 2
    long = await cluster.add_job("long", "every 2s", overlap="SKIP", payload=away + 2)
    await cluster.until_true(
        "select exists (select from sexton.runs where job_id = $1 and claim > 0)", long.id
    )
    run = await cluster.value("select id from sexton.runs where job_id = $1", long.id)
    for member in cluster.members:
        await member.proxy.cut()
    await cluster.pass_seconds(away)
    await cluster.mark()
    for member in cluster.members:
        member.proxy.restore()
    await cluster.until_true("select exists (select from sexton.history where run_id = $1)", run)
    [ended] = await cluster.fetch("select status, attempt, claim from sexton.history where run_id = $1", run)
    assert tuple(ended) == ("success", 1, 1)
    assert await cluster.value("select count(*) from sexton.attempts where outcome = 'crashed'") == 0


# Leaving in good order.


@scenario("SIGTERM of a leader")
async def leader_leaves(cluster: Cluster) -> None:
    for _ in range(cluster.scale.rounds):
        leader = await cluster.leader()
        await cluster.mark()
        assert await leader.terminate() == 0, cluster.said()
        await cluster.leads(await cluster.start("api,scheduler"))
        await cluster.turn(1)


@scenario("SIGTERM of a worker with runs in hand", queues="default")
async def worker_leaves(cluster: Cluster) -> None:
    """What does not end within its grace is given back, and no attempt is charged."""
    worker = await cluster.start("worker", queues="default,leaving", grace_seconds=0.5)
    long = await cluster.add_job("long", "every 1s", max_runs=1, payload=3, queue="leaving")
    await cluster.until_true(
        "select exists (select from sexton.runs where job_id = $1 and claim > 0)", long.id
    )
    await cluster.mark()
    assert await worker.terminate() == 0, cluster.said()
    assert await cluster.value("select attempt from sexton.runs where job_id = $1", long.id) == 0
    await cluster.start("worker", queues="leaving")
    await cluster.until_true("select exists (select from sexton.history where job_id = $1)", long.id)
    [ended] = await cluster.fetch("select status, attempt from sexton.history where job_id = $1", long.id)
    assert tuple(ended) == ("success", 1)
    assert await cluster.value("select count(*) from sexton.attempts where outcome = 'crashed'") == 0


# Handlers that misbehave.


@scenario("handlers that block, ignore cancellation or overrun their timeout", workers=1, queues="default")
async def bad_handlers(cluster: Cluster) -> None:
    """Their neighbour goes on, they are named in the log, and their slots are replaced: more of them never
    end than there are slots."""
    worker = await cluster.start("worker", queues="bad", concurrency=6)
    bad = {"queue": "bad", "max_retries": 0, "timeout_seconds": 1, "max_runs": 4}
    await cluster.add_job("neighbour", "every 1s", queue="bad")
    await cluster.add_job("stubborn", "every 1s", target={"handler": "stubborn"}, **bad)
    await cluster.add_job("overruns", "every 1s", target={"handler": "overrun"}, payload=60, **bad)
    await cluster.add_job(
        "blocks", "every 1s", target={"handler": "block"}, payload=3, queue="bad", max_runs=1
    )
    await cluster.until_true("select count(*) = 8 from sexton.dead where reason = 'exhausted'")
    for text in (
        "the handler of blocks",
        "of stubborn, attempt 1> was stopped (timeout) but still runs",
        "of overruns, attempt 1> was stopped, but its thread goes on",
    ):
        assert worker.said(text), cluster.said()
    assert await cluster.value("select count(*) from sexton.attempts where outcome = 'crashed'") == 0


# Migrations.


@scenario("`sexton migrate` killed at each of its statements", schedulers=1, workers=1)
async def migrate_killed(cluster: Cluster) -> None:
    """Nodes refuse what it leaves behind as not migrated, and the next one completes it."""
    steps = ("create schema", "create table if not exists", "create table sexton.jobs")
    shards = ("insert into sexton.settings", "insert into sexton.shards", "insert into sexton.migrations")
    async with another(cluster.server, cluster.fork_server, cluster.scale, migrated=False) as other:
        for statement in (*steps, *shards, "COMMIT"):
            command = await other.run("migrate")
            await command.proxy.trap("hold", statement).wait(other.scale.patience)
            await command.kill()
            await command.proxy.reset()
            node = await other.start("api,scheduler")
            assert await other.gone(node) == 1, other.said()
            assert node.said("the database is not migrated"), other.said()
        assert await other.gone(await other.run("migrate")) == 0, other.said()
        await begin(other, SCENARIOS["migrate_killed"])
        await other.turn(1)
        assert (await other.settled()).findings == {}, other.said()


@scenario("every node restarted after a newer version has migrated the database")
async def newer_tables(cluster: Cluster) -> None:
    newer = Migration(
        migrations()[-1].number + 1, "newer", "-- works from: 1\nalter table sexton.jobs add newer text"
    )
    await cluster.migrate([*migrations(), newer])
    for member in list(cluster.members):
        await member.kill()
        await cluster.start(member.roles)
        await cluster.mark()
        await cluster.turn(1)
