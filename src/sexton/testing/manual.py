"""A clock that only moves when it is told to.

Sexton takes the time from the database. A database of `sexton.testing.scratch` reads it from a table, so that
one row sets the time for the scheduler, the worker and every command on jobs.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sexton import clock
from sexton.engine.cluster.database_clock import DatabaseClock
from sexton.postgres.database import Connection

# Before pg_catalog in the search path, these replace PostgreSQL's own functions; without a row they return
# the real time.
SEARCH_PATH = "sexton_clock, pg_catalog, public"
INSTALL = """
create schema sexton_clock;
create table sexton_clock.manual (at timestamptz not null);
create function sexton_clock.clock_timestamp() returns timestamptz language sql volatile
    return coalesce((select at from sexton_clock.manual), pg_catalog.clock_timestamp());
create function sexton_clock.statement_timestamp() returns timestamptz language sql volatile
    return coalesce((select at from sexton_clock.manual), pg_catalog.statement_timestamp());
"""
SET = "with old as (delete from sexton_clock.manual) insert into sexton_clock.manual values ($1)"


class ManualClock(DatabaseClock):
    """The time of a scratch database, as a scheduler reads it. It only moves forward."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = _aware(at)

    def set(self, at: datetime) -> None:
        """Set the time in memory; call `write` before anything reads it from the database."""
        if _aware(at) < self.at:
            raise ValueError(f"time only goes forward: it is {self.at.isoformat()}, not {at.isoformat()}")
        self.at = at.astimezone(UTC)
        self.offset = self.at.timestamp() - clock.monotonic()

    async def write(self, connection: Connection) -> None:
        """Set the time of the database to the time in memory."""
        await connection.execute(SET, self.at)

    def sample(self, said: datetime, before: float, after: float) -> None:
        """Ignore a sample: this clock is set, not estimated."""

    @property
    def known(self) -> bool:
        return True

    def now(self) -> float:
        """Seconds since 1970, plus half a microsecond, so that truncating to microseconds loses none."""
        return self.at.timestamp() + 5e-7


def _aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone: give it a tzinfo")
    return at.astimezone(UTC)
