"""A TCP proxy in front of PostgreSQL, to be in the way: one per node, so that each can be cut off alone.

It reads the client's side of the protocol just enough to know which statement is being executed. A `Trap`
waits for one, and then

    drop_answer   lets it be carried out and committed, and cuts the connection before the answer arrives
    hold          keeps it from the server until it is released
    hold_commit   lets it be executed, but keeps back what would commit it: the transaction stays open

Some faults concern only the connections of one name, such as that on which a scheduler fires.

Connections must not use TLS (`?sslmode=disable`).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Literal

Kind = Literal["drop_answer", "hold", "hold_commit"]
Mode = Literal["pass", "black_hole", "cut"]

READY = b"Z\0\0\0\5"
BIND, PARSE, QUERY, SYNC = b"B", b"P", b"Q", b"S"


class Trap:
    """Waits for a statement that contains one of some texts; `sprung` is set when it has one."""

    def __init__(self, kind: Kind, texts: Sequence[str]) -> None:
        self.kind = kind
        self.texts = [text.encode() for text in texts]
        self.sprung = asyncio.Event()
        self._released = asyncio.Event()

    def release(self) -> None:
        """Let what is held go on."""
        self._released.set()

    async def wait(self, seconds: float = 30) -> None:
        await asyncio.wait_for(self.sprung.wait(), seconds)

    async def released(self) -> None:
        await self._released.wait()


class Proxy:
    """Start it, and let a node connect to its `port`."""

    def __init__(self, socket_path: str) -> None:
        self.socket_path = socket_path
        self.port = 0
        self.delay_seconds = 0.0
        self.mode: Mode = "pass"
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._traps: list[Trap] = []
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._swallowed: str | None = None
        self._refused: str | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.restore()
        if self._server is not None:
            self._server.close()
        await self.reset()

    # Faults.

    def delay(self, seconds: float) -> None:
        """Everything takes so much longer, in both directions."""
        self.delay_seconds = seconds

    def black_hole(self) -> None:
        """Nothing arrives any more, and no side is told."""
        self.mode = "black_hole"
        self._flowing.clear()

    def swallow(self, name: str) -> None:
        """Nothing that the connections of this application name send arrives any more, of new ones neither;
        the others go on."""
        self._swallowed = name

    async def refuse(self, name: str) -> None:
        """The connections of this application name end, and none of that name are made."""
        self._refused = name
        await asyncio.gather(*(link.end() for link in list(self._links) if link.name == name))

    async def cut(self) -> None:
        """Connections end, and no new ones are made."""
        self.mode = "cut"
        self._flowing.set()
        await self.reset()

    async def reset(self) -> None:
        """Connections end, as when a firewall forgets them; new ones are made."""
        await asyncio.gather(*(link.end() for link in list(self._links)))

    def restore(self) -> None:
        """Be a mere proxy again. What a black hole has kept arrives now, as after a lost route."""
        self.mode, self.delay_seconds = "pass", 0.0
        self._swallowed = self._refused = None
        self._flowing.set()
        for trap in self._traps:
            trap.release()
        self._traps.clear()

    def trap(self, kind: Kind, *texts: str) -> Trap:
        """For the next statement that contains one of the texts."""
        trap = Trap(kind, texts)
        self._traps.append(trap)
        return trap

    # For the links.

    def spring(self, statement: bytes) -> Trap | None:
        for trap in self._traps:
            if not trap.sprung.is_set() and any(text in statement for text in trap.texts):
                trap.sprung.set()
                return trap
        return None

    def swallows(self, name: str) -> bool:
        return name == self._swallowed

    def refuses(self, name: str) -> bool:
        return name == self._refused

    async def pause(self) -> None:
        """What every piece of data has to go through."""
        await self._flowing.wait()
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "cut":
            writer.transport.abort()
            return
        link = _Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


class _Link:
    """One connection of a client, and ours to the server."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ended = asyncio.Event()
        self.name = ""
        self._proxy = proxy
        self._client = (reader, writer)
        self._messages = _Messages()
        self._statements: dict[bytes, bytes] = {}
        self._deaf = False
        self._resetting = asyncio.Event()

    async def end(self) -> None:
        self._resetting.set()
        await self.ended.wait()

    async def run(self) -> None:
        writers = [self._client[1]]
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(self._resetting.wait())]
        try:
            await self._proxy.pause()
            server = await asyncio.open_unix_connection(self._proxy.socket_path)
            writers.append(server[1])
            tasks.append(asyncio.create_task(self._up(self._client[0], server[1])))
            tasks.append(asyncio.create_task(self._down(server[0], self._client[1])))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # the server is down: the client sees its connection end
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in writers:
                _abort(writer)
            self.ended.set()

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """From the client to the server, message by message."""
        held: Trap | None = None
        while data := await reader.read(65536):
            await self._proxy.pause()
            for kind, message in self._messages.feed(data):
                if not kind:
                    self.name = _application(message)
                if self._proxy.refuses(self.name):
                    return
                if self._proxy.swallows(self.name):
                    continue
                trap = self._proxy.spring(self._executed(kind, message))
                if trap is not None and trap.kind == "drop_answer":
                    self._deaf = True
                elif trap is not None and trap.kind == "hold":
                    await writer.drain()
                    await trap.released()
                elif trap is not None:
                    held = trap
                if held is not None and kind == SYNC:
                    await writer.drain()
                    await held.released()
                    held = None
                writer.write(message)
            await writer.drain()

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """From the server to the client; after a dropped answer, neither hears of the other again."""
        while data := await reader.read(65536):
            await self._proxy.pause()
            if self._deaf:
                if READY in data:
                    return
                continue
            writer.write(data)
            await writer.drain()

    def _executed(self, kind: bytes, message: bytes) -> bytes:
        """The text of the statement that this message executes, or nothing."""
        if kind == PARSE:
            name, text, _ = message[5:].split(b"\0", 2)
            self._statements[name] = text
        elif kind == BIND:
            _, name, _ = message[5:].split(b"\0", 2)
            return self._statements.get(name, b"")
        elif kind == QUERY:
            return message[5:-1]
        return b""


class _Messages:
    """Cuts what a client sends into messages: the first has no kind."""

    def __init__(self) -> None:
        self._rest = b""
        self._head = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._rest += data
        while len(self._rest) >= self._head + 4:
            length = self._head + struct.unpack_from("!I", self._rest, self._head)[0]
            if len(self._rest) < length:
                return
            message, self._rest = self._rest[:length], self._rest[length:]
            yield message[: self._head], message
            self._head = 1


def _application(startup: bytes) -> str:
    """The application name that a client gives in its first message."""
    words = startup[8:].split(b"\0")
    settings = dict(zip(words[::2], words[1::2], strict=False))
    return settings.get(b"application_name", b"").decode()


def _abort(writer: asyncio.StreamWriter) -> None:
    """End it with RST, so that the other side notices at once."""
    with contextlib.suppress(OSError):
        connection = writer.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_INET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
