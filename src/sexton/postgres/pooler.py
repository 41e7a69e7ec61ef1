"""A pooler such as PgBouncer in transaction mode between us and PostgreSQL.

It lends out a backend for one transaction at a time, so there is no session: no LISTEN, no session advisory
locks, no prepared statements, and nothing that was set before is still set. It gives itself away by refusing
the settings of a new connection, or by a process number that it made up.

What a connection is to be like (`lock_timeout`, plans by key) is therefore said at the start of every
transaction, and statements outside of one get one of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

# How a pooler shows when it is taken for a PostgreSQL: it refuses settings, or statements got mixed up.
GIVEAWAYS = (
    asyncpg.ProtocolViolationError,
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidSQLStatementNameError,
)


class PooledConnection(_Connection):
    """Says at the start of every transaction what `settings` were given for the connection."""

    local = ""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        if query.startswith("BEGIN") and not args:
            return await super().execute(query + self.local, timeout=timeout)
        if not args or self.is_in_transaction():
            # Without arguments it may be something that refuses to be in a transaction.
            return await super().execute(query, *args, timeout=timeout)
        async with self.transaction():
            return await super().execute(query, *args, timeout=timeout)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        if self.is_in_transaction():
            return await super().fetch(query, *args, **options)
        async with self.transaction():
            return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        if self.is_in_transaction():
            return await super().fetchrow(query, *args, **options)
        async with self.transaction():
            return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        if self.is_in_transaction():
            return await super().fetchval(query, *args, **options)
        async with self.transaction():
            return await super().fetchval(query, *args, **options)


def connecting(name: str, settings: Mapping[str, str], *, pooled: bool) -> dict[str, Any]:
    """How to connect: what `asyncpg.connect` and `create_pool` are to be given besides the address."""
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
