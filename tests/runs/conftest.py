"""The ledger's tests play in June 2026."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sexton.postgres.database import Database

TABLES = ("history", "attempts", "run_logs")

# Other tests may have made some of these days.
DROP_DAYS = """
do $$
declare made text;
begin
    for made in
        select format('%I.%I', schemaname, tablename) from pg_tables
        where schemaname = 'sexton' and tablename ~ '_20260[1-6][0-9]{2}$'
    loop
        execute 'drop table ' || made;
    end loop;
end
$$
"""


@pytest_asyncio.fixture(autouse=True)
async def june(database: Database) -> AsyncIterator[None]:
    """Partitions for what the tests record; the database has them only around today."""
    async with database.connection() as connection:
        await connection.execute(DROP_DAYS)
        for table in TABLES:
            await connection.execute(
                f"create table sexton.{table}_june partition of sexton.{table} "
                "for values from ('2026-01-01') to ('2026-07-01')"
            )
    yield
    async with database.connection() as connection:
        for table in TABLES:
            await connection.execute(f"drop table sexton.{table}_june")
