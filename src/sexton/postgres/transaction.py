"""How every command reaches the database: one context, one transaction, one place that opens and repeats it.

    @command
    async def pause(context: Context, ref: str, *, reason: str | None = None) -> JobView:
        row = await context.fetchrow("jobs/lock", job_id=…)

A caller passes a `Context`. Without an open transaction the command runs in one of its own, and again after a
deadlock. With one, such as that in which the answer to a request with an Idempotency-Key is stored, it runs
inside it, in a savepoint. A command that raises leaves nothing behind.

A `@query` only reads: it holds one connection for its statements, and no transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import asyncpg

from sexton.postgres.database import Connection, Database
from sexton.postgres.partitions import make_missing

NAMESPACE = "default"
SYSTEM = "system"
TRIES = 5
# Errors after which the same transaction can succeed.
REPEATABLE = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InvalidCachedStatementError,  # a table was altered
    asyncpg.OutdatedSchemaCacheError,
)

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Context:
    """The first argument of every command: where it acts, in which namespace, for whom, and at which time.

    `now` is None unless the caller sets the time, as tests do: the database's clock counts. `connection` is
    that of the open transaction, and None outside of one.
    """

    database: Database
    namespace: str = NAMESPACE
    actor: str = SYSTEM
    now: datetime | None = None
    connection: Connection | None = None
    #: Whether a command has opened the transaction, and repeats it if history has no partition for a row.
    repeated: bool = False

    async def fetch(self, statement: str, /, **parameters: Any) -> list[asyncpg.Record]:
        return await self.database.fetch(statement, on=self.connection, **parameters)

    async def fetchrow(self, statement: str, /, **parameters: Any) -> asyncpg.Record | None:
        return await self.database.fetchrow(statement, on=self.connection, **parameters)

    async def fetchval(self, statement: str, /, **parameters: Any) -> Any:
        return await self.database.fetchval(statement, on=self.connection, **parameters)

    async def execute(self, statement: str, /, **parameters: Any) -> None:
        await self.database.execute(statement, on=self.connection, **parameters)

    @property
    def open(self) -> Connection:
        """The connection, inside a command or a query."""
        if self.connection is None:
            raise RuntimeError("no connection is open: call this from a @command or a @query")
        return self.connection

    async def time(self) -> datetime:
        """The time that counts."""
        return self.now or await self.database.time(self.open)


Work = Callable[Concatenate[Context, Given], Awaitable[Result]]
Command = Callable[Concatenate[Context, Given], Coroutine[Any, Any, Result]]


def command(work: Work[Given, Result]) -> Command[Given, Result]:
    """Run in the caller's transaction, or in a new one. If history has no partition for a row, make it, and
    run again."""

    @wraps(work)
    async def run(context: Context, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        if context.connection is not None:
            return await _inside(context, context.connection, *args, **kwargs)
        for _ in range(TRIES - 1):
            try:
                return await _alone(context, *args, **kwargs)
            except REPEATABLE:
                continue
            except asyncpg.CheckViolationError as error:
                await make_missing(context.database, error, now=context.now)
        return await _alone(context, *args, **kwargs)

    async def _alone(context: Context, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        async with context.database.transaction() as connection:
            return await work(replace(context, connection=connection, repeated=True), *args, **kwargs)

    async def _inside(
        context: Context, connection: Connection, /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        try:
            async with connection.transaction():
                return await work(context, *args, **kwargs)
        except asyncpg.CheckViolationError as error:
            if context.repeated:
                raise
            await make_missing(context.database, error, now=context.now)
        async with connection.transaction():
            return await work(context, *args, **kwargs)

    return run


def query(work: Work[Given, Result]) -> Command[Given, Result]:
    """Hold one connection for all statements of a read: the caller's, or a new one."""

    @wraps(work)
    async def run(context: Context, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        if context.connection is not None:
            return await work(context, *args, **kwargs)
        async with context.database.connection() as connection:
            return await work(replace(context, connection=connection), *args, **kwargs)

    return run
