"""Connections that send no request do not keep others from being answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sexton.api.application import make_app
from sexton.api.server import BoundedProtocol, serving
from sexton.config import Settings
from sexton.engine.up.listen import listen
from sexton.postgres.database import Database
from tests.waiting import PATIENCE, until

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
LONG = 600.0


@asynccontextmanager
async def server(database: Database, **bounds: float) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with serving(make_app(database, Settings()), listener, **bounds):
            yield listener.getsockname()[1]


async def ask(port: int, sent: bytes) -> bytes:
    """Everything that comes back until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.asyncio
@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEAD])
async def test_headers_that_do_not_come_are_not_waited_for(database: Database, sent: bytes) -> None:
    async with server(database, header_seconds=0.05, body_seconds=LONG) as port:
        assert b" 408 " in await ask(port, sent)


@pytest.mark.asyncio
@pytest.mark.parametrize("line", [b"x: " + b"y" * 70_000, b"x: y\r\n" * 12_000])
async def test_headers_are_not_read_without_end(database: Database, line: bytes) -> None:
    async with server(database) as port:
        assert b" 200 " in await ask(port, HEAD + b"x: " + b"y" * 30_000 + b"\r\nConnection: close\r\n\r\n")
        assert b" 400 " in await ask(port, HEAD + line)


@pytest.mark.asyncio
async def test_answers_are_sent_without_delay(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener of `sexton up` is made without the number of TCP, which asyncio looks at."""
    seen: list[int] = []
    made = BoundedProtocol.connection_made

    def watched(self: BoundedProtocol, transport: asyncio.Transport) -> None:
        made(self, transport)
        peer = transport.get_extra_info("socket")
        seen.append(peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(BoundedProtocol, "connection_made", watched)
    with listen("127.0.0.1", 0) as listener:
        async with serving(make_app(database, Settings()), listener):
            await ask(listener.getsockname()[1], HEAD + b"Connection: close\r\n\r\n")
    assert seen == [1]


@pytest.mark.asyncio
async def test_a_process_without_descriptors_says_so_once(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio tries to accept as often as the listener has places, and tells of each failure."""
    async with server(database) as port:
        await ask(port, HEAD + b"Connection: close\r\n\r\n")
        kept = resource.getrlimit(resource.RLIMIT_NOFILE)
        waiting = socket.create_connection(("127.0.0.1", port))
        last = os.dup(waiting.fileno())
        resource.setrlimit(resource.RLIMIT_NOFILE, (last, kept[1]))
        try:
            await until(lambda: "no connection can be accepted" in caplog.text)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, kept)
            os.close(last)
            waiting.close()
    assert caplog.text.count("no connection can be accepted") == 1
    assert "Traceback" not in caplog.text
    assert len(caplog.records) < 10


@pytest.mark.asyncio
async def test_headers_after_a_first_request_have_a_deadline_too(database: Database) -> None:
    async with server(database, header_seconds=0.5, body_seconds=LONG) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"\r\n")
        assert b" 200 " in await reader.readuntil(b"}")
        writer.write(HEAD)
        assert b" 408 " in await reader.read()
        writer.close()


@pytest.mark.asyncio
async def test_a_body_that_stops_is_not_waited_for(database: Database) -> None:
    async with server(database, header_seconds=LONG, body_seconds=0.05) as port:
        assert b" 200 " not in await ask(port, POST + b"Content-Length: 100\r\n\r\n{")


@pytest.mark.asyncio
async def test_a_body_that_goes_on_after_the_answer_is_not_waited_for(database: Database) -> None:
    """Callers who were refused must not hold connections by sending a byte now and then."""
    async with server(database, header_seconds=0.2, body_seconds=LONG) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000000\r\n\r\n")
        assert b" 404 " in await reader.readuntil(b"}")

        async def drip() -> None:
            while True:
                writer.write(b"x")
                await asyncio.sleep(0)

        dripping = asyncio.create_task(drip())
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        dripping.cancel()
        writer.close()


@pytest.mark.asyncio
async def test_a_caller_that_does_not_read_its_answers_is_given_up(database: Database) -> None:
    async with server(database, header_seconds=LONG, body_seconds=LONG, write_seconds=0.2) as port:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))

        # A large answer: thousands of small ones fit between the two.
        request = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

        async def send() -> None:
            while True:
                await asyncio.get_running_loop().sock_sendall(made, request * 100)

        with pytest.raises(ConnectionError):
            await send()
        made.close()


@pytest.mark.asyncio
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel takes no such deadline")
async def test_a_caller_that_acknowledges_nothing_is_given_up(database: Database) -> None:
    """The rest of the answer is in the kernel: this process waits for nothing any more."""
    async with server(database, header_seconds=LONG, body_seconds=LONG, write_seconds=0.2) as port:
        with socket.socket() as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.connect(("127.0.0.1", port))
            made.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            mine = made.getsockname()[1]
            await until(lambda: is_held(port, mine))
            await until(lambda: not is_held(port, mine))
            with pytest.raises(ConnectionResetError):
                read_all(made)


def read_all(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def is_held(port: int, other: int) -> bool:
    """Whether the kernel has the server's end of a connection."""
    ends = [line.split()[1:3] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any((int(a[-4:], 16), int(b[-4:], 16)) == (port, other) for a, b in ends)


@pytest.mark.asyncio
async def test_bytes_that_are_no_http_leave_no_traceback(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither before an answer nor after it."""
    async with server(database) as port:
        assert b" 400 " in await ask(port, b"\0\1\2 no http\r\n\r\n")
        chunked = b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(chunked)
        assert b" 404 " in await reader.readuntil(b"}")
        writer.write(b"no size\r\n")
        assert await reader.read() == b""
        writer.close()
        # In the middle of a body, before the request is answered.
        for start in (chunked, POST + b"Transfer-Encoding: chunked\r\n\r\n"):
            answer = await ask(port, start + b"1\r\n{\r\nno size\r\n")
            assert answer.count(b"HTTP/1.1 400 ") == 1
    assert not caplog.records


@pytest.mark.asyncio
async def test_who_is_not_let_in_asks_once_a_connection(database: Database) -> None:
    async with server(database) as port:
        for path in (b"/nowhere", b"/api/v1/jobs"):
            asked = b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nVia: 1.1 proxy\r\n\r\n"
            answer = await ask(port, asked * 100)
            assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.asyncio
async def test_a_request_that_does_not_end_does_not_keep_the_process_from_stopping(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs and shards are given back after the server has stopped."""
    monkeypatch.setattr("sexton.api.server.STOP_SECONDS", 0.1)
    async with asyncio.timeout(PATIENCE), server(database, header_seconds=LONG, body_seconds=LONG) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
        await reader.readline()  # it waits for the body
    writer.close()


@pytest.mark.asyncio
async def test_slow_bodies_make_room_for_requests(database: Database) -> None:
    """Calls that need no credential read bodies too: a byte now and then must not hold all connections."""
    slow = b"POST /api/v1/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    async with server(
        database, header_seconds=LONG, body_seconds=LONG, slow_seconds=0.0, most_connections=5
    ) as port:
        dripping = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for _, writer in dripping:
            writer.write(slow + b"Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
        for reader, writer in dripping:
            assert b"100 Continue" in await reader.readline()
            writer.write(b"{")
        assert b" 200 " in await ask(port, HEAD + b"Connection: close\r\n\r\n")
        for _, writer in dripping:
            writer.close()


@pytest.mark.asyncio
async def test_idle_connections_make_room_for_requests(database: Database) -> None:
    async with server(database, header_seconds=LONG, body_seconds=LONG, most_connections=5) as port:
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, writer in kept:
            writer.write(HEAD + b"\r\n")
            assert b" 200 " in await reader.readuntil(b"}")
        assert b" 200 " in await ask(port, HEAD + b"Connection: close\r\n\r\n")
        for _, writer in kept:
            writer.close()


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.asyncio
async def test_the_bound_holds_for_connections_that_come_at_once(database: Database) -> None:
    """Each makes room for itself before the end of another one is told."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener, contextlib.ExitStack() as stack:
        port = listener.getsockname()[1]
        at_once = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(100)]
        bounds = {"header_seconds": LONG, "body_seconds": LONG, "most_connections": 5}
        async with serving(make_app(database, Settings()), listener, **bounds):
            assert b" 200 " in await ask(port, HEAD + b"Connection: close\r\n\r\n")
            assert sum(map(is_open, at_once)) <= 5


@pytest.mark.asyncio
async def test_half_open_connections_make_room_for_requests(database: Database) -> None:
    """The one that waits longest goes first."""
    async with server(database, header_seconds=LONG, body_seconds=LONG, most_connections=5) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        assert b" 200 " in await ask(port, HEAD + b"Connection: close\r\n\r\n")
        assert await idle[0][0].read() == b""
        for _, writer in idle:
            writer.close()
