"""A job is made with its timer or not at all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from sexton.config import Settings
from sexton.errors import InvalidField, NameTaken, ScheduleError
from sexton.jobs import planning
from sexton.jobs.create import create
from sexton.jobs.edit import replace
from sexton.jobs.read import get
from sexton.jobs.spec import JobSpec
from sexton.jobs.spread import jitter_of, shard_of
from sexton.jobs.state import delete
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from tests.jobs.making import HOUR, NOW, make, number, row, rows, spec, timer, value

WEEKLY: dict[str, Any] = {"schedule": "0 9 * * 1", "timezone": "America/New_York"}
MONDAY = datetime(2026, 6, 8, 13, 0, tzinfo=UTC)


async def test_a_job_is_shown_with_every_default(database: Database) -> None:
    job = await make(database, **WEEKLY)
    assert job == await get(Context(database), "report") == await get(Context(database), job.job_id)
    shown = msgspec.to_builtins(job)
    assert shown["next_run_at"] == "2026-06-08T13:00:00Z"
    assert shown["next_run_local"] == "2026-06-08T09:00:00-04:00"
    assert shown["target"] == {"handler": "report"}
    assert shown["anchor"] is None  # nothing is counted from it
    assert (shown["status"], shown["revision"], shown["kind"]) == ("active", 1, "cron")
    assert (shown["missed_window"], shown["max_retries"], shown["payload"]) == ("RUN_ONCE", 3, None)
    assert shown["last_run_at"] is None
    assert shown["last_outcome"] is None


async def test_what_was_given_comes_back(database: Database) -> None:
    fields: dict[str, Any] = {
        **WEEKLY, "payload": {"a": [1, None, "é"]}, "queue": "slow", "priority": 0, "max_retries": 7,
        "retry_backoff": "fixed", "overlap": "QUEUE_ONE", "missed_window": "RUN_ALL", "grace_seconds": 5,
        "starts_at": "2026-07-01T00:00:00Z", "ends_at": "2027-07-01T00:00:00Z", "exclude": ["2026-12-28"],
        "labels": {"team": "billing"}, "description": "weekly", "owner": "ops", "max_runs": 12,
        "target": {"http": {"url": "https://example.com/hook", "method": "PUT"}}, "gap": "skip",
        "idempotency_key_template": "report-{{week}}", "expires_seconds": 60, "catch_up_seconds": 3600,
    }  # fmt: skip
    shown = msgspec.to_builtins(await make(database, **fields))
    assert {name: shown[name] for name in fields} == fields
    stored = await row(database, "select * from sexton.timers")
    assert (stored["max_runs"], stored["priority"], stored["overlap"]) == (12, 0, 2)
    assert (stored["expires_seconds"], stored["grace_seconds"]) == (60, 5)
    lane = await row(database, "select * from sexton.lanes where id = $1", stored["lane"])
    assert (lane["queue"], lane["target"], lane["handler"]) == ("slow", "http", "")


async def test_the_timer_stands_at_the_first_occurrence(database: Database) -> None:
    job = await make(database, **WEEKLY, jitter_seconds=600)
    stored = await timer(database, job)
    assert stored["scheduled_at"] == MONDAY
    assert stored["due_at"] == MONDAY + timedelta(seconds=jitter_of(number(job), 600))
    shards = await value(database, "select count(*) from sexton.shards")
    assert stored["shard"] == shard_of(number(job), shards)
    assert (stored["revision"], stored["fired_count"], stored["grace_seconds"]) == (1, 0, None)


async def test_only_what_differs_from_the_defaults_is_stored(database: Database) -> None:
    await make(database, **WEEKLY, priority=2, max_retries=3, overlap="ALLOW")
    stored = await row(database, "select options, payload, labels from sexton.jobs")
    assert stored == {"options": "{}", "payload": None, "labels": None}


async def test_a_specification_made_in_code_is_stored_as_one_that_was_read(database: Database) -> None:
    target = {"handler": None, "http": {"url": "https://example.com/hook", "method": "POST"}}
    made = JobSpec(name="report", schedule="@daily", target=target, dead_letter_target=target)
    expected = {"http": {"url": "https://example.com/hook"}}
    job = await create(Context(database, now=NOW), made)
    assert (job.target, job.dead_letter_target) == (expected, expected)
    same, _ = await replace(Context(database, now=NOW), "report", made)
    assert same.revision == job.revision


@pytest.mark.parametrize(
    "fields",
    [
        WEEKLY,
        {"schedule": "every 90s"},
        {"schedule": "FREQ=DAILY", "timezone": "Europe/Berlin"},
        {"schedule": "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2"},
        {"schedule": "CRON_TZ=Asia/Tokyo 30 2 * * *"},
        {"schedule": "H H * * *"},
        {"schedule": "2026-12-24T18:00:00.25Z"},
        {"schedule": "2026-12-24T18:00", "timezone": "America/New_York"},
        {"schedule": "0 9 * * *", "starts_at": "2026-07-01T00:00:00", "timezone": "Europe/Berlin"},
        {"schedule": "0 9 * * *", "exclude": ["2026-06-04", "2026-12-24/2027-01-02"]},
        {"schedule": "0 9 * * *", "ends_at": "2028-01-01T00:00:00Z"},
    ],
)  # fmt: skip
async def test_the_scheduler_reads_the_same_schedule_from_the_row(
    database: Database, fields: dict[str, Any]
) -> None:
    job = await make(database, **fields)
    stored = await row(database, "select * from sexton.jobs")
    schedule = planning.schedule_of(stored)
    assert schedule.timing_key == stored["timing_key"].hex
    assert schedule.next_after(NOW) == job.next_run_at


async def test_an_interval_counts_from_the_second_of_its_making(database: Database) -> None:
    job = await make(database, schedule="every 15m")
    assert job.anchor == NOW.replace(microsecond=0)
    assert job.next_run_at == NOW.replace(microsecond=0) + timedelta(minutes=15)


async def test_a_name_is_taken_once(database: Database) -> None:
    first = await make(database)
    with pytest.raises(NameTaken) as caught:
        await make(database)
    assert caught.value.to_dict()["job_id"] == first.job_id
    assert first.job_id in caught.value.message
    assert await value(database, "select count(*) from sexton.timers") == 1


async def test_of_two_at_once_one_is_made(database: Database) -> None:
    results = await asyncio.gather(*(make(database) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(result, NameTaken) for result in results) == 3
    assert await value(database, "select count(*) from sexton.jobs") == 1
    assert await value(database, "select count(*) from sexton.timers") == 1


async def test_a_deleted_job_frees_its_name(database: Database) -> None:
    first = await make(database)
    await delete(Context(database, now=NOW), "report")
    second = await make(database)
    assert second.job_id != first.job_id
    assert (await get(Context(database), "report")).job_id == second.job_id
    assert (await get(Context(database), first.job_id)).status == "deleted"


async def test_a_refused_job_leaves_nothing(database: Database) -> None:
    with pytest.raises(ScheduleError):
        await make(database, schedule="2026-06-01T00:00:00Z")
    with pytest.raises(InvalidField):
        await create(Context(database, now=NOW), msgspec.structs.replace(spec(), priority=9))
    for table in ("jobs", "timers", "lanes"):
        assert await value(database, f"select count(*) from sexton.{table}") == 0


async def test_a_single_time_in_the_past_is_due_at_once_if_that_is_wanted(database: Database) -> None:
    job = await make(database, schedule="2026-06-01T00:00:00Z", missed_window="RUN_ONCE")
    assert (await timer(database, job))["due_at"] == datetime(2026, 6, 1, tzinfo=UTC)


async def test_in_the_transaction_of_the_caller_it_lives_and_dies_with_it(database: Database) -> None:
    async def die() -> None:
        async with database.transaction() as connection:
            await create(Context(database, connection=connection, now=NOW), spec())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await die()
    assert await rows(database, "select * from sexton.jobs") == []
    async with database.transaction() as connection:
        await create(Context(database, connection=connection, now=NOW), spec())
        with pytest.raises(NameTaken):
            await create(Context(database, connection=connection, now=NOW), spec())
        # The refusal leaves the caller's transaction usable.
        await create(Context(database, connection=connection, now=NOW), spec(name="other"))
    assert await value(database, "select count(*) from sexton.timers") == 2


async def test_a_timer_due_soon_is_announced_with_its_shard(database: Database) -> None:
    heard: list[tuple[str, str]] = []
    listener: Any = await asyncpg.connect(database.url)
    try:
        for channel in ("sexton_timers", "sexton_lanes"):
            await listener.add_listener(channel, lambda _c, _p, name, payload: heard.append((name, payload)))
        soon = await make(database, schedule="every 30s")
        await make(database, name="late", target={"handler": "report"}, schedule="0 9 1 1 *")
        await listener.fetchval("select 1")
    finally:
        await listener.close()
    lane = await value(database, "select id from sexton.lanes")
    assert sorted(heard) == [
        ("sexton_lanes", str(lane)),
        ("sexton_timers", "{shard}:{job_id}".format(**await timer(database, soon))),
    ]


async def test_a_handler_that_no_live_worker_has_is_warned_of(database: Database) -> None:
    assert "no worker is running" in (await make(database)).warnings[0]
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                """insert into sexton.nodes (name, roles, handlers, lease_until, version)
                values ('w', '{worker}', '{known}', $1, '0')"""
            ),
            NOW + HOUR,
        )
    warned = await make(database, name="second")
    assert warned.warnings == ["no live worker has the handler second: runs stay pending until one does"]
    fine = await make(database, name="third", target={"handler": "known"})
    assert fine.warnings == []
    later = await get(Context(database, now=NOW + 2 * HOUR), "third")
    assert "no worker is running" in later.warnings[0]


async def test_a_warning_names_what_a_body_wants_and_no_run_has(database: Database) -> None:
    url = "http://127.0.0.1/x"
    body = "{{run_id}} {{ payload.customer }} {{schedueld_at}} {{payload}}"
    job = await make(database, name="odd", target={"http": {"url": url, "body": body}})
    assert job.warnings[1] == (
        "target.http.body: {{payload.customer}}, {{schedueld_at}} is sent unchanged; known are "
        "payload, job_id, job_name, run_id, attempt, scheduled_at, idempotency_key, trigger"
    )
    fine = await make(database, name="even", target={"http": {"url": url, "body": "{{payload}}"}})
    assert len(fine.warnings) == 1


async def test_secrets_that_are_not_there_yet_are_warned_of(database: Database) -> None:
    headers = {"Authorization": "Bearer ${secret:token}", "X": "${secret:known}"}
    message = {
        "broker": "redis",
        "url": {"secret": "redis"},
        "topic": "t",
        "headers": {"a": "${secret:known}"},
    }
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "known", "x")
    job = await make(
        database,
        name="secretive",
        target={"http": {"url": "http://127.0.0.1/x", "headers": headers}},
        dead_letter_target={"message": message},
    )
    assert job.warnings[1:] == [
        "there is no secret redis yet (sexton secret set redis)",
        "there is no secret token yet (sexton secret set token)",
    ]
    for name in ("redis", "token"):
        await secrets.keep(Context(database), settings, name, "x")
    assert len((await get(Context(database, now=NOW), "secretive")).warnings) == 1


async def test_a_key_that_two_occurrences_share_is_warned_of(database: Database) -> None:
    weekly = await make(database, **WEEKLY, idempotency_key_template="report-{{week}}")
    assert len(weekly.warnings) == 1
    daily = await make(
        database, name="daily", schedule="0 9 * * *", idempotency_key_template="report-{{week}}"
    )
    assert daily.warnings[1] == (
        "these occurrences share an idempotency key: 2026-06-04T09:00:00Z and 2026-06-05T09:00:00Z"
    )


async def test_a_key_that_two_occurrences_share_when_clocks_go_back_is_warned_of(database: Database) -> None:
    nightly: dict[str, Any] = {"schedule": "30 1 * * *", "timezone": "America/New_York", "fold": "both"}
    once = await make(database, name="once", **nightly, idempotency_key_template="{{date}}")
    assert once.warnings[1:] == [
        "these occurrences share an idempotency key: 2026-11-01T05:30:00Z and 2026-11-01T06:30:00Z"
    ]
    both = await make(database, name="both", **nightly, idempotency_key_template="{{date}}-{{hour}}")
    assert both.warnings[1:] == []
