"""A store to fill, and the queue in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from sexton import clock
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


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the monotonic clock on by some seconds."""
    real, passed = clock.monotonic, 0.0
    monkeypatch.setattr(clock, "monotonic", lambda: real() + passed)

    def move(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    return move
