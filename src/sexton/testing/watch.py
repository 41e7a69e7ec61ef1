"""Noticing who looks into the database of a test engine, before they see anything.

The engine carries runs out before it writes what became of them (`ahead`). A handler that schedules a job, a
test that lists runs, a web application in another thread: each must find everything as it would be had it
been written at its time. So every way into the database that an application has goes through a watch.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sexton.engine.worker.queue import RunQueue
from sexton.postgres.database import Connection, Database

# An event loop that does not answer for so long is blocked.
PATIENCE_SECONDS = 10.0


class Watch:
    """Counts those who look, from any thread. Made in the event loop of the engine."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._lookers = 0
        self._looked = False
        self._write: Callable[[], Awaitable[None]] | None = None

    @property
    def looked(self) -> bool:
        """Whether something may have been changed since `forget`."""
        with self._lock:
            return self._looked

    def forget(self) -> bool:
        """What was changed until now is read next; whether something may have been."""
        with self._lock:
            looked, self._looked = self._looked, False
            return looked

    def begin(self, write: Callable[[], Awaitable[None]]) -> bool:
        """From now on `write` is called before anything is seen. False: something is seen, or was changed."""
        with self._lock:
            if self._lookers or self._looked:
                return False
            self._write = write
            return True

    def end(self) -> None:
        """Everything is written."""
        with self._lock:
            self._write = None

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """The database is looked at, and may be changed, for as long as the block runs."""
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
    """The database that an application under test sees."""

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
    """The queue of a worker under test: what it lends to handlers is watched, what the worker does is not."""

    def __init__(self, database: Database, watch: Watch) -> None:
        super().__init__(database)
        self._watch = watch

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        async with self._watch.looking(), super().lent() as connection:
            yield connection
