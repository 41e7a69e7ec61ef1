"""Secrets are set and deleted over HTTP, and never come back."""

from __future__ import annotations

import logging

import pytest

from sexton.api.security import secrets as module
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security import secret_uses
from sexton.security.secrets import new_key
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store

VALUE = "hunter2-and-more"
BODY = {"value": VALUE, "hosts": ["crm.example.com"]}
SETTINGS = Settings(api_keys=CONFIGURED, secret_key=new_key())


async def texts(api: Api) -> str:
    """Everything that an admin can read about it."""
    paths = ("/secrets", "/audit?limit=100", "/overview")
    return "".join([(await api("GET", path, headers=ADMIN)).content.decode() for path in paths])


async def test_a_secret_is_set_shown_by_name_and_deleted(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(database, SETTINGS) as api:
        with caplog.at_level(logging.DEBUG):
            made = await api("PUT", "/secrets/crm", BODY, headers=ADMIN)
            assert (made.status, made.content) == (204, b"")
            assert (await api("PUT", "/secrets/crm", BODY, headers=ADMIN)).status == 204
        [shown] = (await api("GET", "/secrets", headers=ADMIN)).json()
        assert (shown["name"], shown["hosts"]) == ("crm", ["crm.example.com"])
        assert VALUE not in await texts(api) + caplog.text
        stored = await Store(database).value("select value from sexton.secrets")
        assert VALUE.encode() not in stored
        assert (await api("DELETE", "/secrets/crm", headers=ADMIN)).status == 204
        assert (await api("DELETE", "/secrets/crm", headers=ADMIN)).code == "no_secret"
        actions = [each["action"] for each in (await api("GET", "/audit", headers=ADMIN)).json()]
        assert actions[:2] == ["secret.deleted", "secret.set"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"value": VALUE}, "no_host"),
        ({"value": "", "hosts": ["a.example"]}, "bad_secret"),
        ({"value": "x" * 70_000, "hosts": ["a.example"]}, "bad_secret"),
        ({"value": 271828182845, "hosts": ["a.example"]}, "bad_value"),
        ({"value": VALUE, "hosts": ["not a host"]}, None),
        ({"value": VALUE, "hosts": ["a.example"], "kinds": ["carrier pigeon"]}, None),
    ],
)
async def test_what_is_refused_does_not_show_the_value(
    database: Database, body: dict[str, object], code: str | None
) -> None:
    async with serve(database, SETTINGS) as api:
        reply = await api("PUT", "/secrets/crm", body, headers=ADMIN)
        assert reply.status == 422
        assert code in (None, reply.code)
        for value in (VALUE, "x" * 100, "271828182845"):
            assert value not in reply.content.decode()


async def test_only_admins_of_the_namespace_set_secrets_and_only_over_a_private_way(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(database, SETTINGS) as api:
        editor = await make_key(api, "editor", "default")
        assert (await api("PUT", "/secrets/crm", BODY, headers=editor)).code == "forbidden"
        assert (await api("GET", "/secrets", headers=editor)).status == 200
        viewer = await make_key(api, "viewer", "default")
        assert (await api("GET", "/secrets", headers=viewer)).code == "forbidden"
        forwarded = {**ADMIN, "X-Forwarded-For": "203.0.113.7"}
        assert (await api("PUT", "/secrets/crm", BODY, headers=forwarded)).code == "insecure"
        monkeypatch.setattr(module, "is_loopback", lambda host: False)
        refused = await api("PUT", "/secrets/crm", BODY, headers=ADMIN)
        assert (refused.status, refused.code) == (403, "insecure")
    public = Settings(
        api_keys=CONFIGURED, secret_key=SETTINGS.secret_key, public_url="https://sexton.example.com"
    )
    async with serve(database, public) as api:
        assert (await api("PUT", "/secrets/crm", BODY, headers=ADMIN)).status == 204


async def test_namespaces_have_their_own(database: Database) -> None:
    async with serve(database, SETTINGS) as api:
        await api("POST", "/namespaces", {"name": "other"}, headers=ADMIN)
        await api("PUT", "/secrets/crm", BODY, headers=ADMIN)
        other = await make_key(api, "admin", "other")
        assert (await api("GET", "/secrets", headers=other)).json() == []
        assert (await api("DELETE", "/secrets/crm", headers=other)).code == "no_secret"


async def test_it_is_said_what_names_a_secret(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(database, SETTINGS) as api:
        for name in ("crm", "crm-2"):
            await api("PUT", f"/secrets/{name}", BODY, headers=ADMIN)
        url = "https://crm.example.com/"
        targets = {
            "in-a-header": {"http": {"url": url, "headers": {"Authorization": "Bearer ${secret:crm}"}}},
            "in-an-address": {"http": {"url": f"{url}?key=${{secret:crm}}"}},
            "another": {"http": {"url": f"{url}?key=${{secret:crm-2}}"}},
            "none": {"http": {"url": url}},
            "a-handler": {"handler": "work"},
        }
        for name, target in targets.items():
            made = await api(
                "POST", "/jobs", {"name": name, "schedule": "@yearly", "target": target}, headers=ADMIN
            )
            assert made.status == 201, made.content
        uses = (await api("GET", "/secrets/crm/uses", headers=ADMIN)).json()
        assert uses == {
            "jobs": 2,
            "estimated": False,
            "sample": ["in-a-header", "in-an-address"],
            "providers": [],
            "adapters": [],
        }
        await api("DELETE", "/jobs/in-a-header", headers=ADMIN)
        assert (await api("GET", "/secrets/crm/uses", headers=ADMIN)).json()["jobs"] == 1
        monkeypatch.setattr(secret_uses, "MOST_LOOKED_AT", 1)
        assert (await api("GET", "/secrets/crm/uses", headers=ADMIN)).json()["estimated"] is True
        assert (await api("GET", "/secrets/nothing/uses", headers=ADMIN)).status == 404
