"""RabbitMQ: a quorum queue per lane, published to with confirms through the default exchange.

A call consumes only while it lasts, with a prefetch of its limit: a permanent consumer would get more
messages with every acknowledgement, even without room.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import AMQPError
from pamqp.common import FieldValue

from sexton.connections.address import Address
from sexton.connections.rabbitmq import rabbitmq_connection
from sexton.engine.doorbells.base import FIELD, Broker, Delivery, Notice

CONNECT_SECONDS = 5.0

# A queue that no worker reads must not fill the disk: it drops the oldest notices, and the ringer rings
# again.
ARGUMENTS: dict[str, FieldValue] = {"x-queue-type": "quorum", "x-max-length": 100_000}


class RabbitBroker(Broker):
    """Queues `sexton.CLUSTER.LANE` in the virtual host of the address."""

    name = "rabbitmq"
    # Errors of the client, of the network, and of a client whose connection is gone.
    lost = (AMQPError, OSError, RuntimeError)

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        self.address: Address = Address.read(url, field=FIELD)
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._queues: dict[int, AbstractQueue] = {}

    async def publish(self, notices: Sequence[Notice]) -> None:
        with self.reached():
            channel = await self._open()
            for lane in {notice.lane for notice in notices}:
                await self._queue(lane)
            publish = channel.default_exchange.publish
            await asyncio.gather(
                *(publish(self._message(notice), self.name_of(notice.lane)) for notice in notices)
            )

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        found: list[AbstractIncomingMessage] = []
        arrived = asyncio.Event()

        async def take(message: AbstractIncomingMessage) -> None:
            found.append(message)
            arrived.set()

        with self.reached():
            channel = await self._open()
            # The prefetch is per queue, the limit for all of them.
            chosen = random.sample(lanes, min(len(lanes), limit))
            await channel.set_qos(prefetch_count=limit // len(chosen))
            queues = [await self._queue(lane) for lane in chosen]
            tags = [await queue.consume(take) for queue in queues]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _either(arrived, channel)
            # Messages that were sent before the answer to the cancel have arrived with it.
            for queue, tag in zip(queues, tags, strict=True):
                await queue.cancel(tag)
            if channel.is_closed:
                raise OSError("the connection was lost")
        return [Delivery(message.body, message) for message in found]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        with self.reached():
            for delivery in deliveries:
                await delivery.tag.ack()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        self._channel = None
        self._queues.clear()
        if connection is not None:
            await connection.close()

    def _message(self, notice: Notice) -> aio_pika.Message:
        mode = aio_pika.DeliveryMode.PERSISTENT
        return aio_pika.Message(self.encode(notice), content_type="application/json", delivery_mode=mode)

    async def _open(self) -> AbstractChannel:
        if self._connection is None or self._connection.is_closed:
            self._connection = await rabbitmq_connection(self.address, field=FIELD, seconds=CONNECT_SECONDS)
            self._channel = None
        if self._channel is None or self._channel.is_closed:
            self._queues.clear()
            self._channel = await self._connection.channel(publisher_confirms=True)
        return self._channel

    async def _queue(self, lane: int) -> AbstractQueue:
        if lane not in self._queues:
            channel = await self._open()
            self._queues[lane] = await channel.declare_queue(
                self.name_of(lane), durable=True, arguments=ARGUMENTS
            )
        return self._queues[lane]


async def _either(arrived: asyncio.Event, channel: AbstractChannel) -> None:
    """Wait until a message has arrived, or the channel is closed."""
    closed = asyncio.ensure_future(channel.closed())
    came = asyncio.ensure_future(arrived.wait())
    try:
        await asyncio.wait((closed, came), return_when=asyncio.FIRST_COMPLETED)
    finally:
        closed.cancel()
        came.cancel()
