"""A browser as far as the API can see one: it keeps cookies and says where its requests come from."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.api.conftest import Api, Reply


class Browser:
    """At one origin. `host` is the name in the address bar, if it is another than that of the server."""

    def __init__(self, api: Api, host: str | None = None, *, https: bool = False) -> None:
        self.api = api
        self.host = host or urlsplit(api.base).netloc
        self.origin = f"{'https' if https else 'http'}://{self.host}"
        self.cookies: dict[str, str] = {}
        #: What was set last, with its attributes.
        self.set: dict[str, str] = {}
        self.csrf_token = ""

    async def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Reply:
        """A request of a page of this origin, with the token of the session if there is one."""
        headers = {"Host": self.host, "Sec-Fetch-Site": "same-origin", **options.pop("headers", {})}
        if method != "GET":
            headers.setdefault("Origin", self.origin)
            headers.setdefault("X-CSRF-Token", self.csrf_token)
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {name: value for name, value in headers.items() if value}
        reply = await self.api(method, path, body, headers=sent, allow_redirects=False, **options)
        for line in reply.headers.getall("Set-Cookie", []):
            self._keep(line)
        return reply

    async def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> Reply:
        """Send a form, as a page without referrers does it: its Origin is null."""
        sent = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": "null",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
            "X-CSRF-Token": "",
            **(headers or {}),
        }
        return await self("POST", path, data=urlencode(fields).encode(), headers=sent)

    async def open_link(self, url: str) -> Reply:
        """What the page does with a sign-in link."""
        path, _, secret = url.removeprefix(self.origin).partition("#")
        page = await self("GET", path)
        assert page.status == 200, page.content
        reply = await self.post("/sign-in", token=secret, next="/")
        if reply.status == 303:
            self.csrf_token = (await self("GET", "/session")).json()["csrf_token"]
        return reply

    def _keep(self, line: str) -> None:
        [(name, morsel)] = SimpleCookie(line).items()
        self.set[name] = re.sub(r"=[^;]*", "", line, count=1)
        if morsel["max-age"] == "0":
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = morsel.value
