"""Being a node: a row in `nodes`, with a lease that its process renews.

A scheduler, a worker and an api are nodes in the same way. A node trusts its lease (`lease`) until a margin
before its end, and starts nothing after that. Only a node whose lease was steady for a whole lease may
declare others dead: after an outage of the database the lease of every node has ended, although none of them
is dead.

A node reads in its row what its last beat has written. If it reads an older beat, the database has gone back
in time: a failover has lost acknowledged transactions. Then ids go on far beyond those that were given out.

A node that was declared dead finds no row to renew. It forgets its number, and joins again with a new one;
what it held under the old number belongs to others now.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import asyncpg
import msgspec

from sexton import __version__, clock
from sexton.config import EVERY
from sexton.engine.cluster.application import Application
from sexton.engine.cluster.database_clock import DatabaseClock
from sexton.engine.cluster.lease import Lease
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import NAMESPACE

log = logging.getLogger("sexton")

# The state of a node, for `sexton cluster` and the other nodes.
Detail = Mapping[str, Any]
NONE: Detail = MappingProxyType({})


class Membership:
    """Joins, renews the lease, samples the database's clock, watches for a request to drain, and leaves.
    `node` is the number of this node, or None. `on_rewind` is called when the database has gone back in
    time."""

    def __init__(
        self,
        *,
        roles: Sequence[str],
        lease_seconds: float,
        time: DatabaseClock | None = None,
        name: str | None = None,
        app: Application | None = None,
        handlers: Sequence[str] = (),
        targets: Sequence[str] = (),
        queues: Sequence[str] = (),
        namespaces: Sequence[str] = (EVERY,),
        capacity: int = 0,
        on_rewind: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.time = time or DatabaseClock()
        self.lease = Lease(lease_seconds)
        self.node: int | None = None
        self.draining = False
        self._on_rewind = on_rewind
        #: What the last beat that was acknowledged has written.
        self._beat_at: datetime | None = None
        self._app = app
        self._facts = {
            "name": self.name,
            "roles": list(roles),
            "version": __version__,
            "app": None if app is None else app.name,
            "app_file": None if app is None else app.file,
            "handlers": list(handlers),
            "targets": list(targets),
            "queues": list(queues),
            "namespace": None if app is None else app.namespace or NAMESPACE,
            "namespaces": list(namespaces),
            "capacity": capacity,
        }

    def trusted(self) -> bool:
        """Whether the lease is surely still ours."""
        return self.node is not None and self.lease.trusted()

    def steady(self, seconds: float) -> bool:
        """Whether the lease was renewed without a gap for so long: only then may this node declare others
        dead."""
        return self.node is not None and self.lease.steady(seconds)

    async def join(self, database: Database, *, on: Connection | None = None, detail: Detail = NONE) -> int:
        """Become a node, and return its new number. Raises `Conflict` if another program has the name of its
        application."""
        if on is None:
            async with database.connection() as connection:
                return await self.join(database, on=connection, detail=detail)
        async with on.transaction():
            if self._app is not None:
                warning = await self._app.check(database, on, self.name.rsplit(":", 2)[0])
                if warning is not None:
                    log.warning("%s", warning)
            before = clock.monotonic()
            row = await database.fetchrow(
                "cluster/join",
                on=on,
                **self._facts,
                lease_seconds=self.lease.seconds,
                state="draining" if self.draining else "live",
                detail=self._detail(detail),
            )
        assert row is not None
        self.time.sample(row["now"], before, clock.monotonic())
        self.lease.lost()
        self.lease.renewed(before)
        self.node = number = int(row["id"])
        return number

    async def renew(
        self,
        database: Database,
        statement: str = "cluster/renew",
        *,
        on: Connection | None = None,
        running: int = 0,
        backend_pids: Sequence[int] = (),
        detail: Detail = NONE,
    ) -> asyncpg.Record | None:
        """Renew the lease; returns the row of the statement, or None if this node was declared dead: join
        again."""
        before = clock.monotonic()
        row = await database.fetchrow(
            statement,
            on=on,
            node=self.node,
            lease_seconds=self.lease.seconds,
            running=running,
            backend_pids=list(backend_pids),
            detail=self._detail(detail),
        )
        assert row is not None
        self.time.sample(row["now"], before, clock.monotonic())
        self.time.watch()
        if row["state"] is None:
            log.warning("this node (%s) was declared dead; it takes a new identity", self.name)
            self._forget()
            return None
        self.lease.renewed(before)
        self._watch_state(row["state"])
        await self._watch_time(database, on, row["last_beat_at"], row["beat_at"])
        return row

    async def drain(self, database: Database, *, on: Connection | None = None) -> None:
        """Record that this node is about to leave."""
        if self.node is not None:
            await database.execute(
                "cluster/set_node_state", on=on, nodes=[self.node], state="draining", before="live"
            )

    async def leave(self, database: Database, *, on: Connection | None = None) -> None:
        """End the membership. Do not call it during a renewal."""
        node = self.node
        self._forget()
        if node is not None:
            await database.execute("cluster/leave", on=on, node=node)

    async def _watch_time(
        self, database: Database, on: Connection | None, found: datetime, written: datetime
    ) -> None:
        """Notice that an acknowledged beat is gone."""
        last, self._beat_at = self._beat_at, written
        if last is not None and found < last:
            log.error(
                "the database has gone back in time: it has lost the commits of at least %.1f s; new ids "
                "begin far beyond the lost ones",
                (last - found).total_seconds(),
            )
            self._on_rewind()
            await database.execute("cluster/skip_ids", on=on)

    def _forget(self) -> None:
        self.node = self._beat_at = None
        self.lease.lost()

    def _watch_state(self, state: str) -> None:
        draining = state == "draining"
        if draining and not self.draining:
            log.warning("draining: this node hands its shards over, takes no more runs and finishes its own")
        elif self.draining and not draining:
            log.warning("this node no longer drains")
        self.draining = draining

    def _detail(self, more: Detail) -> str:
        return msgspec.json.encode({"skew_ms": round(self.time.skew_seconds * 1000), **more}).decode()
