"""Checks whether the database answers. Any caller may ask, so concurrent callers share one check."""

from __future__ import annotations

import asyncio

from sexton.errors import Unavailable
from sexton.postgres.database import Database

CHECK_SECONDS = 2.0


class DatabaseCheck:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._checking: asyncio.Task[str] | None = None

    async def state(self) -> str:
        """`reachable`, or what is wrong."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
        return await asyncio.shield(self._checking)

    async def _check(self) -> str:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._database.check()
        except TimeoutError:
            return f"no answer within {CHECK_SECONDS:g} s"
        except Unavailable as error:
            return error.message
        return "reachable"
