"""Advisory locks as the elector."""

from __future__ import annotations

from sexton.cluster.electors.advisory import AdvisoryElector
from sexton.postgres.database import Database
from tests.cluster.electors.suite import ElectorSuite, socket_of, through


class TestAdvisory(ElectorSuite):
    def target(self, database: Database) -> str:
        return socket_of(database)

    def elector(self, database: Database, port: int, lease_seconds: float) -> AdvisoryElector:
        return AdvisoryElector(database, lease_seconds=lease_seconds, url=through(database, port))
