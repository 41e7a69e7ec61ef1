"""Campaigns: very many recipients, imported, expanded into the ledger and sent, beside bare SQL that writes
the same rows. Or as many single messages, all due at the same second."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from sexton import clock
from sexton.cli.bench.harness import SCHEMA, Ground, Say, ground, per_thousand, second_after
from sexton.cli.bench.mail_sink import MailSink
from sexton.notifications.campaigns.campaign import create_campaign, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.message import create_messages
from sexton.notifications.recipients.recipient import import_recipients
from sexton.notifications.spec import EmailParts, TemplateSpec
from sexton.notifications.templates.template import put_template
from sexton.postgres.database import in_schema
from sexton.postgres.transaction import Context

CHUNK = 5000
PROGRESS = 100_000
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC")
LIMIT_BATCH = 500
MOST_FOR_LIMIT = 200_000
SUBJECT = "Hello {{ name }}"
TEXT = "Dear {{ name }},\n\nthis month everything is cheaper than ever. It ends on Sunday.\n\nYours\n"
LEAD_SECONDS = 10.0

INSERT = """
insert into sexton.messages (
    namespace, campaign_id, user_id, channels, template_id, template_version, scheduled_at, timezone, due_at,
    created_at, created_by
)
select 'limit', $1, 'u' || n, '{email}', 'hello', 1, clock_timestamp(), 'UTC', clock_timestamp(),
    clock_timestamp(), 'bench'
from generate_series($2::integer, $3::integer) as n
returning id
"""
SETTLE = """
update sexton.messages
set status = 'sent', run_id = 1, submitted_at = clock_timestamp(), due_at = null, sent_at = clock_timestamp(),
    settled_at = clock_timestamp(), provider = 'null'
where id = any ($1::bigint[])
"""


async def campaign(
    url: str, *, recipients: int, workers: int, smtp: bool, single: bool, say: Say
) -> dict[str, Any]:
    """One measurement; `say` gets lines of progress."""
    async with ground(url) as made:
        context = Context(made.database, actor="bench")
        sink = MailSink() if smtp else None
        address = await sink.start() if sink is not None else None
        try:
            imported = await _import(context, recipients, say)
            await _write_template(context)
            if sink is None:
                await put_provider(context, "nowhere", ProviderSpec(channel="email", kind="null"))
            await _analyze(made)
            limit = await _limit(made, min(recipients, MOST_FOR_LIMIT), say)
            more = {} if address is None else {"SEXTON_SMTP_URL": address}
            for role in ["scheduler"] + ["worker"] * workers:
                await made.start(role, **more)
            await made.ready(workers)
            measure = _single if single else _campaign
            before = made.usage()
            began, seconds = await measure(made, context, recipients, say)
            used = made.usage().since(before)
            peak = made.peak_megabytes("worker")
            ledger = await _ledger(made, recipients, sink)
            await made.stop()
        finally:
            if sink is not None:
                await sink.stop()
    per_second = recipients / seconds
    return {
        "recipients": recipients,
        "seconds": round(seconds, 3),
        "per_second": round(per_second),
        "limit_per_second": round(limit),
        "ratio": round(per_second / limit, 3),
        **ledger,
        "peak_megabytes": peak,
        "database_cpu_seconds_per_thousand": per_thousand(used.database, recipients),
        "python_cpu_seconds_per_thousand": per_thousand(used.python, recipients),
        "workers": workers,
        "channel": "smtp" if smtp else "null",
        "messages": "single" if single else "campaign",
        **began,
        **imported,
    }


async def _import(context: Context, recipients: int, say: Say) -> dict[str, Any]:
    """As `sexton recipients import` does it, without HTTP."""
    say(f"{recipients:,} recipients by import")
    lines, began, count = _lines(recipients), clock.monotonic(), 0
    while chunk := list(islice(lines, CHUNK)):
        await import_recipients(context, chunk)
        count += len(chunk)
        if count % PROGRESS == 0:
            say(f"{count:,} recipients")
    seconds = clock.monotonic() - began
    return {
        "import_seconds": round(seconds, 3),
        "imported_per_second": round(recipients / seconds),
        "import_peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1),
    }


def _lines(recipients: int) -> Iterator[bytes]:
    for number in range(1, recipients + 1):
        yield msgspec.json.encode(
            {
                "user_id": f"u{number}",
                "email": f"u{number}@example.com",
                "timezone": ZONES[number % len(ZONES)],
                "fields": {"name": f"Number {number}"},
            }
        )


async def _write_template(context: Context) -> None:
    parts = EmailParts(subject=SUBJECT, text=TEXT)
    await put_template(context, "hello", TemplateSpec(email=parts, variables={"name": "string"}))


async def _analyze(made: Ground) -> None:
    async with made.database.connection() as connection:
        await connection.execute(f"vacuum (analyze) {SCHEMA}.recipients", timeout=600)
        await connection.execute("checkpoint", timeout=600)


async def _limit(made: Ground, count: int, say: Say) -> float:
    """The same row writes as bare SQL, in batches of the same size, over two connections: rows per second."""
    say(f"the limit of this PostgreSQL: bare SQL, {count:,} rows")

    async def write(campaign: int, first: int, last: int) -> None:
        async with made.database.connection() as connection:
            rows = await connection.fetch(in_schema(INSERT, SCHEMA), campaign, first, last, timeout=600)
            ids = [row["id"] for row in rows]
            for start_ in range(0, len(ids), LIMIT_BATCH):
                await connection.execute(in_schema(SETTLE, SCHEMA), ids[start_ : start_ + LIMIT_BATCH])

    async def half(first: int, last: int) -> None:
        for begin in range(first, last + 1, 20_000):
            await write(2**40 + first, begin, min(last, begin + 19_999))

    began = clock.monotonic()
    await asyncio.gather(half(1, count // 2), half(count // 2 + 1, count))
    seconds = clock.monotonic() - began
    async with made.database.connection() as connection:
        await connection.execute(f"truncate {SCHEMA}.messages")
    return count / seconds


async def _campaign(
    made: Ground, context: Context, recipients: int, say: Say
) -> tuple[dict[str, Any], float]:
    """The time from the start of the campaign until it is done, including writing its messages."""
    say(f"a campaign to {recipients:,} recipients")
    shown = await create_campaign(
        context, CampaignSpec(name="bench", template_id="hello", audience=AudienceSpec(everyone=True))
    )
    began = clock.monotonic()
    await start(context, shown.campaign_id)
    over = f"select status in ('done', 'failed') from {SCHEMA}.campaigns"
    await made.wait_for(over, every=0.25, patience=600 + recipients / 50)
    seconds = clock.monotonic() - began
    row = await made.watch.fetchrow(
        f"""select status, extract(epoch from expanded_at - armed_at)::float8 as expanded,
                   extract(epoch from ended_at - armed_at)::float8 as ended, chunks
            from {SCHEMA}.campaigns"""
    )
    assert row is not None
    return {
        "ledger_seconds": round(row["expanded"] or 0, 3),
        "chunks": row["chunks"],
        "status": row["status"],
    }, min(seconds, row["ended"] or seconds)


async def _single(made: Ground, context: Context, recipients: int, say: Say) -> tuple[dict[str, Any], float]:
    """Single messages, all due at the same second."""
    lead, numbers = LEAD_SECONDS + recipients / 2000, iter(range(1, recipients + 1))
    due_at = second_after(await made.now(), lead)
    say(f"{recipients:,} single messages, all due at {due_at:%H:%M:%S}Z")
    while chunk := list(islice(numbers, CHUNK)):
        await create_messages(
            context,
            [
                {
                    "user_id": f"u{number}", "template_id": "hello", "channel": "email", "send_at": due_at,
                    "template_vars": {"name": f"Number {number}"},
                }
                for number in chunk
            ],
        )  # fmt: skip
    late = (await made.now() - due_at).total_seconds()
    if late > 0:
        say(f"they were made {late:.1f} s after their time: the figure includes that")
    await made.sleep_until(due_at)
    over = f"select count(*) = 0 from {SCHEMA}.message_timers"
    await made.wait_for(over, every=0.25, patience=600 + recipients / 50)
    last: datetime = await made.watch.fetchval(f"select max(sent_at) from {SCHEMA}.messages")
    return {}, (last - due_at).total_seconds()


async def _ledger(made: Ground, recipients: int, sink: MailSink | None) -> dict[str, Any]:
    row = await made.watch.fetchrow(
        f"""select count(*) filter (where status = 'sent') as sent, count(distinct user_id) as users,
                   (select count(*) from {SCHEMA}.message_events where kind = 'resent') as resent,
                   min(submitted_at - scheduled_at) < interval '0' as early
            from {SCHEMA}.messages"""
    )
    assert row is not None
    doubled = row["resent"]
    if sink is not None:
        doubled = sum(sink.got.values()) - len(sink.got)
    return {"lost": recipients - row["sent"], "doubled": doubled, "early": int(bool(row["early"]))}
