"""The example data of `sexton demo`: jobs with a past, dead letters, a calendar of content, and notifications
with a running campaign.

Jobs and plans are made by the public commands. Only past events are written directly into the tables: see
`example_runs` and `example_history`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from sexton.cli.demo.example_content import plan_content
from sexton.cli.demo.example_messages import READERS, fill_notifications
from sexton.cli.demo.example_runs import DAYS, write_past
from sexton.jobs.create import create
from sexton.jobs.edit import edit
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import pause
from sexton.postgres import locks
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import SYSTEM, Context

# A setting that is there while the data is being made.
UNFINISHED = "demo_unfinished"
ACTOR = "demo"
# Whether nothing but an unfinished demo is in the database.
LEFT = """
select exists (select from sexton.settings where name = $1)
    and not exists (select from sexton.audit_entries where actor <> all ($2))
"""
# Jobs without a past: a paused one, and one for a single time.
LATER = 2
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

# name, who, why, what
EDITS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("charge-subscriptions", "user:billing@example.com", "the bank closes connections at night",
     {"max_retries": 5, "retry_base_seconds": 15}),
    ("export-payments", "user:payments@example.com", "the ledger answers within a minute or not at all",
     {"timeout_seconds": 60, "retry_base_seconds": 2}),
    ("export-payments", "user:payments@example.com", "payments takes it over",
     {"owner": "payments@example.com", "labels": {"team": "payments"}}),
)  # fmt: skip


async def make_example(database: Database, *, shards: int, readers: int = READERS) -> int:
    """Prepare the database and fill it. The data of an interrupted start is removed first, unless people have
    changed something in that database, too."""
    async with database.alone(locks.DEMO) as connection:
        if connection is None:
            return 0  # another process makes it
        await migrate(database, shards=shards)
        if await connection.fetchval(
            database.sql(LEFT), UNFINISHED, [ACTOR, SYSTEM, *(actor for _, actor, *_ in EDITS)]
        ):
            await connection.execute(f"drop schema {database.schema} cascade")
            await migrate(database, shards=shards)
        await make_partitions(database)
        return await fill(Context(database, actor=ACTOR), readers=readers)


async def fill(context: Context, *, readers: int = READERS) -> int:
    """Make all of it, once; how many jobs were made. A database with jobs is not changed."""
    async with context.database.connection() as connection:
        if await connection.fetchval(context.database.sql("select exists (select from sexton.jobs)")):
            return 0
        now: datetime = await context.database.time(connection)
        begin = context.database.sql("insert into sexton.settings values ($1, 'true') on conflict do nothing")
        await connection.execute(begin, UNFINISHED)
    made = [*await _make_usual(context, now), *await _make_troubled(context, now)]
    await write_past(context, made, {name: seconds for name, *_, seconds in USUAL}, now)
    for name, actor, reason, changes in EDITS:
        await edit(replace(context, actor=actor, reason=reason), name, changes)
    await plan_content(context, now)
    await fill_notifications(context, now, readers)
    async with context.database.connection() as connection:
        end = context.database.sql("delete from sexton.settings where name = $1")
        await connection.execute(end, UNFINISHED)
    return len(made) + LATER


async def _make_usual(context: Context, now: datetime) -> list[str]:
    made = []
    anchor = (now - timedelta(days=DAYS + 1)).replace(second=0, microsecond=0)
    holiday = (now + timedelta(days=3)).date()
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
                timeout_seconds=900,
                anchor=anchor if schedule.startswith("every") else None,
                exclude=[holiday.isoformat()] if name == "tokyo-market-open" else [],
            )
        )
    return made


async def _make_troubled(context: Context, now: datetime) -> list[str]:
    """One that dies, one that is paused, and one for a single time."""
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
