"""What handlers do to their worker, as `scenarios`: importing this adds them."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
from http.client import HTTPConnection

from tests.faults import handlers
from tests.faults.harness import Cluster
from tests.faults.member import Member
from tests.faults.scenarios import scenario
from tests.waiting import PATIENCE

# The connections on which a worker claims and records.
CLAIMING_CONNECTION = "sexton worker"


@scenario("handlers that raise what asyncio cannot carry", workers=1, queues="default")
async def odd_exceptions(cluster: Cluster) -> None:
    """Every one of them frees its slot at once, and is recorded with its cause; their neighbour goes on."""
    await cluster.start("worker", queues="odd", concurrency=6)
    ends = [
        (way, end)
        for way in ("raises", "raises_later", "raises_in_task", "raises_in_thread")
        for end in handlers.ENDS
    ]
    for way, end in ends:
        await cluster.add_job(
            f"{way} {end}", "every 1s", target={"handler": way}, payload=end,
            queue="odd", max_retries=0, timeout_seconds=3600, max_runs=2 * cluster.scale.rounds,
        )  # fmt: skip
    neighbour = await cluster.add_job("neighbour", "every 1s", queue="odd")
    expected = len(ends) * 2 * cluster.scale.rounds
    await cluster.until_true("select count(*) = $1 from sexton.dead where reason = 'exhausted'", expected)
    since = await cluster.now()
    await cluster.until_true(
        "select exists (select from sexton.history where job_id = $1 and started_at > $2)",
        neighbour.id,
        since,
    )
    for way, end in ends:
        said = await cluster.fetch(
            "select d.error from sexton.dead d join sexton.jobs j on j.id = d.job_id where j.name = $1",
            f"{way} {end}",
        )
        assert all(row["error"].startswith(handlers.ENDS[end][1]) for row in said), (way, end, said)
    assert await cluster.value("select count(*) from sexton.attempts where outcome <> 'failed'") == 0


@scenario("handlers that fork, and whose children do not end", workers=1, queues="default")
async def forks(cluster: Cluster) -> None:
    """A child that comes back to the worker's code is ended: it does nothing of what the worker does."""
    worker = await cluster.start("worker", queues="forks", concurrency=20)
    for number in range(20):
        await cluster.add_job(f"neighbour {number}", "every 1s", queue="forks", payload=0.2)
    last = []
    for target in ("forks", "forks_in_thread"):
        for way in handlers.WAYS:
            job = await cluster.add_job(
                f"{target} {way}", "every 1s", target={"handler": target}, payload=way,
                queue="forks", max_runs=2 * cluster.scale.rounds,
            )  # fmt: skip
            last.append(job.id)
    await cluster.until_true(
        "select count(*) = $2 from sexton.history where job_id = any ($1) and status = 'success'",
        last,
        len(last) * 2 * cluster.scale.rounds,
    )
    assert worker.said("a process that a handler has forked returned"), cluster.said()
    children = await asyncio.to_thread(subprocess.run, ["pgrep", "-P", str(worker.process.pid)], check=False)
    assert children.returncode == 1, "children are left"


@scenario("threads that never return, more than a worker can have", workers=1, queues="default")
async def hung_threads(cluster: Cluster) -> None:
    """The worker is not ready, takes no more runs, finishes those it has, and is replaced."""
    up = await cluster.run("up", "--workers", "1", "--roles", "worker", queues="hung", concurrency=5)
    await cluster.add_job("neighbour", "every 1s", queue="hung")
    slow = await cluster.add_job("slow", "every 2s", queue="hung", payload=2)
    ready = (
        "select id from sexton.nodes where queues = '{hung}' and state = 'live' and 'worker' = any (roles)"
    )
    await cluster.until_true(f"select exists ({ready})")
    first = await cluster.value(ready)
    await cluster.mark()
    hung = {"queue": "hung", "max_retries": 0, "timeout_seconds": 1, "max_runs": 25}
    for number in range(4):
        await cluster.add_job(
            f"overruns {number}", "every 1s", target={"handler": "overrun"}, payload=3600, **hung
        )

    async def not_ready() -> bool:
        return await up.readiness() == 503

    await cluster.until(not_ready, "the worker is not ready")
    await cluster.mark()
    await cluster.until_true(f"select exists ({ready} and id > $1)", first)
    await cluster.until_true(
        "select exists (select from sexton.history where job_id = $1 and node > $2)", slow.id, first
    )
    assert up.said("takes no more runs"), cluster.said()
    assert up.said("worker 1 has asked to be replaced"), cluster.said()
    assert await cluster.value("select count(*) from sexton.attempts where outcome = 'crashed'") == 0


@scenario(
    "a worker without file descriptors, or whose claims are swallowed",
    schedulers=1,
    workers=1,
    queues="default",
)
async def worker_without_descriptors(cluster: Cluster) -> None:
    """It is not ready, and says why. What needs none goes on; when there are some again, so does the rest."""
    worker = await cluster.start("worker", queues="few", statement_timeout_seconds=2)
    neighbour = await cluster.add_job("neighbour", "every 1s", queue="few")
    ran = "select exists (select from sexton.history where job_id = $1 and started_at > $2)"
    # It stays open, for no other connection can be accepted without descriptors.
    asking = HTTPConnection("127.0.0.1", worker.port, timeout=PATIENCE)
    for _ in range(cluster.scale.rounds):
        await cluster.until_true(ran, neighbour.id, await cluster.now())
        await cluster.until(lambda: answers(asking, 200), "the worker is ready")
        before = resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        await cluster.until(lambda: answers(asking, 503), "the worker is not ready")
        assert worker.said("cannot open a file or a connection"), cluster.said()
        await cluster.until_true(ran, neighbour.id, await cluster.now())
        await cluster.mark()
        resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, before)
        await cluster.until(lambda: answers(asking, 200), "the worker is ready again")
        worker.proxy.swallow(CLAIMING_CONNECTION)
        await cluster.until(lambda: answers(asking, 503), "the worker that cannot claim is not ready")
        await cluster.mark()
        worker.proxy.restore()
        await cluster.until(lambda: answers(asking, 200), "the worker that can claim again is ready")
    asking.close()


async def answers(asking: HTTPConnection, status: int) -> bool:
    """Whether readiness is so; asked on a connection that stays open."""

    def ask() -> int:
        asking.request("GET", "/readyz")
        with asking.getresponse() as answer:
            answer.read()
            return answer.status

    return await asyncio.to_thread(ask) == status


@scenario("handlers that end their process, beside healthy ones", workers=1, queues="default")
async def crashing_handlers(cluster: Cluster) -> None:
    """Each ends as poison, with how its process ended. All healthy runs end well, also meanwhile."""
    up = await cluster.run("up", "--workers", "1", "--roles", "worker", queues="crash", concurrency=60)
    rounds = cluster.scale.rounds
    healthy = [
        (await cluster.add_job(f"healthy {number}", "every 1s", queue="crash", payload=0.8)).id
        for number in range(40 if rounds > 1 else 12)
    ]
    ended = "select count(*) >= $2 from sexton.history where job_id = any ($1)"
    await cluster.until_true(ended, healthy, len(healthy))
    await cluster.mark()
    since = await cluster.now()
    ways = [(target, way) for target in ("crashes", "crashes_in_thread") for way in handlers.CRASHES]
    guilty: dict[int, str] = {}
    for target, way in ways if rounds > 1 else [ways[0], ways[-1]]:
        job = await cluster.add_job(
            f"{target} {way}", "every 1s", target={"handler": target}, payload=way,
            queue="crash", max_runs=rounds,
        )  # fmt: skip
        guilty[job.id] = handlers.CRASHES[way][1]
    for number in guilty:
        for crashes in range(2, 4):
            # Each takes the start of a process, and there may be more of them.
            await cluster.until_true(
                """select exists (select from sexton.runs where job_id = $1 and crashes >= $2)
                or exists (select from sexton.dead where job_id = $1)""",
                number,
                crashes,
            )
        await cluster.until_true("select count(*) = $2 from sexton.dead where job_id = $1", number, rounds)
    await cluster.mark()
    await cluster.until_true(f"{ended} and finished_at > $3", healthy, 200, since)
    for row in await cluster.fetch("select job_id, reason, error from sexton.dead"):
        assert row["reason"] == "poison", row
        assert guilty[row["job_id"]] in row["error"], row
    others = "select count(*) from sexton.history where job_id = any ($1) and status <> 'success'"
    assert await cluster.value(others, healthy) == 0
    cluster.figures["pause"] = await cluster.value(
        """select max(extract(epoch from next - finished_at))::float8 from (
            select finished_at, lead(finished_at) over (order by finished_at) as next
            from sexton.history where job_id = any ($1) and finished_at > $2
        ) as ends""",
        healthy,
        since,
    )
    assert up.alive, cluster.said()


@scenario("two `kill -9` of workers with many runs in hand", workers=1, queues="default")
async def two_kills(cluster: Cluster) -> None:
    """Nothing is suspected: all runs as ever. One worker has a parent that sees it die, one has not."""
    up = await cluster.run("up", "--workers", "1", "--roles", "worker", queues="killed")
    member = await cluster.start("worker", queues="killed too")
    jobs = [
        (
            await cluster.add_job(
                f"long {number} {queue}", "every 1s", target={"handler": "hold"}, queue=queue, max_runs=1
            )
        ).id
        for number in range(20)
        for queue in ("killed", "killed too")
    ]
    held = """select count(*) = $2 from sexton.runs r join sexton.nodes n on n.id = r.node
        where r.job_id = any ($1) and r.state = 'running' and n.state <> 'dead' and r.crashes = $3"""
    for kills in range(2):
        await cluster.until_true(held, jobs, len(jobs), kills)
        await cluster.mark()
        for process in (await worker_of(up), member.process.pid):
            os.kill(process, signal.SIGKILL)
        member = await cluster.start("worker", queues="killed too")
    await cluster.until_true(held, jobs, len(jobs), 2)
    assert await cluster.value("select count(*) from sexton.runs where company > 0") == 0
    cluster.let_go()
    await cluster.until_true(
        "select count(*) = $2 from sexton.history where job_id = any ($1) and status = 'success'",
        jobs,
        len(jobs),
    )
    assert await cluster.value("select count(*) from sexton.dead") == 0
    assert not up.said("process of its own"), cluster.said()


async def worker_of(up: Member) -> int:
    """The process of its one worker."""
    found = await asyncio.to_thread(
        subprocess.run, ["pgrep", "-P", str(up.process.pid)], check=True, capture_output=True
    )
    return int(found.stdout.split()[0])
