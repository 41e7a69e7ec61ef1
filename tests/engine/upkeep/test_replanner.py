"""A new zone database: stored due times move with the wall clock, nothing fires twice, nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.replanner import Moved, Replanner, move_timers
from sexton.jobs.bulk import create_many
from sexton.jobs.edit import edit
from sexton.jobs.planning import replan
from sexton.jobs.state import pause
from sexton.jobs.zones import FIRST, LAST
from sexton.model import decode_id, encode_id
from sexton.postgres import locks
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.schedules import parse
from sexton.schedules.move import Move
from sexton.schedules.zone import EPOCH, RecordedZone, zone, zone_version
from tests.scheduling import Stage, add_job, execute, fetch, now, runs_of

ZONE = "America/New_York"
OLD = "2020a"
REPLANNED = "select * from sexton.audit_entries where action = 'zone.replanned'"


def shifted(hours: float, name: str = ZONE) -> list[tuple[int, int]]:
    """The zone as an old database had it: the same changes, but the clock so much further on."""
    return [(at, offset + int(hours * 3600)) for at, offset in zone(name).changes(FIRST, LAST)]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def replanned(schedule: str, hours: float, scheduled: str, **options: Any) -> datetime | None:
    made = parse(schedule, timezone=ZONE, **options)
    return replan(made, made.under(RecordedZone(ZONE, shifted(hours))), at(scheduled))


def test_a_recorded_zone_answers_as_the_zone_it_was_recorded_from() -> None:
    real, recorded = zone(ZONE), RecordedZone(ZONE, zone(ZONE).changes(FIRST, LAST))
    assert recorded.changes(FIRST, LAST) == real.changes(FIRST, LAST)
    assert recorded.fingerprint(FIRST, LAST) == real.fingerprint(FIRST, LAST)
    assert RecordedZone(ZONE, shifted(1)).fingerprint(FIRST, LAST) != real.fingerprint(FIRST, LAST)


@pytest.mark.parametrize(
    ("schedule", "hours", "scheduled", "expected"),
    [
        # 09:00 was 12:00Z, it is 13:00Z now: whatever the time is, that of the same day stays the next one,
        # also if it is shifted past an instant at which another one fires.
        ("0 9 * * *", 1, "2026-07-01T12:00", "2026-07-01T13:00"),
        ("0 9 * * *", -1, "2026-07-01T14:00", "2026-07-01T13:00"),
        ("0 9,10 * * *", 1, "2026-07-01T12:00", "2026-07-01T13:00"),
        ("0 9,10 * * *", 1, "2026-07-01T13:00", "2026-07-01T14:00"),
        ("2026-07-01T09:00", 1, "2026-07-01T12:00", "2026-07-01T13:00"),
        ("DTSTART:20260101T090000\nRRULE:FREQ=DAILY", 1, "2026-07-01T12:00", "2026-07-01T13:00"),
        # The occurrence stays the one after the last, though that one's instant has moved as well.
        ("0 9 1 * *", -5, "2026-08-01T18:00", "2026-08-01T13:00"),
        # A rule that follows the clock goes on from the last instant: no pause, no bunch.
        ("*/15 * * * *", 1, "2026-07-01T12:15", "2026-07-01T12:15"),
        ("0 * * * *", 0.5, "2026-07-01T12:30", "2026-07-01T12:00"),
        ("0 * * * *", -1, "2026-07-01T12:00", "2026-07-01T12:00"),
        # What was planned by the new rules already stays.
        ("0 9 * * *", 1, "2026-07-01T13:00", "2026-07-01T13:00"),
        # Not moved at all: instants.
        ("2026-07-01T09:00Z", 1, "2026-07-01T09:00", "2026-07-01T09:00"),
        # An instant that the old rules used for another wall time is not used again.
        ("0 9-17 * * *", -1, "2026-07-01T15:00", "2026-07-01T15:00"),
    ],
)
def test_where_a_timer_belongs(schedule: str, hours: float, scheduled: str, expected: str) -> None:
    assert replanned(schedule, hours, scheduled) == at(expected)


def test_times_listed_as_instants_stay_beside_a_rule_that_moves() -> None:
    text = "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE:20260701T123000Z"
    assert replanned(text, 1, "2026-07-01T12:00") == at("2026-07-01T12:30")
    assert replanned(text, 1, "2026-07-01T12:30") == at("2026-07-01T12:30")
    # By the old clock the rule's time came first and was fired; by the new one it would come after.
    made = parse(text, timezone=ZONE)
    old = made.under(RecordedZone(ZONE, shifted(1)))
    assert old.previous_before(at("2026-07-01T12:30")) == at("2026-07-01T12:00")
    assert replan(made, old, at("2026-07-02T12:00")) == at("2026-07-02T13:00")


def test_a_run_that_was_moved_stays_where_it_was_put() -> None:
    made = parse("0 9 * * *", timezone=ZONE)
    move = Move(at("2026-07-01T00:00"), at("2026-07-01T12:00"), at("2026-07-01T20:30"))
    moved = made.moved(move)
    old = moved.under(RecordedZone(ZONE, shifted(1)))
    assert replan(moved, old, move.to) == move.to
    assert replan(moved, old, at("2026-07-02T12:00")) == at("2026-07-02T13:00")


def test_a_time_moved_out_of_a_gap_stays_the_same_occurrence() -> None:
    """02:30 on 8 March does not exist: it fires at 03:00. Where the clock does not jump, it is at 02:30."""
    flat = RecordedZone(ZONE, [(FIRST, -5 * 3600)])
    made = parse("30 2 * * *", timezone=ZONE)
    assert replan(made, made.under(flat), at("2026-03-08T07:30")) == at("2026-03-08T07:00")
    real = RecordedZone(ZONE, zone(ZONE).changes(FIRST, LAST))
    assert replan(made.under(flat), made.under(real), at("2026-03-08T07:00")) == at("2026-03-08T07:30")


def test_the_second_of_two_is_not_taken_for_the_first() -> None:
    """01:30 on 1 November happens twice. If it happened once before, its second time is still to come."""
    made = parse("30 1 * * *", timezone=ZONE, gap="after", fold="second")
    flat = RecordedZone(ZONE, [(FIRST, -4 * 3600)])
    assert replan(made, made.under(flat), at("2026-11-01T05:30")) == at("2026-11-01T06:30")
    real = RecordedZone(ZONE, zone(ZONE).changes(FIRST, LAST))
    # Where it happens once, and that was before, the next one is that of the next day.
    assert replan(made.under(flat), made.under(real), at("2026-11-01T06:30")) == at("2026-11-02T05:30")


async def record(
    database: Database, changes: Sequence[Sequence[int]], name: str = ZONE, version: str = OLD
) -> None:
    fingerprint = RecordedZone(name, changes).fingerprint(FIRST, LAST)
    await execute(
        database,
        "insert into sexton.zones (name, version, fingerprint, changes) values ($1, $2, $3, $4)",
        name,
        version,
        fingerprint,
        msgspec.json.encode(changes).decode(),
    )


async def under_old_rules(database: Database, hours: float = 1, **fields: Any) -> int:
    """A job that was planned by a zone database in which the clock was so much further on. Its maker is older
    than its times."""
    job = await add_job(database, **{"schedule": "0 9 * * *", "timezone": ZONE, **fields})
    return await by_old_rules(database, job, hours)


async def by_old_rules(database: Database, job: int, hours: float = 1) -> int:
    [row] = await fetch(database, "select name, schedule from sexton.jobs where id = $1", job)
    old = parse(row["schedule"], timezone=ZONE).under(RecordedZone(ZONE, shifted(hours)))
    first = old.next_after(await now(database))
    await execute(
        database,
        """with moved as (
            update sexton.timers
            set due_at = $2::timestamptz + (due_at - scheduled_at), scheduled_at = $2 where job_id = $1
        ) update sexton.jobs set created_at = created_at - interval '1 year' where id = $1""",
        job,
        first,
    )
    return job


def daily(moment: datetime) -> str:
    """The rule for this time of the day in the zone."""
    local = moment + timedelta(seconds=zone(ZONE).period(int(moment.timestamp())).offset)
    return f"{local.minute} {local.hour} * * *"


async def place(database: Database, job: int) -> tuple[datetime, datetime]:
    [row] = await fetch(database, "select scheduled_at, due_at from sexton.timers where job_id = $1", job)
    return row["scheduled_at"], row["due_at"]


def replanner(database: Database, version: str | None = None) -> Replanner:
    return Replanner(database, Telemetry(), node="test:1:aaaaaa", version=version)


async def zone_row(database: Database, name: str = ZONE) -> Any:
    [row] = await fetch(database, "select * from sexton.zones where name = $1", name)
    return row


async def test_zones_in_use_are_recorded_and_nothing_else_happens(database: Database) -> None:
    job = await add_job(database, name="here", timezone=ZONE)
    await add_job(database, name="there", timezone="Asia/Tokyo")
    await add_job(database, name="nowhere")
    before = await place(database, job)
    await replanner(database).tick()
    rows = await fetch(database, "select name, version, previous from sexton.zones order by name")
    assert [tuple(row) for row in rows] == [
        (ZONE, zone_version(), None),
        ("Asia/Tokyo", zone_version(), None),
    ]
    assert await place(database, job) == before
    assert await fetch(database, REPLANNED) == []


@pytest.mark.parametrize("how", ["made", "made with many", "edited"])
async def test_a_zone_that_came_into_use_just_before_is_known(
    database: Database, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The job and what its zone was like are one transaction: no node need have looked since."""
    with monkeypatch.context() as old:
        old.setattr("sexton.jobs.zones.zone_version", lambda: OLD)
        old.setattr("sexton.jobs.zones.zone", lambda name: RecordedZone(name, shifted(1)))
        match how:
            case "made":
                job = await under_old_rules(database)
            case "made with many":
                spec = {"name": "job", "schedule": "0 9 * * *", "timezone": ZONE}
                [made] = await create_many(Context(database), [spec])
                job = await by_old_rules(database, decode_id("j", made.job_id) or 0)
            case _:
                job = await add_job(database, schedule="0 9 * * *")
                await edit(Context(database), encode_id("j", job), {"timezone": ZONE})
                await by_old_rules(database, job)
    scheduled, _ = await place(database, job)
    assert (await zone_row(database))["version"] == OLD
    await replanner(database).tick()
    assert await place(database, job) == (scheduled + timedelta(hours=1),) * 2


async def test_a_zone_that_was_not_used_for_a_while_is_known_as_it_is_now(database: Database) -> None:
    """Else the next job in it would be moved as if it had been planned by the old rules."""
    await record(database, shifted(1))
    await replanner(database).tick()
    assert (await zone_row(database))["version"] == zone_version()
    assert await fetch(database, REPLANNED) == []
    job = await add_job(database, schedule="0 9-17 * * *", timezone=ZONE)
    before = await place(database, job)
    await replanner(database).tick()
    assert await place(database, job) == before


async def test_due_times_move_with_the_wall_clock_and_it_is_reported(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await record(database, shifted(1))
    jobs = [await under_old_rules(database, name=f"job-{number}", jitter_seconds=600) for number in range(3)]
    elsewhere = await add_job(database, name="elsewhere", timezone="Asia/Tokyo")
    before = [await place(database, job) for job in jobs]
    there = await place(database, elsewhere)
    with caplog.at_level(logging.WARNING, "sexton"):
        own = replanner(database)
        await own.tick()
    for job, (scheduled, due) in zip(jobs, before, strict=True):
        assert await place(database, job) == (scheduled + timedelta(hours=1), due + timedelta(hours=1))
    assert await place(database, elsewhere) == there
    row = await zone_row(database)
    assert (row["version"], row["previous_version"], row["moved"], row["through"]) == (
        zone_version(), OLD, 3, None,
    )  # fmt: skip
    [audit] = await fetch(database, REPLANNED)
    detail = msgspec.json.decode(audit["detail"])
    assert (audit["actor"], audit["address"], audit["object_id"]) == ("sexton", "test:1:aaaaaa", ZONE)
    assert msgspec.json.decode(audit["before"]) == {"version": OLD}
    assert msgspec.json.decode(audit["after"]) == {"version": zone_version()}
    assert detail["jobs"] == 3
    assert {each["job_id"] for each in detail["examples"]} == {encode_id("j", job) for job in jobs}
    assert "3 jobs are due at other times" in caplog.text
    assert own._telemetry.replanned._value.get() == 3
    after = [await place(database, job) for job in jobs]
    await replanner(database).tick()
    assert [await place(database, job) for job in jobs] == after


async def test_what_was_fired_under_the_old_rules_does_not_fire_again(database: Database) -> None:
    """The timer was advanced under the old rules; by the new ones the same wall time lies ahead."""
    moment = await now(database)
    await record(database, shifted(1))
    # Half an hour ago by the old clock, in half an hour by the new one.
    job = await under_old_rules(database, schedule=daily(moment + timedelta(minutes=30)))
    scheduled, _ = await place(database, job)
    assert scheduled > moment + timedelta(hours=22)
    await replanner(database).tick()
    moved, _ = await place(database, job)
    assert moved == scheduled + timedelta(hours=1)
    stage = await Stage(database).lead()
    await stage.round()
    assert await runs_of(database, job) == []
    await Stage.close_all()


async def test_what_was_not_fired_and_should_have_been_is_due_at_once(database: Database) -> None:
    """By the old clock it was in half an hour, by the new one it was half an hour ago."""
    moment = await now(database)
    rule = daily(moment - timedelta(minutes=30))
    await record(database, shifted(-1))
    job = await under_old_rules(database, -1, schedule=rule)
    scheduled, _ = await place(database, job)
    assert moment < scheduled < moment + timedelta(hours=1)
    await replanner(database).tick()
    moved, due = await place(database, job)
    assert moved == due == scheduled - timedelta(hours=1)
    stage = await Stage(database).lead()
    await stage.round()
    [run] = await runs_of(database, job)
    assert (run["scheduled_at"], run["trigger"]) == (moved, "catch_up")
    await Stage.close_all()


async def test_a_job_does_not_go_back_to_before_it_was_made(database: Database) -> None:
    moment = await now(database)
    rule = daily(moment - timedelta(minutes=30))
    await record(database, shifted(-1))
    job = await under_old_rules(database, -1, schedule=rule)
    scheduled, _ = await place(database, job)
    await execute(database, "update sexton.jobs set created_at = $2 where id = $1", job, moment)
    await replanner(database).tick()
    moved, _ = await place(database, job)
    assert moved == parse(rule, timezone=ZONE).next_after(scheduled)


async def test_a_paused_job_keeps_its_place_on_the_wall(database: Database) -> None:
    await record(database, shifted(1))
    job = await under_old_rules(database)
    await pause(Context(database), encode_id("j", job))
    scheduled, _ = await place(database, job)
    await replanner(database).tick()
    moved, due = await place(database, job)
    assert moved == scheduled + timedelta(hours=1)
    assert due.replace(tzinfo=None) == datetime.max


async def test_a_job_without_an_occurrence_left_is_completed(database: Database) -> None:
    await record(database, shifted(1))
    job = await under_old_rules(database)
    scheduled, _ = await place(database, job)
    ends = (scheduled + timedelta(minutes=30)).isoformat()
    await execute(
        database,
        "update sexton.jobs set options = options || jsonb_build_object('ends_at', $2::text) where id = $1",
        job,
        ends,
    )
    await replanner(database).tick()
    assert await fetch(database, "select from sexton.timers where job_id = $1", job) == []
    [row] = await fetch(database, "select status from sexton.jobs where id = $1", job)
    assert row["status"] == "completed"


async def test_an_older_zone_database_changes_nothing_and_says_so(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await record(database, shifted(1), version="2999z")
    job = await under_old_rules(database)
    before = await place(database, job)
    with caplog.at_level(logging.WARNING, "sexton"):
        own = replanner(database)
        await own.tick()
        await own.tick()
    assert await place(database, job) == before
    row = await zone_row(database)
    assert (row["version"], row["previous"]) == ("2999z", None)
    assert caplog.text.count("upgrade tzdata here") == 1


async def test_a_newer_zone_database_without_a_difference_moves_nothing(database: Database) -> None:
    await record(database, shifted(0))
    job = await add_job(database, timezone=ZONE)
    before = await place(database, job)
    await replanner(database).tick()
    assert await place(database, job) == before
    row = await zone_row(database)
    assert (row["version"], row["previous"]) == (zone_version(), None)


async def test_files_replaced_under_a_running_process_wait_for_a_restart(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await record(database, shifted(1), version=zone_version())
    job = await under_old_rules(database)
    before = await place(database, job)
    with caplog.at_level(logging.WARNING, "sexton"):
        await replanner(database).tick()
    assert await place(database, job) == before
    assert "restart this node" in caplog.text


async def test_only_one_node_does_it(database: Database) -> None:
    await record(database, shifted(1))
    job = await under_old_rules(database)
    before = await place(database, job)
    async with database.connection() as other:
        await other.execute("select pg_advisory_lock($1)", locks.REPLAN)
        await replanner(database).tick()
        assert await place(database, job) == before
        await other.execute("select pg_advisory_unlock($1)", locks.REPLAN)
    await replanner(database).tick()
    assert await place(database, job) != before


async def test_what_was_cut_off_is_gone_on_with(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers that were moved are not moved again, though the zone is not recorded as done yet."""
    monkeypatch.setattr("sexton.engine.upkeep.replanner.BATCH", 2)
    await record(database, shifted(1))
    jobs = [await under_old_rules(database, name=f"job-{number}") for number in range(5)]
    before = [(await place(database, job))[0] for job in jobs]
    first = replanner(database)
    calls = 0
    real = move_timers

    async def cut_off(*arguments: Any, **options: Any) -> Moved | None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ConnectionResetError("the database went away")
        return await real(*arguments, **options)

    monkeypatch.setattr("sexton.engine.upkeep.replanner.move_timers", cut_off)
    with pytest.raises(Exception, match="went away"):
        await first.tick()
    row = await zone_row(database)
    assert (row["through"], row["moved"], row["version"]) == (jobs[3], 4, OLD)
    monkeypatch.setattr("sexton.engine.upkeep.replanner.move_timers", real)
    await replanner(database).tick()
    assert [(await place(database, job))[0] for job in jobs] == [
        scheduled + timedelta(hours=1) for scheduled in before
    ]
    assert (await zone_row(database))["moved"] == 5


async def test_what_a_node_that_is_behind_plans_is_mended(database: Database) -> None:
    await record(database, shifted(1))
    job = await under_old_rules(database)
    await replanner(database).tick()
    right = await place(database, job)
    behind = await under_old_rules(database, name="behind")
    stale, _ = await place(database, behind)
    again = replanner(database)
    await again.tick()
    assert await place(database, job) == right
    assert (await place(database, behind))[0] == stale + timedelta(hours=1)
    assert (await zone_row(database))["moved"] == 2


async def test_a_locked_timer_is_waited_for(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await record(database, shifted(1))
    job = await under_old_rules(database)
    before, _ = await place(database, job)
    async with database.connection() as other:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("select from sexton.timers where job_id = $1 for update", job)
        waits = 0

        async def let_go(_seconds: float) -> None:
            nonlocal waits
            waits += 1
            if waits == 1:
                await transaction.rollback()

        monkeypatch.setattr("sexton.engine.upkeep.replanner.clock.sleep", let_go)
        await replanner(database).tick()
    assert waits == 1
    assert (await place(database, job))[0] == before + timedelta(hours=1)


async def test_the_scheduler_is_told_of_what_is_due_soon(database: Database) -> None:
    moment = await now(database)
    rule = daily(moment - timedelta(minutes=30))
    await record(database, shifted(-1))
    job = await under_old_rules(database, -1, schedule=rule)
    stage = await Stage(database).lead()
    told: list[str] = []
    async with database.connection() as listening:

        def hear(*message: object) -> None:
            told.append(str(message[-1]))

        await listening.add_listener("sexton_timers", hear)
        await replanner(database).tick()
        await listening.execute("select")
        await listening.remove_listener("sexton_timers", hear)
    [row] = await fetch(database, "select shard from sexton.timers where job_id = $1", job)
    assert told == [str(row["shard"])]
    await stage.round()
    await Stage.close_all()


async def test_a_node_says_which_zone_database_it_has(database: Database) -> None:
    await Stage(database).lead()
    await replanner(database).tick()
    [row] = await fetch(database, "select zone_version from sexton.nodes")
    assert row["zone_version"] == zone_version()
    await Stage.close_all()


def test_the_range_of_recorded_changes_holds_the_present() -> None:
    assert EPOCH + timedelta(seconds=FIRST) == at("2020-01-01T00:00")
    assert EPOCH + timedelta(seconds=LAST) == at("2100-01-01T00:00")
