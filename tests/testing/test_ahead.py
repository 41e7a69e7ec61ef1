"""Going ahead changes nothing but the time it takes: random applications, driven once with it and once
without, leave the same calls and the same tables."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
import msgspec
import pytest

from sexton import Cancel, Retry, Run, RunEvent, Sexton, Snooze
from sexton.errors import Conflict
from sexton.jobs.queues import set_limits
from sexton.jobs.spec import Limits
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing.ahead import Ahead
from sexton.testing.recorder import Recorder

START = datetime(2026, 10, 31, 22, 0, tzinfo=UTC)  # the clocks of New York go back eight hours later
Start: TypeAlias = Callable[..., AbstractAsyncContextManager[Engine]]

SCHEDULES: list[dict[str, Any]] = [
    {"schedule": "* * * * *"},
    {"schedule": "*/7 * * * *"},
    {"schedule": "every 10m"},
    {"schedule": "every 90s"},
    {"schedule": "0,30 * * * *", "timezone": "America/New_York"},
    {"schedule": "30 1 * * *", "timezone": "America/New_York", "fold": "both"},
    {"schedule": "FREQ=HOURLY;INTERVAL=2;BYMINUTE=0,15"},
    {"schedule": "*/5 * * * *", "ends_at": "2026-11-01T01:02:00Z"},
]
FIELDS: list[dict[str, Any]] = [
    {},
    {},
    {"overlap": "SKIP"},
    {"overlap": "QUEUE_ONE"},
    {"overlap": "CANCEL_RUNNING"},
    {"max_runs": 17},
    {"jitter_seconds": 200},
    {"expires_seconds": 400},
    {"priority": 0},
    {"queue": "slow"},
    {"concurrency_key": "{{job_id}}"},
    {"missed_window": "RUN_ALL", "max_missed": 4},
    {"missed_window": "SKIP", "grace_seconds": 0},
    {"idempotency_key_template": "k-{{scheduled_at}}"},
    {"payload": {"a": [1, "zwei"]}},
]


def without_ids(column: str) -> str:
    return f"regexp_replace({column}, 'r_[0-9a-z]+', 'r', 'g')"


# Everything that tells what happened, without what differs from one process to the next. `late`: what was
# recorded as its start and end is at its time, and never before.
TABLES = {
    "history": f"""
        select recorded_at, j.name, h.scheduled_at, h.status, h.reason, h.trigger, h.missed, h.revision,
            attempt, claim, fired_at, until_at, occurrences, result::text,
            {without_ids('error')}, {without_ids('idempotency_key')},
            h.payload::text, h.parent_run is not null as child,
            started_at < h.fired_at or finished_at < started_at as early,
            extract(epoch from finished_at - recorded_at) < 60 as prompt
        from sexton.history h join sexton.jobs j on j.id = h.job_id
        order by recorded_at, j.name, h.scheduled_at, h.status, h.trigger, attempt""",
    "runs": f"""
        select j.name, r.state, r.lane, r.priority, r.available_at, r.scheduled_at, r.due_at, r.fired_at,
            r.expires_at, r.revision, r.trigger, r.missed, r.slot, r.attempt, r.crashes, r.claim,
            r.claimed_at, r.deadline_at, r.cancel_requested_at, r.concurrency_key, r.limited_by,
            r.idempotency_key, r.payload::text, {without_ids('r.error')},
            r.progress::text, r.node is not null as held
        from sexton.runs r join sexton.jobs j on j.id = r.job_id
        order by j.name, r.scheduled_at, r.trigger""",
    "attempts": f"""
        select a.recorded_at, a.attempt, a.outcome, {without_ids('error')},
            started_at > recorded_at + interval '1 minute' as late
        from sexton.attempts a order by a.recorded_at, a.outcome, 4, a.attempt""",
    "run_logs": """
        select attempt, date_trunc('minute', at) as at, level, message from sexton.run_logs
        order by at, message, attempt""",
    "timers": """
        select j.name, t.revision, t.scheduled_at, t.due_at, t.fired_count, t.max_runs from sexton.timers t
        join sexton.jobs j on j.id = t.job_id order by j.name""",
    "jobs": """
        select name, status, revision, created_at, updated_at, completed_at, deleted_at, paused_until
        from sexton.jobs order by name""",
    "dead": f"""
        select j.name, died_at, reason, {without_ids('error')}, d.scheduled_at, d.attempt
        from sexton.dead d
        join sexton.jobs j on j.id = d.job_id order by j.name, d.scheduled_at""",
}  # fmt: skip


@dataclass
class Seen:
    """What one way of driving an application has shown."""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)
    tables: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)


@pytest.mark.parametrize("seed", [6, 11, 18, 20])
async def test_both_ways_are_alike(seed: int, sexton_engine: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = await drive(seed, sexton_engine)
    with monkeypatch.context() as patch:

        async def one_by_one(*_: object) -> bool:
            return False

        patch.setattr(Ahead, "run", one_by_one)
        slow = await drive(seed, sexton_engine)
    assert len(slow.calls) > 100
    assert by_instant(ahead.calls) == by_instant(slow.calls)
    assert ahead.told == slow.told
    for table in TABLES:
        assert ahead.tables[table] == slow.tables[table], table


def by_instant(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The order among runs of one lane that are due at the same instant is not promised."""
    return sorted(calls, key=lambda call: (call[0], str(call[1:])))


async def drive(seed: int, start: Start) -> Seen:
    """A random application, and half a random day of it. Everything follows from the seed and from what has
    happened before, so that a difference has a cause."""
    chance, seen = random.Random(seed), Seen()
    app = Sexton(name="random")
    jobs = {
        f"job{number}": {**chance.choice(SCHEDULES), **chance.choice(FIELDS), **chance.choice(FIELDS)}
        for number in range(chance.randrange(1, 7))
    }
    tries: Counter[str] = Counter()
    # How often a handler does something that others can notice.
    noise = chance.choice([0.0, 0.002, 0.02, 0.3])

    # Runs of one instant are under way together; here each acts alone, so that nothing depends on the pace.
    alone = asyncio.Lock()

    async def handle(run: Run) -> Any:
        async with alone:
            return await act(run)

    async def act(run: Run) -> Any:
        # The same for the same attempt, whatever the order. Those that snooze are not counted as attempts.
        tries[run.run_id] += 1
        own = random.Random(f"{seed} {run.job_name} {run.scheduled_at} {tries[run.run_id]}")
        lane = app.jobs[run.job_name].queue if run.job_name in app.jobs else "once"
        seen.calls.append(
            (engine.now, run.scheduled_at, run.attempt, run.trigger, run.missed,
             run.idempotency_key.partition("r_")[0], run.payload, run._attempt.revision,
             run.late_seconds < 60, lane, run.job_name)
        )  # fmt: skip
        if own.random() < 0.2:
            await asyncio.sleep(0)
        if own.random() < 0.05:
            await run.log(f"{run.job_name} says {own.random()}")
            print(f"{run.job_name} prints {own.random()}")
            await run.progress(0.5)
        if own.random() >= noise:
            return None if own.random() < 0.5 else {"n": own.random()}
        other = own.choice(list(jobs))
        match own.randrange(12):
            case 0:
                raise ValueError(f"{own.randrange(3)} is wrong")
            case 1:
                return Retry(after=own.choice([0, 61, 600]))
            case 2:
                return Snooze(own.choice([1, 90, 3600]))
            case 3:
                return Cancel("no more")
            case 4 | 5:
                await app.schedule(
                    "once",
                    at=engine.now + timedelta(seconds=own.choice([1, 60, 800])),
                    payload=[run.job_name],
                    name=f"once-{run.job_name}-{run.scheduled_at:%d%H%M%S}-{run.attempt}-{run.trigger}",
                    max_retries=0,
                )  # fmt: skip
            case 6:
                await app.pause(other, until=engine.now + timedelta(minutes=own.choice([3, 50])))
            case 7:
                await app.edit(other, payload=own.random())
            case 8 if run.trigger != "manual":
                await app.run_now(other)
            case 9:
                told = [
                    (each.status, each.scheduled_at, each.finished_at is None)
                    for each in await app.history(other)
                ]
                seen.told.append((run.job_name, engine.now, told))
                seen.told.append(sorted((each.job_name, each.status) for each in await engine.live()))
            case 10:
                async with run.transaction(result="kept") as connection:
                    seen.told.append(await connection.fetchval("select clock_timestamp()"))
            case 11:
                seen.told.append(await engine.database.fetchval("reading/count_timers"))
        return None

    async def hear(event: RunEvent) -> None:
        done = await app.history(event.job_id, limit=1)
        seen.told.append((event.name, event.job_name, event.scheduled_at, engine.now, len(done)))

    if seed % 3 == 0:
        app.on("failed")(hear)
    if seed % 9 == 0:
        app.on("succeeded")(hear)
    app.handler("once")(handle)
    for name, fields in jobs.items():
        app.job(name=name, max_retries=2, retry_jitter="none", **fields)(handle)
    async with start(app, at=START) as engine:
        await set_limits(Context(engine.database), "slow", Limits(rate=0.05, burst=2))
        for _ in range(4):
            match chance.randrange(6):
                case 0:
                    await engine.outage(minutes=chance.randrange(1, 100))
                case 1:
                    with suppress(Conflict):  # it is completed
                        await app.pause(chance.choice(list(jobs)))
                case 2:
                    for job in await app.list(status="paused"):
                        await app.resume(job.name)
                case _:
                    ended = await engine.advance(minutes=chance.randrange(1, 200))
                    seen.told.append(sorted((run.job_name, run.scheduled_at, run.status) for run in ended))
        seen.told.append(len(await engine.advance(to=START + timedelta(hours=12))))
        connection = await asyncpg.connect(engine.database.url)
        try:
            for table, text in TABLES.items():
                seen.tables[table] = [tuple(row) for row in await connection.fetch(text)]
        finally:
            await connection.close()
    return seen


async def test_a_day_of_a_minutely_job_takes_few_statements(
    sexton_engine: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, calls, fetched = Sexton(name="shop"), Recorder(), Counter[str]()
    app.job("* * * * *", name="minutely")(calls)
    fetch = Database.fetch

    async def counting(self: Database, statement: str, /, **parameters: Any) -> list[asyncpg.Record]:
        fetched[statement] += 1
        return await fetch(self, statement, **parameters)

    monkeypatch.setattr(Database, "fetch", counting)
    async with sexton_engine(app, at=START) as engine:
        fetched.clear()
        ended = await engine.advance(days=1)
    assert [run.scheduled_at for run in ended] == [call.scheduled_at for call in calls.calls]
    assert len(ended) == 24 * 60
    assert {run.started_at.replace(microsecond=0) - run.scheduled_at for run in ended} <= {  # type: ignore[union-attr]
        timedelta(0),
        timedelta(seconds=1),
    }
    assert fetched.total() < 200


async def test_a_result_that_postgres_refuses_is_told_of_and_keeps_no_other_back(
    sexton_engine: Start,
) -> None:
    app = Sexton(name="shop")

    @app.job("* * * * *")
    async def deep(run: Run) -> Any:
        # Valid JSON, but deeper than PostgreSQL's stack.
        return msgspec.Raw(b"[" * 20_000 + b"]" * 20_000) if run.scheduled_at.minute == 5 else 1

    async with sexton_engine(app, at=START) as engine:
        ended = await engine.advance(minutes=10)
    assert [run.status for run in ended] == ["success"] * 10
    assert [run.result for run in ended[:4] + ended[5:]] == [1] * 9
    assert "cannot be kept" in ended[4].result["note"]


async def test_what_another_program_changes_is_noticed(sexton_engine: Start) -> None:
    """It does not go through the commands of the application, and comes too late to be followed."""
    app = Sexton(name="shop")

    @app.job("* * * * *")
    async def meddle(run: Run) -> None:
        if run.scheduled_at.minute == 5:
            connection = await asyncpg.connect(engine.database.url)
            await connection.execute("update sexton.timers set revision = revision + 1")
            await connection.close()

    async with sexton_engine(app, at=START) as engine:
        with pytest.raises(RuntimeError, match="another program changed a job"):
            await engine.advance(minutes=10)
