"""The tests of commands on jobs play on one day in June 2026."""

from __future__ import annotations

import pytest_asyncio

from sexton.postgres.database import Database
from sexton.postgres.partitions import make_partitions
from tests.jobs.making import NOW


@pytest_asyncio.fixture
async def database(database: Database) -> Database:
    """With a place for what is recorded on that day."""
    await make_partitions(database, now=NOW, days=1)
    return database
