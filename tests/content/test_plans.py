"""How PostgreSQL looks at very many planned actions: by an index, and no more rows than it shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.postgres.database import Database
from sexton.postgres.statement import load_all
from tests.plans import explain, rows_read

START = datetime(2027, 3, 1, tzinfo=UTC)
ACTIONS = 20_000
FILTERS = {
    "namespace": "default", "entity_type": None, "entity_id": None, "created_by": None, "adapter": None,
    "action": None,
}  # fmt: skip
PLACE = {"after_at": datetime(1, 1, 1, tzinfo=UTC), "after_id": 0}


async def fill(database: Database) -> None:
    """An action a minute, of a thousand entities, by a hundred authors; some series."""
    async with database.connection() as connection:
        await connection.execute(
            """
            insert into sexton.content_schedules (
                id, namespace, entity_type, entity_id, action, adapter, created_by, created_at, job_id,
                timezone, recurrence_rule, scheduled_at
            )
            select number, 'default', case when number % 1000 = 0 then 'rare' else 'post' end,
                   (number % 1000)::text, 'publish', 'builtin', 'author ' || number % 100, $1, number, 'UTC',
                   case when number % 500 = 0 then 'FREQ=DAILY' end,
                   $1::timestamptz + number * interval '1 minute'
            from generate_series(1, $2::bigint) as number
            """,
            START,
            ACTIONS,
        )
        await connection.execute(
            """
            insert into sexton.timers
                (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
            select id, 0, 1, gen_random_uuid(), scheduled_at, scheduled_at, 1, 2 from sexton.content_schedules
            """
        )
        await connection.execute("analyze sexton.content_schedules, sexton.timers")


async def read(database: Database, name: str, **given: Any) -> dict[str, int]:
    """The rows of actions that a statement reads, by index."""
    statement = load_all()[f"content/{name}"]
    async with database.connection() as connection, connection.transaction():
        await connection.execute("set local plan_cache_mode = force_custom_plan")
        plan = await explain(connection, statement.text, statement.arguments(given))
    return rows_read(plan, "content_schedules")


@pytest.fixture
def month() -> dict[str, Any]:
    return {"start": START + timedelta(days=3), "end": START + timedelta(days=33)}


async def test_lists_and_calendars_read_what_they_show(database: Database, month: dict[str, Any]) -> None:
    await fill(database)
    calendar = {**FILTERS, **PLACE, **month, "schedule_id": None, "cancelled": False, "limit": 101}
    assert await read(database, "list_calendar", **calendar) == {"content_schedules_time": 101}
    of_author = await read(database, "list_calendar", **{**calendar, "created_by": "author 7"})
    assert of_author == {"content_schedules_author": 101}
    of_type = await read(database, "list_calendar", **{**calendar, "entity_type": "rare"})
    assert of_type.keys() == {"content_schedules_type"}
    listed = {**FILTERS, **PLACE, "start": None, "end": None, "status": "failed", "look": 500, "limit": 101}
    found = await read(database, "list", **listed)
    assert found.keys() == {"content_schedules_time", "content_schedules_series"}
    assert sum(found.values()) <= 500 + ACTIONS // 500
    of_author = await read(database, "list", **{**listed, "status": "pending", "created_by": "author 7"})
    assert of_author["content_schedules_author"] == ACTIONS // 100
    pending = {"namespace": "default", "entity_type": "post", "entity_id": "7", "limit": 100}
    assert await read(database, "list_pending", **pending) == {"content_schedules_entity": ACTIONS // 1000}
