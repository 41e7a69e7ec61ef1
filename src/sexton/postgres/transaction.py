"""How every command reaches the database: one context, one transaction, one place that opens and repeats it.

    @command
    async def pause(context: Context, ref: str, *, reason: str | None = None) -> JobView:
        rows = await context.fetch("jobs/lock", job_ids=[…])

A caller passes a `Context`. Without an open transaction the command runs in one of its own, and again after a
deadlock. With one, such as that in which the answer to a request with an Idempotency-Key is stored, it runs
inside it, in a savepoint. A command that raises leaves nothing behind.

A command says what it has changed, and that is written to the audit at the end of the same transaction:

        context.changed("job.paused", job_id, name, before={"status": "active"}, after={"status": "paused"})

A `@query` only reads: it holds one connection for its statements, and no transaction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import asyncpg

from sexton.postgres.audit_entry import AuditEntry, Source, State, difference, multirange, state_text
from sexton.postgres.database import Connection, Database, by_column
from sexton.postgres.partitions import make_missing
from sexton.refusal import not_found

NAMESPACE = "default"
#: In the audit: what all namespaces share.
SHARED = "*"
SYSTEM = "sexton"
ITSELF = Source("sexton")
ENTRY = AuditEntry.__slots__
ENTRIES = (
    "actions", "actors", "namespaces", "object_ids", "object_names", "job_ids", "job_ranges", "reasons",
    "states_before", "states_after", "details",
)  # fmt: skip
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
    """The first argument of every command: the database, the namespace, the actor and the time; and, for the
    audit, the source, the request and the reason.

    `now` is None unless the caller sets the time, as tests do: then the database's clock counts. `connection`
    is that of the open transaction, and None outside of one.
    """

    database: Database
    namespace: str = NAMESPACE
    actor: str = SYSTEM
    now: datetime | None = None
    connection: Connection | None = None
    #: Whether a command has opened the transaction, and repeats it if history has no partition for a row.
    repeated: bool = False
    source: Source = ITSELF
    request_id: str | None = None
    reason: str | None = None
    #: What the open command has changed so far.
    entries: list[AuditEntry] | None = None

    # Statements. Their parameters `namespace`, `actor` and `now` are those of the context, unless the caller
    # gives others.

    async def fetch(self, statement: str, /, **parameters: Any) -> list[asyncpg.Record]:
        return await self.database.fetch(
            statement, on=self.connection, **self._with_own(statement, parameters)
        )

    async def fetchrow(self, statement: str, /, **parameters: Any) -> asyncpg.Record | None:
        own = self._with_own(statement, parameters)
        return await self.database.fetchrow(statement, on=self.connection, **own)

    async def require(self, kind: str, ref: object, statement: str, /, **parameters: Any) -> asyncpg.Record:
        """The row of a statement; without one, raise that there is no such `kind` of thing."""
        row = await self.fetchrow(statement, **parameters)
        if row is None:
            raise not_found(kind, ref)
        return row

    async def fetchval(self, statement: str, /, **parameters: Any) -> Any:
        own = self._with_own(statement, parameters)
        return await self.database.fetchval(statement, on=self.connection, **own)

    async def execute(self, statement: str, /, **parameters: Any) -> None:
        await self.database.execute(statement, on=self.connection, **self._with_own(statement, parameters))

    def prepared(self, statement: str, /, **parameters: Any) -> tuple[str, list[Any]]:
        """The text of a statement and its arguments, for a caller that runs it itself."""
        return self.database.prepared(statement, **self._with_own(statement, parameters))

    def _with_own(self, statement: str, parameters: dict[str, Any]) -> dict[str, Any]:
        for name in self.database.statement(statement).parameters_of_context:
            parameters.setdefault(name, getattr(self, name))
        return parameters

    @property
    def open(self) -> Connection:
        """The connection, inside a command or a query."""
        if self.connection is None:
            raise RuntimeError("no connection is open: call this from a @command or a @query")
        return self.connection

    @asynccontextmanager
    async def planned_anew(self, isolation: Literal["repeatable_read"] | None = None) -> AsyncIterator[None]:
        """Plan the statements of the block for their actual filters, so that each filter uses its index. A
        plan for all filters would read every row."""
        async with self.open.transaction(isolation=isolation):
            await self.open.execute("set local plan_cache_mode = force_custom_plan")
            yield

    async def time(self) -> datetime:
        """The time that counts."""
        return self.now or await self.database.time(self.open)

    def changed(
        self,
        action: str,
        object_id: str | None = None,
        object_name: str | None = None,
        *,
        before: State | None = None,
        after: State | None = None,
        job_id: int | None = None,
        jobs: Iterable[int] = (),
        namespace: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        detail: State | None = None,
    ) -> None:
        """For the audit: what this command has changed. Of two states the audit keeps only the differences;
        equal states without `detail` are no change. A change of many jobs is one entry, with their numbers in
        `jobs`. `namespace` is that of the changed object, if it is not the caller's; `SHARED`: it belongs to
        no namespace. `actor` names an actor that was not known before, as at a sign-in."""
        if self.entries is None:
            raise RuntimeError("no command is open: call this from a @command")
        if before is not None and after is not None:
            before, after = difference(before, after)
            if not before and not after and not detail:
                return
        self.entries.append(
            AuditEntry(
                action=action,
                actor=actor or self.actor,
                namespace=self.namespace if namespace is None else namespace,
                object_id=object_id,
                object_name=object_name,
                job_id=job_id,
                jobs=multirange(jobs),
                reason=self.reason if reason is None else reason,
                before=state_text(before),
                after=state_text(after),
                detail=state_text(detail),
            )
        )

    async def write_entries(self) -> None:
        """Write what was changed, in one statement."""
        if self.entries:
            await self.execute(
                "audit/write",
                now=self.now,
                face=self.source.face,
                address=self.source.address,
                request_id=self.request_id,
                **by_column(ENTRIES, ([getattr(entry, name) for name in ENTRY] for entry in self.entries)),
            )


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
            return await _recorded(replace(context, connection=connection, repeated=True), *args, **kwargs)

    async def _inside(
        context: Context, connection: Connection, /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        try:
            async with connection.transaction():
                return await _recorded(context, *args, **kwargs)
        except asyncpg.CheckViolationError as error:
            if context.repeated:
                raise
            await make_missing(context.database, error, now=context.now)
        async with connection.transaction():
            return await _recorded(context, *args, **kwargs)

    async def _recorded(context: Context, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """The outer command writes the changes of a command inside it, if that does not raise."""
        outer, own = context.entries, replace(context, entries=[])
        result = await work(own, *args, **kwargs)
        if outer is None:
            await own.write_entries()
        else:
            outer += own.entries or ()
        return result

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
