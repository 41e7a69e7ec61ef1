"""Who may do what over HTTP: every route is walked with every kind of credential."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.api.application import operations
from sexton.api.console import pages
from sexton.api.operation import Operation, operations_of
from sexton.api.security import guard, sign_in
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.access_table import FRESH_SECONDS
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.world import GIVEN, SECRET_KEY, World, belongings, kinds_of
from tests.seeding import Store
from tests.waiting import until

CONFIGURED = "a-key-of-the-configuration"
ADMIN = {"Authorization": f"Bearer {CONFIGURED}"}
WALKED = [one for one in operations() if one.role is not None and not one.tokened]
REFUSALS = {401, 403}
#: What anyone may ask for.
OPEN = {
    "healthz", "readyz", "explain_schedule_text", "list_zones", "playground", "asset", "sign_in", "use_link",
    "start_openid", "openid_answer",
}  # fmt: skip


@pytest_asyncio.fixture
async def guarded(database: Database) -> AsyncIterator[Api]:
    """The API of a server with keys."""
    async with serve(database, Settings(api_keys=CONFIGURED)) as client:
        yield client


async def make_key(api: Api, role: Role | str, namespace: str = "default", **more: Any) -> dict[str, str]:
    """The header of a new key."""
    made = await api(
        "POST", "/keys", {"name": "walker", "role": role, "namespace": namespace, **more}, headers=ADMIN
    )
    assert made.status == 201, made.content
    return {"Authorization": f"Bearer {made.json()['key']}"}


async def call(api: Api, one: Operation, headers: dict[str, str], **ids: str) -> Reply:
    """A request that gets past the guard if it may: what follows may refuse it."""
    path = re.sub(
        r"\{(\w+)\}", lambda found: ids.get(found[1], "r_1" if found[1] == "run" else "x"), one.template
    )
    body: dict[str, Any] | None = (
        {} if one.body is not None or one.method in ("POST", "PUT", "PATCH") else None
    )
    if one.name == "get_events":
        path += "?seconds=1"  # it would go on and on
    return await api(one.method, api.base + path, body, headers=headers, absolute=True, allow_redirects=False)


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_may_do_what_the_table_says(guarded: Api, role: Role) -> None:
    headers = await make_key(guarded, role, "*")
    wrong = []
    for one in WALKED:
        reply = await call(guarded, one, headers)
        assert one.role is not None
        if role.allows(one.role) == (reply.status in REFUSALS):
            wrong.append((one.name, reply.status))
        if reply.status == 403:
            assert reply.code == "forbidden"
            assert f"the role {one.role}" in reply.json()["detail"]
    assert wrong == []


async def test_nothing_is_answered_without_a_credential(guarded: Api) -> None:
    for one in WALKED:
        assert (await call(guarded, one, {})).code == "no_key", one.name
        made_up = {"Authorization": "Bearer sxn_00000000000000000000000000000000000000"}
        assert (await call(guarded, one, made_up)).status in (401, 429), one.name


async def test_revoked_and_expired_keys_are_refused(guarded: Api, database: Database) -> None:
    headers = [await make_key(guarded, "admin", "*") for _ in range(2)]
    await Store(database).fetch("update sexton.keys set expires_at = now() - interval '1 s' where id % 2 = 0")
    await Store(database).fetch("update sexton.keys set revoked_at = now() where id % 2 = 1")
    await Store(database).fetch("update sexton.access_version set version = version + 1")
    for one in WALKED:
        for each in headers:
            assert (await call(guarded, one, each)).status in (401, 429), one.name
    assert (await guarded("GET", "/jobs", headers=ADMIN)).status == 200


async def test_a_role_in_one_namespace_is_none_in_the_cluster(guarded: Api) -> None:
    headers = await make_key(guarded, "admin")
    for one in WALKED:
        if one.cluster:
            assert (await call(guarded, one, headers)).code == "forbidden", one.name


async def test_a_namespace_of_others_is_not_there(guarded: Api) -> None:
    await guarded("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
    headers = await make_key(guarded, "admin")
    for asked in ("billing", "nowhere"):
        for one in WALKED:
            reply = await call(guarded, one, {**headers, "Sexton-Namespace": asked})
            assert reply.code == "namespace_not_found", one.name
        reply = await guarded("GET", f"/namespaces/{asked}", headers=headers)
        assert reply.code == "namespace_not_found"
        wish = {"name": "mine", "role": "viewer", "namespace": asked}
        assert (await guarded("POST", "/keys", wish, headers=headers)).code == "namespace_not_found"
    assert [each["name"] for each in (await guarded("GET", "/namespaces", headers=headers)).json()] == [
        "default"
    ]


async def test_ids_of_another_namespace_are_as_if_they_were_not_there(database: Database) -> None:
    """For everything that a path can name: the same status, code and text as for an id that never was, and
    nothing is changed."""
    settings = Settings(api_keys=CONFIGURED, api_rate=0, secret_key=SECRET_KEY)
    async with serve(database, settings) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        theirs = World(api, Store(database), await make_key(api, "admin", "billing"), "elm", "billing")
        ours = World(api, Store(database), await make_key(api, "admin"), "ash")
        await theirs.furnish()
        walked = [one for one in WALKED if "{" in one.path and not one.cluster]
        for one in walked:
            kinds = kinds_of(one)
            named = {name: theirs.ids[kind] for name, kind in kinds.items()}
            never = {
                name: id_ if kinds[name] in ("channel", "entity_type") else never_made(id_)
                for name, id_ in named.items()
            }
            requests = [await ours.request_with(one, ids) for ids in (named, never)]
            before = await belongings(theirs)
            foreign, missing = [await ours.send(one.name, request=each) for each in requests]
            assert foreign.status == missing.status, (one.name, foreign.content, missing.content)
            if GIVEN & set(kinds.values()):
                assert foreign.status == 404, (one.name, foreign.content)
            if foreign.status >= 400:
                assert said(foreign, named) == said(missing, never), one.name
            assert theirs.mark not in foreign.content.decode(), one.name
            assert await belongings(theirs) == before, one.name


def never_made(id_: str) -> str:
    """Of the same shape."""
    head, mark, tail = id_.partition("_")
    return f"{head}{mark}{'z' * max(len(tail), 8)}" if mark else "x" * len(id_)


def said(reply: Reply, ids: Mapping[str, str]) -> dict[str, Any]:
    """What a problem says, without what differs from request to request."""
    problem: dict[str, Any] = {name: value for name, value in reply.json().items() if name != "request_id"}
    text = json.dumps(problem)
    for id_ in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(id_, "…")
    found: dict[str, Any] = json.loads(text)
    return found


async def test_without_a_role_it_is_open_or_has_a_token_or_asks_who_calls(guarded: Api) -> None:
    """Every operation and every page that the table of roles does not guard."""
    every = (*operations(), *pages.operations(operations), *operations_of(sign_in))
    for one in every:
        if one.role is not None and not one.tokened:
            continue
        reply = await call(guarded, one, {}, run="r_1")
        if one.tokened:
            # Even the key of an administrator opens nothing that a token opens.
            for each in (reply, await call(guarded, one, ADMIN, run="r_1")):
                assert each.status in (401, 404, 429), one.name
        elif one.open:
            assert reply.status != 401, one.name
        elif one.page:
            assert reply.status == 303, (one.name, reply.content)
            assert reply.headers["Location"].startswith("/sign-in"), one.name
        else:
            assert reply.status in (401, 429), one.name
    assert {one.name for one in every if one.open} == OPEN


async def test_a_key_is_made_and_revoked(guarded: Api) -> None:
    await guarded("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
    made = await guarded(
        "POST", "/keys", {"name": "deploy", "role": "editor", "namespace": "billing"},
        headers={**ADMIN, "Idempotency-Key": "once"},
    )  # fmt: skip
    assert (made.status, made.json()["namespace"]) == (201, "billing")
    key = {"Authorization": f"Bearer {made.json()['key']}"}
    assert (await guarded("POST", "/jobs", {"name": "a", "schedule": "@daily"}, headers=key)).status == 201
    in_billing = {**ADMIN, "Sexton-Namespace": "billing"}
    [listed] = (await guarded("GET", "/keys", headers=in_billing)).json()
    assert listed["key_id"] == made.json()["key_id"]
    assert "key" not in listed
    assert (await guarded("GET", "/keys", headers=ADMIN)).json() == []
    assert len((await guarded("GET", "/keys?every=true", headers=ADMIN)).json()) == 1
    revoked = await guarded("DELETE", f"/keys/{made.json()['key_id']}", headers=in_billing)
    assert revoked.json()["revoked_at"] is not None


async def test_no_answer_keeps_the_text_of_a_key(guarded: Api, database: Database) -> None:
    body = {"name": "deploy", "role": "editor"}
    made = await guarded("POST", "/keys", body, headers={**ADMIN, "Idempotency-Key": "once"})
    kept = await Store(database).fetch("select body from sexton.requests")
    assert made.json()["key"] not in repr(kept)


async def test_a_key_counts_also_for_the_user_who_runs_the_server(api: Api) -> None:
    made = await api("POST", "/keys", {"name": "look", "role": "viewer"})
    headers = {"Authorization": f"Bearer {made.json()['key']}"}
    assert (await api("GET", "/jobs", headers=headers)).status == 200
    reply = await api("POST", "/jobs", {"name": "a", "schedule": "@daily"}, headers=headers)
    assert reply.code == "forbidden"


async def test_only_the_cluster_makes_keys_for_all_namespaces(guarded: Api) -> None:
    headers = await make_key(guarded, "admin")
    reply = await guarded(
        "POST", "/keys", {"name": "all", "role": "viewer", "namespace": "*"}, headers=headers
    )
    assert reply.code == "forbidden"
    assert (await guarded("GET", "/keys?every=true", headers=headers)).code == "forbidden"


async def test_quotas_are_set_shown_and_exceeded(guarded: Api) -> None:
    await guarded("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
    changed = await guarded(
        "PATCH", "/namespaces/billing", {"jobs": 1, "firings_per_second": 5}, headers=ADMIN
    )
    assert changed.status == 200
    assert changed.json()["quotas"] == {
        "jobs": 1, "live_runs": None, "firings_per_second": 5.0, "payload_bytes": None, "history_days": None,
        "campaign_sends_per_day": None,
    }  # fmt: skip
    theirs = await make_key(guarded, "editor", "billing")
    job = {"name": "a", "schedule": "@daily"}
    assert (await guarded("POST", "/jobs", job, headers=theirs)).status == 201
    refused = await guarded("POST", "/jobs", {**job, "name": "b"}, headers=theirs)
    assert (refused.status, refused.code, refused.json()["quota"]) == (409, "quota_exceeded", "jobs")
    assert "sexton namespaces set billing --jobs 2" in refused.json()["hint"]
    shown = (await guarded("GET", "/namespaces/billing", headers=theirs)).json()
    assert shown["used"] == {"jobs": 1, "live_runs": 0, "firings_wait_seconds": 0.0}
    admin_of_one = await make_key(guarded, "admin", "billing")
    reply = await guarded("PATCH", "/namespaces/billing", {"jobs": 100}, headers=admin_of_one)
    assert reply.code == "forbidden"
    text = (await guarded("GET", "/metrics", headers=ADMIN)).content.decode()
    assert 'sexton_namespace_quota{namespace="billing",quota="jobs"} 1.0' in text
    assert 'sexton_namespace_used{namespace="billing",quota="jobs"} 1.0' in text
    assert 'sexton_namespace_used{namespace="billing",quota="live_runs"}' not in text
    for body, code in (
        ({"jobs": -1}, "out_of_range"),
        ({"cpu": 1}, "unknown_field"),
        ({"jobs": "many"}, "bad_value"),
    ):
        assert (await guarded("PATCH", "/namespaces/billing", body, headers=ADMIN)).code == code
    assert (await guarded("PATCH", "/namespaces/nowhere", {}, headers=ADMIN)).code == "namespace_not_found"


async def test_a_key_that_ends_is_refused_by_every_process(guarded: Api, database: Database) -> None:
    """Also by those that did not end it: within two seconds, by the look at the version."""
    async with serve(database, Settings(api_keys=CONFIGURED)) as other:
        revoked = await make_key(guarded, "viewer", name="revoked")
        soon = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()
        expiring = await make_key(guarded, "viewer", name="expiring", expires_at=soon)
        lasting = await make_key(guarded, "viewer", name="lasting")
        for api in (guarded, other):
            assert (await api("GET", "/jobs", headers=revoked)).status == 200
            assert (await api("GET", "/jobs", headers=lasting)).status == 200
        listed = (await other("GET", "/keys", headers=ADMIN)).json()
        [key] = [each["key_id"] for each in listed if each["name"] == "revoked"]
        assert (await other("DELETE", f"/keys/{key}", headers=ADMIN)).status == 200
        assert (await other("GET", "/jobs", headers=revoked)).code == "bad_key"
        for headers in (revoked, expiring):
            for api in (guarded, other):

                async def refused(api: Api = api, headers: dict[str, str] = headers) -> bool:
                    return (await api("GET", "/jobs", headers=headers)).status in (401, 429)

                await until(refused)
        assert FRESH_SECONDS <= 2
        assert (await guarded("GET", "/jobs", headers=lasting)).status == 200


async def test_a_namespace_that_another_process_made_is_there_at_once(
    guarded: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "FRESH_FOR_UNKNOWN_SECONDS", 0.0)
    async with serve(database, Settings(api_keys=CONFIGURED)) as other:
        for api in (other, guarded):
            missing = await api("GET", "/jobs", headers={**ADMIN, "Sexton-Namespace": "billing"})
            assert missing.code == "namespace_not_found"
        assert (await other("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)).status == 201
        found = await guarded("GET", "/jobs", headers={**ADMIN, "Sexton-Namespace": "billing"})
        assert found.status == 200
