"""The suite itself, and all that stands around a broker, on one that needs no server."""

from __future__ import annotations

import pytest

from sexton.engine.doorbells.base import Broker
from tests.engine.doorbells.memory import Memory, MemoryBroker
from tests.engine.doorbells.suite import BrokerSuite


class TestMemory(BrokerSuite):
    @pytest.fixture(autouse=True)
    def _memory(self) -> None:
        self.memory = Memory()

    def broker(self, cluster: str) -> Broker:
        return MemoryBroker(self.memory, cluster)

    async def stop(self) -> None:
        self.memory.down = True

    async def start(self) -> None:
        self.memory.lanes.clear()
        self.memory.down = False
