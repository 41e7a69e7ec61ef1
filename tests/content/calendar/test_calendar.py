"""The calendar: what is planned in a range, series expanded, and what happened; the times of one series."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.content.calendar.calendar import CalendarEntry, list_calendar, list_times, read_range
from sexton.content.entity import put_entity
from sexton.content.model import Action, Entity
from sexton.content.schedule import cancel, create_schedule, skip_next
from sexton.content.spec import EntitySpec, WindowSpec
from sexton.content.window import create_window
from sexton.errors import InvalidField, NotFound
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.runs.trigger import backfill
from sexton.testing import Engine
from tests.content.planned import spec
from tests.seeding import Store

POST = Entity("post", "1")
MARCH = datetime(2027, 3, 1, tzinfo=UTC), datetime(2027, 4, 1, tzinfo=UTC)


async def shown(context: Context, start: datetime, end: datetime, **more: Any) -> list[CalendarEntry]:
    """All pages."""
    found: list[CalendarEntry] = []
    cursor = None
    while True:
        page = await list_calendar(context, start, end, cursor=cursor, **more)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


async def test_a_series_is_expanded_on_the_wall_across_the_clock_change(
    context: Context, engine: Engine
) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    series = await create_schedule(
        context, spec(local_time="2027-03-25 09:00", recurrence_rule="FREQ=DAILY;COUNT=10")
    )
    single = await create_schedule(context, spec(entity_id="2", local_time="2027-03-26 12:00"))
    found = await shown(context, *MARCH)
    assert [each.scheduled_at_utc.hour for each in found] == [8, 8, 11, 8, 7, 7, 7, 7]
    assert [each.schedule_id for each in found].count(series.schedule_id) == 7
    assert (found[2].schedule_id, found[2].previous_at, found[2].next_at) == (single.schedule_id, None, None)
    assert (found[0].previous_at, found[0].next_at) == (None, found[1].scheduled_at_utc)
    assert (found[3].previous_at, found[3].next_at) == (found[1].scheduled_at_utc, found[4].scheduled_at_utc)
    assert found[4].local_time_display == "2027-03-28 09:00 CEST (Europe/Berlin)"
    elsewhere = await shown(context, *MARCH, timezone="America/New_York")
    assert elsewhere[4].local_time_display == "2027-03-28 03:00 EDT (America/New_York)"
    for limit in (1, 2, 3):
        assert await shown(context, *MARCH, limit=limit) == found


async def test_what_happened_and_what_is_to_come_are_in_one_calendar(
    context: Context, engine: Engine
) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    series = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY"))
    await create_schedule(context, spec(entity_id="2", force=True))
    await engine.advance(to=datetime(2027, 3, 4, 12, tzinfo=UTC))
    await skip_next(context, series.schedule_id)
    found = await shown(context, MARCH[0], datetime(2027, 3, 7, tzinfo=UTC))
    assert [(each.scheduled_at_utc.day, each.entity_id, each.status) for each in found] == [
        (2, "1", "done"),
        (2, "2", "failed"),
        (3, "1", "done"),
        (4, "1", "done"),
        (5, "1", "skipped"),
        (6, "1", "pending"),
    ]
    assert found[0].execution_id is not None
    assert (found[1].last_error, found[4].last_error) == ("there is no post/2", "this time was skipped")
    for limit in (1, 2, 3):
        assert await shown(context, MARCH[0], datetime(2027, 3, 7, tzinfo=UTC), limit=limit) == found
    assert [each.scheduled_at_utc.day for each in await shown(context, *MARCH, status="done")] == [2, 3, 4]
    assert len(await shown(context, *MARCH, status="failed")) == 1


async def test_the_ends_of_windows_to_come_are_shown(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    await create_window(
        context,
        WindowSpec(
            entity_type="post",
            entity_id="1",
            created_by="ann",
            starts="2027-03-02 22:00",
            ends="2027-03-03 06:00",
            timezone="Europe/Berlin",
            recurrence_rule="FREQ=DAILY;COUNT=3",
        ),
    )
    expected = [(2, 21, "publish"), (3, 5, "unpublish"), (3, 21, "publish"), (4, 5, "unpublish")]
    expected += [(4, 21, "publish"), (5, 5, "unpublish")]

    async def times(**more: Any) -> list[tuple[int, int, str]]:
        found = await shown(context, *MARCH, **more)
        return [(each.scheduled_at_utc.day, each.scheduled_at_utc.hour, each.action) for each in found]

    assert await times() == expected
    assert await times(limit=1) == expected
    # Once a window is open, its end is an action of its own.
    await engine.advance(to=datetime(2027, 3, 3, 0, tzinfo=UTC))
    assert await times() == expected
    # A range that begins in the middle of a window has its end.
    found = await shown(context, datetime(2027, 3, 4, 0, tzinfo=UTC), datetime(2027, 3, 4, 12, tzinfo=UTC))
    assert [each.action for each in found] == ["unpublish"]


async def test_a_time_that_was_run_again_is_one_entry_on_pages_of_any_size(
    context: Context, engine: Engine
) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    made = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY;COUNT=3"))
    await engine.advance(days=5)
    assert made.job_id is not None
    first = made.scheduled_at_utc
    for _ in range(2):
        await backfill(context, made.job_id, first, first)
        again = await engine.advance(minutes=1)
    found = await shown(context, *MARCH)
    assert [each.scheduled_at_utc.day for each in found] == [2, 3, 4]
    assert found[0].execution_id == again[-1].run_id
    for limit in (1, 2):
        pages, cursor = list[CalendarEntry](), None
        for _ in range(2 * len(found)):
            page = await list_calendar(context, *MARCH, cursor=cursor, limit=limit)
            pages += page.items
            cursor = page.cursor
            if cursor is None:
                break
        assert pages == found


async def test_the_latest_run_of_a_time_may_have_a_lower_number(context: Context, engine: Engine) -> None:
    """The connection that made it had reserved its numbers earlier."""
    await put_entity(context, POST, EntitySpec(body={}))
    made = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY;COUNT=3"))
    await engine.advance(days=5)
    assert made.job_id is not None
    await Store(engine.database).execute(
        "update sexton.history set run_id = run_id + 1000000, status = 'dead', error = 'no site'"
    )
    assert [each.status for each in await shown(context, *MARCH)] == ["failed"] * 3
    await backfill(context, made.job_id, made.scheduled_at_utc, made.scheduled_at_utc)
    live = (await shown(context, *MARCH))[0]
    assert live.status == "processing"
    await engine.advance(minutes=1)
    first = (await shown(context, *MARCH))[0]
    assert (first.execution_id, first.status) == (live.execution_id, "skipped")  # its time is over


async def test_filters(context: Context, engine: Engine) -> None:
    await create_schedule(context, spec())
    await create_schedule(context, spec(created_by="ben", entity_id="2", recurrence_rule="FREQ=WEEKLY"))
    await create_schedule(context, spec(entity_type="banner", entity_id="3", action=Action.ARCHIVE))
    off = await create_schedule(context, spec(entity_id="4"))
    await cancel(context, off.schedule_id)

    async def ids(**filters: Any) -> set[str]:
        return {each.entity_id for each in await shown(context, *MARCH, **filters)}

    assert await ids() == {"1", "2", "3"}
    assert await ids(created_by="ben") == {"2"}
    assert await ids(entity_type="banner") == {"3"}
    assert await ids(entity_type="post", entity_id="1") == {"1"}
    assert await ids(action="archive") == {"3"}
    assert await ids(adapter="other") == set()
    assert await ids(status="cancelled") == {"4"}
    assert await ids(status="pending") == {"1", "2", "3"}
    assert await ids() == {"1", "2", "3"}
    other = Context(context.database, "other", actor="tester")
    assert (await list_calendar(other, *MARCH)).items == []


async def test_the_times_of_one_series(context: Context, engine: Engine) -> None:
    await put_entity(context, POST, EntitySpec(body={}))
    made = await create_schedule(context, spec(recurrence_rule="FREQ=DAILY;COUNT=4"))
    number = decode_id("c", made.schedule_id)
    assert number is not None
    await engine.advance(days=2)
    every = (await list_times(context, number, start="2027-03-01", end="2027-04-01")).items
    assert [each.status for each in every] == ["done", "done", "pending", "pending"]
    days = [each.scheduled_at_utc for each in every]
    assert [each.next_at for each in every] == [*days[1:], None]
    assert [each.previous_at for each in every] == [None, *days[:-1]]
    with pytest.raises(NotFound):
        await list_times(context, 999_999)


def test_a_range_is_of_instants_or_of_local_dates() -> None:
    assert read_range("2027-03-28", "2027-03-29", "Europe/Berlin") == (
        datetime(2027, 3, 27, 23, tzinfo=UTC),
        datetime(2027, 3, 28, 22, tzinfo=UTC),
    )
    instants = read_range("2027-03-28T00:00:00Z", "2027-03-28T12:00:00+02:00", None)
    assert instants == (datetime(2027, 3, 28, tzinfo=UTC), datetime(2027, 3, 28, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        ("2027-03-28", "2027-03-28", "bad_range"),
        ("2027-03-28", "2029-03-28", "too_long"),
        ("2027-03-28 09:00", "2027-03-29", "no_timezone"),
        ("soon", "2027-03-29", "bad_time"),
        ("0001-01-01", "0001-01-02", "out_of_range"),
        ("0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z", "out_of_range"),
    ],
)
def test_a_bad_range_is_refused(start: str, end: str, code: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_range(start, end, None)
    assert refused.value.code == code
