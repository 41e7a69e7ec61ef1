"""Carries runs out before they are written: otherwise a test engine would spend most of its time on
statements.

For some time, only plain occurrences of handlers may be due: no retry, no expiry, no end of a pause, no last
occurrence of a job. These instants are processed in memory, one after the other: the clock is set, the runs
of the instant are given to the worker as if it had claimed them, and their outcomes are kept. Then one
statement writes all the runs, and one call their ends, each with its own time.

A run may change what comes after it. So this ends early, with everything written up to that instant, when a
run does not end in success, and before anything reads the database (`watch`). Then the engine continues with
the scheduler's and the worker's own statements.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg

from sexton.engine.worker.queue import CLAIM_DEFAULTS, REFUSALS
from sexton.engine.worker.worker import Worker
from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.model import Trigger
from sexton.postgres.database import Database
from sexton.runs.outcomes import OutcomeBatch
from sexton.schedules import Schedule
from sexton.testing.manual import ManualClock
from sexton.testing.watch import Watch

# Limits of what is in memory: jobs, instants, and log lines.
MOST_JOBS = 1000
FIRST_INSTANTS, MOST_INSTANTS = 16, 1024
MOST_LINES = 1000


class ComingJob:
    """A job with its next occurrence. It advances from one occurrence to the next as long as firing is
    plain."""

    def __init__(self, row: asyncpg.Record) -> None:
        self.row = row
        self.scheduled_at: datetime = row["scheduled_at"]
        self.due_at: datetime = row["due_at"]
        self.jitter = self.due_at - self.scheduled_at
        self.fired = 0
        self._schedule: Schedule | None = None
        expires, kept = row["expires_seconds"], row["plain"] and not row["busy"]
        if kept and (expires is None or expires > 0):
            with suppress(SextonError):  # the scheduler sets it aside
                self._schedule = schedule_of(dict(row))

    def following(self) -> datetime | None:
        """The next occurrence; None if there is none, or if it needs more than firing."""
        row = self.row
        if self._schedule is None:
            return None
        if row["max_runs"] is not None and row["fired_count"] + self.fired + 1 >= row["max_runs"]:
            return None
        try:
            return self._schedule.next_after(self.scheduled_at)
        except (SextonError, OverflowError):
            return None  # the scheduler sets it aside

    def claimed(self) -> dict[str, Any]:
        """This occurrence as a claim gives it to a worker, without the id of the run."""
        row = self.row
        return {
            "job_id": row["job_id"],
            "claim": 1,
            "attempt": 1,
            "crashes": 0,
            "scheduled_seconds": self.scheduled_at.timestamp(),
            "fired_seconds": self.due_at.timestamp(),
            "due_seconds": self.due_at.timestamp(),
            "trigger": Trigger.SCHEDULE.value,
            "missed": False,
            "idempotency_key": None,
            "revision": row["revision"],
            "name": row["name"],
            "target": row["target"],
            "options": row["options"],
            "payload": row["payload"],
            "timezone": row["timezone"],
        }

    def go_on(self, scheduled_at: datetime) -> None:
        self.scheduled_at = scheduled_at
        self.due_at = scheduled_at + self.jitter
        self.fired += 1


@dataclass(slots=True)
class Instant:
    """The runs that are due at one time, as a claim gives them, and the resulting timers of their jobs."""

    at: datetime
    runs: list[dict[str, Any]]
    timers: list[tuple[ComingJob, datetime, datetime]]


class Ahead:
    """One per engine. `database` is not watched."""

    def __init__(self, database: Database, worker: Worker, time: ManualClock, watch: Watch) -> None:
        self._database = database
        self._worker = worker
        self._time = time
        self._watch = watch
        self._most = FIRST_INSTANTS

    async def run(self, before: datetime, led: Sequence[int]) -> bool:
        """Process the plain occurrences before a time; whether there were any. `led` are the shards in the
        order in which they are fired."""
        instants = await self._plan(before, led)
        if not instants:
            return False
        stretch = _Stretch(self._database, self._worker, self._time, instants)
        if not self._watch.begin(stretch.write):
            return False
        try:
            try:
                done = await stretch.run()
            finally:
                await stretch.write()
        finally:
            self._watch.end()
        # If it ended early, the next stretch is shorter.
        self._most = min(2 * len(instants), MOST_INSTANTS) if done == len(instants) else max(1, done - 1)
        return True

    async def _plan(self, before: datetime, led: Sequence[int]) -> list[Instant]:
        rows = await self._database.fetch("testing/list_coming", until=before, limit=MOST_JOBS)
        if len(rows) == MOST_JOBS:
            before = min(before, rows[-1]["due_at"])
        state = self._worker.state
        jobs = [ComingJob(row) for row in rows if row["lane"] in state.lanes]
        others = [row["due_at"] for row in rows if row["lane"] not in state.lanes]
        before = min([before, *others])
        # The order in which a worker would claim them: within a lane, as they were fired.
        order = {
            job: (
                job.row["priority"],
                job.row["lane"],
                job.row["overlap"] != 0
                or job.row["max_runs"] is not None
                or job.row["concurrency_key"] is not None,
                led.index(job.row["shard"]),
                job.row["job_id"],
            )
            for job in jobs
        }
        coming = [(job.due_at, order[job], job) for job in jobs]
        heapq.heapify(coming)
        instants: list[Instant] = []
        # Listeners hear of every instant, and may change what comes after it.
        most = 1 if self._worker.audience.hears_success else self._most
        while coming and coming[0][0] < before and len(instants) < most:
            at, due = coming[0][0], []
            while coming and coming[0][0] == at:
                due.append(heapq.heappop(coming)[2])
            nexts = [job.following() for job in due]
            if len(due) > state.concurrency or None in nexts:
                break
            instants.append(Instant(at, [job.claimed() for job in due], []))
            for job, following in zip(due, nexts, strict=True):
                assert following is not None
                job.go_on(following)
                instants[-1].timers.append((job, job.scheduled_at, job.due_at))
                heapq.heappush(coming, (job.due_at, order[job], job))
        runs = [run for instant in instants for run in instant.runs]
        ids = await self._database.fetchval("recording/take_run_ids", count=len(runs)) if runs else []
        for run, number in zip(runs, ids, strict=True):
            run["id"] = number
        return instants


class _Stretch:
    """Instants that are processed before they are written."""

    def __init__(
        self, database: Database, worker: Worker, time: ManualClock, instants: Sequence[Instant]
    ) -> None:
        self._database = database
        self._worker = worker
        self._time = time
        self._instants = instants
        self._reached = 0  # instants that were begun
        self._ended: list[tuple[datetime, OutcomeBatch]] = []
        self._writing: asyncio.Future[None] | None = None

    async def run(self) -> int:
        """Process the instants; how many were reached. The worker still has the outcomes of the last one."""
        worker, state = self._worker, self._worker.state
        node = await worker.joined()
        for instant in self._instants:
            if self._reached:
                self._keep_outcomes()
            self._reached += 1
            self._time.set(instant.at)
            worker.watcher.watch()
            worker.runner.take(instant.runs, node)
            await worker.idle()
            batch = state.batch
            plain = batch is not None and len(batch) == len(batch.done) == len(instant.runs)
            if self._writing is not None or not plain or worker.feedback.lines > MOST_LINES:
                break
        return self._reached

    def _keep_outcomes(self) -> None:
        state = self._worker.state
        state.close_batch()
        self._ended += [(self._time.at, batch) for batch in state.unwritten]
        state.unwritten.clear()

    async def write(self) -> None:
        """Write everything up to the present instant; its runs are written as running. Once begun, it
        continues even if the run that needed it is stopped."""
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        reached = self._instants[: self._reached]
        if not reached:
            return
        async with self._database.connection() as connection:
            await self._time.write(connection)
        await self._begin(reached)
        await self._worker.feedback.write()
        await self._end()

    async def _begin(self, instants: Sequence[Instant]) -> None:
        timers = {job: (scheduled, due) for instant in instants for job, scheduled, due in instant.timers}
        jobs = list(timers)
        runs = [(run, instant.at) for instant in instants for run in instant.runs]
        moved = await self._database.fetchval(
            "testing/begin_runs",
            node=self._worker.state.node,
            current=instants[-1].at,
            jobs=[job.row["job_id"] for job in jobs],
            revisions=[job.row["revision"] for job in jobs],
            scheduled=[job.row["scheduled_at"] for job in jobs],
            due=[job.row["due_at"] for job in jobs],
            next_scheduled=[timers[job][0] for job in jobs],
            next_due=[timers[job][1] for job in jobs],
            counts=_counts(jobs, instants),
            runs=[run["id"] for run, _ in runs],
            run_jobs=[run["job_id"] for run, _ in runs],
            run_scheduled=[datetime.fromtimestamp(run["scheduled_seconds"], UTC) for run, _ in runs],
            run_due=[at for _, at in runs],
            **CLAIM_DEFAULTS,
        )
        if moved != len(jobs):
            raise RuntimeError(
                "another program changed a job while the test engine processed its occurrences: "
                "change jobs by the commands of the application under test"
            )

    async def _end(self) -> None:
        """Write the ends of the runs, each at its time, by the worker's own statement, in one round trip."""
        if not self._ended:
            return
        worker, node = self._worker, self._worker.state.node
        text, calls = "", []
        for at, batch in self._ended:
            text, arguments = self._database.prepared(
                "recording/finish", node=node, now=at, **batch.done.parameters()
            )
            calls.append(arguments)
        try:
            async with worker.queue.connection() as connection:
                await connection.executemany(text, calls)
        except REFUSALS:
            # The worker handles results that PostgreSQL refuses.
            for at, batch in self._ended:
                await worker.outcome_writer.write(batch, at)


def _counts(jobs: Iterable[ComingJob], instants: Sequence[Instant]) -> list[int]:
    """How often each of these jobs is due in these instants."""
    counts = dict.fromkeys(jobs, 0)
    for instant in instants:
        for job, _, _ in instant.timers:
            counts[job] += 1
    return list(counts.values())
