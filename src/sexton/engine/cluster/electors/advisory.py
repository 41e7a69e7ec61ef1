"""Session advisory locks of PostgreSQL, on a connection of their own: free as soon as the session ends.

A stopped process keeps its session, and so its locks. So a lock counts only together with the lease of the
node: after the end of the lease, the node that should lead next ends the session of the lock's owner.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Awaitable, Collection
from typing import TypeVar

import asyncpg

from sexton import clock
from sexton.engine.cluster.electors.base import Elector, View, patience, unreachable
from sexton.engine.cluster.lease import trusted_until
from sexton.errors import InvalidField, Unavailable
from sexton.postgres.database import Database, close_connection
from sexton.postgres.servers import LOST, Servers, require_writable

T = TypeVar("T")

# How often two sessions are compared to find out whether they are really two.
LOOKS = 3


class AdvisoryElector(Elector):
    """One lock per shard, all on one session."""

    name = "advisory"

    def __init__(self, database: Database, *, lease_seconds: float, url: str | None = None) -> None:
        super().__init__()
        self._database = database
        self._servers = database.servers if url is None else Servers(url)
        self._lease = lease_seconds
        self._space = 0
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def open(self, cluster: str) -> None:
        # Locks belong to a database, which may have several schemas with a Sexton each.
        self._space = int.from_bytes(hashlib.blake2b(cluster.encode(), digest_size=4).digest()) >> 1
        try:
            await self._connect()
        except Unavailable:
            return  # renewing connects, and says what is wrong

    async def renew(self, view: View) -> set[int]:
        before = clock.monotonic()
        connection = self._connection or await self._connect()
        rows = await self._fetch(connection, "cluster/list_held_locks")
        # Locks of a server that is not the primary any more keep no other scheduler away.
        await self._answer(connection, require_writable(connection))
        self.trusted_until = trusted_until(before, self._lease)
        return {row["shard"] for row in rows} & view.epochs.keys()

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        connection = self._connection or await self._connect()
        got = await self._try(connection, shards)
        stuck = [shard for shard in shards if shard not in got]
        if stuck and await self._fetch(
            connection, "cluster/end_lock_holders", shards=stuck, lease_seconds=self._lease
        ):
            got |= await self._try(connection, stuck)
        return got

    async def release(self, shards: Collection[int]) -> None:
        if self._connection is not None:
            await self._fetch(self._connection, "cluster/unlock_shards", shards=list(shards))

    async def close(self) -> None:
        self.trusted_until = -math.inf
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self.backend_pids = []
            connection.remove_termination_listener(self._ended)
            await close_connection(connection)

    async def _try(self, connection: asyncpg.Connection[asyncpg.Record], shards: Collection[int]) -> set[int]:
        rows = await self._fetch(connection, "cluster/lock_shards", shards=list(shards))
        return {row["shard"] for row in rows}

    async def _connect(self) -> asyncpg.Connection[asyncpg.Record]:
        try:
            connection = await self._session()
            try:
                pid = await self._require_own_backend(connection)
            except BaseException:
                connection.terminate()
                raise
        except (*LOST, asyncpg.PostgresError) as error:
            raise unreachable(self.name, error) from error
        connection.add_termination_listener(self._ended)
        self._connection, self.backend_pids = connection, [pid]
        return connection

    async def _session(self) -> asyncpg.Connection[asyncpg.Record]:
        return await self._servers.connect(
            timeout=patience(self._lease),
            command_timeout=patience(self._lease),
            statement_cache_size=0,
            server_settings={"application_name": "sexton elector", "timezone": "UTC"},
        )

    async def _require_own_backend(self, connection: asyncpg.Connection[asyncpg.Record]) -> int:
        """Refuse a pooler that lends out a backend for a transaction: other clients would get our locks. Such
        a pooler invents a process number, and serves two clients with one backend."""
        pid: int = await connection.fetchval("select pg_backend_pid()")
        if pid == connection.get_server_pid():
            return pid
        other = await self._session()
        try:
            for _ in range(LOOKS):
                theirs = await other.fetchval("select pg_backend_pid()")
                ours = await connection.fetchval("select pg_backend_pid()")
                if theirs == ours or ours != pid:
                    raise InvalidField(
                        "pooled_elector",
                        "the elector advisory needs a session of its own, but a pooler such as PgBouncer in"
                        " transaction mode stands between Sexton and PostgreSQL",
                        field="elector",
                        hint="connect to PostgreSQL itself, or set SEXTON_ELECTOR=postgres",
                    )
        finally:
            await close_connection(other)
        return pid

    async def _fetch(
        self, connection: asyncpg.Connection[asyncpg.Record], statement: str, **parameters: object
    ) -> list[asyncpg.Record]:
        fetching = self._database.fetch(statement, on=connection, space=self._space, **parameters)
        return await self._answer(connection, fetching)

    async def _answer(self, connection: asyncpg.Connection[asyncpg.Record], asked: Awaitable[T]) -> T:
        try:
            return await asked
        except BaseException as error:
            # Also if we stopped waiting: the session may keep our locks for long. So this node must not list
            # it as its own any more, and the node that should lead next may end it.
            self._ended(connection)
            connection.terminate()
            if isinstance(error, (*LOST, asyncpg.PostgresError)):
                raise unreachable(self.name, error) from error
            raise

    def _ended(self, connection: object) -> None:
        """The session has ended, or will end, and with it our locks: another node may hold them."""
        if connection is self._connection:
            self._connection, self.backend_pids = None, []
            self.trusted_until = -math.inf
            self.on_lost()
