"""ZooKeeper as the elector."""

from __future__ import annotations

import pytest

from sexton.engine.cluster.electors.zookeeper import ZooKeeperElector
from sexton.postgres.database import Database
from tests.engine.cluster.electors.suite import ElectorSuite, host_and_port
from tests.servers.address import address


@pytest.mark.servers
class TestZooKeeper(ElectorSuite):
    def target(self, database: Database) -> tuple[str, int]:
        return host_and_port(address("SEXTON_TEST_ZOOKEEPER_URL"))

    def elector(self, database: Database, port: int, lease_seconds: float) -> ZooKeeperElector:
        return ZooKeeperElector(f"zookeeper://127.0.0.1:{port}", lease_seconds=lease_seconds)
