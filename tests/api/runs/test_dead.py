"""Dead letters over HTTP."""

from __future__ import annotations

import pytest

from sexton.model import decode_id
from sexton.postgres.database import Database
from tests.api.conftest import Api
from tests.runs.rows import MINUTE, NOON
from tests.runs.test_dead_letters import bury

pytestmark = pytest.mark.asyncio


async def make(api: Api, database: Database, count: int = 3) -> list[str]:
    job = (
        await api("POST", "/jobs", {"name": "hourly", "schedule": "0 * * * *", "payload": {"n": 1}})
    ).json()
    number = decode_id("j", job["job_id"])
    assert number is not None
    for run in range(1, count + 1):
        # Numbers that the sequence does not come to.
        group = "even" if run % 2 == 0 else "odd"
        await bury(database, number, 1_000_000 + run, error_group=group, died_at=NOON + run * MINUTE)
    return [letter["run_id"] for letter in (await api("GET", "/dead")).json()]


async def test_look_redrive_and_discard(api: Api, database: Database) -> None:
    first, second, third = await make(api, database)
    assert (await api("GET", f"/dead/{first}")).json()["payload"] == {"n": 1}
    groups = (await api("GET", "/dead/groups?job=hourly")).json()
    assert [(each["error_group"], each["letters"]) for each in groups] == [("odd", 2), ("even", 1)]
    redriven = await api("POST", f"/dead/{first}/redrive")
    assert (redriven.status, redriven.json()["parent_run"]) == (201, first)
    run = (await api("GET", redriven.headers["Location"])).json()
    assert (run["trigger"], run["parent_run"], run["payload"]) == ("redrive", first, {"n": 1})
    assert (await api("POST", f"/dead/{second}/discard")).status == 204
    assert [letter["run_id"] for letter in (await api("GET", "/dead")).json()] == [third]
    for path in (f"/dead/{first}/redrive", f"/dead/{second}/discard"):
        assert (await api("POST", path)).code == "dead_not_found"
    assert (await api("GET", f"/dead/{first}")).code == "dead_not_found"


async def test_many_at_once_need_to_be_named(api: Api, database: Database) -> None:
    await make(api, database, 4)
    for body in ({}, {"all": True, "job": "hourly"}, {"rate": 5}):
        assert (await api("POST", "/dead/redrive", body)).code == "bad_filter"
    assert (await api("POST", "/dead/redrive", {"error_group": "odd", "rate": 10})).json() == {"redriven": 2}
    assert (await api("POST", "/dead/redrive", {"all": True, "rate": 0})).code == "bad_value"
    assert (await api("POST", "/dead/discard", {"job": "hourly"})).json() == {"discarded": 2}
    assert (await api("GET", "/dead")).json() == []


async def test_a_dry_run_counts_and_what_was_counted_can_be_expected(api: Api, database: Database) -> None:
    await make(api, database, 4)
    assert (await api("GET", "/dead?limit=1")).headers["Sexton-Total"] == "4"
    for path in ("/dead/redrive", "/dead/discard"):
        counted = (await api("POST", path, {"error_group": "odd", "dry_run": True})).json()
        assert (counted["matched"], len(counted["sample"])) == (2, 2)
        refused = await api("POST", path, {"error_group": "odd", "expected": 1})
        assert (refused.status, refused.code) == (409, "count_changed")
    assert len((await api("GET", "/dead")).json()) == 4
    assert (await api("POST", "/dead/redrive", {"all": True, "expected": 4})).json() == {"redriven": 4}


async def test_a_letter_is_redriven_with_another_payload_under_its_own_key(
    api: Api, database: Database
) -> None:
    [letter] = await make(api, database, 1)
    key = (await api("GET", f"/dead/{letter}")).json()["idempotency_key"]
    new = (await api("POST", f"/dead/{letter}/redrive", {"payload": {"n": 2}})).json()["run_id"]
    run = (await api("GET", f"/runs/{new}")).json()
    assert (run["payload"], run["idempotency_key"]) == ({"n": 2}, key)
    changes = (await api("GET", "/audit?action=dead.redriven")).json()
    assert changes[0]["detail"]["payload"] == {"n": 2}


async def test_pages(api: Api, database: Database) -> None:
    letters = await make(api, database, 5)
    for order, wanted in (("", letters), ("&sort=-died_at", letters), ("&sort=died_at", letters[::-1])):
        seen: list[str] = []
        path: str | None = f"/dead?limit=2{order}"
        while path:
            reply = await api("GET", path)
            seen += [letter["run_id"] for letter in reply.json()]
            path = reply.next
        assert seen == wanted


async def test_a_target_that_is_refused_is_called_as_it_was_given(api: Api) -> None:
    for target, field in (({"http": {}}, "target.http.url"), ({"handler": "x"}, "target")):
        reply = await api("PUT", "/dead/target", {"target": target})
        assert (reply.status, reply.json()["field"]) == (422, field)
