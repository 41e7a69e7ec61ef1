"""What comes next and how a job has been, over HTTP: bounded, of one namespace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton import clock
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store

MINUTELY = {"name": "minutely", "schedule": "* * * * *"}


async def test_the_next_minutes_are_counted(api: Api) -> None:
    await api("POST", "/jobs", MINUTELY)
    await api("POST", "/jobs", {"name": "once", "schedule": "in 5m"})
    shown = (await api("GET", "/upcoming?minutes=10")).json()
    assert len(shown["minutes"]) == 10
    assert sum(each["firings"] for each in shown["minutes"]) in (10, 11)
    assert max(each["jobs"] for each in shown["minutes"]) == 2
    assert shown["estimated"] is False


async def test_the_figures_of_a_job_are_by_pieces_of_time(api: Api, database: Database) -> None:
    job = (await api("POST", "/jobs", MINUTELY)).json()["job_id"]
    number = await Store(database).value("select id from sexton.jobs where name = 'minutely'")
    began = clock.now() - timedelta(hours=2)
    for place, status in enumerate(("success", "success", "dead"), 1):
        await Store(database).execute(
            """insert into sexton.history (
                recorded_at, run_id, job_id, scheduled_at, status, trigger, attempt, fired_at, started_at,
                finished_at
            )
            values (
                $1, $2, $3, $1, $4, 'schedule', 1, $1, $1::timestamptz, $1::timestamptz + interval '2 seconds'
            )""",
            began,
            place,
            number,
            status,
        )
    for hours in (3, 24, 744):
        shown = (await api("GET", f"/jobs/{job}/stats?hours={hours}")).json()
        assert len(shown["points"]) <= 120
        assert (sum(each["runs"] for each in shown["points"])) == 3
        assert (sum(each["failed"] for each in shown["points"])) == 1
        [point] = [each for each in shown["points"] if each["runs"]]
        assert point["duration_p50_ms"] == pytest.approx(2000)
    before = (await api("GET", f"/jobs/{job}/stats?hours=1")).json()
    assert not any(each["runs"] for each in before["points"])


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/upcoming?minutes=0", "minutes"),
        ("/upcoming?minutes=61", "minutes"),
        ("/upcoming?hours=1", "hours"),
        ("/jobs/minutely/stats?hours=0", "hours"),
        ("/jobs/minutely/stats?hours=745", "hours"),
        ("/jobs/minutely/stats?hours=x", "hours"),
    ],
)
async def test_what_is_out_of_bounds_is_refused(api: Api, path: str, field: str) -> None:
    await api("POST", "/jobs", MINUTELY)
    reply = await api("GET", path)
    assert (reply.status, reply.json()["field"]) == (422, field)


async def test_another_namespace_is_not_counted_and_a_key_is_needed(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        job = (await api("POST", "/jobs", MINUTELY, headers=ADMIN)).json()["job_id"]
        viewer = await make_key(api, Role.VIEWER, "billing")
        shown = (await api("GET", "/upcoming", headers=viewer)).json()
        assert sum(each["firings"] for each in shown["minutes"]) == 0
        assert (await api("GET", f"/jobs/{job}/stats", headers=viewer)).status == 404
        for path in ("/upcoming", f"/jobs/{job}/stats"):
            assert (await api("GET", path)).status == 401


async def test_a_worker_does_not_tell_whom_else_it_serves(database: Database) -> None:
    store = Store(database)
    for name, namespaces in (("both", ["billing", "payroll"]), ("all", ["*"]), ("theirs", ["payroll"])):
        await store.execute(
            """insert into sexton.nodes (name, roles, namespaces, lease_until, version)
            values ($1, '{worker}', $2, now() + interval '1 hour', '1')""",
            name,
            namespaces,
        )
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        for namespace in ("billing", "payroll"):
            await api("POST", "/namespaces", {"name": namespace}, headers=ADMIN)
        viewer = await make_key(api, Role.VIEWER, "billing")
        workers = (await api("GET", "/workers", headers=viewer)).json()
        assert {each["name"]: each["namespaces"] for each in workers} == {"both": ["billing"], "all": ["*"]}
