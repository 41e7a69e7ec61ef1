"""Dead letters run again under the key of their occurrence, or are forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sexton.errors import NotFound
from sexton.jobs.edit import edit
from sexton.jobs.state import delete
from sexton.jobs.view import JobView
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import redrive as dead
from sexton.runs.redrive import (
    discard,
    discard_many,
    redrive,
    redrive_many,
)
from tests.jobs.making import HOUR, NOW, at, make, number, rows, runs, timer, value


async def bury(database: Database, job: JobView, run: int, **fields: Any) -> str:
    row = {
        "run_id": run, "job_id": number(job), "died_at": NOW, "reason": "exhausted", "error": "x",
        "error_group": "x", "lane": (await timer(database, job))["lane"], "priority": 2,
        "scheduled_at": at(-run), "due_at": at(-run), "revision": 1, "trigger": "schedule", "missed": False,
        "attempt": 4, **fields,
    }  # fmt: skip
    places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
    async with database.connection() as connection:
        await connection.execute(
            database.sql(f"insert into sexton.dead ({', '.join(row)}) values ({places})"), *row.values()
        )
    return encode_id("r", run)


async def test_a_redriven_run_keeps_its_key_and_follows_the_job_as_it_is_now(database: Database) -> None:
    job = await make(database)
    run_id = await bury(database, job, 5, payload='{"own": 1}')
    await edit(
        Context(database, now=NOW),
        "report",
        {"target": {"handler": "fixed"}, "idempotency_key_template": "{{unix}}"},
    )
    new = await redrive(Context(database, now=NOW), run_id)
    (run,) = await runs(database, job)
    assert (encode_id("r", run["id"]), run["parent_run"], run["trigger"]) == (new, 5, "redrive")
    assert run["idempotency_key"] == f"{job.job_id}:{int(at(-5).timestamp())}"
    assert (run["revision"], run["lane"], run["attempt"]) == (2, (await timer(database, job))["lane"], 0)
    assert (run["payload"], run["scheduled_at"], run["available_at"]) == ('{"own": 1}', at(-5), NOW)
    assert await rows(database, "select * from sexton.dead") == []
    with pytest.raises(NotFound) as caught:
        await redrive(Context(database, now=NOW), run_id)
    assert caught.value.code == "dead_not_found"


async def test_a_redriven_run_keeps_the_key_of_the_template_it_was_fired_with(database: Database) -> None:
    job = await make(database, idempotency_key_template="old-{{unix}}")
    run_id = await bury(database, job, 5)
    await edit(Context(database, now=NOW), "report", {"idempotency_key_template": "new-{{unix}}"})
    await redrive(Context(database, now=NOW), run_id)
    (run,) = await runs(database, job)
    assert run["idempotency_key"] == f"old-{int(at(-5).timestamp())}"


@pytest.mark.parametrize("payload", ["a text", "5", None, ["a list"]])
async def test_a_payload_may_be_a_text(database: Database, payload: Any) -> None:
    job = await make(database, payload=payload)
    run_id = await bury(database, job, 5)
    await edit(Context(database, now=NOW), "report", {"description": "edited"})
    await redrive(Context(database, now=NOW), run_id)
    (run,) = await runs(database, job)
    assert run["idempotency_key"] == f"{job.job_id}:{int(at(-5).timestamp())}"


async def test_many_are_redriven_oldest_first_at_a_rate(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead, "CHUNK", 2)
    job = await make(database)
    for run in range(1, 6):
        await bury(database, job, run, died_at=NOW - run * HOUR, idempotency_key=f"key-{run}")
    await bury(database, job, 6, died_at=NOW + HOUR)
    assert await redrive_many(Context(database, now=NOW), job="report", rate=10) == 5
    found = sorted(await runs(database, job), key=lambda run: run["available_at"])
    assert [run["idempotency_key"] for run in found] == [f"key-{run}" for run in (5, 4, 3, 2, 1)]
    assert [run["available_at"] - NOW for run in found] == [
        timedelta(seconds=place / 10) for place in range(5)
    ]
    assert await value(database, "select run_id from sexton.dead") == 6


async def test_filters(database: Database) -> None:
    job, other = await make(database), await make(database, name="other")
    await bury(database, job, 1, error_group="timeout")
    await bury(database, job, 2, reason="poison")
    await bury(database, other, 3, died_at=NOW - HOUR)
    assert await redrive_many(Context(database, now=NOW), error_group="timeout") == 1
    assert await redrive_many(Context(database, now=NOW), reason="poison") == 1
    assert await discard_many(Context(database, now=NOW), before=NOW - 2 * HOUR) == 0
    assert await discard_many(Context(database, now=NOW), job="other") == 1
    assert await redrive_many(Context(database, now=NOW)) == 0
    with pytest.raises(NotFound):
        await redrive_many(Context(database, now=NOW), job="nobody")


async def test_a_dead_letter_is_forgotten_once(database: Database) -> None:
    run_id = await bury(database, await make(database), 1)
    await discard(Context(database), run_id)
    assert await rows(database, "select * from sexton.dead") == []
    with pytest.raises(NotFound):
        await discard(Context(database), run_id)


async def test_the_dead_of_a_deleted_job_can_be_run(database: Database) -> None:
    job = await make(database)
    first, _ = await bury(database, job, 1), await bury(database, job, 2)
    await delete(Context(database, now=NOW), "report")
    await redrive(Context(database, now=NOW), first)
    assert await redrive_many(Context(database, now=NOW)) == 1


async def test_dead_letters_of_another_namespace_are_not_there(database: Database) -> None:
    letter = await bury(database, await make(database), 1)
    other = Context(database, "other", now=NOW)
    for command in (redrive, discard):
        with pytest.raises(NotFound):
            await command(other, letter)
    assert await redrive_many(other) == await discard_many(other) == 0
    assert await discard_many(Context(database, now=NOW)) == 1
