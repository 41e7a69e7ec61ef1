"""A CMS over HTTP that misbehaves on demand; and Strapi and Ghost, as their documentation has them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import jwt
from aiohttp import web

from sexton.config import Settings
from sexton.content.adapters.base import AdapterServices
from sexton.content.model import Entity
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.binding import ANYWHERE, Binding
from sexton.security.secrets import Secrets
from sexton.targets.http.outbound import Outbound

KEY = "aa" * 32
GHOST_KEY = f"5f0c:{'0b' * 32}"

NO_DATABASE = cast(Database, None)
CONTEXT = Context(NO_DATABASE)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
#: What becomes of a request: it may ask the CMS to do its work before or after.
Fault = Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]


@dataclass
class Cms:
    """Posts by id. The next changing request meets the next of `faults`."""

    url: str = ""
    posts: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    reading_faults: list[Fault] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def make(self, type_: str = "posts") -> Entity:
        number = str(next(self.ids))
        self.posts[number] = {
            "id": number,
            "status": "draft",
            "version": 1,
            "published": None,
            "updated_at": "0",
        }
        return Entity(type_, number)

    def edit(self, entity: Entity) -> int:
        post = self.posts[entity.id]
        post["version"] += 1
        return int(post["version"])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        faults = self.reading_faults if request.method == "GET" else self.faults
        answer = self.answer
        if faults:
            return await faults.pop(0)(request, answer)
        return await answer(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        number, verb = request.match_info["id"], request.match_info.get("verb")
        post = self.posts.get(number)
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"error": "who are you?"}, status=401)
        if post is None:
            return web.json_response({"error": "not found"}, status=404)
        if verb == "publish":
            version = (await request.json()).get("version") or post["version"]
            if version > post["version"]:
                return web.json_response({"error": "no such version"}, status=422)
            post |= {"status": "live", "published": version}
        elif verb == "unpublish":
            post["status"] = "draft"
        elif verb == "archive":
            post["status"] = "gone"
        return web.json_response({"post": post})

    @property
    def changing(self) -> list[web.Request]:
        return [request for request in self.requests if request.method != "GET"]


class Strapi(Cms):
    """Version 5: a draft, and what is out beside it."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        post = self.posts.get(request.match_info["id"])
        status = request.query.get("status", "published")
        if post is None or (request.method == "GET" and status == "published" and post["published"] is None):
            return web.json_response(
                {"data": None, "error": {"status": 404, "name": "NotFoundError"}}, status=404
            )
        if request.match_info.get("verb") == "unpublish":
            post["published"] = None
        elif request.method == "PUT":
            assert await request.json() == {"data": {}}
            assert status == "published"
            post["published"] = post["version"]
        version = post["version"] if status == "draft" else post["published"]
        document = {"documentId": post["id"], "updatedAt": f"2027-03-01T00:00:{version or 0:02}.000Z"}
        return web.json_response({"data": document, "meta": {}})


class Ghost(Cms):
    """The Admin API: a token signed with the key, and a collision if `updated_at` is not the present one."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name, secret = GHOST_KEY.split(":")
        scheme, _, token = request.headers["Authorization"].partition(" ")
        assert scheme == "Ghost"
        assert jwt.get_unverified_header(token)["kid"] == name
        jwt.decode(token, bytes.fromhex(secret), algorithms=["HS256"], audience="/admin/")
        type_, post = request.match_info["type"], self.posts.get(request.match_info["id"])
        if post is None:
            return web.json_response({"errors": [{"type": "NotFoundError"}]}, status=404)
        if request.method == "PUT":
            [change] = (await request.json())[type_]
            if change["updated_at"] != post["updated_at"]:
                return web.json_response({"errors": [{"type": "UpdateCollisionError"}]}, status=409)
            post |= {"status": change["status"], "updated_at": str(int(post["updated_at"]) + 1)}
        return web.json_response({type_: [{key: post[key] for key in ("id", "status", "updated_at")}]})


@asynccontextmanager
async def serving(cms: Cms) -> AsyncIterator[str]:
    """Its address."""
    app = web.Application()
    for prefix in ("", "/api", "/ghost/api/admin"):
        app.router.add_route("*", f"{prefix}/{{type}}/{{id}}", cms.handle)
        app.router.add_route("*", f"{prefix}/{{type}}/{{id}}/", cms.handle)
        app.router.add_route("*", f"{prefix}/{{type}}/{{id}}/{{verb}}", cms.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    cms.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield cms.url
    finally:
        cms.released.set()
        await runner.cleanup()


class KnownSecrets(Secrets):
    """As if they were stored: most of these tests need no database."""

    def __init__(self, binding: Binding = ANYWHERE) -> None:
        super().__init__(NO_DATABASE, Settings())
        self._binding = binding

    async def _find(self, namespace: str, name: str) -> tuple[str, Binding]:
        assert namespace == "default"
        return {"cms": KEY, "ghost": GHOST_KEY}[name], self._binding


@asynccontextmanager
async def lending(*, binding: Binding = ANYWHERE, **settings: Any) -> AsyncIterator[AdapterServices]:
    """What a process lends to adapters, with the secrets of these tests."""
    known = Settings(**settings)
    outbound = Outbound(known)
    try:
        yield AdapterServices(known, outbound, KnownSecrets(binding))
    finally:
        await outbound.close()
