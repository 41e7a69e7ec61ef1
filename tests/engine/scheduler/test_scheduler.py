"""Firing: on time, once, under the fence, and everything else accounted for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.scheduler import catch_up, scheduler
from sexton.jobs.create import create
from sexton.jobs.edit import reschedule
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import get, list_jobs
from sexton.jobs.spread import jitter_of, shard_of
from sexton.jobs.state import pause
from sexton.jobs.validation import read_spec
from sexton.model import Overlap, decode_id
from sexton.postgres.database import BY_KEY, Database
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context
from tests.plans import explain
from tests.scheduling import Stage, add_job, execute, fetch, hour_before, move_timer, now, runs_of, skips_of
from tests.waiting import until

CAUGHT_UP = "select address, detail from sexton.audit_entries where action = 'jobs.caught_up'"


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    yield await Stage(database).lead()
    await Stage.close_all()


async def due_now(database: Database, job: int) -> None:
    """Let a job's occurrence be due a second ago: late, but within its grace."""
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=1))


async def test_a_due_job_fires_once_and_its_timer_moves_on(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    await due_now(database, job)
    await stage.round()
    [run] = await runs_of(database, job)
    assert (run["state"], run["trigger"], run["attempt"], run["slot"]) == ("pending", "schedule", 0, None)
    [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", job)
    assert timer["scheduled_at"] == hour_before(run["scheduled_at"]) + timedelta(hours=1)
    assert timer["fired_count"] == 1
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_nothing_fires_before_its_time(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    later = (await now(database)) + timedelta(seconds=30)
    await move_timer(database, job, later)
    sleep = await stage.round()
    assert await runs_of(database, job) == []
    assert stage.scheduler.entries == 1
    assert 0 < sleep <= 30
    # Even if the scheduler believed otherwise, the statement itself compares with the database's clock.
    row = await stage.scheduler._send(  # the statement under test, with a wheel that is ahead of time
        "firing/fire", **_firing(stage, job, scheduled=later, due=later, following=later + timedelta(hours=1))
    )
    assert row is not None
    assert (row["held"], row["fired"]) == (True, 0)


async def test_jitter_shifts_the_due_time_and_is_kept(database: Database, stage: Stage) -> None:
    job = await add_job(database, jitter_seconds=30)
    at = (await now(database)).replace(microsecond=0) - timedelta(seconds=31)
    await move_timer(database, job, at)
    await stage.round()
    [run] = await runs_of(database, job)
    offset = timedelta(seconds=jitter_of(job, 30))
    assert run["scheduled_at"] == at
    assert run["due_at"] == run["available_at"] == at + offset
    [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", job)
    assert timer["due_at"] - timer["scheduled_at"] == offset


async def test_one_batch_fires_many_jobs_of_many_schedules(database: Database, stage: Stage) -> None:
    jobs = [await add_job(database, name=f"job {n}", schedule=f"{n % 7} * * * *") for n in range(40)]
    for job in jobs:
        await due_now(database, job)
    await stage.round()
    assert stage.scheduler.fired == 40
    [[count, distinct]] = await fetch(database, "select count(*), count(distinct job_id) from sexton.runs")
    assert (count, distinct) == (40, 40)


async def test_a_timer_that_changed_since_is_a_miss_and_read_again(database: Database, stage: Stage) -> None:
    changed, untouched = await add_job(database, name="changed"), await add_job(database, name="untouched")
    soon = (await now(database)) + timedelta(seconds=1)
    for job in (changed, untouched):
        await move_timer(database, job, soon)
    await stage.round()
    assert stage.scheduler.entries == 2
    later = soon + timedelta(minutes=5)
    await move_timer(database, changed, later)
    await _pass(stage, 1.2)
    await stage.round()  # finds that the wheel is wrong
    await stage.round()
    assert len(await runs_of(database, untouched)) == 1
    assert await runs_of(database, changed) == []
    assert stage.scheduler.entries >= 1  # the changed one waits for its new time


async def test_a_stale_leader_fires_nothing(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    await stage.round()
    await due_now(database, job)
    stage.scheduler.timers_changed("")
    # Another node takes everything over while this one believes that it still leads.
    await execute(database, "update sexton.shards set epoch = epoch + 1, holder = 999")
    await stage.round()
    assert await runs_of(database, job) == []
    assert stage.scheduler.entries == 0
    assert stage.leadership.fenced > 0
    await stage.leadership.tick()
    # The other one is not alive, so the shards come back, under new epochs.
    assert set(stage.leadership.led.values()) == {3}


def halves(node: int, others: list[int], shards: int) -> frozenset[int]:
    """The first of two nodes wants the first half, whatever numbers they have."""
    both = sorted([node, *others])
    half = shards // len(both)
    return frozenset(range(both.index(node) * half, (both.index(node) + 1) * half))


async def _in_shards(database: Database, shards: set[int]) -> int:
    [[count]] = await fetch(
        database, "select count(*) from sexton.timers where shard = any ($1)", list(shards)
    )
    assert isinstance(count, int)
    return count


@pytest.mark.parametrize("when", ["before the firing is sent", "while it is on its way"])
async def test_a_hand_over_in_the_middle_of_a_round_is_no_fencing(
    database: Database, stage: Stage, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a stale leader is fenced. Who has put a shard down itself goes on with the others."""
    jobs = [await add_job(database, name=f"job-{number}") for number in range(16)]
    for job in jobs:
        await due_now(database, job)
    other = Stage(database)
    monkeypatch.setattr("sexton.engine.cluster.leadership.wanted", halves)
    original = stage.scheduler._send

    async def hand_over() -> None:
        await other.lead()
        await stage.leadership.tick()
        await other.leadership.tick()

    async def send(statement: str, **parameters: Any) -> Any:
        monkeypatch.setattr(stage.scheduler, "_send", original)
        await hand_over()
        return await original(statement, **parameters)

    await stage.scheduler._connect()
    if when == "before the firing is sent":
        await stage.scheduler._horizon.follow(stage.leadership.led, listening=True)
        batches = stage.scheduler._horizon.pop_due()
        await hand_over()
        for batch in batches:
            await stage.scheduler._fire(batch)
        assert stage.scheduler.fired == await _in_shards(database, {0, 1})
    else:
        monkeypatch.setattr(stage.scheduler, "_send", send)
        await stage.round()
    assert set(stage.leadership.led) == {0, 1}
    assert set(other.leadership.led) == {2, 3}
    assert stage.leadership.fenced == stage.leadership.shards_lost == 0
    await stage.round()
    await other.round()
    assert stage.scheduler.fired + other.scheduler.fired == 16
    assert [len(await runs_of(database, job)) for job in jobs] == [1] * 16


async def test_a_takeover_waits_for_an_open_firing_and_a_firing_sees_every_takeover(
    database: Database, stage: Stage
) -> None:
    job = await add_job(database)
    await due_now(database, job)
    await stage.scheduler._connect()
    [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", job)
    next_at = timer["scheduled_at"] + timedelta(hours=1)
    parameters = _firing(stage, job, scheduled=timer["scheduled_at"], due=timer["due_at"], following=next_at)
    async with database.transaction() as firing:
        row = await database.fetchrow("firing/fire", on=firing, **parameters)
        assert row is not None
        assert row["fired"] == 1
        other = await asyncpg.connect(database.url)
        try:
            await other.execute("set lock_timeout = '100ms'")
            try:
                await other.execute(
                    "update sexton.shards set epoch = epoch + 1 where id = $1", timer["shard"]
                )
            except asyncpg.LockNotAvailableError:
                pass
            else:
                raise AssertionError("the takeover did not wait for the open firing")
        finally:
            await other.close()
    await execute(database, "update sexton.shards set epoch = epoch + 1 where id = $1", timer["shard"])
    await due_now(database, job)
    row = await database.fetchrow("firing/fire", **parameters)
    assert row is not None
    assert not row["held"]
    assert len(await runs_of(database, job)) == 1


async def test_a_one_off_completes_its_job(database: Database, stage: Stage) -> None:
    soon = (await now(database)).replace(microsecond=0) + timedelta(hours=1)
    job = await add_job(database, schedule=soon.isoformat())
    await due_now(database, job)
    await stage.round()
    assert len(await runs_of(database, job)) == 1
    assert await fetch(database, "select from sexton.timers where job_id = $1", job) == []
    context = Context(database)
    shown = await get(context, "job")
    assert (shown.status, shown.completed_at, shown.next_run_at) == ("active", None, None)
    assert [each.name for each in (await list_jobs(context, JobFilter(status="active"))).items] == ["job"]
    assert (await list_jobs(context, JobFilter(status="completed"))).items == []
    [run] = await runs_of(database, job)
    await database.fetch(
        "recording/cancel_runs", namespace="default", run_ids=[run["id"]], reason="", now=None
    )
    shown = await get(context, "job")
    assert (shown.status, shown.last_outcome) == ("completed", "cancelled")
    assert shown.completed_at is not None
    assert shown.completed_at > run["fired_at"]
    assert (await list_jobs(context, JobFilter(status="active"))).items == []
    assert [each.name for each in (await list_jobs(context, JobFilter(status="completed"))).items] == ["job"]


async def test_max_runs_completes_a_job(database: Database, stage: Stage) -> None:
    job = await add_job(database, max_runs=2)
    for _ in range(2):
        await due_now(database, job)
        await _reload(stage)
        await stage.round()
    assert len(await runs_of(database, job)) == 2
    [[status]] = await fetch(database, "select status from sexton.jobs where id = $1", job)
    assert status == "completed"


async def test_overlap_skip_records_the_second_occurrence(database: Database, stage: Stage) -> None:
    job = await add_job(database, overlap="SKIP")
    await _fire_twice(database, stage, job)
    [run] = await runs_of(database, job)
    assert run["slot"] == 0
    assert [reason for _, reason, _ in await skips_of(database, job)] == ["overlap"]


async def test_overlap_queue_one_lets_one_wait(database: Database, stage: Stage) -> None:
    job = await add_job(database, overlap="QUEUE_ONE")
    await _fire_twice(database, stage, job)
    live, queued = sorted(await runs_of(database, job), key=lambda run: run["slot"])
    assert (live["slot"], queued["slot"]) == (0, 1)
    [[waits]] = await fetch(
        database, "select available_at = 'infinity' from sexton.runs where id = $1", queued["id"]
    )
    assert waits
    await _fire_again(database, stage, job)
    assert len(await runs_of(database, job)) == 2
    assert [reason for _, reason, _ in await skips_of(database, job)] == ["overlap"]


async def test_overlap_cancel_running_asks_the_live_run_to_stop(database: Database, stage: Stage) -> None:
    job = await add_job(database, overlap="CANCEL_RUNNING")
    await _fire_twice(database, stage, job)
    live, queued = sorted(await runs_of(database, job), key=lambda run: run["slot"])
    assert live["cancel_requested_at"] is not None
    assert queued["cancel_requested_at"] is None


async def test_what_is_due_is_fired_while_what_was_missed_is_planned(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A month of seconds can take a thread a while to plan; other jobs must not wait for it."""
    go_on, plan_all = threading.Event(), catch_up.plan_all

    def slow(*given: Any) -> Any:
        assert go_on.wait(60)
        return plan_all(*given)

    monkeypatch.setattr(catch_up, "plan_all", slow)
    missed, canary = [await add_job(database, name=name) for name in ("missed", "canary")]
    await move_timer(database, missed, hour_before(await now(database), 5))
    planning = asyncio.create_task(stage.round())
    try:
        await until(lambda: stage.scheduler._planning is not None)
        await due_now(database, canary)
        stage.scheduler.timers_changed("")
        assert await planning == 0.0
        firing = asyncio.create_task(stage.round())
        await until(lambda: stage.scheduler.fired > 0)
        stage.scheduler.wake()
        await firing
        assert len(await runs_of(database, canary)) == 1
        assert await runs_of(database, missed) == []
    finally:
        go_on.set()
    await stage.round()
    assert len(await runs_of(database, missed)) == 1
    assert await skips_of(database, missed) != []


async def test_what_was_missed_is_not_written_for_a_shard_that_was_lost_meanwhile(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs are planned together; then another node takes the shard of one of them."""
    go_on, plan_all = threading.Event(), catch_up.plan_all

    def slow(*given: Any) -> Any:
        assert go_on.wait(60)
        return plan_all(*given)

    monkeypatch.setattr(catch_up, "plan_all", slow)
    shards = await shard_count(database)
    kept, lost = await add_job(database, name="0"), 0
    for number in range(1, 100):
        lost = await add_job(database, name=str(number))
        if shard_of(lost, shards) != shard_of(kept, shards):
            break
    missed = hour_before(await now(database), 5)
    for job in (kept, lost):
        await move_timer(database, job, missed)
    planning = asyncio.create_task(stage.round())
    try:
        await until(lambda: stage.scheduler._planning is not None)
        del stage.leadership.led[shard_of(lost, shards)]
        stage.scheduler.wake()
        await planning
    finally:
        go_on.set()
    await stage.round()
    assert len(await runs_of(database, kept)) == 1
    assert await runs_of(database, lost) == []
    timers = await fetch(database, "select scheduled_at from sexton.timers where job_id = $1", lost)
    assert [row["scheduled_at"] for row in timers] == [missed]


async def test_what_was_missed_is_planned_not_fired(database: Database, stage: Stage) -> None:
    moment = await now(database)
    once, skip, everything = [
        await add_job(database, name=window, missed_window=window)
        for window in ("RUN_ONCE", "SKIP", "RUN_ALL")
    ]
    first = hour_before(moment, 5)
    for job in (once, skip, everything):
        await move_timer(database, job, first)
    await stage.round()
    due = [hour_before(moment, hours) for hours in range(5, -1, -1)]
    late_now = (moment - due[-1]).total_seconds() > 60
    [run] = await runs_of(database, once)
    assert (run["scheduled_at"], run["missed"]) == (due[-1], late_now)
    assert await skips_of(database, once) == [(first, "coalesced", 5)]
    skipped = 6 if late_now else 5
    assert await skips_of(database, skip) == [(first, "missed", skipped)]
    runs = await runs_of(database, everything)
    assert [run["scheduled_at"] for run in runs] == due
    assert {(run["trigger"], run["priority"]) for run in runs[:5]} == {("catch_up", 3)}
    for job in (once, skip, everything):
        [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", job)
        assert timer["scheduled_at"] == due[-1] + timedelta(hours=1)
    caught = stage.scheduler.caught_up
    assert (caught.jobs, caught.runs, caught.skipped) == (3, 7 if late_now else 5, 5 + skipped)
    # They run one after another, and are spread over time: current ones are not late because of old ones.
    assert [run["slot"] is not None for run in runs] == [True] * 5 + [late_now]
    assert len({run["not_before"] for run in runs[1:5]}) == 4


async def test_what_fires_on_time_is_not_missed_however_short_its_grace(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await add_job(database, missed_window="SKIP", grace_seconds=0)
    at = hour_before(await now(database))
    await move_timer(database, job, at)
    await stage.scheduler._connect()
    await stage.scheduler._horizon.follow(stage.leadership.led, listening=True)
    due = int(at.timestamp()) * 1_000_000
    moment = due
    monkeypatch.setattr(stage.scheduler, "_now", lambda: moment)
    for late, missed in ((900_000, False), (1_100_000, True)):
        moment = due + late
        assert stage.scheduler._is_missed((job, due, due, 1, 0)) is missed


@pytest.mark.parametrize("overlap", list(Overlap))
async def test_what_is_caught_up_runs_one_after_another(
    database: Database, stage: Stage, overlap: Overlap
) -> None:
    job = await add_job(database, missed_window="RUN_ALL", overlap=overlap, grace_seconds=0)
    await move_timer(database, job, hour_before(await now(database), 3))
    await stage.round()
    missed = [run["scheduled_at"] for run in await runs_of(database, job)]
    assert (len(missed), await skips_of(database, job)) == (4, [])
    # The schedule goes on: behind them, or beside them where runs may overlap.
    await execute(database, "update sexton.timers set grace_seconds = null")
    await due_now(database, job)
    stage.scheduler._forget()
    await stage.round()
    current = [run for run in await runs_of(database, job) if run["trigger"] == "schedule"]
    assert [run["slot"] for run in current] == {"ALLOW": [None], "SKIP": []}.get(overlap, [1])
    started = []
    while runs := await fetch(
        database,
        """select id, slot, scheduled_at, trigger, cancel_requested_at, available_at < 'infinity' as may_start
        from sexton.runs where job_id = $1 and slot is not null order by scheduled_at""",
        job,
    ):
        assert [(run["slot"] == 0, run["may_start"]) for run in runs] == [(True, True)] + [(False, False)] * (
            len(runs) - 1
        )
        assert runs[0]["cancel_requested_at"] is None
        started.append(runs[0]["scheduled_at"])
        await database.fetch(
            "recording/cancel_runs", namespace="default", run_ids=[runs[0]["id"]], reason="", now=None
        )
    assert started[:4] == missed
    assert len(started) == (5 if overlap in ("QUEUE_ONE", "CANCEL_RUNNING") else 4)


async def test_workers_are_told_of_the_next_missed_run(database: Database, stage: Stage) -> None:
    """Else each would wait until a worker looks by itself."""
    job = await add_job(database, missed_window="RUN_ALL", grace_seconds=0)
    await move_timer(database, job, hour_before(await now(database), 3))
    await stage.round()
    [live] = [run for run in await runs_of(database, job) if run["slot"] == 0]
    told: list[str] = []
    listening = await asyncpg.connect(database.url)
    try:
        await listening.add_listener("sexton_runs", lambda _c, _p, _ch, payload: told.append(str(payload)))
        await database.fetch(
            "recording/cancel_runs", namespace="default", run_ids=[live["id"]], reason="", now=None
        )
        await listening.execute("select 1")
    finally:
        await listening.close()
    assert told == [str(live["lane"])]


async def test_a_large_catch_up_is_told_and_recorded(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sexton.engine.scheduler.catch_up.LARGE", 2)
    first = hour_before(await now(database), 3)
    for name in ("one", "two", "three"):
        await move_timer(database, await add_job(database, name=name, grace_seconds=0), first)
    await stage.round()
    [line] = [record.getMessage() for record in caplog.records if "caught up" in record.getMessage()]
    assert line.startswith("caught up 3 jobs: 3 missed occurrences run, the last one at ")
    assert line.endswith("; 9 are skipped")
    [event] = await fetch(database, CAUGHT_UP)
    assert json.loads(event["detail"]) == {"jobs": 3, "runs": 3, "skipped": 9}
    assert event["address"] == stage.membership.name
    await stage.round()
    assert len(await fetch(database, CAUGHT_UP)) == 1


async def test_a_second_outage_is_caught_up_behind_the_first(database: Database, stage: Stage) -> None:
    job = await add_job(database, missed_window="RUN_ALL", grace_seconds=0)
    for hours in (6, 2):
        await move_timer(database, job, hour_before(await now(database), hours))
        stage.scheduler._forget()
        await stage.round()
    rows = await fetch(
        database, "select slot from sexton.runs where job_id = $1 order by slot = 0 desc, slot, id", job
    )
    assert len(rows) == 10
    order = await fetch(database, "select id from sexton.runs order by slot = 0 desc, slot")
    assert [row["id"] for row in order] == sorted(row["id"] for row in order)


async def test_the_rate_of_catching_up_is_that_of_the_cluster(database: Database) -> None:
    """Whatever the batches, the nodes, and the edits that account for what was missed."""
    stage = await Stage(database, batch_size=2).lead()
    first = hour_before(await now(database), 2)
    names = [f"job{number}" for number in range(10)]
    for name in names:
        job = await add_job(database, name=name, grace_seconds=0)
        await move_timer(database, job, first)
    for name in names[:3]:
        await pause(Context(database), name)
    await stage.round()
    starts = await fetch(
        database, "select available_at from sexton.runs where trigger = 'catch_up' order by available_at"
    )
    assert len(starts) == 10
    assert {later[0] - earlier[0] >= timedelta(milliseconds=10) for earlier, later in pairwise(starts)} == {
        True
    }
    await Stage.close_all()


async def test_catch_up_seconds_has_a_default_for_the_cluster(database: Database) -> None:
    stage = await Stage(database, catch_up_seconds=7200).lead()
    await stage.scheduler.setup()
    plain = await add_job(database, name="plain", missed_window="RUN_ALL")
    own = await add_job(database, name="own", missed_window="RUN_ALL", catch_up_seconds=86_400)
    first = hour_before(await now(database), 5)
    for job in (plain, own):
        await move_timer(database, job, first)
    await stage.round()
    assert await skips_of(database, plain) == [(first, "outside_catch_up", 4)]
    assert await skips_of(database, own) == []
    await Stage(database).scheduler.setup()
    await move_timer(database, plain, first)
    stage.scheduler._forget()
    await stage.round()
    assert len(await skips_of(database, plain)) == 1
    await Stage.close_all()


async def test_a_grace_of_its_own_is_kept(database: Database, stage: Stage) -> None:
    patient = await add_job(database, name="patient", grace_seconds=7200, missed_window="SKIP")
    strict = await add_job(database, name="strict", grace_seconds=1, missed_window="SKIP")
    at = (await now(database)).replace(microsecond=0) - timedelta(seconds=30)
    for job in (patient, strict):
        await move_timer(database, job, at)
    await stage.round()
    assert [run["trigger"] for run in await runs_of(database, patient)] == ["schedule"]
    assert await runs_of(database, strict) == []
    assert await skips_of(database, strict) == [(at, "missed", 1)]


@pytest.mark.parametrize("overlap", ["ALLOW", "SKIP"])
@pytest.mark.parametrize(
    ("window", "triggers", "reasons"),
    [
        ("RUN_ONCE", ["schedule"], [("coalesced", 6)]),
        ("SKIP", ["schedule"], [("missed", 6)]),
        ("RUN_ALL", ["catch_up"] * 6 + ["schedule"], []),
    ],
)
async def test_after_a_standstill_within_the_grace_the_policy_decides(
    database: Database,
    stage: Stage,
    window: str,
    overlap: str,
    triggers: list[str],
    reasons: list[tuple[str, int]],
) -> None:
    """Seven times of a job are just late, and must not all start at once."""
    job = await add_job(database, missed_window=window, overlap=overlap, grace_seconds=86_400)
    latest = hour_before(await now(database))
    await move_timer(database, job, latest - timedelta(hours=6))
    await stage.round()
    runs = await runs_of(database, job)
    assert [run["trigger"] for run in runs] == triggers
    assert runs[-1]["scheduled_at"] == latest
    assert [(reason, count) for _, reason, count in await skips_of(database, job)] == reasons
    # The first missed one goes at once, and beside them the latest if it may.
    chained = [run for run in runs if run["slot"] is not None and run["slot"] < 0]
    assert len(chained) == (0 if window != "RUN_ALL" else 6 if overlap == "SKIP" else 5)


async def test_after_a_hiccup_each_time_runs(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "STANDSTILL", 2**62)
    job = await add_job(database, grace_seconds=86_400)
    await move_timer(database, job, hour_before(await now(database), 1))
    for _ in range(2):
        await stage.round()
    assert [run["trigger"] for run in await runs_of(database, job)] == ["schedule"] * 2
    assert await skips_of(database, job) == []


async def test_a_job_whose_schedule_cannot_be_read_is_set_aside_alone(
    database: Database, stage: Stage
) -> None:
    broken, sound = (
        await add_job(database, name="broken"),
        await add_job(database, name="sound", schedule="5 * * * *"),
    )
    await execute(database, "update sexton.jobs set schedule = 'nonsense' where id = $1", broken)
    for job in (broken, sound):
        await due_now(database, job)
    await stage.round()
    assert len(await runs_of(database, sound)) == 1
    assert await runs_of(database, broken) == []


async def test_a_lost_answer_means_reading_everything_again(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    await due_now(database, job)
    await stage.round()
    assert stage.scheduler._connection is not None
    stage.scheduler._connection.terminate()
    await due_now(database, job)
    await _reload(stage)
    await stage.round()
    assert len(await runs_of(database, job)) == 2


async def test_a_row_held_by_an_edit_does_not_stop_the_others(database: Database, stage: Stage) -> None:
    held, free = await add_job(database, name="held"), await add_job(database, name="free")
    for job in (held, free):
        await due_now(database, job)
    await stage.scheduler._connect()
    async with database.transaction() as editing:
        await editing.execute("select from sexton.timers where job_id = $1 for update", held)
        firing = asyncio.create_task(stage.round())
        while not await runs_of(database, free):
            await asyncio.sleep(0.01)
    await firing
    await stage.round()
    assert len(await runs_of(database, held)) == 1
    assert len(await runs_of(database, free)) == 1


@pytest.mark.parametrize("missed", [False, True])
async def test_what_is_held_for_long_is_waited_for_once(
    database: Database, stage: Stage, missed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else everything that falls due meanwhile would be late by as long as one waits for a lock."""
    monkeypatch.setattr("sexton.engine.scheduler.scheduler.LOCKED_SECONDS", 1000.0)

    async def due(job: int) -> None:
        if missed:
            await move_timer(database, job, hour_before(await now(database), 2))
        else:
            await due_now(database, job)

    held, free = await add_job(database, name="held"), await add_job(database, name="free")
    await due(held)
    await stage.scheduler._connect()
    waited: list[str] = []
    original = stage.scheduler._send

    async def send(statement: str, **parameters: Any) -> Any:
        row = await original(statement, **parameters)
        waited.extend([statement] if row is None else [])
        return row

    monkeypatch.setattr(stage.scheduler, "_send", send)
    async with database.transaction() as editing:
        await editing.execute("select from sexton.timers where job_id = $1 for update", held)
        await stage.round()
        assert len(waited) == 1
        await due(free)
        stage.scheduler._forget()
        await stage.round()
        assert len(await runs_of(database, free)) == 1
        assert len(waited) == 1
    await stage.round()
    assert len(await runs_of(database, held)) == 1


async def test_a_timer_that_the_wheels_missed_is_found_and_fired(database: Database, stage: Stage) -> None:
    """As if its notification had been lost, or its transaction had committed after the refill."""
    await stage.round()
    job = await add_job(database)
    await due_now(database, job)
    stage.scheduler._horizon._overdue_at = 0.0  # as after the next few seconds
    await move_timer(database, job, (await now(database)).replace(microsecond=0) - timedelta(seconds=3))
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_a_notification_reads_the_job_it_names(database: Database, stage: Stage) -> None:
    await stage.round()
    told: list[str] = []
    listening = await asyncpg.connect(database.url)
    try:
        await listening.add_listener("sexton_timers", lambda _c, _p, _ch, payload: told.append(str(payload)))
        job = await add_job(database, schedule="every 10s")
        await listening.execute("select 1")
    finally:
        await listening.close()
    [payload] = told
    assert payload.endswith(f":{job}")
    stage.scheduler.timers_changed(payload)
    await stage.round()
    assert stage.scheduler.entries == 1


async def test_nothing_is_lost_when_a_firing_fails(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    await due_now(database, job)
    await execute(database, "alter table sexton.runs add constraint full_disk check (job_id < 0) not valid")
    with pytest.raises(asyncpg.CheckViolationError):
        await stage.round()
    await execute(database, "alter table sexton.runs drop constraint full_disk")
    await stage.round()
    assert len(await runs_of(database, job)) == 1


async def test_a_schedule_that_changed_between_two_reads_is_not_mixed_up(
    database: Database, stage: Stage
) -> None:
    job = await add_job(database, schedule="0 * * * *")
    other = await add_job(database, name="other", schedule="0 * * * *")
    for each in (job, other):
        await due_now(database, each)
    # The job was edited after its timer was read: its row has the new schedule and key already.
    await execute(
        database,
        "update sexton.jobs set schedule = '5 5 5 5 *', timing_key = gen_random_uuid() where id = $1",
        job,
    )
    await stage.round()
    await _reload(stage)
    await execute(database, "delete from sexton.timers where job_id = $1", job)
    await stage.round()
    [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", other)
    assert timer["scheduled_at"].minute == 0
    assert len(await runs_of(database, other)) == 1


async def test_one_offs_do_not_pile_up_in_memory(database: Database, stage: Stage) -> None:
    soon = (await now(database)).replace(microsecond=0) + timedelta(hours=1)
    for number in range(5):
        job = await add_job(
            database, name=f"once {number}", schedule=(soon + timedelta(seconds=number)).isoformat()
        )
        await due_now(database, job)
    await stage.round()
    assert stage.scheduler.fired == 5
    assert len(stage.scheduler._horizon.timings) == 1


async def test_intervals_of_one_length_share_their_timing(database: Database, stage: Stage) -> None:
    jobs = []
    for number in range(3):
        anchor = f"2026-01-01T00:00:{number:02}Z"
        jobs.append(await add_job(database, name=f"every {number}", schedule="every 15m", anchor=anchor))
        await due_now(database, jobs[-1])
    before = await fetch(database, "select job_id, scheduled_at from sexton.timers order by job_id")
    await stage.round()
    after = await fetch(database, "select job_id, scheduled_at from sexton.timers order by job_id")
    assert [(job, at + timedelta(minutes=15)) for job, at in before] == [tuple(row) for row in after]
    assert len(stage.scheduler._horizon.timings) == 1


async def test_a_round_ends_though_more_is_due(
    database: Database, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a constant load would keep the scheduler from noticing changes."""
    monkeypatch.setattr("sexton.engine.scheduler.scheduler.ROUND_SECONDS", 0.0)
    stage.scheduler._settings = stage.scheduler._horizon._settings = Settings(batch_size=1)
    jobs = [await add_job(database, name=f"job {number}") for number in range(3)]
    for job in jobs:
        await due_now(database, job)
    assert await stage.round() == 0
    assert stage.scheduler.fired == 0
    monkeypatch.undo()
    await stage.round()
    assert stage.scheduler.fired == 3
    assert [len(await runs_of(database, job)) for job in jobs] == [1, 1, 1]


async def test_paused_jobs_do_not_fire(database: Database, stage: Stage) -> None:
    job = await add_job(database)
    await execute(database, "update sexton.timers set due_at = 'infinity' where job_id = $1", job)
    await stage.round()
    assert stage.scheduler.entries == 0


async def test_firing_uses_the_index(database: Database) -> None:
    """However many timers there are, a batch looks up its own."""
    await execute(
        database,
        """insert into sexton.timers
            (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
        select n, n % 64, 1, gen_random_uuid(), now(), now(), 1, 2 from generate_series(1, 20000) n""",
    )
    await execute(database, "analyze sexton.timers")
    rows = await fetch(
        database,
        """explain select job_id from sexton.timers
        where shard = any('{1}'::smallint[]) and due_at > '2000-01-01' and due_at <= now()""",
    )
    assert "timers_due" in "\n".join(row[0] for row in rows)


async def test_a_firing_does_not_look_at_the_dead_versions_of_its_timer(
    database: Database, stage: Stage
) -> None:
    """They cannot be removed while any transaction is open that is older than they are."""
    job = await add_job(database)
    await due_now(database, job)
    await stage.scheduler._connect()
    idle, firing = [await asyncpg.connect(database.url, server_settings=BY_KEY) for _ in range(2)]
    try:
        async with idle.transaction():
            await idle.execute("select pg_current_xact_id()")
            for _ in range(100):
                await execute(database, "update sexton.timers set due_at = due_at - interval '1 ms'")
            [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", job)
            times = {"scheduled": timer["scheduled_at"], "due": timer["due_at"]}
            parameters = _firing(stage, job, following=timer["scheduled_at"] + timedelta(hours=1), **times)
            statement, arguments = database.prepared("firing/fire", **parameters)
            plan = await explain(firing, statement, arguments, undone=False)
    finally:
        await firing.close()
        await idle.close()
    assert len(await runs_of(database, job)) == 1
    [look] = [
        node for node in plan if node.get("Relation Name") == "timers" and node["Node Type"] == "Index Scan"
    ]
    assert look["Shared Hit Blocks"] + look["Shared Read Blocks"] <= 5, look


def _firing(
    stage: Stage, job: int, *, scheduled: datetime, due: datetime, following: datetime
) -> dict[str, Any]:
    """What the statement takes to fire one job."""
    shards = sorted(stage.leadership.led)
    return {
        "jobs": f"{{{job}}}",
        "groups": "{1}",
        "revisions": [1],
        "scheduled": [scheduled],
        "due": [due],
        "next_scheduled": [following],
        "next_due": [following],
        "shards": shards,
        "epochs": [stage.leadership.led[shard] for shard in shards],
        "now": None,
    }


async def _reload(stage: Stage) -> None:
    stage.scheduler._forget()


async def _fire_twice(database: Database, stage: Stage, job: int) -> None:
    await due_now(database, job)
    await stage.round()
    await _fire_again(database, stage, job)


async def _fire_again(database: Database, stage: Stage, job: int) -> None:
    await move_timer(database, job, (await now(database)).replace(microsecond=0))
    await _reload(stage)
    await stage.round()


async def _pass(stage: Stage, seconds: float) -> None:
    """Let the scheduler believe that time has passed, without waiting for it."""
    said = await now(stage.database)
    stage.membership.time.offset = said.timestamp() + seconds - asyncio.get_running_loop().time()
    await execute(
        stage.database,
        """update sexton.timers set due_at = due_at - $1 * interval '1 second',
        scheduled_at = scheduled_at - $1 * interval '1 second' where due_at < now() + interval '1 minute'""",
        seconds,
    )


@pytest.mark.parametrize("schedule", ["every 1h", "59 59 * * * *", "FREQ=HOURLY;BYMINUTE=0"])
@pytest.mark.parametrize("overlap", ["ALLOW", "SKIP"])
async def test_a_run_that_was_moved_fires_there_and_the_schedule_goes_on(
    database: Database, stage: Stage, schedule: str, overlap: str
) -> None:
    there = (await now(database)).replace(microsecond=0) - timedelta(seconds=1)
    tomorrow = (there + timedelta(days=1)).isoformat()
    others = [
        await add_job(database, name=f"other-{number}", schedule=schedule, starts_at=tomorrow)
        for number in range(3)
    ]
    context = Context(database, now=there - timedelta(seconds=1))
    made = await create(context, read_spec({"name": "moved", "schedule": schedule, "overlap": overlap}))
    origin = made.next_run_at
    assert origin is not None
    moved = await reschedule(context, "moved", there)
    await stage.round()
    number = decode_id("j", moved.job_id)
    assert number is not None
    [run] = await runs_of(database, number)
    assert (run["scheduled_at"], run["due_at"], run["trigger"]) == (there, there, "schedule")
    [timer] = await fetch(database, "select * from sexton.timers where job_id = $1", number)
    assert timer["scheduled_at"] == origin + timedelta(hours=1)
    assert [await runs_of(database, other) for other in others] == [[], [], []]
