"""Kafka as the queue, played by librdkafka's mock cluster: Kafka's protocol, in the memory of one process.
It cannot be restarted at the same port, so what takes it away here is that it stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sexton.queues.base import Broker
from sexton.queues.kafka import KafkaBroker
from tests.queues.server import OwnServer, own_server
from tests.queues.suite import BrokerSuite
from tests.servers.address import address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    address("SEXTON_TEST_KAFKA_URL")
    with own_server("kafka", tmp_path_factory.mktemp("kafka")) as made:
        yield made


@pytest.mark.servers
class TestKafka(BrokerSuite):
    exact = False
    # It refuses the second member of a group: InvalidRequestError.
    shared = False

    @pytest.fixture(autouse=True)
    def _server(self, server: OwnServer) -> None:
        self.server = server

    def broker(self, cluster: str) -> Broker:
        return KafkaBroker(self.server.url, cluster)

    async def stop(self) -> None:
        self.server.freeze()

    async def start(self) -> None:
        self.server.thaw()
