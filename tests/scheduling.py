"""A scheduler under a test's control: rounds are made one by one, time is the database's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import asyncpg

from sexton.config import Settings
from sexton.engine.cluster.electors.base import Elector
from sexton.engine.cluster.leadership import Leadership
from sexton.engine.cluster.membership import Membership
from sexton.engine.scheduler.scheduler import Scheduler
from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context


class Stage:
    """One scheduler node, not running by itself."""

    made: ClassVar[list[Stage]] = []

    def __init__(self, database: Database, *, elector: Elector | None = None, **settings: Any) -> None:
        Stage.made.append(self)
        self.database = database
        # Nothing renews the lease: it outlasts a test on a busy machine, unless the test is about its end.
        self.settings = Settings(**{"lease_seconds": 600, **settings})
        self.membership = Membership(
            roles=["scheduler"], lease_seconds=self.settings.lease_seconds, name="test:1:aaaaaa"
        )
        self.leadership = Leadership(database, self.settings, self.membership, elector=elector)
        self.scheduler = Scheduler(database, self.settings, self.leadership)

    async def lead(self) -> Stage:
        """Join and take every shard that is free."""
        await self.leadership.setup()
        await self.leadership.tick()
        return self

    async def round(self) -> float:
        return await self.scheduler.tick()

    @classmethod
    async def close_all(cls) -> None:
        while cls.made:
            stage = cls.made.pop()
            await stage.scheduler.teardown()
            await stage.leadership.teardown()


async def add_job(database: Database, **fields: Any) -> int:
    """Make a job the ordinary way; its number."""
    spec = {"name": "job", "schedule": "0 * * * *", "target": {"handler": "sexton.noop"}, **fields}
    view = await create(Context(database), read_spec(spec))
    number = decode_id("j", view.job_id)
    assert number is not None
    return number


async def move_timer(database: Database, job: int, scheduled_at: datetime) -> None:
    """Pretend that the first unaccounted occurrence of a job is this one."""
    await execute(
        database,
        """update sexton.timers set due_at = $2::timestamptz + (due_at - scheduled_at), scheduled_at = $2
        where job_id = $1""",
        job,
        scheduled_at,
    )


async def execute(database: Database, statement: str, *arguments: Any) -> None:
    async with database.connection() as connection:
        await connection.execute(statement, *arguments)


async def fetch(database: Database, statement: str, *arguments: Any) -> list[asyncpg.Record]:
    async with database.connection() as connection:
        return await connection.fetch(statement, *arguments)


async def runs_of(database: Database, job: int) -> list[asyncpg.Record]:
    return await fetch(database, "select * from sexton.runs where job_id = $1 order by scheduled_at", job)


async def skips_of(database: Database, job: int) -> list[tuple[datetime, str, int]]:
    rows = await fetch(
        database,
        """select scheduled_at, reason, coalesce(occurrences, 1) as occurrences from sexton.history
        where job_id = $1 and status = 'skipped' order by scheduled_at""",
        job,
    )
    return [tuple(row) for row in rows]


async def now(database: Database) -> datetime:
    [[moment]] = await fetch(database, "select clock_timestamp()")
    assert isinstance(moment, datetime)
    return moment.astimezone(UTC)


def hour_before(moment: datetime, hours: int = 0) -> datetime:
    """The last full hour, or so many before it."""
    return moment.replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)
