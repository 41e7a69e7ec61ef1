"""Open consoles: what they cost the process that serves them.

Each follows the feed, and by it what its page shows, as `console/src/api/live.ts` does: it asks nothing
again. Meanwhile runs end all the time, and now and then a job is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import aiohttp

from sexton import clock
from sexton.cli.bench.console_requests import API, Serving
from sexton.cli.bench.console_views import Examples, views
from sexton.cli.bench.harness import SCHEMA, Ground, Say
from sexton.errors import Unavailable
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded

RUNS_PER_SECOND = 20
# How often a job changes.
CHANGE_SECONDS = 10.0
REST_SECONDS = 2.0
READY_SECONDS = 120.0
# Which pages they are at, and how what they show begins. The overview itself is an event.
PAGES = {"overview": "/upcoming", "jobs": "/jobs", "runs": "/runs"}
# The answer of a list is one line.
LONGEST_LINE = 4 * 1024 * 1024

ENDED = f"""
insert into {SCHEMA}.history
    (run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at, finished_at)
select $1::bigint + n, 1 + ($1::bigint + n) * 7919 % $3, now(), 'success', 'schedule', 1, now(), now(), now()
from generate_series(1, $2::bigint) as n
"""
CHANGED = f"""
insert into {SCHEMA}.audit_pending (namespace, actor, face, action, object_id, object_name, job_id)
values ('default', 'bench', 'api', 'job.updated', 'j_1', 'one', 1)
"""


@dataclass(slots=True)
class Follower:
    """One console: its stream of events, and what it shows."""

    server: Serving
    addresses: Sequence[str]
    heard: int = 0
    answers: int = 0
    bytes: int = 0

    async def follow(self) -> None:
        # Each console keeps its own connections, as a browser does.
        async with aiohttp.ClientSession(self.server.url, timeout=aiohttp.ClientTimeout()) as client:
            for address in self.addresses:
                async with client.get(address) as answer:
                    await answer.read()
            query = urlencode({"follow": ",".join(self.addresses)})
            async with client.get(f"{API}/events?{query}", read_bufsize=LONGEST_LINE) as events:
                await self._hear(events.content)

    async def _hear(self, events: aiohttp.StreamReader) -> None:
        while line := await events.readline():
            self.bytes += len(line)
            if line.startswith(b"event: "):
                self.heard += 1
                self.answers += line == b"event: answer\n"


async def follow(
    made: Ground, server: Serving, examples: Examples, consoles: int, seconds: float, say: Say
) -> dict[str, Any]:
    """For each page, with all consoles on it: the cores that the api used."""
    found: dict[str, Any] = {}
    for page, begins in PAGES.items():
        shown = next(view for view in views(examples) if view.page == page)
        addresses = [API + each.path for each in shown.questions if each.path.startswith(begins)]
        found[page] = await _watch(made, server, addresses, consoles, seconds, examples.jobs)
        say(f"{consoles} consoles at {page}: {found[page]}")
    return {"consoles": consoles, "open_consoles": found}


async def _watch(
    made: Ground, server: Serving, addresses: Sequence[str], consoles: int, seconds: float, jobs: int
) -> dict[str, Any]:
    followers = [Follower(server, addresses) for _ in range(consoles)]
    tasks = [asyncio.create_task(each.follow()) for each in followers]
    activity = asyncio.create_task(_happen(made, jobs))
    try:
        await _until_all_hear(made, followers)
        await clock.sleep(2 * REST_SECONDS)
        before = server.process.cpu_seconds(), _sum(followers), clock.monotonic()
        await clock.sleep(seconds)
        took = clock.monotonic() - before[2]
        heard, answers, size = (now - then for now, then in zip(_sum(followers), before[1], strict=True))
        used = (server.process.cpu_seconds() - before[0]) / took
        if activity.done():
            activity.result()
    finally:
        for task in (activity, *tasks):
            task.cancel()
        await asyncio.gather(activity, *tasks, return_exceptions=True)
    return {
        "cores": round(used, 3),
        "events_per_console_and_second": round(heard / took / consoles, 2),
        "answers_per_console_and_second": round(answers / took / consoles, 2),
        "kilobytes_per_console_and_second": round(size / took / consoles / 1000, 1),
    }


async def _until_all_hear(made: Ground, followers: list[Follower]) -> None:
    began = clock.monotonic()
    while missing := sum(not each.heard for each in followers):
        made.check()
        if clock.monotonic() - began > READY_SECONDS:
            raise Unavailable("bench_failed", f"{missing} of {len(followers)} consoles heard nothing")
        await clock.sleep(0.2)


def _sum(followers: list[Follower]) -> tuple[int, int, int]:
    return (
        sum(each.heard for each in followers),
        sum(each.answers for each in followers),
        sum(each.bytes for each in followers),
    )


async def _happen(made: Ground, jobs: int) -> None:
    changed_at = 0.0
    number: int = await made.watch.fetchval(f"select coalesce(max(run_id), 0) from {SCHEMA}.history")
    while True:
        await made.watch.execute(ENDED, number, RUNS_PER_SECOND // 2, jobs)
        number += RUNS_PER_SECOND // 2
        if clock.monotonic() - changed_at > CHANGE_SECONDS:
            changed_at = clock.monotonic()
            await made.watch.execute(CHANGED)
            # As a scheduler does now and then.
            await count_recorded(Context(made.database, actor="bench"), timedelta(minutes=30))
        await clock.sleep(0.5)
