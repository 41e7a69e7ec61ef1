"""The next minutes: every occurrence counts, once in the minute in which it fires."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton.jobs import upcoming
from sexton.jobs.create import create
from sexton.jobs.spec import JobSpec
from sexton.jobs.upcoming import MINUTE, Forecast, Upcoming, count_due
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context


async def make(
    database: Database, name: str, schedule: str, namespace: str = "default", **fields: object
) -> None:
    await create(Context(database, namespace), JobSpec(name=name, schedule=schedule, **fields))  # type: ignore[arg-type]


async def read(database: Database, namespace: str = "default") -> Upcoming:
    return await Forecast(database).read(namespace)


async def test_a_job_of_each_minute_fires_in_each(database: Database) -> None:
    await make(database, "often", "* * * * *")
    await make(database, "twice a minute", "*/30 * * * * *")
    found = await read(database)
    assert not found.estimated
    assert len(found.minutes) == 60
    assert [each.at for each in found.minutes] == [found.start + n * MINUTE for n in range(60)]
    assert [(each.firings, each.jobs) for each in found.minutes[1:]] == [(3, 2)] * 59


async def test_jobs_that_share_a_schedule_count_each(database: Database) -> None:
    for number in range(5):
        await make(database, f"hourly {number}", "0 * * * *")
    found = await read(database)
    assert sum(each.firings for each in found.minutes) == 5
    assert [each.firings for each in found.minutes if each.firings] == [5]


async def test_a_single_time_fires_once_and_one_with_few_runs_left_no_more_than_these(
    database: Database,
) -> None:
    await make(database, "once", "in 10m")
    await make(database, "thrice", "* * * * *", max_runs=3)
    found = await read(database)
    assert sum(each.firings for each in found.minutes) == 4


async def test_paused_jobs_do_not_count(database: Database) -> None:
    from sexton.jobs.state import pause

    await make(database, "often", "* * * * *")
    await pause(Context(database), "often")
    assert sum(each.firings for each in (await read(database)).minutes) == 0


async def test_namespaces_are_counted_apart(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("insert into sexton.namespaces (name) values ('other')")
    await make(database, "often", "* * * * *", "other")
    assert sum(each.firings for each in (await read(database)).minutes) == 0
    assert sum(each.firings for each in (await read(database, "other")).minutes) >= 59


async def test_without_time_for_all_schedules_it_is_an_estimate(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the schedules are worked out, and count twice."""
    for number in range(20):
        await make(database, f"often {number}", "every 1m", anchor=f"2026-01-01T00:00:{number:02}Z")
    monkeypatch.setattr(upcoming, "SAMPLES", 10)
    monkeypatch.setattr(upcoming, "SLICE_SECONDS", 0.0)
    forecast = Forecast(database)
    real, learned = forecast._learn, 0

    async def learn(groups: object) -> None:
        nonlocal learned
        await real(groups)  # type: ignore[arg-type]
        learned += 1
        if learned == 1:  # after the first part there is no time left
            monkeypatch.setattr(upcoming, "WORK_SECONDS", 0.0)

    monkeypatch.setattr(forecast, "_learn", learn)
    found = await forecast.read("default")
    assert found.estimated
    assert sum(each.firings for each in found.minutes) == pytest.approx(20 * 60, rel=0.1)


async def test_how_many_are_due_in_a_minute(database: Database) -> None:
    for number in range(3):
        await make(database, f"new year {number}", "0 0 1 1 *")
    await make(database, "later", "1 0 1 1 *")
    async with database.connection() as connection:
        due = await connection.fetchval("select min(due_at) from sexton.timers")
    assert (await count_due(Context(database), due)).count == 3
    assert (await count_due(Context(database), due + timedelta(days=1))).count == 0
