"""An action on an entity: planned, carried out at its time, moved, cancelled, approved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.content.conflict import ContradictingPlans
from sexton.content.entity import get_entity, put_entity
from sexton.content.model import Action, Entity
from sexton.content.read import view
from sexton.content.schedule import approve, cancel, create_schedule, reschedule, run_now, skip_next
from sexton.content.spec import EntitySpec, ScheduleMove
from sexton.errors import Conflict, InvalidField
from sexton.jobs import state
from sexton.jobs.moment import UnclearTime
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.content.planned import spec

POST = Entity("post", "1")


async def post(context: Context, versions: int = 1) -> None:
    for number in range(1, versions + 1):
        await put_entity(context, POST, EntitySpec(body={"title": f"version {number}"}))


async def status(context: Context, schedule_id: str) -> str:
    number = decode_id("c", schedule_id)
    assert number is not None
    return (await view(context, number)).status


async def test_what_would_fail_is_said_when_it_is_planned(context: Context) -> None:
    assert (await create_schedule(context, spec())).warnings == ["there is no post/1"]
    await post(context)
    assert (await create_schedule(context, spec(force=True))).warnings == []
    told = await create_schedule(context, spec(force=True, version=7))
    assert told.warnings == ["post/1 has no version 7"]
    assert (await view(context, decode_id("c", told.schedule_id) or 0)).warnings == []


async def test_it_goes_out_at_its_local_time(context: Context, engine: Engine) -> None:
    await post(context, versions=2)
    made = await create_schedule(context, spec(version=1))
    assert made.scheduled_at_utc == datetime(2027, 3, 2, 8, tzinfo=UTC)
    assert made.local_time_display == "2027-03-02 09:00 CET (Europe/Berlin)"
    assert (made.status, made.next_times) == ("pending", [made.scheduled_at_utc])
    await engine.advance(to=made.scheduled_at_utc - timedelta(seconds=1))
    assert (await get_entity(context, POST)).state == "draft"
    [run] = await engine.advance(seconds=1)
    assert run.result["effect"] == "changed"
    found = await get_entity(context, POST)
    assert (found.state, found.published_version, found.pending) == ("published", 1, [])
    [change] = found.history
    assert (change.action, change.by, change.run_id) == ("publish", "ann", run.run_id)
    assert await status(context, made.schedule_id) == "done"


async def test_publishing_what_is_published_is_a_success_without_effect(
    context: Context, engine: Engine
) -> None:
    await post(context)
    await create_schedule(context, spec())
    await create_schedule(context, spec(local_time="2027-03-02 10:00"))
    runs = await engine.advance(days=2)
    assert [run.result["effect"] for run in runs] == ["changed", "no_op"]
    assert len((await get_entity(context, POST)).history) == 1


async def test_a_series_stays_at_nine_across_the_clock_change(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(
        context, spec(local_time="2027-03-26 09:00", recurrence_rule="FREQ=DAILY;COUNT=4")
    )
    assert [at.hour for at in made.next_times] == [8, 8, 7, 7]
    runs = await engine.advance(to=datetime(2027, 4, 1, tzinfo=UTC))
    assert [run.scheduled_at.hour for run in runs] == [8, 8, 7, 7]
    assert await status(context, made.schedule_id) == "done"


@pytest.mark.parametrize(
    ("local", "code", "first", "second"),
    [
        (
            "2027-10-31 02:30",
            "ambiguous_time",
            ("fold", "2027-10-31T00:30:00Z"),
            ("fold", "2027-10-31T01:30:00Z"),
        ),
        (
            "2027-03-28 02:30",
            "nonexistent_time",
            ("gap", "2027-03-28T01:00:00Z"),
            ("gap", "2027-03-28T01:30:00Z"),
        ),
    ],
)
async def test_an_unclear_time_is_refused_with_its_candidates(
    context: Context, local: str, code: str, first: tuple[str, str], second: tuple[str, str]
) -> None:
    with pytest.raises(UnclearTime) as refused:
        await create_schedule(context, spec(local_time=local))
    assert (refused.value.code, refused.value.field) == (code, "local_time")
    assert [each["utc"] for each in refused.value.candidates] == [first[1], second[1]]
    for name, utc in (first, second):
        [choice] = [each[name] for each in refused.value.candidates if each["utc"] == utc]
        made = await create_schedule(context, spec(local_time=local, **{name: choice}, force=True))
        assert made.scheduled_at_utc == datetime.fromisoformat(utc)


@pytest.mark.parametrize(
    ("fields", "field", "code", "hint"),
    [
        ({"local_time": "2027-10-31 02:30", "fold": "third"}, "fold", "bad_value", "use first or second"),
        ({"local_time": "2027-03-28 02:30", "gap": "skip"}, "gap", "bad_value", "use after or shift"),
        ({"local_time": "2027-03-09 09:00", "gap": "skip"}, "gap", "bad_value", "use after or shift"),
        ({"at": datetime(2027, 3, 2, tzinfo=UTC)}, "local_time", "too_many_times", "give one of them"),
        ({"local_time": "2001-01-01 09:00"}, "local_time", "in_the_past", "give a later time"),
        (
            {"local_time": "2001-01-01 09:00", "recurrence_rule": "FREQ=DAILY;COUNT=2"},
            "recurrence_rule", "never_fires", "check UNTIL and COUNT",
        ),
    ],
)  # fmt: skip
async def test_what_cannot_be_meant_is_refused(
    context: Context, fields: dict[str, Any], field: str, code: str, hint: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        await create_schedule(context, spec(**fields))
    assert (refused.value.field, refused.value.code) == (field, code)
    assert (refused.value.hint or "").startswith(hint)


async def test_what_is_moved_goes_out_at_its_new_time_only(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec())
    moved = await reschedule(context, made.schedule_id, ScheduleMove(local_time="2027-03-03 09:00"))
    assert moved.scheduled_at_utc == made.scheduled_at_utc + timedelta(days=1)
    await engine.advance(to=moved.scheduled_at_utc - timedelta(seconds=1))
    assert (await get_entity(context, POST)).state == "draft"
    await engine.advance(seconds=1)
    assert (await get_entity(context, POST)).state == "published"


async def test_a_series_whose_job_is_paused_can_be_moved(context: Context, engine: Engine) -> None:
    made = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY"))
    assert made.job_id is not None
    await state.pause(context, made.job_id)
    moved = await reschedule(context, made.schedule_id, ScheduleMove(local_time="2027-03-03 10:00"))
    assert moved.scheduled_at_utc == datetime(2027, 3, 3, 9, tzinfo=UTC)


async def test_what_is_cancelled_does_not_go_out(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec())
    off = await cancel(context, made.schedule_id, by="ben")
    assert (off.status, off.cancelled_by) == ("cancelled", "ben")
    assert (await cancel(context, made.schedule_id, by="carl")).cancelled_by == "ben"
    await engine.advance(days=2)
    assert (await get_entity(context, POST)).state == "draft"
    with pytest.raises(Conflict) as refused:
        await reschedule(context, made.schedule_id, ScheduleMove(local_time="2027-03-09 09:00"))
    assert refused.value.code == "content_cancelled"


async def test_what_is_done_cannot_be_changed(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec())
    await engine.advance(days=1)
    later = ScheduleMove(local_time="2027-03-09 09:00")
    for change in (
        cancel(context, made.schedule_id),
        reschedule(context, made.schedule_id, later),
        run_now(context, made.schedule_id),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.code == "content_done"


async def test_an_action_without_its_approval_is_skipped(context: Context, engine: Engine) -> None:
    await post(context)
    first = await create_schedule(context, spec(needs_approval=True))
    second = await create_schedule(context, spec(needs_approval=True, local_time="2027-03-02 10:00"))
    approved = await approve(context, second.schedule_id, by="eve")
    assert (approved.approved_by, approved.status) == ("eve", "pending")
    await engine.advance(to=first.scheduled_at_utc)
    shown = await view(context, decode_id("c", first.schedule_id) or 0)
    assert (shown.status, shown.last_error) == ("skipped", "it was not approved")
    await engine.advance(hours=1)
    assert (await get_entity(context, POST)).state == "published"


async def test_the_next_time_of_a_series_is_left_out(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY;COUNT=3"))
    left = await skip_next(context, made.schedule_id)
    assert left.skipped_times == [made.scheduled_at_utc]
    runs = await engine.advance(days=4)
    assert [run.status for run in runs] == ["cancelled", "success", "success"]
    with pytest.raises(InvalidField):
        await skip_next(
            context, (await create_schedule(context, spec(local_time="2027-04-01 09:00"))).schedule_id
        )


async def test_now_is_instead_of_its_time(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec())
    await run_now(context, made.schedule_id)
    await engine.drain()
    assert (await get_entity(context, POST)).state == "published"
    assert await status(context, made.schedule_id) == "done"
    assert await engine.advance(days=3) == []


async def test_missed_actions_go_out_late_in_order(context: Context, engine: Engine) -> None:
    await post(context)
    await create_schedule(context, spec())
    await create_schedule(context, spec(action=Action.UNPUBLISH, local_time="2027-03-02 09:30"))
    await create_schedule(context, spec(local_time="2027-03-02 09:45"))
    await engine.outage(hours=23)
    await engine.advance(minutes=1)
    history = (await get_entity(context, POST)).history
    assert [change.action for change in history] == ["publish", "unpublish", "publish"]


async def test_what_was_missed_by_too_much_is_skipped(context: Context, engine: Engine) -> None:
    await post(context)
    made = await create_schedule(context, spec(catch_up_seconds=3600))
    await engine.outage(days=2)
    shown = await view(context, decode_id("c", made.schedule_id) or 0)
    assert (shown.status, shown.last_error) == ("skipped", "missed, outside the catch-up window")
    assert (await get_entity(context, POST)).state == "draft"


async def test_retries_come_after_one_two_and_four_minutes_then_it_has_failed(
    context: Context, engine: Engine
) -> None:
    made = await create_schedule(context, spec(force=True))  # there is no such entity
    await engine.advance(days=1)
    shown = await view(context, decode_id("c", made.schedule_id) or 0)
    assert (shown.status, shown.last_error) == ("failed", "there is no post/1")


@pytest.mark.parametrize(
    ("plans", "word"),
    [
        ([("publish", "09:00"), ("publish", "09:00")], "same instant"),
        ([("archive", "08:00"), ("publish", "09:00")], "archived before"),
        ([("publish", "09:00"), ("archive", "08:00")], "planned after it"),
        ([("unpublish", "09:00")], "not published"),
    ],
)
async def test_plans_that_contradict_each_other_are_refused(
    context: Context, engine: Engine, plans: list[tuple[str, str]], word: str
) -> None:
    await post(context)
    *before, last = [spec(action=Action(action), local_time=f"2027-03-02 {at}") for action, at in plans]
    for each in before:
        await create_schedule(context, each)
    with pytest.raises(ContradictingPlans, match=word):
        await create_schedule(context, last)
    await create_schedule(context, spec(action=last.action, local_time=last.local_time, force=True))


async def test_a_payload_alone_carries_nothing_out(context: Context, engine: Engine) -> None:
    """A job that names the action of another job is turned away."""
    await post(context)
    made = await create_schedule(context, spec())
    await engine.app.schedule(
        target={"content": {"adapter": "builtin"}},
        payload={"schedule": made.schedule_id},
        name="forged",
        at=engine.now + timedelta(minutes=1),
    )
    [run] = await engine.advance(minutes=2)
    assert (run.status, run.reason) == ("cancelled", "the action is no longer planned")
    assert (await get_entity(context, POST)).state == "draft"
