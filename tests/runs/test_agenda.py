"""The calendar of everything: what is planned comes from the code that fires, what happened from history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from sexton.errors import InvalidField, ScheduleError
from sexton.jobs.create import create
from sexton.jobs.spec import JobSpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import agenda, planned_hours, planned_times
from sexton.runs.activity import count_recorded
from sexton.runs.agenda import Agenda, read_agenda
from sexton.runs.planned_hours import PlannedHours
from tests.seeding import Store

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, everything is worked out, but where a test says otherwise."""
    monkeypatch.setattr(planned_times, "MOST_SECONDS", 600.0)


async def make(database: Database, name: str, schedule: str, **fields: object) -> None:
    await create(Context(database), JobSpec(name=name, schedule=schedule, **fields))  # type: ignore[arg-type]


async def ahead(database: Database, days: int = 7, **options: object) -> Agenda:
    start: datetime = await Store(database).value("select date_trunc('day', now()) + interval '1 day'")
    return await read_agenda(Context(database), start, start + days * DAY, **options)  # type: ignore[arg-type]


async def test_each_planned_time_is_named(database: Database) -> None:
    await make(database, "daily", "0 9 * * *", timezone="Europe/Berlin")
    await make(database, "soon", "in 30h")
    await make(database, "thrice", "* * * * *", max_runs=3)
    shown = await ahead(database)
    assert shown.complete
    titles = [each.title for each in shown.entries]
    assert titles.count("daily") == 7
    assert titles.count("soon") == 1
    assert titles.count("thrice") == 0
    assert {each.local[11:] for each in shown.entries if each.title == "daily"} <= {
        "09:00:00+01:00",
        "09:00:00+02:00",
    }
    assert [each.movable for each in shown.entries if each.title == "soon"] == [True]
    assert sum(hour.count for hour in shown.density) == 8
    assert [each.at for each in shown.entries] == sorted(each.at for each in shown.entries)


@pytest.mark.parametrize("most", [3, 100])
async def test_where_there_are_many_it_is_told_by_the_hour(
    database: Database, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Whether there are many jobs, or many times of few."""
    monkeypatch.setattr(agenda, "MOST_ENTRIES", most)
    monkeypatch.setattr(planned_hours, "WORK_SECONDS", 60.0)
    for number in range(5):
        await make(database, f"hourly {number}", "0 * * * *")
    shown = await ahead(database)
    assert (shown.complete, shown.estimated) == (False, False)
    assert len(shown.entries) <= most
    assert [hour.count for hour in shown.density] == [5] * 24 * 7


async def test_few_schedules_are_worked_out_however_busy_the_machine_is(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_times, "WORK_SECONDS", 0.0)
    for number in range(5):
        await make(database, f"hourly {number}", f"{number} * * * *")
    assert not (await ahead(database)).estimated
    monkeypatch.setattr(planned_times, "ALWAYS_WORKED_OUT", 3)
    assert (await ahead(database)).estimated


async def test_there_is_a_bound_on_all_of_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_times, "MOST_SECONDS", 0.0)
    for number in range(5):
        await make(database, f"hourly {number}", f"{number} * * * *")
    shown = await ahead(database)
    # There was time for one of them: the others count like it.
    assert (shown.estimated, shown.complete) == (True, False)
    assert len({each.title for each in shown.entries}) == 1
    assert [hour.count for hour in shown.density] == [5] * 24 * 7


async def test_a_schedule_that_must_be_gone_through_is_bounded(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_times, "MOST_TIMES", 1000)
    monkeypatch.setattr(planned_times, "SLICE_SECONDS", -1.0)
    await make(database, "busy", "* * * * *", exclude=["2099-12-24"])
    shown = await ahead(database)
    assert (shown.estimated, shown.complete) == (True, False)
    # What follows is like the beginning, but for the hour in which it ends.
    assert [hour.count for hour in shown.density] == [60] * 16 + [40] + [60] * (24 * 7 - 17)


async def test_runs_that_are_left_for_longer_than_the_range_are_counted_by_arithmetic(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_times, "MOST_TIMES", 10)
    await make(database, "busy", "* * * * *", max_runs=1_000_000)
    shown = await ahead(database)
    assert (shown.estimated, shown.complete) == (False, True)
    assert [hour.count for hour in shown.density] == [60] * 24 * 7


async def test_what_is_not_worked_out_counts_like_those_that_were_chosen_at_random(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not like those that fire seldom, which come first."""
    monkeypatch.setattr(planned_times, "ALWAYS_WORKED_OUT", 2)
    monkeypatch.setattr(planned_times, "WORK_SECONDS", 60.0)
    for number in range(2):
        await make(database, f"daily {number}", f"{number} 12 * * *")
    for number in range(8):
        await make(database, f"hourly {number}", f"{number} * * * *")
    exact = await ahead(database, 1)
    assert (exact.estimated, sum(hour.count for hour in exact.density)) == (False, 2 + 8 * 24)
    work = iter([0.0] * 3 + [61.0] * 100)
    monkeypatch.setattr(planned_times._Work, "seconds", property(lambda _: next(work)))
    shown = await ahead(database, 1)
    assert (shown.estimated, sum(hour.count for hour in shown.density)) == (True, 2 + 8 * 24)


async def test_of_very_many_timers_a_part_stands_for_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 3)
    monkeypatch.setattr(planned_hours, "WORK_SECONDS", 60.0)
    monkeypatch.setattr(planned_hours, "MOST_COUNTED", 9)
    for number in range(10):
        await make(database, f"hourly {number}", "0 * * * *")
    async with database.connection() as connection:
        await connection.execute(database.sql("analyze sexton.timers"))
    # Too few of them are in the part: all are counted.
    assert [hour.count for hour in (await ahead(database)).density] == [10] * 24 * 7
    monkeypatch.setattr(planned_hours, "FEWEST_SAMPLED", 0)
    shown = await ahead(database)
    assert shown.estimated
    # All ten are in one block, which stands for nine in ten.
    assert {hour.count for hour in shown.density} <= {11}


async def test_what_schedules_do_is_worked_out_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 1)
    monkeypatch.setattr(planned_hours, "WORK_SECONDS", 0.0)
    for number in range(4):
        await make(database, f"hourly {number}", f"{number} * * * *")
    known = PlannedHours()
    shown = [await ahead(database, 2, ahead=known) for _ in range(5)]
    # Each answer had time for one more of them.
    assert [each.estimated for each in shown] == [True, True, True, False, False]
    assert [hour.count for hour in shown[-1].density] == [4] * 48


async def test_more_schedules_than_are_remembered_are_counted_all_the_same(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 1)
    monkeypatch.setattr(planned_hours, "WORK_SECONDS", 60.0)
    monkeypatch.setattr(planned_hours, "REMEMBERED", 4)
    for number in range(9):
        await make(database, f"hourly {number}", f"{number} * * * *")
    known = PlannedHours()
    for _ in range(3):
        shown = await ahead(database, 2, ahead=known)
        assert ([hour.count for hour in shown.density], shown.estimated) == ([9] * 48, False)


async def test_a_job_that_fires_often_does_not_take_the_room_of_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_times, "WORK_SECONDS", 60.0)
    await make(database, "busy", "* * * * *")
    await make(database, "hourly", "0 * * * *")
    await make(database, "rare", "0 9 * * *")
    week = await ahead(database)
    assert week.complete
    busy = [each for each in week.entries if each.title == "busy"]
    assert (len(busy), {each.count for each in busy}) == (7 * 24, {60})
    assert [each.count for each in week.entries if each.title == "rare"] == [1] * 7
    month = await ahead(database, 31, timezone="Europe/Berlin")
    hourly = [each for each in month.entries if each.title == "hourly"]
    # Midnight in Berlin is not midnight in UTC, where the range begins and ends.
    assert (len(hourly), sum(each.count for each in hourly)) == (32, 31 * 24)
    assert sum(each.count for each in month.entries if each.title == "busy") == 31 * 24 * 60


@pytest.mark.parametrize("timezone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("schedule", ["*/7 * * * *", "every 90s", "30 1-3 * * *"])
async def test_arithmetic_counts_what_would_fire(
    database: Database, monkeypatch: pytest.MonkeyPatch, schedule: str, timezone: str
) -> None:
    """Over a change of the clocks, and in a zone that is half an hour off."""
    monkeypatch.setattr(planned_times, "WORK_SECONDS", 60.0)
    zone = {} if schedule.startswith("every") else {"timezone": "Europe/Berlin"}
    await make(database, "busy", schedule, **zone)
    start = datetime.fromisoformat("2027-03-20T00:00:00+00:00")
    context = Context(database)
    counted = await read_agenda(context, start, start + 14 * DAY, timezone)
    monkeypatch.setattr(planned_times, "_by_hour", lambda *_: None)
    listed = await read_agenda(context, start, start + 14 * DAY, timezone)
    assert counted == listed


async def test_of_a_past_with_too_much_to_name_what_failed_and_is_seldom_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 30)
    await make(database, "busy", "* * * * *")
    await make(database, "daily", "0 9 * * *")
    store = Store(database)
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger, fired_at)
        select at, row_number() over (), job.id, at, case when minute = 7 then 'dead' else 'success' end,
            'schedule', at + interval '90 seconds'
        from sexton.jobs as job
        cross join generate_series(1, 40) as minute
        cross join lateral (select date_trunc('minute', now()) - minute * interval '1 minute' as at) as times
        where job.name = 'busy' or minute = 20"""
    )
    now: datetime = await store.value("select now()")
    shown = await read_agenda(Context(database), now - 5 * DAY, now)
    assert not shown.complete
    assert sorted((each.title, each.status) for each in shown.entries) == [
        ("busy", "dead"),
        ("daily", "success"),
    ]
    assert {each.late_seconds for each in shown.entries} == {90.0}
    assert {each.schedule for each in shown.entries} == {"* * * * *", "0 9 * * *"}


class Broken:
    """A schedule that cannot be worked out."""

    def between(self, *_: object) -> Iterator[datetime]:
        raise ScheduleError("bad_schedule", "it has no next time", hint="give another")

    count = between


async def test_a_schedule_that_cannot_be_worked_out_does_not_hide_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 3)
    store = Store(database)
    job = await store.job()
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
        select at, number, $1, at, 'dead', 'schedule'
        from generate_series(1, 5) as number
        cross join lateral (select now() - number * interval '1 hour' as at) as times""",
        job,
    )
    await make(database, "broken", "0 9 * * *")
    for module in (agenda, planned_times):
        monkeypatch.setattr(module, "read_schedule", lambda _: Broken())
    now: datetime = await store.value("select now()")
    shown = await read_agenda(Context(database), now - DAY, now + DAY)
    assert {each.status for each in shown.entries} >= {"dead"}


@pytest.mark.parametrize("most", [30, 3])
@pytest.mark.parametrize("label", [None, "team"])
async def test_a_run_over_midnight_belongs_to_the_day_when_it_was_due(
    database: Database, monkeypatch: pytest.MonkeyPatch, label: str | None, most: int
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", most)
    await make(database, "nightly", "59 23 * * *", labels={"team": "billing"})
    store = Store(database)
    midnight: datetime = await store.value("select now() - interval '2 hours'")
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
        select now() - interval '1 hour', number, job.id, now() - interval '121 minutes', 'dead', 'schedule'
        from sexton.jobs as job cross join generate_series(1, $1) as number""",
        1 if most == 30 else 4,
    )
    days = [
        await read_agenda(Context(database), midnight + day * DAY, midnight + (day + 1) * DAY, label=label)
        for day in (-2, -1, 0)
    ]
    assert [any(each.run_id for each in day.entries) for day in days] == [False, True, False]


async def test_a_label_shows_the_latest_jobs_and_says_what_is_left_out(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "MOST_ENTRIES", 3)
    for number in range(3):
        await make(database, f"done {number}", "in 1h", labels={"team": "billing"})
    store = Store(database)
    await store.execute("delete from sexton.timers")
    await store.execute("update sexton.jobs set status = 'completed'")
    await make(database, "new", "in 30h", labels={"team": "billing"})
    shown = await ahead(database, label="team")
    # What has completed takes no room of what is planned.
    assert [each.title for each in shown.entries] == ["new"]
    assert (shown.complete, shown.estimated) == (True, False)
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
        select at, job.id, job.id, at, 'success', 'schedule'
        from sexton.jobs as job cross join lateral (select now() - interval '1 hour' as at) as times"""
    )
    now: datetime = await store.value("select now()")
    past = await read_agenda(Context(database), now - DAY, now, label="team")
    assert {each.title for each in past.entries} == {"new", "done 2", "done 1"}
    assert (past.complete, past.estimated) == (False, True)


async def test_the_past_of_a_label_says_that_it_counts_what_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(database, "busy", "* * * * *", labels={"team": "billing"})
    store = Store(database)
    await store.execute(
        """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
        select at, minute, job.id, at, 'success', 'schedule'
        from sexton.jobs as job cross join generate_series(1, 41) as minute
        cross join lateral (select now() - minute * interval '1 minute' as at) as times"""
    )
    now: datetime = await store.value("select now()")
    shown = await read_agenda(Context(database), now - DAY, now, label="team")
    assert (len(shown.entries), shown.complete, shown.estimated) == (40, False, True)
    await store.execute("delete from sexton.history where run_id = 41")
    shown = await read_agenda(Context(database), now - DAY, now, label="team")
    assert (len(shown.entries), shown.complete, shown.estimated) == (40, True, False)


async def test_jobs_of_products_are_left_to_them(database: Database) -> None:
    await make(database, "hook", "0 9 * * *", target={"http": {"url": "http://127.0.0.1:1/"}})
    assert len((await ahead(database)).entries) == 7
    assert (await ahead(database, others=["http"])).entries == []


async def test_what_happened_is_shown_with_its_outcome(database: Database) -> None:
    store = Store(database)
    job = await store.job()
    at = await store.value("select date_trunc('hour', now()) - interval '2 hours'")
    for number, status in ((1, "success"), (2, "dead"), (None, "skipped")):
        await store.execute(
            """insert into sexton.history (recorded_at, run_id, job_id, scheduled_at, status, trigger)
            values ($1, $2, $3, $1, $4, 'schedule')""",
            at,
            number,
            job,
            status,
        )
    context = Context(database)
    while not (await count_recorded(context, 2 * DAY))[1]:
        pass
    shown = await read_agenda(context, at - DAY, at + timedelta(hours=1))
    assert {(each.run_id, each.status) for each in shown.entries} == {
        ("r_1", "success"),
        ("r_2", "dead"),
        (None, "skipped"),
    }
    assert [(hour.at, hour.count, hour.failed) for hour in shown.density] == [(at, 3, 1)]
    other = Context(database, "other")
    assert (await read_agenda(other, at - DAY, at + DAY)).entries == []


async def test_clock_changes_are_marked_and_long_ranges_refused(database: Database) -> None:
    start = datetime.fromisoformat("2027-03-01T00:00:00+00:00")
    shown = await read_agenda(Context(database), start, start + 31 * DAY, "Europe/Berlin")
    assert [each.text for each in shown.clock_changes] == [
        "28 March 2027: clocks go forward 1 h: 02:00 becomes 03:00, times in between do not exist"
    ]
    for end in (start, start + 63 * DAY):
        with pytest.raises(InvalidField):
            await read_agenda(Context(database), start, end)
