"""Every nominal time of a range gets exactly one disposition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.errors import NotFound
from sexton.jobs.edit import edit
from sexton.jobs.state import delete, pause
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.occurrences import list_occurrences
from sexton.runs.read import list_runs
from sexton.runs.why import why
from tests.runs.rows import (
    HOUR,
    MINUTE,
    NOON,
    make_ended,
    make_job,
    make_live,
    make_node,
    set_timer,
)

pytestmark = pytest.mark.asyncio

RETRY = "the retry is at 2026-06-01T12:02:00Z, in 1 min 57 s"


async def account(database: Database, job: int, start: datetime, end: datetime, **more: Any) -> list[Any]:
    found = await list_occurrences(Context(database, now=more.pop("now", NOON)), job, start, end, **more)
    return [
        (each.scheduled_at.astimezone(UTC).strftime("%H:%M"), each.disposition, each.reason) for each in found
    ]


async def test_records_and_the_schedule_are_joined(database: Database) -> None:
    job = await make_job(database)
    await make_ended(database, job, 1, NOON - 4 * HOUR)
    await make_ended(database, job, None, NOON - 3 * HOUR, reason="overlap")
    await make_ended(database, job, 2, NOON - 2 * HOUR, status="dead")
    await make_live(database, job, 3, NOON - HOUR, state="running", attempt=1, claimed_at=NOON)
    await set_timer(database, job, NOON)
    assert await account(database, job, NOON - 4 * HOUR, NOON + HOUR) == [
        ("08:00", "fired", None),
        ("09:00", "skipped", "overlap"),
        ("10:00", "fired", None),
        ("11:00", "fired", None),
        ("12:00", "upcoming", None),
        ("13:00", "upcoming", None),
    ]
    found = await list_occurrences(Context(database, now=NOON), job, NOON - 4 * HOUR, NOON)
    assert [each.run_id for each in found] == [*("r_1", None, "r_2", "r_3"), None]


async def test_a_counted_range_is_told_one_by_one(database: Database) -> None:
    job = await make_job(database)
    await make_ended(
        database, job, None, NOON - 5 * HOUR, until_at=NOON - 2 * HOUR, occurrences=4, reason="coalesced",
        recorded_at=NOON,
    )  # fmt: skip
    await make_ended(database, job, 1, NOON - HOUR, trigger="catch_up", missed=True, recorded_at=NOON)
    await set_timer(database, job, NOON + HOUR)
    assert await account(database, job, NOON - 4 * HOUR, NOON) == [
        ("08:00", "skipped", "coalesced"),
        ("09:00", "skipped", "coalesced"),
        ("10:00", "skipped", "coalesced"),
        ("11:00", "fired", None),
    ]


async def test_a_redrive_does_not_make_a_second_occurrence(database: Database) -> None:
    job = await make_job(database)
    await make_ended(database, job, 1, NOON - HOUR, status="dead")
    await make_live(database, job, 9, NOON - HOUR, trigger="redrive", parent_run=1)
    await make_live(database, job, 10, NOON - HOUR, trigger="manual")
    await set_timer(database, job, NOON)
    found = await list_occurrences(Context(database, now=NOON), job, NOON - HOUR, NOON - MINUTE)
    assert [each.run_id for each in found] == ["r_1"]


async def test_what_a_clock_change_and_a_calendar_took_away(database: Database) -> None:
    made = datetime(2026, 3, 1, tzinfo=UTC)
    now = datetime(2026, 4, 1, tzinfo=UTC)
    job = await make_job(
        database,
        now=made,
        schedule="30 2 * * *",
        timezone="America/New_York",
        gap="skip",
        exclude=["2026-03-10"],
    )
    await set_timer(database, job, datetime(2026, 4, 1, 6, 30, tzinfo=UTC))
    found = await list_occurrences(Context(database, now=now), job, made, now)
    assert [(f"{each.scheduled_at:%d}", each.disposition, each.reason) for each in found] == [
        ("08", "skipped", "dst_gap"),
        ("10", "skipped", "excluded"),
    ]


async def test_clocks_take_nothing_away_from_a_job_that_is_over(database: Database) -> None:
    made, now = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    job = await make_job(database, now=made, schedule="30 2 * * *", timezone="America/New_York", gap="skip")
    await set_timer(database, job, made + 3 * 24 * HOUR)
    await delete(Context(database, now=made + 2 * 24 * HOUR), encode_id("j", job))
    assert await list_occurrences(Context(database, now=now), job, made + 3 * 24 * HOUR, now) == []


async def test_a_paused_job_keeps_its_place(database: Database) -> None:
    job = await make_job(database)
    await set_timer(database, job, NOON - 3 * HOUR)
    await pause(Context(database, now=NOON - 3 * HOUR - MINUTE), encode_id("j", job), reason="moving")
    assert await account(database, job, NOON - 3 * HOUR, NOON + HOUR, now=NOON + MINUTE) == [
        ("09:00", "skipped", "paused"),
        ("10:00", "skipped", "paused"),
        ("11:00", "skipped", "paused"),
        ("12:00", "skipped", "paused"),
        ("13:00", "upcoming", "paused"),
    ]


async def test_what_comes_after_the_end_of_a_pause_is_due(database: Database) -> None:
    job = await make_job(database)
    await set_timer(database, job, NOON)
    until, ref = NOON + 90 * MINUTE, encode_id("j", job)
    shown = await pause(Context(database, now=NOON - MINUTE), ref, until=until, reason="moving")
    assert shown.next_run_at == NOON + 2 * HOUR
    assert await account(database, job, NOON, NOON + 3 * HOUR, now=NOON + MINUTE) == [
        ("12:00", "skipped", "paused"),
        ("13:00", "upcoming", "paused"),
        ("14:00", "upcoming", None),
        ("15:00", "upcoming", None),
    ]
    lines = await why(Context(database, now=NOON - MINUTE), job, past=0, ahead=1)
    assert [each.text for each in lines] == [
        "due in 1 min, but the job is paused until 2026-06-01T13:30:00Z (moving)",
        "due in 2 h 1 min",
    ]


async def test_a_pause_does_not_use_up_the_last_runs(database: Database) -> None:
    job = await make_job(database, max_runs=1)
    await set_timer(database, job, NOON)
    await pause(Context(database, now=NOON - MINUTE), encode_id("j", job), until=NOON + 90 * MINUTE)
    assert await account(database, job, NOON, NOON + 3 * HOUR, now=NOON - MINUTE) == [
        ("12:00", "upcoming", "paused"),
        ("13:00", "upcoming", "paused"),
        ("14:00", "upcoming", None),
    ]


@pytest.mark.parametrize(("past", "ahead"), [(0, 0), (0, 2), (1, 0), (2, 1)])
async def test_why_shows_as_many_as_are_asked_for(database: Database, past: int, ahead: int) -> None:
    job = await make_job(database)
    for run, hour in enumerate((3, 2, 1), 1):
        await make_ended(database, job, run, NOON - hour * HOUR)
    await set_timer(database, job, NOON + HOUR)
    lines = await why(Context(database, now=NOON + MINUTE), job, past=past, ahead=ahead)
    assert [each.disposition for each in lines] == ["fired"] * past + ["upcoming"] * ahead


async def test_after_an_edit_the_past_is_told_by_the_schedule_of_its_time(database: Database) -> None:
    made = datetime(2026, 3, 1, tzinfo=UTC)
    job = await make_job(database, now=made, schedule="0 9 * * *", exclude=["2026-03-05"])
    edited = datetime(2026, 3, 10, tzinfo=UTC)
    await set_timer(database, job, edited + 9 * HOUR)
    await edit(
        Context(database, now=edited),
        encode_id("j", job),
        {"schedule": "0 10 * * *", "exclude": ["2026-03-04", "2026-03-12"]},
    )
    async with database.connection() as connection:
        await connection.execute(database.sql("update sexton.job_revisions set valid_until = $1"), edited)
    await set_timer(database, job, datetime(2026, 3, 13, 10, tzinfo=UTC))
    now = datetime(2026, 3, 13, tzinfo=UTC)
    found = await list_occurrences(Context(database, now=now), job, made, now + timedelta(days=1))
    assert [(f"{each.scheduled_at:%d %H}", each.disposition, each.reason) for each in found] == [
        ("05 09", "skipped", "excluded"),
        ("12 10", "skipped", "excluded"),
        ("13 10", "upcoming", None),
    ]


async def test_the_last_runs_are_the_last(database: Database) -> None:
    job = await make_job(database, max_runs=2)
    await set_timer(database, job, NOON)
    assert await account(database, job, NOON, NOON + 10 * HOUR) == [
        ("12:00", "upcoming", None),
        ("13:00", "upcoming", None),
    ]


async def test_a_limit_cuts_the_later_ones(database: Database) -> None:
    job = await make_job(database)
    for hour in range(5):
        await make_ended(database, job, 1 + hour, NOON - (6 - hour) * HOUR)
    await set_timer(database, job, NOON)
    assert [at for at, _, _ in await account(database, job, NOON - 9 * HOUR, NOON + 9 * HOUR, limit=3)] == [
        "06:00",
        "07:00",
        "08:00",
    ]


async def test_why_says_it_in_one_line_each(database: Database) -> None:
    job = await make_job(database)
    await make_node(database, 7, roles=["scheduler"])
    await make_ended(database, job, 1, NOON - 8 * HOUR)
    await make_ended(database, job, 2, NOON - 7 * HOUR, fired_at=NOON - 7 * HOUR + timedelta(seconds=200))
    await make_ended(database, job, None, NOON - 6 * HOUR, reason="overlap")
    await make_ended(
        database, job, 3, NOON - 5 * HOUR, status="dead", attempt=4, error="ValueError: no\n\n  File …"
    )
    await make_ended(database, job, 4, NOON - 4 * HOUR, status="expired", attempt=0)
    await make_ended(database, job, 5, NOON - 3 * HOUR, attempt=2)
    await make_live(
        database,
        job,
        6,
        NOON - 2 * HOUR,
        state="failed",
        attempt=1,
        error="boom",
        available_at=NOON + 2 * MINUTE,
    )
    await make_live(database, job, 7, NOON - HOUR)
    await set_timer(database, job, NOON)
    lines = await why(Context(database, now=NOON + timedelta(seconds=3)), job)
    assert [each.text for each in lines] == [
        "fired on time; success",
        "fired late by 3 min 20 s; success",
        "skipped because the run before it had not ended (overlap)",
        "fired on time; dead after 4 attempts (ValueError: no)",
        "fired on time; expired before it could start",
        "fired on time; success at attempt 2",
        f"fired on time; attempt 1 failed (boom); waiting because {RETRY}",
        "fired on time; waiting because no worker is running",
        "due 3 s ago, about to fire",
        "due in 59 min 57 s",
        "due in 1 h 59 min",
        "due in 2 h 59 min",
    ]
    assert lines[3].status == "dead"


async def test_why_at_a_time_shows_that_one_or_its_neighbours(database: Database) -> None:
    job = await make_job(database)
    await make_ended(database, job, 1, NOON - 2 * HOUR)
    await make_ended(database, job, 2, NOON - HOUR)
    await set_timer(database, job, NOON)
    exact = await why(Context(database, now=NOON - MINUTE), job, at=NOON - HOUR)
    assert [each.run_id for each in exact] == ["r_2"]
    between = await why(Context(database, now=NOON - MINUTE), job, at=NOON - 90 * MINUTE)
    assert [each.run_id for each in between] == ["r_1", "r_2"]
    ahead = await why(Context(database, now=NOON - MINUTE), job, at=NOON + HOUR)
    assert [each.text for each in ahead] == ["due in 1 h 1 min"]


async def test_nothing_fires_without_a_scheduler(database: Database) -> None:
    job = await make_job(database)
    await set_timer(database, job, NOON)
    (line, *_) = await why(Context(database, now=NOON + 2 * MINUTE), job, ahead=0)
    assert line.text == "due 2 min ago, waiting because no scheduler is running"


@pytest.mark.parametrize("minutes", [-200, 200])
async def test_a_wrong_clock_of_this_machine_changes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    """The database's time counts, here as everywhere."""
    async with database.connection() as connection:
        now = await database.time(connection)
    hour = now.replace(minute=0, second=0, microsecond=0)
    job = await make_job(database, now=now - 24 * HOUR)
    await set_timer(database, job, hour)
    await make_node(database, 7, roles=["scheduler"], lease_until=now + 5 * MINUTE)
    await make_ended(database, job, 1, hour - HOUR, recorded_at=now)
    monkeypatch.setattr("sexton.clock.now", lambda: now + minutes * MINUTE)
    assert "about to fire" in (await why(Context(database), job, ahead=0))[-1].text
    assert [run.run_id for run in (await list_runs(Context(database))).items] == ["r_1"]
    await pause(Context(database), encode_id("j", job))
    times = await list_occurrences(Context(database), job, hour + 2 * HOUR, hour + 3 * HOUR)
    assert {(each.disposition, each.reason) for each in times} == {("upcoming", "paused")}


async def test_a_job_that_is_not_there(database: Database) -> None:
    with pytest.raises(NotFound):
        await list_occurrences(Context(database), 999, NOON, NOON + HOUR)
    with pytest.raises(NotFound):
        await why(Context(database), 999)
