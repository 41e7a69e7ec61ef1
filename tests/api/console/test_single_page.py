"""The console's page at all of its addresses, its policy, and the files that it loads."""

from __future__ import annotations

import gzip
import re
from importlib import resources

import pytest

from sexton.api.console import single_page as console
from sexton.api.console.assets import Asset, assets
from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.browser import Browser
from tests.api.conftest import Api, serve

PAGE = f"<html><head>{console.NO_NONCE}</head><body>the console</body></html>"
# What a first visit may load, compressed.
FIRST_LOAD = 400 * 1024
needs_build = pytest.mark.skipif(console.built() is None, reason="the console is not built: make console")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "built", lambda: PAGE)


@pytest.mark.asyncio
@pytest.mark.usefixtures("page")
async def test_every_address_of_the_console_shows_its_page(api: Api) -> None:
    for path in (
        "/",
        "/jobs?search=a&status=active",
        "/jobs/j_1/edit",
        "/content/entities/post/a%2Fb",
        "/playground",
        "/namespaces/billing",
        "/namespaces/billing/jobs/j_1/edit?tab=a",
        "/namespaces/billing/playground",
    ):
        reply = await api("GET", api.base + path, absolute=True)
        assert reply.status == 200, path
        assert b"the console" in reply.content
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert (await api("GET", f"{api.base}/nowhere", absolute=True)).status == 404


@pytest.mark.asyncio
@pytest.mark.usefixtures("page")
async def test_a_browser_at_an_address_that_does_not_exist_gets_the_console(api: Api) -> None:
    """Its page says that there is nothing; programs get the problem."""
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ("/nothing", "/namespaces/billing/nothing", "/jobs/a/b/c/d/e"):
        reply = await api("GET", api.base + path, absolute=True, headers=browser)
        assert (reply.status, reply.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert b"the console" in reply.content
        assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["Cache-Control"] == "no-store"
    for method, path, headers in (
        ("GET", "/nothing", {}),
        ("GET", "/nothing", {"Accept": "application/json"}),
        ("POST", "/nothing", browser),
        ("GET", "/api/v1/nothing", browser),
        ("GET", "/api/v1/jobs/nothing", browser),
    ):
        reply = await api(method, api.base + path, absolute=True, headers=headers)
        assert (reply.status, reply.headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.asyncio
@pytest.mark.usefixtures("page")
async def test_nothing_inline_is_allowed_but_styles_with_the_nonce_of_this_page(api: Api) -> None:
    nonces = set()
    for _ in range(2):
        reply = await api("GET", "/")
        policy = reply.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "script-src 'self';" in policy
        assert "connect-src 'self';" in policy
        found = re.search(r"style-src 'self' 'nonce-([\w-]{20,})'", policy)
        assert found
        assert f'content="{found[1]}"' in reply.content.decode()
        nonces.add(found[1])
    assert len(nonces) == 2


@pytest.mark.asyncio
@pytest.mark.usefixtures("page")
async def test_only_the_playground_is_open_to_all(database: Database) -> None:
    async with serve(database, Settings(api_keys="k" * 32)) as api:
        browser = Browser(api)
        reply = await browser("GET", f"{api.base}/jobs?status=paused", absolute=True)
        assert (reply.status, reply.headers["Location"]) == (303, "/sign-in?next=%2Fjobs%3Fstatus%3Dpaused")
        reply = await browser("GET", f"{api.base}/namespaces/billing/jobs", absolute=True)
        assert (reply.status, reply.headers["Location"]) == (
            303,
            "/sign-in?next=%2Fnamespaces%2Fbilling%2Fjobs",
        )
        for path in ("/playground", "/namespaces/billing/playground"):
            assert (await browser("GET", f"{api.base}{path}", absolute=True)).status == 200


@pytest.mark.asyncio
async def test_where_it_was_not_built_a_page_says_how(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "built", lambda: None)
    assert "make console" in (await api("GET", "/")).content.decode()
    reply = await api("GET", f"{api.base}/jobs", absolute=True, allow_redirects=False)
    assert (reply.status, reply.headers["Location"]) == (303, "/")


def test_a_file_is_sent_as_the_caller_takes_it() -> None:
    asset = Asset(b"plain", "text/css", {"br": b"small", "gzip": b"larger"})
    assert asset.encoded("gzip, deflate, br;q=0.9") == (b"small", "br")
    assert asset.encoded("gzip") == (b"larger", "gzip")
    assert asset.encoded("br;q=0, identity") == (b"plain", None)
    assert asset.encoded("") == (b"plain", None)


@needs_build
@pytest.mark.asyncio
async def test_what_it_loads_is_compressed_and_may_be_kept(api: Api) -> None:
    text = (await api("GET", "/")).content.decode()
    loaded = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert len(loaded) > 2
    for path in loaded:
        reply = await api("GET", path, headers={"Accept-Encoding": "gzip"}, auto_decompress=False)
        assert (reply.status, reply.headers["Vary"]) == (200, "Accept-Encoding"), path
        assert "immutable" in reply.headers["Cache-Control"]
        if path.endswith(".js"):
            assert reply.headers["Content-Type"] == "text/javascript; charset=utf-8"
        if reply.headers.get("Content-Encoding") == "gzip":
            assert gzip.decompress(reply.content) == assets()[path.rpartition("/")[2]].content
    assert not re.search(r"<style|style=|<script[^>]*>[^<]|\bon\w+=|https?://", text)


@needs_build
def test_a_first_visit_loads_at_most_400_kilobytes() -> None:
    found = assets()
    wanted = set(re.findall(r'/assets/([^"]+)"', console.built() or ""))
    wanted |= {name for name in found if re.match(r"(Frame|overview|inter-latin-wght)-", name)}
    while more := {each for name in wanted for each in _imports(found[name])} - wanted:
        wanted |= more
    total = sum(len(found[name].encoded("br")[0]) for name in wanted)
    assert 100 * 1024 < total <= FIRST_LOAD


@needs_build
def test_the_licences_of_what_it_contains_are_in_the_package() -> None:
    text = resources.files("sexton.api").joinpath("static", "console", "licenses.md").read_text("utf-8")
    assert all(name in text for name in ("react", "@mantine/core", "uplot"))


def _imports(asset: Asset) -> list[str]:
    """The files that a script loads with itself; not those that it loads later."""
    if not asset.media_type.startswith("text/javascript"):
        return []
    return re.findall(r'(?:from|^import|;import)"\./([^"]+\.js)"', asset.content.decode())
