"""Notices access to the database of a test engine, before it reads anything.

The engine carries runs out before it writes them (`ahead`). A handler that schedules a job, a test that lists
runs, a web application in another thread: each must see the database as if every run had been written at its
time. So all access of an application goes through a watch.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sexton.engine.worker.queue import RunQueue
from sexton.postgres.database import Connection, Database

# An event loop that does not answer for this long is blocked.
PATIENCE_SECONDS = 10.0


class Watch:
    """Counts the users of the database, from any thread. Make it in the event loop of the engine."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._lookers = 0
        self._looked = False
        self._write: Callable[[], Awaitable[None]] | None = None

    @property
    def looked(self) -> bool:
        """Whether the database may have been changed since `forget`."""
        with self._lock:
            return self._looked

    def forget(self) -> bool:
        """Reset `looked`; its previous value."""
        with self._lock:
            looked, self._looked = self._looked, False
            return looked

    def begin(self, write: Callable[[], Awaitable[None]]) -> bool:
        """From now on, call `write` before any access. False: the database is in use, or may have been
        changed."""
        with self._lock:
            if self._lookers or self._looked:
                return False
            self._write = write
            return True

    def end(self) -> None:
        """Stop calling `write`: everything is written."""
        with self._lock:
            self._write = None

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """The database is in use, and may be changed, during the block."""
        with self._lock:
            self._lookers += 1
            self._looked = True
            write = self._write
        try:
            if write is not None:
                await self._call(write)
            yield
        finally:
            with self._lock:
                self._lookers -= 1
                self._looked = True

    async def _call(self, write: Callable[[], Awaitable[None]]) -> None:
        if asyncio.get_running_loop() is self._loop:
            await write()
            return

        async def there() -> None:
            await write()

        written = asyncio.run_coroutine_threadsafe(there(), self._loop)
        try:
            await asyncio.wait_for(asyncio.wrap_future(written), PATIENCE_SECONDS)
        except TimeoutError:
            raise RuntimeError(
                "the event loop of the test engine is blocked: a handler that is a coroutine waits for a "
                "synchronous call which needs the application; await that call in a thread "
                "(asyncio.to_thread), or make the handler a plain function"
            ) from None


class WatchedDatabase(Database):
    """The database that an application under test uses."""

    watch: Watch | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        if self.watch is None:  # it is being opened
            async with super().connection() as connection:
                yield connection
            return
        async with self.watch.looking(), super().connection() as connection:
            yield connection


class WatchedQueue(RunQueue):
    """The queue of a worker under test: connections lent to handlers are watched, those of the worker are
    not."""

    def __init__(self, database: Database, watch: Watch) -> None:
        super().__init__(database)
        self._watch = watch

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        async with self._watch.looking(), super().lent() as connection:
            yield connection
