"""A chunk is made whole or not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sexton.errors import InvalidField, RefusedLines
from sexton.jobs import planning
from sexton.jobs.bulk import LARGEST_CHUNK, create_many
from sexton.jobs.read import get
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import NOW, make, rows, value


def line(name: str, **fields: Any) -> bytes:
    return json.dumps({"name": name, "schedule": "* * * * *", **fields}).encode()


async def test_bulk_jobs_are_as_those_made_one_by_one(database: Database) -> None:
    fields: dict[str, Any] = {
        "schedule": "H 9 * * 1", "timezone": "Europe/Berlin", "payload": {"n": 1}, "labels": {"a": "b"},
        "priority": 1, "jitter_seconds": 60, "overlap": "SKIP", "grace_seconds": 5, "max_runs": 3,
        "expires_seconds": 7, "owner": "me",
    }  # fmt: skip
    single = await make(database, name="one", target={"handler": "x"}, **fields)
    made = await create_many(Context(database, now=NOW), [line("two", target={"handler": "x"}, **fields)])
    bulk = await get(Context(database), made[0].job_id)
    differ = {name for name in single.__struct_fields__ if getattr(single, name) != getattr(bulk, name)}
    assert differ <= {"name", "job_id", "next_run_at", "next_run_local"}  # H hashes the name
    for stored in await rows(database, "select * from sexton.jobs"):
        assert planning.schedule_of(stored).timing_key == stored["timing_key"].hex
    first, second = await rows(database, "select * from sexton.timers order by job_id")
    same = (
        "revision",
        "max_runs",
        "lane",
        "priority",
        "overlap",
        "expires_seconds",
        "grace_seconds",
        "fired_count",
    )
    assert [first[name] for name in same] == [second[name] for name in same]
    assert second["due_at"] >= second["scheduled_at"] == bulk.next_run_at


async def test_a_chunk_of_many(database: Database) -> None:
    made = await create_many(Context(database, now=NOW), [line(f"job-{place}") for place in range(3000)])
    assert len({each.job_id for each in made}) == 3000
    assert await value(database, "select count(*) from sexton.jobs join sexton.timers on id = job_id") == 3000
    assert (await get(Context(database), made[17].job_id)).name == "job-17"
    shards = await value(database, "select count(*) from sexton.shards")
    assert await value(database, "select count(distinct shard) from sexton.timers") == shards


async def test_what_is_wrong_is_told_by_line_and_nothing_is_made(database: Database) -> None:
    taken = await make(database, name="taken")
    chunk = [line("fine"), line("bad", priority=9), b"{", line("never", schedule="0 0 30 2 *")]
    with pytest.raises(RefusedLines) as caught:
        await create_many(Context(database, now=NOW), chunk, first_line=101)
    assert [(number, error.code) for number, error in caught.value.errors] == [
        (102, "out_of_range"),
        (103, "bad_json"),
        (104, "never_fires"),
    ]
    with pytest.raises(RefusedLines) as caught:
        await create_many(Context(database, now=NOW), [line("fine"), line("never", schedule="0 0 30 2 *")])
    assert [(number, error.code) for number, error in caught.value.errors] == [(2, "never_fires")]
    with pytest.raises(RefusedLines) as caught:
        await create_many(Context(database, now=NOW), [line("a"), line("taken"), line("a")])
    assert [(number, error.code) for number, error in caught.value.errors] == [
        (2, "name_taken"),
        (3, "name_taken"),
    ]
    assert taken.job_id in str(caught.value.to_dict()["errors"])
    with pytest.raises(RefusedLines) as caught:
        await create_many(
            Context(database, now=NOW), [line("taken"), line("a", schedule="x"), line("a"), line("a"), b"{"]
        )
    assert [(number, error.code) for number, error in caught.value.errors] == [
        (1, "name_taken"),
        (2, "bad_cron"),
        (4, "name_taken"),
        (5, "bad_json"),
    ]
    assert await value(database, "select count(*) from sexton.jobs") == 1


async def test_a_name_taken_meanwhile_is_told_by_line_too(database: Database) -> None:
    """The lookup finds the name free; the other transaction commits while the COPY waits for it."""
    async with database.transaction() as other:
        await create_many(Context(database, connection=other, now=NOW), [line("contested")])
        chunk = asyncio.create_task(
            create_many(Context(database, now=NOW), [line("first"), line("contested")])
        )
        async with database.connection() as watcher:
            while not await watcher.fetchval("select count(*) from pg_locks where not granted"):
                await asyncio.sleep(0)
    with pytest.raises(RefusedLines) as caught:
        await chunk
    assert [(number, error.code) for number, error in caught.value.errors] == [(2, "name_taken")]
    assert await value(database, "select count(*) from sexton.timers") == 1


async def test_an_empty_chunk_and_one_too_large(database: Database) -> None:
    assert await create_many(Context(database), []) == []
    with pytest.raises(InvalidField, match="in one chunk"):
        await create_many(Context(database), [b""] * (LARGEST_CHUNK + 1))
