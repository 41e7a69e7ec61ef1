"""Lists as files, the workers of a namespace, runs once more, and who shares a minute."""

from __future__ import annotations

import csv
import io
import json

import pytest

from sexton.api.console import exports
from sexton.jobs import company
from sexton.postgres.database import Database
from tests.api.conftest import Api
from tests.seeding import Store


async def make(api: Api, *names: str) -> None:
    for name in names:
        assert (await api("POST", "/jobs", {"name": name, "schedule": "0 0 1 1 *"})).status == 201


async def test_jobs_are_exported_page_by_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PAGE", 2)
    await make(api, "a", "b", "=cmd()", "d", "e", "＝cmd() x")
    lines = (await api("GET", "/export/jobs")).content.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["a", "b", "=cmd()", "d", "e", "＝cmd() x"]
    reply = await api("GET", "/export/jobs?format=csv&search=cmd")
    rows = list(csv.DictReader(io.StringIO(reply.content.decode())))
    assert [row["name"] for row in rows] == ["'=cmd()"]
    reply = await api("GET", "/export/jobs?format=csv&search=x")
    assert "'＝cmd() x" in reply.content.decode()
    assert reply.headers["Content-Disposition"] == 'attachment; filename="jobs.csv"'
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert (await api("GET", "/export/jobs?label=")).code == "empty"
    monkeypatch.setattr(exports, "MOST_ROWS", 2)
    assert len((await api("GET", "/export/jobs")).content.splitlines()) == 2


async def test_runs_and_dead_letters_are_exported_with_their_filters(api: Api, database: Database) -> None:
    await make(api, "a")
    run = (await api("POST", "/jobs/a/run")).json()["run_id"]
    rows = list(csv.DictReader(io.StringIO((await api("GET", "/export/runs?format=csv")).content.decode())))
    assert [(row["run_id"], row["status"], row["error"]) for row in rows] == [(run, "pending", "")]
    assert (await api("GET", "/export/runs?status=dead")).content == b""
    assert (await api("GET", "/export/dead")).content == b""
    assert (await api("GET", "/export/runs?job=none")).code == "job_not_found"


async def test_a_file_may_be_one_array(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.api.console.exports.PAGE", 2)
    assert (await api("GET", "/export/jobs?format=json")).json() == []
    await make(api, "a", "b", "c", "d", "e")
    reply = await api("GET", "/export/jobs?format=json")
    assert reply.headers["Content-Type"] == "application/json"
    assert [each["name"] for each in reply.json()] == ["a", "b", "c", "d", "e"]


async def test_a_run_is_run_again_with_its_payload(api: Api) -> None:
    await make(api, "a")
    first = (await api("POST", "/jobs/a/run", {"payload": {"n": 1}})).json()["run_id"]
    again = await api("POST", f"/runs/{first}/again")
    assert again.status == 201
    shown = (await api("GET", again.headers["Location"])).json()
    assert (shown["payload"], shown["trigger"], shown["run_id"] != first) == ({"n": 1}, "manual", True)
    other = (await api("POST", f"/runs/{first}/again", {"payload": 2})).json()["run_id"]
    assert (await api("GET", f"/runs/{other}")).json()["payload"] == 2
    audit = (await api("GET", "/audit?action=job.run")).json()
    assert audit[0]["detail"]["again"] == first
    assert (await api("POST", "/runs/r_zzz/again")).code == "run_not_found"


async def test_workers_and_backlog_are_those_of_the_namespace(api: Api, database: Database) -> None:
    await make(api, "a")
    await api("POST", "/jobs/a/run")
    [waiting] = (await api("GET", "/backlog")).json()
    assert (waiting["waiting"], waiting["served"], waiting["reason"]) == (1, False, "no worker is running")
    await Store(database).node()
    assert [node["roles"] for node in (await api("GET", "/workers")).json()] == [["worker"]]
    await Store(database).execute("update sexton.nodes set namespaces = '{other}'")
    assert (await api("GET", "/workers")).json() == []


async def test_a_preview_says_who_shares_its_minute(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await make(api, "a", "b", "c")
    wish = {"schedule": "0 0 1 1 *"}
    shown = (await api("POST", "/preview", wish)).json()
    assert (shown["shares_minute"], shown["spread_offer"]) == (3, None)
    monkeypatch.setattr(company, "MANY", 2)
    assert (await api("POST", "/preview", wish)).json()["spread_offer"] == 30
    assert (await api("POST", "/preview", {**wish, "jitter_seconds": 60})).json()["spread_offer"] is None
    assert (await api("POST", "/preview", {"schedule": "1 0 1 1 *"})).json()["shares_minute"] == 0
