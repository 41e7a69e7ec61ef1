"""`app.content`: what programs plan and see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from sexton import Sexton
from sexton.errors import Conflict, InvalidField, NotFound, RefusedLines
from sexton.testing import Engine
from sexton.testing import engine as start_engine

START = datetime(2027, 3, 1, 12, tzinfo=UTC)
NINE: dict[str, Any] = {"local_time": "2027-03-02 09:00", "timezone": "Europe/Berlin"}


@pytest_asyncio.fixture
async def engine(server_url: str) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="cms"), at=START, server=server_url) as running:
        yield running


async def test_a_program_plans_changes_its_mind_and_looks(engine: Engine) -> None:
    content = engine.app.content
    await content.save("post/1", {"title": "Spring"}, by="ann")
    with engine.app.acting("ann"):
        plan = await content.schedule("publish", "post/1", **NINE)
    assert (plan.created_by, plan.status) == ("ann", "pending")
    moved = await content.reschedule(plan.schedule_id, local_time="2027-03-03 09:00")
    assert await content.get(plan.schedule_id) == moved
    assert [each.schedule_id for each in await content.list(created_by="ann")] == [plan.schedule_id]
    [entry] = await content.calendar("2027-03-01", "2027-04-01", timezone="Europe/Berlin")
    assert entry.scheduled_at_utc == moved.scheduled_at_utc
    await engine.advance(days=3)
    assert (await content.entity("post/1")).state == "published"
    assert [each.status for each in await content.executions(plan.schedule_id)] == ["success"]
    with pytest.raises(Conflict):
        await content.cancel(plan.schedule_id)


async def test_series_windows_and_approval(engine: Engine) -> None:
    content = engine.app.content
    series = await content.schedule("publish", "post/1", **NINE, recurrence_rule="FREQ=DAILY")
    left_out = await content.skip(series.schedule_id)
    assert left_out.skipped_times == [series.scheduled_at_utc]
    once = await content.reschedule(series.schedule_id, local_time="2027-03-09 09:00", recurrence_rule=None)
    assert once.recurrence_rule is None
    opened = await content.window(
        "banner/7", "2027-03-02 09:00", "2027-03-02 17:00", timezone="Europe/Berlin", needs_approval=True
    )
    assert (await content.approve(opened.window_id, by="eve")).approved_by == "eve"
    assert (await content.cancel(opened.window_id, by="ann")).status == "cancelled"
    started = await content.run(series.schedule_id)
    assert started.schedule_id == series.schedule_id


async def test_many(engine: Engine) -> None:
    items = [
        {"entity_type": "post", "entity_id": n, "action": "publish", "created_by": "ann", **NINE}
        for n in (1, 2)
    ]
    assert len(await engine.app.content.schedule_many(items)) == 2
    with pytest.raises(RefusedLines):
        await engine.app.content.schedule_many(items)
    assert len(await engine.app.content.schedule_many(items, force=True)) == 2
    assert len(await engine.app.content.list(limit=3)) == 3


async def test_bad_input_names_the_field(engine: Engine) -> None:
    content = engine.app.content
    with pytest.raises(InvalidField, match="post"):
        await content.schedule("publish", "post", **NINE)
    with pytest.raises(InvalidField) as refused:
        await content.schedule("burn", "post/1", **NINE)
    assert refused.value.field == "action"
    with pytest.raises(NotFound):
        await content.get("c_zzzz")


async def test_a_release_goes_out_together_or_not_at_all(engine: Engine) -> None:
    content = engine.app.content
    for name in ("post/1", "post/2", "post/3"):
        await content.save(name, {})
    items = [
        {"entity": "post/1", "action": "publish"},
        {"entity": "post/2", "action": "publish", "note": "b"},
    ]
    with engine.app.acting("ann"):
        made = await content.release(items, **NINE, needs_approval=True)
    assert (made.created_by, [each.code for each in made.findings]) == ("ann", ["not_approved"])
    await content.add_items(made.release_id, [{"entity": "post/3", "action": "archive"}])
    third = (await content.get_release(made.release_id)).items[2]
    await content.remove_item(made.release_id, third.schedule_id)
    await content.approve_release(made.release_id, by="eve")
    assert (await content.check_release(made.release_id)).findings == []
    moved = await content.reschedule_release(made.release_id, local_time="2027-03-03 09:00")
    assert [each.release_id for each in await content.list_releases(created_by="ann")] == [made.release_id]
    await engine.advance(to=moved.scheduled_at_utc)
    done = await content.get_release(made.release_id)
    assert [each.result for each in done.items if each.status != "cancelled"] == ["changed", "changed"]
    later = await content.release([{"entity": "post/3", "action": "publish"}], local_time="2027-03-09 09:00",
                                  timezone="Europe/Berlin")  # fmt: skip
    assert (await content.run_release(later.release_id)).scheduled_at_utc < later.scheduled_at_utc
    last = await content.release([{"entity": "post/1", "action": "archive"}], local_time="2027-03-10 09:00",
                                 timezone="Europe/Berlin")  # fmt: skip
    assert (await content.cancel_release(last.release_id, by="ann")).status == "cancelled"


async def test_items_that_cannot_be_read_name_their_place(engine: Engine) -> None:
    content = engine.app.content
    for items, field in (
        ([{"entity": "post", "action": "publish"}], "items[0].entity"),
        ([{"entity": "post/1", "action": "publish"}, "post/2"], "items[1]"),
        ([{"entity": "post/1", "action": "burn"}], "items[0].action"),
        ([], "items"),
    ):
        with pytest.raises(InvalidField) as refused:
            await content.release(items, **NINE)  # type: ignore[arg-type]
        assert refused.value.field == field
