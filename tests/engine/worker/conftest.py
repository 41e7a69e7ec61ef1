"""A store to fill, and the queue in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sexton.engine.worker.queue import RunQueue
from sexton.postgres.database import Database
from tests.seeding import Store


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


@pytest_asyncio.fixture
async def queue(database: Database) -> AsyncIterator[RunQueue]:
    queue = RunQueue(database)
    await queue.open()
    yield queue
    await queue.close()
