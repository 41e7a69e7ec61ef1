"""An edit accounts for the past under the old definition and goes on under the new one."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from sexton.errors import Conflict, InvalidField, NameTaken, NotFound, ScheduleError
from sexton.jobs import planning
from sexton.jobs.edit import edit, replace
from sexton.jobs.read import get
from sexton.jobs.spread import jitter_of
from sexton.jobs.state import delete, pause, resume
from sexton.jobs.stored import StoredJob
from sexton.model import Overlap
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.trigger import backfill, run_now
from tests.engine.test_lock_order import blocked_by
from tests.jobs.making import (
    HOUR,
    MINUTE,
    NOW,
    at,
    history,
    make,
    number,
    row,
    rows,
    runs,
    spec,
    timer,
    value,
)


async def test_an_edit_keeps_the_rest_and_is_one_revision_on(database: Database) -> None:
    job = await make(database, payload={"a": 1}, priority=1)
    shown = await edit(Context(database, now=NOW), "report", {"payload": {"b": 2}, "description": "x"})
    assert (shown.revision, shown.payload, shown.description, shown.priority) == (2, {"b": 2}, "x", 1)
    assert (shown.anchor, shown.created_at, shown.updated_at) == (job.anchor, NOW, NOW)
    stored = await timer(database, job)
    assert (stored["revision"], stored["scheduled_at"]) == (2, at(1))
    assert shown == await get(Context(database), "report")


async def test_what_the_job_was_is_kept_whole(database: Database) -> None:
    await make(database, payload={"a": 1}, labels={"x": "y"}, overlap="SKIP")
    before = await row(database, "select * from sexton.jobs")
    await edit(
        Context(database, now=NOW + timedelta(seconds=1)), "report", {"payload": 5, "schedule": "every 5m"}
    )
    kept = await row(database, "select * from sexton.job_revisions")
    assert (kept["revision"], kept["valid_until"]) == (1, NOW + timedelta(seconds=1))
    old = StoredJob(json.loads(kept["definition"]))
    assert old.spec == StoredJob(before).spec
    assert old.schedule.timing_key == StoredJob(before).schedule.timing_key


async def test_an_edit_without_a_change_changes_nothing(database: Database) -> None:
    job = await make(
        database, payload={"b": 1, "a": [1.5, None]}, labels={"x": "y"}, starts_at="2026-07-01T00:00:00Z"
    )
    before = await row(database, "select * from sexton.jobs")
    for changes in ({}, {"payload": {"a": [1.5, None], "b": 1}}, {"priority": 2}, {"timezone": "UTC"}):
        assert (await edit(Context(database, now=NOW + HOUR), "report", changes)).revision == 1
    assert await row(database, "select * from sexton.jobs") == before
    assert await rows(database, "select * from sexton.job_revisions") == []
    assert (await timer(database, job))["revision"] == 1


async def test_an_edit_of_another_revision_is_refused(database: Database) -> None:
    await make(database)
    await edit(Context(database, now=NOW), "report", {"priority": 1}, expected_revision=1)
    with pytest.raises(Conflict) as caught:
        await edit(Context(database, now=NOW), "report", {"priority": 3}, expected_revision=1)
    assert caught.value.code == "revision_conflict"
    assert (await get(Context(database), "report")).priority == 1


async def test_of_two_edits_of_one_revision_one_wins(database: Database) -> None:
    await make(database)
    results = await asyncio.gather(
        *(
            edit(Context(database, now=NOW), "report", {"priority": p}, expected_revision=1)
            for p in (0, 1, 3)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Conflict) for result in results) == 2
    assert (await get(Context(database), "report")).revision == 2


async def test_what_was_due_fires_under_the_old_definition(database: Database) -> None:
    job = await make(database, priority=1)
    shown = await edit(
        Context(database, now=at(2) + timedelta(seconds=30)),
        "report",
        {"schedule": "0 9 * * *", "priority": 3},
    )
    found = await runs(database, job)
    assert [(run["scheduled_at"], run["priority"]) for run in found] == [(at(2), 1)]
    assert await history(database, job) == [(at(1), None, 1, "skipped", "coalesced")]
    assert shown.next_run_at == datetime(2026, 6, 4, 9, tzinfo=UTC)
    # No worker has claimed it yet: it will run as the job is now.
    assert found[0]["revision"] == 2


async def test_the_new_schedule_begins_now_and_not_in_the_past(database: Database) -> None:
    job = await make(database, schedule="0 0 1 1 *")
    shown = await edit(Context(database, now=NOW), "report", {"schedule": "* * * * *"})
    assert shown.next_run_at == at(1)
    assert await runs(database, job) == []
    assert await history(database, job) == []


async def test_the_anchor_is_kept_by_edits_unless_it_is_given(database: Database) -> None:
    await make(database, schedule="every 15m")
    anchor = NOW.replace(microsecond=0)
    shown = await edit(Context(database, now=NOW + 25 * MINUTE), "report", {"schedule": "every 10m"})
    assert (shown.anchor, shown.next_run_at) == (anchor, anchor + 30 * MINUTE)
    other = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)
    shown = await edit(Context(database, now=NOW + 25 * MINUTE), "report", {"anchor": other})
    assert (shown.anchor, shown.next_run_at) == (other, other + 60 * MINUTE)


async def test_the_kind_and_the_zone_follow_the_text(database: Database) -> None:
    await make(database, schedule="CRON_TZ=Asia/Tokyo 30 2 * * *")
    shown = await edit(Context(database, now=NOW), "report", {"schedule": "CRON_TZ=Europe/Berlin 0 9 * * *"})
    assert (shown.kind, shown.timezone) == ("cron", "Europe/Berlin")
    shown = await edit(Context(database, now=NOW), "report", {"schedule": "FREQ=DAILY;BYHOUR=9;BYMINUTE=0"})
    assert (shown.kind, shown.timezone) == ("recurrence", "Europe/Berlin")
    shown = await edit(Context(database, now=NOW), "report", {"timezone": "Asia/Tokyo"})
    assert shown.next_run_local is not None
    assert shown.next_run_local.endswith("+09:00")
    stored = await row(database, "select * from sexton.jobs")
    assert planning.schedule_of(stored).timing_key == stored["timing_key"].hex


async def test_an_occurrence_within_its_jitter_is_not_lost(database: Database) -> None:
    job = await make(database, schedule="0 * * * *", jitter_seconds=1800)
    offset = timedelta(seconds=jitter_of(number(job), 1800))
    hour, between = at(26), at(26) + offset / 2
    await edit(Context(database, now=between), "report", {"description": "same times"})
    stored = await timer(database, job)
    assert (stored["scheduled_at"], stored["due_at"]) == (hour, hour + offset)
    await edit(Context(database, now=between), "report", {"schedule": "0 9 * * *"})
    (run,) = await runs(database, job)
    assert (run["scheduled_at"], run["available_at"], run["due_at"]) == (hour, hour + offset, hour + offset)
    assert (await timer(database, job))["scheduled_at"] == datetime(2026, 6, 4, 9, tzinfo=UTC)


async def test_a_paused_job_stays_paused_and_what_it_missed_is_recorded(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report", reason="freeze")
    shown = await edit(Context(database, now=at(2)), "report", {"schedule": "*/5 * * * *"})
    assert (shown.status, shown.paused_reason, shown.next_run_at) == ("paused", "freeze", None)
    assert await history(database, job) == [(at(1), at(2), 2, "skipped", "paused")]
    await resume(Context(database, now=at(12)), "report")
    assert await history(database, job) == [
        (at(1), at(2), 2, "skipped", "paused"),
        (at(6), at(11), 2, "skipped", "paused"),
    ]


async def test_unclaimed_runs_follow_the_edit_and_started_ones_do_not(database: Database) -> None:
    job = await make(database)
    await run_now(Context(database, now=NOW), "report")
    async with database.connection() as connection:
        await connection.execute(database.sql("update sexton.runs set state = 'running', claim = 1"))
    await run_now(Context(database, now=NOW + MINUTE / 2), "report")
    before = await timer(database, job)
    await edit(Context(database, now=NOW), "report", {"target": {"handler": "other"}, "queue": "slow"})
    started, waiting = await runs(database, job)
    lane = (await timer(database, job))["lane"]
    assert (started["revision"], started["lane"]) == (1, before["lane"])
    assert (waiting["revision"], waiting["lane"]) == (2, lane)
    assert lane != before["lane"]


@pytest.mark.parametrize(
    ("old", "new"), [(None, "new-{{unix}}"), ("old-{{unix}}", None), ("{{date}}", "{{week}}")]
)
async def test_the_key_of_what_has_fired_stays(database: Database, old: str | None, new: str | None) -> None:
    job = await make(database, idempotency_key_template=old)
    async with database.connection() as connection:
        stored = StoredJob(dict(await connection.fetchrow(database.sql("select * from sexton.jobs")) or {}))
    key = stored.key_of(at(1))
    await pause(Context(database, now=at(1)), "report")
    await edit(Context(database, now=at(1)), "report", {"idempotency_key_template": new})
    (run,) = await runs(database, job)
    assert run["idempotency_key"] == key


async def test_a_renamed_job_frees_its_name_and_keeps_its_handler(database: Database) -> None:
    await make(database)
    await make(database, name="other")
    with pytest.raises(NameTaken) as caught:
        await edit(Context(database, now=NOW), "report", {"name": "other"})
    assert caught.value.job_id == (await get(Context(database), "other")).job_id
    assert (await get(Context(database), "report")).revision == 1
    shown = await edit(Context(database, now=NOW), "report", {"name": "renamed"})
    assert shown.target == {"handler": "report"}
    with pytest.raises(NotFound):
        await get(Context(database), "report")


async def test_a_completed_job_begins_again_with_another_schedule(database: Database) -> None:
    job = await make(database, schedule="2026-06-03T13:00:00Z")
    shown = await pause(Context(database, now=at(27)), "report")
    assert shown.status == "active"  # its run has not ended
    await rows(database, "delete from sexton.runs")
    shown = await edit(Context(database, now=at(28)), "report", {"description": "still over"})
    assert (shown.status, shown.revision) == ("completed", 2)
    shown = await edit(Context(database, now=at(28)), "report", {"schedule": "2026-06-03T15:00:00Z"})
    assert (shown.status, shown.completed_at) == ("active", None)
    assert shown.next_run_at == datetime(2026, 6, 3, 15, tzinfo=UTC)
    assert (await timer(database, job))["revision"] == 3
    with pytest.raises(ScheduleError) as caught:
        await edit(Context(database, now=at(28)), "report", {"schedule": "2026-06-03T12:00:00Z"})
    assert caught.value.code == "in_the_past"


async def test_max_runs_counts_on_through_an_edit(database: Database) -> None:
    job = await make(database, max_runs=3)
    await edit(Context(database, now=at(1)), "report", {"description": "x"})
    assert (await timer(database, job))["fired_count"] == 1
    await rows(database, "delete from sexton.runs")
    shown = await edit(Context(database, now=at(1)), "report", {"max_runs": 1})
    assert shown.status == "completed"
    shown = await edit(Context(database, now=at(2)), "report", {"max_runs": 5})
    assert (shown.status, shown.next_run_at) == ("active", at(3))
    assert (await timer(database, job))["fired_count"] == 1


async def test_a_refused_edit_changes_nothing(database: Database) -> None:
    job = await make(database)
    for changes in ({"schedule": "nonsense"}, {"priority": 9}, {"cron": "x"}, {"schedule": None}):
        with pytest.raises(InvalidField):
            await edit(Context(database, now=at(5)), "report", changes)
    assert (await timer(database, job))["scheduled_at"] == at(1)
    assert await runs(database, job) == []


@pytest.mark.parametrize("overlap", list(Overlap))
async def test_what_is_caught_up_runs_one_after_another(database: Database, overlap: Overlap) -> None:
    """What is due now runs behind the missed ones, or beside them if runs may overlap."""
    job = await make(database, overlap=overlap, missed_window="RUN_ALL")
    await edit(Context(database, now=at(3) + timedelta(seconds=30)), "report", {"description": "x"})
    found = await rows(
        database,
        """select slot, available_at < 'infinity' as may_start from sexton.runs where job_id = $1
        order by scheduled_at""",
        number(job),
    )
    assert [run["slot"] == 0 for run in found] == [True, False, False]
    assert [run["may_start"] for run in found] == [True, False, overlap is Overlap.ALLOW]
    assert await history(database, job) == []


async def test_put_creates_then_replaces_then_leaves_alone(database: Database) -> None:
    first, created = await replace(Context(database, now=NOW), "report", spec(payload=1, priority=1))
    assert created
    same, created = await replace(Context(database, now=NOW + HOUR), "report", spec(payload=1, priority=1))
    assert (created, same.revision, same.job_id) == (False, 1, first.job_id)
    other, created = await replace(Context(database, now=NOW), "report", spec(payload=2))
    assert (created, other.revision, other.payload, other.priority) == (False, 2, 2, 2)
    assert (other.job_id, other.anchor) == (first.job_id, first.anchor)
    with pytest.raises(Conflict):
        await replace(Context(database, now=NOW), "report", spec(payload=3), expected_revision=1)
    with pytest.raises(Conflict):
        await replace(Context(database, now=NOW), "nobody", spec(name="nobody"), expected_revision=1)


async def test_of_two_puts_at_once_one_creates(database: Database) -> None:
    results = await asyncio.gather(
        *(replace(Context(database, now=NOW), "report", spec(payload=n)) for n in range(4))
    )
    assert sorted(created for _, created in results) == [False, False, False, True]
    assert await value(database, "select count(*) from sexton.timers") == 1


@pytest.mark.parametrize("how", ["deleted", "renamed"])
async def test_a_put_that_waits_for_a_job_which_goes_away_creates_another(
    database: Database, how: str
) -> None:
    job = await make(database)
    async with database.transaction() as going:
        if how == "deleted":
            await delete(Context(database, connection=going, now=NOW), job.job_id)
        else:
            await edit(Context(database, connection=going, now=NOW), job.job_id, {"name": "old-report"})
        await going.execute("set local idle_in_transaction_session_timeout = 0")  # however slow we are
        putting = asyncio.create_task(
            replace(Context(database, now=NOW), job.name, spec(name=job.name, payload=2))
        )
        await blocked_by(database, going)
    made, created = await putting
    assert created
    assert made.job_id != job.job_id
    assert (await get(Context(database), made.job_id)).payload == 2
    gone = await get(Context(database), job.job_id)
    assert (gone.status, gone.name) == (
        ("deleted", job.name) if how == "deleted" else ("active", "old-report")
    )


async def test_an_edit_and_a_deletion_at_once_leave_a_deleted_job_without_a_timer(database: Database) -> None:
    job = await make(database)
    await asyncio.gather(
        edit(Context(database, now=NOW), job.job_id, {"schedule": "every 1m"}),
        delete(Context(database, now=NOW), job.job_id),
        backfill(Context(database, now=NOW), job.job_id, at(-5), at(0)),
        return_exceptions=True,
    )
    assert await rows(database, "select * from sexton.timers") == []
    assert (await get(Context(database), job.job_id)).status == "deleted"
    assert await runs(database, job) == []


async def test_an_anchor_goes_with_the_schedule_that_counted_from_it(database: Database) -> None:
    context = Context(database, now=NOW)
    await make(database, schedule="every 15m", anchor="2026-06-01T00:00:00Z")
    shown = await edit(context, "report", {"schedule": "0 9 * * *"})
    assert (shown.kind, shown.anchor) == ("cron", None)
    with pytest.raises(ScheduleError) as caught:
        await edit(context, "report", {"anchor": "2026-06-01T08:00:00Z"})
    assert caught.value.field == "anchor"
    # What is shown can be sent back.
    fields = {name: getattr(shown, name) for name in ("schedule", "kind", "timezone", "anchor")}
    assert (await replace(context, "report", spec(**fields)))[0].revision == shown.revision
    shown = await edit(context, "report", {"schedule": "every 1h"})
    assert shown.next_run_at == NOW.replace(microsecond=0) + HOUR


async def test_a_text_with_its_own_start_and_zone_brings_them(database: Database) -> None:
    await make(database, schedule="every 15m")
    context = Context(database, now=NOW)
    lines = "DTSTART;TZID=Europe/Berlin:20260601T090000\nRRULE:FREQ=DAILY"
    shown = await edit(context, "report", {"schedule": lines})
    assert (shown.timezone, shown.anchor) == ("Europe/Berlin", datetime(2026, 6, 1, 7, tzinfo=UTC))
    assert (await edit(context, "report", {"description": "x"})).problem is None
    with pytest.raises(ScheduleError) as caught:
        await edit(context, "report", {"anchor": "2026-06-01T08:00:00Z"})
    assert caught.value.field == "anchor"
    shown = await edit(context, "report", {"schedule": "Mon..Fri 09:00 Asia/Tokyo"})
    assert (shown.timezone, shown.kind) == ("Asia/Tokyo", "cron")
    start = datetime(2026, 6, 1, 9, 5, tzinfo=UTC)
    shown, _ = await replace(context, "report", spec(schedule="R/2026-06-01T09:05:00Z/PT1H"))
    assert (shown.kind, shown.anchor) == ("interval", start)
    assert shown.next_run_at == start + (NOW - start) // HOUR * HOUR + HOUR


async def test_where_the_seconds_stand_is_kept_with_cron_lines_alone(database: Database) -> None:
    job = await make(database, schedule="0 9 * * * 0", seconds="last")
    assert (job.seconds, job.next_run_at) == ("last", datetime(2026, 6, 4, 9, tzinfo=UTC))
    kept = await edit(Context(database, now=NOW), job.job_id, {"schedule": "30 13 * * * 0"})
    assert (kept.seconds, kept.next_run_at) == ("last", datetime(2026, 6, 3, 13, 30, tzinfo=UTC))
    other = await edit(Context(database, now=NOW), job.job_id, {"schedule": "every 1h"})
    assert other.seconds is None
    with pytest.raises(ScheduleError, match="seconds=last is for cron alone"):
        await edit(Context(database, now=NOW), job.job_id, {"seconds": "last"})


async def test_the_seconds_are_read_back_when_the_job_fires(database: Database) -> None:
    job = await make(database, schedule="0 9 * * * 0", seconds="last")
    stored = StoredJob(await row(database, "select * from sexton.jobs where id = $1", number(job)))
    assert stored.schedule.next_after(NOW) == datetime(2026, 6, 4, 9, tzinfo=UTC)
