"""A gate of TLS and SASL in front of librdkafka's mock cluster, which has neither.

It ends the TLS, asks every client for a certificate and for a user with a password (PLAIN), and lets nothing
else through before. Wherever the cluster names its own port, the gate puts its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

API_VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36
REFUSED = 58


class Gate:
    def __init__(self, behind: int, user: str, password: str) -> None:
        self.port = 0
        self._behind = behind
        self._wanted = f"{user}\0{user}\0{password}".encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        asked: set[int] = set()
        answers = asyncio.create_task(self._answer(inner_reader, writer, asked))
        try:
            await self._ask(reader, writer, inner_writer, asked)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            answers.cancel()
            for each in (writer, inner_writer):
                each.close()

    async def _ask(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        inner: asyncio.StreamWriter,
        asked: set[int],
    ) -> None:
        known = False
        while True:
            frame = await _frame(reader)
            api, _, number, length = struct.unpack_from(">hhih", frame)
            body = frame[10 + max(0, length) :]
            if api == HANDSHAKE:
                _send(writer, struct.pack(">ihi", number, 0, 1) + _text("PLAIN"))
            elif api == AUTHENTICATE:
                known = body[4:] == self._wanted
                said = _text("no" * (not known))
                _send(
                    writer, struct.pack(">ih", number, 0 if known else REFUSED) + said + struct.pack(">i", 0)
                )
            elif known or api == API_VERSIONS:
                if api == API_VERSIONS:
                    asked.add(number)
                _send(inner, frame)
            else:
                return

    async def _answer(
        self, inner: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: set[int]
    ) -> None:
        ours, theirs = (_text("127.0.0.1") + struct.pack(">i", port) for port in (self.port, self._behind))
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await _frame(inner)
                number, error, count = struct.unpack_from(">ihi", frame)
                if number in asked:
                    asked.discard(number)
                    more = struct.pack(">hhhhhh", HANDSHAKE, 1, 1, AUTHENTICATE, 0, 0)
                    frame = struct.pack(">ihi", number, error, count + 2) + more + frame[10:]
                _send(writer, frame.replace(theirs, ours))


@contextlib.asynccontextmanager
async def kafka_gate(url: str, context: ssl.SSLContext, user: str, password: str) -> AsyncIterator[str]:
    """The place `127.0.0.1:port` of a gate in front of this cluster."""
    gate = Gate(urlsplit(url).port or 0, user, password)
    server = await asyncio.start_server(gate.serve, "127.0.0.1", 0, ssl=context)
    gate.port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"127.0.0.1:{gate.port}"


async def _frame(reader: asyncio.StreamReader) -> bytes:
    [length] = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
