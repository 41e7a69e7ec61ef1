"""Node leases in PostgreSQL as the elector."""

from __future__ import annotations

from contextlib import AsyncExitStack

from sexton.engine.cluster.electors.postgres import PostgresElector
from sexton.postgres.database import Database
from tests.engine.cluster.electors.suite import ElectorSuite, socket_of, through


class TestPostgres(ElectorSuite):
    external = False

    def target(self, database: Database) -> str:
        return socket_of(database)

    def elector(self, database: Database, port: int, lease_seconds: float) -> PostgresElector:
        return PostgresElector()

    async def database(self, database: Database, port: int, stack: AsyncExitStack) -> Database:
        seen = await Database.open(through(database, port), size=2)
        stack.callback(seen.pool.terminate)
        return seen
