"""Where the time of a run went."""

from __future__ import annotations

from datetime import timedelta

from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.figures import job_figures
from sexton.runs.read import get_run
from tests.seeding import NOW, Store

SECOND = timedelta(seconds=1)


async def test_an_ended_run_is_followed_from_its_nominal_time_to_its_end(database: Database) -> None:
    store = Store(database)
    job = await store.job()
    await store.execute(
        """insert into sexton.history
            (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at,
             finished_at)
        values ($6, 5, $1, $2, 'success', 'schedule', 2, $3, $4, $5)""",
        job,
        NOW,
        NOW + 2 * SECOND,
        NOW + 8 * SECOND,
        NOW + 9 * SECOND,
        NOW + 9 * SECOND,
    )
    await store.execute(
        """insert into sexton.attempts (recorded_at, run_id, attempt, started_at, finished_at, outcome, error)
        values ($1, 5, 1, $2, $3, 'failed', 'boom')""",
        NOW,
        NOW + 3 * SECOND,
        NOW + 4 * SECOND,
    )
    run = await get_run(Context(database), 5)
    assert [(each.from_, each.to, each.seconds) for each in run.waits] == [
        ("nominal", "due", 0.0),
        ("due", "fired", 2.0),
        ("fired", "started", 1.0),
        ("started", "failed", 1.0),
        ("failed", "started", 4.0),
        ("started", "finished", 1.0),
    ]
    causes = [each.cause for each in run.waits]
    assert causes[1] == "the scheduler fired it late"
    assert causes[2] == "no worker had a free slot, or its queue was paused or limited"
    assert causes[4] == "the pause before the next attempt"
    assert (run.due_at, run.fired_at) == (NOW, NOW + 2 * SECOND)


async def test_a_run_that_its_handler_put_off_has_not_failed(database: Database) -> None:
    store = Store(database)
    number = await store.run(fired_at=NOW)
    await store.execute(
        """insert into sexton.attempts (recorded_at, run_id, attempt, started_at, finished_at, outcome)
        values ($1, $2, 1, $1, $3, 'snoozed')""",
        NOW,
        number,
        NOW + SECOND,
    )
    run = await get_run(Context(database, now=NOW + 10 * SECOND), number)
    assert [(each.from_, each.to) for each in run.waits][-2:] == [("started", "snoozed"), ("snoozed", "now")]


async def test_a_live_run_says_what_it_waits_for(database: Database) -> None:
    store = Store(database)
    number = await store.run(fired_at=NOW)
    run = await get_run(Context(database, now=NOW + 10 * SECOND), number)
    assert [(each.from_, each.to) for each in run.waits][-1] == ("fired", "now")
    assert run.waits[-1].cause == run.waiting_for == "no worker is running"
    assert run.waits[-1].seconds == 10.0


async def test_a_job_over_time(database: Database) -> None:
    store = Store(database)
    job = await store.job()
    await store.execute(
        """insert into sexton.history
            (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at,
             finished_at)
        select at, n, $1, at - interval '300 ms', case when n = 3 then 'dead' else 'success' end,
            'schedule', 1, at - interval '300 ms', at - interval '200 ms', at
        from generate_series(1, 10) as n, (select date_trunc('hour', now()) - interval '1 hour') as x (at)""",
        job,
    )
    shown = await job_figures(Context(database), job, 24)
    assert (shown.seconds, shown.cut) == (720, False)
    [point] = shown.points
    assert (point.runs, point.failed) == (10, 1)
    assert (point.duration_p50_ms, point.late_p99_ms) == (200.0, 100.0)
