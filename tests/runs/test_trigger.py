"""Runs beside the schedule."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from sexton.errors import Conflict, InvalidField, NotFound
from sexton.jobs.state import pause
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.trigger import backfill, cancel_run, run_now
from tests.jobs.making import HOUR, MINUTE, NOW, at, history, make, rows, runs, timer, value


async def test_a_manual_run_has_its_own_key_and_leaves_the_timer_alone(database: Database) -> None:
    job = await make(database, payload={"n": 1}, expires_seconds=30)
    before = await timer(database, job)
    run_id = await run_now(Context(database, now=NOW), "report")
    (run,) = await runs(database, job)
    assert encode_id("r", run["id"]) == run_id
    assert run["idempotency_key"] == f"{job.job_id}:manual:{run_id}"
    assert (run["trigger"], run["scheduled_at"], run["available_at"]) == ("manual", NOW, NOW)
    assert (run["payload"], run["slot"], run["expires_at"]) == (None, None, NOW + timedelta(seconds=30))
    assert await timer(database, job) == before


async def test_a_manual_run_may_have_a_payload_of_its_own(database: Database) -> None:
    job = await make(database, payload={"n": 1}, idempotency_key_template="n-{{payload.n}}")
    run_id = await run_now(Context(database, now=NOW), "report", payload={"n": 2})
    await run_now(Context(database, now=NOW), "report", payload={"n": None})
    first, second = sorted(await runs(database, job), key=lambda run: str(run["idempotency_key"]))
    assert (first["payload"], first["idempotency_key"]) == ('{"n": 2}', f"n-2:manual:{run_id}")
    assert second["payload"] == '{"n": null}'
    with pytest.raises(InvalidField, match="not in the payload"):
        await run_now(Context(database, now=NOW), "report", payload={})
    with pytest.raises(InvalidField, match="NUL"):
        await run_now(Context(database, now=NOW), "report", payload="\0")


async def test_a_paused_and_a_completed_job_can_be_run(database: Database) -> None:
    job = await make(database)
    await pause(Context(database, now=NOW), "report")
    await run_now(Context(database, now=NOW), "report")
    done = await make(database, name="once", schedule="2026-06-03T13:00:00Z")
    await pause(Context(database, now=at(27)), "once")
    await run_now(Context(database, now=at(28)), "once")
    assert len(await runs(database, job)) == 1
    assert [run["trigger"] for run in await runs(database, done)] == ["schedule", "manual"]


@pytest.mark.parametrize(
    ("overlap", "slots"),
    [("ALLOW", [None] * 3), ("SKIP", [0]), ("QUEUE_ONE", [0, 1]), ("CANCEL_RUNNING", [0, 1])],
)
async def test_a_manual_run_keeps_to_the_overlap_of_the_job(
    database: Database, overlap: str, slots: list[Any]
) -> None:
    job = await make(database, overlap=overlap)
    for place in range(len(slots)):
        await run_now(Context(database, now=NOW + place * MINUTE), "report")
    if overlap != "ALLOW":
        with pytest.raises(Conflict, match="is not over") as caught:
            await run_now(Context(database, now=NOW + 5 * MINUTE), "report")
        assert caught.value.code == "overlap"
    found = await runs(database, job)
    assert [run["slot"] for run in found] == slots
    waiting = await value(database, "select count(*) from sexton.runs where available_at = 'infinity'")
    assert waiting == slots.count(1)
    assert (found[0]["cancel_requested_at"] is not None) == (overlap == "CANCEL_RUNNING")


async def test_the_worker_of_a_run_that_makes_room_is_told(database: Database) -> None:
    await make(database, overlap="CANCEL_RUNNING")
    await run_now(Context(database, now=NOW), "report")
    told: asyncio.Queue[object] = asyncio.Queue()
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.runs set state = 'running', node = 7, claim = 1")
        )
        await connection.add_listener("sexton_cancels", lambda *heard: told.put_nowait(heard[3]))
        await run_now(Context(database, now=NOW + MINUTE), "report")
        assert await told.get() == "7"
        await connection.reset()


async def test_a_backfill_runs_past_occurrences_under_their_keys(database: Database) -> None:
    job = await make(database, idempotency_key_template="{{date}}", schedule="0 9 * * *", expires_seconds=60)
    done = await backfill(Context(database, now=NOW), "report", at(-3 * 24 * 60), NOW)
    assert [moment.day for moment in done.scheduled_at] == [1, 2, 3]
    found = await runs(database, job)
    assert [encode_id("r", run["id"]) for run in found] == done.run_ids
    assert [run["idempotency_key"] for run in found] == ["2026-06-01", "2026-06-02", "2026-06-03"]
    assert {(run["trigger"], run["priority"], run["expires_at"]) for run in found} == {("backfill", 3, None)}


async def test_a_backfill_without_a_template_leaves_the_default_key(database: Database) -> None:
    job = await make(database)
    await backfill(Context(database, now=NOW), "report", at(-1), at(0))
    found = await runs(database, job)
    assert [(run["scheduled_at"], run["idempotency_key"]) for run in found] == [(at(-1), None), (at(0), None)]


async def test_a_dry_run_changes_nothing(database: Database) -> None:
    job = await make(database)
    done = await backfill(Context(database, now=NOW), "report", at(-9), at(0), dry_run=True)
    assert (len(done.scheduled_at), done.run_ids, done.dry_run) == (10, [], True)
    assert await runs(database, job) == []


async def test_what_still_has_a_run_or_is_yet_to_fire_is_left_out(database: Database) -> None:
    job = await make(database)
    await backfill(Context(database, now=NOW), "report", at(-2), at(-1))
    again = await backfill(Context(database, now=at(2)), "report", at(-3), at(2))
    assert again.scheduled_at == [at(-3), at(0)]
    assert again.left_out == [at(-2), at(-1), at(1), at(2)]
    assert len(await runs(database, job)) == 4


async def test_a_backfill_can_be_spread(database: Database) -> None:
    job = await make(database)
    await backfill(Context(database, now=NOW), "report", at(-3), at(0), rate=2)
    waits = [(run["available_at"] - NOW).total_seconds() for run in await runs(database, job)]
    assert waits == [0, 0.5, 1, 1.5]


async def test_a_backfill_says_what_it_does_not_do(database: Database) -> None:
    await make(database, overlap="SKIP")
    with pytest.raises(InvalidField) as caught:
        await backfill(Context(database, now=NOW), "report", at(-60), at(0), limit=60)
    assert (caught.value.code, caught.value.field) == ("too_many", "end")
    with pytest.raises(InvalidField) as caught:
        await backfill(Context(database, now=NOW), "report", at(-60), NOW + HOUR)
    assert caught.value.code == "in_the_future"
    with pytest.raises(InvalidField, match="is before start"):
        await backfill(Context(database, now=NOW), "report", at(0), at(-1))
    done = await backfill(Context(database, now=NOW), "report", at(0), at(0))
    assert done.warnings == ["runs of a backfill may overlap, whatever the job says"]


async def test_a_waiting_run_is_cancelled_and_a_running_one_is_asked_to_stop(database: Database) -> None:
    job = await make(database)
    run_id = await run_now(Context(database, now=NOW), "report")
    assert await cancel_run(Context(database, now=NOW), run_id, reason="no") == "cancelled"
    assert await history(database, job) == [(NOW, None, None, "cancelled", "no")]
    with pytest.raises(Conflict) as caught:
        await cancel_run(Context(database, now=NOW), run_id)
    assert caught.value.code == "run_ended"
    other = await run_now(Context(database, now=NOW), "report")
    async with database.connection() as connection:
        await connection.execute(database.sql("update sexton.runs set state = 'running', node = 1"))
    assert await cancel_run(Context(database, now=NOW), other) == "requested"
    assert len(await rows(database, "select * from sexton.runs where cancel_requested_at = $1", NOW)) == 1
    for missing in ("r_zzzz", "nonsense"):
        with pytest.raises(NotFound):
            await cancel_run(Context(database, now=NOW), missing)
