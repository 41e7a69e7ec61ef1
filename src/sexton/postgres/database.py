"""The one store: a pool of connections to PostgreSQL, and the statements that Sexton runs on it.

Statements are files, one each, in `statements/`, and include what they share (`statement.py`). Every wait has
a deadline. If a connection is lost, or does not lead to the primary any more, callers get `Unavailable`: one
error to catch before they try again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import asyncpg
import msgspec

from sexton import clock
from sexton.errors import Unavailable
from sexton.postgres.pooler import GIVEAWAYS, connecting, is_own_backend
from sexton.postgres.servers import HOPELESS, LOST, NotPrimaryError, Servers, reason, require_writable
from sexton.postgres.statement import Statement, load_all

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

log = logging.getLogger("sexton")
T = TypeVar("T")

OLDEST = 14
ACQUIRE_SECONDS = 10.0
CLOSE_SECONDS = 2.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 5.0

# For connections whose statements all look rows up by key: nested loops over indexes, however many rows there
# are. The planner may not think so from statistics of a minute ago, when the table was empty or small.
BY_KEY = {
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
# The same for the rest of a transaction.
LOCALLY_BY_KEY = ";".join(f"set local {setting} = {value}" for setting, value in BY_KEY.items())

# Errors after which the same statement can work later: a row or a table is locked or altered; PostgreSQL runs
# out of something, such as disk, or stops.
NOT_NOW = (
    asyncpg.LockNotAvailableError,
    asyncpg.ObjectInUseError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutdatedSchemaCacheError,
)


class Database:
    """Open it with `Database.open`. All parts of a process share it."""

    def __init__(
        self,
        url: str,
        servers: Servers,
        schema: str,
        pool: asyncpg.Pool[asyncpg.Record],
        timeout: float,
        *,
        pooled: bool = False,
    ) -> None:
        self.url = url
        self.servers = servers
        self.schema = schema
        self.pool = pool
        self.timeout = timeout
        #: Whether a pooler is between this process and PostgreSQL: then there are no sessions.
        self.pooled = pooled
        self._statements = _statements(schema)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        schema: str = "sexton",
        size: int = 10,
        timeout: float = 30,
        name: str = "sexton",
        settings: Mapping[str, str] | None = None,
        primary: bool = True,
        beside: Database | None = None,
    ) -> Self:
        """`primary`: connect only to a server that can be written to. `beside`: another database of this
        address; both learn at once where the primary is."""
        try:
            servers = Servers(url, primary=primary) if beside is None else beside.servers
        except ValueError as error:
            raise unavailable(asyncpg.ClientConfigurationError(str(error))) from error
        wanted = {"jit": "off", "idle_in_transaction_session_timeout": "60s", **(settings or {})}

        async def make(*, pooled: bool) -> asyncpg.Pool[asyncpg.Record]:
            return await servers.pool(
                least=1,
                most=size,
                timeout=10,
                command_timeout=timeout,
                reset=keep_session,
                **connecting(name, wanted, pooled=pooled),
            )

        try:
            direct = await _direct(make)
            pool = direct or await _pooled(make)
        except (*LOST, asyncpg.PostgresError) as error:
            raise unavailable(error) from error
        database = cls(url, servers, schema, pool, timeout, pooled=direct is None)
        async with database.connection() as connection:
            version = connection.get_server_version()
        if version.major < OLDEST:
            await pool.close()
            raise Unavailable(
                "old_postgres",
                f"PostgreSQL {version.major} is too old",
                hint=f"use version {OLDEST} or newer",
            )
        return database

    async def close(self) -> None:
        await self.pool.close()

    def connecting(self, name: str, **settings: str) -> dict[str, Any]:
        """How to make further connections, each with settings of its own: arguments beside the address."""
        return connecting(name, settings, pooled=self.pooled)

    async def connect(
        self, name: str, *, timeout: float, command_timeout: float, **settings: str
    ) -> asyncpg.Connection[asyncpg.Record]:
        """A connection to the primary beside the pool, with settings of its own. Raises one of `LOST`."""
        return await self.servers.connect(
            timeout=timeout, command_timeout=command_timeout, **self.connecting(name, **settings)
        )

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        try:
            async with lent_by(self.pool) as connection:
                yield connection
        except LOST as error:
            raise unavailable(error) from error

    async def check(self) -> None:
        """Raise `Unavailable` unless there is a connection that can write."""
        async with self.connection() as connection:
            await require_writable(connection)

    @asynccontextmanager
    async def alone(self, lock: int) -> AsyncIterator[Connection | None]:
        """A connection for work that only one process does at a time; None if another process does it."""
        if self.pooled:
            # Without sessions the lock belongs to a transaction, which stays open beside the work.
            async with self.transaction() as guard:
                await guard.execute("set local idle_in_transaction_session_timeout = 0")
                if not await guard.fetchval("select pg_try_advisory_xact_lock($1)", lock):
                    yield None
                    return
                async with self.connection() as connection:
                    yield connection
            return
        async with self.connection() as connection:
            if not await connection.fetchval("select pg_try_advisory_lock($1)", lock):
                yield None
                return
            try:
                yield connection
            finally:
                await connection.execute("select pg_advisory_unlock($1)", lock)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def time(self, connection: Connection) -> datetime:
        """The time of the database's clock, which counts; the clock of this machine does not."""
        said: datetime = await connection.fetchval("select clock_timestamp()")
        return said

    # Running statements. `on` is a connection that the caller holds; without it, one of the pool is used.

    async def fetch(
        self, statement: str, /, *, on: Connection | None = None, **parameters: Any
    ) -> list[asyncpg.Record]:
        text, arguments = self.prepared(statement, **parameters)
        async with self._held(on) as connection:
            return await connection.fetch(text, *arguments)

    async def fetchrow(
        self, statement: str, /, *, on: Connection | None = None, **parameters: Any
    ) -> asyncpg.Record | None:
        text, arguments = self.prepared(statement, **parameters)
        async with self._held(on) as connection:
            return await connection.fetchrow(text, *arguments)

    async def fetchval(self, statement: str, /, *, on: Connection | None = None, **parameters: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        row = await self.fetchrow(statement, on=on, **parameters)
        return None if row is None else row[0]

    async def execute(self, statement: str, /, *, on: Connection | None = None, **parameters: Any) -> None:
        await self.fetch(statement, on=on, **parameters)

    def prepared(self, statement: str, /, **parameters: Any) -> tuple[str, list[Any]]:
        """The text of a statement and its arguments, for a caller that runs it itself."""
        found = self.statement(statement)
        return found.text, found.arguments(parameters)

    def statement(self, name: str) -> Statement:
        return self._statements[name]

    @asynccontextmanager
    async def _held(self, on: Connection | None) -> AsyncIterator[Connection]:
        if on is not None:
            yield on
            return
        async with self.connection() as connection:
            yield connection

    def sql(self, text: str) -> str:
        """A short piece of SQL that is not worth a file, for this database's schema."""
        return in_schema(text, self.schema)


@lru_cache(maxsize=16)
def _statements(schema: str) -> dict[str, Statement]:
    """Every statement for a schema. All files are read at once: a process must never read files of a newer
    version."""
    return {
        name: replace(statement, text=in_schema(statement.text, schema))
        for name, statement in load_all().items()
    }


def in_schema(text: str, schema: str) -> str:
    """Statements are written for the schema `sexton`."""
    return text if schema == "sexton" else text.replace("sexton.", f"{schema}.")


async def _direct(
    make: Callable[..., Awaitable[asyncpg.Pool[asyncpg.Record]]],
) -> asyncpg.Pool[asyncpg.Record] | None:
    """Connections to PostgreSQL itself; None if a pooler is in between."""
    try:
        pool = await make(pooled=False)
    except GIVEAWAYS:
        return None
    try:
        async with pool.acquire(timeout=10) as connection:
            if await is_own_backend(connection):
                return pool
    except GIVEAWAYS:
        pass
    except BaseException:
        pool.terminate()
        raise
    pool.terminate()
    return None


async def _pooled(
    make: Callable[..., Awaitable[asyncpg.Pool[asyncpg.Record]]],
) -> asyncpg.Pool[asyncpg.Record]:
    """Connections through a pooler. A pooler in statement mode refuses transactions, and Sexton needs them:
    so the first statement of a new connection is in one."""
    try:
        return await make(pooled=True)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if "statement pooling" not in str(error):
            raise
        raise Unavailable(
            "statement_pooling",
            "the pooler before PostgreSQL allows no transactions",
            hint="set its pool_mode to transaction or session, or connect to PostgreSQL itself",
        ) from error


async def keep_session(_connection: Connection) -> None:
    """Do not reset a session when its connection goes back to the pool: nothing in it needs a reset, and the
    statement would double the number of statements of an idle node."""


@asynccontextmanager
async def lent_by(pool: asyncpg.Pool[asyncpg.Record]) -> AsyncIterator[Connection]:
    """A connection of a pool. If it is read-only, its server is not the primary any more: then every
    connection of the pool is made again before its next use, to the server that is the primary by that
    time."""
    connection = await pool.acquire(timeout=ACQUIRE_SECONDS)
    try:
        yield connection
    except (asyncpg.ReadOnlySQLTransactionError, NotPrimaryError):
        await pool.expire_connections()
        raise
    finally:
        # asyncpg first cancels an abandoned statement; a server that is gone does not answer that.
        await pool.release(connection, timeout=CLOSE_SECONDS)


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until the database answers, however long that takes: a node may start before it. Raises errors that
    waiting does not cure."""
    pause = SHORTEST_PAUSE
    while True:
        try:
            return await attempt()
        except Unavailable as error:
            if error.code != "database_unavailable":
                raise
            log.warning("%s; trying again in %.1f s", error.message, pause)
        await clock.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def unavailable(error: BaseException) -> Unavailable:
    said = reason(error)
    if isinstance(error, HOPELESS):
        return Unavailable(
            "database_refused",
            f"the database refuses the connection: {said}",
            hint="check user, password and database of database_url",
        )
    what = f"the database cannot be reached: {said}"
    if isinstance(error, TimeoutError) and not str(error):
        what = "the database does not answer in time"
    elif isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        what = f"the database cannot be reached: it is read-only, so it is not the primary ({said})"
    return Unavailable("database_unavailable", what, hint="it is tried again")


def array_text(numbers: Sequence[float]) -> str:
    """Numbers as PostgreSQL writes an array, for `$1::text::bigint[]`. Given a list, asyncpg checks whether
    each element is a list itself, and that takes longer than everything else."""
    return "{" + msgspec.json.encode(numbers).decode()[1:-1] + "}"


def by_column(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Rows as parameters of a statement that takes an array of each column."""
    return dict(zip(names, zip(*rows, strict=True), strict=True))


async def close_connection(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Close the connection, or drop it if the server does not answer."""
    try:
        await connection.close(timeout=CLOSE_SECONDS)
    except (*LOST, asyncpg.PostgresError):
        connection.terminate()
