"""Planned actions are counted like they are listed, and no further than it is worth."""

from __future__ import annotations

import pytest
import pytest_asyncio

from sexton.content import read
from sexton.content.read import count_schedules
from sexton.content.schedule import cancel, create_schedule
from sexton.postgres.estimate import Total
from sexton.postgres.transaction import Context
from tests.content.planned import spec


@pytest_asyncio.fixture
async def five(context: Context) -> None:
    """Five actions, one of them a series, one cancelled."""
    for number in range(5):
        rule = "FREQ=DAILY" if number == 4 else None
        made = await create_schedule(context, spec(entity_id=str(number), recurrence_rule=rule))
        if number == 0:
            await cancel(context, made.schedule_id)


@pytest.mark.usefixtures("five")
async def test_actions_are_counted(context: Context) -> None:
    assert await count_schedules(context) == Total(5)
    assert await count_schedules(context, status="pending") == Total(4)
    assert await count_schedules(context, status="cancelled", adapter="builtin") == Total(1)
    assert await count_schedules(context, entity_type="post", entity_id="4") == Total(1)
    assert await count_schedules(context, created_by="nobody") == Total(0)


@pytest.mark.usefixtures("five")
async def test_more_than_are_counted_are_estimated_where_it_is_known_how_many_they_may_be(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "MOST_EXACT", 3)
    monkeypatch.setattr(read, "MOST_COUNTED", 2)
    for status in (None, "pending"):
        found = await count_schedules(context, status=status)
        assert found is not None
        assert found.estimated
        assert found.count >= 2
    assert await count_schedules(context, status="failed") is None
    assert await count_schedules(context, action="publish") is None
    assert await count_schedules(context, status="pending", adapter="builtin") is None
