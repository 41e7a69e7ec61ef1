"""The HTTP server: uvicorn, with limits for callers that hold a connection without sending a request.

A connection is closed if it does not send its headers in time, stops in the middle of a body, continues a
body that was answered already, or does not read its answers. The number of connections is limited to fewer
than the files that the process may open, so that the database can always be reached. At the limit, the
connection that has been idle for longest is closed; if none is, one whose body comes too slowly: some calls
need no credential, and a byte now and then must not hold a connection that others need.

Headers of proxies are ignored: every caller could send them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sexton import clock
from sexton.api.security.guard import CONNECTION, INODE

if TYPE_CHECKING:
    from sexton.api.application import App

log = logging.getLogger("sexton.api")

Handler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], Any]

HEADER_SECONDS = 10.0
HEADER_BYTES = 64 * 1024
# Between two pieces of a body.
BODY_SECONDS = 30.0
# At the limit of connections, a body that has had so much time must have come at this rate.
SLOW_SECONDS, SLOW_BYTES = 1.0, 10 * 1024
# For the caller to read something of its answer.
WRITE_SECONDS = 30.0
# For requests to end when the process stops: its runs and shards are given back afterwards.
STOP_SECONDS = 10
MOST_CONNECTIONS = 1000
# asyncio accepts this many before it reports the first of them. uvicorn has one number for this and for the
# connections that wait to be accepted.
ACCEPTED_AT_ONCE = 16
WAITING = 1024
# The message of asyncio if the process has no descriptor for another connection, and how often it is logged.
NOT_ACCEPTED = "socket.accept() out of system resource"
TELL_SECONDS = 10.0
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """One connection. `idle_since` is the time since which it has had no request; None during a request.
    `body_since` is the time since which it has sent the body of a request; None if it sends none."""

    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS
    write_seconds = WRITE_SECONDS
    slow_seconds = SLOW_SECONDS
    most_connections = MOST_CONNECTIONS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.idle_since: float | None = None
        self.body_since: float | None = None
        self._received = 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        # Whether the deadline for reading stays when more bytes arrive.
        self._final = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        # asyncio does this only for sockets that were made with the number of TCP. Without it, the second
        # part of an answer waits 40 ms for the client to acknowledge the first.
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            # For a caller that is gone without a word: the kernel would keep what is sent for a quarter of
            # an hour, and with it the place of a feed that says little.
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(self.write_seconds * 1000))
        inode = os.fstat(peer.fileno()).st_ino
        self.app_state = {**self.app_state, CONNECTION: {INODE: inode}}
        if len(self.connections) > self.most_connections and not self._make_room():
            transport.write(FULL)
            transport.close()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_reading()
        self._stop_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP, unless the connection is in the middle of another answer or after its end."""
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # this response answers the request that the bytes belong to
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_writing()
        self._await_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_writing()

    def _watch(self) -> None:
        """Set the deadline for reading. Headers have one deadline from their first byte. The rest of a body
        that was answered already has one deadline. Any other body has a deadline after each piece. Between
        two requests uvicorn has its own."""
        if self.transport.is_closing():
            return
        cycle: Any = self.cycle  # None before the first request
        answered = cycle is None or cycle.response_complete
        state = self.conn.their_state
        if state is not h11.SEND_BODY or answered:
            self.body_since = None
        elif self.body_since is None:
            self.body_since, self._received = clock.monotonic(), 0
        if state is h11.IDLE or answered:
            self.idle_since = clock.monotonic() if self.idle_since is None else self.idle_since
            if state is h11.IDLE and self.timeout_keep_alive_task is not None:
                self._stop_reading()
            elif not self._final:
                self._start_reading(self.header_seconds)
                self._final = True
            return
        self.idle_since = None
        self._stop_reading()
        if state is h11.SEND_BODY:
            self._start_reading(self.body_seconds)

    def _start_reading(self, seconds: float) -> None:
        self._stop_reading()
        self._reading = self.loop.call_later(seconds, self._late)

    def _stop_reading(self) -> None:
        self._final = False
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _late(self) -> None:
        if self.idle_since is None and self.flow.read_paused:
            self._start_reading(self.body_seconds)  # this process is slow, not the caller
            return
        if self.conn.our_state is h11.IDLE:
            self.transport.write(TOO_LATE)
        self.transport.close()

    def _await_reader(self, unsent: int) -> None:
        """Abort the connection unless some of these unsent bytes are sent in time."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left < unsent:
                self._await_reader(left)
            else:
                self.transport.abort()

        self._writing = self.loop.call_later(self.write_seconds, look)

    def _stop_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def is_slow(self, now: float) -> bool:
        """Whether it sends a body slower than it must at the limit, and not because this process does not
        read."""
        if self.body_since is None or self.flow.read_paused:
            return False
        seconds = now - self.body_since
        return seconds >= self.slow_seconds and self._received < seconds * SLOW_BYTES

    def _make_room(self) -> bool:
        """Close the connection that has been idle for longest, else that which has sent a body slowly for
        longest, if there is one."""
        others = [each for each in self.connections if isinstance(each, BoundedProtocol)]
        idle = [(each.idle_since, each) for each in others if each.idle_since is not None]
        if not idle:
            now = clock.monotonic()
            idle = [
                (each.body_since, each)
                for each in others
                if each.body_since is not None and each.is_slow(now)
            ]
        if not idle:
            return False
        _, oldest = min(idle, key=lambda each: each[0])
        # Its end is reported later: connections made before that must not choose it again.
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True


def most_connections() -> int:
    """At most half of the files that this process may open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if limit < 0 else max(1, min(MOST_CONNECTIONS, limit // 2))


@contextlib.asynccontextmanager
async def serving(application: App, listener: socket.socket, **bounds: float) -> AsyncIterator[None]:
    """Serve in this event loop for the block. `bounds` are attributes of `BoundedProtocol`."""

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # this process handles signals itself

    bounds = {"most_connections": most_connections(), **bounds}
    protocol = type("Protocol", (BoundedProtocol,), bounds)
    config = uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        # It warns of each request that is not HTTP: callers could fill the log.
        log_level="error",
        log_config=None,  # Sexton has its own
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=ACCEPTED_AT_ONCE,
    )
    server = Server(config)
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(SparseErrors(before))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not serving.done():
            await clock.sleep(0)
        listener.listen(WAITING)
        yield
    finally:
        application.stop_waiting()
        server.should_exit = True
        await serving
        await application.close()
        loop.set_exception_handler(before)


class SparseErrors:
    """Logs at intervals that connections cannot be accepted. asyncio would log it two thousand times a
    second, each time with a traceback."""

    def __init__(self, others: Handler | None) -> None:
        self._others = others
        self._told_at = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") != NOT_ACCEPTED:
            if self._others is None:
                loop.default_exception_handler(context)
            else:
                self._others(loop, context)
        elif clock.monotonic() - self._told_at >= TELL_SECONDS:
            self._told_at = clock.monotonic()
            log.error("no connection can be accepted: %s", context.get("exception"))
