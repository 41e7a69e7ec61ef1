"""Every occurrence is accounted for: a week of advances, outages, pauses and edits, and then the books."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton import Retry, Run, Sexton, parse
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.runs.occurrences import list_occurrences
from sexton.testing import Engine

# A week before the clocks of New York go back.
START = datetime(2026, 10, 25, 12, 0, tzinfo=UTC)

JOBS: dict[str, dict[str, Any]] = {
    "once_a_gap": {"schedule": "0 */2 * * *"},
    "each_one": {"schedule": "30 * * * *", "missed_window": "RUN_ALL", "max_missed": 5},
    "none_late": {"schedule": "*/20 * * * *", "missed_window": "SKIP", "grace_seconds": 0},
    "at_nine": {"schedule": "0 9 * * *", "timezone": "America/New_York", "catch_up_seconds": 3600},
    "in_the_fold": {"schedule": "30 1 * * *", "timezone": "America/New_York", "fold": "both"},
    "one_at_a_time": {"schedule": "*/30 * * * *", "overlap": "SKIP", "max_retries": 1},
    "and_one_queued": {"schedule": "*/30 * * * *", "overlap": "QUEUE_ONE", "jitter_seconds": 600},
}


@pytest.mark.parametrize("seed", range(2))
async def test_every_occurrence_has_one_disposition(
    seed: int, sexton_engine: Callable[..., AbstractAsyncContextManager[Engine]]
) -> None:
    chance = random.Random(seed)
    app = Sexton(name="books")
    fired: Counter[tuple[str, datetime]] = Counter()

    async def work(run: Run) -> Retry | None:
        if run.attempt == 1:
            fired[run.job_name, run.scheduled_at] += 1
        return Retry(after=chance.choice([60, 4000])) if chance.random() < 0.2 else None

    for name, fields in JOBS.items():
        app.job(name=name, **fields)(work)
    async with sexton_engine(app, at=START) as engine:
        for _ in range(8):
            match chance.randrange(5):
                case 0 | 1:
                    await engine.advance(minutes=chance.randrange(1, 600))
                case 2:
                    await engine.outage(minutes=chance.randrange(1, 1500))
                case 3:
                    paused = chance.choice(list(JOBS))
                    await app.pause(paused)
                    await engine.advance(minutes=chance.randrange(1, 200))
                    await app.resume(paused)
                case 4:
                    await app.edit(chance.choice(list(JOBS)), payload=chance.random())
        await engine.advance(days=1)
        assert max(fired.values()) == 1, "an occurrence was fired twice"
        for name, fields in JOBS.items():
            await check(engine, app, name, fields, {at for job, at in fired if job == name})


async def check(engine: Engine, app: Sexton, name: str, fields: dict[str, Any], fired: set[datetime]) -> None:
    """The ledger has each nominal time once, and says fired where the handler was called."""
    job = await app.get(name)
    number = decode_id("j", job.job_id)
    assert number is not None
    schedule = parse(
        fields["schedule"], timezone=fields.get("timezone", "UTC"), fold=fields.get("fold"), key=name
    )
    # With jitter, the latest one may have come or be still to come.
    end = engine.now - timedelta(seconds=fields.get("jitter_seconds", 0))
    nominal = list(schedule.between(START, end))
    told = await list_occurrences(Context(engine.database, now=engine.now), number, START, end, limit=1000)
    assert [each.scheduled_at for each in told] == nominal
    assert {each.disposition for each in told} <= {"fired", "skipped"}
    queued = {run.scheduled_at for run in await engine.live() if run.job_name == name}
    called = fired.intersection(nominal)
    assert {each.scheduled_at for each in told if each.disposition == "fired"} - queued == called - queued
    assert all((each.reason is None) == (each.disposition == "fired") for each in told)
