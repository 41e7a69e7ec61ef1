"""What the measurement of the console looks at: very many jobs, a long history, something on each page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import msgspec

from sexton import clock
from sexton.cli.bench.harness import SCHEMA, SHARDS, Ground, Say
from sexton.content.bulk import create_many
from sexton.content.model import Action
from sexton.content.releases.release import create_release
from sexton.content.spec import ReleaseItemSpec, ReleaseSpec
from sexton.notifications.campaigns.campaign import create_campaign
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.spec import EmailParts, TemplateSpec
from sexton.notifications.templates.template import put_template
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded
from sexton.schedules import parse

# History lies in so many days, today included.
DAYS = 10
CHUNK = 250_000
ACTIONS_AT_A_TIME = 2000
CAMPAIGNS = 20
# Beside each million jobs: so many actions on content, recipients, messages, and entries of the audit.
PER_MILLION = {
    "actions": 20_000,
    "releases": 400,
    "recipients": 100_000,
    "messages": 200_000,
    "audit": 200_000,
}
# A run that is not over: of so many jobs, the first ones.
LIVE_RUNS = 2000

# Jobs with names of two words and a number; one in a hundred is paused.
JOBS = f"""
insert into {SCHEMA}.jobs
    (id, name, status, kind, schedule, timezone, timing_key, target, labels, owner, created_at)
select n,
    'team-' || n % 40 || '/'
        || (array['report', 'invoice', 'backup', 'sync', 'mail', 'index'])[1 + n % 6] || '-' || n,
    case when n % 100 = 0 then 'paused' else 'active' end, 'cron', rule.text, 'UTC', rule.key,
    '{{"handler": "sexton.noop"}}', jsonb_build_object('team', (n % 40)::text), 'owner-' || n % 200,
    now() - interval '12 days'
from generate_series($1::bigint, $2::bigint) as n
join unnest($3::text[], $4::uuid[]) with ordinality as rule (text, key, place)
    on rule.place = 1 + n % cardinality($3::text[])
"""

TIMERS = f"""
insert into {SCHEMA}.timers (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
select job.id, {SCHEMA}.shard_of(job.id, {SHARDS}), 1, job.timing_key, rule.next_at,
    case when job.status = 'paused' then 'infinity' else rule.next_at end, $3, 2
from {SCHEMA}.jobs as job
join unnest($4::uuid[], $5::timestamptz[]) as rule (key, next_at) on rule.key = job.timing_key
where job.id between $1 and $2
"""

# One day: most end well, one in five hundred dies, one in a thousand is skipped; one in fifty was late.
HISTORY = f"""
insert into {SCHEMA}.history
    (recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, revision, attempt, claim,
     fired_at, started_at, finished_at, error)
select at + interval '200 ms', case when n % 1000 <> 1 then $4::bigint + n end, 1 + (n * 7919) % $5::bigint,
    at - case when n % 50 = 0 then interval '3 s' else interval '10 ms' end,
    case when n % 500 = 0 then 'dead' when n % 1000 = 1 then 'skipped' else 'success' end,
    case when n % 1000 = 1 then 'overlap' end,
    case when n % 300 = 0 then 'manual' else 'schedule' end, 1, 1, 1,
    at, at, at + interval '100 ms',
    case when n % 500 = 0 then 'ConnectionError: host ' || n % 7 || ' is away' end
from generate_series(1, $3::bigint) as n
cross join lateral (select $1::timestamptz + n * ($2::timestamptz - $1::timestamptz) / $3) as moment (at)
"""

DEAD = f"""
insert into {SCHEMA}.dead
    (run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision,
     trigger, missed, attempt)
select run_id, job_id, recorded_at, 'exhausted', error, 'ConnectionError: host # is away', $1, 2,
    scheduled_at, scheduled_at, 1, 'schedule', false, 3
from {SCHEMA}.history
where status = 'dead' and run_id is not null
order by recorded_at desc
limit 20000
"""

LIVE = f"""
insert into {SCHEMA}.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
select n, $1, 2, now() - interval '1 s', now() - interval '1 s', now() - interval '1 s', 1
from generate_series(1, $2::bigint) as n
"""

ENTITIES = f"""
insert into {SCHEMA}.content_entities (namespace, entity_type, entity_id, updated_at)
select 'default', 'post', n::text, now() - n * interval '1 s'
from generate_series(0, $1::bigint - 1) as n
on conflict do nothing
"""

RECIPIENTS = f"""
insert into {SCHEMA}.recipients (namespace, user_id, email, timezone, fields, created_at, updated_at)
select 'default', 'u' || n, 'u' || n || '@example.com', 'Europe/Berlin',
    jsonb_build_object('name', 'Number ' || n), now(), now()
from generate_series(1, $1::bigint) as n
"""

MESSAGES = f"""
insert into {SCHEMA}.messages (
    namespace, campaign_id, user_id, channels, template_id, template_version, scheduled_at, timezone, status,
    submitted_at, sent_at, settled_at, created_at, created_by
)
select 'default', $1, 'u' || n, '{{email}}', 'hello', 1, now(), 'Europe/Berlin',
    case when n % 100 = 0 then 'failed' else 'sent' end, now(), now(), now(), now(), 'bench'
from generate_series(1, $2::bigint) as n
"""

ENDED = f"""
update {SCHEMA}.campaigns
set status = 'done', total = $2, chunks = 1, expanded_at = now(), started_at = now(), ended_at = now()
where id = $1
"""

AUDIT = f"""
insert into {SCHEMA}.audit
    (sequence, previous, hash, at, id, namespace, actor, face, action, object_id, object_name, job_id, after)
select 1000000000 + n, '', '', now() - n * interval '3 s', 1000000000 + n, 'default', 'person-' || n % 50,
    'console', case when n % 20 = 0 then 'job.paused' else 'job.created' end, 'j_' || n, 'name-' || n, n,
    '{{"schedule": "every 1h"}}'
from generate_series(1, $1::bigint) as n
"""

TABLES = (
    "history", "dead", "jobs", "timers", "runs", "recipients", "messages", "campaigns", "audit",
    "content_schedules", "content_entities", "content_releases",
)  # fmt: skip


async def fill(made: Ground, jobs: int, history: int, say: Say) -> dict[str, Any]:
    """What it took to count what history holds, as the scheduler does it."""
    now = await made.now()
    await _fill_jobs(made, jobs, now, say)
    await _fill_history(made, jobs, history, now, say)
    await _fill_products(made, jobs, now, say)
    async with made.database.connection() as connection:
        for table in TABLES:
            await connection.execute(f"vacuum (analyze) {SCHEMA}.{table}", timeout=1800)
    return await _count(made, say)


async def _fill_jobs(made: Ground, jobs: int, now: datetime, say: Say) -> None:
    rules = [parse(text) for text in _rules()]
    texts, keys = [rule.text for rule in rules], [rule.timing_key for rule in rules]
    nexts = [rule.next_after(now) for rule in rules]
    for first in range(1, jobs + 1, CHUNK):
        last = min(first + CHUNK - 1, jobs)
        async with made.database.connection() as connection:
            await connection.execute(JOBS, first, last, texts, keys, timeout=900)
            await connection.execute(TIMERS, first, last, made.lane, keys, nexts, timeout=900)
        say(f"{last:,} jobs")
    async with made.database.connection() as connection:
        await connection.execute(LIVE, made.lane, min(jobs, LIVE_RUNS))
        await connection.execute(f"select setval('{SCHEMA}.job_ids', $1)", jobs + 1)


def _rules() -> list[str]:
    """300 schedules, a third of which fire every hour, the others on some hour of each day or week."""
    hourly = [f"{minute} * * * *" for minute in range(60)] + [
        f"*/{step} * * * *" for step in (5, 10, 15, 20, 30)
    ]
    daily = [f"{n % 60} {n % 24} * * *" for n in range(135)]
    weekly = [f"{n % 60} {n % 24} * * {n % 7}" for n in range(100)]
    return list(dict.fromkeys([*hourly, *daily, *weekly]))


async def _fill_history(made: Ground, jobs: int, history: int, now: datetime, say: Say) -> None:
    await make_partitions(made.database, now=now - timedelta(days=DAYS), days=DAYS)
    each = max(1, history // DAYS)
    begins = now - timedelta(days=DAYS)
    for day in range(DAYS):
        start = begins + timedelta(days=day)
        async with made.database.connection() as connection:
            await connection.execute(
                HISTORY, start, start + timedelta(days=1), each, day * each, jobs, timeout=1800
            )
        say(f"{(day + 1) * each:,} rows of history")
    async with made.database.connection() as connection:
        await connection.execute(DEAD, made.lane, timeout=600)


async def _fill_products(made: Ground, jobs: int, now: datetime, say: Say) -> None:
    """Content by bulk import; campaigns with their ledger; recipients; the audit."""
    counts = {name: max(50, count * jobs // 1_000_000) for name, count in PER_MILLION.items()}
    context = Context(made.database, actor="bench")
    lines = _actions(counts["actions"], now.replace(second=0, microsecond=0))
    while chunk := list(islice(lines, ACTIONS_AT_A_TIME)):
        await create_many(context, chunk)
    async with made.database.connection() as connection:
        await connection.execute(ENTITIES, counts["actions"])
    for number in range(counts["releases"]):
        await create_release(context, _release(number, now))
    say(f"{counts['actions']:,} actions on content, {counts['releases']:,} releases")
    await put_provider(context, "nowhere", ProviderSpec(channel="email", kind="null"))
    parts = EmailParts(subject="Hello {{ name }}", text="Dear {{ name }}")
    await put_template(context, "hello", TemplateSpec(email=parts, variables={"name": "string"}))
    async with made.database.connection() as connection:
        await connection.execute(RECIPIENTS, counts["recipients"], timeout=600)
    each = max(1, min(counts["recipients"], counts["messages"] // CAMPAIGNS))
    for number in range(CAMPAIGNS):
        spec = CampaignSpec(name=f"news {number}", template_id="hello", audience=AudienceSpec(everyone=True))
        await create_campaign(context, spec)
    async with made.database.connection() as connection:
        for row in await connection.fetch(f"select id from {SCHEMA}.campaigns order by id"):
            await connection.execute(MESSAGES, row["id"], each, timeout=600)
            await connection.execute(ENDED, row["id"], each)
        await connection.execute(AUDIT, counts["audit"], timeout=600)
    say(f"{each * CAMPAIGNS:,} messages, {counts['recipients']:,} recipients, {counts['audit']:,} changes")


def _release(number: int, now: datetime) -> ReleaseSpec:
    """Of two entities, over the next months."""
    items = [
        ReleaseItemSpec(entity_type="post", entity_id=f"{number}-{part}", action=Action.PUBLISH)
        for part in ("page", "mail")
    ]
    at = now.replace(microsecond=0) + timedelta(hours=6 * (number + 1))
    note = "spring sale" if number % 2 else "autumn sale"
    return ReleaseSpec(items=items, created_by=f"author {number % 100}", at=at, note=note)


def _actions(count: int, first: datetime) -> Iterator[bytes]:
    """Over the next thirty days."""
    for number in range(count):
        at = first + timedelta(hours=1) + timedelta(days=30) * number / count
        yield msgspec.json.encode(
            {
                "entity_type": "post",
                "entity_id": str(number),
                "action": "publish",
                "created_by": f"author {number % 100}",
                "at": at.replace(microsecond=0),
            }
        )


async def _count(made: Ground, say: Say) -> dict[str, Any]:
    """As the scheduler counts what history holds, in pieces."""
    say("counting by minute")
    context = Context(made.database, actor="bench")
    began, rounds = clock.monotonic(), 0
    while not (await count_recorded(context, timedelta(minutes=30)))[1]:
        rounds += 1
    async with made.database.connection() as connection:
        await connection.execute(f"vacuum (analyze) {SCHEMA}.activity", timeout=600)
        counted = await connection.fetchval(f"select sum(runs)::bigint from {SCHEMA}.activity") or 0
    seconds = clock.monotonic() - began
    return {"counted_microseconds_per_run": round(seconds / max(1, counted) * 1e6, 2)}
