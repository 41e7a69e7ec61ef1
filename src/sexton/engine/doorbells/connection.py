"""The connection of a process to its broker: every wait has a deadline, and `up` says whether the broker
answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from sexton.engine.doorbells.base import Broker, Delivery, Notice, unreachable
from sexton.engine.doorbells.choice import MakeBroker
from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

T = TypeVar("T")

# How long to wait for an answer, beyond the time that the caller asked for.
PATIENCE = 5.0
CLOSE_SECONDS = 10.0


class BrokerConnection:
    """Has the calls of a broker. After a call that fails or takes too long, the next call connects again."""

    def __init__(self, database: Database, make: MakeBroker) -> None:
        self._database = database
        self._make = make
        self._broker: Broker | None = None
        self.up = False
        self.problem: str | None = "the broker has not been reached yet"

    async def publish(self, notices: Sequence[Notice]) -> None:
        broker = await self._connected()
        await self._answer(broker.publish(notices), PATIENCE)

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        broker = await self._connected()
        return await self._answer(broker.receive(lanes, limit, seconds), seconds + PATIENCE)

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        broker = await self._connected()
        await self._answer(broker.acknowledge(deliveries), PATIENCE)

    async def close(self) -> None:
        self.up = False
        await self._disconnect()

    async def _connected(self) -> Broker:
        if self._broker is None:
            row = await self._database.fetchrow("cluster/read_name")
            assert row is not None
            self._broker = self._make(row["name"])
        return self._broker

    async def _answer(self, call: Awaitable[T], seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                answer = await call
        except Exception as error:
            await self._lost(error)
            if isinstance(error, TimeoutError):
                assert self.problem is not None
                raise Unavailable("queue_unavailable", self.problem) from error
            raise
        if not self.up:
            log.info("the broker answers")
        self.up, self.problem = True, None
        return answer

    async def _lost(self, error: Exception) -> None:
        known = error
        if isinstance(error, TimeoutError):
            known = unreachable(self._broker.name if self._broker else "", TimeoutError("no answer"))
        self.up, self.problem = False, str(known)
        await self._disconnect()

    async def _disconnect(self) -> None:
        broker, self._broker = self._broker, None
        if broker is not None:
            # A broken connection may fail to close as well; it is not needed any more.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await broker.close()
