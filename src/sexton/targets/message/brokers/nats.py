"""NATS: a subject that a JetStream stream takes; the stream drops duplicates by their number."""

from __future__ import annotations

from typing import Any

from nats import errors
from nats.aio.client import Client
from nats.js import errors as stream_errors

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.nats import nats_client
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import CONNECT_SECONDS, FIELD, PUBLISH_SECONDS, Message


class NatsPublisher:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._stream = client.jetstream(timeout=PUBLISH_SECONDS)

    async def publish(self, message: Message) -> dict[str, Any]:
        headers = {**message.headers, "Nats-Msg-Id": message.number}
        if message.key is not None:
            headers["Sexton-Key"] = message.key
        try:
            answer = await self._stream.publish(message.topic, message.body, headers=headers)
        except (errors.MaxPayloadError, errors.BadSubjectError) as error:
            raise Refused(f"nats: {error}") from None
        except stream_errors.NoStreamResponseError:
            raise ConnectionError(f"no stream takes the subject {message.topic}") from None
        return {"stream": answer.stream, "sequence": answer.seq, "duplicate": bool(answer.duplicate)}

    async def close(self) -> None:
        await self._client.close()


async def connect(address: Address, guard: Guard) -> NatsPublisher:
    try:
        return NatsPublisher(await nats_client(address, field=FIELD, seconds=CONNECT_SECONDS))
    except ConnectionError as error:
        if "uthoriz" in str(error) or "uthentic" in str(error):
            raise Refused(f"nats: {error}") from None
        raise
