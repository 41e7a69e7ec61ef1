"""Acting on many runs over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store

JOB = {"name": "report", "schedule": "@yearly", "payload": {"n": 1}}


async def act(api: Api, action: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    wish = {"action": action, "filter": {"job": "report"}, **fields}
    return await api("POST", "/runs/actions", wish, headers=headers or {})


async def start(api: Api, count: int = 3, headers: dict[str, str] | None = None, **job: Any) -> list[str]:
    more: dict[str, Any] = {"headers": headers or {}}
    await api("POST", "/jobs", {**JOB, **job}, **more)
    name = job.get("name", "report")
    return [(await api("POST", f"/jobs/{name}/run", **more)).json()["run_id"] for _ in range(count)]


async def statuses(api: Api, query: str = "") -> list[str]:
    return [run["status"] for run in (await api("GET", f"/runs{query}")).json()]


async def test_those_that_wait_end_and_those_that_run_are_asked(api: Api, database: Database) -> None:
    runs = await start(api)
    await start(api, 1, name="other")
    await Store(database).execute(
        "update sexton.runs set state = 'running', node = 7, claimed_at = now(), attempt = 1 "
        "where id = (select min(id) from sexton.runs)"
    )
    counted = (await act(api, "cancel", dry_run=True)).json()
    assert (counted["dry_run"], counted["matched"], counted["done"]) == (True, 3, 0)
    assert {each["run_id"] for each in counted["sample"]} == set(runs)
    assert "cancelled" not in await statuses(api)
    done = (await act(api, "cancel", reason="wrong month", expected=3)).json()
    assert (done["matched"], done["done"], done["requested"], done["cursor"]) == (3, 2, 1, None)
    assert sorted(await statuses(api, "?job=report")) == ["cancelled", "cancelled", "running"]
    assert (await api("GET", f"/runs/{runs[2]}")).json()["reason"] == "wrong month"
    assert await statuses(api, "?job=other") == ["pending"]
    [entry] = (await api("GET", "/audit?action=run.cancelled")).json()
    assert (entry["reason"], entry["detail"]["count"]) == ("wrong month", 3)


async def test_those_that_ended_are_run_again_with_their_payloads(api: Api) -> None:
    await api("POST", "/jobs", JOB)
    await api("POST", "/jobs/report/run", {"payload": {"n": 2}})
    await api("POST", "/jobs/report/run")
    await act(api, "cancel")
    made = (await act(api, "again")).json()
    assert (made["matched"], made["done"], len(made["run_ids"])) == (2, 2, 2)
    payloads = [(await api("GET", f"/runs/{run}")).json()["payload"]["n"] for run in made["run_ids"]]
    assert sorted(payloads) == [1, 2]
    # What is live is not meant.
    assert (await act(api, "again", filter={"job": "report", "status": "cancelled"})).json()["matched"] == 2


async def test_some_are_named(api: Api) -> None:
    runs = await start(api)
    done = (await act(api, "cancel", filter={"ids": [runs[0], runs[0], "r_zzz"]})).json()
    assert (done["matched"], done["done"]) == (2, 1)
    assert [(each["code"], each["runs"]) for each in done["refused"]] == [("run_not_found", 1)]
    again = (await act(api, "again", filter={"ids": runs})).json()
    assert (again["done"], [(each["code"], each["runs"]) for each in again["refused"]]) == (
        1,
        [("run_live", 2)],
    )
    late = (await act(api, "cancel", filter={"ids": [runs[0]]})).json()
    assert [each["code"] for each in late["refused"]] == ["run_ended"]
    counted = (await act(api, "cancel", filter={"ids": runs}, dry_run=True)).json()
    assert counted["matched"] == 2


async def test_the_runs_of_a_job_that_cannot_be_read_do_not_keep_the_others(
    api: Api, database: Database
) -> None:
    runs = [*await start(api, 1), *await start(api, 1, name="other")]
    await act(api, "cancel", filter={"ids": runs})
    await Store(database).execute(
        """update sexton.jobs set options = '{"priority": "high"}' where name = 'report'"""
    )
    again = (await act(api, "again", filter={"ids": runs})).json()
    assert (again["done"], [(each["code"], each["sample"]) for each in again["refused"]]) == (
        1,
        [("unreadable_job", [runs[0]])],
    )


async def test_runs_that_must_not_overlap_are_made_once(api: Api) -> None:
    """Two ended runs of one job, of which only one may be live."""
    await api("POST", "/jobs", {**JOB, "overlap": "SKIP"})
    for _ in range(2):
        await api("POST", "/jobs/report/run")
        await act(api, "cancel")
    made = (await act(api, "again")).json()
    assert (made["matched"], made["done"]) == (2, 1)
    assert [(each["code"], each["runs"]) for each in made["refused"]] == [("overlap", 1)]


async def test_a_deleted_job_runs_no_more(api: Api) -> None:
    runs = await start(api, 1)
    await api("DELETE", "/jobs/report")
    made = (await act(api, "again", filter={"ids": runs})).json()
    assert [each["code"] for each in made["refused"]] == ["job_deleted"]


async def test_a_call_says_where_the_next_one_goes_on(api: Api) -> None:
    await start(api, 5)
    first = (await act(api, "cancel", limit=2)).json()
    assert (first["done"], first["cursor"] is None) == (2, False)
    second = (await act(api, "cancel", limit=2, after=first["cursor"])).json()
    third = (await act(api, "cancel", limit=2, after=second["cursor"])).json()
    assert (second["done"], third["done"], third["cursor"]) == (2, 1, None)


async def test_the_same_call_again_makes_no_other_runs(api: Api) -> None:
    await start(api, 2)
    await act(api, "cancel")
    headers = {"Idempotency-Key": "again#1"}
    first = await act(api, "again", headers)
    assert (await act(api, "again", headers)).json() == first.json()
    assert (await statuses(api)).count("pending") == 2


@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        ({"filter": {}}, "bad_filter", "filter"),
        # These leave no live run out, and no run at all.
        ({"filter": {"since": "2099-01-01T00:00:00Z"}}, "bad_filter", "filter"),
        ({"filter": {"include": "skipped"}}, "bad_filter", "filter"),
        ({"action": "again", "filter": {"include": "skipped"}}, "bad_filter", "filter"),
        ({"filter": {"status": "success"}}, "bad_value", "filter.status"),
        ({"filter": {"status": "gone"}}, "bad_value", "status"),
        ({"filter": {"ids": ["r_1"], "job": "report"}}, "bad_filter", "filter.ids"),
        ({"filter": {"ids": ["r_1"] * 201}}, "bad_value", "filter.ids"),
        ({"action": "again", "filter": {"status": "pending"}}, "bad_value", "filter.status"),
        ({"action": "again", "reason": "x"}, "bad_value", "reason"),
        ({"action": "stop"}, "bad_value", "action"),
        ({"limit": 201}, "bad_value", "limit"),
        ({"expected": -1}, "bad_value", "expected"),
        ({"reason": "x" * 1001}, "bad_value", "reason"),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_refused(api: Api, wish: dict[str, Any], code: str, field: str) -> None:
    await start(api, 1)
    reply = await act(api, **{"action": "cancel", **wish})
    assert (reply.status, reply.code, reply.json()["field"]) == (422, code, field)
    assert await statuses(api) == ["pending"]


async def test_more_than_was_confirmed_is_a_conflict(api: Api) -> None:
    await start(api)
    reply = await act(api, "cancel", expected=2)
    assert (reply.status, reply.code) == (409, "count_changed")
    assert await statuses(api) == ["pending"] * 3


async def test_runs_of_another_namespace_are_not_meant(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        runs = await start(api, 2, ADMIN)
        operator = await make_key(api, Role.OPERATOR, "billing")
        for action in ("cancel", "again"):
            all_ = (await act(api, action, operator, filter={"all": True})).json()
            named = (await act(api, action, operator, filter={"ids": runs})).json()
            assert (all_["matched"], named["done"]) == (0, 0)
            assert [each["code"] for each in named["refused"]] == ["run_not_found"]
        viewer = await make_key(api, Role.VIEWER)
        assert (await act(api, "cancel", viewer)).status == 403
