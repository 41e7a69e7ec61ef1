"""The pages on which people sign in with a link."""

from __future__ import annotations

import json

import pytest

from sexton.api.security.sign_in import local_path
from sexton.api.services import MOST_WRONG_SIGN_INS, WRONG_SIGN_INS
from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.browser import Browser
from tests.api.conftest import Api, serve
from tests.api.security.test_sessions import ADMIN, KEY, signed_in
from tests.seeding import Store


async def make_link(api: Api) -> str:
    url: str = (await api("POST", "/links")).json()["url"]
    return url.partition("#")[2]


async def test_opening_the_page_uses_nothing_up(api: Api) -> None:
    browser, secret = Browser(api), await make_link(api)
    for _ in range(3):
        page = await browser("GET", "/sign-in")
        assert (page.status, browser.cookies) == (200, {})
        assert b'action="/sign-in"' in page.content
    assert (await browser.post("/sign-in", token=secret)).status == 303


async def test_a_link_is_used_once(api: Api) -> None:
    secret = await make_link(api)
    first, second = Browser(api), Browser(api)
    assert (await first.post("/sign-in", token=secret)).status == 303
    reply = await second.post("/sign-in", token=secret)
    assert (reply.status, second.cookies) == (401, {})
    assert b"was used already" in reply.content
    assert reply.headers["Content-Type"].startswith("text/html")


async def test_a_session_is_never_one_that_the_browser_brought(api: Api) -> None:
    """A cookie that was planted does not become a session; one that was good ends."""
    victim = Browser(api)
    planted = await signed_in(api)
    [name] = planted.cookies
    for value in (planted.cookies[name], "x" * 64):
        victim.cookies = {name: value}
        assert (await victim.post("/sign-in", token=await make_link(api))).status == 303
        assert victim.cookies[name] != value
    assert (await planted("GET", "/session")).json()["method"] == "owner"


async def test_a_person_goes_on_where_they_were(api: Api) -> None:
    reply = await Browser(api).post("/sign-in", token=await make_link(api), next="/docs")
    assert reply.headers["Location"] == "/docs"
    reply = await Browser(api).post("/sign-in", token=await make_link(api), next="//evil.example")
    assert reply.headers["Location"] == "/"
    page = await Browser(api)("GET", "/sign-in?next=%22%3E%3Cscript%3E")
    assert b"<script>" not in page.content


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/docs", "/docs"),
        ("/docs?a=b#c", "/docs?a=b#c"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\\b", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\nSet-Cookie: x", "/"),
        ("/ü", "/"),
        ("", "/"),
    ],
)
def test_paths_stay_on_this_server(given: str, path: str) -> None:
    assert local_path(given) == path


async def test_pages_lead_to_the_sign_in_and_the_api_does_not(database: Database) -> None:
    async with serve(database, Settings(api_keys=KEY)) as api:
        browser = Browser(api)
        for path, place in (
            ("/", "/sign-in"),
            ("/docs", "/sign-in?next=%2Fdocs"),
            ("/jobs/a%2Fb%3Fc%2541", "/sign-in?next=%2Fjobs%2Fa%252Fb%253Fc%252541"),
        ):
            reply = await browser("GET", api.base + path, absolute=True)
            assert (reply.status, reply.headers["Location"]) == (303, place)
        assert (await browser("GET", "/session")).code == "no_key"
        assert (await browser("GET", "/openapi.json")).code == "no_key"


@pytest.mark.usefixtures("without_console")
async def test_the_page_shows_who_is_signed_in_and_lets_them_out(database: Database) -> None:
    async with serve(database, Settings(api_keys=KEY)) as api:
        browser, other = await signed_in(api, ADMIN), await signed_in(api, ADMIN)
        for path in ("/", "/docs", "/sign-in"):
            page = (await browser("GET", path)).content.decode()
            assert "configured key" in page
            assert f'name="csrf_token" value="{browser.csrf_token}"' in page
        assert (await browser.post("/sign-out", csrf_token="x")).status == 403
        assert (await browser.post("/sign-out")).status == 403
        out = await browser.post("/sign-out", csrf_token=browser.csrf_token)
        assert (out.status, out.headers["Location"], browser.cookies) == (303, "/sign-in", {})
        assert (await other("GET", "/")).status == 200
        last = await signed_in(api, ADMIN)
        await last.post("/sign-out", csrf_token=last.csrf_token, everywhere="true")
        assert (await other("GET", "/")).status == 303


@pytest.mark.usefixtures("without_console")
async def test_a_person_of_one_namespace_sees_their_roles(database: Database) -> None:
    async with serve(database, Settings(api_keys=KEY)) as api:
        made = await api("POST", "/keys", {"name": "look", "role": "viewer"}, headers=ADMIN)
        browser = await signed_in(api, {"Authorization": f"Bearer {made.json()['key']}"})
        page = (await browser("GET", "/")).content.decode()
        assert "<th>default</th><td>viewer</td>" in page
        assert "shards" not in page


async def test_wrong_links_are_put_off_after_a_while_but_right_ones_are_not(api: Api) -> None:
    browser = Browser(api)
    for _ in range(WRONG_SIGN_INS):
        assert (await browser.post("/sign-in", token="x" * 64)).status == 401
    refused = await browser.post("/sign-in", token="x" * 64)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
    assert (await browser.post("/sign-in", token=await make_link(api))).status == 303


async def test_sign_ins_that_fail_are_counted_altogether_too(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = (f"10.0.{number // 250}.{number % 250}" for number in range(10_000))
    monkeypatch.setattr("sexton.api.security.sign_in.address_of", lambda _: next(addresses))
    browser = Browser(api)
    for _ in range(MOST_WRONG_SIGN_INS):
        assert (await browser.post("/sign-in", token="x")).status == 401
    assert (await browser.post("/sign-in", token="x")).status == 429


async def test_refused_sign_ins_are_in_the_audit_but_cannot_fill_it(api: Api, database: Database) -> None:
    browser, made_up = Browser(api), "x" * 64
    for _ in range(WRONG_SIGN_INS + 5):
        await browser.post("/sign-in", token=made_up)
    rows = await Store(database).fetch("select * from sexton.audit_pending where action = 'sign_in.refused'")
    assert len(rows) == WRONG_SIGN_INS
    assert (rows[0]["namespace"], rows[0]["actor"], rows[0]["address"]) == ("*", "anyone", "127.0.0.1")
    assert json.loads(rows[0]["detail"]) == {
        "method": "link",
        "code": "bad_link",
        "why": "this sign-in link is wrong, was used already, or is older than ten minutes",
    }
    assert made_up not in repr(rows)


async def test_behind_a_proxy_that_hides_the_name_a_link_is_not_used_up(api: Api) -> None:
    secret, browser = await make_link(api), Browser(api)
    forwarded = await browser.post("/sign-in", {"X-Forwarded-For": "192.0.2.7"}, token=secret)
    assert (forwarded.status, b"pass the Host header on" in forwarded.content) == (421, True)
    assert (await browser.post("/sign-in", token=secret)).status == 303


async def test_a_form_must_be_one(api: Api) -> None:
    browser = Browser(api)
    many = {f"f{number}": "x" for number in range(20)}
    assert (await browser.post("/sign-in", None, **many)).status == 400
    assert (await browser("POST", "/sign-in", {"token": "x"})).status == 415


async def test_assets_are_known_by_name(api: Api) -> None:
    for name in ("nothing.css", "pages.css", "..%2Fhtml.py"):
        assert (await api("GET", f"/assets/{name}")).code == "no_such_path"
