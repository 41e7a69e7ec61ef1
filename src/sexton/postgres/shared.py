"""One database for all callers at the same time: the first opens it, the last closes it.

The connections of asyncpg belong to the event loop that made them. So there is one database for each loop:
a program may call from several, such as that of a web server, of its test client, and of a thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from weakref import WeakKeyDictionary

from sexton.config import Settings
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import migrate, require_migrated
from sexton.postgres.server import PrivateServer, default_data_directory

#: Opens the database for the block; `patient`: waits for it if it cannot be reached, as a node does.
Opening = Callable[[bool], AbstractAsyncContextManager[Database]]


class SharedDatabase:
    """The database that `opening` opens, one for each event loop that asks."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._shares: WeakKeyDictionary[asyncio.AbstractEventLoop, _Share] = WeakKeyDictionary()

    @property
    def used(self) -> bool:
        """Whether it is open in some loop."""
        with self._lock:
            return any(share.users for share in self._shares.values())

    @asynccontextmanager
    async def held(self, *, patient: bool = False) -> AsyncIterator[Database]:
        """The database of the running loop, which stays open for the block."""
        with self._lock:
            share = self._shares.setdefault(asyncio.get_running_loop(), _Share())
        async with share.changing:
            if share.database is None:
                share.database = await share.closing.enter_async_context(self._opening(patient))
            share.users += 1
            database = share.database
        try:
            yield database
        finally:
            async with share.changing:
                share.users -= 1
                if not share.users:
                    share.database = None
                    await share.closing.aclose()


class _Share:
    """The database of one event loop."""

    def __init__(self) -> None:
        self.database: Database | None = None
        self.users = 0
        self.changing = asyncio.Lock()
        self.closing = AsyncExitStack()


@asynccontextmanager
async def configured_database(settings: Settings, name: str, *, patient: bool) -> AsyncIterator[Database]:
    """The database of the settings, or the private one. Only the private one is migrated automatically."""
    server = None
    url = settings.database_url
    if url is None:
        server = PrivateServer(settings.data or default_data_directory())
        url = await asyncio.to_thread(server.start)

    async def opening() -> Database:
        return await Database.open(
            url, schema=settings.schema, timeout=settings.statement_timeout_seconds, name=f"sexton {name}"
        )

    try:
        database = await (patiently(opening) if patient else opening())
        try:
            if server is not None:
                await migrate(database, shards=settings.shards)
            else:
                await require_migrated(database)
            yield database
        finally:
            await database.close()
    finally:
        if server is not None:
            await _release(server)


async def _release(server: PrivateServer) -> None:
    """Release in a thread, since it may take a while; at the end of the interpreter no thread can start."""
    try:
        releasing = asyncio.get_running_loop().run_in_executor(None, server.release)
    except RuntimeError:
        server.release()
    else:
        await releasing
