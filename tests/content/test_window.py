"""Windows: opened and closed, once or again and again, late, over, across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.content.entity import get_entity, put_entity
from sexton.content.model import Entity
from sexton.content.read import list_schedules, views
from sexton.content.schedule import cancel, reschedule, run_now
from sexton.content.spec import EntitySpec, ScheduleMove, WindowSpec
from sexton.content.window import create_window
from sexton.errors import InvalidField
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.testing import Engine

SALE = Entity("banner", "7")


def spec(**fields: Any) -> WindowSpec:
    given: dict[str, Any] = {
        "entity_type": "banner",
        "entity_id": 7,
        "created_by": "ann",
        "starts": "2027-03-02 09:00",
        "ends": "2027-03-02 17:00",
        "timezone": "Europe/Berlin",
    }
    return WindowSpec(**{**given, **fields})


async def banner(context: Context) -> None:
    await put_entity(context, SALE, EntitySpec(body={"text": "Sale"}))


async def story(context: Context) -> list[tuple[str, datetime]]:
    """What was done to the banner, in order, each with the time that it was done."""
    history = (await get_entity(context, SALE)).history
    return [(each.action, each.at.replace(microsecond=0)) for each in reversed(history)]


async def test_it_opens_and_closes(context: Context, engine: Engine) -> None:
    await banner(context)
    made = await create_window(context, spec())
    assert made.ends is not None
    assert made.ends.window_id == made.window_id == made.starts.schedule_id
    assert made.starts.window_opens_at is None
    assert made.ends.window_opens_at == datetime(2027, 3, 2, 8, tzinfo=UTC)
    await engine.advance(days=2)
    assert await story(context) == [
        ("publish", datetime(2027, 3, 2, 8, tzinfo=UTC)),
        ("unpublish", datetime(2027, 3, 2, 16, tzinfo=UTC)),
    ]


async def test_every_weekday_across_the_clock_change(context: Context, engine: Engine) -> None:
    await banner(context)
    rule = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    made = await create_window(
        context, spec(starts="2027-03-25 09:00", ends="2027-03-25 17:00", recurrence_rule=rule)
    )
    assert (made.ends, made.open_seconds) == (None, 8 * 3600)
    await engine.advance(to=datetime(2027, 3, 30, tzinfo=UTC))
    hours = [(action, at.day, at.hour) for action, at in await story(context)]
    assert hours == [
        ("publish", 25, 8), ("unpublish", 25, 16),
        ("publish", 26, 8), ("unpublish", 26, 16),
        ("publish", 29, 7), ("unpublish", 29, 15),
    ]  # fmt: skip


async def test_a_night_that_is_an_hour_short_ends_at_six_all_the_same(
    context: Context, engine: Engine
) -> None:
    await banner(context)
    await create_window(
        context,
        spec(starts="2027-03-26 22:00", ends="2027-03-27 06:00", recurrence_rule="FREQ=DAILY;COUNT=2"),
    )
    await engine.advance(to=datetime(2027, 3, 30, tzinfo=UTC))
    hours = [(action, at.day, at.hour) for action, at in await story(context)]
    assert hours == [("publish", 26, 21), ("unpublish", 27, 5), ("publish", 27, 21), ("unpublish", 28, 4)]


async def test_one_that_is_half_over_is_opened_late_and_closed_in_time(
    context: Context, engine: Engine
) -> None:
    await banner(context)
    await create_window(context, spec())
    await engine.outage(hours=24)
    await engine.advance(days=1)
    assert [action for action, _ in await story(context)] == ["publish", "unpublish"]
    closed = (await story(context))[1][1]
    assert closed == datetime(2027, 3, 2, 16, tzinfo=UTC)


@pytest.mark.parametrize("rule", [None, "FREQ=WEEKLY"])
async def test_one_that_is_over_is_not_opened_at_all(
    context: Context, engine: Engine, rule: str | None
) -> None:
    await banner(context)
    made = await create_window(context, spec(recurrence_rule=rule))
    await engine.outage(days=3)
    await engine.advance(minutes=5)
    assert await story(context) == []
    [shown] = await views(context, [decode_id("c", made.window_id) or 0])
    assert shown.last_error == "the window was over before it could be opened"
    if made.ends is not None:
        [closing] = await views(context, [decode_id("c", made.ends.schedule_id) or 0])
        assert (closing.status, closing.last_error) == ("skipped", "the window was not opened")


async def test_if_it_cannot_be_opened_it_is_not_closed_either(context: Context, engine: Engine) -> None:
    made = await create_window(context, spec(force=True))  # there is no such banner
    await engine.advance(days=2)
    assert made.ends is not None
    numbers = [decode_id("c", made.window_id) or 0, decode_id("c", made.ends.schedule_id) or 0]
    opening, closing = await views(context, numbers)
    assert (opening.status, opening.last_error) == ("failed", "there is no banner/7")
    assert (closing.status, closing.last_error) == ("skipped", "the window was not opened")
    assert closing.window_opens_at is None


async def test_calling_it_off_calls_both_ends_off(context: Context, engine: Engine) -> None:
    await banner(context)
    made = await create_window(context, spec())
    await cancel(context, made.window_id)
    await engine.advance(days=2)
    assert await story(context) == []


async def test_calling_a_series_off_closes_what_is_open(context: Context, engine: Engine) -> None:
    await banner(context)
    made = await create_window(context, spec(recurrence_rule="FREQ=DAILY"))
    await engine.advance(to=datetime(2027, 3, 2, 10, tzinfo=UTC))
    await cancel(context, made.window_id)
    [closing] = (await list_schedules(context, status="pending")).items
    assert closing.window_opens_at == datetime(2027, 3, 2, 8, tzinfo=UTC)
    await engine.advance(days=3)
    assert [action for action, _ in await story(context)] == ["publish", "unpublish"]


async def test_its_end_can_be_moved(context: Context, engine: Engine) -> None:
    await banner(context)
    made = await create_window(context, spec())
    assert made.ends is not None
    await engine.advance(to=datetime(2027, 3, 2, 10, tzinfo=UTC))
    await reschedule(context, made.ends.schedule_id, ScheduleMove(local_time="2027-03-02 20:00"))
    await engine.advance(days=1)
    assert (await story(context))[1] == ("unpublish", datetime(2027, 3, 2, 19, tzinfo=UTC))


async def test_one_that_ends_before_it_starts_is_refused(context: Context) -> None:
    with pytest.raises(InvalidField) as refused:
        await create_window(context, spec(ends="2027-03-02 08:00"))
    assert (refused.value.code, refused.value.field) == ("bad_range", "ends")


async def test_moving_an_end_does_not_turn_it_around(context: Context, engine: Engine) -> None:
    await banner(context)
    made = await create_window(context, spec())
    assert made.ends is not None
    opens, closes = made.starts.schedule_id, made.ends.schedule_id
    for ref, move, code in (
        (opens, ScheduleMove(local_time="2027-03-02 17:00", force=True), "bad_range"),
        (closes, ScheduleMove(local_time="2027-03-02 09:00", force=True), "bad_range"),
        (opens, ScheduleMove(local_time="2027-03-02 08:00", recurrence_rule="FREQ=DAILY"), "bad_rule"),
    ):
        with pytest.raises(InvalidField) as refused:
            await reschedule(context, ref, move)
        assert refused.value.code == code
    with pytest.raises(InvalidField, match="before it starts"):
        await run_now(context, closes)
    await run_now(context, opens)
    await engine.advance(seconds=1)
    await run_now(context, closes)
    await engine.advance(days=2)
    assert [action for action, _ in await story(context)] == ["publish", "unpublish"]
