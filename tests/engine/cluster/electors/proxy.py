"""A proxy between one node and one server, to be in the way of any protocol."""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Forwards connections from its `port` to a server, by host and port or by the path of a socket."""

    def __init__(self, target: tuple[str, int] | str) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._refusing = False
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        await self.cut()
        assert self._server is not None
        self._server.close()

    def pause(self) -> None:
        """Nothing arrives any more, and no side is told."""
        self._open.clear()

    async def cut(self) -> None:
        """Connections end, and new ones are not served."""
        self._refusing = True
        self._open.set()
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def restore(self) -> None:
        self._refusing = False
        self._open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        writers = [writer]
        try:
            if self._refusing:
                return
            await self._open.wait()
            back, forth = await (
                asyncio.open_unix_connection(self._target)
                if isinstance(self._target, str)
                else asyncio.open_connection(*self._target)
            )
            writers.append(forth)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._copy(reader, forth))
                group.create_task(self._copy(back, writer))
        except* (OSError, asyncio.CancelledError):
            pass  # both sides see their connection end
        finally:
            self._links.discard(task)
            for one in writers:
                one.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._open.wait()
            writer.write(data)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof()
