"""Sequences: steps on their days at a local time, and an event that ends them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from sexton.errors import Conflict, InvalidField
from sexton.notifications.recipients.recipient import put_recipient
from sexton.notifications.recurring.sequence import enter, get_member, leave, note_event, put_sequence
from sexton.notifications.recurring.spec import MemberSpec, SequenceSpec, SequenceStep
from sexton.notifications.spec import RecipientSpec
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.crowd import add_template
from tests.notifications.mailbox import Mailbox

START = datetime(2027, 3, 26, 12, tzinfo=UTC)  # two days before Berlin changes its clocks


@pytest_asyncio.fixture
async def context(context: Context) -> Context:
    await add_template(context.database)
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com", timezone="Europe/Berlin"))
    await put_sequence(
        context,
        "drip",
        SequenceSpec(steps=[step(0), step(3, "09:00"), step(7, "09:00")], stop_on=["purchased"]),
    )
    return context


def step(day: int | None, at: str | None = None, **fields: Any) -> SequenceStep:
    return SequenceStep(template_id="hello", channel="email", day=day, at=at, **fields)


async def test_each_step_on_its_day(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    member = await enter(context, "drip", MemberSpec(user_id="ann"))
    assert [each.send_at_utc for each in member.steps] == [
        START, datetime(2027, 3, 29, 7, tzinfo=UTC), datetime(2027, 4, 2, 7, tzinfo=UTC),
    ]  # fmt: skip
    with pytest.raises(Conflict, match="is in the sequence"):
        await enter(context, "drip", MemberSpec(user_id="ann"))
    await engine.advance(days=8)
    assert len(mailbox.got) == 3
    again = await enter(context, "drip", MemberSpec(user_id="ann"))
    assert [each.status for each in again.steps] == ["pending"] * 3


async def test_an_event_ends_it(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await enter(context, "drip", MemberSpec(user_id="ann"))
    await engine.advance(days=4)
    assert await note_event(context, "ann", "looked") == []
    assert await note_event(context, "ann", "purchased") == ["drip"]
    member = await get_member(context, "drip", "ann")
    assert [each.status for each in member.steps] == ["sent", "sent", "cancelled"]
    assert member.stopped_by == "purchased"
    await engine.advance(days=9)
    assert len(mailbox.got) == 2
    assert await note_event(context, "ann", "purchased") == []


async def test_stopped_by_a_person(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await enter(context, "drip", MemberSpec(user_id="ann"))
    await engine.advance(seconds=5)
    for _ in range(2):
        left = await leave(context, "drip", "ann")
        assert [each.status for each in left.steps] == ["sent", "cancelled", "cancelled"]


async def test_a_first_step_whose_time_is_over_comes_the_next_day(context: Context, engine: Engine) -> None:
    await put_sequence(context, "late", SequenceSpec(steps=[step(0, "09:00"), step(None, after_seconds=60)]))
    member = await enter(context, "late", MemberSpec(user_id="ann"))
    assert sorted(each.send_at_utc for each in member.steps) == [
        datetime(2027, 3, 26, 12, 1, tzinfo=UTC), datetime(2027, 3, 27, 8, tzinfo=UTC),
    ]  # fmt: skip


async def test_what_is_refused(context: Context) -> None:
    for steps, field in (
        ([step(None)], "steps[0].day"),
        ([step(1, after_seconds=5)], "steps[0].day"),
        ([step(0), step(1, "nine")], "steps[1].at"),
        ([step(None, "09:00", after_seconds=5)], "steps[0].at"),
    ):
        with pytest.raises(InvalidField) as refused:
            await put_sequence(context, "bad", SequenceSpec(steps=steps))
        assert refused.value.field == field
