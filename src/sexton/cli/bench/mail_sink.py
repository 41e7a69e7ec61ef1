"""A mail server that accepts everything and keeps only the ids of messages."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

MESSAGE_ID = re.compile(rb"^message-id:\s*<?([^>\r\n]+)", re.IGNORECASE | re.MULTILINE)
END = b"\r\n.\r\n"


class MailSink:
    """SMTP without CHUNKING. `got` counts messages by their Message-ID."""

    def __init__(self) -> None:
        self.got: Counter[bytes] = Counter()
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Start it; its address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=4 * 1024 * 1024)
        port = self._server.sockets[0].getsockname()[1]
        return f"smtp://127.0.0.1:{port}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 sink ESMTP\r\n")
        try:
            while line := await reader.readline():
                verb = line[:4].upper()
                if verb == b"EHLO":
                    writer.write(b"250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 10485760\r\n")
                elif verb == b"DATA":
                    writer.write(b"354 go on\r\n")
                    body = await reader.readuntil(END)
                    found = MESSAGE_ID.search(body)
                    self.got[found[1] if found else b""] += 1
                    writer.write(b"250 kept\r\n")
                elif verb == b"QUIT":
                    writer.write(b"221 bye\r\n")
                    break
                else:
                    writer.write(b"250 ok\r\n")
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client disconnected: complete messages are counted
        finally:
            writer.close()
