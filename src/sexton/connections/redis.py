"""A Redis client for an address."""

from __future__ import annotations

import ssl
from inspect import signature
from typing import Any

from redis.asyncio import ConnectionPool, Redis, SSLConnection, UnixDomainSocketConnection

from sexton.connections.address import Address
from sexton.connections.tls import context_of
from sexton.errors import InvalidField

# Whether this version of the client follows a server to another host that the server names.
CAN_BE_MOVED = "maint_notifications_config" in signature(ConnectionPool).parameters


class OwnTls(SSLConnection):
    """Takes a TLS context, like every other client."""

    def __init__(self, context: ssl.SSLContext, **options: Any) -> None:
        super().__init__(**options)
        self.ssl_context.context = context


def redis_client(address: Address, *, field: str, **options: Any) -> Redis:
    """A client that connects on first use. Raises `InvalidField` for an address that can never work."""
    given: dict[str, Any] = {
        "username": address.user,
        "password": address.password,
        "db": _number(address, field),
        **options,
    }
    if CAN_BE_MOVED:
        from redis.maint_notifications import MaintNotificationsConfig

        given["maint_notifications_config"] = MaintNotificationsConfig(enabled=False)
    if address.scheme == "unix":
        given |= {"connection_class": UnixDomainSocketConnection, "path": address.path}
    else:
        [(given["host"], given["port"])] = address.hosts
    if (context := context_of(address, field)) is not None:
        given |= {"connection_class": OwnTls, "context": context}
    return Redis.from_pool(ConnectionPool(**given))


def _number(address: Address, field: str) -> int:
    text = address.options.get("db", "0") if address.scheme == "unix" else address.path.strip("/") or "0"
    if not text.isdecimal():
        raise InvalidField(
            "bad_address",
            "the part after the host is not the number of a database",
            field=field,
            hint=f"write {address.scheme}://host:6379/0",
        )
    return int(text)
