"""The past of the example jobs: the occurrences of their schedules in the last days, written directly into
the tables.

Most succeeded. The others show what people look for in a console: an outage that was caught up, a slow run
and the occurrence that was skipped because of it, a pause, a run that waited for a slot, retries, two causes
of dead letters.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from sexton.jobs.planning import schedule_of
from sexton.model import decode_id
from sexton.postgres.database import by_column
from sexton.postgres.partitions import make_partitions
from sexton.postgres.transaction import Context, command
from sexton.runs.retry import error_group

DAYS = 8
# At most this many occurrences of a job.
MOST = 24 * 60
# The time before now that is left to real runs.
FRESH = timedelta(seconds=20)
LOGGED = timedelta(hours=1)

DIED = (
    "ConnectionError: ledger.internal:8443 refused the connection\n\n"
    '  File "/srv/shop/ledger/export.py", line 58, in export_payments\n'
    "    async with connect(settings.ledger, timeout=5) as ledger:\n"
    '  File "/srv/shop/ledger/client.py", line 31, in connect\n'
    '    raise ConnectionError(f"{address} refused the connection")'
)
REFUSED = (
    "ValueError: order {order} has no e-mail address\n\n"
    '  File "/srv/shop/mails/orders.py", line 44, in send_order_mails\n'
    "    to = address_of(order)\n"
    '  File "/srv/shop/mails/orders.py", line 19, in address_of\n'
    '    raise ValueError(f"order {order.number} has no e-mail address")'
)
HUNG_UP = "ConnectionError: the connection was closed before the answer came"


@dataclass(frozen=True, slots=True)
class Past:
    """A row of history."""

    recorded_at: datetime
    run_id: int | None
    job_id: int
    scheduled_at: datetime
    status: str
    reason: str | None
    trigger: str
    missed: bool
    attempt: int | None
    fired_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    until_at: datetime | None
    occurrences: int | None
    error: str | None


COLUMNS = tuple(each.name for each in fields(Past))


async def write_past(context: Context, made: Sequence[str], seconds: dict[str, float], now: datetime) -> None:
    """Write the history of these jobs; `seconds` is the usual duration by job name."""
    await make_partitions(context.database, now=now - timedelta(days=DAYS), days=DAYS)
    await _write(context, made, seconds, now)


@command
async def _write(context: Context, made: Sequence[str], seconds: dict[str, float], now: datetime) -> None:
    chance = random.Random(7390)
    numbers = [number for job in made if (number := decode_id("j", job)) is not None]
    connection, sql = context.open, context.database.sql
    await connection.execute(sql(AGED), numbers, DAYS)
    rows: list[Past] = []
    for row in await context.fetch("firing/load_schedules", jobs=numbers):
        times = list(schedule_of(dict(row)).between(now - timedelta(days=DAYS), now - FRESH))[-MOST:]
        rows += _past(row["name"], row["id"], times, seconds.get(row["name"], 0.3), chance)
    rows.sort(key=lambda each: each.recorded_at)
    ids = iter(await context.fetchval("recording/take_run_ids", count=len(rows)))
    rows = [replace(each, run_id=next(ids)) if each.status != "skipped" else each for each in rows]
    rows = [each for each in rows if each.recorded_at < now]
    columns = by_column(COLUMNS, [astuple(each) for each in rows])
    await connection.execute(sql(HISTORY), *columns.values())
    await connection.execute(sql(COUNTED), now - timedelta(days=DAYS + 1))
    tries = [each for row in rows for each in _tries(row)]
    await connection.execute(sql(ATTEMPTS), *by_column(tuple("abcdef"), tries).values())
    await connection.execute(sql(LOGS), now - LOGGED, numbers)
    for error in {each.error for each in rows if each.status == "dead" and each.error}:
        await connection.execute(sql(DEAD), error, error_group(error))


def _past(
    name: str, job: int, times: Sequence[datetime], seconds: float, chance: random.Random
) -> Iterator[Past]:
    """Each occurrence, the latest counted as 1, with its special events."""
    special = SPECIAL.get(name, {})
    for back, at in zip(range(len(times), 0, -1), times, strict=True):
        late = chance.lognormvariate(-4.2, 0.6)
        waits = chance.uniform(1.0, 5.0) if chance.random() < 0.01 else 0.0
        started = at + timedelta(seconds=late + waits)
        took = seconds * chance.lognormvariate(0, 0.35)
        retried = name == "charge-subscriptions" and chance.random() < 0.2
        usual = Past(
            recorded_at=started,
            run_id=None,
            job_id=job,
            scheduled_at=at,
            status="success",
            reason=None,
            trigger="schedule",
            missed=False,
            attempt=2 if retried else 1,
            fired_at=at + timedelta(seconds=late / 2),
            started_at=started + timedelta(seconds=5 + took if retried else 0),
            finished_at=None,
            until_at=None,
            occurrences=None,
            error=None,
        )
        change = special.get(back) or (special.get(0) if back <= LEDGER_DOWN else None)
        shown = usual if change is None else change(usual)
        if shown is None:
            continue
        if shown.status == "skipped":
            yield replace(shown, attempt=None, fired_at=None, started_at=None, finished_at=None)
            continue
        begun = shown.started_at or started
        ended = shown.finished_at or begun + timedelta(seconds=took)
        yield replace(shown, recorded_at=ended, finished_at=ended)


def _skipped(reason: str) -> Callable[[Past], Past]:
    return lambda usual: replace(usual, status="skipped", reason=reason)


def _missed(usual: Past) -> Past:
    """The first of three occurrences missed in an outage, in one row."""
    until = usual.scheduled_at + timedelta(minutes=2)
    return replace(usual, status="skipped", reason="coalesced", until_at=until, occurrences=3)


def _caught_up(usual: Past) -> Past:
    fired = usual.scheduled_at + timedelta(seconds=48.2)
    return replace(
        usual, trigger="catch_up", missed=True, fired_at=fired, started_at=fired + timedelta(seconds=0.03)
    )


def _no_slot(usual: Past) -> Past:
    fired = usual.scheduled_at + timedelta(seconds=0.012)
    return replace(usual, fired_at=fired, started_at=fired + timedelta(seconds=4.2))


def _slow(usual: Past) -> Past:
    started = usual.started_at or usual.scheduled_at
    return replace(usual, finished_at=started + timedelta(seconds=661))


def _cancelled(usual: Past) -> Past:
    started = usual.started_at or usual.scheduled_at
    return replace(
        usual,
        status="cancelled",
        reason="the uploads were incomplete",
        finished_at=started + timedelta(seconds=1.4),
    )


def _exhausted(usual: Past) -> Past:
    started = usual.scheduled_at + timedelta(seconds=1.92)
    ended = started + timedelta(seconds=0.21)
    return replace(
        usual, status="dead", reason="exhausted", attempt=2, started_at=started, finished_at=ended, error=DIED
    )


def _refused(order: int) -> Callable[[Past], Past]:
    error = REFUSED.replace("{order}", str(order), 1)
    return lambda usual: replace(usual, status="dead", reason="permanent", error=error)


# By job, and by how many occurrences ago; 0 means each of the last `LEDGER_DOWN`.
LEDGER_DOWN = 9
SPECIAL: dict[str, dict[int, Callable[[Past], Past | None]]] = {
    "sync-inventory": {34: _missed, 33: lambda _: None, 32: lambda _: None, 31: _caught_up},
    "resize-product-images": {2: _no_slot, 5: _cancelled},
    "refresh-search-index": {4: _slow, 3: _skipped("overlap")},
    "send-order-mails": {
        4: _refused(48213),
        7: _refused(48177),
        9: _refused(48160),
        11: _skipped("paused"),
        12: _skipped("paused"),
    },
    "export-payments": {0: _exhausted},
}


def _tries(row: Past) -> Iterator[tuple[Any, ...]]:
    """The failed attempts: all attempts of a dead run; of a successful run, those before the last."""
    if row.started_at is None or row.finished_at is None or row.attempt is None:
        return
    if row.attempt == 2:
        error = row.error or HUNG_UP
        first = (row.fired_at or row.scheduled_at) + timedelta(seconds=0.03)
        yield row.recorded_at, row.run_id, 1, first, first + timedelta(seconds=0.24), error
    if row.status == "dead":
        yield row.recorded_at, row.run_id, row.attempt, row.started_at, row.finished_at, row.error


AGED = """
update sexton.jobs
set created_at = created_at - make_interval(days => $2), updated_at = updated_at - make_interval(days => $2)
where id = any($1)
"""
HISTORY = """
insert into sexton.history
    (recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, attempt, fired_at,
     started_at, finished_at, until_at, occurrences, error, revision, claim)
select given.*, 1, 1
from unnest($1::timestamptz[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[],
    $7::text[], $8::boolean[], $9::smallint[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[],
    $13::timestamptz[], $14::integer[], $15::text[]) as given
"""
# What is shown beside a list is counted from here on: see `sexton.runs.activity`.
COUNTED = """
insert into sexton.activity_mark (through) values (date_trunc('minute', $1::timestamptz))
on conflict (single) do nothing
"""
ATTEMPTS = """
insert into sexton.attempts (recorded_at, run_id, attempt, started_at, finished_at, error, outcome)
select given.*, 'failed'
from unnest($1::timestamptz[], $2::bigint[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::text[])
    as given
"""
LOGS = """
insert into sexton.run_logs (recorded_at, run_id, attempt, at, level, message)
select ended.recorded_at, ended.run_id, ended.attempt,
    ended.started_at + line.share * (ended.finished_at - ended.started_at), 'info', line.message
from sexton.history as ended
cross join (values (0.01, 'connected'), (0.5, 'half of it is done'), (0.9, 'finishing'))
    as line (share, message)
where ended.recorded_at >= $1 and ended.job_id = any($2) and ended.status = 'success'
"""
DEAD = """
insert into sexton.dead
    (run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision,
     trigger, missed, attempt, next_delivery_at)
select ended.run_id, ended.job_id, ended.recorded_at, ended.reason, ended.error, $2, timer.lane, 2,
    ended.scheduled_at, ended.scheduled_at, 1, 'schedule', false, ended.attempt, null
from sexton.history as ended
join sexton.timers as timer on timer.job_id = ended.job_id
where ended.status = 'dead' and ended.error = $1
"""
