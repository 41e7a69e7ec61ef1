"""Jobs alike are what they would be if they were made one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.errors import RefusedLines
from sexton.jobs import planning
from sexton.jobs.alike import SingleJob, create_alike
from sexton.jobs.read import get
from sexton.jobs.spec import JobSpec
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.schedules import parse
from sexton.schedules.key import timing_key_of
from tests.jobs.making import NOW, make, rows, value

AT = NOW + timedelta(days=3, seconds=1, milliseconds=250)
PATTERN = JobSpec(
    name="-", schedule="-", timezone="Europe/Berlin", target={"handler": "x"}, queue="content", priority=1,
    max_retries=7, labels={"a": "b"}, expires_seconds=9, grace_seconds=5, keep_completed_seconds=99,
)  # fmt: skip


def single(line: int, at: datetime = AT, **own: str) -> SingleJob:
    return SingleJob(line, own.get("name", f"job-{line}"), at, '{"n": 1}', "says", "me")


async def test_they_are_as_those_made_one_by_one(database: Database) -> None:
    fields = {name: getattr(PATTERN, name) for name in PATTERN.__struct_fields__}
    own = {
        "name": "one",
        "schedule": AT.isoformat(),
        "payload": {"n": 1},
        "description": "says",
        "owner": "me",
    }
    alone = await make(database, **{**fields, **own})
    [number] = await create_alike(Context(database, now=NOW), PATTERN, [single(1)])
    made = await get(Context(database), encode_id("j", number))
    differ = {name for name in alone.__struct_fields__ if getattr(alone, name) != getattr(made, name)}
    assert differ <= {"name", "job_id", "schedule"}
    first, second = await rows(database, "select * from sexton.timers order by job_id")
    assert {name for name, of_first in first.items() if of_first != second[name]} <= {"job_id", "shard"}
    for stored in await rows(database, "select * from sexton.jobs"):
        assert planning.schedule_of(stored).timing_key == stored["timing_key"].hex


async def test_what_is_over_or_taken_is_told_by_line_and_nothing_is_made(database: Database) -> None:
    taken = await make(database, name="taken")
    jobs = [single(3), single(5, NOW), single(8, NOW - timedelta(days=1))]
    with pytest.raises(RefusedLines) as caught:
        await create_alike(Context(database, now=NOW), PATTERN, jobs)
    assert [(line, error.code) for line, error in caught.value.errors] == [
        (5, "in_the_past"),
        (8, "in_the_past"),
    ]
    with pytest.raises(RefusedLines) as caught:
        await create_alike(Context(database, now=NOW), PATTERN, [single(3), single(7, name="taken")])
    assert [(line, error.code) for line, error in caught.value.errors] == [(7, "name_taken")]
    assert [row["id"] for row in await rows(database, "select id from sexton.jobs")] == [
        int(await value(database, "select id from sexton.jobs where name = $1", taken.name))
    ]


async def test_a_pattern_whose_jobs_would_not_be_alike_is_refused(database: Database) -> None:
    odd = JobSpec(name="-", schedule="-", target={"handler": "x"}, jitter_seconds=3)
    with pytest.raises(ValueError, match="jitter_seconds"):
        await create_alike(Context(database, now=NOW), odd, [single(1)])


@given(at=st.datetimes(datetime(1971, 1, 1), datetime(8999, 1, 1), timezones=st.just(UTC)))
def test_the_key_of_an_instant_is_that_of_its_schedule(at: datetime) -> None:
    assert timing_key_of(at) == parse(at.isoformat(), timezone="Asia/Tokyo").timing_key
