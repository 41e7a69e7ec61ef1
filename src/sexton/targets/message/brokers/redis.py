"""Redis: an entry of a stream, an element of a list, or a message on a channel."""

from __future__ import annotations

from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.redis import redis_client
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import CONNECT_SECONDS, FIELD, PUBLISH_SECONDS, Message

REFUSALS = (exceptions.AuthenticationError, exceptions.NoPermissionError, exceptions.DataError)


class RedisPublisher:
    def __init__(self, client: Redis) -> None:
        self._client = client

    async def publish(self, message: Message) -> dict[str, Any]:
        client: Any = self._client
        try:
            match message.redis_type:
                case "celery":
                    # Its workers take from the other end.
                    return {"length": await client.lpush(message.topic, message.body)}
                case "list":
                    return {"length": await client.rpush(message.topic, message.body)}
                case "channel":
                    return {"receivers": await client.publish(message.topic, message.body)}
            fields: dict[str, Any] = {**message.headers, "message": message.body}
            if message.key is not None:
                fields["key"] = message.key
            return {"id": (await client.xadd(message.topic, fields)).decode()}
        except REFUSALS as error:
            raise Refused(f"redis: {error}") from None
        except exceptions.ResponseError as error:
            if str(error).startswith("WRONGTYPE"):
                raise Refused(f"redis: {message.topic} is not a {message.redis_type}: {error}") from None
            raise

    async def close(self) -> None:
        await self._client.aclose()


async def connect(address: Address, guard: Guard) -> RedisPublisher:
    client = redis_client(
        address,
        field=FIELD,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=PUBLISH_SECONDS,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 0),
    )
    publisher = RedisPublisher(client)
    try:
        pinged: Any = client.ping()
        await pinged
    except REFUSALS as error:
        await publisher.close()
        raise Refused(f"redis: {error}") from None
    except BaseException:
        await publisher.close()
        raise
    return publisher
