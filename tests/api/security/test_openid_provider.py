"""Signing in at a certified provider of OpenID Connect: its login form, its consent page, and back."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urljoin

import aiohttp
import pytest

from sexton.config import load
from sexton.postgres.database import Database
from sexton.security import issuer
from tests.api.browser import Browser
from tests.api.conftest import Api, Reply, serve
from tests.api.security.test_sign_in_openid import come_back, refusal_of
from tests.servers.address import address

pytestmark = pytest.mark.servers

ROLES = "ops=operator@default,billing=editor@billing,platform=admin@*"
SECRET = "a secret: of +the% client"


@asynccontextmanager
async def serving(database: Database, client: str = "sexton-elliptic", **changes: Any) -> AsyncIterator[Api]:
    settings = load(
        {
            "oidc_issuer": address("SEXTON_TEST_OIDC_URL"),
            "oidc_client_id": client,
            "oidc_roles": ROLES,
            **changes,
        },
        environment={},
    )
    async with serve(database, settings) as api:
        yield api


class Elsewhere:
    """The browser at the provider, with the provider's cookies."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def sign_in(self, url: str, login: str) -> str:
        """Fill in the forms of the provider until it sends the browser back; where to."""
        page = await self._open("GET", url)
        for _ in range(20):
            if page.next is not None and "/sign-in/callback" in page.next:
                return page.next
            if page.next is not None:
                page = await self._open("GET", urljoin(page.url, page.next))
                continue
            form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
            assert form, page.text
            fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
            if 'name="login"' in page.text:
                fields |= {"login": login, "password": "any"}
            target = urljoin(page.url, html.unescape(form[1]))
            page = await self._open("POST", target, urlencode(fields))
        raise AssertionError("it does not end")

    async def _open(self, method: str, url: str, body: str | None = None) -> Page:
        headers = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
        async with self._session.request(
            method, url, data=body, headers=headers, allow_redirects=False
        ) as answer:
            assert answer.status < 400, await answer.text()
            return Page(url, await answer.text(), answer.headers.get("Location"))


class Page:
    def __init__(self, url: str, text: str, following: str | None) -> None:
        self.url, self.text, self.next = url, text, following


async def sign_in(browser: Browser, login: str) -> str:
    """Where the provider sends this person."""
    start = await browser("GET", "/sign-in/openid")
    assert start.status == 303, start.content
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        return await Elsewhere(session).sign_in(start.headers["Location"], login)


async def let_in(browser: Browser, login: str) -> dict[str, Any]:
    reply: Reply = await come_back(browser, await sign_in(browser, login))
    assert reply.status == 303, reply.content
    me: dict[str, Any] = (await browser("GET", "/session")).json()
    return me


async def test_a_person_signs_in_with_their_groups(database: Database) -> None:
    async with serving(database) as api:
        browser = Browser(api)
        me = await let_in(browser, "kim+ops+billing")
        assert (me["name"], me["method"]) == ("person:kim@example.com", "openid")
        assert me["roles"] == {"default": "operator", "billing": "editor"}
        assert (await browser("GET", "/jobs")).status == 200
        assert (await browser("DELETE", "/session")).status == 204


async def test_a_person_without_a_group_that_counts_is_told_so(database: Database) -> None:
    async with serving(database) as api:
        browser = Browser(api)
        said = await refusal_of(browser, await sign_in(browser, "kim+guests"), 403)
        assert "none of these groups has a role: guests" in said
        said = await refusal_of(browser, await sign_in(browser, "kim"), 403)
        assert "names no group" in said


async def test_each_kind_of_client_and_keys_that_are_rotated(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one test: others must not sign in with keys of RSA while they change."""
    monkeypatch.setattr(issuer, "AGAIN_SECONDS", 0.0)
    provider = address("SEXTON_TEST_OIDC_URL")
    async with (
        serving(database, "sexton", oidc_client_secret=SECRET) as secret,
        serving(database, "sexton-public") as public,
        aiohttp.ClientSession() as session,
    ):
        for _ in range(2):
            for api in (secret, public):
                assert (await let_in(Browser(api), "kim+platform"))["roles"] == {"*": "admin"}
            async with session.post(f"{provider}/rotate") as rotated:
                assert rotated.status == 200
    async with serving(database, "sexton", oidc_client_secret="wrong") as api:
        browser = Browser(api)
        assert "invalid_client" in await refusal_of(browser, await sign_in(browser, "kim+platform"))


async def test_an_answer_for_another_browser_is_refused(database: Database) -> None:
    async with serving(database) as api:
        attacker, victim = Browser(api), Browser(api)
        url = await sign_in(attacker, "mallory+ops")
        assert "has begun no sign-in" in await refusal_of(victim, url)
        await victim("GET", "/sign-in/openid")
        assert "another sign-in" in await refusal_of(victim, url)


async def test_a_code_is_used_once(database: Database) -> None:
    async with serving(database) as api:
        browser = Browser(api)
        url = await sign_in(browser, "kim+ops")
        kept = dict(browser.cookies)
        assert (await come_back(browser, url)).status == 303
        browser.cookies = kept
        assert "invalid_grant" in await refusal_of(browser, url)
