"""The address of the api: listening at it, and whether the api answers there."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from typing import TYPE_CHECKING

from sexton.errors import InvalidField, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

# How many ports after the one asked for are tried.
PORTS = 50


@contextlib.contextmanager
def listen(host: str, port: int, *, ports: int = PORTS) -> Iterator[socket.socket]:
    """A listening socket on the port, or on the next one that is free among so many."""
    try:
        family, *_, resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise InvalidField(
            "bad_host", f"{host} is not an address of this machine: {error.strerror}.", field="host"
        ) from error
    last = min(port + ports, 65536)
    for candidate in range(port, last):
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((resolved[0], candidate, *resolved[2:]))
                listener.listen(1024)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise InvalidField(
                    "bad_address",
                    f"{host}:{candidate} cannot be listened on: {error.strerror}.",
                    field="host" if error.errno == errno.EADDRNOTAVAIL else "port",
                    hint="choose others with --host and --port",
                ) from error
            yield listener
            return
    raise Unavailable(
        "no_free_port",
        f"The ports {port} to {last - 1} are all taken." if ports > 1 else f"The port {port} is taken.",
        hint="choose another with --port",
    )


async def answers(host: str, port: int) -> bool:
    """Whether the api says that it is ready."""
    request = f"GET /readyz HTTP/1.1\r\nHost: {_authority(host, port)}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection(_nearby(host), port)
            try:
                writer.write(request.encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def address_of(host: str, port: int) -> str:
    return f"http://{_authority(host, port)}"


def _authority(host: str, port: int) -> str:
    host = _nearby(host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _nearby(host: str) -> str:
    """The address to reach it at from here: `0.0.0.0` means all of them."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
