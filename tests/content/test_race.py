"""A moment before it is due: what was cancelled, moved or left out does not go out; what went out is said to
have gone out. A thousand races between commands and the worker that carries the actions out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from sexton.content.model import Action
from sexton.content.plan import insert
from sexton.content.releases.release import cancel_release, create_release
from sexton.content.schedule import cancel, plan_of, reschedule, skip_next
from sexton.content.spec import ReleaseItemSpec, ReleaseSpec, ScheduleMove, ScheduleSpec
from sexton.errors import Conflict
from sexton.model import encode_id
from sexton.postgres.transaction import Context, command
from sexton.testing import Engine

RACES = 250
AT = datetime(2027, 3, 2, 8, tzinfo=UTC)
LATER = AT + timedelta(days=1)

ENTITIES = f"""
    insert into sexton.content_entities (namespace, entity_type, entity_id, latest_version, updated_at)
    select 'default', 'post', number::text, 1, clock_timestamp()
    from generate_series(0, {RACES - 1}) as number
"""

Change = Callable[[Context, str], Awaitable[object]]


def single(number: int, rule: str | None = None) -> ScheduleSpec:
    return ScheduleSpec(
        entity_type="post",
        entity_id=number,
        action=Action.PUBLISH,
        created_by="ann",
        at=AT,
        recurrence_rule=rule,
    )


@command
async def make(context: Context, kind: str) -> list[str]:
    """Plans for as many entities, in one transaction."""
    await context.open.execute(ENTITIES)
    made: list[str] = []
    for number in range(RACES):
        if kind == "release":
            item = ReleaseItemSpec(entity_type="post", entity_id=number, action=Action.PUBLISH)
            release = await create_release(
                context, ReleaseSpec(items=[item], created_by="ann", at=AT, preflight_seconds=None)
            )
            made.append(release.release_id)
        else:
            rule = "FREQ=WEEKLY;COUNT=2" if kind == "series" else None
            made.append(encode_id("c", await insert(context, plan_of(single(number, rule), "ann"))))
    return made


async def race(context: Context, engine: Engine, refs: Sequence[str], change: Change) -> list[bool]:
    """Change each while it is carried out; whether the change was accepted."""
    turn = asyncio.Semaphore(4)

    async def one(ref: str) -> bool:
        async with turn:
            try:
                await change(context, ref)
            except Conflict as refused:
                if refused.code not in ("content_done", "content_under_way"):
                    raise
                return False
        return True

    mixed = list(refs)
    random.shuffle(mixed)
    changes = asyncio.gather(*(one(ref) for ref in mixed))
    await engine.advance(to=AT)
    by_ref = dict(zip(mixed, await changes, strict=True))
    return [by_ref[ref] for ref in refs]


async def published(engine: Engine) -> list[bool]:
    async with engine.database.connection() as connection:
        rows = await connection.fetch("select state from sexton.content_entities order by entity_id::integer")
    return [row["state"] == "published" for row in rows]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("single", cancel),
        ("single", lambda context, ref: reschedule(context, ref, ScheduleMove(at=LATER))),
        ("release", cancel_release),
    ],
    ids=["cancel", "reschedule", "cancel a release"],
)
async def test_what_was_changed_in_time_does_not_go_out_then(
    context: Context, engine: Engine, kind: str, change: Change
) -> None:
    refs = await make(context, kind)
    accepted = await race(context, engine, refs, change)
    await engine.drain()
    out = await published(engine)
    assert [went != changed for went, changed in zip(out, accepted, strict=True)] == [True] * RACES


async def test_a_time_that_was_left_out_in_time_does_not_go_out(context: Context, engine: Engine) -> None:
    """Of a series whose first time has fired already, the second one is left out: then the first goes out."""
    refs = await make(context, "series")
    assert all(await race(context, engine, refs, skip_next))
    await engine.drain()
    async with engine.database.connection() as connection:
        rows = await connection.fetch("select skipped from sexton.content_schedules order by id")
    out = await published(engine)
    assert [went != (AT in row["skipped"]) for went, row in zip(out, rows, strict=True)] == [True] * RACES
