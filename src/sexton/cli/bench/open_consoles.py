"""Open consoles: what they cost the process that serves them.

Each follows the feed as the console does, and asks again what a change makes old: at most every two seconds,
or five, as `console/src/api/live.ts` has it. Meanwhile runs end all the time, and now and then a job is
changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import msgspec

from sexton import clock
from sexton.cli.bench.console_requests import API, Serving
from sexton.cli.bench.console_views import Examples, views
from sexton.cli.bench.harness import SCHEMA, Ground, Say
from sexton.errors import Unavailable
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded

RUNS_PER_SECOND = 20
# A job is changed so often.
CHANGE_SECONDS = 10.0
REST_SECONDS = 2.0
# What is dear to work out is asked again less often.
LONG_REST_SECONDS = {"/runs/counts": 5.0}
READY_SECONDS = 120.0
# Which pages they are at, and by which changes what they show gets old. The overview itself is an event.
PAGES: dict[str, dict[str, str]] = {
    "overview": {"/upcoming": "jobs"},
    "jobs": {"/jobs": "jobs"},
    "runs": {"/runs": "runs"},
}

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
    """One console: its stream of events, and what it asks again."""

    server: Serving
    questions: Mapping[str, str]
    heard: int = 0
    asked: int = 0
    bytes: int = 0
    _due: dict[str, float] = field(default_factory=dict)
    _waiting: set[str] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def follow(self) -> None:
        # One for each console, which keeps its connections as a browser does.
        async with aiohttp.ClientSession(self.server.url, timeout=aiohttp.ClientTimeout()) as client:
            try:
                async with client.get(f"{API}/events") as events:
                    await self._hear(client, events.content)
            finally:
                for task in self._tasks:
                    task.cancel()

    async def _hear(self, client: aiohttp.ClientSession, events: aiohttp.StreamReader) -> None:
        name = b""
        while line := await events.readline():
            self.bytes += len(line)
            if line.startswith(b"event: "):
                name = line[7:].strip()
                self.heard += 1
            elif line.startswith(b"data: ") and name == b"changed":
                self._change(client, msgspec.json.decode(line[6:]))

    def _change(self, client: aiohttp.ClientSession, change: dict[str, Any]) -> None:
        for path, kind in self.questions.items():
            if path not in self._waiting and kind in change["kinds"]:
                self._waiting.add(path)
                task = asyncio.create_task(self._again(client, path))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _again(self, client: aiohttp.ClientSession, path: str) -> None:
        await clock.sleep(max(0.0, self._due.get(path, 0.0) - clock.monotonic()))
        rest = LONG_REST_SECONDS.get(path.partition("?")[0], REST_SECONDS)
        self._due[path] = clock.monotonic() + rest
        self._waiting.discard(path)
        self.asked += 1
        async with client.get(API + path, headers={"Cache-Control": "max-age=2"}) as answer:
            self.bytes += len(await answer.read())


async def follow(
    made: Ground, server: Serving, examples: Examples, consoles: int, seconds: float, say: Say
) -> dict[str, Any]:
    """By the page that all of them are at: the cores that the api used."""
    found: dict[str, Any] = {}
    for page, kinds in PAGES.items():
        shown = next(view for view in views(examples) if view.page == page)
        questions = {
            question.path: kind
            for question in shown.questions
            for begins, kind in kinds.items()
            if question.path.startswith(begins)
        }
        found[page] = await _watch(made, server, questions, consoles, seconds, examples.jobs)
        say(f"{consoles} consoles at {page}: {found[page]}")
    return {"consoles": consoles, "open_consoles": found}


async def _watch(
    made: Ground, server: Serving, questions: Mapping[str, str], consoles: int, seconds: float, jobs: int
) -> dict[str, Any]:
    followers = [Follower(server, questions) for _ in range(consoles)]
    tasks = [asyncio.create_task(each.follow()) for each in followers]
    activity = asyncio.create_task(_happen(made, jobs))
    try:
        await _until_all_hear(made, followers)
        await clock.sleep(2 * REST_SECONDS)
        before = server.process.cpu_seconds(), _sum(followers), clock.monotonic()
        await clock.sleep(seconds)
        took = clock.monotonic() - before[2]
        heard, asked, size = (now - then for now, then in zip(_sum(followers), before[1], strict=True))
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
        "requests_per_second": round(asked / took, 1),
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
        sum(each.asked for each in followers),
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
