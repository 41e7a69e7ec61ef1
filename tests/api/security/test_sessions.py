"""Sessions over HTTP: who I am, signing out, forged requests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security import access
from tests.api.browser import Browser
from tests.api.conftest import Api, serve
from tests.seeding import Store
from tests.waiting import until

KEY = "a-key-of-sixteen-or-more"
ADMIN = {"Authorization": f"Bearer {KEY}"}
PUBLIC = "https://sexton.example.com"
JOB = {"name": "hourly", "schedule": "0 * * * *"}
BEHIND_PROXY = Settings(api_keys=KEY, public_url=PUBLIC)


@pytest_asyncio.fixture
async def guarded(database: Database) -> AsyncIterator[Api]:
    """The API of a server with keys, behind a proxy that speaks https."""
    async with serve(database, BEHIND_PROXY) as client:
        yield client


async def signed_in(api: Api, headers: dict[str, str] | None = None) -> Browser:
    """A browser that has opened a link."""
    made = await api("POST", "/links", headers=headers or {})
    assert made.status == 201, made.content
    url = made.json()["url"]
    https = url.startswith("https")
    browser = Browser(api, url.split("/")[2], https=https)
    reply = await browser.open_link(url)
    assert (reply.status, reply.headers["Location"]) == (303, "/"), reply.content
    return browser


async def test_the_owner_is_told_who_it_is_without_a_session(api: Api) -> None:
    me = (await api("GET", "/session")).json()
    assert (me["method"], me["roles"], me["csrf_token"]) == ("owner", {"*": "admin"}, None)
    assert me["name"].startswith("user:")


async def test_a_key_is_told_who_it_is(guarded: Api) -> None:
    me = (await guarded("GET", "/session", headers=ADMIN)).json()
    assert (me["name"], me["method"], me["session_id"]) == ("configured key", "key", None)
    made = await guarded("POST", "/keys", {"name": "look", "role": "viewer"}, headers=ADMIN)
    key = {"Authorization": f"Bearer {made.json()['key']}"}
    me = (await guarded("GET", "/session", headers=key)).json()
    assert (me["name"], me["roles"]) == ("key:look", {"default": "viewer"})
    assert (await guarded("GET", "/session")).code == "no_key"


async def test_a_link_of_a_key_gives_a_session_that_may_do_the_same(guarded: Api) -> None:
    made = await guarded("POST", "/keys", {"name": "look", "role": "viewer"}, headers=ADMIN)
    browser = await signed_in(guarded, {"Authorization": f"Bearer {made.json()['key']}"})
    me = (await browser("GET", "/session")).json()
    assert (me["name"], me["method"], me["roles"]) == ("key:look", "link", {"default": "viewer"})
    assert (await browser("GET", "/jobs")).status == 200
    assert (await browser("POST", "/jobs", JOB)).code == "forbidden"
    assert (await browser("POST", "/links")).code == "forbidden"
    await guarded("DELETE", f"/keys/{made.json()['key_id']}", headers=ADMIN)
    assert (await browser("GET", "/jobs")).code == "bad_session"


async def test_over_https_the_cookie_is_bound_to_its_host(guarded: Api) -> None:
    browser = await signed_in(guarded, ADMIN)
    assert list(browser.cookies) == ["__Host-sexton_session"]
    attributes = browser.set["__Host-sexton_session"].lower().split("; ")[1:]
    assert sorted(attributes) == ["httponly", "max-age=43200", "path=/", "samesite=lax", "secure"]
    # Another host, or http, cannot set that name; what they can set does not count.
    plain = Browser(guarded, "sexton.example.com", https=True)
    plain.cookies["sexton_session"] = plain.cookies["sexton_session_443"] = browser.cookies[
        "__Host-sexton_session"
    ]
    assert (await plain("GET", "/jobs")).code == "no_key"


async def test_on_this_machine_the_cookie_has_the_port_in_its_name(api: Api) -> None:
    browser = await signed_in(api)
    [name] = browser.cookies
    assert name == f"sexton_session_{api.base.rsplit(':', 1)[1]}"
    assert "secure" not in browser.set[name].lower()
    assert "httponly" in browser.set[name].lower()
    assert (await browser("GET", "/session")).json()["method"] == "link"


async def test_what_changes_something_needs_the_token_of_the_session(guarded: Api) -> None:
    browser, another = await signed_in(guarded, ADMIN), await signed_in(guarded, ADMIN)
    for wrong in ("", "x", another.csrf_token, browser.csrf_token[:-1]):
        for method, path, body in (
            ("POST", "/jobs", JOB),
            ("PUT", "/jobs/by-name/hourly", JOB),
            ("PATCH", "/jobs/hourly", {"priority": 1}),
            ("DELETE", "/jobs/hourly", None),
            ("DELETE", "/sessions", None),
        ):
            reply = await browser(method, path, body, headers={"X-CSRF-Token": wrong})
            assert (reply.status, reply.code) == (403, "bad_csrf_token")
    assert (await browser("GET", "/jobs", headers={"X-CSRF-Token": ""})).json() == []
    assert (await browser("POST", "/jobs", JOB)).status == 201


async def test_with_a_key_no_token_is_needed(guarded: Api) -> None:
    """Browsers do not send it by themselves; it counts before the cookie."""
    browser = await signed_in(guarded, ADMIN)
    viewer = await guarded("POST", "/keys", {"name": "look", "role": "viewer"}, headers=ADMIN)
    key = {"Authorization": f"Bearer {viewer.json()['key']}", "X-CSRF-Token": ""}
    assert (await browser("GET", "/session", headers=key)).json()["name"] == "key:look"
    assert (await browser("POST", "/jobs", JOB, headers=key)).code == "forbidden"
    assert (await browser("POST", "/jobs", JOB, headers={**ADMIN, "X-CSRF-Token": ""})).status == 201


async def test_a_page_of_another_site_gains_nothing_by_the_cookie(guarded: Api) -> None:
    browser = await signed_in(guarded, ADMIN)
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "http://sexton.example.com"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert (await browser("POST", "/jobs", JOB, headers=headers)).code == "cross_origin"
        assert (await browser("GET", "/jobs", headers=headers)).code == "cross_origin"
    assert (await browser("GET", "/jobs", headers={"Host": "evil.example"})).code == "no_key"
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert (await browser("GET", "/", headers=followed)).status == 200


async def test_signing_out_ends_this_session(guarded: Api) -> None:
    browser, another = await signed_in(guarded, ADMIN), await signed_in(guarded, ADMIN)
    kept = dict(browser.cookies)
    assert (await browser("DELETE", "/session")).status == 204
    assert browser.cookies == {}
    browser.cookies = kept
    assert (await browser("GET", "/session")).code == "bad_session"
    assert (await another("GET", "/session")).status == 200
    assert (await guarded("DELETE", "/session", headers=ADMIN)).code == "session_not_found"


async def test_signing_out_everywhere_counts_in_every_process(database: Database, database_url: str) -> None:
    other = await Database.open(database_url, size=2)
    async with serve(database, BEHIND_PROXY) as first, serve(other, BEHIND_PROXY) as second:
        here = await signed_in(first, ADMIN)
        there = await signed_in(second, ADMIN)
        assert len((await here("GET", "/sessions")).json()) == 2
        assert (await there("GET", "/jobs")).status == 200
        assert (await here("DELETE", "/sessions")).json() == {"ended": 2}
        assert (await here("GET", "/jobs")).code == "bad_session"

        async def refused() -> bool:
            return (await there("GET", "/jobs")).status == 401

        await until(refused)
    await other.close()


async def test_each_person_sees_and_ends_their_own_sessions(guarded: Api) -> None:
    made = await guarded("POST", "/keys", {"name": "look", "role": "viewer"}, headers=ADMIN)
    viewer = await signed_in(guarded, {"Authorization": f"Bearer {made.json()['key']}"})
    admin, again = await signed_in(guarded, ADMIN), await signed_in(guarded, ADMIN)
    [own] = (await viewer("GET", "/sessions")).json()
    assert (own["name"], own["current"], own["address"]) == ("key:look", True, "127.0.0.1")
    assert [each["current"] for each in (await again("GET", "/sessions")).json()] == [True, False]
    assert (await viewer("GET", "/sessions?every=true")).code == "forbidden"
    assert (await viewer("DELETE", "/sessions?name=configured%20key")).code == "forbidden"
    everyone = (await admin("GET", "/sessions?every=true")).json()
    assert len(everyone) == 3
    first = await admin("GET", "/sessions?every=true&limit=2")
    assert first.next is not None
    assert [*first.json(), *(await admin("GET", first.next)).json()] == everyone
    for each in everyone:
        if each["name"] != "key:look":
            assert (await viewer("DELETE", f"/sessions/{each['session_id']}")).code == "session_not_found"
    assert (await admin("DELETE", f"/sessions/{own['session_id']}")).status == 204
    assert (await viewer("GET", "/session")).code == "bad_session"
    assert (await admin("DELETE", "/sessions?name=configured%20key")).json() == {"ended": 2}


async def test_the_sessions_of_a_configured_key_end_when_it_is_taken_out(database: Database) -> None:
    settings = Settings(api_keys=f"{KEY},another-long-enough-key", public_url=PUBLIC)
    async with serve(database, settings) as api:
        kept = await signed_in(api, ADMIN)
        gone = await signed_in(api, {"Authorization": "Bearer another-long-enough-key"})
        assert (await gone("GET", "/jobs")).status == 200
    async with serve(database, BEHIND_PROXY) as kept.api:
        gone.api = kept.api
        assert (await kept("GET", "/jobs")).status == 200
        assert (await gone("GET", "/jobs")).code == "bad_session"


async def test_a_session_of_this_machine_is_good_for_the_same_user_only(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user could run a server on another port, and be shown the cookie."""
    browser = await signed_in(api)
    monkeypatch.setattr(access, "user_of", lambda *_: 4711)
    headers = {"Connection": "close"}
    await browser("GET", "/session", headers=headers)
    assert (await browser("GET", "/session", headers=headers)).code == "other_user"


async def test_a_session_that_ended_leaves_the_owner_what_it_may(api: Api) -> None:
    browser = await signed_in(api)
    assert (await browser("DELETE", "/sessions")).json() == {"ended": 1}
    assert (await browser("GET", "/session")).json()["method"] == "owner"


async def test_no_session_outlives_its_time_or_idles(guarded: Api, database: Database) -> None:
    browser = await signed_in(guarded, ADMIN)
    me = (await browser("GET", "/session")).json()
    assert me["created_at"] < me["idle_expires_at"] < me["expires_at"]
    await Store(database).fetch("update sexton.sessions set used_at = now() - interval '7201 seconds'")

    async def ended() -> bool:
        return (await browser("GET", "/session")).status == 401

    await until(ended)


async def test_links_need_a_name_under_which_people_can_sign_in(database: Database) -> None:
    async with serve(database, Settings(host="0.0.0.0", api_keys=KEY)) as api:
        reply = await api("POST", "/links", headers={**ADMIN, "Host": "10.0.0.5:7390"})
        assert (reply.status, reply.code, reply.json()["field"]) == (422, "no_public_url", "public_url")
        here = await api("POST", "/links", headers={**ADMIN, "Host": "localhost:7390"})
        assert here.json()["url"].startswith("http://localhost:7390/sign-in#")


async def test_an_idempotency_key_does_not_keep_a_link(guarded: Api, database: Database) -> None:
    headers = {**ADMIN, "Idempotency-Key": "once"}
    first, second = [(await guarded("POST", "/links", headers=headers)).json()["url"] for _ in range(2)]
    assert first != second
    kept = await Store(database).fetch("select body from sexton.requests")
    assert first.split("#")[1] not in repr(kept)
