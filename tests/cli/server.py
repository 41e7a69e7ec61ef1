"""A server beside the test, in a thread of its own: commands wait for their answers, so they need one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from sexton.config import Settings
from sexton.engine.node import Node
from sexton.postgres.database import Database
from tests.api.conftest import serve

T = TypeVar("T")


class Server:
    """The API, with a scheduler and a worker if `roles` names them."""

    def __init__(
        self, database_url: str, roles: tuple[str, ...] = (), settings: Settings | None = None
    ) -> None:
        self._database_url = database_url
        self._roles = roles
        self._settings = settings or Settings()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._stack = AsyncExitStack()
        self.url = ""
        self.database: Database

    def __enter__(self) -> Server:
        self._thread.start()
        self.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the server's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _start(self) -> None:
        self.database = await Database.open(self._database_url, size=8)
        self._stack.push_async_callback(self.database.close)
        node = None
        if self._roles:
            node = Node(self._settings, self.database, roles=list(self._roles))
            await node.start()
            self._stack.push_async_callback(node.stop)
        api = await self._stack.enter_async_context(serve(self.database, self._settings, node))
        self.url = api.base
