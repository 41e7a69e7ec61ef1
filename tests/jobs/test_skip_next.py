"""Leaving the next occurrence out: it is accounted for and explained, and then the schedule goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton.errors import Conflict, NotFound
from sexton.jobs.edit import edit, reschedule, skip_next
from sexton.jobs.preview import preview_job
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.why import why
from tests.jobs.making import MINUTE, NOW, at, history, make, number, timer
from tests.jobs.test_reschedule import HOURLY, dispositions
from tests.seeding import Store


async def test_the_one_after_it_is_next(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    context = Context(database, now=NOW)
    shown = await skip_next(context, "report")
    assert (shown.next_run_at, shown.moved_from, shown.revision) == (at(120), None, 2)
    assert (await timer(database, job))["due_at"] == at(120)
    assert await dispositions(database, job, NOW, 180) == [
        (60, "rescheduled"), (120, "upcoming"), (180, "upcoming"),
    ]  # fmt: skip
    coming = (await preview_job(context, "report", count=2)).occurrences
    assert next(each.scheduled_at for each in coming if each.skipped is None) == at(120)
    assert all("moved" not in (each.note or "") for each in coming)


async def test_it_is_explained_before_and_after_its_time(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    await skip_next(Context(database, now=NOW), "report")
    [ahead] = [
        each for each in await why(Context(database, now=NOW), number(job)) if each.scheduled_at == at(120)
    ]
    assert ahead.text.endswith(f"the one at {at(60):%Y-%m-%dT%H:%M:%SZ} is left out")
    [gone] = await why(Context(database, now=at(90)), number(job), at=at(60))
    assert (gone.disposition, gone.text) == (
        "skipped",
        "skipped because it was left out on request, as the next one then",
    )
    # An edit that comes later does not make it forgotten.
    await edit(Context(database, now=at(90)), "report", {"priority": 1})
    [later] = await why(Context(database, now=at(95)), number(job), at=at(60))
    assert later.text == gone.text


async def test_twice_leaves_two_out_unless_one_is_named(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    context = Context(database, now=NOW)
    await skip_next(context, "report", at=at(60))
    with pytest.raises(Conflict) as refused:
        await skip_next(context, "report", at=at(60))
    assert refused.value.code == "not_next"
    assert (await skip_next(context, "report")).next_run_at == at(180)
    assert await dispositions(database, job, NOW, 180) == [
        (60, "rescheduled"), (120, "rescheduled"), (180, "upcoming"),
    ]  # fmt: skip


async def test_one_that_was_moved_is_left_out_for_good(database: Database) -> None:
    await make(database, schedule=HOURLY)
    context = Context(database, now=NOW)
    await reschedule(context, "report", at(10))
    assert (await skip_next(context, "report")).next_run_at == at(120)


async def test_what_is_due_already_fires(database: Database) -> None:
    job = await make(database, schedule=HOURLY)
    shown = await skip_next(Context(database, now=at(60) + MINUTE), "report")
    assert shown.next_run_at == at(180)
    assert (60, "fired") in await dispositions(database, job, at(62), 180)
    assert (await history(database, job)) == []


async def test_the_last_one_is_refused(database: Database) -> None:
    context = Context(database, now=NOW)
    await make(database, schedule=at(60).isoformat())
    with pytest.raises(Conflict) as once:
        await skip_next(context, "report")
    assert once.value.code == "last_occurrence"
    await make(database, name="ending", schedule=HOURLY, ends_at=at(60) + timedelta(minutes=30))
    with pytest.raises(Conflict):
        await skip_next(context, "ending")
    with pytest.raises(NotFound):
        await skip_next(context, "nothing")


async def test_it_is_in_the_audit_with_both_times(database: Database) -> None:
    await make(database, schedule=HOURLY)
    await skip_next(Context(database, now=NOW, actor="kim"), "report", expected_revision=1)
    row = await Store(database).row("select * from sexton.audit_entries where action = 'job.skipped'")
    assert row["actor"] == "kim"
    assert "next_run_at" in str(dict(row))
    with pytest.raises(Conflict):
        await skip_next(Context(database, now=NOW), "report", expected_revision=1)
