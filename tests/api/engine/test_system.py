"""The doctor over HTTP: what `sexton doctor` finds, for callers that may see the cluster."""

from __future__ import annotations

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from sexton.security.secrets import new_key
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key


async def test_facts_bounds_and_findings_are_told(api: Api) -> None:
    await api("POST", "/jobs", {"name": "hourly", "schedule": "0 * * * *"})
    found = (await api("GET", "/cluster/doctor")).json()
    assert found["facts"]["PostgreSQL"]
    assert found["facts"]["shards led"].startswith("0 of ")
    assert "late at most, if a scheduler dies" in found["bounds"]
    findings = {each["what"]: each for each in found["findings"]}
    nothing_fires = findings["no scheduler is running: nothing fires"]
    assert (nothing_fires["serious"], nothing_fires["fix"]) == (True, "start one: sexton up")


async def test_it_concerns_the_whole_cluster(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        assert (await api("GET", "/cluster/doctor", headers=await make_key(api, Role.ADMIN))).status == 403
        everywhere = await make_key(api, Role.VIEWER, "*")
        assert (await api("GET", "/cluster/doctor", headers=everywhere)).status == 200
        assert (await api("GET", "/cluster/doctor", headers=ADMIN)).status == 200
        assert (await api("GET", "/cluster/doctor")).status == 401


async def test_secrets_that_cannot_be_read_are_counted_not_named(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED, secret_key=new_key())) as api:
        given = {"value": "hunter2", "hosts": ["crm.example.com"]}
        assert (await api("PUT", "/secrets/ledger-of-acme", given, headers=ADMIN)).status == 204
    async with serve(database, Settings(api_keys=CONFIGURED, secret_key=new_key())) as api:
        told = (await api("GET", "/cluster/doctor", headers=ADMIN)).content.decode()
    assert "secrets that cannot be read with the key here: " in told
    assert "ledger-of-acme" not in told
