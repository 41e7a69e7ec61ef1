"""An HTTP service that providers ask, and that misbehaves on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


@dataclass
class ApiServer:
    """The next requests meet the next of `faults`; the others are answered by `answer`."""

    url: str = ""
    faults: list[Handler] = field(default_factory=list)
    answer: Handler = field(default=lambda _request, _body: _ok())
    requests: list[tuple[web.Request, bytes]] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((request, body))
        handler = self.faults.pop(0) if self.faults else self.answer
        return await handler(request, body)


async def _ok() -> web.StreamResponse:
    return web.json_response({})


@asynccontextmanager
async def api_server() -> AsyncIterator[ApiServer]:
    found = ApiServer()
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", found.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield found
    finally:
        found.released.set()
        await runner.cleanup()


def answering(status: int, body: Any = None, **headers: str) -> Handler:
    async def answer(_request: web.Request, _body: bytes) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return answer


async def reset(request: web.Request, _body: bytes) -> web.StreamResponse:
    """The request was read, and then the connection is gone."""
    assert request.transport is not None
    request.transport.abort()
    await asyncio.get_running_loop().create_future()  # until the handler is cancelled
    raise AssertionError


async def half(request: web.Request, _body: bytes) -> web.StreamResponse:
    """The beginning of an answer, and then the connection is gone."""
    response = web.StreamResponse(status=200, headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"half":')
    assert request.transport is not None
    request.transport.abort()
    return response
