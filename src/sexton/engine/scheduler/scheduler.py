"""The scheduler's loop. See `engine.scheduler` for how it fires.

Some due entries were missed: they are later than the grace of their job, or, after a standstill, the next
occurrence of the job is due as well. The scheduler does not fire them but plans them by the job's policy
(`catch_up`), in a thread and in parts. Meanwhile it goes on firing what is due now: an outage of months must
not delay the present.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from sexton import clock
from sexton.config import Settings
from sexton.engine import crash
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.loop import Loop
from sexton.engine.scheduler import catch_up
from sexton.engine.scheduler.catch_up import CaughtUp
from sexton.engine.scheduler.due_batch import DueBatch
from sexton.engine.scheduler.horizon import METERED, MICROSECOND, PLAIN, Horizon, instant
from sexton.engine.scheduler.live_count import LiveCount
from sexton.engine.scheduler.set_aside import SetAside
from sexton.engine.scheduler.wheel import MICROSECONDS
from sexton.jobs.accounting import reserve
from sexton.jobs.planning import HICCUP
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import BY_KEY, Database, array_text, unavailable
from sexton.postgres.partitions import make_missing
from sexton.postgres.servers import LOST
from sexton.postgres.setting import set_setting
from sexton.postgres.transaction import Context

log = logging.getLogger("sexton")

# After a firing, wait so long for more due timers: a statement for few costs nearly as much as one for many.
GATHER_SECONDS = 0.005

STUCK_SECONDS = 0.05

# PostgreSQL counts it in 32 bits of milliseconds.
LONGEST_IDLE_SECONDS = 86_400.0

# For so long a locked job is expected to stay locked.
LOCKED_SECONDS = 5.0

# Jobs whose missed occurrences are planned and written together.
PLANNED_TOGETHER = 500

# In microseconds, as the wheel counts.
STANDSTILL = HICCUP // MICROSECOND

# How long a connection may take to be made, if the lease is shorter.
SHORTEST_CONNECT_SECONDS = 2.0

# A round ends after this long even if more is due, to notice leadership, changes and a stop.
ROUND_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Planning:
    """The missed occurrences of some jobs, while a thread plans them for the time `now`."""

    batch: DueBatch
    now: datetime
    plans: asyncio.Future[tuple[list[catch_up.Planned], list[tuple[int, int, str]]]]


class Scheduler(Loop):
    """Fires the shards that this node leads."""

    name = "scheduler"

    def __init__(self, database: Database, settings: Settings, leadership: Leadership) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._leadership = leadership
        self._time = leadership.membership.time
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._horizon = Horizon(database, settings, self._now)
        self._set_aside = SetAside(database, leadership.membership.name)
        self._due: deque[DueBatch] = deque()
        self._late: deque[DueBatch] = deque()
        self._planning: Planning | None = None
        self._locked: dict[int, float] = {}
        self.fired = 0
        self.caught_up = CaughtUp()
        self._telling = CaughtUp()
        self._firing = leadership.firing
        self._limit: asyncio.Timeout | None = None
        #: Occurrences that were skipped because of the quota of their namespace for live runs.
        self.over_quota = 0
        self.live_count = LiveCount(database, self.wake)
        self.listening: Callable[[], bool] = lambda: True
        # Called after every firing with its jobs, groups and scheduled times, as the statement takes them,
        # and the number of jobs.
        self.on_fired: Callable[[str, str, Sequence[datetime], int], None] | None = None
        leadership.on_change = self.wake
        leadership.give_up_waiting = self._give_up_waiting
        self._horizon.on_answer = self._firing.began
        leadership.wheel_entries = lambda: self.entries
        leadership.wheel_sizes = self._horizon.sizes

    @property
    def entries(self) -> int:
        return self._horizon.entries

    def timers_changed(self, payload: str) -> None:
        """A notification: `3:17` is a job in a shard, `3,4` are shards with many changes. An empty one means
        that notifications may have been lost."""
        shard, _, job_id = payload.partition(":")
        if job_id:
            self._horizon.changed_job(int(shard), int(job_id))
        else:
            named = {int(word) for word in payload.split(",") if word}
            self._horizon.changed(named or set(self._leadership.led))
        self.wake()

    async def setup(self) -> None:
        """Write the settings for catching up into the database: edits in any process also plan missed
        occurrences."""
        try:
            await self._connect()
            for name in ("catch_up_seconds", "catch_up_rate"):
                await set_setting(self._context(), name, getattr(self._settings, name))
        except LOST as error:
            await self.teardown()
            raise unavailable(error) from error

    async def teardown(self) -> None:
        await self.live_count.wait()
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def healthy(self, patience: float = 30.0) -> bool:
        return super().healthy(patience) and self._firing.able

    async def tick(self) -> float:
        self._firing.began()
        try:
            async with asyncio.timeout_at(None) as self._limit:
                seconds = await self._round()
        except TimeoutError as error:
            self._firing.failed()
            await self.teardown()
            raise unavailable(error) from error
        except BaseException:
            self._firing.failed()
            raise
        finally:
            self._limit = None
        self._firing.succeeded()
        return seconds

    async def _round(self) -> float:
        horizon = self._horizon
        if not self._leadership.trusted() or not self._time.known:
            self._forget()
            return 0.1
        fired = self.fired
        try:
            await self._connect()
            behind = bool(self._due or self._late or self._planning)
            await horizon.follow(self._leadership.led, listening=self.listening(), behind=behind)
            self._due = self._due or deque(horizon.pop_due())
            began, tried = clock.monotonic(), bool(self._due)
            while self._due and self._leadership.trusted() and clock.monotonic() - began < ROUND_SECONDS:
                await self._fire(self._due.popleft())
            if not self._due:
                await self._catch_up()
            await self._prove()
        except BaseException as error:
            # The popped entries are in no wheel any more, and the last statement may have been carried out:
            # start again from the timers.
            self._forget()
            if isinstance(error, (*LOST, asyncpg.QueryCanceledError)):
                await self.teardown()
                raise unavailable(error) from error
            if isinstance(error, asyncpg.CheckViolationError):
                await make_missing(self._database, error)
                return 0.0  # the partition is there now
            raise
        await self._set_aside.write()
        if self._due or self._late or self._planning is not None:
            return 0.0
        self._tell_catch_up()
        horizon.plan_ahead()
        if tried and self.fired == fired:
            return STUCK_SECONDS  # timers change, or the clock went back: do not spin
        gather = GATHER_SECONDS if self.fired > fired else 0.0
        proof = self._firing.proven_at + self._firing.proof_seconds - clock.monotonic()
        sleep = min(proof, horizon.seconds_to_sleep(listening=self.listening()))
        return max(sleep, gather, 0.0)

    def _give_up_waiting(self) -> None:
        """End the current round, and drop its connection."""
        if self._limit is not None:
            self._limit.reschedule(0)

    async def _prove(self) -> None:
        """If nothing was due for a while, prove that this node can fire: fire an empty batch."""
        if clock.monotonic() < self._firing.proven_at + self._firing.proof_seconds:
            return
        groups = ("revisions", "scheduled", "due", "next_scheduled", "next_due")
        nothing: dict[str, Any] = {name: [] for name in (*groups, "shards", "epochs")}
        await self._ask("firing/fire", jobs="{}", groups="{}", now=None, **nothing)

    def _forget(self) -> None:
        self._due.clear()
        self._late.clear()
        self._planning = None
        self._horizon.forget()

    async def _connect(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            return
        # If this process is stopped in the middle of a transaction, the node that takes over ends its
        # backend. But not behind a pooler, and not if the transaction has locked jobs and timers but no shard
        # yet.
        pooled, lease = self._database.pooled, self._settings.lease_seconds
        self._firing.rests()  # a new connection may take long
        idle = f"{min(lease * (1 if pooled else 3), LONGEST_IDLE_SECONDS) * 1000:.0f}ms"
        self._connection = self._horizon.connection = await self._database.connect(
            "sexton scheduler",
            timeout=max(lease, SHORTEST_CONNECT_SECONDS),
            command_timeout=self._settings.statement_timeout_seconds,
            lock_timeout="500ms",
            idle_in_transaction_session_timeout=idle,
            **BY_KEY,
        )
        self._firing.began()
        self._leadership.backend_pids = [] if pooled else [self._connection.get_server_pid()]

    # Firing

    async def _fire(self, batch: DueBatch) -> None:
        """Leave missed entries for planning. Fire plain jobs, special jobs and jobs under quotas
        separately."""
        timings = self._horizon.timings
        for _, entries in batch.parts:
            for timing, scheduled in set(zip(entries.timings, entries.scheduled, strict=True)):
                timings[timing].prepare(scheduled)
        for _, entries in batch.split(lambda row: timings[row[4]].problem is not None).parts:
            for job_id, _, _, revision, timing in entries.rows():
                self._set_aside.add(job_id, revision, timings[timing].problem)
        late = batch.split(self._is_missed)
        special = batch.split(lambda row: timings[row[4]].special != PLAIN)
        metered = special.split(lambda row: timings[row[4]].special == METERED)
        await self._fire_alike(batch)
        await self._fire_alike(special)
        await self._fire_alike(metered, metered=True)
        self._late.extend(late.cut(PLANNED_TOGETHER))

    def _is_missed(self, row: tuple[int, int, int, int, int]) -> bool:
        """Whether an entry was missed: it is past its grace, or the next one is due as well after a
        standstill."""
        _, due, scheduled, _, number = row
        timing, late = self._horizon.timings[number], self._now() - due
        if late > timing.grace:
            return True
        following = timing.next_after(scheduled) if late > STANDSTILL else None
        return following is not None and following - scheduled <= late

    async def _fire_alike(self, batch: DueBatch, *, metered: bool = False) -> None:
        if not self._still_led(batch):
            return
        timings = self._horizon.timings
        groups, numbers = batch.groups()
        nexts = [timings[timing].next_after(scheduled) for timing, scheduled, _, _ in groups]
        next_dues = [
            None if following is None else following + due - scheduled
            for following, (_, scheduled, due, _) in zip(nexts, groups, strict=True)
        ]
        parameters: dict[str, Any] = {
            "jobs": array_text(batch.jobs),
            "groups": array_text(numbers),
            "revisions": [revision for _, _, _, revision in groups],
            "scheduled": [instant(scheduled) for _, scheduled, _, _ in groups],
            "due": [instant(due) for _, _, due, _ in groups],
            "next_scheduled": [None if at is None else instant(at) for at in nexts],
            "next_due": [None if at is None else instant(at) for at in next_dues],
            "now": None,
            **self._fence(batch),
        }
        statement = "firing/fire"
        special = [
            following is None or timings[timing].special != PLAIN
            for following, (timing, _, _, _) in zip(nexts, groups, strict=True)
        ]
        if any(special):
            statement, parameters["may_end"] = "firing/fire_special", special
        if metered:
            statement, parameters["fresh"] = "firing/fire_metered", self.live_count.take_fresh()
        row = None if self._expects_locked(batch.jobs) else await self._send(statement, **parameters)
        row = row or await self._fire_free(statement, batch.jobs, numbers, parameters)
        if metered:
            self.over_quota += row["refused"]
            self.live_count.start(row["stale"])
        if row["fired"] and self.on_fired is not None:
            self.on_fired(parameters["jobs"], parameters["groups"], parameters["scheduled"], row["fired"])
        if not row["held"]:
            self._fenced(batch)
        elif row["fired"] == batch.size:
            self.fired += batch.size
            self._horizon.advance(batch, numbers, nexts, next_dues)
        else:
            # The wheel was wrong about some timers: read the whole batch again.
            self.fired += row["fired"]
            await self._horizon.read_again(batch)

    async def _fire_free(
        self, statement: str, jobs: list[int], numbers: list[int], parameters: dict[str, Any]
    ) -> asyncpg.Record:
        """Another transaction, such as an edit, has locked a row of the batch: fire the other jobs."""
        assert self._connection is not None
        async with self._connection.transaction():
            free = await self._lock_free(jobs, special=statement != "firing/fire")
            chosen = [(job, number) for job, number in zip(jobs, numbers, strict=True) if job in free]
            return await self._ask(
                statement,
                **{
                    **parameters,
                    "jobs": array_text([job for job, _ in chosen]),
                    "groups": array_text([number for _, number in chosen]),
                },
            )

    async def _lock_free(self, jobs: list[int], *, special: bool) -> set[int]:
        """Lock the jobs whose timer no other transaction has locked, nor, if `special`, the job or a run of
        it. The locks last until the end of the transaction, and keep the common order of locks."""
        statements = ["firing/lock_free_timers"]
        if special:
            statements = ["firing/lock_free_jobs", *statements, "firing/lock_free_slots"]
        free = jobs
        for statement in statements:
            rows = await self._database.fetch(statement, on=self._connection, jobs=free)
            free = [row[0] for row in rows]
        until = clock.monotonic() + LOCKED_SECONDS
        self._locked.update(dict.fromkeys(set(jobs).difference(free), until))
        return set(free)

    def _expects_locked(self, jobs: list[int]) -> bool:
        """Whether one of these jobs was locked a moment ago: then do not wait for it again."""
        if not self._locked:
            return False
        now = clock.monotonic()
        self._locked = {job: until for job, until in self._locked.items() if until > now}
        return not self._locked.keys().isdisjoint(jobs)

    async def _send(self, statement: str, **parameters: Any) -> asyncpg.Record | None:
        """Run a firing statement. None: another transaction, such as an edit, locked one of its rows for too
        long."""
        crash.point("fire.before")
        try:
            row = await self._ask(statement, **parameters)
        except asyncpg.LockNotAvailableError:
            return None
        crash.point("fire.after")
        return row

    async def _ask(self, statement: str, **parameters: Any) -> asyncpg.Record:
        """Run a firing statement, and return its row."""
        assert self._connection is not None
        row = await self._database.fetchrow(statement, on=self._connection, **parameters)
        assert row is not None
        self._firing.proven()
        return row

    def _still_led(self, batch: DueBatch) -> bool:
        """Leave out shards that were lost or handed over since; returns whether anything remains."""
        led, epochs = self._leadership.led, self._horizon.epochs
        return batch.keep(lambda shard: shard in epochs and led.get(shard) == epochs[shard])

    def _fence(self, batch: DueBatch) -> dict[str, list[int]]:
        shards = batch.shards
        return {"shards": shards, "epochs": [self._horizon.epochs[shard] for shard in shards]}

    def _fenced(self, batch: DueBatch) -> None:
        """A firing was refused. That is normal if this node has handed one of its shards over meanwhile."""
        handed_over, epochs = self._leadership.handed_over, self._horizon.epochs
        if not any(handed_over.get(shard) == epochs[shard] for shard in batch.shards):
            log.warning("fenced: a firing was refused, another node leads; reading everything again")
            self._leadership.fenced += 1
        self._leadership.wake()
        self._forget()

    # Catching up

    async def _catch_up(self) -> None:
        """Plan missed occurrences and write the plans, part by part, until something is due or has changed.
        The thread then goes on, and a later round writes its plans."""
        while self._leadership.trusted() and (self._late or self._planning is not None):
            if self._planning is None:
                self._planning = await self._plan(self._late.popleft())
            elif await self._is_planned(self._planning):
                planning, self._planning = self._planning, None
                await self._write_plans(planning)
            else:
                return

    async def _plan(self, batch: DueBatch) -> Planning | None:
        """Start to plan. None: this node has lost the shards."""
        if not self._still_led(batch):
            return None
        rows = await self._database.fetch("firing/load_missed", on=self._connection, jobs=batch.jobs)
        now = instant(self._now())
        return Planning(batch, now, asyncio.ensure_future(asyncio.to_thread(catch_up.plan_all, rows, now)))

    async def _is_planned(self, planning: Planning) -> bool:
        """Wait for the plans, but only until something is due or a change is notified."""
        woken = self._wake.is_set()
        self._wake.clear()
        waking = asyncio.ensure_future(self._wake.wait())
        until = clock.monotonic() + self._horizon.seconds_to_sleep(listening=self.listening())
        try:
            while not (planning.plans.done() or waking.done()) and (now := clock.monotonic()) < until:
                await self._prove()
                self._firing.rests()
                seconds = min(until - now, self._firing.proof_seconds)
                await asyncio.wait(
                    (planning.plans, waking), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
                )
        finally:
            waking.cancel()
            self._firing.began()
            if woken:
                self._wake.set()
        return planning.plans.done()

    async def _write_plans(self, planning: Planning) -> None:
        """Write the plans in one statement. It leaves timers alone that have changed since they were read."""
        batch, now = planning.batch, planning.now
        if not self._still_led(batch):
            return
        # The fence covers only the shards that are still led: the others have other leaders by now.
        ours = set(batch.jobs)
        all_planned, all_failed = planning.plans.result()
        planned = [one for one in all_planned if one[0]["job_id"] in ours]
        failed = [one for one in all_failed if one[0] in ours]
        for job_id, revision, problem in failed:
            self._horizon.leave_out(job_id)
            self._set_aside.add(job_id, revision, problem)
        missed = sum(one.missed for _, _, one in planned)
        fence: dict[str, Any] = {
            **self._fence(batch),
            "node": self._leadership.membership.name,
            "fresh": self.live_count.take_fresh(),
        }
        starts = list(await reserve(self._context(), missed))
        answer = None
        if not self._expects_locked(batch.jobs):
            answer = await self._send("firing/catch_up", **catch_up.parameters(planned, now, starts), **fence)
        if answer is None:
            assert self._connection is not None
            async with self._connection.transaction():
                free = await self._lock_free(batch.jobs, special=True)
                some = (one for one in planned if one[0]["job_id"] in free)
                answer = await self._ask("firing/catch_up", **catch_up.parameters(some, now, starts), **fence)
        if not answer["held"]:
            self._fenced(batch)
            return
        self.over_quota += answer["refused"]
        self.live_count.start(answer["stale"])
        for counted in (self.caught_up, self._telling):
            counted.add(answer, starts)
        await self._horizon.read_again(batch)

    def _tell_catch_up(self) -> None:
        """Once everything due has fired, log what was caught up."""
        if not self._telling.jobs:
            return
        told, self._telling = self._telling, CaughtUp()
        told.tell()

    def _context(self) -> Context:
        source = Source("sexton", self._leadership.membership.name)
        return Context(self._database, connection=self._connection, source=source)

    def _now(self) -> int:
        return int(self._time.now() * MICROSECONDS)
