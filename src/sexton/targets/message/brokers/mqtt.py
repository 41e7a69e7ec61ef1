"""MQTT 5: quality of service 1, headers as user properties, the idempotency key as correlation data."""

from __future__ import annotations

from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.connections.tls import context_of
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import CONNECT_SECONDS, FIELD, PUBLISH_SECONDS, Message

# Reasons of the protocol that stay: credentials, permissions, names, sizes.
REFUSALS = frozenset({0x81, 0x82, 0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x90, 0x95, 0x99, 0x9B})


class MqttPublisher:
    def __init__(self, client: aiomqtt.Client) -> None:
        self._client = client

    async def publish(self, message: Message) -> dict[str, Any]:
        if not message.topic or any(mark in message.topic for mark in "+#\0"):
            raise Refused(f"mqtt: {message.topic!r} is not a topic one can publish to")
        properties: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.UserProperty = list(message.headers.items())
        properties.ContentType = "application/json"
        properties.CorrelationData = message.number.encode()
        try:
            await self._client.publish(
                message.topic, message.body, qos=1, properties=properties, timeout=PUBLISH_SECONDS
            )
        except aiomqtt.MqttCodeError as error:
            raise _exception_of(error) from None
        return {"acknowledged": True}

    async def close(self) -> None:
        await self._client.__aexit__(None, None, None)


async def connect(address: Address, guard: Guard) -> MqttPublisher:
    host, port = address.hosts[0]
    client = aiomqtt.Client(
        host,
        port,
        username=address.user,
        password=address.password,
        protocol=aiomqtt.ProtocolVersion.V5,
        timeout=CONNECT_SECONDS,
        tls_context=context_of(address, FIELD),
    )
    try:
        await client.__aenter__()
    except aiomqtt.MqttCodeError as error:
        raise _exception_of(error) from None
    return MqttPublisher(client)


def _exception_of(error: aiomqtt.MqttCodeError) -> Exception:
    code = getattr(error.rc, "value", error.rc)
    return Refused(f"mqtt: {error}") if code in REFUSALS else ConnectionError(str(error))
