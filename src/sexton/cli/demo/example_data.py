"""The example data of `sexton demo`: jobs with an hour of history, dead letters, a calendar of content, and
notifications with a campaign that is going out.

Jobs and plans are made by the commands that users have. Only the hour that is over is written straight into
the tables, with the occurrences that the schedules really had.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from sexton.cli.demo.example_content import plan_content
from sexton.cli.demo.example_messages import READERS, fill_notifications
from sexton.jobs.create import create
from sexton.jobs.planning import schedule_of
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import pause
from sexton.model import decode_id
from sexton.postgres.database import by_column
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context, command

HOUR = timedelta(hours=1)
# Content has a longer past.
WEEK = timedelta(days=7)
# Jobs that have not run in that hour: a paused one, and one for a single time.
LATER = 2
DIED = "ConnectionError: ledger.internal:8443 refused the connection"
COLUMNS = (
    "recorded", "runs", "jobs", "scheduled", "statuses", "reasons", "attempts", "fired", "started",
    "finished", "errors",
)  # fmt: skip
# name, schedule, zone, team, queue, description, seconds
USUAL = (
    ("fetch-exchange-rates", "every 30s", "UTC", "treasury", "default", "Rates of 32 currencies.", 0.3),
    ("sync-inventory", "* * * * *", "UTC", "shop", "default", "Stock levels from the warehouses.", 0.8),
    ("charge-subscriptions", "*/2 * * * *", "Europe/Berlin", "billing", "payments", "Renewals.", 1.2),
    ("send-order-mails", "*/5 * * * *", "Europe/Berlin", "shop", "mail", "Order confirmations.", 0.6),
    ("refresh-search-index", "*/10 * * * *", "UTC", "search", "default", "Products that changed.", 2.5),
    ("resize-product-images", "*/15 * * * *", "UTC", "shop", "images", "Thumbnails of new uploads.", 4.0),
    ("hourly-sales-figures", "0 * * * *", "America/New_York", "analytics", "reports", "For dashboards.", 3.0),
    ("rotate-api-tokens", "20 * * * *", "UTC", "platform", "default", "Tokens of internal services.", 0.2),
    ("nightly-backup", "30 2 * * *", "Europe/Berlin", "platform", "default", "Database and uploads.", 40.0),
    ("weekly-newsletter", "0 9 * * 4", "Europe/Berlin", "marketing", "mail", "To 48,000 readers.", 20.0),
    ("monthly-invoices", "FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=6;BYMINUTE=0", "Europe/Berlin", "billing",
     "payments", "One for each customer.", 30.0),
    ("close-the-books", "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0", "Europe/London", "billing", "reports",
     "The last Friday of the month.", 15.0),
    ("tokyo-market-open", "0 9 * * 1-5", "Asia/Tokyo", "treasury", "default", "Opening prices.", 1.0),
)  # fmt: skip


async def fill(context: Context, *, readers: int = READERS) -> int:
    """Make all of it, once: how many jobs there are now. A directory that has jobs is left as it is."""
    async with context.database.connection() as connection:
        if await connection.fetchval(context.database.sql("select exists (select from sexton.jobs)")):
            return 0
        now: datetime = await context.database.time(connection)
    made = [*await _make_usual(context), *await _make_troubled(context, now)]
    await _write_hour(context, made, now)
    await make_partitions(context.database, now=now - WEEK, days=WEEK.days)
    await plan_content(context, now)
    await fill_notifications(context, now, readers)
    return len(made) + LATER


async def _make_usual(context: Context) -> list[str]:
    made = []
    for name, schedule, zone, team, queue, description, seconds in USUAL:
        handler = "flaky" if name == "charge-subscriptions" else "work"
        made.append(
            await _make(
                context,
                name=name,
                schedule=schedule,
                timezone=zone if not schedule.startswith("every") else None,
                target={"handler": handler},
                payload={"seconds": seconds, "items": max(5, int(seconds * 40))},
                queue=queue,
                labels={"team": team},
                owner=f"{team}@example.com",
                description=description,
                max_retries=3,
                retry_base_seconds=5,
                overlap="SKIP" if seconds > 2 else "ALLOW",
            )
        )
    return made


async def _make_troubled(context: Context, now: datetime) -> list[str]:
    """One that dies, one that is paused, one that no worker can serve, and one for a single time."""
    billing: dict[str, Any] = {"labels": {"team": "billing"}, "owner": "billing@example.com"}
    died = await _make(
        context,
        name="export-payments",
        schedule="*/6 * * * *",
        target={"handler": "unreachable"},
        queue="payments",
        payload={"ledger": "eu-west"},
        description="To the ledger of the accountants.",
        max_retries=1,
        retry_base_seconds=1,
        **billing,
    )
    await _make(
        context,
        name="remind-of-open-invoices",
        schedule="0 8 * * 1-5",
        timezone="Europe/Berlin",
        target={"handler": "work"},
        description="Paused until the texts are approved.",
        queue="mail",
        **billing,
    )
    await pause(context, "remind-of-open-invoices", reason="the legal team reviews the texts")
    at = (now + timedelta(days=2)).replace(hour=7, minute=30, second=0, microsecond=0)
    await _make(
        context,
        name="migrate-price-tables",
        schedule=at.isoformat(),
        target={"handler": "work"},
        labels={"team": "platform"},
        owner="platform@example.com",
        description="Once, before the shop opens.",
    )
    return [died]


async def _make(context: Context, **fields: Any) -> str:
    return (await create(context, msgspec.convert(fields, JobSpec))).job_id


@command
async def _write_hour(context: Context, made: Sequence[str], now: datetime) -> None:
    """What the jobs did in the last hour, as their schedules say."""
    chance = random.Random(7390)
    numbers = [number for job in made if (number := decode_id("j", job)) is not None]
    connection, sql = context.open, context.database.sql
    await connection.execute(
        sql("update sexton.jobs set created_at = created_at - interval '40 days' where id = any($1)"), numbers
    )
    rows: list[tuple[Any, ...]] = []
    for row in await context.fetch("firing/load_schedules", jobs=numbers):
        times = schedule_of(dict(row)).between(now - HOUR, now - timedelta(seconds=20))
        name = row["name"]
        ids = await context.fetchval("recording/next_run_ids", count=200)
        rows += _ends(name, row["id"], list(times)[-120:], iter(ids), chance)
    await connection.execute(sql(HISTORY), *by_column(COLUMNS, rows).values())
    await connection.execute(sql(DEAD), DIED)
    await connection.execute(sql(ATTEMPTS), DIED)


HISTORY = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, revision, attempt, claim, fired_at,
     started_at, finished_at, error)
select row.recorded, row.run, row.job, row.scheduled, row.status, row.reason, 'schedule', 1, row.attempt, 1,
    row.fired, row.started, row.finished, row.error
from unnest($1::timestamptz[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[],
    $7::smallint[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::text[])
    as row (recorded, run, job, scheduled, status, reason, attempt, fired, started, finished, error)
"""
DEAD = """
insert into sexton.dead
    (run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision,
     trigger, missed, attempt, next_delivery_at)
select ended.run_id, ended.job_id, ended.recorded_at, 'exhausted', ended.error, $1, timer.lane, 2,
    ended.scheduled_at, ended.scheduled_at, 1, 'schedule', false, 2, null
from sexton.history as ended
join sexton.timers as timer on timer.job_id = ended.job_id
where ended.status = 'dead'
"""
ATTEMPTS = """
insert into sexton.attempts (recorded_at, run_id, attempt, started_at, finished_at, outcome, error)
select ended.recorded_at, ended.run_id, tries.number,
    ended.started_at + (tries.number - 2) * interval '1 second',
    ended.finished_at + (tries.number - 2) * interval '1 second', 'failed', $1
from sexton.history as ended
cross join generate_series(1, 2) as tries (number)
where ended.status = 'dead'
"""


def _ends(
    name: str, job: int, times: Sequence[datetime], ids: Iterator[int], chance: random.Random
) -> Iterator[tuple[Any, ...]]:
    usual = next((seconds for each, *_, seconds in USUAL if each == name), 0.3)
    for at in times:
        late = chance.lognormvariate(-4.2, 0.6)
        if chance.random() < 0.02:
            late += chance.uniform(1.0, 6.0)
        fired = at + timedelta(seconds=late / 2)
        started = at + timedelta(seconds=late)
        finished = started + timedelta(seconds=usual * chance.lognormvariate(0, 0.4))
        if name == "export-payments":
            yield finished, next(ids), job, at, "dead", "exhausted", 2, fired, started, finished, DIED
        elif usual > 2 and chance.random() < 0.1:
            yield fired, None, job, at, "skipped", "overlap", None, None, None, None, None
        else:
            attempt = 2 if name == "charge-subscriptions" and chance.random() < 0.25 else 1
            yield finished, next(ids), job, at, "success", None, attempt, fired, started, finished, None
