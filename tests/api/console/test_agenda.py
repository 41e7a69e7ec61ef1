"""The calendar of everything over HTTP: jobs, content and campaigns of one namespace, bounded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from sexton import clock
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key

TEMPLATE = {"email": {"subject": "Hello", "text": "Hello"}}


def at(days: float) -> str:
    return (clock.now() + timedelta(days=days)).replace(microsecond=0).isoformat()


async def ask(api: Api, headers: dict[str, str] | None = None, **query: str) -> Reply:
    wanted = {"start": at(-1), "end": at(7), **query}
    return await api("GET", f"/calendar?{urlencode(wanted)}", headers=headers or {})


async def plan(api: Api, headers: dict[str, str] | None = None) -> None:
    """One of each kind, tomorrow and the day after."""
    more: dict[str, Any] = {"headers": headers or {}}
    await api("POST", "/jobs", {"name": "once", "schedule": at(1)}, **more)
    await api("PUT", "/content/entities/post/1", {"body": {"title": "Spring"}}, **more)
    action = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "ann"}
    made = await api("POST", "/content/schedules", {**action, "at": at(2)}, **more)
    assert made.status == 201, made.content
    await api("PUT", "/templates/spring", TEMPLATE, **more)
    local = (clock.now() + timedelta(days=3)).strftime("%Y-%m-%d 08:00")
    for name, when in (("sale", {"send_at": at(2)}), ("local", {"local_time": local}), ("later", {})):
        campaign = {"name": name, "template_id": "spring", "audience": {"everyone": True}, **when}
        made = await api("POST", "/campaigns", {**campaign, "timezone": "Asia/Tokyo"}, **more)
        assert made.status == 201, made.content


async def test_each_kind_is_shown_as_what_it_is(api: Api) -> None:
    await plan(api)
    shown = (await ask(api)).json()
    found = {(each["kind"], each["title"]): each for each in shown["entries"]}
    # The jobs of products, and a campaign without a time, are not among them.
    assert set(found) == {
        ("job", "once"),
        ("content", "Spring"),
        ("campaign", "sale"),
        ("campaign", "local"),
    }
    assert [each["at"] for each in shown["entries"]] == sorted(each["at"] for each in shown["entries"])
    assert found["content", "Spring"]["subject"] == "post/1"
    local = found["campaign", "local"]
    assert (local["local"][11:], local["status"]) == ("08:00:00+09:00", "upcoming")
    assert local["id"].startswith("k_")


async def test_content_tells_whether_it_still_lacks_its_approval(api: Api) -> None:
    await api("PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    action = {"entity_type": "post", "entity_id": "1", "action": "publish", "at": at(2)}
    made = await api("POST", "/content/schedules", {**action, "needs_approval": True})
    [lacking] = (await ask(api, kinds="content")).json()["entries"]
    await api("POST", f"/content/schedules/{made.json()['schedule_id']}/approve", {})
    [approved] = (await ask(api, kinds="content")).json()["entries"]
    assert (lacking["needs_approval"], approved["needs_approval"]) == (True, False)


async def test_kinds_can_be_chosen(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await plan(api)
    for kinds, found in (("campaigns", {"campaign"}), ("jobs,content", {"job", "content"})):
        assert {each["kind"] for each in (await ask(api, kinds=kinds)).json()["entries"]} == found
    # Jobs that are not shown are not worked out, and changes of the clock are told without them.
    monkeypatch.delattr("sexton.api.console.agenda.read_agenda")
    march = {"start": "2027-03-01T00:00:00Z", "end": "2027-04-01T00:00:00Z", "timezone": "Europe/Berlin"}
    shown = (await ask(api, None, kinds="content", **march)).json()
    assert (len(shown["clock_changes"]), shown["density"], shown["complete"]) == (1, [], True)


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ({"kinds": "jobs,holidays"}, "bad_value", "kinds"),
        ({"end": "2020-01-01T00:00:00Z"}, "bad_range", "end"),
        ({"end": "2199-01-01T00:00:00Z"}, "too_long", "end"),
        ({"start": "soon"}, "bad_time", "start"),
        ({"timezone": "Mars/Olympus"}, "unknown_timezone", "timezone"),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_refused(api: Api, query: dict[str, str], code: str, field: str) -> None:
    reply = await ask(api, None, **query)
    assert (reply.status, reply.code, reply.json()["field"]) == (422, code, field)


async def test_another_namespace_is_not_shown_and_a_key_is_needed(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        await plan(api, ADMIN)
        viewer = await make_key(api, Role.VIEWER, "billing")
        assert (await ask(api, viewer)).json()["entries"] == []
        assert (await ask(api, await make_key(api, Role.VIEWER))).json()["entries"]
        assert (await ask(api)).status == 401
