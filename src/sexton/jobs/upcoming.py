"""The number of jobs that fire in each of the next minutes.

A timer has the next occurrence of its job. Later occurrences within the hour are computed by the schedule,
once for all jobs that share it. With very many schedules only a random sample is computed and scaled up, and
the answer is marked as an estimate.

The shards are read one after the other, so no statement takes long. The result is cached, longer if it took
longer to compute, so that many open pages cost little processor time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.postgres.database import Database
from sexton.postgres.estimate import Total, total
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context, query
from sexton.refusal import about
from sexton.schedules import Schedule

MINUTES = 60
MINUTE = timedelta(minutes=1)
# A result is cached for KEEP times as long as it took to compute, and at least this long.
KEEP, SHORTEST_SECONDS = 50, 2.0
# The time for computing schedules, in slices between which the event loop goes on.
WORK_SECONDS, SLICE_SECONDS = 1.5, 0.01
# Shards that are read together.
TOGETHER = 4
# Groups of at least this many jobs come first, the largest first.
LARGE = 100
# Schedules that are read in one statement, and schedules that are cached.
SAMPLES, REMEMBERED = 500, 20_000

#: The key of jobs that fire alike (namespace, timing_key, scheduled_at, minute, runs_left); their number, and
#: one.
Group = tuple[tuple[Any, ...], list[Any]]


class MinuteAhead(msgspec.Struct, frozen=True, kw_only=True):
    """What fires in a minute."""

    at: Annotated[datetime, about("The beginning of the minute.")]
    firings: Annotated[int, about("Occurrences that fire in it.")]
    jobs: Annotated[int, about("Jobs that fire in it.")]


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a namespace fire in each of the next minutes. Those that are overdue count in the
    first."""

    at: Annotated[datetime, about("When this was computed, by the clock of the database.")]
    start: Annotated[datetime, about("The beginning of the first minute.")]
    minutes: Annotated[list[MinuteAhead], about("The next minutes, one by one.")]
    estimated: Annotated[bool, about("True if there are too many schedules to compute all of them.")] = False


class Forecast:
    """The cached forecast of a process. When it is too old, it is computed again; until that is done, callers
    get the old one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: _Ahead | None = None
        self._good_until = 0.0
        self._working: asyncio.Task[_Ahead] | None = None
        self._schedules: dict[UUID, Schedule | None] = {}

    async def read(self, namespace: str, minutes: int = MINUTES) -> Upcoming:
        now = clock.monotonic()
        if self._found is None or now >= self._good_until:
            if self._working is None:
                self._working = asyncio.create_task(self._work(), name="sexton forecast")
                self._working.add_done_callback(self._worked)
            if self._found is None:
                await asyncio.shield(self._working)
            else:
                # Small systems answer with the new result; large ones with the old one.
                await asyncio.wait({self._working}, timeout=0.2)
        assert self._found is not None
        return self._found.of(namespace, minutes)

    async def close(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait({self._working})

    def _worked(self, task: asyncio.Task[_Ahead]) -> None:
        self._working = None
        if task.cancelled() or task.exception() is not None:
            return
        self._found = task.result()

    async def _work(self) -> _Ahead:
        began = clock.monotonic()
        found = await self._ahead()
        took = clock.monotonic() - began
        self._good_until = clock.monotonic() + max(SHORTEST_SECONDS, took * KEEP)
        return found

    async def _ahead(self) -> _Ahead:
        async with self._database.connection() as connection:
            at = await self._database.time(connection)
        ahead = _Ahead(at)
        groups: list[Record] = []
        shards = await shard_count(self._database)
        for first in range(0, shards, TOGETHER):
            groups += await self._database.fetch(
                "jobs/count_upcoming",
                shards=list(range(first, min(first + TOGETHER, shards))),
                until=ahead.end,
                most=MINUTES * 60,
            )
            await clock.sleep(0)
        await self._expand(ahead, groups)
        return ahead

    async def _expand(self, ahead: _Ahead, groups: Sequence[Record]) -> None:
        """Count each group in the minute in which it is due, and in the minutes of its later occurrences."""
        merged: dict[tuple[Any, ...], list[Any]] = {}
        for group in groups:
            known = merged.setdefault(
                tuple(
                    group[name] for name in ("namespace", "timing_key", "scheduled_at", "minute", "runs_left")
                ),
                [0, group["sample"]],
            )
            known[0] += group["jobs"]
        large = sorted((each for each in merged.items() if each[1][0] >= LARGE), key=lambda each: -each[1][0])
        small = [each for each in merged.items() if each[1][0] < LARGE]
        random.Random(0).shuffle(small)
        for key, (jobs, _) in merged.items():
            ahead.add(key[0], [key[3]], jobs)
        began = clock.monotonic()
        await self._expand_all(ahead, large, began)
        await self._expand_all(ahead, small, began)

    async def _expand_all(self, ahead: _Ahead, groups: Sequence[Group], began: float) -> None:
        """Compute as many groups as there is time for, and scale the counts up to all."""
        done, sample = 0, _Ahead(ahead.at)
        for start in range(0, len(groups), SAMPLES):
            if start and clock.monotonic() - began > WORK_SECONDS:
                break
            part = groups[start : start + SAMPLES]
            await self._learn(part)
            slice_ends = clock.monotonic() + SLICE_SECONDS
            for (namespace, timing_key, scheduled_at, minute, runs_left), (jobs, _) in part:
                schedule = self._schedules.get(timing_key)
                if schedule is not None:
                    offset = minute - scheduled_at.replace(second=0, microsecond=0)
                    times = _following(schedule, scheduled_at, ahead.end - offset, runs_left)
                    sample.add(namespace, [at + offset for at in times], jobs, after=minute)
                done += 1
                if clock.monotonic() > slice_ends:
                    await clock.sleep(0)
                    slice_ends = clock.monotonic() + SLICE_SECONDS
        if done < len(groups):
            ahead.estimated = True
        ahead.plus(sample, len(groups) / done if done else 1.0)

    async def _learn(self, groups: Sequence[Group]) -> None:
        """Read the schedules that are not cached. A single time has no later occurrences."""
        wanted = {key[1]: sample for key, (_, sample) in groups if key[1] not in self._schedules}
        if not wanted:
            return
        if len(self._schedules) > REMEMBERED:
            self._schedules.clear()
            wanted = {key[1]: sample for key, (_, sample) in groups}
        rows = await self._database.fetch("firing/load_schedules", jobs=list(wanted.values()))
        for row in rows:
            schedule = None
            if row["kind"] != "once":
                try:
                    schedule = schedule_of(dict(row))
                except (SextonError, OverflowError):
                    schedule = None  # the job is set aside when it is due
            self._schedules[row["timing_key"]] = schedule


class _Ahead:
    """Counts by namespace and minute, from the minute of an instant on."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.start = at.replace(second=0, microsecond=0)
        self.end = self.start + MINUTES * MINUTE
        self.estimated = False
        self._firings: dict[str, list[float]] = {}
        self._jobs: dict[str, list[float]] = {}

    def add(
        self, namespace: str, times: Sequence[datetime], jobs: float, after: datetime | None = None
    ) -> None:
        """Count jobs that fire at these times, in order. They are already counted in the minute `after`."""
        firings = self._firings.setdefault(namespace, [0.0] * MINUTES)
        having = self._jobs.setdefault(namespace, [0.0] * MINUTES)
        last = -1 if after is None else max(0, (after - self.start) // MINUTE)
        for at in times:
            place = max(0, (at - self.start) // MINUTE)
            if place < MINUTES:
                firings[place] += jobs
                if place != last:
                    having[place] += jobs
                last = place

    def plus(self, other: _Ahead, times: float) -> None:
        for mine, theirs in ((self._firings, other._firings), (self._jobs, other._jobs)):
            for namespace, counts in theirs.items():
                known = mine.setdefault(namespace, [0.0] * MINUTES)
                for place, count in enumerate(counts):
                    known[place] += count * times

    def of(self, namespace: str, minutes: int) -> Upcoming:
        none = [0.0] * MINUTES
        firings, jobs = self._firings.get(namespace, none), self._jobs.get(namespace, none)
        return Upcoming(
            at=self.at,
            start=self.start,
            minutes=[
                MinuteAhead(at=self.start + n * MINUTE, firings=round(firings[n]), jobs=round(jobs[n]))
                for n in range(min(minutes, MINUTES))
            ],
            estimated=self.estimated,
        )


def _following(
    schedule: Schedule, scheduled_at: datetime, end: datetime, runs_left: int | None
) -> list[datetime]:
    """The occurrences between two instants, at most as many as runs are left."""
    most = MINUTES * 60 if runs_left is None else runs_left - 1
    found: list[datetime] = []
    try:
        for at in schedule.between(scheduled_at, end):
            if len(found) >= most or at >= end:
                break
            found.append(at)
    except (SextonError, OverflowError):
        return found  # it is set aside when it is due
    return found


@query
async def count_due(context: Context, minute: datetime) -> Total:
    """The number of jobs of the namespace whose next occurrence is in this minute."""
    return await total(context, "jobs/list_due_between", start=minute, end=minute + MINUTE)
