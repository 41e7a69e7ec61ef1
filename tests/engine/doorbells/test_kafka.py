"""Kafka as the queue, played by librdkafka's mock cluster: Kafka's protocol, in the memory of one process.
It cannot be restarted at the same port, so what takes it away here is that it stands still."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from aiokafka.errors import InvalidReplicationFactorError

from sexton.config import load
from sexton.engine.doorbells.base import Broker
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.doorbells.kafka import KafkaBroker, _check_topics
from sexton.errors import InvalidField
from tests.engine.doorbells.server import OwnServer, own_server
from tests.engine.doorbells.suite import BrokerSuite
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


def test_a_topic_that_cannot_be_made_is_said() -> None:
    _check_topics(SimpleNamespace(topic_errors=[("made", 0, None), ("there", 36, None)]))
    with pytest.raises(
        InvalidReplicationFactorError, match=r"the topic sexton\.c\.1 could not be made: too few"
    ):
        _check_topics(SimpleNamespace(topic_errors=[("sexton.c.1", 38, "too few brokers")]))
    with pytest.raises(InvalidReplicationFactorError, match="InvalidReplicationFactorError"):
        _check_topics(SimpleNamespace(topic_errors=[("sexton.c.1", 38)]))


@pytest.mark.parametrize("partitions", ["0", "many", "100000"])
def test_a_number_of_partitions_that_cannot_be_is_refused(partitions: str) -> None:
    settings = load({"queue_url": f"kafka://host?partitions={partitions}"}, environment={})
    with pytest.raises(InvalidField, match="partitions is not a number of partitions"):
        choose_broker(settings)
