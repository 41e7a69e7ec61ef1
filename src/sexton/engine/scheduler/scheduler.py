"""The scheduler: fires what is due, on time, once.

One round: follow the leadership (take in new shards, drop lost ones), fill the wheels for the next minutes
(`horizon`), fire everything that is due in batches, and sleep until the next entry falls due.

A firing is one statement for a whole batch (`statements/fire.sql`): it checks the epochs of the batch's
shards, advances each timer only if it still is what the wheel says, and inserts the runs. So a wheel may be
wrong without harm: a timer that has changed since is a miss, and is read again. An answer that was lost means
that everything is read again; what was fired is then simply not there any more.

Entries that are later than their job's grace are not fired but planned (`planning.plan`): their occurrences
were missed, and the job's policy decides. That is also one statement for a batch (`statements/catch_up.sql`).

The scheduler never runs user code and never waits for a run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine import crash
from sexton.engine.cluster.leadership import DatabaseClock, Leadership
from sexton.engine.loop import Loop
from sexton.engine.scheduler.aside import Problems
from sexton.engine.scheduler.horizon import Batch, Horizon, instant
from sexton.engine.scheduler.wheel import MICROSECONDS
from sexton.errors import SextonError
from sexton.jobs.planning import (
    MissedPolicy,
    Plan,
    plan,
    schedule_of,
)
from sexton.jobs.spec import JobSpec
from sexton.model import PRIORITY_LOWEST, Trigger
from sexton.postgres.database import BY_KEY, LOST, Database, array_text, unavailable
from sexton.postgres.partitions import make_missing

log = logging.getLogger("sexton")

# After a firing, wait so long for more to fall due: a statement for few costs nearly as much as for many.
GATHER_SECONDS = 0.005

STUCK_SECONDS = 0.05

# PostgreSQL counts it in 32 bits of milliseconds.
LONGEST_IDLE_SECONDS = 86_400.0

# So long a job that somebody held is expected to be held still.
HELD_SECONDS = 5.0

# A round ends after this long even if more is due: leadership, changes and the end must be noticed meanwhile.
ROUND_SECONDS = 0.5

Planned = tuple[asyncpg.Record, timedelta, Plan]


class Scheduler(Loop):
    """Fires the shards that this node leads."""

    name = "scheduler"

    def __init__(
        self, database: Database, settings: Settings, leadership: Leadership, time: DatabaseClock
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._leadership = leadership
        self._time = time
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._horizon = Horizon(database, settings, self._now)
        self._problems = Problems(database)
        self._due: deque[Batch] = deque()
        self._held: dict[int, float] = {}
        self.fired = 0
        self.caught_up = 0
        self.listening: Callable[[], bool] = lambda: True
        # Told of every firing, with the first arguments of the statement and the number of jobs, if anybody
        # wants to.
        self.on_fired: Callable[[str, str, Sequence[datetime], int], None] | None = None
        leadership.on_change = self.wake
        leadership.wheel_entries = lambda: self.entries
        leadership.wheel_sizes = self._horizon.sizes

    @property
    def entries(self) -> int:
        return self._horizon.entries

    def timers_changed(self, payload: str) -> None:
        """A notification: `3:17` is a job in a shard, `3,4` are shards of which many changed; nothing at all
        means that something may have been missed."""
        shard, _, job_id = payload.partition(":")
        if job_id:
            self._horizon.changed_job(int(shard), int(job_id))
        else:
            named = {int(word) for word in payload.split(",") if word}
            self._horizon.changed(named or set(self._leadership.led))
        self.wake()

    async def setup(self) -> None:
        try:
            await self._connect()
        except LOST as error:
            raise unavailable(error) from error

    async def teardown(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def tick(self) -> float:
        horizon = self._horizon
        if not self._leadership.trusted() or not self._time.known:
            self._forget()
            return 0.1
        fired = self.fired
        try:
            await self._connect()
            await horizon.follow(self._leadership.led, listening=self.listening(), behind=bool(self._due))
            self._due = self._due or deque(horizon.pop_due())
            began, tried = clock.monotonic(), bool(self._due)
            while self._due and self._leadership.trusted() and clock.monotonic() - began < ROUND_SECONDS:
                await self._fire(self._due.popleft())
        except BaseException as error:
            # What was popped is in no wheel any more, and whether the last statement was carried out is not
            # known: start again from the timers.
            self._forget()
            if isinstance(error, (*LOST, asyncpg.QueryCanceledError)):
                await self.teardown()
                raise unavailable(error) from error
            if isinstance(error, asyncpg.CheckViolationError):
                await make_missing(self._database, error)
                return 0.0  # what was to be recorded has a place now
            raise
        await self._problems.write()
        if self._due:
            return 0.0
        horizon.plan_ahead()
        if tried and self.fired == fired:
            return STUCK_SECONDS  # timers that change, or a clock that went back: do not spin
        gather = GATHER_SECONDS if self.fired > fired else 0.0
        return max(horizon.seconds_to_sleep(listening=self.listening()), gather)

    def _forget(self) -> None:
        self._due.clear()
        self._horizon.forget()

    async def _connect(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            return
        # Should we be stopped in the middle of a transaction, who takes over ends our backend. Not behind a
        # pooler, though, nor if it holds jobs and timers and no shard yet.
        pooled, lease = self._database.pooled, self._settings.lease_seconds
        idle = f"{min(lease * (1 if pooled else 3), LONGEST_IDLE_SECONDS) * 1000:.0f}ms"
        self._connection = self._horizon.connection = await asyncpg.connect(
            self._database.url,
            timeout=10,
            command_timeout=self._settings.statement_timeout_seconds,
            **self._database.connecting(
                "sexton scheduler",
                lock_timeout="500ms",
                idle_in_transaction_session_timeout=idle,
                **BY_KEY,
            ),
        )
        self._leadership.backend_pids = [] if pooled else [self._connection.get_server_pid()]

    # Firing

    async def _fire(self, batch: Batch) -> None:
        """What is past its grace is planned; of the rest, plain jobs and special ones go separately."""
        timings = self._horizon.timings
        for _, entries in batch.parts:
            for timing, scheduled in set(zip(entries.timings, entries.scheduled, strict=True)):
                timings[timing].prepare(scheduled)
        for _, entries in batch.split(lambda row: timings[row[4]].problem is not None).parts:
            for job_id, _, _, revision, timing in entries.rows():
                self._problems.add(job_id, revision, timings[timing].problem)
        late = batch.split(lambda row: self._now() - row[1] > timings[row[4]].grace * MICROSECONDS)
        special = batch.split(lambda row: timings[row[4]].special)
        await self._fire_alike(batch)
        await self._fire_alike(special)
        await self._catch_up(late)

    async def _fire_alike(self, batch: Batch) -> None:
        if not self._still_led(batch):
            return
        timings = self._horizon.timings
        groups, places = batch.groups()
        nexts = [timings[timing].next_after(scheduled) for timing, scheduled, _, _ in groups]
        next_dues = [
            None if following is None else following + due - scheduled
            for following, (_, scheduled, due, _) in zip(nexts, groups, strict=True)
        ]
        arguments: tuple[Any, ...] = (
            array_text(batch.jobs),
            array_text(places),
            [revision for _, _, _, revision in groups],
            [instant(scheduled) for _, scheduled, _, _ in groups],
            [instant(due) for _, _, due, _ in groups],
            [None if at is None else instant(at) for at in nexts],
            [None if at is None else instant(at) for at in next_dues],
            *self._fence(batch),
            None,
        )
        special = [
            following is None or timings[timing].special
            for following, (timing, _, _, _) in zip(nexts, groups, strict=True)
        ]
        statement = "fire_special" if any(special) else "fire"
        if any(special):
            arguments += (special,)
        row = None if self._expects_held(batch.jobs) else await self._send(statement, *arguments)
        row = row or await self._fire_free(statement, batch.jobs, places, arguments[2:])
        if row["fired"] and self.on_fired is not None:
            self.on_fired(arguments[0], arguments[1], arguments[3], row["fired"])
        if not row["held"]:
            self._fenced(batch)
        elif row["fired"] == batch.size:
            self.fired += batch.size
            self._horizon.advance(batch, places, nexts, next_dues)
        else:
            # Some timers were not what the wheel said: read the whole batch again.
            self.fired += row["fired"]
            await self._horizon.read_again(batch)

    async def _fire_free(
        self, statement: str, jobs: list[int], places: list[int], rest: tuple[Any, ...]
    ) -> asyncpg.Record:
        """Somebody, such as an edit, holds something of the batch: fire those that nobody holds."""
        assert self._connection is not None
        async with self._connection.transaction():
            free = await self._free(jobs, special=statement == "fire_special")
            chosen = [(job, place) for job, place in zip(jobs, places, strict=True) if job in free]
            row = await self._connection.fetchrow(
                self._database.statement(statement),
                array_text([job for job, _ in chosen]),
                array_text([place for _, place in chosen]),
                *rest,
            )
        assert row is not None
        return row

    async def _free(self, jobs: list[int], *, special: bool) -> set[int]:
        """Those of which nobody holds the timer nor, if that matters, the job or a run in its way. All that
        is locked until the end of the transaction, in the order that everybody keeps."""
        assert self._connection is not None
        names = (
            ("lock_free_jobs", "lock_free_timers", "lock_free_slots") if special else ("lock_free_timers",)
        )
        free = jobs
        for name in names:
            rows = await self._connection.fetch(self._database.statement(name), free)
            free = [row[0] for row in rows]
        until = clock.monotonic() + HELD_SECONDS
        self._held.update(dict.fromkeys(set(jobs).difference(free), until))
        return set(free)

    def _expects_held(self, jobs: list[int]) -> bool:
        """Whether somebody held one of these a moment ago: it is not waited for again, nor do the others."""
        if not self._held:
            return False
        now = clock.monotonic()
        self._held = {job: until for job, until in self._held.items() if until > now}
        return not self._held.keys().isdisjoint(jobs)

    async def _send(self, statement: str, *arguments: Any) -> asyncpg.Record | None:
        """Run a firing statement. None: somebody else, such as an edit, held one of its rows for too long."""
        assert self._connection is not None
        crash.point("fire.before")
        try:
            row = await self._connection.fetchrow(self._database.statement(statement), *arguments)
        except asyncpg.LockNotAvailableError:
            return None
        crash.point("fire.after")
        return row

    def _still_led(self, batch: Batch) -> bool:
        """Leave out what was lost or handed over since it was popped; whether anything is left."""
        led, epochs = self._leadership.led, self._horizon.epochs
        batch.parts = [
            part for part in batch.parts if part[0] in epochs and led.get(part[0]) == epochs[part[0]]
        ]
        batch.size = sum(len(entries) for _, entries in batch.parts)
        return batch.size > 0

    def _fence(self, batch: Batch) -> tuple[list[int], list[int]]:
        shards = sorted({shard for shard, _ in batch.parts})
        return shards, [self._horizon.epochs[shard] for shard in shards]

    def _fenced(self, batch: Batch) -> None:
        """A firing was refused. One that was under way while a shard of it was handed over is no surprise."""
        if not any(
            self._leadership.put_down.get(shard) == epoch
            for shard, epoch in zip(*self._fence(batch), strict=True)
        ):
            log.warning("fenced: a firing was refused, another node leads; reading everything again")
            self._leadership.fenced += 1
        self._leadership.wake()
        self._forget()

    # Catching up

    async def _catch_up(self, batch: Batch) -> None:
        """Plan what was missed, each distinct case once, and write it in one statement."""
        if not self._still_led(batch):
            return
        assert self._connection is not None
        rows = await self._connection.fetch(self._database.statement("load_missed"), batch.jobs)
        now = instant(self._now())
        # A job that fires every second and was away for a month has millions of occurrences to account for.
        planned, failed = await asyncio.to_thread(_plan_all, rows, now)
        for job_id, revision, problem in failed:
            self._horizon.set_aside(job_id)
            self._problems.add(job_id, revision, problem)
        rate, fence = self._settings.catch_up_rate, self._fence(batch)
        answer = None
        if not self._expects_held(batch.jobs):
            answer = await self._send("catch_up", *_catch_up_arguments(planned, now, rate), *fence)
        if answer is None:
            async with self._connection.transaction():
                free = await self._free(batch.jobs, special=True)
                arguments = _catch_up_arguments(
                    (one for one in planned if one[0]["job_id"] in free), now, rate
                )
                answer = await self._connection.fetchrow(
                    self._database.statement("catch_up"), *arguments, *fence
                )
        assert answer is not None
        if not answer["held"]:
            self._fenced(batch)
            return
        self.caught_up += answer["moved"]
        await self._horizon.read_again(batch)

    def _now(self) -> int:
        return int(self._time.now() * MICROSECONDS)


def _plan_all(
    rows: Sequence[asyncpg.Record], now: datetime
) -> tuple[list[Planned], list[tuple[int, int, str]]]:
    """The plans, and the jobs (with their revision) whose schedule could not say what to plan, and why."""
    plans: dict[object, Plan] = {}
    planned, failed = [], []
    for row in rows:
        jitter = row["due_at"] - row["scheduled_at"]
        remaining = None if row["max_runs"] is None else row["max_runs"] - row["fired_count"]
        case = (row["timing_key"], row["options"], row["scheduled_at"], jitter, remaining)
        if case not in plans:
            try:
                policy, schedule = MissedPolicy.of(_spec_of(row)), schedule_of(dict(row))
                plans[case] = plan(schedule, policy, row["scheduled_at"], jitter, now, remaining)
            except (SextonError, OverflowError) as error:
                log.error("job %s is set aside: what it missed cannot be planned: %s", row["name"], error)
                failed.append((row["job_id"], row["revision"], str(error)))
                continue
        planned.append((row, jitter, plans[case]))
    return planned, failed


def _catch_up_arguments(planned: Iterable[Planned], now: datetime, rate: float) -> list[list[Any]]:
    """The columns of catch_up: timers, runs and skips. Catch-up runs are spread over time by the rate."""
    timers: list[list[Any]] = [[] for _ in range(7)]
    runs: list[list[Any]] = [[] for _ in range(7)]
    skips: list[list[Any]] = [[] for _ in range(5)]
    caught_up = 0
    for row, jitter, one in planned:
        next_due = None if one.next_at is None else one.next_at + jitter
        _append(
            timers,
            (
                row["job_id"],
                row["revision"],
                row["scheduled_at"],
                row["due_at"],
                one.next_at,
                next_due,
                len(one.runs),
            ),
        )
        for run in one.runs:
            late = run.trigger is Trigger.CATCH_UP
            available = now + timedelta(seconds=caught_up / rate) if late else now
            caught_up += late
            priority = PRIORITY_LOWEST if late else None
            due = run.scheduled_at + jitter
            _append(
                runs,
                (
                    row["job_id"],
                    run.scheduled_at,
                    due,
                    run.trigger.value,
                    run.missed,
                    available,
                    priority,
                ),
            )
        for skip in one.skips:
            _append(
                skips,
                (row["job_id"], skip.scheduled_at, skip.until_at, skip.occurrences, skip.reason.value),
            )
    return [*timers, *runs, *skips]


def _spec_of(row: asyncpg.Record) -> JobSpec:
    options = msgspec.json.decode(row["options"]) if isinstance(row["options"], str) else dict(row["options"])
    return msgspec.convert(
        {**options, "name": row["name"], "schedule": row["schedule"]}, JobSpec, strict=False
    )


def _append(columns: list[list[Any]], row: tuple[Any, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)
