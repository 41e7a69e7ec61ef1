"""Missed occurrences: timers past their grace, planned by the policy of their job.

Each distinct case (`jobs.planning.plan`) is planned once. One statement (`firing/catch_up.sql`) writes
everything: a timer moves into the future only together with its missed runs and its skips. Missed runs have
the lowest priority and start at a rate of the whole cluster (`firing/reserve_catch_up.sql`), so that they do
not delay what is due now. The missed runs of one job start one after another.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.errors import SextonError
from sexton.jobs.planning import MissedPolicy, Plan, plan, schedule_of
from sexton.jobs.spec import JobSpec
from sexton.model import PRIORITY_LOWEST, Trigger
from sexton.printable import counted

log = logging.getLogger("sexton")

Planned = tuple[asyncpg.Record, timedelta, Plan]

# A catch-up of at least so many jobs or runs is logged as a warning.
LARGE = 100

TIMERS = ("jobs", "revisions", "scheduled", "due", "next_scheduled", "next_due", "run_counts")
RUNS = (
    "run_jobs", "run_scheduled", "run_due", "run_triggers", "run_missed", "run_available", "run_priorities",
    "run_chained",
)  # fmt: skip
SKIPS = ("skip_jobs", "skip_scheduled", "skip_until", "skip_occurrences", "skip_reasons")


@dataclass(slots=True)
class CaughtUp:
    """The counts of a catch-up: jobs, missed occurrences that run, and missed occurrences that are
    skipped."""

    jobs: int = 0
    runs: int = 0
    skipped: int = 0
    last_start_at: datetime | None = None

    def add(self, answer: asyncpg.Record, starts: Sequence[datetime]) -> None:
        self.jobs += answer["moved"]
        self.runs += answer["runs"]
        self.skipped += answer["skipped"]
        self.last_start_at = starts[-1] if starts else self.last_start_at

    @property
    def large(self) -> bool:
        return self.jobs >= LARGE or self.runs >= LARGE

    def tell(self) -> None:
        """Log one line for the whole catch-up."""
        until = f", the last one at {iso(self.last_start_at, 'seconds')}" if self.last_start_at else ""
        log.log(
            logging.WARNING if self.large else logging.INFO,
            "caught up %s: %d missed occurrences run%s; %d are skipped",
            counted(self.jobs, "job"),
            self.runs,
            until,
            self.skipped,
        )


def plan_all(
    rows: Sequence[asyncpg.Record], now: datetime
) -> tuple[list[Planned], list[tuple[int, int, str]]]:
    """The plans; and the jobs that cannot be planned, each with its revision and the reason."""
    plans: dict[object, Plan] = {}
    planned, failed = [], []
    for row in rows:
        jitter = row["due_at"] - row["scheduled_at"]
        remaining = None if row["max_runs"] is None else row["max_runs"] - row["fired_count"]
        case = (row["timing_key"], row["options"], row["scheduled_at"], jitter, remaining)
        if case not in plans:
            try:
                policy = MissedPolicy.of(_spec_of(row), row["catch_up_seconds"])
                schedule = schedule_of(dict(row))
                plans[case] = plan(schedule, policy, row["scheduled_at"], jitter, now, remaining)
            except (SextonError, OverflowError) as error:
                log.error(
                    "job %s is set aside: its missed occurrences cannot be planned: %s", row["name"], error
                )
                failed.append((row["job_id"], row["revision"], str(error)))
                continue
        planned.append((row, jitter, plans[case]))
    return planned, failed


def parameters(planned: Iterable[Planned], now: datetime, starts: Iterable[datetime]) -> dict[str, list[Any]]:
    """The parameters of `firing/catch_up.sql`, without the fence; `starts` is when each missed run may
    start."""
    start = iter(starts)
    timers: list[tuple[Any, ...]] = []
    runs: list[tuple[Any, ...]] = []
    skips: list[tuple[Any, ...]] = []
    for row, jitter, one in planned:
        job_id = row["job_id"]
        next_due = None if one.next_at is None else one.next_at + jitter
        timer = (job_id, row["revision"], row["scheduled_at"], row["due_at"])
        timers.append((*timer, one.next_at, next_due, len(one.runs)))
        for run in one.runs:
            due, available, priority = run.scheduled_at + jitter, now, None
            if run.trigger is Trigger.CATCH_UP:
                available, priority = next(start), PRIORITY_LOWEST
            run_columns = (job_id, run.scheduled_at, due, run.trigger.value, run.missed, available, priority)
            runs.append((*run_columns, one.chained))
        skips += [
            (job_id, skip.scheduled_at, skip.until_at, skip.occurrences, skip.reason.value)
            for skip in one.skips
        ]
    return {**_columns(TIMERS, timers), **_columns(RUNS, runs), **_columns(SKIPS, skips)}


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _spec_of(row: asyncpg.Record) -> JobSpec:
    options = msgspec.json.decode(row["options"]) if isinstance(row["options"], str) else dict(row["options"])
    return msgspec.convert(
        {**options, "name": row["name"], "schedule": row["schedule"]}, JobSpec, strict=False
    )
