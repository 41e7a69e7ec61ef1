"""What was carried out: executions of one action, of an entity, of all; with worker, tries and errors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.content import ledger
from sexton.content.entity import get_entity, put_entity
from sexton.content.ledger import ExecutionView, list_executions
from sexton.content.model import Action, Entity, OnFailure
from sexton.content.releases.release import create_release, reschedule_release
from sexton.content.schedule import create_schedule
from sexton.content.spec import EntitySpec, ReleaseItemSpec, ReleaseMove, ReleaseSpec
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.content.planned import spec
from tests.content.shelf import Shelf

POST = Entity("post", "1")


async def of(context: Context, schedule_id: str, **more: Any) -> list[ExecutionView]:
    number = decode_id("c", schedule_id)
    return (await list_executions(context, schedule=number, **more)).items


async def test_a_success_names_worker_and_times(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    made = await create_schedule(context, spec())
    [run] = await engine.advance(to=made.scheduled_at_utc)
    [done] = await of(context, made.schedule_id)
    assert (done.execution_id, done.schedule_id, done.content_id) == (run.run_id, made.schedule_id, "post/1")
    assert (done.status, done.effect, done.version) == ("success", "changed", 1)
    assert done.scheduled_at_utc == made.scheduled_at_utc
    assert done.execution_started is not None
    assert done.execution_finished is not None
    assert made.scheduled_at_utc <= done.execution_started <= done.execution_finished
    assert done.worker_id is not None
    assert (done.error_message, done.retry_count, done.attempts) == (None, 0, [])


async def test_a_run_that_ends_while_it_is_listed_is_listed_once(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("1")
    shelf.failing[POST] = 1
    made = await create_schedule(context, spec(adapter="shelf"))
    await engine.advance(to=made.scheduled_at_utc)
    assert [each.status for each in await of(context, made.schedule_id)] == ["running"]
    read_ended = ledger._ended

    async def later(*given: Any) -> Any:
        await engine.advance(minutes=5)
        return await read_ended(*given)

    monkeypatch.setattr(ledger, "_ended", later)
    assert [each.status for each in await of(context, made.schedule_id)] == ["success"]


async def test_a_page_goes_on_after_a_run_that_ended_while_it_was_listed(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("1")
    before = await create_schedule(context, spec(adapter="shelf"))
    await engine.advance(to=before.scheduled_at_utc)
    shelf.failing[POST] = 1
    made = await create_schedule(context, spec(adapter="shelf", local_time="2027-03-02 10:00", force=True))
    await engine.advance(to=made.scheduled_at_utc)
    read_ended = ledger._ended

    async def later(*given: Any) -> Any:
        await engine.advance(minutes=5)
        return await read_ended(*given)

    with monkeypatch.context() as slow:
        slow.setattr(ledger, "_ended", later)
        page = await list_executions(context, limit=1)
    assert [each.schedule_id for each in page.items] == [made.schedule_id]
    after = await list_executions(context, cursor=page.cursor, limit=1)
    assert [each.schedule_id for each in after.items] == [before.schedule_id]


async def test_what_failed_says_why_with_its_tries(context: Context, engine: Engine) -> None:
    made = await create_schedule(context, spec(force=True))  # there is no such entity
    await engine.advance(days=1)
    [failed] = await of(context, made.schedule_id)
    assert (failed.status, failed.error_message) == ("failure", "there is no post/1")
    assert [each.error for each in failed.attempts] == ["there is no post/1"]


async def test_what_was_missed_is_skipped_with_the_reason(context: Context, engine: Engine) -> None:
    made = await create_schedule(context, spec(catch_up_seconds=3600))
    await engine.outage(days=2)
    [missed] = await of(context, made.schedule_id)
    assert (missed.status, missed.error_message) == ("skipped", "missed, outside the catch-up window")


async def test_pages_and_filters(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    await create_schedule(context, spec(recurrence_rule="FREQ=DAILY;COUNT=5"))
    await create_schedule(context, spec(entity_id="2", created_by="ben", force=True))
    await engine.advance(days=6)
    every = (await list_executions(context)).items
    assert len(every) == 6
    found: list[ExecutionView] = []
    cursor = None
    while True:
        page = await list_executions(context, cursor=cursor, limit=2)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert found == every

    async def count(**filters: Any) -> int:
        return len((await list_executions(context, **filters)).items)

    assert await count(created_by="ben") == 1
    assert await count(status="failure") == 1
    assert await count(status="success") == 5
    assert await count(status="running") == 0
    assert await count(entity_type="post", entity_id="1") == 5
    assert await count(adapter="other") == 0
    assert await count(start=engine.now - timedelta(days=2), end=engine.now) == 1


async def test_an_entity_shows_what_happened_to_it(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    made = await create_schedule(context, spec())
    late = await create_schedule(context, spec(local_time="2027-03-02 10:00", version=7))
    await engine.advance(days=1)
    shown = await get_entity(context, POST)
    assert [(each.schedule_id, each.status) for each in shown.executions] == [
        (late.schedule_id, "failure"),
        (made.schedule_id, "success"),
    ]
    assert shown.executions[0].error_message == "post/1 has no version 7"
    assert shown.executions[1].worker_id is not None
    assert [each.by for each in shown.history] == ["ann"]


async def test_each_item_of_a_release_has_its_own_end(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    items = [ReleaseItemSpec(entity_type="post", entity_id=each, action=Action.PUBLISH) for each in "12"]
    at = datetime(2027, 3, 2, 8, tzinfo=UTC)
    release = ReleaseSpec(items=items, created_by="ann", at=at, on_failure=OnFailure.CONTINUE)
    await create_release(context, release)
    await engine.advance(to=at)

    async def found(**filters: Any) -> list[tuple[str, str, str | None]]:
        page = await list_executions(context, **filters)
        return sorted((each.content_id, each.status, each.effect) for each in page.items)

    assert await found(status="success") == [("post/1", "success", "changed")]
    assert await found(status="failure") == [("post/2", "failure", None)]
    assert await found(status="skipped") == []


async def test_a_run_that_was_left_is_not_shown_as_what_another_one_did(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1")
    shelf.failing[POST] = 1
    at = datetime(2027, 3, 2, 8, tzinfo=UTC)
    item = ReleaseItemSpec(entity_type="post", entity_id="1", action=Action.PUBLISH)
    made = await create_release(context, ReleaseSpec(items=[item], created_by="ann", at=at, adapter="shelf"))
    await engine.advance(to=at)
    await reschedule_release(context, made.release_id, ReleaseMove(at=at + timedelta(hours=1)))
    await engine.advance(hours=2)
    ends = await of(context, made.items[0].schedule_id)
    assert [(each.status, each.error_message) for each in ends] == [
        ("success", None),
        ("skipped", "it was moved to another time"),
    ]
