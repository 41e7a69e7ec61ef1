"""What the tests of commands on jobs share: a fixed time, jobs, and a look into the tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sexton.jobs.create import create
from sexton.jobs.spec import JobSpec
from sexton.jobs.validation import read_spec
from sexton.jobs.view import JobView
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context

# A Wednesday, some seconds after a full minute.
NOW = datetime(2026, 6, 3, 12, 34, 56, 789, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def at(minutes: float) -> datetime:
    """So many minutes after 12:34 of that day: where `* * * * *` has its occurrences."""
    return NOW.replace(second=0, microsecond=0) + minutes * MINUTE


def spec(**fields: Any) -> JobSpec:
    return read_spec({"name": "report", "schedule": "* * * * *", **fields})


async def make(database: Database, now: datetime = NOW, **fields: Any) -> JobView:
    return await create(Context(database, now=now), spec(**fields))


def number(job: JobView | str) -> int:
    found = decode_id("j", job if isinstance(job, str) else job.job_id)
    assert found is not None
    return found


async def rows(database: Database, text: str, *arguments: Any) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        return [dict(row) for row in await connection.fetch(database.sql(text), *arguments)]


async def row(database: Database, text: str, *arguments: Any) -> dict[str, Any]:
    found = await rows(database, text, *arguments)
    assert len(found) == 1, found
    return found[0]


async def value(database: Database, text: str, *arguments: Any) -> Any:
    return next(iter((await row(database, text, *arguments)).values()))


async def timer(database: Database, job: JobView | str) -> dict[str, Any]:
    return await row(database, "select * from sexton.timers where job_id = $1", number(job))


async def runs(database: Database, job: JobView | str) -> list[dict[str, Any]]:
    """Live runs, oldest occurrence first."""
    return await rows(
        database, "select * from sexton.runs where job_id = $1 order by scheduled_at, id", number(job)
    )


async def history(database: Database, job: JobView | str) -> list[tuple[Any, ...]]:
    """(scheduled_at, until_at, occurrences, status, reason), in order."""
    found = await rows(
        database,
        """select scheduled_at, until_at, occurrences, status, reason from sexton.history
        where job_id = $1 order by scheduled_at""",
        number(job),
    )
    return [tuple(record.values()) for record in found]
