"""Counts the live runs of namespaces with a quota, beside the firing: a count may read all runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import asyncpg

from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")


class LiveCount:
    """Runs one count at a time, and calls `wake` at its end. Timers that need it are tried again
    meanwhile."""

    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._database = database
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._fresh: set[str] = set()

    def start(self, namespaces: Sequence[str]) -> None:
        """Count the live runs of these namespaces, unless a count is under way."""
        if namespaces and self._task is None:
            self._task = asyncio.create_task(self._count(list(namespaces)), name="counting live runs")

    async def _count(self, namespaces: list[str]) -> None:
        try:
            await self._database.execute("firing/count_live", namespaces=namespaces, now=None)
            self._fresh.update(namespaces)
        except (Unavailable, asyncpg.PostgresError) as error:
            log.warning("the live runs of %s cannot be counted: %s", ", ".join(namespaces), error)
        finally:
            self._task = None
            self._wake()

    def take_fresh(self) -> list[str]:
        """The namespaces that were counted since the last firing: the next firing uses these counts, however
        old."""
        fresh, self._fresh = list(self._fresh), set()
        return fresh

    @property
    def running(self) -> bool:
        return self._task is not None

    async def wait(self) -> None:
        """Wait for a count that is under way."""
        if self._task is not None:
            await asyncio.wait((self._task,))
