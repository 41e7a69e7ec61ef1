"""A connection to a RabbitMQ for an address."""

from __future__ import annotations

import aio_pika
from aio_pika.abc import AbstractConnection

from sexton.connections.address import Address
from sexton.connections.tls import context_of


async def rabbitmq_connection(address: Address, *, field: str, seconds: float) -> AbstractConnection:
    [(host, port)] = address.hosts
    return await aio_pika.connect(
        host=host,
        port=port,
        login="guest" if address.user is None else address.user,
        password="guest" if address.password is None else address.password,
        virtualhost=address.path.removeprefix("/") or "/",
        ssl=address.tls,
        ssl_context=context_of(address, field),
        timeout=seconds,
    )
