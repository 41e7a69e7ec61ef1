"""`sexton.testing`: time that is moved, everything else as it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import asyncpg
import pytest

from sexton import Retry, Run, Sexton, Snooze
from sexton.jobs.queues import set_limits
from sexton.jobs.spec import Limits
from sexton.model import Overlap, Wait
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing.manual import ManualClock
from sexton.testing.recorder import Recorder

MONDAY = datetime(2026, 10, 26, tzinfo=UTC)
Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Engine]]


@pytest.fixture
def app() -> Sexton:
    return Sexton(name="shop")


async def test_a_week_in_new_york_across_the_end_of_summer_time(app: Sexton, sexton_engine: Start) -> None:
    @app.job("0 9 * * 1", timezone="America/New_York", payload={"n": 1})
    async def weekly(run: Run) -> int:
        return int(run.payload["n"]) + 1

    async with sexton_engine(app, at=MONDAY) as engine:
        ended = await engine.advance(days=14)
        assert engine.runs == ended
        assert [(run.status, run.result) for run in ended] == [("success", 2)] * 2
        assert [run.scheduled_at.hour for run in ended] == [13, 14]
        assert engine.now == MONDAY + timedelta(days=14)
        assert all(run.started_at and 0 <= run.late_seconds < 60 for run in ended)  # type: ignore[operator]


async def test_retries_come_when_they_are_due_and_then_the_run_is_dead(
    app: Sexton, sexton_engine: Start
) -> None:
    flaky = Recorder([ValueError("once"), Retry(after=7), OSError("thrice"), OSError("the last")])
    app.job("@hourly", name="flaky", max_runs=1)(flaky)
    async with sexton_engine(app, at=MONDAY) as engine:
        assert await engine.advance(hours=1) == []
        assert [run.status for run in await engine.live()] == ["failed"]
        [run] = await engine.advance(hours=1)
        assert (run.status, run.reason) == ("dead", "exhausted")
        assert [call.attempt for call in flaky.calls] == [1, 2, 3, 4]
        assert len({call.idempotency_key for call in flaky.calls}) == 1
        assert run.finished_at is not None
        # A minute, seven seconds, four minutes.
        assert run.finished_at - run.scheduled_at - timedelta(seconds=307) < timedelta(seconds=30)


async def test_an_outage_leaves_one_run_and_an_account_of_the_others(
    app: Sexton, sexton_engine: Start
) -> None:
    report = Recorder()
    app.job("@hourly", name="report")(report)
    async with sexton_engine(app, at=MONDAY) as engine:
        await engine.outage(hours=5, minutes=30)
        [run] = engine.runs
        assert (run.trigger, run.missed, run.scheduled_at) == ("catch_up", True, MONDAY + timedelta(hours=5))
        skipped = [run for run in await app.history("report", skipped=True) if run.status == "skipped"]
        assert [(each.reason, each.occurrences) for each in skipped] == [("coalesced", 4)]


@pytest.mark.parametrize("overlap", list(Overlap))
async def test_every_missed_time_runs_before_the_schedule_goes_on(
    app: Sexton, sexton_engine: Start, overlap: Overlap
) -> None:
    calls = Recorder()
    app.job("@hourly", name="report", missed_window="RUN_ALL", overlap=overlap)(calls)
    async with sexton_engine(app, at=MONDAY) as engine:
        await engine.outage(hours=5, minutes=30)
        await engine.advance(hours=1)
        assert [call.scheduled_at for call in calls.calls] == [
            MONDAY + timedelta(hours=hour) for hour in range(1, 7)
        ]
        assert await app.history("report", skipped=True) == await app.history("report")


async def test_commands_of_the_application_live_in_the_same_time(app: Sexton, sexton_engine: Start) -> None:
    mail = Recorder([Snooze(30)])
    app.handler("mail")(mail)

    @app.job("0 12 * * *")
    async def order(run: Run) -> None:
        await app.schedule("mail", at=run.scheduled_at + timedelta(hours=2), payload={"to": "ada"})

    async with sexton_engine(app, at=MONDAY) as engine:
        await engine.advance(hours=14)
        assert mail.payloads == [{"to": "ada"}]
        await app.pause(order, until=MONDAY + timedelta(days=2))
        await engine.advance(days=3)
        assert len(mail.calls) == 4  # on Monday twice, as it snoozed; not on Tuesday
        assert [run.job_name for run in engine.runs].count("order") == 3
        job = await app.get(order)
        assert (job.status, job.next_run_at) == ("active", MONDAY + timedelta(days=4, hours=12))


async def test_a_run_without_a_handler_waits_and_expires(app: Sexton, sexton_engine: Start) -> None:
    async with sexton_engine(app, at=MONDAY) as engine:
        await app.schedule("nobody", at=MONDAY + timedelta(minutes=1), expires_seconds=600)
        await engine.advance(minutes=5)
        assert [run.status for run in await engine.live()] == ["pending"]
        assert [run.status for run in await engine.advance(minutes=10)] == ["expired"]


async def test_a_run_that_no_report_comes_for_times_out_when_it_is_due(
    app: Sexton, sexton_engine: Start
) -> None:
    app.job("@hourly", name="sent", max_runs=1, max_retries=0)(Recorder([Wait(90)]))
    async with sexton_engine(app, at=MONDAY) as engine:
        [run] = await engine.advance(hours=2)
    assert (run.status, run.finished_at) == ("dead", MONDAY + timedelta(hours=1, seconds=90))


async def test_a_plain_function_runs_in_a_thread(app: Sexton, sexton_engine: Start) -> None:
    app.job("@daily", name="plain")(lambda run: run.attempt)
    async with sexton_engine(app, at=MONDAY) as engine:
        assert [run.result for run in await engine.advance(days=1)] == [1]


async def test_what_never_ends_is_noticed(app: Sexton, sexton_engine: Start) -> None:
    app.job("@daily", name="sleepy")(Recorder(Snooze(0) for _ in range(5000)))
    async with sexton_engine(app, at=MONDAY) as engine:
        with pytest.raises(RuntimeError, match="rounds more is due"):
            await engine.advance(days=1)


async def test_the_application_has_its_settings_back(sexton_app: Sexton, sexton_engine: Start) -> None:
    before = sexton_app.settings
    async with sexton_engine(sexton_app, at=MONDAY):
        assert sexton_app.settings.database_url != before.database_url
    assert sexton_app.settings is before
    assert await sexton_app.list() == []


async def test_the_end_is_quiet(app: Sexton, sexton_engine: Start, caplog: pytest.LogCaptureFixture) -> None:
    app.job("@daily", name="daily")(Recorder())
    async with sexton_engine(app, at=MONDAY) as engine:
        await engine.advance(days=1)
    assert caplog.messages == []


async def test_time_only_goes_forward(app: Sexton, sexton_engine: Start) -> None:
    async with sexton_engine(app, at=MONDAY) as engine:
        with pytest.raises(ValueError, match="only goes forward"):
            await engine.advance(to=MONDAY - timedelta(seconds=1))
    with pytest.raises(ValueError, match="no time zone"):
        ManualClock(datetime(2026, 1, 1))


async def test_without_a_row_a_scratch_database_has_the_true_time(sexton_database: str) -> None:
    connection = await asyncpg.connect(sexton_database)
    try:
        assert await connection.fetchval("select clock_timestamp() - pg_catalog.clock_timestamp() < '1s'")
    finally:
        await connection.close()


async def test_a_rate_limit_lets_them_go_one_by_one(app: Sexton, sexton_engine: Start) -> None:
    starts: list[datetime] = []

    @app.job("@daily", queue="slow")
    async def daily(run: Run) -> None:
        starts.append(engine.now)

    async with sexton_engine(app, at=MONDAY) as engine:
        await set_limits(Context(engine.database), "slow", Limits(rate=0.5, burst=2))
        for _ in range(4):
            await app.run_now(daily)
        await engine.advance(seconds=60)
        assert [(at - MONDAY).total_seconds() for at in starts] == [0, 0, 2, 4]
