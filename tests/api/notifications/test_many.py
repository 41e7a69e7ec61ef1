"""Many campaigns, templates and recipients over HTTP: counted, changed together, and restored."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.jobs import items
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.notifications.test_messages import RECIPIENT, TEMPLATE, prepare, schedule
from tests.api.security.test_access import CONFIGURED, make_key

WHY = {"Sexton-Reason": "they asked for it"}


async def act(
    api: Api,
    what: str,
    action: str,
    chosen: dict[str, Any],
    headers: dict[str, str] | None = None,
    **fields: Any,
) -> Reply:
    wish = {"action": action, "filter": chosen, **fields}
    return await api("POST", f"/{what}/actions", wish, headers=headers or {})


async def campaign(api: Api, name: str, **fields: Any) -> str:
    wish = {
        "name": name, "template_id": "hello", "channel": "email", "audience": {"everyone": True},
        "template_vars": {"name": "you"}, "send_at": "2099-03-14T09:00:00Z", **fields,
    }  # fmt: skip
    made = await api("POST", "/campaigns", wish)
    assert made.status == 201, made.content
    return str(made.json()["campaign_id"])


async def statuses(api: Api) -> dict[str, str]:
    return {each["name"]: each["status"] for each in (await api("GET", "/campaigns")).json()}


async def test_campaigns_are_paused_resumed_and_cancelled_together(api: Api) -> None:
    await prepare(api)
    one, two = await campaign(api, "spring one"), await campaign(api, "spring two")
    await campaign(api, "autumn", draft=True)
    counted = (await act(api, "campaigns", "pause", {"all": True}, dry_run=True)).json()
    assert (counted["matched"], counted["estimated"]) == (2, False), "a draft is not paused"
    assert [each["name"] for each in counted["sample"]] == ["spring two", "spring one"]
    done = (await act(api, "campaigns", "pause", {"search": "spring"}, WHY, expected=2)).json()
    assert sorted(done["ids"]) == sorted([one, two])
    assert await statuses(api) == {"spring one": "paused", "spring two": "paused", "autumn": "draft"}
    assert (await api("GET", f"/campaigns/{one}")).json()["reason"] == "they asked for it"
    assert (await act(api, "campaigns", "resume", {"ids": [one]})).json()["done"] == 1
    assert (await statuses(api))["spring one"] == "scheduled"
    assert (await act(api, "campaigns", "start", {"all": True})).json()["done"] == 1
    assert (await statuses(api))["autumn"] == "scheduled"
    assert (await act(api, "campaigns", "cancel", {"status": "paused"})).json()["ids"] == [two]
    told = (await act(api, "campaigns", "pause", {"ids": [two, one, "k_999"]})).json()
    assert told["ids"] == [one]
    assert {each["code"] for each in told["refused"]} == {"campaign_cancelled", "campaign_not_found"}


async def test_templates_are_deleted_and_restored(api: Api) -> None:
    for name in ("old-one", "old-two", "new"):
        assert (await api("PUT", f"/templates/{name}", TEMPLATE)).status == 200
    before = (await api("GET", "/templates/old-one")).json()
    counted = (await act(api, "templates", "delete", {"search": "old-"}, dry_run=True)).json()
    assert counted["matched"] == 2
    done = (await act(api, "templates", "delete", {"search": "old-"}, expected=2)).json()
    assert done["ids"] == ["old-one", "old-two"]
    assert [each["template_id"] for each in (await api("GET", "/templates")).json()] == ["new"]
    assert (await act(api, "templates", "restore", {"all": True})).json()["field"] == "filter.ids"
    assert (await act(api, "templates", "restore", {"ids": done["ids"]}, dry_run=True)).json()["matched"] == 2
    told = (await act(api, "templates", "restore", {"ids": [*done["ids"], "never"]})).json()
    assert told["ids"] == done["ids"]
    assert [each["code"] for each in told["refused"]] == ["template_not_found"]
    assert (await api("GET", "/templates/old-one")).json() == before
    [*_, entry] = (await api("GET", "/audit?action=template.restored")).json()
    assert entry["detail"] == {"version": 1}


async def test_an_erasure_is_no_accident(api: Api) -> None:
    for name in ("test-1", "test-2", "ann"):
        assert (await api("PUT", f"/recipients/{name}", RECIPIENT)).status == 200
    test = {"search": "test-"}
    counted = (await act(api, "recipients", "erase", test, dry_run=True)).json()
    assert [each["id"] for each in counted["sample"]] == ["test-1", "test-2"]
    silent = await act(api, "recipients", "erase", test, expected=2)
    assert (silent.status, silent.json()["field"]) == (422, "Sexton-Reason")
    blind = await act(api, "recipients", "erase", test, WHY)
    assert (blind.status, blind.json()["field"]) == (422, "expected")
    fewer = await act(api, "recipients", "erase", test, WHY, expected=1)
    assert (fewer.status, fewer.json()["code"]) == (409, "count_changed")
    assert (await act(api, "recipients", "erase", {}, WHY, expected=9)).json()["code"] == "bad_filter"
    assert len((await api("GET", "/recipients")).json()) == 3
    done = (await act(api, "recipients", "erase", test, WHY, expected=2)).json()
    assert (done["ids"], done["refused"]) == (["test-1", "test-2"], [])
    assert [each["user_id"] for each in (await api("GET", "/recipients")).json()] == ["ann"]
    erased = (await api("GET", "/audit?action=recipient.erased")).json()
    assert [each["reason"] for each in erased] == ["they asked for it"] * 2


async def test_recipients_are_suppressed_together_and_get_nothing_until_they_are_unsuppressed(
    api: Api,
) -> None:
    for name in ("test-1", "test-2", "ann"):
        assert (await api("PUT", f"/recipients/{name}", RECIPIENT)).status == 200
    assert (await api("PUT", "/templates/hello", TEMPLATE)).status == 200
    test = {"search": "test-"}
    counted = (await act(api, "recipients", "suppress", test, dry_run=True)).json()
    assert [(each["id"], each["status"]) for each in counted["sample"]] == [
        ("test-1", None),
        ("test-2", None),
    ]
    done = (await act(api, "recipients", "suppress", test, WHY, expected=2)).json()
    assert (done["ids"], done["refused"]) == (["test-1", "test-2"], [])
    assert (await act(api, "recipients", "suppress", {"all": True}, dry_run=True)).json()["matched"] == 1
    assert (await api("PUT", "/recipients/test-1", RECIPIENT)).json()[
        "suppressed_reason"
    ] == "they asked for it"
    wish = {
        "name": "spring", "template_id": "hello", "audience": {"everyone": True},
        "template_vars": {"name": "you"},
    }  # fmt: skip
    check = (await api("POST", "/campaigns/preview", wish)).json()
    assert (check["recipients"], check["unreachable"]) == (3, 2)
    again = (await act(api, "recipients", "suppress", {"ids": ["test-1", "ann", "zoe"]})).json()
    assert again["ids"] == ["ann"]
    assert [each["code"] for each in again["refused"]] == ["already_suppressed", "recipient_not_found"]
    assert (await api("GET", "/recipients/ann")).json()["suppressed_reason"].startswith("by ")
    back = (await act(api, "recipients", "unsuppress", test, expected=2)).json()
    assert back["ids"] == ["test-1", "test-2"]
    shown = (await api("GET", "/recipients/test-1")).json()
    assert (shown["suppressed_at"], shown["suppressed_reason"]) == (None, None)
    told = (await act(api, "recipients", "unsuppress", {"ids": ["test-1"]})).json()
    assert [each["code"] for each in told["refused"]] == ["not_suppressed"]
    noted = (await api("GET", "/audit?action=recipient.suppressed")).json()
    assert [each["reason"] for each in noted] == [None, "they asked for it", "they asked for it"]


async def test_no_more_are_erased_than_can_be_counted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MOST_COUNTED", 2)
    monkeypatch.setattr(items, "PAGE", 1)
    for name in ("test-1", "test-2", "test-3"):
        assert (await api("PUT", f"/recipients/{name}", RECIPIENT)).status == 200
    counted = (await act(api, "recipients", "erase", {"search": "test-"}, dry_run=True)).json()
    assert (counted["matched"], counted["estimated"]) == (2, True)
    refused = await act(api, "recipients", "erase", {"search": "test-"}, WHY, expected=2)
    assert (refused.status, refused.json()["code"]) == (409, "too_many_at_once")
    assert len((await api("GET", "/recipients")).json()) == 3
    done = await act(api, "recipients", "erase", {"search": "test-2"}, WHY, expected=1)
    assert done.json()["ids"] == ["test-2"]


async def test_a_repeated_request_is_one_change(api: Api) -> None:
    for name in ("test-1", "test-2", "test-3"):
        assert (await api("PUT", f"/recipients/{name}", RECIPIENT)).status == 200
    for _ in range(2):
        done = await act(
            api, "recipients", "erase", {"search": "test-"}, {**WHY, "Idempotency-Key": "k"}, expected=3,
            limit=1,
        )  # fmt: skip
        assert done.json()["ids"] == ["test-1"]
    assert len((await api("GET", "/recipients")).json()) == 2


async def test_a_message_that_was_cancelled_is_restored(api: Api, database: Database) -> None:
    await prepare(api)
    made = [await schedule(api) for _ in range(2)]
    ids = [each["notification_id"] for each in made]
    off = (await act(api, "notifications", "cancel", {"ids": ids})).json()
    assert off["ids"] == ids
    counted = (await act(api, "notifications", "restore", {"all": True}, dry_run=True)).json()
    assert counted["matched"] == 2
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.messages set scheduled_at = '2020-01-01' where id = $1"),
            decode_id("n", ids[1]),
        )
    told = (await act(api, "notifications", "restore", {"ids": ids}, WHY)).json()
    assert (told["ids"], told["refused"][0]["code"]) == (ids[:1], "time_over")
    back = (await api("GET", f"/notifications/{ids[0]}")).json()
    assert back == made[0]
    why = (await api("GET", f"/notifications/{ids[0]}/why")).json()
    assert [line["kind"] for line in why["lines"]] == ["scheduled", "cancelled", "restored"]
    assert "they asked for it" in why["lines"][-1]["text"]
    async with database.connection() as connection:
        [timer] = await connection.fetch(database.sql("select * from sexton.message_timers"))
    assert timer["due_at"].isoformat() == "2099-03-13T08:00:00+00:00"
    wrong = await act(api, "notifications", "restore", {"status": "sent"})
    assert (wrong.status, wrong.json()["field"]) == (422, "filter.status")


async def test_what_happened_is_told_in_its_order_though_the_clock_was_set_back(
    api: Api, database: Database
) -> None:
    await prepare(api)
    ids = [(await schedule(api))["notification_id"]]
    for action in ("cancel", "restore"):
        assert (await act(api, "notifications", action, {"ids": ids})).json()["ids"] == ids
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                "update sexton.message_events set at = at - interval '1 minute' where kind = 'restored'"
            )
        )
    why = (await api("GET", f"/notifications/{ids[0]}/why")).json()
    assert [line["kind"] for line in why["lines"]] == ["scheduled", "cancelled", "restored"]


async def test_roles_are_those_of_the_single_operations(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        keys = {role: await make_key(api, role) for role in (Role.VIEWER, Role.EDITOR, Role.OPERATOR)}
        for what, action, needed in (
            ("campaigns", "pause", Role.OPERATOR),
            ("recipients", "erase", Role.OPERATOR),
            ("templates", "delete", Role.EDITOR),
        ):
            for role, headers in keys.items():
                reply = await act(api, what, action, {"all": True}, headers, dry_run=True)
                assert (reply.status == 200) == role.allows(needed), (what, role)


async def test_the_first_page_of_a_list_says_how_many_there_are(api: Api) -> None:
    for name in ("test-1", "test-2", "ann"):
        assert (await api("PUT", f"/recipients/{name}", RECIPIENT)).status == 200
        assert (await api("PUT", f"/templates/{name}", TEMPLATE)).status == 200
    assert (await api("PUT", "/templates/hello", TEMPLATE)).status == 200
    for name in ("spring one", "spring two", "autumn"):
        await campaign(api, name)
    for path, total in (
        ("/recipients?limit=1", "3"), ("/recipients?search=test-&limit=1", "2"), ("/recipients", "3"),
        ("/templates?limit=1&sort=-template_id", "4"), ("/templates?search=test-", "2"),
        ("/campaigns?limit=1&sort=name", "3"), ("/campaigns?search=spring&limit=1", "2"),
        ("/campaigns?status=draft&limit=1", "0"),
    ):  # fmt: skip
        page = await api("GET", path)
        assert page.headers["sexton-total"] == total, path
        assert "sexton-total-estimated" not in page.headers
    link = (await api("GET", "/recipients?limit=1")).headers["link"]
    rest = await api("GET", link.split("</api/v1")[1].split(">")[0])
    assert "sexton-total" not in rest.headers
