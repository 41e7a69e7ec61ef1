"""Much was missed, or jobs change while an occurrence waits, as `scenarios`: importing this adds them. Every
occurrence has to be accounted for, and what is due now is not to wait."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sexton.jobs.spread import jitter_of
from tests.faults.checker import Job
from tests.faults.harness import Cluster
from tests.faults.member import Member
from tests.faults.scenarios import scenario

JOBS = "/api/v1/jobs"
DAY = timedelta(days=1)
MONTH = timedelta(days=31)
# Of one-second jobs from an instant on, up to another one: how many runs, of how many times, how many
# occurrences were skipped, and whether each range counts what lies in it. After the second instant the jobs
# may have fired before their timers were put back.
ACCOUNT = """
select j.id, count(o.run_id) as fired,
    count(distinct o.scheduled_at) filter (where o.run_id is not null) as times,
    coalesce(sum(
        extract(epoch from least(o.until_at, $3 - interval '1 s') - o.scheduled_at) + 1
    ) filter (where o.run_id is null), 0)::bigint as skipped,
    coalesce(bool_and(o.occurrences = extract(epoch from o.until_at - o.scheduled_at) + 1)
        filter (where o.run_id is null), true) as counted
from unnest($1::bigint[]) as j (id)
join (
    select job_id, run_id, scheduled_at, coalesce(until_at, scheduled_at) as until_at,
        coalesce(occurrences, 1) as occurrences
    from sexton.history
    union all
    select job_id, id, scheduled_at, null, null from sexton.runs
) as o on o.job_id = j.id and o.scheduled_at >= $2 and o.scheduled_at < $3
group by j.id
"""


@scenario("a day missed by 200 one-second jobs, and one of them paused for a month", schedulers=1, workers=1)
async def large_catch_up(cluster: Cluster) -> None:
    """What was missed is planned beside the firing, so the other jobs stay on time."""
    api, number = cluster.living("api")[0], 200 if cluster.scale.rounds > 1 else 40
    now = (await cluster.now()).replace(microsecond=0)
    long_ago = now - MONTH - DAY
    fields: list[tuple[str, dict[str, Any]]] = [
        ("every 1s", {"anchor": long_ago, "missed_window": "RUN_ONCE"}),
        ("* * * * * *", {"starts_at": long_ago, "missed_window": "SKIP"}),
        ("every 1s", {"anchor": long_ago, "missed_window": "RUN_ALL", "max_missed": 5}),
        ("* * * * * *", {"starts_at": long_ago, "timezone": "America/New_York"}),
    ]
    names = [f"missed {place}" for place in range(number)]
    jobs = await cluster.add_apart([(name, *fields[place % len(fields)]) for place, name in enumerate(names)])
    await change(api, "POST", names[0], "/pause")
    await cluster.mark()
    await cluster.fetch(
        "update sexton.timers set scheduled_at = $2, due_at = $2 where job_id = any ($1)",
        jobs[1:],
        now - DAY,
    )
    await cluster.fetch("update sexton.timers set scheduled_at = $2 where job_id = $1", jobs[0], now - MONTH)
    await cluster.fetch("select pg_notify('sexton_timers', '')")
    began = time.monotonic()
    await change(api, "POST", names[0], "/resume")
    cluster.figures["resume"] = time.monotonic() - began
    await cluster.until_true(
        """select not exists (select from sexton.timers where job_id = any ($1) and scheduled_at <= $2)
        and not exists (select from sexton.runs where job_id = any ($1) and trigger = 'catch_up')""",
        jobs,
        now,
    )
    for since, some in ((now - DAY, jobs[1:]), (now - MONTH, jobs[:1])):
        rows = await cluster.fetch(ACCOUNT, some, since, now)
        assert len(rows) == len(some)
        for row in rows:
            assert row["fired"] + row["skipped"] == (now - since).total_seconds(), row
            assert row["fired"] == row["times"], row
            assert row["counted"], row
    await asyncio.gather(*(change(api, "DELETE", name) for name in names))


@scenario(
    "jobs paused, edited, resumed and deleted while an occurrence waits for its jitter",
    schedulers=1,
    workers=1,
)
async def edits_within_jitter(cluster: Cluster) -> None:
    """Each occurrence fires, or is recorded as skipped."""
    ways: list[list[tuple[str, str, Any]]] = [
        [("POST", "/pause", None), ("POST", "/resume", None)],
        [("PATCH", "", {"description": "edited"})],
        [("PATCH", "", {"jitter_seconds": 1})],
        [("POST", "/pause", None), ("PATCH", "", {"jitter_seconds": 0}), ("POST", "/resume", None)],
        [("POST", "/pause", None), ("DELETE", "", None)],
        [("DELETE", "", None)],
    ]
    api = cluster.living("api")[0]
    for turn in range(cluster.scale.rounds):
        made = await cluster.add_more(
            [(f"waits {turn} {place}", "every 4s", {"jitter_seconds": 4}) for place in range(24)]
        )
        # Some of them have hardly any time to wait.
        jobs = [job for job in made if jitter_of(job.id, 4) > 1][: len(ways)]
        await cluster.mark()
        await asyncio.gather(
            *(edit_within_jitter(cluster, api, job, way) for job, way in zip(jobs, ways, strict=True))
        )


async def edit_within_jitter(
    cluster: Cluster, api: Member, job: Job, way: list[tuple[str, str, Any]]
) -> None:
    await cluster.until_true(
        """select scheduled_at < clock_timestamp() and due_at > clock_timestamp() + interval '100 ms'
        from sexton.timers where job_id = $1""",
        job.id,
    )
    place = cluster.jobs.index(job)
    cluster.jobs[place] = job = replace(job, lenient=True)
    for method, path, body in way:
        await change(api, method, job.name, path, body)
        if method == "DELETE":
            gone = await cluster.value("select deleted_at from sexton.jobs where id = $1", job.id)
            cluster.jobs[place] = replace(job, until=gone)


async def change(api: Member, method: str, name: str, path: str = "", body: Any = None) -> None:
    status, _ = await api.request(method, f"{JOBS}/{name.replace(' ', '%20')}{path}", body)
    assert status in (200, 204), f"{method} {name}{path}: {status}"
