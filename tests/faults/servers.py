"""The PostgreSQL of a cluster: one that can be restarted in three ways, or a primary with its replica."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import asyncpg

from sexton.postgres.database import Database
from sexton.postgres.migrate import Migration, migrate
from sexton.postgres.server import PrivateServer
from tests.postgres.standby import Pair

POLL_SECONDS = 0.05


class Server:
    """A PostgreSQL that can be restarted in three ways."""

    def __init__(self, data: Path) -> None:
        self._private = PrivateServer(data)
        self._templates: set[str] = set()

    async def start(self) -> None:
        await asyncio.to_thread(self._private.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self._private.release)

    async def restart(self, how: signal.Signals) -> None:
        """SIGINT is a fast shutdown, SIGQUIT an immediate one, SIGKILL none at all."""
        await self.end(how)
        await self.start()

    async def end(self, how: signal.Signals) -> None:
        pid = int((self._private.cluster / "postmaster.pid").read_text("utf-8").split()[0])
        os.kill(pid, how)
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(POLL_SECONDS)

    @property
    def url(self) -> str:
        """The address of the one that can be written to."""
        return self._private.url

    @property
    def sockets(self) -> list[str]:
        """Those that the address of a node names, in its order."""
        return [socket_of(self._private)]

    def database_url(self, name: str) -> str:
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    async def template(self, shards: int) -> str:
        """The name of a migrated database to be copied: that takes a tenth of migrating another one."""
        name = f"migrated_{shards}"
        if name not in self._templates:
            await self.administer(f"create database {name}")
            await migrate_database(self.database_url(name), shards)
            self._templates.add(name)
        return name

    async def administer(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


class ReplicatedServer(Server):
    """A primary and its replica; the address of a node names the first `hosts` of them."""

    def __init__(self, data: Path, hosts: int) -> None:
        self.pair = Pair(data)
        self._private = self.pair.primary
        self._templates = set()
        self._hosts = [self.pair.primary, self.pair.replica][:hosts]

    async def start(self) -> None:
        await asyncio.to_thread(self.pair.make)

    async def stop(self) -> None:
        await asyncio.to_thread(self.pair.close)

    async def switch_over(self) -> None:
        await asyncio.to_thread(self.pair.switch_over)
        self._private = self.pair.primary

    async def fail_over(self) -> None:
        await asyncio.to_thread(self.pair.fail_over)
        self._private = self.pair.primary

    async def cut_replica_off(self) -> None:
        """What is acknowledged from now on is lost in a failover."""
        await asyncio.to_thread(self.pair.cut_replica_off)

    async def replicate_synchronously(self) -> None:
        """What is acknowledged has reached the replica."""
        await asyncio.to_thread(
            self.pair.run, self.pair.primary, "alter system set synchronous_standby_names = '*'"
        )
        await asyncio.to_thread(self.pair.run, self.pair.primary, "select pg_reload_conf()")

    @property
    def sockets(self) -> list[str]:
        return [socket_of(server) for server in self._hosts]


async def migrate_database(url: str, shards: int, known: Sequence[Migration] | None = None) -> None:
    database = await Database.open(url, size=1)
    try:
        await migrate(database, shards=shards, known=known)
    finally:
        await database.close()


def socket_of(server: PrivateServer) -> str:
    query = parse_qs(urlsplit(server.url).query)
    return f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
