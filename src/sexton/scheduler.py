"""The scheduler: fires what is due, on time, once.

One round: follow the leadership (take in new shards, drop lost ones), fill the wheels for the next minutes,
fire everything that is due in batches, and sleep until the next entry falls due. The next occurrence of each
entry is worked out while there is time, once for each distinct schedule and instant, not once for each job.

A firing is one statement for a whole batch (`statements/fire.sql`): it checks the epochs of the batch's
shards, advances each timer only if it still is what the wheel says, and inserts the runs. So a wheel may be
wrong without harm: a timer that has changed since is a miss, and is read again. An answer that was lost means
that everything is read again; what was fired is then simply not there any more.

Entries that are later than their job's grace are not fired but planned (`planning.plan`): their occurrences
were missed, and the job's policy decides. That is also one statement for a batch (`statements/catch_up.sql`).

The scheduler never runs user code and never waits for a run.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from sexton import clock
from sexton.cluster.leadership import DatabaseClock, Leadership
from sexton.config import Settings
from sexton.errors import SextonError
from sexton.loop import Loop
from sexton.model import PRIORITY_LOWEST, JobSpec, Trigger
from sexton.planning import Plan, Policy, plan, schedule_of
from sexton.postgres.database import BY_KEY, LOST, Database, unavailable
from sexton.schedules import Schedule
from sexton.wheel import MICROSECONDS, Entries, Wheel

log = logging.getLogger("sexton")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DEFAULT_GRACE = 60

# Changed shards are read again at most this often; a bulk import changes all of them all the time.
RELOAD_SECONDS = 0.5

# After a firing, wait so long for more to fall due: a statement for few costs nearly as much as for many.
GATHER_SECONDS = 0.005

# How often it is looked for timers that are overdue though the wheels hold nothing that is due.
OVERDUE_SECONDS = 5.0

# How many next occurrences are remembered for one schedule, and how many schedules beside those in use.
REMEMBERED = 1000
SPARE_TIMINGS = 50_000


@dataclass(slots=True)
class Timing:
    """What many timers share: a schedule, a grace, and whether firing them takes more than a new run
    (`special`: their runs are counted or must not overlap)."""

    schedule: Schedule | None
    grace: int
    special: bool
    once: bool = False
    _next: dict[int, int | None] = field(default_factory=dict)

    def next_after(self, scheduled: int) -> int | None:
        """The occurrence after one, in microseconds since 1970."""
        if self.once:
            return None
        assert self.schedule is not None
        if scheduled in self._next:
            return self._next[scheduled]
        if len(self._next) >= REMEMBERED:
            self._next.clear()
        found = self.schedule.next_after(_instant(scheduled))
        self._next[scheduled] = following = None if found is None else _microseconds(found)
        return following


@dataclass(slots=True)
class Batch:
    """Entries to fire together, in parts by shard."""

    parts: list[tuple[int, Entries]] = field(default_factory=list)
    size: int = 0

    def add(self, shard: int, entries: Entries) -> None:
        self.parts.append((shard, entries))
        self.size += len(entries)


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
        self._wheels: dict[int, Wheel] = {}
        self._epochs: dict[int, int] = {}
        self._loaded_until: dict[int, int] = {}
        self._changed: set[int] = set()
        self._reload_at = 0.0
        self._refill_at = 0.0
        self._polled_until = 0
        self._overdue_at = 0.0
        self._timings: list[Timing] = []
        self._timing_numbers: dict[tuple[UUID, int | None, bool], int] = {}
        self._once_numbers: dict[tuple[int, bool], int] = {}
        self.fired = 0
        self.caught_up = 0
        self.listening: Callable[[], bool] = lambda: True
        leadership.on_change = self.wake

    @property
    def entries(self) -> int:
        return sum(wheel.size for wheel in self._wheels.values())

    def timers_changed(self, payload: str) -> None:
        """A notification: timers of these shards changed; of all of them, if it does not say."""
        named = {int(word) for word in payload.split(",") if word.isdigit()}
        self._changed |= named or set(self._leadership.led)
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
        if not self._leadership.trusted() or not self._time.known:
            self._forget()
            return 0.1
        try:
            await self._connect()
            await self._follow_leadership()
            fired = self.fired
            await self._look_for_overdue()
            while self._leadership.trusted() and (due := self._pop_due()):
                for batch in due:
                    await self._fire(batch)
        except BaseException as error:
            # What was popped is in no wheel any more, and whether the last statement was carried out is not
            # known: start again from the timers.
            self._forget()
            if isinstance(error, (*LOST, asyncpg.QueryCanceledError)):
                await self.teardown()
                raise unavailable(error) from error
            raise
        self._plan_ahead()
        return max(self._sleep_until_next(), GATHER_SECONDS if self.fired > fired else 0.0)

    # Filling the wheels

    async def _connect(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            return
        self._connection = await asyncpg.connect(
            self._database.url,
            timeout=10,
            command_timeout=self._settings.statement_timeout_seconds,
            server_settings={"application_name": "sexton scheduler", "timezone": "UTC", **BY_KEY},
        )
        await self._connection.execute("set lock_timeout = '500ms'")
        self._leadership.backend_pids = [self._connection.get_server_pid()]

    def _forget(self) -> None:
        self._wheels.clear()
        self._epochs.clear()
        self._loaded_until.clear()
        self._changed.clear()

    async def _follow_leadership(self) -> None:
        """Load what was taken or changed, drop what was lost, and look further ahead every now and then."""
        now = clock.monotonic()
        led = dict(self._leadership.led)
        for shard in [shard for shard in self._wheels if led.get(shard) != self._epochs[shard]]:
            del self._wheels[shard], self._epochs[shard], self._loaded_until[shard]
        new = [shard for shard in led if shard not in self._wheels]
        if self._changed and now >= self._reload_at:
            self._reload_at = now + RELOAD_SECONDS
            new += [shard for shard in self._changed if shard in self._wheels]
            self._changed.clear()
        if new:
            horizon = self._horizon()
            fresh = {shard: Wheel() for shard in new}
            await self._load(new, None, horizon, fresh)
            for shard in new:
                self._wheels[shard] = fresh[shard]
                self._epochs[shard] = led[shard]
                self._loaded_until[shard] = horizon
        if now >= self._refill_at:
            self._refill_at = now + self._settings.refill_seconds
            await self._refill()
        if not self.listening():
            await self._poll()

    async def _refill(self) -> None:
        if len(self._timing_numbers) > 2 * self.entries + SPARE_TIMINGS:
            # Schedules of jobs that are gone, or far away, have piled up: learn those in use anew.
            self._forget()
            self._timings.clear()
            self._timing_numbers.clear()
            self._once_numbers.clear()
            self._refill_at = 0.0
            return
        horizon = self._horizon()
        by_edge: dict[int, list[int]] = {}
        for shard, until in self._loaded_until.items():
            by_edge.setdefault(until, []).append(shard)
        for until, shards in by_edge.items():
            await self._load(shards, until, horizon, self._wheels)
            for shard in shards:
                self._loaded_until[shard] = horizon

    async def _look_for_overdue(self) -> None:
        """Nothing may depend on the wheels alone: a timer that a notification, a refill or a reload missed is
        found here."""
        moment = clock.monotonic()
        if moment < self._overdue_at or self._earliest() <= self._now():
            return
        self._overdue_at = moment + OVERDUE_SECONDS
        await self._load(list(self._wheels), None, self._now() - MICROSECONDS, self._wheels)

    async def _poll(self) -> None:
        """Without notifications: look every second for what falls due within two."""
        near = self._now() + 2 * MICROSECONDS
        if near - self._polled_until >= self._settings.poll_seconds * MICROSECONDS:
            await self._load(list(self._wheels), self._now() - MICROSECONDS, near, self._wheels)
            self._polled_until = near

    async def _load(self, shards: list[int], after: int | None, until: int, wheels: dict[int, Wheel]) -> None:
        """Read the timers of a window (after, until] into the wheels."""
        assert self._connection is not None
        lower = datetime(1, 1, 1, tzinfo=UTC) if after is None else _instant(after)
        rows = await self._connection.fetch(
            self._database.statement("load_timers"), shards, lower, _instant(until)
        )
        await self._take_in(rows, wheels)

    async def _take_in(self, rows: list[asyncpg.Record], wheels: dict[int, Wheel]) -> None:
        await self._learn(rows)
        numbers = self._timing_numbers
        for job_id, shard, due_at, scheduled_at, revision, timing_key, grace, special in rows:
            if (timing_key, grace, special) not in numbers:
                self._changed.add(shard)
                continue
            wheels[shard].add(
                job_id,
                _microseconds(due_at),
                _microseconds(scheduled_at),
                revision,
                numbers[timing_key, grace, special],
            )

    async def _learn(self, rows: list[asyncpg.Record]) -> None:
        """Read the schedules of timing keys that are not known yet: one job for each is enough."""
        assert self._connection is not None
        unknown: dict[tuple[UUID, int | None, bool], int] = {}
        for row in rows:
            key = (row["timing_key"], row["grace_seconds"], row["special"])
            if key not in self._timing_numbers:
                unknown.setdefault(key, row["job_id"])
        if not unknown:
            return
        found = await self._connection.fetch(
            self._database.statement("load_schedules"),
            list(unknown.values()),
        )
        by_id = {row["id"]: row for row in found}
        for key, job_id in unknown.items():
            job = by_id.get(job_id)
            if job is None or job["timing_key"] != key[0]:
                continue  # changed since its timer was read: the timer is read again
            self._timing_numbers[key] = self._number(job, key)

    def _number(self, job: asyncpg.Record, key: tuple[UUID, int | None, bool]) -> int:
        """A new timing; all that happen once are alike, for nothing comes after."""
        grace, special = DEFAULT_GRACE if key[1] is None else key[1], key[2]
        if job["kind"] == "once":
            if (grace, special) not in self._once_numbers:
                self._once_numbers[grace, special] = len(self._timings)
                self._timings.append(Timing(self._schedule_of(job), grace, special, once=True))
            return self._once_numbers[grace, special]
        self._timings.append(Timing(self._schedule_of(job), grace, special))
        return len(self._timings) - 1

    def _schedule_of(self, row: asyncpg.Record) -> Schedule | None:
        """A job whose schedule cannot be read is set aside alone; the others go on."""
        try:
            return schedule_of(dict(row))
        except SextonError as error:
            log.error("job %s is set aside: its schedule cannot be read: %s", row["name"], error)
            return None

    # Firing

    def _pop_due(self) -> list[Batch]:
        """Everything due now, in batches; what is past its grace comes in batches of its own."""
        now, size = self._now(), self._settings.batch_size
        batches: list[Batch] = []
        current = Batch()
        for shard, wheel in self._wheels.items():
            due = wheel.pop_due(now)
            for start in range(0, len(due), size):
                part = (
                    due
                    if len(due) <= self._settings.batch_size
                    else _slice(due, start, self._settings.batch_size)
                )
                current.add(shard, part)
                if current.size >= size:
                    batches.append(current)
                    current = Batch()
        if current.size:
            batches.append(current)
        return batches

    async def _fire(self, batch: Batch) -> None:
        batch.parts = [part for part in batch.parts if part[0] in self._wheels]  # lost since it was popped
        batch.size = sum(len(entries) for _, entries in batch.parts)
        self._split(batch, lambda row: self._timings[row[4]].schedule is None)  # set aside
        late = self._split(
            batch, lambda row: self._now() - row[1] > self._timings[row[4]].grace * MICROSECONDS
        )
        if late.size:
            await self._catch_up(late)
        special = self._split(batch, lambda row: self._timings[row[4]].special)
        for part in (batch, special):
            if part.size:
                await self._fire_alike(part)

    async def _fire_alike(self, batch: Batch) -> None:
        groups: dict[tuple[int, int, int], int] = {}
        places: list[int] = []
        for _, entries in batch.parts:
            for timing, scheduled, due in zip(entries.timings, entries.scheduled, entries.due, strict=True):
                places.append(groups.setdefault((timing, scheduled, due), len(groups) + 1))
        nexts = [self._timings[timing].next_after(scheduled) for timing, scheduled, _ in groups]
        next_dues = [
            None if following is None else following + due - scheduled
            for following, (_, scheduled, due) in zip(nexts, groups, strict=True)
        ]
        arguments: tuple[Any, ...] = (
            [job_id for _, entries in batch.parts for job_id in entries.job_ids],
            [revision for _, entries in batch.parts for revision in entries.revisions],
            places,
            [_instant(scheduled) for _, scheduled, _ in groups],
            [_instant(due) for _, _, due in groups],
            [None if at is None else _instant(at) for at in nexts],
            [None if at is None else _instant(at) for at in next_dues],
            *self._fence(batch),
            None,
        )
        special = [
            following is None or self._timings[timing].special
            for following, (timing, _, _) in zip(nexts, groups, strict=True)
        ]
        statement = "fire_special" if any(special) else "fire"
        if any(special):
            arguments += (special,)
        row = await self._send(statement, *arguments) or await self._fire_free(statement, arguments)
        if not row["held"]:
            self._fenced()
        elif row["fired"] == batch.size:
            self.fired += batch.size
            self._advance(batch, places, nexts, next_dues)
        else:
            # Some timers were not what the wheel said: read the whole batch again.
            self.fired += row["fired"]
            await self._put_back(batch)

    async def _fire_free(self, statement: str, arguments: tuple[Any, ...]) -> asyncpg.Record:
        """Somebody, such as an edit, holds a timer of the batch: fire those that nobody holds."""
        assert self._connection is not None
        jobs, revisions, places, *rest = arguments
        async with self._connection.transaction():
            rows = await self._connection.fetch(self._database.statement("lock_free_timers"), jobs)
            free = {row["job_id"] for row in rows}
            chosen = [number for number, job_id in enumerate(jobs) if job_id in free]
            columns = [[column[number] for number in chosen] for column in (jobs, revisions, places)]
            row = await self._connection.fetchrow(self._database.statement(statement), *columns, *rest)
        assert row is not None
        return row

    async def _send(self, statement: str, *arguments: Any) -> asyncpg.Record | None:
        """Run a firing statement. None: somebody else, such as an edit, held one of its rows for too long."""
        assert self._connection is not None
        try:
            return await self._connection.fetchrow(self._database.statement(statement), *arguments)
        except asyncpg.LockNotAvailableError:
            return None

    def _fence(self, batch: Batch) -> tuple[list[int], list[int]]:
        shards = sorted({shard for shard, _ in batch.parts})
        return shards, [self._epochs[shard] for shard in shards]

    def _fenced(self) -> None:
        log.warning("fenced: a firing was refused, another node leads; reading everything again")
        self._leadership.fenced += 1
        self._leadership.wake()
        self._forget()

    def _advance(
        self, batch: Batch, places: list[int], nexts: list[int | None], next_dues: list[int | None]
    ) -> None:
        """Put the next occurrences into the wheels, as far as they are within sight."""
        start = 0
        for shard, entries in batch.parts:
            wheel, until = self._wheels[shard], self._loaded_until[shard]
            end = start + len(entries)
            same = places[start] if len(set(places[start:end])) == 1 else 0
            if same:
                following, due = nexts[same - 1], next_dues[same - 1]
                if following is not None and due is not None and due <= until:
                    size = len(entries)
                    wheel.add_all(
                        Entries(
                            entries.job_ids,
                            array("q", [due]) * size,
                            array("q", [following]) * size,
                            entries.revisions,
                            entries.timings,
                        )
                    )
            else:
                for place, job_id, revision, timing in zip(
                    places[start:end], entries.job_ids, entries.revisions, entries.timings, strict=True
                ):
                    following, due = nexts[place - 1], next_dues[place - 1]
                    if following is not None and due is not None and due <= until:
                        wheel.add(job_id, due, following, revision, timing)
            start = end

    async def _put_back(self, batch: Batch) -> None:
        """Read the timers of a batch again."""
        assert self._connection is not None
        jobs = [job_id for _, entries in batch.parts for job_id in entries.job_ids]
        rows = await self._connection.fetch(
            self._database.statement("load_timers_of"),
            jobs,
        )
        near = [
            row
            for row in rows
            if row["shard"] in self._wheels
            and _microseconds(row["due_at"]) <= self._loaded_until[row["shard"]]
        ]
        await self._take_in(near, self._wheels)

    # Catching up

    def _split(self, batch: Batch, chosen: Callable[[tuple[int, int, int, int, int]], bool]) -> Batch:
        """Take some entries out of a batch. Entries of one timing and due time go the same way, so a part
        that has only one of each is asked about once."""
        taken = Batch()
        parts = []
        for shard, entries in batch.parts:
            if len(set(zip(entries.timings, entries.due, strict=True))) == 1:
                yes = chosen(next(iter(entries.rows())))
                out, left = (entries, Entries()) if yes else (Entries(), entries)
            else:
                out, left = Entries(), Entries()
                for row in entries.rows():
                    (out if chosen(row) else left).add(*row)
            if out:
                taken.add(shard, out)
            if left:
                parts.append((shard, left))
        batch.parts, batch.size = parts, sum(len(entries) for _, entries in parts)
        return taken

    async def _catch_up(self, batch: Batch) -> None:
        """Plan what was missed, each distinct case once, and write it in one statement."""
        assert self._connection is not None
        jobs = [job_id for _, entries in batch.parts for job_id in entries.job_ids]
        rows = await self._connection.fetch(
            self._database.statement("load_missed"),
            jobs,
        )
        now = _instant(self._now())
        case_plans: dict[object, Plan] = {}
        planned: list[tuple[asyncpg.Record, timedelta, Plan]] = []
        for row in rows:
            jitter = row["due_at"] - row["scheduled_at"]
            remaining = None if row["max_runs"] is None else row["max_runs"] - row["fired_count"]
            case = (row["timing_key"], row["options"], row["scheduled_at"], jitter, remaining)
            if case not in case_plans:
                policy = Policy.of(_spec_of(row))
                schedule = schedule_of(dict(row))
                case_plans[case] = plan(schedule, policy, row["scheduled_at"], jitter, now, remaining)
            planned.append((row, jitter, case_plans[case]))
        answer = await self._send("catch_up", *self._catch_up_arguments(planned, now), *self._fence(batch))
        if answer is not None and not answer["held"]:
            self._fenced()
            return
        if answer is not None:
            self.caught_up += answer["moved"]
        await self._put_back(batch)

    def _catch_up_arguments(
        self, planned: Iterable[tuple[asyncpg.Record, timedelta, Plan]], now: datetime
    ) -> list[list[Any]]:
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
                available = now + timedelta(seconds=caught_up / self._settings.catch_up_rate) if late else now
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

    # Waiting

    def _plan_ahead(self) -> None:
        """Work out the next occurrences of what falls due first, before it does."""
        for wheel in self._wheels.values():
            for timing, scheduled in wheel.first_cases():
                if self._timings[timing].schedule is not None:
                    self._timings[timing].next_after(scheduled)

    def _sleep_until_next(self) -> float:
        moment = clock.monotonic()
        seconds = [
            max(0.0, self._refill_at - moment),
            max(0.0, self._overdue_at - moment),
            max(0.0, (self._earliest() - self._now()) / MICROSECONDS),
        ]
        if self._changed:
            seconds.append(max(0.0, self._reload_at - moment))
        if not self.listening():
            seconds.append(self._settings.poll_seconds)
        return min(seconds)

    def _earliest(self) -> float:
        """When the first entry of all wheels falls due."""
        dues = [due for wheel in self._wheels.values() if (due := wheel.next_due()) is not None]
        return min(dues, default=float("inf"))

    def _now(self) -> int:
        return int(self._time.now() * MICROSECONDS)

    def _horizon(self) -> int:
        return self._now() + int(self._settings.horizon_seconds * MICROSECONDS)


def _spec_of(row: asyncpg.Record) -> JobSpec:
    options = msgspec.json.decode(row["options"]) if isinstance(row["options"], str) else dict(row["options"])
    return msgspec.convert(
        {**options, "name": row["name"], "schedule": row["schedule"]}, JobSpec, strict=False
    )


def _slice(entries: Entries, start: int, size: int) -> Entries:
    end = start + size
    return Entries(
        entries.job_ids[start:end],
        entries.due[start:end],
        entries.scheduled[start:end],
        entries.revisions[start:end],
        entries.timings[start:end],
    )


def _append(columns: list[list[Any]], row: tuple[Any, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def _instant(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)
