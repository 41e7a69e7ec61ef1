"""The contract of a broker for the message target: it connects to an address, and publishes until it is
closed.

`publish` returns once the broker has the message, with its answer. It raises `Refused` if the broker would
refuse again; after any other error a retry on a new connection makes sense.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from sexton.connections.address import Address
from sexton.connections.guard import Guard, RefusedAddress
from sexton.errors import InvalidField
from sexton.targets.base import Refused

# Where the address of a broker stands.
FIELD = "url"

CONNECT_SECONDS = 10.0
PUBLISH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Message:
    """`number` identifies the message: brokers recognise duplicates by it."""

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


async def connect(broker: str, url: str, guard: Guard) -> Publisher:
    """Connect, to addresses that may be reached."""
    try:
        address = await pinned(Address.read(url, field=FIELD), guard)
        opened: Awaitable[Publisher] = import_module(f"sexton.targets.message.brokers.{broker}").connect(
            address, guard
        )
        return await opened
    except RefusedAddress as error:
        raise Refused(f"the broker's address is refused: {error}") from None
    except InvalidField as error:
        raise Refused(f"{broker}: {error.field}: {error}") from None


async def pinned(address: Address, guard: Guard, field: str = FIELD) -> Address:
    """The address with checked IP addresses."""
    try:
        return await guard.pin(address, field=field)
    except RefusedAddress as error:
        raise Refused(f"the broker's address is refused: {error}") from None
