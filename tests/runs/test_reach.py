"""What no index finds is looked for piece by piece: a page reads a bounded part of history."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import reach as reaching
from sexton.runs.activity import count_recorded
from sexton.runs.bulk import act_on_runs, check_choice, count_chosen
from sexton.runs.count import count_runs
from sexton.runs.filter import RunFilter
from sexton.runs.reach import reach
from sexton.runs.read import list_runs
from tests.seeding import Store

# A run each second of the last two hours; one each quarter of an hour started late.
FILL = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at, finished_at)
select at, n, $1, at - case when n % 900 = 0 then interval '5 s' else interval '0' end, 'success', 'schedule',
    1, at, at, at
from generate_series(1, 7200) as n
cross join lateral (select $2::timestamptz - n * interval '1 s') as moment (at)
"""


@pytest.fixture
async def now(database: Database) -> datetime:
    store = Store(database)
    at: datetime = await store.value("select date_trunc('minute', clock_timestamp()) - interval '5 minutes'")
    await store.execute(FILL, await store.job(queue="mail"), at)
    while not (await count_recorded(Context(database), timedelta(hours=12)))[1]:
        pass
    return at


async def test_late_runs_are_looked_for_as_far_back_as_they_are(database: Database, now: datetime) -> None:
    context = Context(database)
    page = await list_runs(context, RunFilter(late=True), limit=3)
    assert [run.run_id for run in page.items] == ["r_w4", "r_1r8", "r_2mc"]
    async with database.connection() as connection:
        inside = Context(database, connection=connection)
        first = await reach(inside, RunFilter(late=True), now - timedelta(days=1), now, 3)
    assert now - timedelta(minutes=46) <= first <= now - timedelta(minutes=45)
    counts = await count_runs(context, RunFilter(late=True))
    assert (counts.success, counts.estimated) == (8, False)


async def test_a_page_ends_where_enough_was_read_and_the_next_goes_on(
    database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "MOST_READ", 600)
    context = Context(database)
    nowhere = RunFilter(queue="nowhere")
    page = await list_runs(context, nowhere, limit=3)
    assert page.items == []
    pages = 1
    while page.cursor is not None:
        page = await list_runs(context, nowhere, cursor=page.cursor, limit=3)
        assert page.items == []
        pages += 1
    assert 12 <= pages <= 20
    counts = await count_runs(context, RunFilter(queue="mail"))
    assert counts.estimated
    assert counts.since >= now - timedelta(minutes=11)


@pytest.mark.parametrize("most", [600, 20])
async def test_all_are_found_whatever_is_read_at_a_time(
    database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Also where one minute has more than is read for a page."""
    monkeypatch.setattr(reaching, "MOST_READ", most)
    found: list[str | None] = []
    cursor = None
    while True:
        page = await list_runs(Context(database), RunFilter(queue="mail"), cursor=cursor, limit=1000)
        found += [run.run_id for run in page.items]
        assert page.cursor is None or page.cursor != cursor
        cursor = page.cursor
        if cursor is None:
            break
    assert len(found) == len(set(found)) == 7200


async def test_a_count_up_to_an_instant_looks_back_from_there(
    database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "MOST_READ", 600)
    until = now - timedelta(hours=1)
    counts = await count_runs(Context(database), RunFilter(queue="mail", until=until))
    assert counts.estimated
    assert until - timedelta(minutes=11) <= counts.since <= until - timedelta(minutes=9)
    assert 540 <= counts.success <= 660


async def test_acting_on_runs_goes_on_after_a_page_without_any(
    database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "MOST_READ", 600)
    store = Store(database)
    await store.execute(FILL.replace("1, 7200", "7000, 7000"), await store.job(queue="old"), now)
    chosen = check_choice("again", RunFilter(queue="old"), all_=False)
    counted = await count_chosen(Context(database), chosen)
    assert (counted.matched, counted.estimated) == (0, True)
    done = await act_on_runs(Context(database), "again", chosen, expected=0)
    assert (done.matched, done.cursor is None) == (0, False)
    while done.cursor is not None:
        done = done.plus(await act_on_runs(Context(database), "again", chosen, after=done.cursor))
    assert (done.matched, done.done) == (1, 1)
