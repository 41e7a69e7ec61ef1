"""The API on a real port, over a real database."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from multidict import CIMultiDictProxy
from yarl import URL

from sexton.api.application import make_app
from sexton.api.console import single_page as console
from sexton.api.server import serving
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.postgres.replica import Replica

ROOT_PATHS = (
    "/api", "/healthz", "/readyz", "/metrics", "/docs", "/openapi", "/sign-", "/assets",
)  # fmt: skip


class Api:
    """A small HTTP client of the API that keeps what came back."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self.session = session
        self.base = base

    async def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Reply:
        headers = dict(options.pop("headers", {}))
        data = options.pop("data", None)
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        if options.pop("absolute", False):
            url = path
        else:
            url = self.base + (path if path == "/" or path.startswith(ROOT_PATHS) else f"/api/v1{path}")
        async with self.session.request(
            method,
            URL(url, encoded=True),
            data=data,
            headers=headers,
            skip_auto_headers=["Content-Type"],
            **options,
        ) as response:
            content = await response.read()
            return Reply(response.status, response.headers, content)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: CIMultiDictProxy[str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        assert self.headers["Content-Type"] == "application/problem+json", self.content
        problem = self.json()
        assert problem["status"] == self.status
        assert problem["type"].endswith(problem["code"])
        return str(problem["code"])

    @property
    def next(self) -> str | None:
        match = re.fullmatch(r'<(.+)>; rel="next"', self.headers.get("Link", ""))
        return match[1] if match else None


@asynccontextmanager
async def serve(
    database: Database, settings: Settings, node: Any = None, replica: Replica | None = None
) -> AsyncIterator[Api]:
    """The real application and server on a free port of this machine."""
    application = make_app(database, settings, node, replica)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with serving(application, listener), aiohttp.ClientSession() as session:
            yield Api(session, f"http://127.0.0.1:{listener.getsockname()[1]}")


@pytest_asyncio.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings()) as client:
        yield client


@pytest.fixture
def without_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a checkout in which it was never built: plain pages."""
    monkeypatch.setattr(console, "built", lambda: None)
