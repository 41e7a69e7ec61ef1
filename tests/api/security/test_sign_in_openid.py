"""Signing in with OpenID Connect, as a browser goes through it, with a small provider that can misbehave."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from sexton import clock
from sexton.api.services import WRONG_SIGN_INS
from sexton.config import Settings, load
from sexton.postgres.database import Database
from tests.api.browser import Browser
from tests.api.conftest import Api, Reply, serve
from tests.security.provider import CLIENT, Key, Provider
from tests.seeding import Store

ROLES = "ops=operator@default,ops=viewer@billing,admins=admin@*"
FROM_ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
PUBLIC = "https://sexton.example.com"


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[Provider]:
    provider = Provider()
    async with provider.serving():
        yield provider


@asynccontextmanager
async def serving(database: Database, provider: Provider, **changes: Any) -> AsyncIterator[Api]:
    settings = load(
        {
            "oidc_issuer": provider.issuer,
            "oidc_client_id": CLIENT,
            "oidc_roles": ROLES,
            "egress_private": "refuse",  # for jobs, not for what the operator names
            **changes,
        },
        environment={},
    )
    async with serve(database, settings) as api:
        yield api


@pytest_asyncio.fixture
async def api(database: Database, provider: Provider) -> AsyncIterator[Api]:
    async with serving(database, provider) as client:
        yield client


async def go(browser: Browser, provider: Provider, path: str = "/sign-in/openid") -> str:
    """To the provider; where that sends the browser back to."""
    start = await browser("GET", path)
    assert start.status == 303, start.content
    return provider.authorise(start.headers["Location"])


async def come_back(browser: Browser, url: str) -> Reply:
    assert url.startswith(f"{browser.origin}/sign-in/callback?")
    reply = await browser("GET", url.removeprefix(browser.origin), headers=FROM_ELSEWHERE)
    if reply.status == 303:
        browser.csrf_token = (await browser("GET", "/session")).json()["csrf_token"]
    return reply


async def refusal_of(browser: Browser, url: str, status: int = 401) -> str:
    """What a browser is told that comes back and is not let in."""
    reply = await come_back(browser, url)
    assert reply.status == status, reply.content
    assert not [
        name for name in browser.cookies if name.startswith(("sexton_session", "__Host-sexton_session"))
    ]
    assert reply.headers["Content-Type"].startswith("text/html")
    return reply.content.decode()


async def test_a_person_signs_in_and_has_the_roles_of_their_groups(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    assert provider.issuer.removeprefix("http://") in (await browser("GET", "/sign-in")).content.decode()
    reply = await come_back(browser, await go(browser, provider, "/sign-in/openid?next=/docs"))
    assert (reply.status, reply.headers["Location"]) == (303, "/docs")
    me = (await browser("GET", "/session")).json()
    assert (me["name"], me["method"]) == ("person:kim@example.com", "openid")
    assert me["roles"] == {"default": "operator", "billing": "viewer"}
    assert [name.rsplit("_", 1)[0] for name in browser.cookies] == ["sexton_session"]
    assert (await browser("GET", "/jobs")).status == 200
    assert (await browser("POST", "/jobs", {"name": "a", "schedule": "@daily"})).code == "forbidden"
    assert (await browser("GET", "/cluster")).code == "forbidden"


async def test_roles_are_worked_out_at_every_sign_in(api: Api, provider: Provider) -> None:
    before, after = Browser(api), Browser(api)
    await come_back(before, await go(before, provider))
    provider.person["groups"] = ["admins"]
    await come_back(after, await go(after, provider))
    assert (await before("GET", "/session")).json()["roles"] == {"default": "operator", "billing": "viewer"}
    assert (await after("GET", "/session")).json()["roles"] == {"*": "admin"}
    # They are sessions of one person.
    assert (await after("DELETE", "/sessions")).json() == {"ended": 2}


async def test_behind_a_proxy_the_provider_sends_people_to_the_public_name(
    database: Database, provider: Provider
) -> None:
    async with serving(database, provider, host="0.0.0.0", public_url=PUBLIC) as api:
        browser = Browser(api, "sexton.example.com", https=True)
        url = await go(browser, provider)
        assert url.startswith(f"{PUBLIC}/sign-in/callback?")
        assert "__Host-sexton_sign_in" in browser.cookies
        assert "secure" in browser.set["__Host-sexton_sign_in"].lower()
        assert (await come_back(browser, url)).status == 303
        assert list(browser.cookies) == ["__Host-sexton_session"]
        assert (await browser("GET", "/")).status == 200
        assert (await api("GET", "/jobs")).code == "no_key"


async def test_without_a_role_a_person_is_told_why(api: Api, provider: Provider, database: Database) -> None:
    browser = Browser(api)
    provider.person["groups"] = ["<b>guests</b>"]
    said = await refusal_of(browser, await go(browser, provider), 403)
    assert "none of these groups has a role: &lt;b&gt;guests&lt;/b&gt;" in said
    assert "kim@example.com" in said
    [row] = await Store(database).fetch("select * from sexton.audit_pending where action = 'sign_in.refused'")
    assert json.loads(row["detail"])["code"] == "no_role"
    assert "kim@example.com" in row["detail"]


async def test_an_answer_counts_in_the_browser_that_has_asked(api: Api, provider: Provider) -> None:
    browser, attacker, fresh = Browser(api), Browser(api), Browser(api)
    theirs = await go(attacker, provider)
    assert "has begun no sign-in" in await refusal_of(fresh, theirs)
    await go(browser, provider)
    assert "belongs to another sign-in" in await refusal_of(browser, theirs)
    state = parse_qs(urlsplit(theirs).query)["state"][0]
    assert "belongs to another sign-in" in await refusal_of(attacker, theirs.replace(state, "x" * len(state)))
    assert (await come_back(attacker, theirs)).status == 303


async def test_an_answer_counts_once(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    url = await go(browser, provider)
    kept = dict(browser.cookies)
    assert (await come_back(browser, url)).status == 303
    browser.cookies = {}
    assert "has begun no sign-in" in await refusal_of(browser, url)
    browser.cookies = kept
    assert "invalid_grant" in await refusal_of(browser, url)


async def test_an_answer_must_come_in_time(
    api: Api, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(api)
    url = await go(browser, provider)
    late = clock.now() + timedelta(minutes=10, seconds=1)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: late)
        assert "within the last ten minutes" in await refusal_of(browser, url)
    assert (await come_back(browser, url)).status == 303


async def test_a_cookie_that_was_altered_is_none(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    url = await go(browser, provider)
    [name] = browser.cookies
    browser.cookies[name] = "A" + browser.cookies[name][1:]
    assert "has begun no sign-in" in await refusal_of(browser, url)


async def test_the_answer_of_another_provider_is_refused(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    provider.answer = {"iss": "https://evil.example"}
    assert "another provider" in await refusal_of(browser, await go(browser, provider))


async def test_what_the_provider_says_is_shown(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    provider.answer = {"code": "", "error": "access_denied", "error_description": "<i>Not today</i>"}
    said = await refusal_of(browser, await go(browser, provider))
    assert "The provider says: &lt;i&gt;Not today&lt;/i&gt;" in said
    provider.answer = {"code": ""}
    assert "has sent no code" in await refusal_of(browser, await go(browser, provider))


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"aud": "another"}, "another client"),
        ({"exp": 1}, "expired"),
    ],
)
async def test_a_wrong_token_lets_no_person_in(
    api: Api, provider: Provider, claims: dict[str, Any], why: str
) -> None:
    browser = Browser(api)
    provider.claims = claims
    assert why in await refusal_of(browser, await go(browser, provider))


async def test_an_unsigned_token_lets_no_person_in(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    provider.token = Key("mine", "ES256").sign
    assert "signature" in await refusal_of(browser, await go(browser, provider))


@pytest.mark.parametrize(
    "answer",
    [(500, b"{}"), (307, b"{}"), (200, b" " * (300 * 1024) + b"{}")],
    ids=["error", "redirect", "huge"],
)
async def test_a_provider_that_does_not_answer_is_told_without_its_address(
    database: Database, provider: Provider, answer: tuple[int, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(database, provider) as api:
        provider.broken["/.well-known/openid-configuration"] = answer
        reply = await Browser(api)("GET", "/sign-in/openid")
        assert reply.status == 502
        assert b"cannot be used now" in reply.content
        assert b".well-known" not in reply.content
        assert "/.well-known/openid-configuration" in caplog.text
        assert provider.asked == ["/.well-known/openid-configuration"]


async def test_metadata_services_are_never_asked(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(database, Provider("https://169.254.169.254")) as api:
        assert (await Browser(api)("GET", "/sign-in/openid")).status == 502
        assert "never reached" in caplog.text


async def test_sign_ins_that_fail_are_put_off(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    for _ in range(WRONG_SIGN_INS + 1):
        assert (
            await browser("GET", "/sign-in/callback?code=x&state=y", headers=FROM_ELSEWHERE)
        ).status == 401
    url = await go(browser, provider)
    asked = len(provider.asked)
    reply = await come_back(browser, url)
    assert (reply.status, reply.headers["Retry-After"]) == (429, "60")
    assert len(provider.asked) == asked


async def test_providers_may_add_parameters_of_their_own(api: Api, provider: Provider) -> None:
    browser = Browser(api)
    provider.answer = {"session_state": "x", "scope": "openid email"}
    assert (await come_back(browser, await go(browser, provider))).status == 303


async def test_without_openid_there_is_nothing_to_go_to(database: Database) -> None:
    async with serve(database, Settings()) as api:
        browser = Browser(api)
        for path in ("/sign-in/openid", "/sign-in/callback?code=x&state=y"):
            assert (await browser("GET", path)).status == 404


async def test_the_owner_needs_no_sign_in_beside_it(api: Api) -> None:
    assert (await api("GET", "/session")).json()["method"] == "owner"
    forwarded = {"X-Forwarded-For": "192.0.2.7"}
    assert (await api("GET", "/jobs", headers=forwarded)).code == "forwarded"
