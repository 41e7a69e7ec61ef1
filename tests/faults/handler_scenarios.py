"""What handlers do to their worker, as `scenarios`: importing this adds them."""

from __future__ import annotations

import asyncio
import subprocess

from tests.faults import handlers
from tests.faults.harness import Cluster
from tests.faults.scenarios import scenario


@scenario("handlers that raise what asyncio cannot carry", workers=1, queues="default")
async def odd_exceptions(cluster: Cluster) -> None:
    """Every one of them frees its slot at once, and is recorded with its cause; their neighbour goes on."""
    await cluster.start("worker", queues="odd", concurrency=6)
    ends = [
        (way, end)
        for way in ("raises", "raises_later", "raises_in_task", "raises_in_thread")
        for end in handlers.ENDS
        # By these a task of asyncio ends the process, wherever it was made.
        if way != "raises_in_task" or end not in ("SystemExit", "KeyboardInterrupt")
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
    assert worker.said("a process that a handler has forked off came back"), cluster.said()
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
