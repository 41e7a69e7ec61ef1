"""Every nominal time of a job in a range, each with its disposition.

Times before that of the timer come from the records. Occurrences that a clock change or an exclusion skipped
are not always recorded: they come from the schedule that the job had at that time. Times from that of the
timer on come from the present schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal

from asyncpg import Record

from sexton.jobs.planning import after_pause
from sexton.jobs.stored import StoredJob
from sexton.model import JobStatus, SkipReason, encode_id
from sexton.postgres.transaction import Context, query
from sexton.runs.view import OccurrenceRecord
from sexton.schedules import Schedule

MOST_OCCURRENCES = 1000
MOST_LOOKED_AT = 20_000
MICROSECOND = timedelta(microseconds=1)
END = datetime(9999, 1, 1, tzinfo=UTC)


@query
async def list_occurrences(
    context: Context, job_id: int, start: datetime, end: datetime, *, limit: int = 100
) -> list[OccurrenceRecord]:
    """Every nominal time from `start` to `end`, both included, in order."""
    timeline = await Timeline.read(context, job_id, start, end, limit)
    return [each.record() for each in timeline.entries(start, end, limit)]


@dataclass(slots=True)
class Entry:
    at: datetime
    disposition: Literal["fired", "upcoming", "skipped"]
    reason: str | None = None
    #: The row of the run, live or ended.
    run: Record | None = None

    def record(self) -> OccurrenceRecord:
        return OccurrenceRecord(
            scheduled_at=self.at, disposition=self.disposition, reason=self.reason, run_id=self.run_id
        )

    @property
    def run_id(self) -> str | None:
        return encode_id("r", self.run["run_id"]) if self.run is not None else None


@dataclass(slots=True)
class _Period:
    """A job between two edits."""

    revision: int
    schedule: Schedule
    start: datetime
    end: datetime


@dataclass(slots=True)
class Timeline:
    """The data for the occurrences of a job in a range: rows, timer, and the schedules that it has had."""

    now: datetime
    job: StoredJob
    paused_reason: str | None
    timer: Record | None
    periods: list[_Period]
    live: list[Record]
    recorded: list[Record]

    @classmethod
    async def read(
        cls, context: Context, job_id: int, start: datetime, end: datetime, limit: int
    ) -> Timeline:
        reach = {"job_id": job_id, "start": start, "end": end, "limit": limit}
        async with context.open.transaction(isolation="repeatable_read"):
            now = await context.time()
            row = await context.require("job", encode_id("j", job_id), "reading/get_job", job_id=job_id)
            timer = await context.fetchrow("reading/get_timer", job_id=job_id)
            old = await context.fetch("reading/list_job_periods", job_id=job_id)
            live = await context.fetch("reading/list_fired_occurrences", **reach)
            recorded = await context.fetch("reading/list_recorded_occurrences", **reach)
        job = StoredJob(dict(row))
        periods: list[_Period] = []
        since = row["created_at"]
        for each in old:
            past = StoredJob.kept(each["definition"])
            periods.append(_Period(each["revision"], past.schedule, since, each["valid_until"]))
            since = each["valid_until"]
        periods.append(_Period(row["revision"], job.schedule, since, END))
        return cls(now, job, row["paused_reason"], timer, periods, live, recorded)

    def entries(self, start: datetime, end: datetime, limit: int) -> list[Entry]:
        """The occurrences in order of time, at most `limit`."""
        found: dict[datetime, Entry] = {}
        for row in self.live:
            found.setdefault(row["scheduled_at"], Entry(row["scheduled_at"], "fired", run=row))
        for row in self.recorded:
            if row["run_id"] is not None:
                known = found.get(row["scheduled_at"])
                if known is None or (known.run is not None and known.run["run_id"] > row["run_id"]):
                    found[row["scheduled_at"]] = Entry(row["scheduled_at"], "fired", run=row)
        for row in self.recorded:
            if row["run_id"] is None:
                for at in self._range(row, start, end, limit):
                    found.setdefault(at, Entry(at, "skipped", row["reason"]))
        known_times = sorted(found)
        horizon = known_times[limit - 1] if len(known_times) >= limit else end
        entries = list(found.values())
        recorded = {(each.at, each.reason) for each in entries if each.disposition == "skipped"}
        entries += [
            each
            for each in self._taken_away(start, min(horizon, end))
            if (each.at, each.reason) not in recorded
        ]
        if horizon == end:
            entries += [each for each in self._ahead(start, end, limit) if each.at not in found]
        entries.sort(key=lambda each: each.at)
        return entries[:limit]

    def left_out(self, at: datetime) -> bool:
        """Whether a caller skipped this occurrence (`skip_next`)."""
        moves = [period.schedule.move for period in self.periods]
        return any(move is not None and move.skip and move.since < at <= move.until for move in moves)

    def _range(self, row: Record, start: datetime, end: datetime, limit: int) -> Iterable[datetime]:
        """The occurrences of a skipped row: one, or those of the schedule in a counted range."""
        if row["until_at"] is None:
            return [row["scheduled_at"]]
        first = max(row["scheduled_at"], start) - MICROSECOND
        last = min(row["until_at"], end)
        return islice(self._schedule_of(row).between(first, last), limit)

    def _schedule_of(self, row: Record) -> Schedule:
        for period in self.periods:
            if period.revision == row["revision"] or row["scheduled_at"] < period.end:
                return period.schedule
        return self.job.schedule

    def _taken_away(self, start: datetime, end: datetime) -> Iterator[Entry]:
        """The occurrences before that of the timer that clock changes, exclusions and moves skipped."""
        over = self.job.row["completed_at"] or self.job.row["deleted_at"] or self.now
        reach = min(end, min(self.now, over) if self.timer is None else self.timer["scheduled_at"])
        for period in self.periods:
            first, last = max(start - MICROSECOND, period.start), min(reach, period.end)
            if first >= last:
                continue
            for each in islice(period.schedule.occurrences(first, last), MOST_LOOKED_AT):
                if each.skipped:
                    yield Entry(each.at, "skipped", each.skipped)

    @property
    def paused_until(self) -> datetime | None:
        until: datetime | None = self.job.row["paused_until"]
        return until

    def next_due(self) -> Entry | None:
        """The next occurrence that will fire; None during a pause without an end."""
        if self.timer is None:
            return None
        if self.job.status != JobStatus.PAUSED:
            return Entry(self.timer["scheduled_at"], "upcoming")
        if self.paused_until is None:
            return None
        at = after_pause(self.job.schedule, self.timer["scheduled_at"], self.job.jitter, self.paused_until)
        return None if at is None else Entry(at, "upcoming")

    def _ahead(self, start: datetime, end: datetime, limit: int) -> Iterator[Entry]:
        """The occurrences of the schedule from that of the timer on."""
        if self.timer is None:
            return
        first = max(start, self.timer["scheduled_at"]) - MICROSECOND
        if end <= first:
            return
        left = self._runs_left()
        paused = self.job.status == JobStatus.PAUSED
        resumed_at = self.paused_until or END
        for each in islice(self.job.schedule.occurrences(first, end), limit):
            if each.skipped:
                if each.at > min(self.timer["scheduled_at"], self.now):
                    yield Entry(each.at, "skipped", each.skipped)
                continue
            in_pause = paused and each.at + self.job.jitter <= resumed_at
            if left is not None and not in_pause:
                if left <= 0:
                    return
                left -= 1
            if in_pause and each.at <= self.now and self.job.schedule.kind != "once":
                yield Entry(each.at, "skipped", SkipReason.PAUSED)
            else:
                yield Entry(each.at, "upcoming", "paused" if in_pause else None)

    def _runs_left(self) -> int | None:
        assert self.timer is not None
        most = self.timer["max_runs"]
        return None if most is None else most - self.timer["fired_count"]
