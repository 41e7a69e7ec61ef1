"""The timers of the next minutes, for the shards that this node leads: one wheel per shard.

The wheels are filled from the timers: completely when a shard is taken or changed, further ahead now and
then, and by each firing.

Many timers share a schedule. Each distinct schedule is read and parsed once (`Timing`), and its next
occurrence is computed once for all of them, before it is needed.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from sexton import clock
from sexton.config import Settings
from sexton.engine.scheduler.due_batch import DueBatch
from sexton.engine.scheduler.wheel import MICROSECONDS, Entries, Wheel
from sexton.errors import SextonError
from sexton.jobs.planning import grace_of, schedule_of
from sexton.jobs.spec import DEFAULTS
from sexton.postgres.database import Database
from sexton.schedules import Schedule
from sexton.schedules.interval import read_seconds

log = logging.getLogger("sexton")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# Changed shards are read again at most this often: a bulk import changes all of them all the time.
RELOAD_SECONDS = 0.5

# How often to look for overdue timers that no wheel holds.
OVERDUE_SECONDS = 10.0

# How many next occurrences one schedule remembers.
REMEMBERED = 1000
# How many jobs of a timing key are asked for its schedule.
ASKED = 3

# How many shards are read at once when they are taken.
TOGETHER = 8
# How many schedules are remembered beside those in use.
SPARE_TIMINGS = 50_000

# How timers are fired, as statements/parts/timer_kind.sql says it.
PLAIN, SPECIAL, METERED = range(3)

# Up to how many shards the node shows the size of each wheel.
SIZES = 256


@dataclass(slots=True)
class Timing:
    """What many timers share: a schedule, a grace, and whether a firing takes more than a new run. SPECIAL:
    their runs are counted or must not overlap; METERED: their namespace has a quota."""

    schedule: Schedule | None  # None if `once`, `step` or `problem` say enough
    grace: int  # in microseconds
    special: int
    once: bool = False
    step: int | None = None  # of a plain interval, in microseconds
    problem: str | None = None  # why the schedule cannot be computed: its jobs are set aside
    _next: dict[int, int | None] = field(default_factory=dict)

    def next_after(self, scheduled: int) -> int | None:
        """The occurrence after one, in microseconds since 1970."""
        if self.once:
            return None
        if self.step is not None:
            return scheduled + self.step
        assert self.schedule is not None
        if scheduled in self._next:
            return self._next[scheduled]
        if len(self._next) >= REMEMBERED:
            self._next.clear()
        found = self.schedule.next_after(instant(scheduled))
        self._next[scheduled] = following = None if found is None else microseconds(found)
        return following

    def prepare(self, scheduled: int) -> None:
        """Compute the next occurrence in advance. A schedule that fails is set aside alone."""
        if self.schedule is not None:
            try:
                self.next_after(scheduled)
            except (SextonError, OverflowError) as error:
                log.error("jobs of the schedule %r are set aside: %s", self.schedule.text, error)
                self.schedule, self.problem = None, str(error)


class Horizon:
    """The wheels of the shards in `epochs`, each led with its epoch."""

    def __init__(self, database: Database, settings: Settings, now: Callable[[], int]) -> None:
        self._database = database
        self._settings = settings
        self._now = now
        self._wheels: dict[int, Wheel] = {}
        self._loaded_until: dict[int, int] = {}
        self._changed: set[int] = set()
        self._reload_at = 0.0
        self._refill_at = 0.0
        self._overdue_at = 0.0
        self._polled_until = 0
        self._left_out: set[int] = set()
        self._changed_jobs: set[int] = set()
        self._metered: list[str] | None = None
        self._timing_numbers: dict[tuple[UUID, int | None, int], int] = {}
        self._shared_numbers: dict[tuple[object, ...], int] = {}
        self.connection: asyncpg.Connection[asyncpg.Record] | None = None
        # Called after every answer.
        self.on_answer: Callable[[], None] = lambda: None
        self.timings: list[Timing] = []
        self.epochs: dict[int, int] = {}

    @property
    def entries(self) -> int:
        return sum(wheel.size for wheel in self._wheels.values())

    def sizes(self) -> dict[str, int]:
        """The number of entries by shard, for people; a thousand shards are too many to show."""
        if len(self._wheels) > SIZES:
            return {}
        return {str(shard): wheel.size for shard, wheel in self._wheels.items() if wheel.size}

    def forget(self) -> None:
        """Empty the wheels: they are read again from the timers."""
        self._wheels.clear()
        self.epochs.clear()
        self._loaded_until.clear()
        self._changed.clear()
        self._changed_jobs.clear()

    def changed(self, shards: set[int]) -> None:
        """Timers of these shards have changed."""
        self._changed |= shards

    def changed_job(self, shard: int, job_id: int) -> None:
        """The timer of one job has changed."""
        if shard in self._wheels:
            self._changed_jobs.add(job_id)
        else:
            self._changed.add(shard)

    def leave_out(self, job_id: int) -> None:
        """Leave a job out until the next refill: it was changed while it was read, or cannot be planned."""
        self._left_out.add(job_id)

    async def follow(self, led: Mapping[int, int], *, listening: bool, behind: bool = False) -> None:
        """Load shards that were taken or changed, drop lost ones, and look further ahead now and then.
        `behind`: some popped entries still wait for their firing; they are overdue, but not missing from the
        wheels."""
        now = clock.monotonic()
        led = dict(led)
        for shard in [shard for shard in self._wheels if led.get(shard) != self.epochs[shard]]:
            del self._wheels[shard], self.epochs[shard], self._loaded_until[shard]
        if self._metered is None or now >= self._overdue_at:
            await self._watch_quotas()
        new = [shard for shard in led if shard not in self._wheels]
        if self._changed and now >= self._reload_at:
            self._reload_at = now + RELOAD_SECONDS
            new += [shard for shard in self._changed if shard in self._wheels]
            self._changed.clear()
        if new:
            horizon = self._edge()
            fresh = {shard: Wheel() for shard in new}
            for first in range(0, len(new), TOGETHER):  # what is read stays in memory until it is packed
                await self._load(new[first : first + TOGETHER], None, horizon, fresh)
            for shard in new:
                self._wheels[shard] = fresh[shard]
                self.epochs[shard] = led[shard]
                self._loaded_until[shard] = horizon
        if self._changed_jobs:
            jobs, self._changed_jobs = list(self._changed_jobs), set()
            self._left_out.difference_update(jobs)
            await self._read_timers(jobs)
        if now >= self._refill_at:
            self._refill_at = now + self._settings.refill_seconds
            await self._refill(behind=behind)
        if not listening:
            await self._poll()
        if not behind:
            await self._look_for_overdue()

    def pop_due(self) -> list[DueBatch]:
        """All entries that are due now, in batches.

        If there are many, every batch takes its share from every shard: the jobs of a shard are in the order
        of their ids, and shards are spread over all ids, so a batch has neighbours. In the hot second that
        saves a quarter of the processor time of PostgreSQL, which reads each page of its indexes once.
        """
        now, size = self._now(), self._settings.batch_size
        popped = [(shard, wheel.pop_due(now)) for shard, wheel in self._wheels.items()]
        due = [(shard, entries.in_order()) for shard, entries in popped if entries]
        count = -(-sum(len(entries) for _, entries in due) // size)
        batches = [DueBatch() for _ in range(count)]
        for shard, entries in due:
            for number, batch in enumerate(batches):
                start, end = number * len(entries) // count, (number + 1) * len(entries) // count
                if start < end:
                    batch.add(shard, entries if count == 1 else entries.slice(start, end))
        return [batch for batch in batches if batch.size]

    def advance(
        self, batch: DueBatch, groups: list[int], nexts: list[int | None], next_dues: list[int | None]
    ) -> None:
        """Put the next occurrences into the wheels, if they fall due before the horizon. `groups` has the
        number of each job's group, from 1."""
        start = 0
        for shard, entries in batch.parts:
            wheel, until = self._wheels[shard], self._loaded_until[shard]
            end = start + len(entries)
            same = groups[start] if len(set(groups[start:end])) == 1 else 0
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
                for group, job_id, revision, timing in zip(
                    groups[start:end], entries.job_ids, entries.revisions, entries.timings, strict=True
                ):
                    following, due = nexts[group - 1], next_dues[group - 1]
                    if following is not None and due is not None and due <= until:
                        wheel.add(job_id, due, following, revision, timing)
            start = end

    async def read_again(self, batch: DueBatch) -> None:
        """Put the timers of a batch back as they are now."""
        await self._read_timers(batch.jobs)

    async def _read_timers(self, jobs: list[int]) -> None:
        rows = await self._fetch("firing/load_timers_of", jobs=jobs)
        near = [
            row
            for row in rows
            if row["shard"] in self._wheels
            and microseconds(row["due_at"]) <= self._loaded_until[row["shard"]]
        ]
        await self._take_in(near, self._wheels)

    def plan_ahead(self) -> None:
        """Compute the next occurrences of the first entries before these are due."""
        for wheel in self._wheels.values():
            for timing, scheduled in wheel.first_cases():
                self.timings[timing].prepare(scheduled)

    def seconds_to_sleep(self, *, listening: bool) -> float:
        """How long nothing is due, and nothing must be read."""
        moment = clock.monotonic()
        seconds = [
            self._refill_at - moment,
            self._overdue_at - moment,
            (self._earliest() - self._now()) / MICROSECONDS,
        ]
        if self._changed:
            seconds.append(self._reload_at - moment)
        if not listening:
            seconds.append(self._settings.poll_seconds)
        return max(0.0, min(seconds))

    async def _refill(self, *, behind: bool) -> None:
        self._left_out.clear()
        if not behind and len(self._timing_numbers) > 2 * self.entries + SPARE_TIMINGS:
            # Too many schedules are of jobs that are gone or far ahead: learn only those in use again.
            self.forget()
            self.timings.clear()
            self._timing_numbers.clear()
            self._shared_numbers.clear()
            self._refill_at = 0.0
            return
        horizon = self._edge()
        by_edge: dict[int, list[int]] = {}
        for shard, until in self._loaded_until.items():
            by_edge.setdefault(until, []).append(shard)
        for until, shards in by_edge.items():
            await self._load(shards, until, horizon, self._wheels)
            for shard in shards:
                self._loaded_until[shard] = horizon

    async def _watch_quotas(self) -> None:
        """If other namespaces than before have quotas, their timers fire in another way: read them again."""
        names = [row["name"] for row in await self._fetch("firing/list_metered")]
        if self._metered is not None and names != self._metered:
            self._changed |= set(self._wheels)
        self._metered = names

    async def _look_for_overdue(self) -> None:
        """Find timers that a notification, a refill or a reload has missed: nothing may depend on the wheels
        alone."""
        moment = clock.monotonic()
        if moment < self._overdue_at:
            return
        self._overdue_at = moment + OVERDUE_SECONDS
        oldest = int(min(self._now(), self._earliest()))
        await self._load(list(self._wheels), None, oldest - MICROSECONDS, self._wheels)

    async def _poll(self) -> None:
        """Without notifications: every `poll_seconds` (a second) read the timers that fall due until the next
        poll, and a second longer."""
        pause = int(self._settings.poll_seconds * MICROSECONDS)
        near = self._now() + pause + MICROSECONDS
        if near - self._polled_until >= pause:
            await self._load(list(self._wheels), self._now() - pause, near, self._wheels)
            self._polled_until = near

    async def _load(self, shards: list[int], after: int | None, until: int, wheels: dict[int, Wheel]) -> None:
        """Read the timers of a window (after, until] into the wheels."""
        lower = datetime(1, 1, 1, tzinfo=UTC) if after is None else instant(after)
        rows = await self._fetch("firing/load_timers", shards=shards, after=lower, until=instant(until))
        await self._take_in(rows, wheels)

    async def _take_in(self, rows: list[asyncpg.Record], wheels: dict[int, Wheel]) -> None:
        await self._learn(rows)
        numbers = self._timing_numbers
        for job_id, shard, due_at, scheduled_at, revision, timing_key, grace, special in rows:
            if (timing_key, grace, special) not in numbers:
                self.leave_out(job_id)
            if job_id in self._left_out:
                continue
            wheels[shard].add(
                job_id,
                microseconds(due_at),
                microseconds(scheduled_at),
                revision,
                numbers[timing_key, grace, special],
            )

    async def _learn(self, rows: list[asyncpg.Record]) -> None:
        """Read the schedules of unknown timing keys. One job for each would be enough, but a caller may have
        edited it since its timer was read: so ask a few more."""
        unknown: dict[tuple[UUID, int | None, int], list[int]] = {}
        for row in rows:
            key = (row["timing_key"], row["grace_seconds"], row["special"])
            if key not in self._timing_numbers:
                jobs = unknown.setdefault(key, [])
                if len(jobs) < ASKED:
                    jobs.append(row["job_id"])
        if not unknown:
            return
        asked = [job_id for jobs in unknown.values() for job_id in jobs]
        found = await self._fetch("firing/load_schedules", jobs=asked)
        by_id = {row["id"]: row for row in found}
        for key, jobs in unknown.items():
            alike = [by_id[job] for job in jobs if job in by_id and by_id[job]["timing_key"] == key[0]]
            if alike:
                self._timing_numbers[key] = self._number(alike[0], key)

    def _number(self, job: asyncpg.Record, key: tuple[UUID, int | None, int]) -> int:
        """The number of a new timing. All one-offs share one, since nothing follows them, and so do plain
        intervals of the same length. Each has its own timing key, but they must not fill the memory with
        schedules."""
        grace = grace_of(DEFAULTS.grace_seconds if key[1] is None else key[1]) // MICROSECOND
        special = key[2]
        once = job["kind"] == "once"
        step = _step(job)
        shared = (once, step, grace, special)
        alike = once or step is not None
        if alike and shared in self._shared_numbers:
            return self._shared_numbers[shared]
        timing = Timing(None, grace, special, once, step)
        try:
            timing.schedule = None if alike else schedule_of(dict(job))
        except SextonError as error:
            # Only this job is set aside.
            log.error("job %s is set aside: its schedule cannot be read: %s", job["name"], error)
            timing.problem = str(error)
        self.timings.append(timing)
        number = len(self.timings) - 1
        if alike:
            self._shared_numbers[shared] = number
        return number

    async def _fetch(self, statement: str, **parameters: Any) -> list[asyncpg.Record]:
        assert self.connection is not None
        rows = await self._database.fetch(statement, on=self.connection, **parameters)
        self.on_answer()
        return rows

    def _earliest(self) -> float:
        """When the first entry of all wheels falls due."""
        dues = [due for wheel in self._wheels.values() if (due := wheel.next_due()) is not None]
        return min(dues, default=float("inf"))

    def _edge(self) -> int:
        return self._now() + int(self._settings.horizon_seconds * MICROSECONDS)


def _step(job: asyncpg.Record) -> int | None:
    """The length of a plain interval, without bounds, exclusions or a moved occurrence, in microseconds."""
    if job["kind"] != "interval" or job["moved"] is not None:
        return None
    if "ends_at" in job["options"] or "exclude" in job["options"]:
        return None
    try:
        return read_seconds(job["schedule"].strip()) * MICROSECONDS
    except SextonError:
        return None  # the error is logged where the schedule is read


def microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def instant(at: int) -> datetime:
    """The time so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=at)
