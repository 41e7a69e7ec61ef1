"""Notifications that recur: at 09:00 where she lives, across clock changes and when she moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.errors import InvalidField, NotFound
from sexton.notifications.recipients.recipient import erase_recipient, put_recipient
from sexton.notifications.recurring import following
from sexton.notifications.recurring.recurring import (
    change_recurring,
    create_recurring,
    delete_recurring,
    get_recurring,
    list_recurring,
)
from sexton.notifications.recurring.spec import RecurringChanges, RecurringSpec
from sexton.notifications.spec import RecipientSpec
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.crowd import add_template
from tests.notifications.mailbox import Mailbox

START = datetime(2027, 3, 19, 12, tzinfo=UTC)  # a Friday; Berlin changes its clocks on the 28th
WEEKLY = "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0"


@pytest_asyncio.fixture
async def context(context: Context) -> Context:
    await add_template(context.database)
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com", timezone="Europe/Berlin"))
    return context


def spec(**fields: Any) -> RecurringSpec:
    given: dict[str, Any] = {
        "recurrence_rule": WEEKLY, "template_id": "hello", "channel": "email", "user_id": "ann",
    }  # fmt: skip
    return RecurringSpec(**{**given, **fields})


async def sent(engine: Engine) -> list[datetime]:
    async with engine.database.connection() as connection:
        rows = await connection.fetch(
            engine.database.sql(
                "select sent_at from sexton.messages where sent_at is not null order by sent_at"
            )
        )
    return [row["sent_at"] for row in rows]


async def test_every_monday_at_nine_where_she_lives(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    made = await create_recurring(context, spec())
    assert (made.timezone, made.follows_recipient, made.is_active) == ("Europe/Berlin", True, True)
    assert made.next_fire_at == datetime(2027, 3, 22, 8, tzinfo=UTC)
    await engine.advance(days=14)
    assert await sent(engine) == [datetime(2027, 3, 22, 8, tzinfo=UTC), datetime(2027, 3, 29, 7, tzinfo=UTC)]
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com", timezone="America/New_York"))
    moved = await get_recurring(context, made.schedule_id)
    assert (moved.timezone, moved.next_fire_at) == ("America/New_York", datetime(2027, 4, 5, 13, tzinfo=UTC))
    await engine.advance(days=7)
    assert (await sent(engine))[2:] == [datetime(2027, 4, 5, 13, tzinfo=UTC)]
    assert len({message.key for message in mailbox.got}) == 3


async def test_all_of_very_many_move_with_their_recipient(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST_FOLLOWED", 2)
    for _ in range(5):
        await create_recurring(context, spec())
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com", timezone="Asia/Tokyo"))
    found = (await list_recurring(context, user_id="ann", cursor=None, limit=10)).items
    assert [each.timezone for each in found] == ["Asia/Tokyo"] * 5


async def test_one_with_a_zone_of_its_own_stays_there(context: Context, engine: Engine) -> None:
    made = await create_recurring(context, spec(timezone="Asia/Tokyo"))
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com", timezone="America/New_York"))
    kept = await get_recurring(context, made.schedule_id)
    assert (kept.timezone, kept.follows_recipient) == ("Asia/Tokyo", False)


async def test_a_time_that_the_clock_jumps_over_is_sent_after_it(context: Context, engine: Engine) -> None:
    """02:30 in Berlin on the 28th of March does not exist."""
    await create_recurring(context, spec(recurrence_rule="30 2 * * *"))
    await engine.advance(to=datetime(2027, 3, 29, 12, tzinfo=UTC))
    times = [at for at in await sent(engine) if at.day in (27, 28, 29)]
    assert [(at.day, at.hour, at.minute) for at in times] == [(27, 1, 30), (28, 1, 0), (29, 0, 30)]
    async with engine.database.connection() as connection:
        row = await connection.fetchrow(
            engine.database.sql("select local_time, timing from sexton.messages where scheduled_at = $1"),
            datetime(2027, 3, 28, 1, tzinfo=UTC),
        )
    assert row is not None
    assert row["local_time"] == datetime(2027, 3, 28, 2, 30)
    assert '"gap": "after"' in row["timing"]


async def test_change_pause_resume_end_and_delete(context: Context, engine: Engine) -> None:
    made = await create_recurring(
        context, spec(recurrence_rule="0 9 * * *", recurrence_end=START + timedelta(days=30))
    )
    ref = made.schedule_id
    changed = await change_recurring(context, ref, RecurringChanges(recurrence_rule="0 10 * * *"))
    assert changed.next_fire_at == datetime(2027, 3, 20, 9, tzinfo=UTC)
    paused = await change_recurring(context, ref, RecurringChanges(is_active=False))
    assert (paused.is_active, paused.next_fire_at) == (False, None)
    await engine.advance(days=2)
    assert await sent(engine) == []
    await change_recurring(context, ref, RecurringChanges(is_active=True))
    await engine.advance(days=1)
    assert [at.hour for at in await sent(engine)] == [9]
    assert [
        each.schedule_id
        for each in (await list_recurring(context, user_id="ann", cursor=None, limit=9)).items
    ] == [ref]
    await engine.advance(days=60)
    assert len(await sent(engine)) == 28
    await delete_recurring(context, ref)
    with pytest.raises(NotFound):
        await get_recurring(context, ref)


async def test_what_is_refused(context: Context) -> None:
    for fields, field in (
        ({"recurrence_rule": "every now and then"}, "recurrence_rule"),
        ({"template_id": "none"}, "template_id"),
        ({"user_id": "nemo"}, "user_id"),
        ({"user_id": None}, "user_id"),
        ({"timezone": "Europe/Berlinn"}, "timezone"),
        ({"local_time": "noon"}, "local_time"),
    ):
        with pytest.raises(InvalidField) as refused:
            await create_recurring(context, spec(**fields))
        assert refused.value.field == field


async def test_an_erased_person_gets_nothing_more(context: Context, engine: Engine) -> None:
    made = await create_recurring(context, spec(recurrence_rule="0 9 * * *"))
    erased = await erase_recipient(context, "ann")
    assert erased.rows["notification_schedules"] == 1
    with pytest.raises(NotFound):
        await get_recurring(context, made.schedule_id)
    await engine.advance(days=2)
    assert await sent(engine) == []
