"""Quotas of namespaces: what is made never exceeds them, and says so."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from sexton.errors import InvalidField, NotFound
from sexton.jobs.bulk import create_many, put_many
from sexton.jobs.create import create
from sexton.jobs.edit import edit, replace
from sexton.jobs.state import delete, pause
from sexton.jobs.validation import read_spec
from sexton.jobs.view import JobView
from sexton.model import decode_id, encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import get_run
from sexton.runs.redrive import redrive, redrive_many
from sexton.runs.trigger import backfill, run_now
from sexton.runs.why import why
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import change_namespace, create_namespace, get_namespace
from sexton.security.quota_spec import RANGES, QuotaChanges
from sexton.security.quotas import QuotaExceeded
from tests.scheduling import hour_before, move_timer
from tests.seeding import Store

LARGE = {"text": "x" * 200}


@pytest_asyncio.fixture
async def context(database: Database) -> Context:
    """Of a namespace of its own; another one, without quotas, is beside it."""
    for name in ("a", "b"):
        await create_namespace(Context(database), NamespaceSpec(name=name))
    return Context(database, "a")


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def allow(context: Context, **quotas: Any) -> None:
    await change_namespace(context, context.namespace, QuotaChanges(**quotas))


async def add(context: Context, name: str = "job", **fields: Any) -> JobView:
    spec = {"name": name, "schedule": "0 * * * *", "target": {"handler": "sexton.noop"}, **fields}
    return await create(context, read_spec(spec))


async def end_all(store: Store) -> None:
    await store.execute("delete from sexton.runs")


# What they are.


async def test_quotas_are_set_changed_and_removed(context: Context) -> None:
    await allow(context, jobs=5, firings_per_second=2.5, campaign_sends_per_day=1000)
    await allow(context, firings_per_second=None, history_days=7, description="What a runs.")
    await add(context)
    shown = await get_namespace(context, "a")
    assert (shown.quotas.jobs, shown.quotas.firings_per_second, shown.quotas.history_days) == (5, None, 7)
    assert (shown.quotas.campaign_sends_per_day, shown.description) == (1000, "What a runs.")
    assert shown.used is not None
    assert (shown.used.jobs, shown.used.live_runs, shown.used.firings_wait_seconds) == (1, 0, 0)
    with pytest.raises(NotFound):
        await change_namespace(context, "nowhere", QuotaChanges(jobs=1))


@pytest.mark.parametrize("name", list(RANGES))
async def test_quotas_that_mean_nothing_are_refused(context: Context, name: str) -> None:
    for value in (-1, RANGES[name][1] + 1, float("nan") if name == "firings_per_second" else -5):
        with pytest.raises(InvalidField) as refused:
            await allow(context, **{name: value})
        assert (refused.value.code, refused.value.field) == ("out_of_range", name)


# Jobs.


async def test_no_more_jobs_than_the_quota(context: Context) -> None:
    await allow(context, jobs=2)
    first, _ = await add(context, "one"), await add(context, "two")
    with pytest.raises(QuotaExceeded) as refused:
        await add(context, "three")
    assert refused.value.code == "quota_exceeded"
    assert refused.value.message == "the namespace a has 2 of 2 jobs"
    assert refused.value.hint == ("delete some, or ask an admin for more: sexton namespaces set a --jobs 3")
    await add(Context(context.database, "b"), "three")
    await delete(context, first.job_id)
    await add(context, "three")
    with pytest.raises(QuotaExceeded):
        await replace(context, "four", read_spec({"name": "four", "schedule": "@daily"}))
    await allow(context, jobs=3)
    await add(context, "four")
    await allow(context, jobs=1)
    with pytest.raises(QuotaExceeded, match="has 1 of 1 jobs"):
        await add(context, "five")
    await allow(context, jobs=None)
    await add(context, "five")


async def test_a_job_that_is_replaced_takes_nothing(context: Context) -> None:
    await allow(context, jobs=1)
    await add(context)
    for _ in range(3):
        _, made = await replace(context, "job", read_spec({"name": "job", "schedule": "@daily"}))
        assert not made


async def test_jobs_that_were_there_before_the_quota_count(context: Context) -> None:
    for number in range(3):
        await add(context, f"job {number}")
    await allow(context, jobs=4)
    await add(context, "fourth")
    with pytest.raises(QuotaExceeded):
        await add(context, "fifth")


async def test_a_chunk_is_made_whole_or_not_at_all(context: Context) -> None:
    await allow(context, jobs=10)
    lines = [{"name": f"job {number}", "schedule": "@daily"} for number in range(11)]
    with pytest.raises(QuotaExceeded, match="has 0 of 10 jobs, and 11 more do not fit"):
        await create_many(context, lines)
    assert len(await create_many(context, lines[:10])) == 10
    with pytest.raises(QuotaExceeded):
        await create_many(context, lines[10:])


async def test_many_at_once_do_not_exceed_the_quota(context: Context, store: Store) -> None:
    await allow(context, jobs=10)

    async def attempt(number: int) -> bool:
        try:
            if number % 3:
                await add(context, f"job {number}")
            else:
                lines = [{"name": f"job {number} {part}", "schedule": "@daily"} for part in range(2)]
                await create_many(context, lines)
        except QuotaExceeded:
            return False
        return True

    done = await asyncio.gather(*map(attempt, range(24)))
    assert not all(done)
    assert await store.value("select count(*) from sexton.jobs where namespace = 'a'") == 10


# Payloads.


async def test_payloads_are_as_small_as_the_quota_says(context: Context) -> None:
    job = await add(context, payload=LARGE)
    await allow(context, payload_bytes=100)
    attempts: list[Any] = [
        add(context, "other", payload=LARGE),
        edit(context, job.job_id, {"payload": {"text": "y" * 200}}),
        run_now(context, job.job_id, payload=LARGE),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidField) as refused:
            await attempt
        assert refused.value.code == "payload_too_large"
        assert "bytes as JSON, and the namespace a allows 100" in refused.value.message
    with pytest.raises(InvalidField, match="line 2: the payload has"):
        await create_many(
            context,
            [{"name": str(n), "schedule": "@daily", "payload": LARGE if n else None} for n in range(2)],
        )
    await add(context, "0")
    with pytest.raises(InvalidField, match="line 2: the payload has"):
        await put_many(
            context,
            [{"name": str(n), "schedule": "@daily", "payload": LARGE if n else None} for n in range(2)],
        )
    # What was made before can still be used, and its other fields edited.
    await edit(context, job.job_id, {"priority": 1})
    await run_now(context, job.job_id)
    await add(context, "small", payload={"n": 1})
    await add(Context(context.database, "b"), payload=LARGE)


# Runs beside the schedule.


async def test_no_more_live_runs_than_the_quota(context: Context, store: Store) -> None:
    job = await add(context)
    await run_now(context, job.job_id)
    await allow(context, live_runs=2)
    await run_now(context, job.job_id)
    with pytest.raises(QuotaExceeded) as refused:
        await run_now(context, job.job_id)
    assert refused.value.message == "the namespace a has 2 of 2 live runs"
    past = datetime(2026, 6, 1, tzinfo=UTC)
    with pytest.raises(QuotaExceeded, match="and 3 more do not fit"):
        await backfill(context, job.job_id, past, past + timedelta(hours=2))
    theirs = Context(context.database, "b")
    await run_now(theirs, (await add(theirs)).job_id)
    await end_all(store)
    await store.execute("update sexton.meters set counted_at = counted_at - interval '2 s'")
    assert len((await backfill(context, job.job_id, past, past + timedelta(hours=1))).run_ids) == 2


async def test_dead_letters_are_redriven_as_far_as_there_is_room(context: Context, store: Store) -> None:
    job = decode_id("j", (await add(context)).job_id)
    lane = await store.value("select lane from sexton.timers")
    for number in range(5):
        await store.execute(
            """insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at,
                due_at, revision, trigger, missed, attempt)
            values ($1, $2, 'exhausted', '', $3, 2, now(), now(), 1, 'schedule', false, 1)""",
            1000 + number,
            job,
            lane,
        )
    await allow(context, live_runs=3)
    assert await redrive_many(context) == 3
    assert await store.value("select count(*) from sexton.dead") == 2
    told = "select detail from sexton.audit_pending where action = 'dead.redriven'"
    detail = msgspec.json.decode(await store.value(told))
    # The oldest first: those that were left are not told of.
    assert (detail["count"], detail["last_run_id"]) == (3, encode_id("r", 1002))
    with pytest.raises(QuotaExceeded):
        await redrive_many(context)
    with pytest.raises(QuotaExceeded):
        await redrive(context, "r_zc")  # 1004
    assert await store.value("select count(*) from sexton.dead") == 2


async def test_runs_on_request_start_as_fast_as_the_quota_says(context: Context) -> None:
    job = await add(context)
    await allow(context, firings_per_second=2)
    at = datetime(2031, 1, 1, tzinfo=UTC)
    then = Context(context.database, "a", now=at)
    runs = [decode_id("r", await run_now(then, job.job_id)) for _ in range(6)]
    shown = [await get_run(then, run or 0) for run in runs]
    assert [
        None if each.next_attempt_at is None else (each.next_attempt_at - at).total_seconds()
        for each in shown
    ] == [0, 0, 0.5, 1.0, 1.5, 2.0]
    assert shown[-1].waiting_for == (
        "the quota of its namespace is 2 per second: its turn comes at 2031-01-01T00:00:02Z, in 2 s"
    )
    used = (await get_namespace(then, "a")).used
    assert used is not None
    assert used.firings_wait_seconds == pytest.approx(2.0)
    # A second later, there is room for two more.
    later = Context(context.database, "a", now=at + timedelta(seconds=10))
    run = await get_run(later, decode_id("r", await run_now(later, job.job_id)) or 0)
    assert run.next_attempt_at == later.now


async def test_what_an_edit_finds_due_is_skipped_without_room(
    context: Context, store: Store, database: Database
) -> None:
    job = await add(context)
    number = decode_id("j", job.job_id) or 0
    await run_now(context, job.job_id)
    await allow(context, live_runs=1)
    due = hour_before(datetime.now(UTC), 1)
    await move_timer(database, number, due)
    await pause(context, job.job_id)
    rows = await store.fetch("select scheduled_at, status, reason from sexton.history order by scheduled_at")
    assert ("skipped", "quota") in {(row["status"], row["reason"]) for row in rows}
    assert await store.value("select count(*) from sexton.runs") == 1
    lines = [each.text for each in await why(context, number, past=3, ahead=0)]
    assert "skipped because its namespace had as many live runs as its quota allows" in lines
