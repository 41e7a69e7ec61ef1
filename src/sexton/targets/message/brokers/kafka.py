"""Kafka: acknowledged by all replicas in sync, by a producer that does not double what it sends again."""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka_errors

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.kafka import kafka_options
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
    producer = AIOKafkaProducer(
        acks="all",
        enable_idempotence=True,
        request_timeout_ms=int(PUBLISH_SECONDS * 1000),
        metadata_max_age_ms=60_000,
        **kafka_options(address, field=FIELD),
    )
    _guard_brokers(producer, guard)
    try:
        await producer.start()
    except REFUSALS as error:
        await producer.stop()
        raise Refused(f"kafka: {type(error).__name__}: {error}") from None
    except BaseException:
        await producer.stop()
        raise
    return KafkaPublisher(producer)


def _guard_brokers(producer: AIOKafkaProducer, guard: Guard) -> None:
    """The brokers of a cluster are named by its answers: each is checked before it is dialled."""
    client: Any = producer.client
    dial = client._get_conn

    async def checked(node: Any, **options: Any) -> Any:
        broker = client.cluster.broker_metadata(node)
        if broker is not None:
            await guard.resolve(broker.host, broker.port)
        return await dial(node, **options)

    client._get_conn = checked
