"""A pooler such as PgBouncer in transaction mode between us and PostgreSQL.

It lends out a backend for one transaction at a time, so there is no session: no LISTEN, no session advisory
locks, no prepared statements, and no setting lasts beyond a transaction. Sexton recognises a pooler when it
refuses the settings of a new connection, or invents a process number.

So a connection applies its settings (`lock_timeout`, plans by key) at the start of every transaction, and
runs every other statement in its own transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

# Errors of a pooler where we expect a PostgreSQL: it refuses settings, or mixes up statements.
GIVEAWAYS = (
    asyncpg.ProtocolViolationError,
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidSQLStatementNameError,
)


class PooledConnection(_Connection):
    """Applies the settings of the connection at the start of every transaction."""

    local = ""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        if query.startswith("BEGIN") and not args:
            return await super().execute(query + self.local, timeout=timeout)
        if not args or self.is_in_transaction():
            # A statement without arguments may be one that PostgreSQL refuses inside a transaction.
            return await super().execute(query, *args, timeout=timeout)
        async with self.transaction():
            return await super().execute(query, *args, timeout=timeout)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._inside(super().fetch, query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._inside(super().fetchrow, query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        return await self._inside(super().fetchval, query, *args, **options)

    async def _inside(self, fetch: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        if self.is_in_transaction():
            return await fetch(*args, **options)
        async with self.transaction():
            return await fetch(*args, **options)


def connecting(name: str, settings: Mapping[str, str], *, pooled: bool) -> dict[str, Any]:
    """The arguments of `asyncpg.connect` and `create_pool` beside the address."""
    own = {"application_name": name, "timezone": "UTC"}
    if not pooled:
        return {"server_settings": {**own, **settings}}
    local = "".join(f"set local {setting} = '{value}';" for setting, value in settings.items())
    return {
        "server_settings": own,
        "statement_cache_size": 0,
        "connection_class": type("PooledConnection", (PooledConnection,), {"local": local}),
    }


async def is_own_backend(connection: asyncpg.Connection[asyncpg.Record] | Any) -> bool:
    """Whether PostgreSQL itself is at the other end."""
    pid: int = await connection.fetchval("select pg_backend_pid()")
    return pid == connection.get_server_pid()
