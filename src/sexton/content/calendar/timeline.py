"""The future plans for an entity: single actions, items of releases, and the next occurrences of series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import asyncpg

from sexton.content.model import Action, Entity
from sexton.content.plan import PlannedAction, job_of
from sexton.errors import SextonError
from sexton.jobs.moment import end_of_window
from sexton.jobs.stored import StoredJob
from sexton.jobs.timing import read_schedule
from sexton.postgres.transaction import Context

MOST_PLANS = 1000
#: How far ahead series are expanded to find contradictions.
HORIZON = timedelta(days=366)
MOST_TIMES = 400
MICROSECOND = timedelta(microseconds=1)


async def coming(
    context: Context, entity: Entity, *, besides: int | None = None, release: int | None = None
) -> list[dict[str, Any]]:
    """The plans for an entity in order of time, each with `id`, `release_id`, `action` and `at`. The action
    `besides`, with its window, and the release `release` are left out."""
    rows = await list_pending(context, [entity])
    found: list[dict[str, Any]] = []
    for row in rows:
        own = row["id"] == besides or row["window_id"] == (besides or -1)
        if own or (release is not None and row["release_id"] == release):
            continue
        found += plans_of(row)
    return sorted(found, key=lambda each: (each["at"], each["id"]))


async def list_pending(context: Context, entities: Sequence[Entity]) -> list[asyncpg.Record]:
    """The plans for these entities, each with its next time; those of series with the schedules of their
    jobs."""
    return await context.fetch(
        "content/list_pending_many",
        types=[entity.type for entity in entities],
        entity_ids=[entity.id for entity in entities],
        limit=MOST_PLANS,
    )


def plans_of(row: asyncpg.Record) -> list[dict[str, Any]]:
    """One entry for each time of a plan."""
    named = {"id": row["id"], "release_id": row["release_id"], "window_id": row["window_id"]}
    return [{**named, "action": action, "at": at} for at, action in _times(row)]


def times_of(plan: PlannedAction, now: datetime) -> list[tuple[datetime, Action]]:
    """The times and actions of a plan that does not exist yet."""
    if plan.rule is None:
        return [(plan.moment.at, plan.action)]
    try:
        schedule, _ = read_schedule(job_of(plan, 0), now)
        times = islice(schedule.between(now - MICROSECOND, now + HORIZON), MOST_TIMES)
        return list(_with_ends(times, plan.action, plan.open_for, plan.moment.timezone))
    except SextonError:
        # Creating its job reports what is wrong with the rule.
        return []


def _times(row: asyncpg.Record) -> Sequence[tuple[datetime, Action]]:
    if row["recurrence_rule"] is None:
        return [(row["at"], Action(row["action"]))]
    job = {name.removeprefix("job_"): value for name, value in row.items() if name.startswith("job_")}
    try:
        schedule = StoredJob(job).schedule
        times = islice(schedule.between(row["at"] - MICROSECOND, row["at"] + HORIZON), MOST_TIMES)
        kept = (at for at in times if at not in row["skipped"])
        return list(_with_ends(kept, Action(row["action"]), row["open_for"], row["timezone"]))
    except SextonError:
        return [(row["at"], Action(row["action"]))]


def _with_ends(
    times: Iterator[datetime], action: Action, open_for: timedelta | None, timezone: str
) -> Iterator[tuple[datetime, Action]]:
    """Add the ends of windows."""
    for at in times:
        yield at, action
        if open_for is not None:
            yield end_of_window(at, open_for, timezone).at, Action.UNPUBLISH
