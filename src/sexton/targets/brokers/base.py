"""What a broker is to the message target: it connects to an address, and publishes until it is closed.

`publish` returns once the broker has the message, with what it said. It raises `Refused` for what the broker
would say no to again; anything else that goes wrong is worth a retry, on a new connection.
"""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from sexton.targets.base import Refused
from sexton.targets.outbound import RefusedAddress, check_address

CONNECT_SECONDS = 10.0
PUBLISH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Message:
    """`number` names the message: brokers that know duplicates know them by it."""

    topic: str
    body: bytes
    number: str
    key: str | None = None
    headers: Mapping[str, Any] = field(default_factory=dict)
    exchange: str = ""
    redis_type: str = "stream"
    correlation: str | None = None


class Publisher(Protocol):
    async def publish(self, message: Message) -> dict[str, Any]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """An address taken apart; `options` is what follows the question mark."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    user: str | None
    password: str | None
    path: str
    options: Mapping[str, str]

    @classmethod
    def read(cls, url: str, port: int) -> Address:
        try:
            parts = urlsplit(url)
            login, _, places = parts.netloc.rpartition("@")
            user, has_password, password = login.partition(":")
            hosts = tuple(_host(place, port) for place in places.split(",") if place)
        except ValueError:
            raise Refused("the broker's address cannot be read") from None
        return cls(
            scheme=parts.scheme,
            hosts=hosts,
            user=unquote(user) or None,
            password=unquote(password) if has_password else None,
            path=parts.path,
            options={name: values[-1] for name, values in parse_qs(parts.query).items()},
        )


Connect = Callable[[str], Awaitable[Publisher]]


@dataclass(frozen=True, slots=True)
class Broker:
    """`library` is the client it needs, `port` where it listens unless the address says otherwise."""

    module: str
    library: str
    port: int


BROKERS: Mapping[str, Broker] = {
    "kafka": Broker("sexton.targets.brokers.kafka", "aiokafka", 9092),
    "rabbitmq": Broker("sexton.targets.brokers.rabbitmq", "aio_pika", 5672),
    "nats": Broker("sexton.targets.brokers.nats", "nats", 4222),
    "redis": Broker("sexton.targets.brokers.redis", "redis", 6379),
    "sqs": Broker("sexton.targets.brokers.sqs", "aiobotocore", 443),
    "mqtt": Broker("sexton.targets.brokers.mqtt", "aiomqtt", 1883),
}


def available(broker: str) -> bool:
    """Whether its client is installed here."""
    return importlib.util.find_spec(BROKERS[broker].library) is not None


async def connect(broker: str, url: str, *, private: bool) -> Publisher:
    """Connect, once every host of the address was looked up and may be reached."""
    known = BROKERS[broker]
    address = Address.read(url, known.port)
    if address.scheme not in ("unix", "sqs"):
        await check_hosts(address, private=private)
    opened: Awaitable[Publisher] = import_module(known.module).connect(url, address)
    return await opened


async def check_hosts(address: Address, *, private: bool) -> None:
    loop = asyncio.get_running_loop()
    for host, port in address.hosts:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for each in found:
            try:
                check_address(str(each[4][0]), private=private)
            except RefusedAddress as error:
                raise Refused(f"the broker's address is refused: {error}") from None


def _host(place: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    if not parts.hostname:
        raise ValueError(place)
    return parts.hostname, parts.port or port
