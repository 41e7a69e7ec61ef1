"""Content: very many pending actions by bulk import, what it costs to look at them, and many due at once."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import msgspec

from sexton import clock
from sexton.cli.bench.harness import SCHEMA, Ground, Say, ground, second_after
from sexton.content.bulk import create_many
from sexton.content.calendar.calendar import list_calendar
from sexton.content.entity import get_entity
from sexton.content.ledger import list_executions
from sexton.content.model import Entity
from sexton.content.read import list_schedules
from sexton.errors import Unavailable
from sexton.postgres.transaction import Context

CHUNK = 2000
PROGRESS = 100_000
AUTHORS = 100
# What is pending lies in the year after next month.
AWAY, SPREAD = timedelta(days=30), timedelta(days=365)
ROUNDS = 20
LEAD_SECONDS = 10.0
IMPORTED_PER_SECOND = 1000
TRIES = 4


async def content(url: str, *, pending: int, due: int, workers: int, say: Say) -> dict[str, Any]:
    """One measurement; `say` gets lines of progress."""
    async with ground(url) as made:
        imported = await _import(made, pending, say)
        looked = await _look(made, pending, say)
        carried_out = await _carry_out(made, due, workers, say)
        return {"pending": pending, **imported, **looked, "due": due, "workers": workers, **carried_out}


async def _import(made: Ground, pending: int, say: Say) -> dict[str, Any]:
    """As `sexton content import` does it, without HTTP."""
    say(f"{pending:,} actions by bulk import")
    context = Context(made.database, actor="bench")
    first = second_after(await made.now(), 0) + AWAY
    lines = _lines(pending, first)
    began, count, early_peak = clock.monotonic(), 0, 0.0
    while chunk := list(islice(lines, CHUNK)):
        count += len(await create_many(context, chunk))
        if not early_peak and count >= pending // 10:
            early_peak = _peak_megabytes()
        if count % PROGRESS == 0:
            say(f"{count:,} actions")
    seconds = clock.monotonic() - began
    async with made.database.connection() as connection:
        await connection.execute(f"vacuum (analyze) {SCHEMA}.content_schedules", timeout=600)
    await made.settle()
    stored = await made.watch.fetchval(f"select pg_total_relation_size('{SCHEMA}.content_schedules')")
    return {
        "imported_per_second": round(count / seconds),
        "import_peak_megabytes": round(_peak_megabytes(), 1),
        "import_grew_megabytes": round(_peak_megabytes() - early_peak, 1),
        "bytes_per_action": round(stored / max(1, count)),
    }


def _lines(pending: int, first: datetime) -> Iterator[bytes]:
    """Two actions for each entity, a day apart."""
    step = SPREAD / max(1, pending // 2)
    for number in range(pending):
        entity = number // 2
        at = (first + step * entity).replace(microsecond=0) + timedelta(days=number % 2)
        yield msgspec.json.encode(
            {
                "entity_type": "post",
                "entity_id": entity,
                "action": "unpublish" if number % 2 else "publish",
                "created_by": f"author {entity % AUTHORS}",
                "at": at,
            }
        )


async def _look(made: Ground, pending: int, say: Say) -> dict[str, Any]:
    """Medians of common questions."""
    say("looking at them")
    context = Context(made.database, actor="bench")
    start = await made.now() + AWAY + SPREAD / 2
    month = start, start + timedelta(days=30)
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "entity": lambda: get_entity(context, Entity("post", str(pending // 4))),
        "calendar": lambda: list_calendar(context, *month),
        "calendar_of_author": lambda: list_calendar(context, *month, created_by="author 7"),
        "list_of_author": lambda: list_schedules(context, created_by="author 7", status="pending"),
        "list_of_failed": lambda: list_schedules(context, status="failed"),
        "executions": lambda: list_executions(context),
    }
    return {f"{name}_milliseconds": await _median(ask) for name, ask in asked.items()}


async def _median(ask: Callable[[], Awaitable[Any]]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = clock.monotonic()
        await ask()
        took.append(clock.monotonic() - began)
    return round(statistics.median(took) * 1000, 2)


async def _carry_out(made: Ground, due: int, workers: int, say: Say) -> dict[str, Any]:
    """Half of the entities' actions publish and half unpublish, all within one second."""
    lead = LEAD_SECONDS + due / IMPORTED_PER_SECOND
    await made.watch.execute(
        f"""insert into {SCHEMA}.content_entities
                (namespace, entity_type, entity_id, latest_version, updated_at)
            select 'default', 'due', number::text, 1, now() from generate_series(0, $1) as number""",
        due // 2,
    )
    for role in ["scheduler"] + ["worker"] * workers:
        await made.start(role)
    await made.ready(workers)
    for _ in range(TRIES):
        due_at = second_after(await made.now(), lead)
        say(f"{due:,} actions, all due at {due_at:%H:%M:%S}Z")
        await _plan_due(made, due, due_at)
        if (due_at - await made.now()).total_seconds() > 1:
            break
        lead *= 2
        await made.watch.execute(f"delete from {SCHEMA}.content_schedules where entity_type = 'due'")
        say("not ready in time; trying again")
    else:
        raise Unavailable("bench_failed", "the machine is too busy to get ready in time", hint="lower --due")
    await made.sleep_until(due_at)
    done = f"""select count(*) >= $1 from {SCHEMA}.content_schedules
        where entity_type = 'due' and done_at is not null"""
    await made.wait_for(done, due, every=0.25, patience=60 + due / 20)
    peak = made.peak_megabytes("worker")
    row = await made.watch.fetchrow(
        f"""with change as (
                select change.*, plan.scheduled_at,
                       row_number() over (partition by change.entity_id order by change.id) as place
                from {SCHEMA}.content_changes as change
                join {SCHEMA}.content_schedules as plan on plan.id = change.schedule_id
                where change.entity_type = 'due'
            )
            select count(*) as rows, count(distinct schedule_id) as distinct,
                   count(*) filter (where at < scheduled_at) as early,
                   count(*) filter (where action <> case place when 1 then 'publish' else 'unpublish' end)
                       as out_of_order,
                   extract(epoch from max(at) - $1)::float8 as seconds
            from change""",
        due_at,
    )
    assert row is not None
    return {
        "seconds": round(row["seconds"], 3),
        "per_second": round(due / row["seconds"]),
        "lost": due - row["distinct"],
        "doubled": row["rows"] - row["distinct"],
        "early": row["early"],
        "out_of_order": row["out_of_order"],
        "worker_peak_megabytes": peak,
    }


async def _plan_due(made: Ground, due: int, due_at: datetime) -> None:
    context = Context(made.database, actor="bench")
    numbers = iter(range(due))
    while chunk := list(islice(numbers, CHUNK)):
        await create_many(
            context,
            [
                {
                    "entity_type": "due",
                    "entity_id": str(number // 2),
                    "action": "unpublish" if number % 2 else "publish",
                    "created_by": "bench",
                    "at": due_at + timedelta(milliseconds=500 * (number % 2)),
                }
                for number in chunk
            ],
        )


def _peak_megabytes() -> float:
    """The peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
