"""What is planned for an entity in the time to come: single actions, items of releases, and the occurrences
of series as far as they are looked at."""

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
#: How far series are followed to find contradictions.
HORIZON = timedelta(days=366)
MOST_TIMES = 400
MICROSECOND = timedelta(microseconds=1)


async def coming(
    context: Context, entity: Entity, *, besides: int | None = None, release: int | None = None
) -> list[dict[str, Any]]:
    """What is planned for the entity, in the order of time: `id`, `release_id`, `action` and `at` of each.
    `besides` is an action that is left out, with its window; `release` a release."""
    rows = await list_pending(context, [entity])
    found: list[dict[str, Any]] = []
    for row in rows:
        own = row["id"] == besides or row["window_id"] == (besides or -1)
        if own or (release is not None and row["release_id"] == release):
            continue
        found += plans_of(row)
    return sorted(found, key=lambda each: (each["at"], each["id"]))


async def list_pending(context: Context, entities: Sequence[Entity]) -> list[asyncpg.Record]:
    """What is planned for these entities, each with its next time; of series with what their jobs say."""
    return await context.fetch(
        "content/list_pending_many",
        types=[entity.type for entity in entities],
        entity_ids=[entity.id for entity in entities],
        limit=MOST_PLANS,
    )


def plans_of(row: asyncpg.Record) -> list[dict[str, Any]]:
    """What a row of a plan stands for: each of its times."""
    named = {"id": row["id"], "release_id": row["release_id"], "window_id": row["window_id"]}
    return [{**named, "action": action, "at": at} for at, action in _times(row)]


def times_of(plan: PlannedAction, now: datetime) -> list[tuple[datetime, Action]]:
    """When a plan that is not made yet does what."""
    if plan.rule is None:
        return [(plan.moment.at, plan.action)]
    try:
        schedule, _ = read_schedule(job_of(plan, 0), now)
        times = islice(schedule.between(now - MICROSECOND, now + HORIZON), MOST_TIMES)
        return list(_with_ends(times, plan.action, plan.open_for, plan.moment.timezone))
    except SextonError:
        # What is wrong with the rule is said when its job is made.
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
    """Of windows, also when they are closed."""
    for at in times:
        yield at, action
        if open_for is not None:
            yield end_of_window(at, open_for, timezone).at, Action.UNPUBLISH
