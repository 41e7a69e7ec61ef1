"""Redis as the queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sexton.engine.doorbells.base import Broker
from sexton.engine.doorbells.redis import RedisBroker
from tests.engine.doorbells.server import OwnServer, own_server
from tests.engine.doorbells.suite import BrokerSuite
from tests.servers.address import address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    address("SEXTON_TEST_REDIS_URL")
    with own_server("redis", tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.mark.servers
class TestRedis(BrokerSuite):
    @pytest.fixture(autouse=True)
    def _server(self, server: OwnServer) -> None:
        self.server = server

    def broker(self, cluster: str) -> Broker:
        return RedisBroker(self.server.url, cluster)

    async def stop(self) -> None:
        self.server.stop()

    async def start(self) -> None:
        self.server.start()
