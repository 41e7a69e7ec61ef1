"""Kafka: all replicas in sync acknowledge, and the producer is idempotent."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka_errors
from aiokafka.client import ConnectionGroup

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.kafka import kafka_options
from sexton.connections.tls import NamedContext
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import FIELD, PUBLISH_SECONDS, Message

REFUSALS = (
    kafka_errors.MessageSizeTooLargeError,
    kafka_errors.InvalidTopicError,
    kafka_errors.TopicAuthorizationFailedError,
    kafka_errors.ClusterAuthorizationFailedError,
    kafka_errors.AuthenticationFailedError,
    kafka_errors.SaslAuthenticationFailed,
)


class KafkaPublisher:
    def __init__(self, producer: AIOKafkaProducer) -> None:
        self._producer = producer

    async def publish(self, message: Message) -> dict[str, Any]:
        try:
            record = await self._producer.send_and_wait(
                message.topic,
                message.body,
                key=None if message.key is None else message.key.encode(),
                headers=[(name, value.encode()) for name, value in message.headers.items()],
            )
        except REFUSALS as error:
            raise Refused(f"kafka: {type(error).__name__}: {error}") from None
        return {"partition": record.partition, "offset": record.offset}

    async def close(self) -> None:
        await self._producer.stop()


async def connect(address: Address, guard: Guard) -> KafkaPublisher:
    options = kafka_options(address, field=FIELD)
    producer = AIOKafkaProducer(
        acks="all",
        enable_idempotence=True,
        request_timeout_ms=int(PUBLISH_SECONDS * 1000),
        metadata_max_age_ms=60_000,
        **options,
    )
    _guard_brokers(producer, guard, options.get("ssl_context"))
    try:
        await producer.start()
    except REFUSALS as error:
        await producer.stop()
        raise Refused(f"kafka: {type(error).__name__}: {error}") from None
    except BaseException:
        await producer.stop()
        raise
    return KafkaPublisher(producer)


def _guard_brokers(producer: AIOKafkaProducer, guard: Guard, context: NamedContext | None) -> None:
    """Connect to each broker only at a checked address: the answers of the cluster name its brokers."""
    client: Any = producer.client
    dial, known = client._get_conn, client.cluster.broker_metadata
    checked: dict[Any, Any] = {}
    # Two brokers may share an address: while connecting, the context has the name of the right one.
    lock = asyncio.Lock()

    async def dial_checked(node: Any, **options: Any) -> Any:
        connection = client._conns.get((node, options.get("group", ConnectionGroup.DEFAULT)))
        if connection is not None and connection.connected():
            return connection
        async with lock:
            broker = known(node)
            if broker is not None:
                address = await guard.find(broker.host, broker.port)
                checked[node] = broker._replace(host=address)
                if context is not None:
                    context.names[address] = broker.host
            return await dial(node, **options)

    client._get_conn = dial_checked
    client.cluster.broker_metadata = lambda node: checked.get(node) or known(node)
