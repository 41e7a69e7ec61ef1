"""HTTP/2 with httpx, whose sockets connect to checked addresses only."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from sexton.connections.guard import Guard


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves and checks names itself, so that it connects to the address that was checked."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        try:
            found = await self._guard.resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for address in found:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise httpcore.ConnectError("Unix sockets are not allowed")

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


def guarded_transport(guard: Guard) -> httpx.AsyncHTTPTransport:
    """A transport for HTTP/2 only: negotiated over TLS, or from the first byte without TLS."""
    transport = httpx.AsyncHTTPTransport(http1=False, http2=True)
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=ssl.create_default_context(),
        max_connections=10,
        keepalive_expiry=300,
        http1=False,
        http2=True,
        network_backend=GuardedBackend(guard),
    )
    return transport
