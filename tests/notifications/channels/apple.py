"""Apple's push service as far as providers see it: HTTP/2 without TLS, by the library h2."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h2.config
import h2.connection
import h2.events
import msgspec

#: What becomes of a request: status and body, or a fault.
Reply = tuple[int, dict[str, Any] | None, dict[str, str]] | str


@dataclass
class Apple:
    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        streams: dict[int, tuple[dict[str, str], bytearray]] = {}
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        streams[event.stream_id] = (
                            {str(name): str(value) for name, value in event.headers},
                            bytearray(),
                        )
                    elif isinstance(event, h2.events.DataReceived):
                        streams[event.stream_id][1].extend(event.data)
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, h2.events.StreamEnded):
                        headers, body = streams.pop(event.stream_id)
                        self.requests.append((headers, bytes(body)))
                        if not await self._answer(connection, writer, event.stream_id, headers):
                            return
                writer.write(connection.data_to_send())

    async def _answer(
        self,
        connection: h2.connection.H2Connection,
        writer: asyncio.StreamWriter,
        stream: int,
        asked: dict[str, str],
    ) -> bool:
        reply = self.replies.pop(0) if self.replies else (200, None, {})
        if reply == "reset":
            writer.transport.abort()
            return False
        if reply == "slow":
            await self.released.wait()
            return False
        if reply == "half":
            connection.send_headers(stream, [(":status", "200"), ("content-length", "100")])
            writer.write(connection.data_to_send())
            await writer.drain()
            writer.transport.abort()
            return False
        assert isinstance(reply, tuple)
        status, body, headers = reply
        given = [(":status", str(status)), ("apns-id", asked["apns-id"]), *headers.items()]
        connection.send_headers(stream, given, end_stream=body is None)
        if body is not None:
            connection.send_data(stream, msgspec.json.encode(body), end_stream=True)
        return True


@asynccontextmanager
async def apple() -> AsyncIterator[Apple]:
    found = Apple()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await found.serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield found
        found.released.set()
        for writer in writers:
            writer.transport.abort()
    for writer in writers:
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
