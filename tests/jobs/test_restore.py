"""A deletion taken back: the job goes on as it was, and each occurrence in between has its account."""

from __future__ import annotations

import asyncpg
import pytest

from sexton.errors import Conflict, NameTaken, NotFound
from sexton.jobs.filter import JobFilter
from sexton.jobs.restore import restore, restore_all
from sexton.jobs.state import delete, pause
from sexton.model import SkipReason
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.many import act, check_filter
from sexton.runs.why import why
from tests.jobs.making import HOUR, MINUTE, NOW, at, history, make, number, row, runs, timer


def then(database: Database, minutes: int = 0) -> Context:
    return Context(database, now=NOW + minutes * MINUTE)


async def test_it_goes_on_and_what_fell_due_meanwhile_is_skipped(database: Database) -> None:
    job = (await make(database)).job_id
    before = await timer(database, job)
    await delete(then(database), "report")
    shown = await restore(then(database, 10), job)
    assert (shown.job_id, shown.status, shown.next_run_at, shown.revision) == (job, "active", at(11), 1)
    assert await history(database, job) == [(at(1), at(10), 10, "skipped", "deleted")]
    assert await runs(database, job) == []
    after = await timer(database, job)
    moved = {"scheduled_at": at(11), "due_at": at(11)}
    assert after == {**before, **moved}
    lines = await why(then(database, 10), number(job), at=at(5))
    assert {(each.disposition, each.reason) for each in lines} == {("skipped", SkipReason.DELETED)}


async def test_at_once_nothing_is_lost(database: Database) -> None:
    job = (await make(database)).job_id
    before = await timer(database, job)
    await delete(then(database), "report")
    await restore(then(database), "report")
    assert await timer(database, job) == before
    assert await history(database, job) == []


async def test_one_that_is_there_stays_as_it_is(database: Database) -> None:
    job = (await make(database)).job_id
    for ref in (job, "report"):
        assert (await restore(then(database), ref)).status == "active"
    with pytest.raises(NotFound):
        await restore(then(database), "never")
    with pytest.raises(NotFound):
        await restore(Context(database, "elsewhere", now=NOW), job)


async def test_a_pause_comes_back_with_its_reason_and_its_end(database: Database) -> None:
    job = (await make(database)).job_id
    await pause(then(database), "report", reason="freeze", until=NOW + HOUR)
    await delete(then(database, 1), "report")
    shown = await restore(then(database, 10), "report")
    assert (shown.status, shown.paused_reason, shown.paused_until) == ("paused", "freeze", NOW + HOUR)
    stored = await row(
        database,
        "select scheduled_at, due_at = 'infinity' as never from sexton.timers where job_id = $1",
        number(job),
    )
    assert stored == {"scheduled_at": at(11), "never": True}
    # What came before the deletion was paused.
    assert await history(database, job) == [
        (at(1), None, 1, "skipped", "paused"),
        (at(2), at(10), 9, "skipped", "deleted"),
    ]


async def test_max_runs_counts_what_had_fired(database: Database) -> None:
    job = (await make(database, max_runs=3)).job_id
    await delete(then(database, 1), "report")
    assert (await restore(then(database, 2), job)).status == "active"
    stored = await timer(database, job)
    assert (stored["fired_count"], stored["max_runs"], stored["scheduled_at"]) == (1, 3, at(3))


async def test_a_single_time_that_is_over_is_skipped_and_the_job_completed(database: Database) -> None:
    job = (await make(database, schedule=at(5).isoformat())).job_id
    await delete(then(database), "report")
    shown = await restore(then(database, 10), job)
    assert (shown.status, shown.next_run_at) == ("completed", None)
    assert await history(database, job) == [(at(5), None, 1, "skipped", "deleted")]
    await delete(then(database, 11), "report")
    assert (await restore(then(database, 12), job)).status == "completed"


async def test_a_name_that_another_has_by_now_is_refused(database: Database) -> None:
    job = (await make(database)).job_id
    await delete(then(database), "report")
    other = (await make(database)).job_id
    for ref in (job, "report"):
        with pytest.raises(NameTaken, match=f"the job {other} has the name report already") as refused:
            await restore(then(database), ref)
        assert refused.value.hint == "rename or delete that job first"
    await delete(then(database), other)
    chosen = check_filter(JobFilter(name="report"), every=False, deleted=True)
    done = await act(then(database), restore_all, chosen)
    # Of two that had the name, the last comes back.
    assert (done.matched, done.done, [each.sample for each in done.refused]) == (2, 1, [[job]])
    assert (await restore(then(database), other)).status == "active"


async def test_what_belongs_to_something_that_was_cancelled_stays_deleted(database: Database) -> None:
    job = (await make(database)).job_id
    await delete(then(database), "report", final=True)
    with pytest.raises(Conflict, match="cannot be restored") as refused:
        await restore(then(database), job)
    assert refused.value.code == "not_restorable"


async def test_what_is_cancelled_later_stays_deleted_too(database: Database) -> None:
    job = (await make(database)).job_id
    await delete(then(database), "report")
    await delete(then(database, 1), job, final=True)
    with pytest.raises(Conflict, match="cannot be restored"):
        await restore(then(database, 2), job)


async def test_by_its_name_one_comes_back_that_can(database: Database) -> None:
    job = (await make(database)).job_id
    await delete(then(database), "report")
    await make(database)
    await delete(then(database, 1), "report", final=True)
    assert (await restore(then(database, 2), "report")).job_id == job


async def test_only_a_taken_name_is_tried_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await make(database)
    await delete(then(database), "report")

    async def fail(*_: object) -> None:
        raise asyncpg.UniqueViolationError("timers_pkey")

    monkeypatch.setattr("sexton.jobs.restore._write", fail)
    with pytest.raises(asyncpg.UniqueViolationError):
        await restore(then(database), "report")
