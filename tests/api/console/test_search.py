"""Search over HTTP: in everything that the namespace has, and nothing else."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, serve
from tests.api.console.test_agenda import plan
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key


async def found(api: Api, text: str, headers: dict[str, str] | None = None) -> set[tuple[str, str]]:
    reply = await api("GET", f"/search?q={quote(text)}", headers=headers or {})
    assert reply.status == 200, reply.content
    return {(each["kind"], each["title"]) for each in reply.json()}


async def test_each_kind_is_found(api: Api) -> None:
    await plan(api)
    assert await found(api, "once") == {("job", "once")}
    assert await found(api, "post/1") >= {("entity", "post/1")}
    assert await found(api, "SAL") >= {("campaign", "sale")}
    assert await found(api, "spr") == {("template", "spring")}
    assert await found(api, "default") == {("queue", "default")}
    run = (await api("POST", "/jobs/once/run")).json()["run_id"]
    assert await found(api, run) == {("run", run)}
    campaign = (await api("GET", "/campaigns")).json()[0]
    assert await found(api, campaign["campaign_id"]) >= {("campaign", campaign["name"])}
    assert await found(api, "%") == await found(api, "no such thing") == set()


async def test_many_jobs_do_not_hide_the_rest(api: Api) -> None:
    await plan(api)
    for number in range(4):
        await api("POST", "/jobs", {"name": f"sale-{number}", "schedule": "@daily"})
    reply = await api("GET", "/search?q=sale&limit=3")
    assert [each["kind"] for each in reply.json()] == ["job", "job", "campaign"]


@pytest.mark.parametrize("query", ["", "?q=", f"?q={'x' * 201}", "?q=a&limit=0", "?q=a&limit=101"])
async def test_what_makes_no_sense_is_refused(api: Api, query: str) -> None:
    assert (await api("GET", f"/search{query}")).status == 422


async def test_another_namespace_is_not_searched_and_a_key_is_needed(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        await plan(api, ADMIN)
        viewer = await make_key(api, Role.VIEWER, "billing")
        for text in ("once", "post/1", "sale", "spring", "k_1", "j_1"):
            assert await found(api, text, viewer) == set()
            assert (await api("GET", f"/search?q={quote(text)}")).status == 401
