"""Releases: many actions that go out together, all or nothing or in order, and what becomes of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.content.adapters.base import Adapter, NotNow
from sexton.content.conflict import ContradictingPlans
from sexton.content.entity import get_entity, put_entity
from sexton.content.execution import OpenContent
from sexton.content.model import Action, Applied, ContentChange, Entity, OnFailure
from sexton.content.releases import release
from sexton.content.releases import view as release_view
from sexton.content.releases.release import (
    add_items,
    approve_release,
    cancel_release,
    check_release,
    create_release,
    remove_item,
    reschedule_release,
    restore_release,
    run_release,
)
from sexton.content.releases.view import ReleaseView, get_release, list_releases
from sexton.content.schedule import cancel, create_schedule
from sexton.content.spec import EntitySpec, ReleaseItemSpec, ReleaseMove, ReleaseSpec, ScheduleSpec
from sexton.engine import crash
from sexton.errors import Conflict, LeaseLost, NotFound
from sexton.model import Outcome
from sexton.postgres.transaction import Context
from sexton.targets.run import RunContext
from sexton.testing import Engine
from tests.content.letters import deliver_letters
from tests.content.shelf import Shelf

AT = datetime(2027, 3, 2, 8, tzinfo=UTC)


def item(number: str, action: str = "publish", **fields: Any) -> ReleaseItemSpec:
    return ReleaseItemSpec(entity_type="post", entity_id=number, action=Action(action), **fields)


def spec(*items: ReleaseItemSpec, **fields: Any) -> ReleaseSpec:
    given: dict[str, Any] = {
        "items": list(items),
        "created_by": "ann",
        "local_time": "2027-03-02 09:00",
        "timezone": "Europe/Berlin",
    }
    return ReleaseSpec(**{**given, **fields})


async def posts(context: Context, *numbers: str) -> None:
    for number in numbers:
        await put_entity(context, Entity("post", number), EntitySpec(body={}))


async def states(context: Context, *numbers: str) -> list[str | None]:
    return [(await get_entity(context, Entity("post", number))).state for number in numbers]


def results(shown: ReleaseView) -> list[str | None]:
    return [each.result for each in shown.items]


async def test_all_go_out_at_its_time_in_one_transaction(context: Context, engine: Engine) -> None:
    await posts(context, "1", "2", "3")
    made = await create_release(context, spec(item("1"), item("2"), item("3", "archive")))
    assert (made.status, made.scheduled_at_utc, made.findings) == ("pending", AT, [])
    assert [each.status for each in made.items] == ["pending"] * 3
    await engine.advance(to=AT - timedelta(seconds=1))
    assert await states(context, "1", "2", "3") == ["draft"] * 3
    await engine.advance(seconds=1)
    assert await states(context, "1", "2", "3") == ["published", "published", "archived"]
    done = await get_release(context, made.release_id)
    assert (done.status, results(done), done.executed_at) == ("done", ["changed"] * 3, AT)
    [change] = (await get_entity(context, Entity("post", "1"))).history
    assert (change.release_id, change.schedule_id) == (made.release_id, made.items[0].schedule_id)


@pytest.mark.parametrize(
    ("on_failure", "expected", "outcome"),
    [
        (OnFailure.UNDO, ["draft", "draft"], ["skipped", "failed", "skipped"]),
        (OnFailure.STOP, ["published", "draft"], ["changed", "failed", "skipped"]),
        (OnFailure.CONTINUE, ["published", "published"], ["changed", "failed", "changed"]),
    ],
)
async def test_when_an_item_fails_for_good(
    context: Context, engine: Engine, on_failure: OnFailure, expected: list[str], outcome: list[str]
) -> None:
    await posts(context, "1", "3")
    made = await create_release(context, spec(item("1"), item("9"), item("3"), on_failure=on_failure))
    assert [(each.code, each.content_id) for each in made.findings] == [("no_entity", "post/9")]
    await engine.advance(days=1)
    assert await states(context, "1", "3") == expected
    shown = await get_release(context, made.release_id)
    assert (shown.status, results(shown)) == ("failed", outcome)
    assert shown.last_error == "1 of 3 items failed: there is no post/9"


async def test_change_your_mind(context: Context, engine: Engine) -> None:
    await posts(context, "1", "2")
    made = await create_release(context, spec(item("1"), needs_approval=True))
    ref = made.release_id
    assert (await approve_release(context, ref, by="eve")).approved_by == "eve"
    more = await add_items(context, ref, [item("2"), item("9")], force=True)
    assert (len(more.items), more.approved_by) == (3, None)
    assert len((await check_release(context, ref)).findings) == 2
    left = await remove_item(context, ref, more.items[2].schedule_id)
    assert [each.status for each in left.items] == ["pending", "pending", "cancelled"]
    await approve_release(context, ref, by="eve")
    moved = await reschedule_release(context, ref, ReleaseMove(local_time="2027-03-03 09:00"))
    assert moved.scheduled_at_utc == AT + timedelta(days=1)
    await engine.advance(to=AT + timedelta(hours=1))
    assert await states(context, "1", "2") == ["draft", "draft"]
    assert (await run_release(context, ref)).status == "pending"
    await engine.drain()
    assert await states(context, "1", "2") == ["published", "published"]
    for change in (
        cancel_release(context, ref),
        run_release(context, ref),
        add_items(context, ref, [item("3")]),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.code == "content_done"


async def test_what_is_cancelled_does_not_go_out(context: Context, engine: Engine) -> None:
    await posts(context, "1")
    made = await create_release(context, spec(item("1")))
    off = await cancel_release(context, made.release_id, by="ben")
    assert (off.status, off.cancelled_by, off.items[0].status) == ("cancelled", "ben", "cancelled")
    assert (await cancel_release(context, made.release_id, by="carl")).cancelled_by == "ben"
    assert await engine.advance(days=2) == []
    assert await states(context, "1") == ["draft"]


async def test_without_its_approval_nothing_goes_out(context: Context, engine: Engine) -> None:
    await posts(context, "1")
    made = await create_release(context, spec(item("1"), needs_approval=True))
    assert [each.code for each in made.findings] == ["not_approved"]
    await engine.advance(days=1)
    shown = await get_release(context, made.release_id)
    assert (shown.status, shown.last_error) == ("skipped", "it was not approved")
    assert await states(context, "1") == ["draft"]


async def test_missed_by_too_much_it_is_skipped_else_it_goes_out_late(
    context: Context, engine: Engine
) -> None:
    await posts(context, "1", "2")
    first = await create_release(context, spec(item("1"), catch_up_seconds=3600))
    second = await create_release(context, spec(item("2")))
    await engine.outage(hours=24)
    shown = await get_release(context, first.release_id)
    assert (shown.status, shown.last_error) == ("skipped", "missed, outside the catch-up window")
    assert (await get_release(context, second.release_id)).status == "done"
    assert await states(context, "1", "2") == ["draft", "published"]


async def test_it_is_checked_again_before_its_time(context: Context, engine: Engine) -> None:
    await posts(context, "1")
    made = await create_release(context, spec(item("1"), preflight_seconds=3600))
    archive: dict[str, Any] = {
        "entity_type": "post",
        "entity_id": "1",
        "action": Action.ARCHIVE,
        "created_by": "ben",
    }
    await create_schedule(context, ScheduleSpec(**archive, at=AT - timedelta(hours=2), force=True))
    await engine.advance(to=AT - timedelta(hours=1))
    checked = await get_release(context, made.release_id)
    assert checked.checked_at == AT - timedelta(hours=1)
    assert [each.code for each in checked.findings] == ["archived"]


async def test_it_contradicts_other_plans_and_they_it(context: Context, engine: Engine) -> None:
    await posts(context, "1", "2")
    made = await create_release(context, spec(item("1"), item("2", "archive")))
    single: dict[str, Any] = {
        "entity_type": "post",
        "entity_id": "1",
        "created_by": "ben",
        "action": Action.PUBLISH,
    }
    with pytest.raises(ContradictingPlans, match=f"same instant .*of {made.release_id}"):
        await create_schedule(context, ScheduleSpec(**single, at=AT))
    with pytest.raises(ContradictingPlans, match="archived before"):
        await create_release(context, spec(item("2"), at=AT + timedelta(hours=1), local_time=None))
    with pytest.raises(ContradictingPlans, match="twice"):
        await create_release(context, spec(item("7"), item("7")))
    series: dict[str, Any] = {**single, "entity_id": "3", "at": AT, "recurrence_rule": "FREQ=DAILY"}
    await create_schedule(context, ScheduleSpec(**series))
    with pytest.raises(ContradictingPlans, match="same instant"):
        await create_release(context, spec(item("3"), at=AT + timedelta(days=30), local_time=None))


async def test_those_of_another_namespace_are_not_there(context: Context, engine: Engine) -> None:
    made = await create_release(Context(engine.database, "other", actor="ann"), spec(item("1"), force=True))
    ref = made.release_id
    for call in (
        get_release(context, ref),
        check_release(context, ref),
        cancel_release(context, ref),
        approve_release(context, ref, by="eve"),
        run_release(context, ref),
        add_items(context, ref, [item("2")]),
        remove_item(context, ref, made.items[0].schedule_id),
        reschedule_release(context, ref, ReleaseMove(at=AT)),
    ):
        with pytest.raises(NotFound):
            await call
    assert (await list_releases(context)).items == []


async def test_they_are_listed_in_the_order_of_their_time(context: Context, engine: Engine) -> None:
    for hour in (3, 1, 2):
        at = AT + timedelta(hours=hour)
        await create_release(context, spec(item(str(hour)), at=at, local_time=None, force=True))
    page = await list_releases(context, limit=2)
    rest = await list_releases(context, limit=2, cursor=page.cursor)
    assert [each.items[0].entity_id for each in [*page.items, *rest.items]] == ["1", "2", "3"]
    assert (await list_releases(context, start=AT + timedelta(hours=3))).items[0].items[0].entity_id == "3"
    assert (await list_releases(context, created_by="ben")).items == []


async def test_a_page_ends_early_where_there_are_very_many_items(
    context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_view, "MOST_LISTED_ITEMS", 3)
    for each in "123":
        await create_release(context, spec(item(f"{each}1"), item(f"{each}2"), force=True))
    await create_release(context, spec(*[item(str(each)) for each in range(5)], force=True))
    sizes: list[int] = []
    cursor: str | None = None
    while cursor is not None or not sizes:
        page = await list_releases(context, cursor=cursor)
        assert len(page.items) == 1
        sizes.append(len(page.items[0].items))
        cursor = page.cursor
    assert sizes == [2, 2, 2, 5]


async def test_items_that_were_taken_out_are_bounded_as_well(
    context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "MOST_EVER", 2)
    made = await create_release(context, spec(item("1"), force=True))
    await add_items(context, made.release_id, [item("2")], force=True)
    await remove_item(context, made.release_id, made.items[0].schedule_id)
    with pytest.raises(Conflict, match="including removed ones"):
        await add_items(context, made.release_id, [item("3")], force=True)


async def test_an_adapter_that_does_not_answer_keeps_no_release_from_being_made(
    shelf: Shelf, context: Context, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(release, "KEPT_CHECK_SECONDS", 0.02)
    monkeypatch.setattr(shelf, "silent", True)
    made = await create_release(context, spec(item("1"), adapter="shelf"))
    assert [(each.code, each.warning) for each in made.findings] == [("not_checked", True)]
    async with engine.database.transaction() as connection:
        inside = replace(context, connection=connection)
        made = await create_release(inside, spec(item("2"), adapter="shelf"))
    assert made.findings[0].message == "shelf did not answer within 0.02 seconds"


# Where no transaction reaches.


async def test_elsewhere_what_went_out_is_undone_when_a_later_one_fails_for_good(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1", "2", "3")
    shelf.impossible.add(Entity("post", "2"))
    made = await create_release(context, spec(item("1"), item("2"), item("3"), adapter="shelf"))
    await engine.advance(days=1)
    assert [shelf.state(each) for each in "123"] == ["unpublished", "draft", "draft"]
    shown = await get_release(context, made.release_id)
    assert (shown.status, results(shown)) == ("failed", ["undone", "failed", "skipped"])
    history = (await get_entity(context, Entity("post", "1"))).history
    assert [change.action for change in history] == ["unpublish", "publish"]


async def test_elsewhere_it_goes_on_after_a_failure_where_it_stopped(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1", "2", "3")
    shelf.failing[Entity("post", "2")] = 3
    made = await create_release(context, spec(item("1"), item("2"), item("3"), adapter="shelf"))
    await engine.advance(to=AT + timedelta(minutes=3))
    assert [shelf.state(each) for each in "123"] == ["published", "draft", "draft"]
    assert (await get_release(context, made.release_id)).status == "processing"
    await engine.advance(minutes=4)
    assert [shelf.state(each) for each in "123"] == ["published"] * 3
    assert [entity.id for _, entity, _ in shelf.made] == ["1", "2", "3"]
    assert (await get_release(context, made.release_id)).status == "done"


@pytest.mark.parametrize("point", ["step.begun", "step.acted", "step.noted"])
@pytest.mark.parametrize("passage", range(1, 5))
async def test_a_crash_between_items_makes_nothing_twice_and_loses_nothing(
    shelf: Shelf,
    context: Context,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    passage: int,
) -> None:
    """The worker that dies gives the run back; the next one goes on. The second item fails for good, so that
    the crash may also hit the undo."""
    shelf.put("1", "2", "3", "4")
    shelf.impossible.add(Entity("post", "3"))
    passed = 0

    def die(name: str) -> None:
        nonlocal passed
        passed += name == point
        if name == point and passed == passage:
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    items = [item(number) for number in "1234"]
    made = await create_release(context, spec(*items, adapter="shelf"))
    await engine.advance(days=1)
    shown = await get_release(context, made.release_id)
    assert (shown.status, results(shown)) == ("failed", ["undone", "undone", "failed", "skipped"])
    assert [(entity.id, action) for _, entity, action in shelf.made] == [
        ("1", Action.PUBLISH), ("2", Action.PUBLISH), ("2", Action.UNPUBLISH), ("1", Action.UNPUBLISH),
    ]  # fmt: skip
    assert passed >= passage


async def test_a_host_that_is_busy_is_no_failure_of_the_last_try(
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
    made = await create_release(context, spec(item("1"), adapter="shelf", max_retries=0, catch_up_seconds=0))
    await engine.advance(to=AT + timedelta(minutes=3))
    shown = await get_release(context, made.release_id)
    assert (shown.status, shown.last_error) == ("done", None)


async def test_elsewhere_an_entity_whose_state_cannot_be_read_fails_as_an_item(
    shelf: Shelf, context: Context, engine: Engine
) -> None:
    shelf.put("1", "2")
    shelf.unreadable.add(Entity("post", "2"))
    made = await create_release(context, spec(item("1"), item("2"), adapter="shelf", max_retries=0))
    await engine.advance(days=1)
    shown = await get_release(context, made.release_id)
    assert (shown.status, results(shown)) == ("failed", ["undone", "failed"])


async def test_two_at_one_instant_with_common_entities_do_not_wait_for_each_other(
    context: Context, engine: Engine
) -> None:
    await posts(context, "1", "2")
    first = await create_release(context, spec(item("1"), force=True))
    second = await create_release(context, spec(item("1"), item("2"), force=True))
    await add_items(context, first.release_id, [item("2")], force=True)
    await engine.advance(to=AT + timedelta(seconds=5))
    for each in (first, second):
        assert (await get_release(context, each.release_id)).status == "done"


async def test_its_parts_are_changed_with_it(context: Context, engine: Engine) -> None:
    made = await create_release(context, spec(item("1"), force=True))
    with pytest.raises(Conflict, match=f"part of the release {made.release_id}"):
        await cancel(context, made.items[0].schedule_id)


class Killed(BaseException):
    """The process of a worker is gone."""


@pytest.mark.parametrize("died_at", ["step.begun", "step.acted"])
@pytest.mark.parametrize("again", [False, True], ids=["once", "in the undo too"])
async def test_what_a_run_left_half_way_that_ended_its_worker_is_undone(
    shelf: Shelf,
    context: Context,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    died_at: str,
    again: bool,
) -> None:
    """The second item ends the run for good, without a word; only its dead letter is left."""
    shelf.put("1", "2", "3")
    carry_out, passed = OpenContent._carry_out, list[str]()

    def die(name: str) -> None:
        passed.append(name)
        if name == died_at and (passed.count(name) == 2 or (again and passed.count(name) > 2)):
            raise Killed

    async def carried_out(opened: OpenContent, adapter: Adapter, run: RunContext) -> Outcome:
        try:
            return await carry_out(opened, adapter, run)
        except Killed:
            run.stop = "timeout"
            raise asyncio.CancelledError from None

    async def say_nothing(*said: Any) -> None:
        """Its process is gone."""

    monkeypatch.setattr(crash, "point", die)
    monkeypatch.setattr(OpenContent, "_carry_out", carried_out)
    made = await create_release(context, spec(*map(item, "123"), adapter="shelf", max_retries=0))
    with monkeypatch.context() as silent:
        silent.setattr(OpenContent, "_tell_failed", say_nothing)
        await engine.advance(to=AT)
        assert shelf.state("1") == "published"
        assert await deliver_letters(engine) == 1
        await engine.advance(minutes=1)
        if again:
            assert await deliver_letters(engine) == 1
    shown = await get_release(context, made.release_id)
    assert (shown.status, shelf.state("3")) == ("failed", "draft")
    assert shown.last_error is not None
    assert "timeout" in shown.last_error
    if again:
        assert results(shown) == ["not_undone", "not_undone", "skipped"]
    else:
        assert results(shown) == ["undone", "undone", "skipped"]
        assert {shelf.state(each) for each in "12"} <= {"draft", "unpublished"}


async def test_a_release_is_not_restored_while_a_plan_that_contradicts_it_is_made(context: Context) -> None:
    """The plan that is still being made has its entity until it is there."""
    await posts(context, "1")
    made = await create_release(context, spec(item("1")))
    await cancel_release(context, made.release_id)
    plan = ScheduleSpec(
        entity_type="post", entity_id="1", action=Action.PUBLISH, created_by="bob", at=made.scheduled_at_utc
    )
    async with context.database.transaction() as connection:
        await create_schedule(replace(context, connection=connection), plan)
        restoring = asyncio.create_task(restore_release(context, made.release_id))
        await asyncio.wait({restoring}, timeout=0.5)
    with pytest.raises(ContradictingPlans):
        await restoring
    assert (await get_release(context, made.release_id)).status == "cancelled"
