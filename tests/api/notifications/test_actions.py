"""Messages over HTTP as lists have them: of a campaign, in both orders, counted, and cancelled together."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.notifications import read
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.notifications.test_messages import prepare, schedule
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key

# Two campaigns that lie one in the other; of the first, one message has gone.
CAMPAIGNS = """
insert into sexton.messages (
    id, namespace, campaign_id, user_id, channels, template_id, template_version, scheduled_at, due_at,
    status, created_at, created_by
)
select n, 'default', 7 + n % 2, 'u' || n, '{email}', 'hello', 1, now(), now(),
    case when n = 1002 then 'sent' else 'pending' end, now(), 'x'
from generate_series(1000, 1009) as n
"""
CHUNKS = """
insert into sexton.campaign_chunks (
    campaign_id, number, namespace, first_id, last_id, size, due_at, next_at, changed_at, state,
    marked_run, marked_after, marked_to, marked_at
)
select 7 + n, 0, 'default', 1000, 1009, 5, now(), now(), now(), 'open',
    case n when 0 then 5 end, case n when 0 then 999 end, case n when 0 then 1000 end,
    case n when 0 then now() end
from generate_series(0, 1) as n
"""


async def act(api: Api, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    wish = {"action": "cancel", "filter": {"template_id": "hello"}, **fields}
    return await api("POST", "/notifications/actions", wish, headers=headers or {})


async def make(api: Api, count: int) -> list[str]:
    return [(await schedule(api))["notification_id"] for _ in range(count)]


async def add_campaigns(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(database.sql(CAMPAIGNS))
        await connection.execute(database.sql(CHUNKS))


async def ids(api: Api, query: str) -> list[str]:
    return [each["notification_id"] for each in (await api("GET", f"/notifications{query}")).json()]


async def test_a_list_begins_with_the_latest_or_with_the_oldest(api: Api) -> None:
    await prepare(api)
    made = await make(api, 3)
    first = await api("GET", "/notifications?limit=2")
    assert [each["notification_id"] for each in first.json()] == [made[2], made[1]]
    assert first.headers["sexton-total"] == "3"
    assert await ids(api, "?sort=created_at") == made
    assert await ids(api, "?sort=created_at&user_id=ann&status=pending") == made
    assert await ids(api, f"?sort=created_at&cursor={made[0]}") == made[1:]
    assert await ids(api, "?user_id=ann&sort=-created_at") == made[::-1]
    refused = await api("GET", "/notifications?sort=user_id")
    assert (refused.status, refused.json()["field"]) == (422, "sort")


async def test_messages_of_a_campaign_come_by_their_recipients(api: Api, database: Database) -> None:
    await prepare(api)
    await make(api, 1)
    await add_campaigns(database)
    listed = await api("GET", "/notifications?campaign_id=k_7")
    assert [each["user_id"] for each in listed.json()] == ["u1000", "u1002", "u1004", "u1006", "u1008"]
    assert listed.headers["sexton-total"] == "5"
    assert {each["campaign_id"] for each in listed.json()} == {"k_7"}
    page = await api("GET", "/notifications?campaign_id=k_7&sort=-user_id&limit=2")
    assert [each["user_id"] for each in page.json()] == ["u1008", "u1006"]
    cursor = page.headers["link"].split("cursor=")[1].split(">")[0]
    rest = await api("GET", f"/notifications?campaign_id=k_7&sort=-user_id&cursor={cursor}")
    assert [each["user_id"] for each in rest.json()] == ["u1004", "u1002", "u1000"]
    assert "sexton-total" not in rest.headers
    assert len(await ids(api, "?campaign_id=k_7&status=pending")) == 3
    assert len(await ids(api, "?campaign_id=k_7&status=processing")) == 1
    assert len(await ids(api, "?campaign_id=k_8&user_id=u1003")) == 1
    refused = await api("GET", "/notifications?campaign_id=k_7&sort=created_at")
    assert (refused.status, refused.json()["field"]) == (422, "sort")
    assert (await api("GET", "/notifications?campaign_id=nonsense")).status == 404


async def test_a_page_ends_where_it_has_read_enough(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await prepare(api)
    made = await make(api, 6)
    await api("POST", f"/notifications/{made[0]}/cancel")
    monkeypatch.setattr(read, "MOST_READ", 2)
    monkeypatch.setattr(read, "MOST_COUNTED", 2)
    path, pages = "/notifications?status=cancelled", []
    while path:
        page = await api("GET", path)
        pages.append([each["notification_id"] for each in page.json()])
        assert "sexton-total" not in page.headers
        link = page.headers.get("link", "")
        path = link.split("</api/v1")[1].split(">")[0] if link else ""
    assert pages[:3] == [[], [], [made[0]]]
    counted = (await act(api, dry_run=True)).json()
    assert (counted["matched"], counted["estimated"]) == (2, True)
    # A call that finds nothing yet goes on, too.
    done, after = 0, None
    while True:
        chunk = (await act(api, after=after)).json()
        done, after = done + chunk["done"], chunk["cursor"]
        if after is None:
            break
    assert done == 5


async def test_those_that_were_not_submitted_are_cancelled(api: Api, database: Database) -> None:
    await prepare(api)
    made = await make(api, 3)
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                "update sexton.messages set status = 'sent' where id = (select max(id) from sexton.messages)"
            )
        )
    counted = (await act(api, dry_run=True)).json()
    assert (counted["dry_run"], counted["matched"], counted["done"], counted["estimated"]) == (
        True,
        2,
        0,
        False,
    )
    assert [each["id"] for each in counted["sample"]] == [made[1], made[0]]
    assert {each["name"] for each in counted["sample"]} == {"hello → ann"}
    late = await act(api, expected=1)
    assert (late.status, late.json()["code"]) == (409, "count_changed")
    headers = {"Sexton-Reason": "a wrong date"}
    done = (await act(api, headers, expected=2)).json()
    assert (done["matched"], done["done"], done["refused"], done["cursor"]) == (2, 2, [], None)
    assert await ids(api, "?status=cancelled") == [made[1], made[0]]
    why = (await api("GET", f"/notifications/{made[0]}/why")).json()
    assert why["lines"][-1]["kind"] == "cancelled"
    assert "a wrong date" in why["lines"][-1]["text"]
    [entry] = (await api("GET", "/audit?action=notification.cancelled")).json()
    assert (entry["reason"], entry["detail"]["count"]) == ("a wrong date", 2)
    async with database.connection() as connection:
        assert await connection.fetchval(database.sql("select count(*) from sexton.message_timers")) == 1


async def test_some_are_named(api: Api) -> None:
    await prepare(api)
    made = await make(api, 3)
    named = {"ids": [made[0], made[0], "n_zzzz"]}
    counted = (await act(api, filter=named, dry_run=True)).json()
    assert counted["matched"] == 1
    done = (await act(api, filter=named)).json()
    assert (done["matched"], done["done"]) == (2, 1)
    assert [(each["code"], each["items"]) for each in done["refused"]] == [("notification_not_found", 1)]
    again = (await act(api, filter={"ids": made})).json()
    refused = [(each["code"], each["items"], each["sample"]) for each in again["refused"]]
    assert (again["done"], refused) == (2, [("already_cancelled", 1, [made[0]])])


async def test_what_a_campaign_submits_is_refused_and_the_rest_is_cancelled(
    api: Api, database: Database
) -> None:
    await prepare(api)
    await add_campaigns(database)
    named = (await api("GET", "/notifications?campaign_id=k_7")).json()
    by_ids = (await act(api, filter={"ids": [each["notification_id"] for each in named]})).json()
    assert (by_ids["done"], [(each["code"], each["items"]) for each in by_ids["refused"]]) == (
        3,
        [("already_submitted", 2)],
    )
    first = (await act(api, filter={"campaign_id": "k_8"}, limit=3)).json()
    assert (first["matched"], first["done"], first["cursor"] is not None) == (3, 3, True)
    second = (await act(api, filter={"campaign_id": "k_8"}, limit=3, after=first["cursor"])).json()
    assert (second["matched"], second["done"], second["cursor"]) == (2, 2, None)


async def test_it_is_said_which_messages_are_meant(api: Api) -> None:
    nothing = await act(api, filter={})
    assert (nothing.status, nothing.json()["field"]) == (422, "filter")
    assert (await act(api, filter={"all": True})).json()["matched"] == 0
    gone = await act(api, filter={"status": "sent"})
    assert (gone.status, gone.json()["field"]) == (422, "filter.status")
    both = await act(api, filter={"ids": ["n_1"], "status": "held"})
    assert (both.status, both.json()["field"]) == (422, "filter.ids")


async def test_a_viewer_may_not_and_another_namespace_stays_as_it_is(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        viewer = await make_key(api, Role.VIEWER)
        refused = await act(api, viewer, dry_run=True)
        assert refused.status == 403
        await api("POST", "/namespaces", {"name": "other"}, headers=ADMIN)
        elsewhere = {**ADMIN, "Sexton-Namespace": "other"}
        await api("PUT", "/recipients/ann", {"email": "ann@example.org"}, headers=elsewhere)
        await api("PUT", "/templates/hello", {"email": {"subject": "x", "text": "y"}}, headers=elsewhere)
        message = {
            "user_id": "ann",
            "channel": "email",
            "template_id": "hello",
            "send_at": "2099-01-01T00:00:00Z",
        }
        made = (await api("POST", "/notifications", message, headers=elsewhere)).json()["notification_id"]
        assert (await act(api, ADMIN)).json()["matched"] == 0
        named = (await act(api, ADMIN, filter={"ids": [made]})).json()
        assert [each["code"] for each in named["refused"]] == ["notification_not_found"]
        shown = await api("GET", f"/notifications/{made}", headers=elsewhere)
        assert shown.json()["status"] == "pending"
