"""Which pages may use the API, and what every answer tells browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.browser import Browser
from tests.api.conftest import Api, serve

KEY = "a-key-of-sixteen-or-more"
AUTHORISED = {"Authorization": f"Bearer {KEY}"}
CONSOLE = "https://console.example.com"
PUBLIC = "https://sexton.example.com"
JOB = {"name": "hourly", "schedule": "0 * * * *"}
CROSS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}


@pytest_asyncio.fixture
async def public(database: Database) -> AsyncIterator[Api]:
    """A server behind a proxy, with keys, that lets the pages of a console use it."""
    settings = Settings(api_keys=KEY, public_url=PUBLIC, cors_origins=f"{CONSOLE}, http://localhost:5173")
    async with serve(database, settings) as client:
        yield client


async def test_a_page_of_a_listed_origin_may_read_answers(public: Api) -> None:
    for origin in (CONSOLE, "http://localhost:5173"):
        reply = await public("GET", "/jobs", headers={**AUTHORISED, **CROSS, "Origin": origin})
        assert reply.status == 200
        assert reply.headers["Access-Control-Allow-Origin"] == origin
        assert reply.headers["Access-Control-Allow-Credentials"] == "true"
        assert "Origin" in reply.headers["Vary"]
    refused = await public("GET", "/jobs/none", headers={**AUTHORISED, **CROSS, "Origin": CONSOLE})
    assert (refused.status, refused.headers["Access-Control-Allow-Origin"]) == (404, CONSOLE)


@pytest.mark.parametrize(
    "origin",
    [
        "https://console.example.com.evil.example",
        "https://evil.example",
        "http://console.example.com",
        "https://console.example.com:8443",
        "https://CONSOLE.example.com",
        "null",
    ],
)
async def test_no_other_page_may(public: Api, origin: str) -> None:
    reply = await public("GET", "/jobs", headers={**AUTHORISED, **CROSS, "Origin": origin})
    assert reply.code == "cross_origin"
    assert "Access-Control-Allow-Origin" not in reply.headers
    asked = {"Origin": origin, "Access-Control-Request-Method": "DELETE"}
    preflight = await public("OPTIONS", "/jobs/hourly", headers=asked)
    assert not [name for name in preflight.headers if name.startswith("Access-Control")]


async def test_a_browser_may_ask_first(public: Api) -> None:
    asked = {"Origin": CONSOLE, "Access-Control-Request-Method": "DELETE"}
    reply = await public("OPTIONS", "/jobs/hourly", headers=asked)
    assert (reply.status, reply.headers["Access-Control-Allow-Origin"]) == (204, CONSOLE)
    assert "DELETE" in reply.headers["Access-Control-Allow-Methods"]
    assert "X-CSRF-Token" in reply.headers["Access-Control-Allow-Headers"]


async def test_without_the_setting_no_origin_is_named(api: Api) -> None:
    reply = await api("GET", "/jobs", headers={"Origin": api.base, "Sec-Fetch-Site": "same-origin"})
    assert reply.status == 200
    assert not [name for name in reply.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("path", ["/", "/docs", "/sign-in", "/jobs", "/jobs/none", "/nowhere", "/healthz"])
async def test_every_answer_says_what_browsers_may_do_with_it(api: Api, public: Api, path: str) -> None:
    for server in (api, public):
        reply = await server("GET", path, allow_redirects=False)
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert "Strict-Transport-Security" not in reply.headers
    behind = await public("GET", path, headers={"Host": "sexton.example.com"}, allow_redirects=False)
    assert behind.headers["Strict-Transport-Security"] == "max-age=31536000"


async def test_cookies_count_only_under_a_name_of_the_server(public: Api) -> None:
    """A name that was rebound to its address is none."""
    browser = Browser(public, "sexton.example.com", https=True)
    for host in ("evil.example", "sexton.example.com.evil.example", "10.0.0.5:7390"):
        assert (await browser("GET", "/sign-in", headers={"Host": host})).status == 421
        posted = await browser.post("/sign-in", {"Host": host}, token="x")
        assert posted.status == 421
    assert (await browser("GET", "/sign-in")).status == 200
    assert (await browser("GET", "/sign-in", headers={"Host": "sexton.example.com:443"})).status == 200
    # A proxy that does not pass the name on: what looks like this machine is not.
    forwarded = {"Host": "127.0.0.1", "X-Forwarded-For": "192.0.2.7"}
    assert (await browser("GET", "/", headers=forwarded)).status == 401


async def test_a_form_of_another_site_is_refused(api: Api) -> None:
    browser = Browser(api)
    for headers in (
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": ""},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    ):
        assert (await browser.post("/sign-in", headers, token="x")).status == 403
    assert (await browser.post("/sign-in", token="x")).status == 401


@pytest.mark.parametrize("keys", [None, KEY])
async def test_behind_a_proxy_no_request_is_the_owners(database: Database, keys: str | None) -> None:
    """Though its connection may come from root."""
    openid = (
        {}
        if keys
        else {
            "oidc_issuer": "https://id.example",
            "oidc_client_id": "sexton",
            "oidc_roles": "a=viewer@default",
        }
    )
    async with serve(database, Settings(api_keys=keys, public_url=PUBLIC, **openid)) as api:  # type: ignore[arg-type]
        for host in ("sexton.example.com", "127.0.0.1"):
            assert (await api("GET", "/jobs", headers={"Host": host})).code == "no_key"
