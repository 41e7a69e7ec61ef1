"""A broker in the memory of the test: the suite is tried on it everywhere, with no server at hand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from sexton.engine.doorbells.base import Broker, Delivery, Notice
from sexton.errors import Unavailable


@dataclass
class Memory:
    """What a server would keep. `down`: it does not answer."""

    lanes: dict[str, deque[bytes]] = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    down: bool = False


class MemoryBroker(Broker):
    name = "memory"

    def __init__(self, memory: Memory, cluster: str) -> None:
        super().__init__("memory://", cluster)
        self._memory = memory
        self._in_hand: dict[int, tuple[str, bytes]] = {}
        self._number = 0

    async def publish(self, notices: Sequence[Notice]) -> None:
        self._check()
        async with self._memory.changed:
            for notice in notices:
                self._lane(self.name_of(notice.lane)).append(self.encode(notice))
            self._memory.changed.notify_all()

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        self._check()
        places = [self.name_of(lane) for lane in lanes]
        async with self._memory.changed:
            try:
                async with asyncio.timeout(seconds):
                    await self._memory.changed.wait_for(
                        lambda: self._memory.down or any(self._lane(place) for place in places)
                    )
            except TimeoutError:
                return []
            self._check()
            found: list[Delivery] = []
            for place in places:
                waiting = self._lane(place)
                while waiting and len(found) < limit:
                    self._number += 1
                    body = waiting.popleft()
                    self._in_hand[self._number] = (place, body)
                    found.append(Delivery(body, self._number))
            return found

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        self._check()
        for delivery in deliveries:
            self._in_hand.pop(delivery.tag, None)

    async def close(self) -> None:
        async with self._memory.changed:
            for place, body in self._in_hand.values():
                self._lane(place).append(body)
            self._in_hand.clear()
            self._memory.changed.notify_all()

    def _lane(self, place: str) -> deque[bytes]:
        return self._memory.lanes.setdefault(place, deque())

    def _check(self) -> None:
        if self._memory.down:
            raise Unavailable("queue_unavailable", "the broker memory cannot be reached")
