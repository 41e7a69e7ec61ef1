"""Numbered SQL files, each applied once, in order, in a transaction of its own. A product keeps its own in a
folder `migrations/` of its package; the numbers are those of one sequence.

A file that begins with `-- no transaction` runs outside a transaction (CREATE INDEX CONCURRENTLY). An
advisory lock lets only one process migrate; checksums reveal an applied file that was changed afterwards.

While a newer version migrates the database, nodes of the version before still run, and may be restarted. The
line `-- works from: 7` in a file says: nodes that know step 7, but not this file, work with the tables that
it leaves. Such a file only adds, and changes nothing that those nodes use. The database keeps the number, so
that a node can read it for steps that it does not know. Without such a line, nodes that do not know the step
are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sexton.errors import Conflict, Unavailable
from sexton.postgres import locks
from sexton.postgres.database import Connection, Database, in_schema
from sexton.postgres.statement import folders

NO_TRANSACTION = "-- no transaction"
WORKS_FROM = re.compile(r"^-- works from: (\d+)$", re.MULTILINE)
# The step that makes the tables; the shards are made with them.
FIRST = 1


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def works_from(self) -> int:
        """The step that a node must know to work with the tables as this one leaves them."""
        found = WORKS_FROM.search(self.text)
        return int(found[1]) if found else self.number


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations of this version of Sexton, in order. They are read once: an upgrade may replace the
    files of a running process."""
    found = []
    for folder in folders("migrations"):
        for file in folder.iterdir():
            if file.name.endswith(".sql"):
                number, _, name = file.name.removesuffix(".sql").partition("_")
                found.append(Migration(int(number), name, file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


async def pending(database: Database, known: Sequence[Migration] | None = None) -> list[Migration]:
    """The known steps that are not applied. Refuses a database whose tables are too new for this version, or
    that was migrated with other files."""
    async with database.connection() as connection:
        return await _pending(database, connection, migrations() if known is None else known)


async def migrate(
    database: Database, *, shards: int = 64, known: Sequence[Migration] | None = None
) -> list[Migration]:
    """Apply the pending steps. Several processes may do so at once, and be killed."""
    known = migrations() if known is None else known
    if database.pooled:
        if await pending(database, known):
            raise Unavailable(
                "needs_session",
                "a migration needs a session of its own, which a pooler such as PgBouncer does not give",
                hint="name PostgreSQL itself, only for this: sexton migrate --database-url postgresql://…",
            )
        return []
    async with database.connection() as connection:
        await connection.execute("select pg_advisory_lock($1)", locks.MIGRATE)
        try:
            await connection.execute(f"create schema if not exists {database.schema}")
            await connection.execute(
                database.sql(
                    """create table if not exists sexton.migrations (
                        number integer primary key, name text not null, checksum text not null,
                        works_from integer not null,
                        applied_at timestamptz not null default clock_timestamp())"""
                )
            )
            todo = await _pending(database, connection, known)
            for migration in todo:
                await _apply(database, connection, migration, shards)
            return todo
        finally:
            await connection.execute("select pg_advisory_unlock($1)", locks.MIGRATE)


async def require_migrated(database: Database) -> None:
    todo = await pending(database)
    if todo:
        raise Unavailable(
            "not_migrated",
            f"the database is not migrated: {len(todo)} step{'s' if len(todo) > 1 else ''} to go",
            hint="run: sexton migrate",
        )


async def require_shards(database: Database, wanted: int) -> None:
    """Refuse a number of shards other than the one that the database was made with."""
    found = await shard_count(database)
    if found != wanted:
        raise Conflict(
            "shards_differ",
            f"the database has {found} shards, not {wanted}",
            hint=f"leave --shards out, or change it with: sexton reshard {wanted}",
        )


async def shard_count(database: Database, connection: Connection | None = None) -> int:
    return int(await database.fetchval("cluster/get_setting", on=connection, name="shards"))


async def _pending(database: Database, connection: Connection, known: Sequence[Migration]) -> list[Migration]:
    exists = await connection.fetchval("select to_regclass($1)", f"{database.schema}.migrations")
    rows = await connection.fetch(database.sql("select * from sexton.migrations")) if exists else []
    applied = {row["number"]: row for row in rows}
    numbers = {migration.number for migration in known}
    newer = [row for number, row in applied.items() if number not in numbers]
    needed = max((row["works_from"] for row in newer), default=0)
    if needed > max(numbers):
        raise Unavailable(
            "newer_database",
            f"the database was migrated by a newer Sexton (step {max(row['number'] for row in newer)}), "
            f"and works with those that know step {needed}; this one knows step {max(numbers)}",
            hint="upgrade this Sexton",
        )
    for migration in known:
        row = applied.get(migration.number)
        if row is not None and row["checksum"] != migration.checksum:
            raise Unavailable(
                "changed_migration",
                f"migration {migration.number} was changed after it had been applied",
                hint="restore the file, and add a new migration instead",
            )
    return [migration for migration in known if migration.number not in applied]


async def _apply(database: Database, connection: Connection, migration: Migration, shards: int) -> None:
    text = in_schema(migration.text, database.schema)
    if migration.text.startswith(NO_TRANSACTION):
        await connection.execute(text)
        await _record(database, connection, migration)
        return
    async with connection.transaction():
        await connection.execute(text)
        if migration.number == FIRST:
            # In the same transaction: tables without shards look migrated, but cannot work. The number of
            # shards is decided when the database is made; `sexton reshard` changes it.
            await database.execute("cluster/keep_setting", on=connection, name="shards", value=str(shards))
            await database.execute("cluster/make_shards", on=connection, shards=shards)
        await _record(database, connection, migration)


async def _record(database: Database, connection: Connection, migration: Migration) -> None:
    await connection.execute(
        database.sql(
            "insert into sexton.migrations (number, name, checksum, works_from) values ($1, $2, $3, $4)"
        ),
        migration.number,
        migration.name,
        migration.checksum,
        migration.works_from,
    )
