"""Carrying actions out: many together, in order for each entity, and tried again where it failed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.content.adapters.base import Adapter, NotNow
from sexton.content.calendar.calendar import list_calendar
from sexton.content.entity import get_entity, put_entity
from sexton.content.execution import OpenContent
from sexton.content.model import Action, Applied, ContentChange, Entity
from sexton.content.read import view
from sexton.content.schedule import cancel, create_schedule, run_now
from sexton.content.spec import EntitySpec, ScheduleSpec, WindowSpec
from sexton.content.window import create_window
from sexton.engine import crash
from sexton.errors import LeaseLost, Unavailable
from sexton.model import Outcome, decode_id
from sexton.postgres.transaction import Context
from sexton.targets.run import RunContext
from sexton.testing import Engine
from tests.content.shelf import Shelf

AT = datetime(2027, 3, 2, 8, tzinfo=UTC)


def plan(number: int, action: Action = Action.PUBLISH, **fields: Any) -> ScheduleSpec:
    given: dict[str, Any] = {"at": AT, "force": True, "created_by": "ann"}
    return ScheduleSpec(entity_type="post", entity_id=number, action=action, **{**given, **fields})


async def test_actions_at_one_instant_go_out_together_in_the_order_of_their_making(
    context: Context, engine: Engine
) -> None:
    for number in range(10):
        await put_entity(context, Entity("post", str(number)), EntitySpec(body={}))
        for action in (Action.PUBLISH, Action.UNPUBLISH, Action.PUBLISH):
            await create_schedule(context, plan(number, action))
    await create_schedule(context, plan(99))  # there is no such post
    runs = await engine.advance(to=AT)
    assert sorted(run.status for run in runs) == ["dead"] + ["success"] * 30
    for number in range(10):
        history = (await get_entity(context, Entity("post", str(number)))).history
        assert [change.action for change in history] == ["publish", "unpublish", "publish"]


async def test_what_failed_is_tried_again_after_one_two_and_four_minutes(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1", "2")
    shelf.failing |= {Entity("post", "1"): 3, Entity("post", "2"): 9}
    first = await create_schedule(context, plan(1, adapter="shelf"))
    second = await create_schedule(context, plan(2, adapter="shelf"))
    for minutes, left in ((0, 2), (1, 1), (3, 0)):
        await engine.advance(to=AT + timedelta(minutes=minutes))
        assert shelf.failing[Entity("post", "1")] == left
    await engine.advance(to=AT + timedelta(minutes=6, seconds=59))
    shown = await view(context, decode_id("c", first.schedule_id) or 0)
    assert (shown.status, shown.retry_count, shelf.state("1")) == ("processing", 2, "draft")
    await engine.advance(seconds=1)
    assert shelf.state("1") == "published"
    failed = await view(context, decode_id("c", second.schedule_id) or 0)
    assert failed.status == "failed"
    assert "post/2 cannot be reached" in (failed.last_error or "")


async def test_what_waits_for_another_try_can_be_cancelled(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1")
    shelf.failing[Entity("post", "1")] = 1
    made = await create_schedule(context, plan(1, adapter="shelf"))
    await engine.advance(to=AT)
    assert (await cancel(context, made.schedule_id)).status == "cancelled"
    await engine.advance(days=1)
    assert shelf.made == []


@pytest.mark.parametrize("seconds", [0, 3600])
async def test_late_by_less_than_the_catch_up_it_goes_out_late(
    context: Context, engine: Engine, seconds: int
) -> None:
    await put_entity(context, Entity("post", "1"), EntitySpec(body={}))
    await create_schedule(context, plan(1, catch_up_seconds=seconds))
    await engine.advance(to=AT - timedelta(minutes=1))
    await engine.outage(minutes=2 if seconds == 0 else 60)
    found = await get_entity(context, Entity("post", "1"))
    assert found.state == "published"


async def test_a_crash_after_the_change_leaves_it_recorded_as_made(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapter ignores keys, and finds its own change when it is asked again."""
    shelf.put("1")
    points: list[str] = []

    def die(name: str) -> None:
        points.append(name)
        if name == "step.acted" and points.count(name) == 1:
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    await create_schedule(context, plan(1, adapter="shelf"))
    await create_schedule(context, plan(1, adapter="shelf", at=AT + timedelta(hours=1)))
    [run] = await engine.advance(to=AT + timedelta(minutes=1))
    assert points.count("step.acted") == 2
    assert run.result["effect"] == "changed"
    assert run.result["state_before"] == "draft"
    [change] = (await get_entity(context, Entity("post", "1"))).history
    assert (change.state_before, change.state_after) == ("draft", "published")
    [again] = await engine.advance(hours=1)
    assert again.result["effect"] == "no_op"


async def test_what_was_begun_in_time_is_not_missed_because_it_had_to_wait(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("1")
    busy = [NotNow("the host is busy", 120)]
    apply = Shelf.apply

    def wait(shelf: Shelf, change: ContentChange) -> Applied:
        if busy:
            raise busy.pop()
        return apply(shelf, change)

    monkeypatch.setattr(Shelf, "apply", wait)
    made = await create_schedule(context, plan(1, adapter="shelf", catch_up_seconds=0))
    await engine.advance(to=AT + timedelta(minutes=3))
    assert (await view(context, decode_id("c", made.schedule_id) or 0)).status == "done"


async def test_what_is_done_stays_so_though_the_series_is_cancelled_before_its_end_is_recorded(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put("1")
    await create_schedule(context, plan(1, adapter="shelf", recurrence_rule="FREQ=DAILY"))
    points: list[str] = []

    def die(name: str) -> None:
        points.append(name)
        if name == "step.noted" and points.count(name) == 1:
            raise LeaseLost("r_1")

    async def cancelled() -> None:
        async with engine.database.connection() as connection:
            await connection.execute(
                "update sexton.content_schedules set cancelled_at = now(), cancelled_by = 'ben'"
            )

    monkeypatch.setattr(crash, "point", die)
    original = OpenContent._carry_out

    async def between(opened: OpenContent, adapter: Adapter, run: RunContext) -> Outcome:
        if "step.noted" in points:
            await cancelled()
        return await original(opened, adapter, run)

    monkeypatch.setattr(OpenContent, "_carry_out", between)
    [run] = await engine.advance(to=AT + timedelta(minutes=1))
    assert (run.status, points.count("step.noted")) == ("success", 1)
    assert run.result == {
        "effect": "changed", "state_before": "draft", "state_after": "published", "version": 1,
    }  # fmt: skip


async def test_what_was_done_at_once_stays_done_when_the_try_that_was_to_come_is_left(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1")
    shelf.failing[Entity("post", "1")] = 1
    made = await create_schedule(context, plan(1, adapter="shelf"))
    await engine.advance(to=AT + timedelta(seconds=30))
    await run_now(context, made.schedule_id)
    for _ in range(2):
        await engine.advance(minutes=1)
        shown = await view(context, decode_id("c", made.schedule_id) or 0)
        assert (shown.status, shown.last_error) == ("done", None)
        [entry] = (await list_calendar(context, AT - timedelta(days=1), AT + timedelta(days=1))).items
        assert entry.status == "done"


@pytest.mark.parametrize(("point", "made"), [("step.begun", []), ("step.acted", ["publish", "unpublish"])])
async def test_a_window_that_is_over_is_closed_if_a_try_has_opened_it(
    shelf: Shelf,
    context: Context,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    made: list[str],
) -> None:
    shelf.put("1")
    points: list[str] = []

    def die(name: str) -> None:
        points.append(name)
        if name == point and points.count(name) == 1:
            raise RuntimeError("gone")  # and tried again after a minute

    monkeypatch.setattr(crash, "point", die)
    spec = WindowSpec(
        entity_type="post",
        entity_id="1",
        created_by="alice",
        starts=AT.isoformat(),
        ends=(AT + timedelta(seconds=10)).isoformat(),
        recurrence_rule="FREQ=DAILY;COUNT=1",
        adapter="shelf",
    )
    await create_window(context, spec)
    await engine.advance(to=AT + timedelta(minutes=10))
    history = (await get_entity(context, Entity("post", "1"))).history
    assert sorted(change.action for change in history) == made


async def test_a_time_of_a_series_waits_for_the_one_before_it(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is in doubt, as if its worker had died, until after the second is due."""
    shelf.put("1")
    busy = [NotNow("the host is busy", 75)]
    made: list[datetime] = []
    apply = Shelf.apply

    def wait(shelf: Shelf, change: ContentChange) -> Applied:
        if busy:
            raise busy.pop()
        made.append(change.scheduled_at)
        return apply(shelf, change)

    monkeypatch.setattr(Shelf, "apply", wait)
    await create_schedule(context, plan(1, adapter="shelf", recurrence_rule="FREQ=MINUTELY;COUNT=2"))
    await engine.advance(to=AT + timedelta(seconds=70))
    assert made == []
    await engine.advance(minutes=1)
    assert made == [AT, AT + timedelta(minutes=1)]


async def test_a_database_that_is_away_for_a_moment_costs_no_try(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the adapter asks for it, as for a secret."""
    shelf.put("1")
    away = [Unavailable("database_unavailable", "the database cannot be reached")]
    apply = Shelf.apply

    def wait(shelf: Shelf, change: ContentChange) -> Applied:
        if away:
            raise away.pop()
        return apply(shelf, change)

    monkeypatch.setattr(Shelf, "apply", wait)
    made = await create_schedule(context, plan(1, adapter="shelf", max_retries=0))
    await engine.advance(to=AT + timedelta(seconds=10))
    shown = await view(context, decode_id("c", made.schedule_id) or 0)
    assert (shown.status, shown.retry_count) == ("done", 0)
