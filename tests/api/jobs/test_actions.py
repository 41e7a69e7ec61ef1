"""Acting on many jobs over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.api.jobs.actions import WORKS
from sexton.api.jobs.routes import ACTION_ROLES
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, Reply, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key


async def make(api: Api, count: int = 3, headers: dict[str, str] | None = None) -> list[str]:
    made = []
    for number in range(count):
        job = {"name": f"bulk-{number}", "schedule": "@daily", "labels": {"team": "sales"}}
        made.append((await api("POST", "/jobs", job, headers=headers or {})).json()["job_id"])
    return made


async def act(api: Api, action: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    wish = {"action": action, "filter": {"label": "team=sales"}, **fields}
    return await api("POST", "/jobs/actions", wish, headers=headers or {})


async def statuses(api: Api) -> list[str]:
    return [job["status"] for job in (await api("GET", "/jobs")).json()]


async def test_many_are_paused_and_resumed(api: Api) -> None:
    jobs = await make(api)
    await api("POST", "/jobs", {"name": "other", "schedule": "@daily"})
    counted = (await act(api, "pause", dry_run=True)).json()
    assert (counted["dry_run"], counted["matched"], counted["through"]) == (True, 3, jobs[-1])
    assert [each["name"] for each in counted["sample"]] == ["bulk-0", "bulk-1", "bulk-2"]
    assert await statuses(api) == ["active"] * 4
    reply = await act(api, "pause", reason="moves", until="2100-01-01T00:00:00Z", expected=3)
    assert (reply.status, reply.json()["done"], reply.json()["cursor"]) == (200, 3, None)
    shown = (await api("GET", "/jobs/bulk-1")).json()
    assert (shown["status"], shown["paused_reason"], shown["paused_until"]) == (
        "paused",
        "moves",
        "2100-01-01T00:00:00Z",
    )
    resumed = (await act(api, "resume")).json()
    assert (resumed["done"], resumed["job_ids"]) == (3, jobs)
    assert await statuses(api) == ["active"] * 4


async def test_those_that_were_paused_before_are_not_named(api: Api) -> None:
    """So that resuming the named ones takes the pause back."""
    first, *others = await make(api)
    await api("POST", f"/jobs/{first}/pause", {"reason": "the texts are reviewed"})
    paused = (await act(api, "pause", reason="moves")).json()
    assert (paused["done"], paused["job_ids"]) == (3, others)
    assert (await act(api, "resume", limit=1)).json()["job_ids"] == [first]
    assert (await act(api, "label", labels={"tier": "1"})).json()["job_ids"] == []


async def test_many_are_run_labelled_and_deleted(api: Api) -> None:
    jobs = await make(api)
    ran = (await act(api, "run", payload={"n": 1})).json()
    [run] = (await api("GET", f"/jobs/{jobs[0]}/runs")).json()
    assert (ran["run_ids"][0], len(ran["run_ids"])) == (run["run_id"], 3)
    assert (await api("GET", f"/runs/{run['run_id']}")).json()["payload"] == {"n": 1}
    assert (await act(api, "label", labels={"team": "billing", "tier": "1"})).json()["done"] == 3
    assert (await act(api, "delete")).json()["matched"] == 0
    found = {"filter": {"label": "team=billing"}}
    assert (await act(api, "label", labels={"tier": None}, **found)).json()["done"] == 3
    assert (await api("GET", f"/jobs/{jobs[0]}")).json()["labels"] == {"team": "billing"}
    assert (await act(api, "delete", cancel_running=True, **found)).json()["done"] == 3
    assert await statuses(api) == []


async def test_a_call_says_where_the_next_one_goes_on(api: Api) -> None:
    jobs = await make(api)
    first = (await act(api, "pause", limit=2)).json()
    assert (first["matched"], first["cursor"]) == (2, jobs[1])
    rest = (await act(api, "pause", limit=2, after=first["cursor"], through=jobs[2])).json()
    assert (rest["matched"], rest["cursor"]) == (1, None)


async def test_the_same_call_again_makes_no_other_runs(api: Api) -> None:
    await make(api)
    headers = {"Idempotency-Key": "nightly#"}
    first = await act(api, "run", headers)
    again = await act(api, "run", headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    assert len((await api("GET", "/runs")).json()) == 3


async def test_what_was_refused_is_told_by_code(api: Api) -> None:
    await make(api)
    job = {"name": "single", "schedule": "@daily", "labels": {"team": "sales"}, "overlap": "SKIP"}
    await api("POST", "/jobs", job)
    await act(api, "run")
    done = (await act(api, "run")).json()
    assert (done["done"], len(done["run_ids"])) == (3, 3)
    [refused] = done["refused"]
    assert (refused["code"], refused["jobs"]) == ("overlap", 1)
    assert "the job's overlap is SKIP" in refused["message"]


@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        ({"filter": {}}, "bad_filter", "filter"),
        ({"filter": {"name": "*"}}, "bad_filter", "filter"),
        ({"filter": {"status": "deleted"}}, "bad_value", "filter.status"),
        ({"filter": {"label": ""}}, "empty", "label"),
        ({"filter": {"lable": "x"}}, "unknown_field", "filter.lable"),
        ({"filter": None}, "bad_value", "filter"),
        ({"action": "stop"}, "bad_value", "action"),
        ({"action": None}, "bad_value", "action"),
        ({"payload": 1}, "bad_value", "payload"),
        ({"labels": {"a": "b"}}, "bad_value", "labels"),
        ({"cancel_running": True}, "bad_value", "cancel_running"),
        ({"action": "run", "reason": "x"}, "bad_value", "reason"),
        ({"action": "label"}, "missing_field", "labels"),
        ({"until": "2020-01-01T00:00:00Z"}, "in_the_past", "until"),
        ({"limit": 1001}, "bad_value", "limit"),
        ({"after": "x"}, "bad_cursor", "after"),
        ({"expected": -1}, "bad_value", "expected"),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_refused(api: Api, wish: dict[str, Any], code: str, field: str) -> None:
    await make(api, 1)
    reply = await act(api, **{"action": "pause", **wish})
    assert (reply.status, reply.code, reply.json()["field"]) == (422, code, field)
    assert await statuses(api) == ["active"]


async def test_more_than_was_confirmed_is_a_conflict(api: Api) -> None:
    await make(api)
    reply = await act(api, "delete", expected=2)
    assert (reply.status, reply.code) == (409, "count_changed")
    assert await statuses(api) == ["active"] * 3


async def test_every_job_is_meant_only_if_that_is_said(api: Api) -> None:
    await make(api)
    assert (await act(api, "delete", filter={"all": True})).json()["done"] == 3


async def test_each_action_needs_the_role_that_a_single_job_needs(database: Database) -> None:
    assert ACTION_ROLES.keys() == WORKS.keys()
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await make(api, headers=ADMIN)
        for role in (Role.VIEWER, Role.OPERATOR, Role.EDITOR):
            headers = await make_key(api, role)
            for action, needed in ACTION_ROLES.items():
                labels = {"labels": {"a": "b"}} if action == "label" else {}
                reply = await act(api, action, headers, dry_run=True, **labels)
                assert (reply.status == 200) is role.allows(needed), (role, action)
                if not role.allows(needed):
                    assert reply.code == "forbidden"


async def test_jobs_of_another_namespace_are_not_meant(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        await make(api, 2, ADMIN)
        await make(api, 1, {**ADMIN, "Sexton-Namespace": "billing"})
        headers = await make_key(api, Role.EDITOR, "billing")
        assert (await act(api, "delete", headers, filter={"all": True})).json()["done"] == 1
        assert len((await api("GET", "/jobs", headers=ADMIN)).json()) == 2


async def test_what_was_deleted_is_restored(api: Api) -> None:
    """By the ids of the answer, or a filter; only deleted jobs are meant."""
    made = await make(api)
    deleted = (await act(api, "delete")).json()["job_ids"]
    assert deleted == made
    assert await statuses(api) == []
    done = (await act(api, "restore", filter={"ids": deleted[:1]})).json()
    assert (done["matched"], done["done"]) == (1, 1)
    assert (await act(api, "restore", dry_run=True)).json()["matched"] == 2
    assert (await act(api, "restore")).json()["done"] == 2
    assert await statuses(api) == ["active"] * 3
    assert (await act(api, "restore")).json()["matched"] == 0
    assert (await act(api, "restore", filter={"status": "paused"})).code == "bad_value"
    assert [entry["action"] for entry in (await api("GET", "/audit")).json()][:2] == ["job.restored"] * 2
