"""What the tests of a process share one after the other: an event loop, and warm connections on it.

A new session of PostgreSQL reads its catalogues and plans every statement for the first time: to make one job
takes it 27 ms of a processor, and 2 ms when it has done that before. Connections belong to their event loop,
so that is kept as well; otherwise a test ends as with a loop of its own.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sexton.postgres.database import Database

#: By this name the sessions are known that outlive a test.
NAME = "sexton kept"
SIZE = 5


class KeptLoop(asyncio.SelectorEventLoop):
    """Closing it makes it ready for the next test: the runner of a test has cancelled its tasks before, and
    ended its generators and threads; what was still to be called is forgotten."""

    def close(self) -> None:
        own: Any = self
        own._ready.clear()
        own._scheduled.clear()
        own._default_executor = None
        own._executor_shutdown_called = False
        own._asyncgens_shutdown_called = False
        for signal in list(own._signal_handlers):
            self.remove_signal_handler(signal)
        self.set_exception_handler(None)
        self.set_task_factory(None)

    def end(self) -> None:
        super().close()


class Keeper:
    """Lends out the connections, and knows when they cannot be lent out again."""

    def __init__(self) -> None:
        self.loop = KeptLoop()
        self._database: Database | None = None

    async def lend(self, url: str) -> Database:
        """A database for one test, which may do with it what it likes."""
        if asyncio.get_running_loop() is not self.loop:  # a test without a loop, whose fixtures have one
            return await Database.open(url, size=SIZE)
        if self._database is None:
            self._database = await Database.open(url, size=SIZE, name=NAME)
        kept = self._database
        return Database(kept.url, kept.servers, kept.schema, kept.pool, kept.timeout, pooled=kept.pooled)

    async def take_back(self, lent: Database) -> None:
        if self._database is None or lent.pool is not self._database.pool:
            await lent.close()
            return
        idle = lent.pool.get_idle_size()
        if lent.pool.is_closing() or lent.pool.get_size() != idle:
            # The test has closed them, or left one in use.
            self._database = None
            if not lent.pool.is_closing():
                lent.pool.terminate()
            return
        held = [await lent.pool.acquire() for _ in range(idle)]
        for connection in held:
            await connection.reset()
        for connection in held:
            await lent.pool.release(connection)

    def close(self) -> None:
        if self._database is not None:
            self.loop.run_until_complete(self._database.close())
