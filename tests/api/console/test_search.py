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
    assert await found(api, "post/1") >= {("entity", "Spring")}
    assert await found(api, "SAL") >= {("campaign", "sale")}
    assert await found(api, "spr") == {("template", "spring"), ("entity", "Spring")}
    assert await found(api, "default") == {("queue", "default")}
    run = (await api("POST", "/jobs/once/run")).json()["run_id"]
    assert await found(api, run) == {("run", run)}
    campaign = (await api("GET", "/campaigns")).json()[0]
    assert await found(api, campaign["campaign_id"]) >= {("campaign", campaign["name"])}
    assert await found(api, "%") == await found(api, "no such thing") == set()


async def test_content_is_found_by_its_title_and_before_the_jobs_that_carry_it_out(api: Api) -> None:
    await api("PUT", "/content/entities/post/7", {"body": {"title": "Winter coats"}})
    await api("PUT", "/content/entities/post/7", {"body": {"title": "Spring collection"}})
    action = {"entity_type": "post", "entity_id": "7", "action": "publish", "at": "2030-01-01T09:00:00Z"}
    made = await api("POST", "/content/schedules", {**action, "created_by": "ann"})
    assert made.status == 201, made.content
    release = {
        "note": "The sale begins",
        "at": "2030-01-02T09:00:00Z",
        "created_by": "ann",
        "items": [{"entity_type": "post", "entity_id": "7", "action": "unpublish"}],
    }
    made = await api("POST", "/content/releases", release)
    assert made.status == 201, made.content
    assert await found(api, "coll spri") == {("entity", "Spring collection")}
    assert await found(api, "winter") == set()
    assert await found(api, "sale") >= {("release", "The sale begins")}
    reply = (await api("GET", "/search?q=post/7")).json()
    assert [each["kind"] for each in reply] == ["entity", "job"]
    assert (reply[0]["title"], reply[0]["subtitle"]) == ("Spring collection", "post/7")


async def test_recipients_and_messages_are_found(api: Api) -> None:
    await plan(api)
    await api("PUT", "/recipients/reader-1", {"email": "a@example.com"})
    message = {"user_id": "reader-1", "template_id": "spring", "channel": "email"}
    sent = await api("POST", "/notifications", message)
    assert sent.status == 201, sent.content
    sent_id = sent.json()["notification_id"]
    assert await found(api, "reader") == {("recipient", "reader-1")}
    assert await found(api, sent_id) == {("message", sent_id)}


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
