"""What a broker is to the message target: it connects to an address, and publishes until it is closed.

`publish` returns once the broker has the message, with what it said. It raises `Refused` for what the broker
would say no to again; anything else that goes wrong is worth a retry, on a new connection.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from sexton.connections.address import Address
from sexton.errors import InvalidField
from sexton.targets.base import Refused
from sexton.targets.http.outbound import RefusedAddress, check_address

# Where the address of a broker stands.
FIELD = "url"

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


async def connect(broker: str, url: str, *, private: bool) -> Publisher:
    """Connect, once every host of the address was looked up and may be reached."""
    try:
        address = Address.read(url, field=FIELD)
        await check_hosts(address, private=private)
        opened: Awaitable[Publisher] = import_module(f"sexton.targets.message.brokers.{broker}").connect(
            address
        )
        return await opened
    except InvalidField as error:
        raise Refused(f"{broker}: {error.field}: {error}") from None


async def check_hosts(address: Address, *, private: bool) -> None:
    """Refuse an address that may not be reached."""
    if address.scheme == "sqs":  # its host is a region
        return
    loop = asyncio.get_running_loop()
    for host, port in address.hosts:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for each in found:
            try:
                check_address(str(each[4][0]), private=private)
            except RefusedAddress as error:
                raise Refused(f"the broker's address is refused: {error}") from None
