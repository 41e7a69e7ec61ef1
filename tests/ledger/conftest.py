"""The ledger's tests play in June 2026."""

from __future__ import annotations

import pytest_asyncio

from sexton.postgres.database import Database


@pytest_asyncio.fixture(autouse=True)
async def june(database: Database) -> None:
    """Partitions for what the tests record; the database has them only around today."""
    async with database.connection() as connection:
        for table in ("history", "attempts", "run_logs"):
            await connection.execute(
                database.sql(
                    f"create table if not exists sexton.{table}_june partition of sexton.{table} "
                    "for values from ('2026-01-01') to ('2026-07-01')"
                )
            )
