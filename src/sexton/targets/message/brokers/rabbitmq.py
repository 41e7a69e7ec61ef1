"""RabbitMQ: persistent messages with publisher confirms; the broker returns a message that no queue takes."""

from __future__ import annotations

from typing import Any

import aio_pika
from aio_pika import exceptions
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aiormq.exceptions import ChannelAccessRefused

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.rabbitmq import rabbitmq_connection
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import CONNECT_SECONDS, FIELD, PUBLISH_SECONDS, Message

REFUSALS = (exceptions.ProbableAuthenticationError, exceptions.AuthenticationError)


class RabbitPublisher:
    def __init__(self, connection: AbstractConnection, channel: AbstractChannel) -> None:
        self._connection = connection
        self._channel = channel
        self._exchanges: dict[str, AbstractExchange] = {}

    async def publish(self, message: Message) -> dict[str, Any]:
        sent = aio_pika.Message(
            message.body,
            headers=dict(message.headers),
            message_id=message.number,
            correlation_id=message.correlation,
            content_encoding="utf-8",
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        try:
            exchange = await self._exchange(message.exchange)
            await exchange.publish(sent, message.topic, mandatory=True, timeout=PUBLISH_SECONDS)
        except ChannelAccessRefused as error:
            raise Refused(f"rabbitmq: {error}") from None
        except exceptions.DeliveryError as error:
            returned = isinstance(error, exceptions.PublishError)
            why = "no queue takes it" if returned else "the broker did not take it"
            raise ConnectionError(f"{why}: exchange {message.exchange!r}, key {message.topic!r}") from None
        return {"confirmed": True}

    async def close(self) -> None:
        await self._connection.close()

    async def _exchange(self, name: str) -> AbstractExchange:
        if not name:
            return self._channel.default_exchange
        if name not in self._exchanges:
            self._exchanges[name] = await self._channel.get_exchange(name, ensure=True)
        return self._exchanges[name]


async def connect(address: Address, guard: Guard) -> RabbitPublisher:
    try:
        connection = await rabbitmq_connection(address, field=FIELD, seconds=CONNECT_SECONDS)
    except REFUSALS as error:
        raise Refused(f"rabbitmq: {error}") from None
    try:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
    except BaseException:
        await connection.close()
        raise
    return RabbitPublisher(connection, channel)
