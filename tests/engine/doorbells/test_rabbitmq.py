"""RabbitMQ as the queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sexton.engine.doorbells.base import Broker
from sexton.engine.doorbells.rabbitmq import RabbitBroker
from tests.engine.doorbells.server import OwnServer, own_server
from tests.engine.doorbells.suite import BrokerSuite
from tests.servers.address import address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    address("SEXTON_TEST_RABBITMQ_URL")
    with own_server("rabbitmq", tmp_path_factory.mktemp("rabbitmq")) as made:
        yield made


@pytest.mark.servers
class TestRabbit(BrokerSuite):
    @pytest.fixture(autouse=True)
    def _server(self, server: OwnServer) -> None:
        self.server = server

    def broker(self, cluster: str) -> Broker:
        return RabbitBroker(self.server.url, cluster)

    async def stop(self) -> None:
        self.server.stop()

    async def start(self) -> None:
        self.server.start()
