"""Moving the next run: every occurrence keeps exactly one disposition, and then the schedule goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.errors import Conflict, InvalidField
from sexton.jobs.bulk import put_many
from sexton.jobs.edit import edit, reschedule, skip_next
from sexton.jobs.preview import preview_job
from sexton.jobs.read import get
from sexton.jobs.spread import jitter_of
from sexton.jobs.state import pause, resume
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.occurrences import list_occurrences
from sexton.runs.why import why
from tests.jobs.making import HOUR, MINUTE, NOW, at, history, make, number, runs, timer, value

HOURLY = "34 * * * *"  # the next one is at(60)


async def dispositions(database: Database, job: Any, now: datetime, minutes: int) -> list[tuple[int, str]]:
    """(minutes after 12:34, disposition or reason) of every occurrence from then on."""
    found = await list_occurrences(Context(database, now=now), number(job), NOW, at(minutes), limit=1000)
    return [(round((each.scheduled_at - at(0)) / MINUTE), each.reason or each.disposition) for each in found]


async def test_one_that_is_put_back_is_not_told_as_moved(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    await skip_next(Context(database, now=NOW), "report")
    shown = await reschedule(Context(database, now=NOW), "report", at(60))
    assert (shown.next_run_at, shown.moved_from) == (at(60), None)
    assert (await preview_job(Context(database, now=NOW), "report")).occurrences[0].note is None
    assert await dispositions(database, job, NOW, 150) == [(60, "upcoming"), (120, "upcoming")]


async def test_later(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    shown = await reschedule(Context(database, now=NOW), "report", at(150))
    assert (shown.next_run_at, shown.moved_from, shown.revision) == (at(150), at(60), 2)
    stored = await timer(database, job)
    assert (stored["scheduled_at"], stored["due_at"], stored["revision"]) == (at(150), at(150), 2)
    assert await dispositions(database, job, NOW, 240) == [
        (60, "rescheduled"), (120, "rescheduled"), (150, "upcoming"), (180, "upcoming"), (240, "upcoming"),
    ]  # fmt: skip
    assert (await history(database, job), await runs(database, job)) == ([], [])


async def test_earlier(database: Database) -> None:
    """The occurrence is moved, so it does not come again at its old time."""
    job = await make(database, schedule=HOURLY)
    shown = await reschedule(Context(database, now=NOW), "report", "in 10m")
    there = NOW.replace(microsecond=0) + timedelta(minutes=10, seconds=1)
    assert (shown.next_run_at, shown.moved_from) == (there, at(60))
    found = await list_occurrences(Context(database, now=NOW), number(job), NOW, at(180))
    assert [(each.scheduled_at, each.reason or each.disposition) for each in found] == [
        (there, "upcoming"), (at(60), "rescheduled"), (at(120), "upcoming"), (at(180), "upcoming"),
    ]  # fmt: skip


async def test_again_before_it_has_come(database: Database) -> None:
    """Moved again, it still stands for the same occurrence: what lies behind it comes back."""
    job = await make(database, schedule=HOURLY)
    await reschedule(Context(database, now=NOW), "report", at(300))
    shown = await reschedule(Context(database, now=NOW + MINUTE), "report", at(90))
    assert (shown.next_run_at, shown.moved_from) == (at(90), at(60))
    assert await dispositions(database, job, NOW + MINUTE, 180) == [
        (60, "rescheduled"), (90, "upcoming"), (120, "upcoming"), (180, "upcoming"),
    ]  # fmt: skip
    later = NOW + 65 * MINUTE  # 60 is over, and was moved
    shown = await reschedule(Context(database, now=later), "report", at(200))
    assert (shown.next_run_at, shown.moved_from) == (at(200), at(120))
    assert await dispositions(database, job, later, 240) == [
        (60, "rescheduled"), (120, "rescheduled"), (180, "rescheduled"), (200, "upcoming"), (240, "upcoming"),
    ]  # fmt: skip


async def test_again_after_it_has_come(database: Database) -> None:
    """What was run early does not come back."""
    job = await make(database, schedule=HOURLY)
    await reschedule(Context(database, now=NOW), "report", at(10))
    later = at(15)
    shown = await reschedule(Context(database, now=later), "report", at(30))
    assert (shown.next_run_at, shown.moved_from) == (at(30), at(120))
    [run] = await runs(database, job)
    assert (run["scheduled_at"], run["trigger"]) == (at(10), "catch_up")
    assert await dispositions(database, job, later, 240) == [
        (10, "fired"), (30, "upcoming"), (60, "rescheduled"), (120, "rescheduled"), (180, "upcoming"),
        (240, "upcoming"),
    ]  # fmt: skip


async def test_to_where_it_is_changes_nothing(database: Database) -> None:
    await make(database, schedule=HOURLY)
    shown = await reschedule(Context(database, now=NOW), "report", at(60))
    assert (shown.revision, shown.moved_from) == (1, None)


async def test_a_single_time(database: Database) -> None:
    job = await make(database, schedule="2026-06-03T15:00", timezone="Europe/Berlin")
    shown = await reschedule(Context(database, now=NOW), "report", "2026-06-03T17:30")
    there = datetime(2026, 6, 3, 15, 30, tzinfo=UTC)
    assert (shown.next_run_at, shown.schedule, shown.kind) == (there, "2026-06-03T15:30:00Z", "once")
    assert (shown.timezone, (await timer(database, job))["due_at"]) == ("Europe/Berlin", there)
    assert await history(database, job) == []


@pytest.mark.parametrize("paused", [True, False])
async def test_a_single_time_that_has_come_is_not_run_twice(database: Database, paused: bool) -> None:
    """It has not fired: the job was paused, or no scheduler was there."""
    job = await make(database, schedule="2026-06-03T13:00:00Z")
    if paused:
        await pause(Context(database, now=NOW), "report")
    shown = await reschedule(Context(database, now=NOW + HOUR), "report", at(150))
    assert (shown.status, shown.next_run_at) == (
        "paused" if paused else "active",
        None if paused else at(150),
    )
    assert await history(database, job) == [(at(26), None, 1, "skipped", "rescheduled")]
    assert await runs(database, job) == []
    if paused:
        await resume(Context(database, now=NOW + HOUR), "report")
    assert (await timer(database, job))["due_at"] == at(150)


async def test_what_has_fired_is_not_moved(database: Database) -> None:
    await make(database, schedule="2026-06-03T13:00:00Z")
    late = Context(database, now=NOW + HOUR)
    await late.execute("jobs/complete", job_ids=[number((await get(late, "report")).job_id)], now=NOW)
    with pytest.raises(Conflict) as caught:
        await reschedule(late, "report", at(150))
    assert caught.value.code == "job_completed"


async def test_what_was_missed_is_caught_up_first(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    late = NOW + 2 * HOUR + 5 * MINUTE
    await reschedule(Context(database, now=late), "report", at(200))
    assert await history(database, job) == [(at(60), None, 1, "skipped", "coalesced")]
    assert [(run["scheduled_at"], run["trigger"]) for run in await runs(database, job)] == [
        (at(120), "catch_up")
    ]
    assert await dispositions(database, job, late, 240) == [
        (60, "coalesced"), (120, "fired"), (180, "rescheduled"), (200, "upcoming"), (240, "upcoming"),
    ]  # fmt: skip


async def test_a_paused_job_stays_paused(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    await pause(Context(database, now=NOW), "report")
    shown = await reschedule(Context(database, now=NOW), "report", at(90))
    assert (shown.status, shown.next_run_at) == ("paused", None)
    shown = await resume(Context(database, now=NOW + MINUTE), "report")
    assert (shown.status, shown.next_run_at) == ("active", at(90))
    await pause(Context(database, now=NOW + MINUTE), "report")
    await resume(Context(database, now=at(130)), "report")
    assert await history(database, job) == [(at(90), at(120), 2, "skipped", "paused")]
    assert await dispositions(database, job, at(130), 180) == [
        (60, "rescheduled"), (90, "paused"), (120, "paused"), (180, "upcoming"),
    ]  # fmt: skip


async def test_edits_of_other_fields_keep_it(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    await reschedule(Context(database, now=NOW), "report", at(90))
    shown = await edit(Context(database, now=NOW), "report", {"priority": 1})
    assert (shown.next_run_at, shown.moved_from, shown.revision) == (at(90), at(60), 3)
    line = {"name": "report", "schedule": HOURLY, "priority": 1}
    [put] = await put_many(Context(database, now=NOW), [line])
    assert put.result == "unchanged"
    [put] = await put_many(Context(database, now=NOW), [{**line, "schedule": "35 * * * *"}])
    shown = await get(Context(database, now=NOW), "report")
    assert (put.result, shown.next_run_at, shown.moved_from) == ("changed", at(1), None)
    assert (await timer(database, job))["due_at"] == at(1)


async def test_jitter_is_kept(database: Database) -> None:
    job = await make(database, schedule=HOURLY, jitter_seconds=600)
    offset = timedelta(seconds=jitter_of(number(job), 600))
    await reschedule(Context(database, now=NOW), "report", at(90))
    stored = await timer(database, job)
    assert (stored["scheduled_at"], stored["due_at"]) == (at(90), at(90) + offset)


async def test_why_and_preview_say_it(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    await reschedule(Context(database, now=NOW), "report", at(90))
    told = await why(Context(database, now=NOW), number(job), ahead=2)
    assert [each.text for each in told] == [
        "skipped because the job was rescheduled",
        "due in 1 h 29 min, moved from 2026-06-03T13:34:00Z",
    ]
    shown = await preview_job(Context(database, now=NOW), "report", count=2)
    assert [(each.scheduled_at, each.skipped) for each in shown.occurrences] == [
        (at(90), None), (at(120), None),
    ]  # fmt: skip
    assert shown.occurrences[0].note == "moved from 2026-06-03 13:34:00"


async def test_why_of_a_job_that_repeats_often_shows_the_latest(database: Database) -> None:
    job = await make(database, schedule="every 1s")
    await reschedule(Context(database, now=NOW), "report", NOW + HOUR)
    told = await why(Context(database, now=NOW + timedelta(minutes=40)), number(job), past=3, ahead=2)
    assert [(each.scheduled_at - NOW) // timedelta(seconds=1) for each in told] == [
        2397, 2398, 2399, 2400, 2401, 3600,
    ]  # fmt: skip
    assert {each.reason for each in told[:-1]} == {"rescheduled"}
    assert told[-1].disposition == "upcoming"


@pytest.mark.parametrize(
    ("given", "code", "hint"),
    [
        (NOW - MINUTE, "in_the_past", "sexton jobs run"),
        ("2026-06-03T12:00:00Z", "in_the_past", "later"),
        (NOW.replace(tzinfo=None) + HOUR, "naive_time", "offset"),
        ("tomorrow", "bad_time", "2026-12-24T18:00:00Z"),
        ("in ten", "bad_interval", "in 15m"),
        ("2026-06-03T13:00:00Z", "out_of_range", "edit starts_at"),
        ("2026-06-10T13:00:00Z", "out_of_range", "edit ends_at"),
        ("2026-10-25T02:30", "ambiguous_time", "fold"),
    ],
)
async def test_what_cannot_be_is_refused(database: Database, given: Any, code: str, hint: str) -> None:
    await make(
        database,
        schedule=HOURLY,
        timezone="Europe/Berlin",
        starts_at="2026-06-03T14:00:00Z",
        ends_at="2026-06-09T00:00:00Z",
    )
    with pytest.raises(InvalidField) as caught:
        await reschedule(Context(database, now=NOW), "report", given)
    assert (caught.value.code, caught.value.field) == (code, "at")
    assert hint in (caught.value.hint or "")


async def test_another_revision_is_refused(database: Database) -> None:
    await make(database, schedule=HOURLY)
    with pytest.raises(Conflict):
        await reschedule(Context(database, now=NOW), "report", at(90), expected_revision=2)
    assert await value(database, "select moved from sexton.jobs") is None
