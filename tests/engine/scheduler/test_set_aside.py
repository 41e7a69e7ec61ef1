"""A job whose schedule cannot be computed is set aside alone, and every face says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.cluster.status import get_counts
from sexton.engine.scheduler.set_aside import SetAside, forget_solved
from sexton.engine.upkeep.housekeeper import Housekeeper
from sexton.errors import ScheduleError
from sexton.jobs.edit import edit
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import get, list_jobs
from sexton.jobs.state import delete, pause, resume
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.why import why
from tests.scheduling import Stage, add_job, execute, fetch, move_timer, now, runs_of, skips_of

NOWHERE = "Atlantis/Center"


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    yield await Stage(database).lead()
    await Stage.close_all()


async def broken_job(database: Database, **fields: Any) -> int:
    """Its zone is one that the zone database has dropped."""
    job = await add_job(database, **{"name": "broken", "timezone": "Europe/Berlin", **fields})
    await execute(
        database,
        "update sexton.jobs set timezone = $2, timing_key = gen_random_uuid() where id = $1",
        job,
        NOWHERE,
    )
    await execute(
        database,
        """update sexton.timers set timing_key = (select timing_key from sexton.jobs where id = $1)
        where job_id = $1""",
        job,
    )
    return job


async def make_due(database: Database, job: int) -> None:
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=1))


async def problems(database: Database) -> list[tuple[int, int]]:
    rows = await fetch(database, "select job_id, revision from sexton.problems order by job_id")
    return [tuple(row) for row in rows]


async def test_it_is_written_down_and_shown_and_the_others_go_on(database: Database, stage: Stage) -> None:
    broken, sound = await broken_job(database), await add_job(database, name="sound")
    for job in (broken, sound):
        await make_due(database, job)
    await stage.round()
    assert len(await runs_of(database, sound)) == 1
    assert await runs_of(database, broken) == []
    assert await problems(database) == [(broken, 1)]
    shown = await get(Context(database), "broken")
    assert shown.status == "active"
    assert shown.problem is not None
    assert NOWHERE in shown.problem
    assert shown.next_run_local is None
    assert (await get(Context(database), "sound")).problem is None
    listed = await list_jobs(Context(database))
    assert [each.problem is None for each in listed.items] == [False, True]
    aside = await list_jobs(Context(database), JobFilter(problem=True))
    assert [each.name for each in aside.items] == ["broken"]
    assert (await get_counts(Context(database))).problems == 1
    [line] = await why(Context(database), broken)
    assert (line.disposition, line.reason) == ("upcoming", "problem")
    assert "set aside" in line.text
    assert NOWHERE in line.text


async def test_it_is_shown_before_it_is_due(database: Database) -> None:
    job = await broken_job(database)
    assert NOWHERE in ((await get(Context(database), "broken")).problem or "")
    [line] = await why(Context(database), job)
    assert line.text.startswith("due in ")


async def test_an_edit_brings_it_back(database: Database, stage: Stage) -> None:
    job = await broken_job(database)
    await make_due(database, job)
    await stage.round()
    [[waited]] = await fetch(database, "select scheduled_at from sexton.timers where job_id = $1", job)
    mended = await edit(Context(database), "broken", {"timezone": "Europe/Berlin"})
    assert mended.problem is None
    assert (await get_counts(Context(database))).problems == 0
    assert (await list_jobs(Context(database), JobFilter(problem=True))).items == []
    # The one occurrence that is known to have been open was missed, and is accounted for.
    assert await skips_of(database, job) == [(waited, "missed", 1)]
    await make_due(database, job)
    stage.scheduler.timers_changed("")
    await stage.round()
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_an_edit_that_does_not_mend_it_is_refused(database: Database) -> None:
    await broken_job(database)
    with pytest.raises(ScheduleError, match="unknown time zone"):
        await edit(Context(database), "broken", {"description": "still broken"})


async def test_it_can_be_paused_resumed_and_deleted(database: Database) -> None:
    job = await broken_job(database)
    await make_due(database, job)
    [[waited]] = await fetch(database, "select scheduled_at from sexton.timers where job_id = $1", job)
    assert (await pause(Context(database), "broken")).status == "paused"
    assert (await resume(Context(database), "broken")).status == "active"
    [[place]] = await fetch(database, "select scheduled_at from sexton.timers where job_id = $1", job)
    assert place == waited
    assert await skips_of(database, job) == []
    await delete(Context(database), "broken")
    assert await skips_of(database, job) == [(waited, "missed", 1)]
    assert (await get(Context(database), encode_id("j", job))).problem is None


async def test_a_one_off_needs_no_schedule_any_more(database: Database, stage: Stage) -> None:
    """Its time was worked out when it was made, and nothing comes after it."""
    at = (await now(database) + timedelta(hours=1)).replace(microsecond=0)
    once = {"schedule": at.replace(tzinfo=None).isoformat(), "timezone": "UTC"}
    broken = await broken_job(database, **once)
    sound = await add_job(database, name="sound", **once)
    for job in (broken, sound):
        await make_due(database, job)
    await stage.round()
    assert [len(await runs_of(database, job)) for job in (broken, sound)] == [1, 1]
    assert await problems(database) == []


async def test_what_was_missed_and_cannot_be_planned_is_reported(database: Database, stage: Stage) -> None:
    job = await add_job(database, name="broken")
    await move_timer(database, job, (await now(database)) - timedelta(hours=3))
    await execute(database, "update sexton.jobs set schedule = 'nonsense' where id = $1", job)
    await stage.round()
    assert await problems(database) == [(job, 1)]


async def test_what_is_known_is_not_written_again(database: Database) -> None:
    job = await broken_job(database)
    versions = []
    for _ in range(2):
        found = SetAside(database)
        found.add(job, 1, "no such zone")
        await found.write()
        versions.append(await fetch(database, "select xmin, since from sexton.problems"))
    assert versions[0] == versions[1]
    found.add(job, 1, "something else")
    found.add(job + 1, 1, "a job that is gone")
    await found.write()
    [row] = await fetch(database, "select * from sexton.problems")
    assert (row["job_id"], row["problem"]) == (job, "something else")


async def test_what_was_edited_since_is_not_reported(database: Database) -> None:
    job = await broken_job(database)
    await edit(Context(database), "broken", {"timezone": "Europe/Berlin"})
    found = SetAside(database)
    found.add(job, 1, "no such zone")
    await found.write()
    assert await problems(database) == []


async def test_housekeeping_forgets_what_is_solved(database: Database) -> None:
    still = await broken_job(database)
    upgraded = await add_job(database, name="upgraded")
    gone = await add_job(database, name="gone")
    edited = await add_job(database, name="edited")
    found = SetAside(database)
    for job in (still, upgraded, gone, edited):
        found.add(job, 1, "no such zone")
    await found.write()
    await delete(Context(database), "gone")
    await edit(Context(database), "edited", {"description": "other"})
    await Housekeeper(database, Settings()).tick()
    assert await problems(database) == [(still, 1)]
    assert await forget_solved(Context(database)) == 0
