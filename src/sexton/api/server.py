"""The HTTP server: uvicorn, with bounds on what a caller may hold without sending a request.

A connection that does not send its headers in time, or stops in the middle of a body, is closed. There are at
most so many connections, fewer than the process may have open files, so that the database can always be
reached; at the bound the connection that has waited longest for its headers makes room.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sexton import clock
from sexton.api.guard import CONNECTION

if TYPE_CHECKING:
    from litestar import Litestar

HEADER_SECONDS = 10.0
# Between two pieces of a body.
BODY_SECONDS = 30.0
MOST_CONNECTIONS = 1000
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """One connection. `waiting_since` is when it began to wait for headers; None while a request is there."""

    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS
    most_connections = MOST_CONNECTIONS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.waiting_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: {}}
        if len(self.connections) > self.most_connections and not self._make_room():
            transport.write(FULL)
            transport.close()
            return
        self._watch(fresh=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.transport.is_closing():
            self._watch()

    def _watch(self, *, fresh: bool = False) -> None:
        """Headers have one deadline from their first byte on; a body has one after each piece."""
        state = self.conn.their_state
        if state is h11.IDLE and (fresh or self.conn.trailing_data[0]):
            if self.waiting_since is None:
                self._start(self.header_seconds)
                self.waiting_since = clock.monotonic()
            return
        self.waiting_since = None
        self._stop()
        if state is h11.SEND_BODY:
            self._start(self.body_seconds)

    def _start(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        if self.waiting_since is None and self.flow.read_paused:
            self._start(self.body_seconds)  # we are slow, not the caller
            return
        cycle: Any = self.cycle  # None before the first request
        if cycle is None or cycle.response_complete:
            self.transport.write(TOO_LATE)
        self.transport.close()

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its headers, if one does."""
        waiting = [
            each
            for each in self.connections
            if isinstance(each, BoundedProtocol) and each.waiting_since is not None
        ]
        if not waiting:
            return False
        min(waiting, key=lambda each: each.waiting_since or 0.0).transport.abort()
        return True


def most_connections() -> int:
    """Half of the files that this process may open, at most."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if limit < 0 else max(1, min(MOST_CONNECTIONS, limit // 2))


@contextlib.asynccontextmanager
async def serving(application: Litestar, listener: socket.socket, **bounds: float) -> AsyncIterator[None]:
    """Serve in this event loop for the block. `bounds` are attributes of `BoundedProtocol`."""

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # this process has its own way of stopping

    bounds = {"most_connections": most_connections(), **bounds}
    protocol = type("Protocol", (BoundedProtocol,), bounds)
    config = uvicorn.Config(
        application, http=protocol, log_level="warning", access_log=False, server_header=False
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
