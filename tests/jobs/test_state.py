"""Pause, resume and delete: every occurrence keeps exactly one disposition."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sexton.errors import Conflict, InvalidField, NotFound
from sexton.jobs.read import get
from sexton.jobs.spread import jitter_of
from sexton.jobs.state import delete, pause, resume, resume_due
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import HOUR, MINUTE, NOW, at, history, make, number, row, rows, runs, timer, value


async def test_a_paused_job_keeps_its_place_and_is_never_due(database: Database) -> None:
    job = await make(database)
    shown = await pause(Context(database, now=NOW), "report", reason="freeze", until=NOW + HOUR)
    assert (shown.status, shown.paused_reason, shown.paused_until) == ("paused", "freeze", NOW + HOUR)
    resumed = at(61)
    assert (shown.next_run_at, shown.next_run_local, shown.revision) == (resumed, resumed.isoformat(), 1)
    stored = await row(
        database,
        "select scheduled_at, due_at = 'infinity' as never from sexton.timers where job_id = $1",
        number(job),
    )
    assert stored == {"scheduled_at": at(1), "never": True}


async def test_what_fell_due_meanwhile_is_recorded_as_one_counted_range(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report")
    shown = await resume(Context(database, now=NOW + 10 * MINUTE), "report")
    assert (shown.status, shown.next_run_at, shown.paused_reason) == ("active", at(11), None)
    assert await history(database, job) == [(at(1), at(10), 10, "skipped", "paused")]
    assert await runs(database, job) == []
    stored = await timer(database, job)
    assert (stored["due_at"], stored["fired_count"], stored["revision"]) == (at(11), 0, 1)


async def test_resuming_before_anything_was_due_records_nothing(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report")
    await resume(Context(database, now=NOW + timedelta(seconds=1)), "report")
    assert await history(database, job) == []
    assert (await timer(database, job))["due_at"] == at(1)


async def test_what_was_due_before_the_pause_has_fired(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW + MINUTE), "report")
    fired = await runs(database, job)
    assert [(run["scheduled_at"], run["trigger"], run["missed"]) for run in fired] == [
        (at(1), "schedule", False)
    ]
    assert (await timer(database, job))["fired_count"] == 1
    await resume(Context(database, now=NOW + 3 * MINUTE), "report")
    assert await history(database, job) == [(at(2), at(3), 2, "skipped", "paused")]
    assert len(await runs(database, job)) == 1


async def test_a_pause_after_an_outage_follows_missed_window(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW + 10 * MINUTE), "report")
    fired = await runs(database, job)
    assert [(run["scheduled_at"], run["priority"]) for run in fired] == [(at(10), 2)]
    assert await history(database, job) == [(at(1), at(9), 9, "skipped", "coalesced")]


async def test_a_pause_after_an_outage_keeps_the_default_of_catch_up_seconds(database: Database) -> None:
    context = Context(database, now=NOW + 10 * MINUTE)
    await context.execute("cluster/set_setting", name="catch_up_seconds", value="90")
    job = await make(database, missed_window="RUN_ALL", grace_seconds=1)
    await pause(context, "report")
    assert len(await runs(database, job)) == 1
    assert await history(database, job) == [(at(1), at(9), 9, "skipped", "outside_catch_up")]


async def test_pausing_again_changes_the_reason_and_not_the_place(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report", reason="one", until=NOW + HOUR)
    shown = await pause(Context(database, now=NOW + 5 * MINUTE), "report", reason="two")
    assert (shown.paused_reason, shown.paused_until) == ("two", None)
    await resume(Context(database, now=NOW + 10 * MINUTE), "report")
    assert await history(database, job) == [(at(1), at(10), 10, "skipped", "paused")]


async def test_resuming_an_active_job_changes_nothing(database: Database) -> None:
    job = await make(database)
    before = await timer(database, job)
    assert (await resume(Context(database, now=NOW + 5 * MINUTE), "report")).status == "active"
    assert await timer(database, job) == before
    assert await runs(database, job) == []


async def test_an_occurrence_within_its_jitter_is_kept_by_a_pause(database: Database) -> None:
    job = await make(database, schedule="0 * * * *", jitter_seconds=1800)
    offset = timedelta(seconds=jitter_of(number(job), 1800))
    hour = at(26)
    await pause(Context(database, now=hour + offset / 2), "report")
    await resume(Context(database, now=hour + offset / 2), "report")
    stored = await timer(database, job)
    assert (stored["scheduled_at"], stored["due_at"]) == (hour, hour + offset)


@pytest.mark.parametrize(
    ("window", "outcome"),
    [("RUN_ONCE", "catch_up"), ("RUN_ALL", "catch_up"), ("SKIP", None), (None, "catch_up")],
)
async def test_a_paused_single_time_follows_missed_window(
    database: Database, window: str | None, outcome: str | None
) -> None:
    job = await make(database, schedule="2026-06-03T13:00:00Z", missed_window=window)
    await pause(Context(database, now=NOW), "report")
    shown = await resume(Context(database, now=NOW + 2 * HOUR), "report")
    fired = await runs(database, job)
    assert shown.status == ("active" if fired else "completed")
    await rows(database, "delete from sexton.runs")
    shown = await get(Context(database), "report")
    assert (shown.status, shown.completed_at) == ("completed", NOW + 2 * HOUR)
    assert [run["trigger"] for run in fired] == ([outcome] if outcome else [])
    if outcome:
        assert (fired[0]["priority"], fired[0]["missed"]) == (3, True)
    else:
        assert await history(database, job) == [(at(26), None, 1, "skipped", "paused")]
        assert shown.last_outcome == "skipped"
    assert await rows(database, "select * from sexton.timers") == []


async def test_a_job_that_ended_while_paused_is_completed(database: Database) -> None:
    job = await make(database, ends_at="2026-06-03T12:37:00Z")
    await pause(Context(database, now=NOW), "report")
    shown = await resume(Context(database, now=NOW + HOUR), "report")
    assert shown.status == "completed"
    assert await history(database, job) == [(at(1), at(3), 3, "skipped", "paused")]
    for command in (pause, resume):
        with pytest.raises(Conflict) as caught:
            await command(Context(database, now=NOW + HOUR), "report")
        assert caught.value.code == "job_completed"


async def test_pausing_what_has_just_fired_for_the_last_time_leaves_its_run(database: Database) -> None:
    job = await make(database, schedule="2026-06-03T13:00:00Z")
    shown = await pause(Context(database, now=at(26) + timedelta(seconds=1)), "report")
    assert shown.status == "active"  # its run has not ended
    assert len(await runs(database, job)) == 1


async def test_a_pause_ends_by_itself(database: Database) -> None:
    await make(database)
    await make(database, name="other")
    await pause(Context(database, now=NOW), "report", until=NOW + MINUTE)
    await pause(Context(database, now=NOW), "other", until=NOW + HOUR)
    assert await resume_due(Context(database, now=NOW)) == 0
    assert await resume_due(Context(database, now=NOW + 2 * MINUTE)) == 1
    assert (await get(Context(database), "report")).status == "active"
    assert (await get(Context(database), "other")).status == "paused"


async def test_what_comes_after_the_end_of_a_pause_is_due(database: Database) -> None:
    """However late the job is resumed: right away, or after an outage."""
    jobs = [await make(database, name=name) for name in ("soon", "outage")]
    for name in ("soon", "outage"):
        await pause(Context(database, now=NOW), name, until=NOW + 3 * MINUTE)
    shown = await resume(Context(database, now=NOW + 4 * MINUTE), "soon")
    assert shown.next_run_at == at(5)
    assert await resume_due(Context(database, now=NOW + 20 * MINUTE)) == 1
    expected = [(at(4), []), (at(20), [(at(4), at(19), 16, "skipped", "coalesced")])]
    for job, (fired, skipped) in zip(jobs, expected, strict=True):
        assert [run["scheduled_at"] for run in await runs(database, job)] == [fired]
        assert await history(database, job) == [(at(1), at(3), 3, "skipped", "paused"), *skipped]


async def test_a_pause_that_was_made_longer_meanwhile_does_not_end(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was over when the jobs to resume were listed, and is not when they are locked."""
    jobs = [await make(database, name=f"job-{number}") for number in range(2)]
    for job in jobs:
        await pause(Context(database, now=NOW), job.job_id, until=NOW + MINUTE)
    later = Context(database, now=NOW + 2 * MINUTE)
    fetch = Context.fetch

    async def changed(self: Context, statement: str, /, **parameters: Any) -> Any:
        found = await fetch(self, statement, **parameters)
        if statement == "jobs/list_ended_pauses":
            await pause(later, "job-1", until=NOW + HOUR)
        return found

    monkeypatch.setattr(Context, "fetch", changed)
    assert await resume_due(later) == 1
    assert [(await get(later, job.job_id)).status for job in jobs] == ["active", "paused"]


async def test_a_pause_that_is_over_can_be_followed_by_another(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report", until=NOW + MINUTE)
    await pause(Context(database, now=NOW + 2 * MINUTE), "report")
    assert [run["scheduled_at"] for run in await runs(database, job)] == [at(2)]
    await resume(Context(database, now=NOW + 4 * MINUTE), "report")
    assert await history(database, job) == [
        (at(1), None, 1, "skipped", "paused"),
        (at(3), at(4), 2, "skipped", "paused"),
    ]


async def test_a_job_that_cannot_be_resumed_does_not_keep_the_others_paused(database: Database) -> None:
    await make(database)
    job = await make(database, name="broken")
    await pause(Context(database, now=NOW), "broken", reason="freeze", until=NOW + MINUTE)
    await pause(Context(database, now=NOW), "report", until=NOW + 2 * MINUTE)
    async with database.connection() as connection:
        await connection.execute(
            database.sql("""update sexton.jobs set options = '{"max_missed": "many"}' where id = $1"""),
            number(job),
        )
    assert await resume_due(Context(database, now=NOW + HOUR)) == 1
    assert (await get(Context(database), "report")).status == "active"
    stored = await row(
        database, "select status, paused_until, paused_reason from sexton.jobs where id = $1", number(job)
    )
    assert (stored["status"], stored["paused_until"]) == ("paused", None)
    assert "could not be resumed" in stored["paused_reason"]
    assert await resume_due(Context(database, now=NOW + HOUR)) == 0


async def test_a_pause_that_is_over_already_is_refused(database: Database) -> None:
    await make(database)
    with pytest.raises(InvalidField) as caught:
        await pause(Context(database, now=NOW), "report", until=NOW)
    assert (caught.value.code, caught.value.field) == ("in_the_past", "until")
    with pytest.raises(InvalidField, match="no time zone"):
        await pause(Context(database, now=NOW), "report", until=NOW.replace(tzinfo=None))


async def test_deleting_removes_the_timer_and_cancels_what_waits(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW + MINUTE), "report")  # fires one run
    await resume(Context(database, now=NOW + MINUTE), "report")
    await delete(Context(database, now=NOW + MINUTE), "report")
    assert await rows(database, "select * from sexton.timers") == []
    assert await runs(database, job) == []
    assert await history(database, job) == [(at(1), None, None, "cancelled", "the job was deleted")]
    assert (await get(Context(database), job.job_id)).status == "deleted"
    with pytest.raises(NotFound):
        await get(Context(database), "report")


async def test_what_was_due_when_the_job_was_deleted_is_accounted_for(database: Database) -> None:
    job = await make(database)
    await delete(Context(database, now=NOW + MINUTE), "report")
    assert await history(database, job) == [(at(1), None, None, "cancelled", "the job was deleted")]


@pytest.mark.parametrize("cancel", [False, True])
async def test_a_running_run_finishes_unless_it_is_to_stop(database: Database, cancel: bool) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW + MINUTE), "report")
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.runs set state = 'running', claim = 1, node = 1")
        )
    await delete(Context(database, now=NOW + MINUTE), "report", cancel_running=cancel)
    (run,) = await runs(database, job)
    assert (run["state"], run["cancel_requested_at"] is not None) == ("running", cancel)


async def test_deleting_twice_by_id_changes_nothing_and_by_name_finds_nothing(database: Database) -> None:
    job = await make(database)
    await delete(Context(database, now=NOW), job.job_id)
    before = await row(database, "select * from sexton.jobs")
    await delete(Context(database, now=NOW + HOUR), job.job_id)
    assert await row(database, "select * from sexton.jobs") == before
    with pytest.raises(NotFound):
        await delete(Context(database, now=NOW), "report")
    with pytest.raises(Conflict) as caught:
        await pause(Context(database, now=NOW), job.job_id)
    assert caught.value.code == "job_deleted"


async def test_a_long_pause_of_a_busy_job_is_counted(database: Database) -> None:
    job = await make(database, schedule="* * * * * *")
    await pause(Context(database, now=NOW), "report")
    await resume(Context(database, now=NOW + 12 * HOUR), "report")
    ((_, _, occurrences, status, reason),) = await history(database, job)
    assert (occurrences, status, reason) == (12 * 3600, "skipped", "paused")
    assert await value(database, "select count(*) from sexton.runs") == 0
