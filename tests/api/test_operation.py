"""What holds for every operation: repeats, documentation, who may ask."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import msgspec
import pytest

from sexton.api.application import make_app, operations
from sexton.api.console.pages import program_here
from sexton.api.replay import StoredAnswer, once
from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.node import Node
from sexton.engine.telemetry import Telemetry
from sexton.errors import InvalidField
from sexton.jobs import change
from sexton.jobs.validation import WORDS_OF_PATHS
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import trigger
from tests.api.conftest import Api, serve

HOURLY = {"name": "hourly", "schedule": "0 * * * *"}
KEY = "a-key-of-sixteen-or-more"
PATIENCE = 60


@pytest.mark.asyncio
async def test_the_same_key_and_body_get_the_same_answer(api: Api) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = await api("POST", "/jobs", HOURLY, headers=headers)
    again = await api("POST", "/jobs", HOURLY, headers=headers)
    assert (first.status, again.status) == (201, 201)
    assert again.content == first.content
    assert (again.headers["Location"], again.headers["ETag"]) == (first.headers["Location"], '"1"')
    assert again.headers["Idempotent-Replayed"] == "true"
    other = await api("POST", "/jobs", {**HOURLY, "name": "other"}, headers=headers)
    assert (other.status, other.code) == (409, "idempotency_key_reused")
    assert len((await api("GET", "/jobs")).json()) == 1


@pytest.mark.asyncio
async def test_repeats_at_the_same_time_have_one_effect(api: Api) -> None:
    await api("POST", "/jobs", HOURLY)
    headers = {"Idempotency-Key": "k2"}
    replies = await asyncio.gather(*(api("POST", "/jobs/hourly/run", headers=headers) for _ in range(3)))
    assert len({reply.json()["run_id"] for reply in replies}) == 1
    assert len((await api("GET", "/jobs/hourly/runs")).json()) == 1


@pytest.mark.asyncio
async def test_a_request_that_met_a_deadlock_is_carried_out_all_the_same(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a key as without one."""
    await api("POST", "/jobs", HOURLY)

    async def hold(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        await change.hold(*arguments, **named)
        raise asyncpg.DeadlockDetectedError("deadlock detected")

    for headers in ({}, {"Idempotency-Key": "k5"}):
        monkeypatch.setattr(trigger, "hold", hold)
        assert (await api("POST", "/jobs/hourly/run", headers=headers)).status == 201
    assert len((await api("GET", "/jobs/hourly/runs")).json()) == 2


@pytest.mark.asyncio
async def test_a_key_that_another_namespace_uses_at_the_same_time_is_not_waited_for(
    database: Database,
) -> None:
    async def at_once(_: Context) -> StoredAnswer:
        return StoredAnswer(200, {}, b"2")

    async def meanwhile(_: Context) -> StoredAnswer:
        async with asyncio.timeout(PATIENCE):
            answer, _repeated = await once(Context(database, "billing"), "k6", "x", at_once)
        return StoredAnswer(200, {}, b"1" + answer.body)

    assert (await once(Context(database), "k6", "x", meanwhile))[0].body == b"12"


@pytest.mark.asyncio
async def test_a_refused_request_is_not_remembered(api: Api) -> None:
    headers = {"Idempotency-Key": "k3"}
    assert (await api("POST", "/jobs", {"name": "a"}, headers=headers)).status == 422
    assert (await api("POST", "/jobs", HOURLY, headers=headers)).status == 201


@pytest.mark.asyncio
async def test_an_answer_is_forgotten_after_a_day(api: Api, database: Database) -> None:
    headers = {"Idempotency-Key": "k4"}
    await api("POST", "/jobs", HOURLY, headers=headers)
    async with database.connection() as connection:
        await connection.execute(
            database.sql("update sexton.requests set created_at = created_at - interval '25 hours'")
        )
    assert (await api("POST", "/jobs", {**HOURLY, "name": "b"}, headers=headers)).status == 201
    assert (await api("POST", "/jobs", HOURLY, headers={"Idempotency-Key": ""})).code == "bad_idempotency_key"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Host": "evil.example"}, 421, "bad_host"),
        ({"Host": "evil.example:7390"}, 421, "bad_host"),
        ({"Origin": "http://evil.example"}, 403, "cross_origin"),
        ({"Origin": "null"}, 403, "cross_origin"),
        ({"Content-Type": "text/plain"}, 415, "wrong_content_type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "wrong_content_type"),
        ({"Content-Type": ""}, 415, "wrong_content_type"),
    ],
)
async def test_a_web_page_cannot_drive_a_local_server(
    api: Api, headers: dict[str, str], status: int, code: str
) -> None:
    sent = {"Content-Type": "application/json", **headers}
    for path in ("/jobs", "/jobs/hourly/pause"):
        reply = await api("POST", path, data=json.dumps(HOURLY).encode(), headers=sent)
        assert (reply.status, reply.code) == (status, code)
    assert (await api("GET", "/jobs")).json() == []


@pytest.mark.asyncio
@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:7390", "sexton.localhost"])
async def test_names_of_this_machine_are_known(api: Api, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert (await api("GET", "/jobs", headers=headers)).status == 200


@pytest.mark.asyncio
async def test_with_keys_every_request_needs_one(database: Database) -> None:
    async with serve(database, Settings(host="0.0.0.0", api_keys=f"{KEY},another-long-enough-key")) as api:
        for given, code in ((None, "no_key"), ("Bearer wrong", "bad_key"), (f"Basic {KEY}", "no_key")):
            reply = await api("GET", "/jobs", headers={"Authorization": given} if given else {})
            assert (reply.status, reply.code) == (401, code)
            assert reply.headers["WWW-Authenticate"] == "Bearer"
        good = {"Authorization": f"Bearer {KEY}", "Host": "sexton.example"}
        assert (await api("GET", "/jobs", headers=good)).status == 200
        assert (await api("GET", "/healthz")).status == 200
        assert (await api("GET", "/readyz")).status == 200
        assert (await api("GET", "/metrics")).status == 401
        document = (await api("GET", "/openapi.json", headers=good)).json()
        assert document["security"] == [{"key": []}]


@pytest.mark.asyncio
async def test_other_addresses_need_keys(database: Database) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        with pytest.raises(InvalidField) as refused:
            make_app(database, Settings(host=host))
        assert refused.value.code == "keys_required"


@pytest.mark.asyncio
async def test_the_document_describes_every_field_and_has_an_example_for_each_call(api: Api) -> None:
    document = (await api("GET", "/openapi.json")).json()
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            where = f"{method} {path}"
            assert one["summary"], where
            assert one["description"], where
            assert all(each["description"] for each in one["parameters"]), where
            bodies = [one["requestBody"]] if "requestBody" in one else []
            for content in [*bodies, *one["responses"].values()]:
                assert all("example" in each for each in content.get("content", {}).values()), where
    references = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) <= set(document["components"]["schemas"])


def test_the_examples_have_the_shape_of_what_is_answered() -> None:
    for one in operations():
        if one.answer is not None and one.answer_example is not None:
            msgspec.convert(one.answer_example, one.answer)
            example = one.answer_example
            shown = next(iter(example), None) if isinstance(example, list) else example
            if isinstance(shown, dict) and not one.path.endswith("/bulk"):
                kind = getattr(one.answer, "__args__", [one.answer])[0]
                if hasattr(kind, "__struct_fields__"):  # of a union, or of plain JSON, it has the shape
                    assert set(shown) <= set(kind.__struct_fields__), one.name


@pytest.mark.asyncio
@pytest.mark.usefixtures("without_console")
async def test_the_pages_load_nothing_from_elsewhere(api: Api) -> None:
    for path in ("/", "/docs"):
        reply = await api("GET", path)
        assert reply.status == 200
        assert reply.headers["Content-Type"].startswith("text/html")
        text = reply.content.decode()
        loaded = re.findall(r'(?:src|<link[^>]* href)="([^"]*)"', text)
        assert loaded
        for each in loaded:
            assert each.startswith("/assets/")
            found = await api("GET", each)
            assert (found.status, "immutable" in found.headers["Cache-Control"]) == (200, True)
            assert not re.search(rb"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", found.content)
        assert not re.search(r"<style|style=|<script[^>]*>[^<]|\bon\w+=|<iframe", text)
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    home = (await api("GET", "/", headers={"Host": "localhost:7390"})).content.decode()
    assert "http://localhost:7390/api/v1/jobs" in home
    assert f"<pre>{program_here()} jobs add hello" in home
    for one in operations():
        assert f'id="{one.name}"' in text


class Round(Loop):
    def __init__(self, name: str, ticks: bool) -> None:
        super().__init__()
        self.name = name
        self._ticks = ticks

    async def tick(self) -> float:
        return 1

    def healthy(self, patience: float = 30.0) -> bool:
        return self._ticks


class Process:
    def __init__(self, *loops: Loop) -> None:
        self.loops = loops
        self.telemetry = Telemetry()
        self.problems: list[str] = []

    def warnings(self) -> list[str]:
        return self.problems


@pytest.mark.asyncio
async def test_ready_means_that_every_loop_ticks(database: Database) -> None:
    async with serve(database, Settings(), Process(Round("scheduler", True))) as api:
        reply = await api("GET", "/readyz")
        assert (reply.status, reply.json()["status"]) == (200, "ready")
    async with serve(database, Settings(), Process(Round("scheduler", True), Round("worker", False))) as api:
        reply = await api("GET", "/readyz")
        assert reply.status == 503
        assert reply.json()["loops"][1] == {"name": "worker", "healthy": False}
        assert (await api("GET", "/healthz")).json()["status"] == "ok"


@pytest.mark.asyncio
async def test_what_only_makes_it_slower_is_a_warning(database: Database) -> None:
    process = Process(Round("scheduler", True))
    process.problems = ["the broker redis cannot be reached"]
    async with serve(database, Settings(), process) as api:
        reply = await api("GET", "/readyz")
        assert (reply.status, reply.json()["status"]) == (200, "ready")
        assert reply.json()["warnings"] == process.problems


@pytest.mark.asyncio
async def test_metrics_and_cluster(database: Database) -> None:
    async with serve(database, Settings(), Process()) as api:
        await api("POST", "/jobs", HOURLY)
        metrics = await api("GET", "/metrics")
        assert metrics.headers["Content-Type"].count("charset=") == 1
        text = metrics.content.decode()
        assert 'sexton_cluster_jobs{status="active"} 1.0' in text
        assert "sexton_cluster_shards_led 0.0" in text
        assert (await api("GET", "/cluster")).json()["counts"]["jobs"] == {"active": 1}


@pytest.mark.asyncio
@pytest.mark.usefixtures("without_console")
async def test_without_a_database_it_says_so(server_url: str) -> None:
    lost = await Database.open(server_url, size=1)
    async with serve(lost, Settings()) as api:
        await lost.close()
        reply = await api("GET", "/jobs")
        assert (reply.status, reply.code) == (503, "database_unavailable")
        assert reply.headers["Retry-After"] == "1"
        assert (await api("GET", "/readyz")).status == 503
        assert (await api("GET", "/healthz")).status == 200
        assert "cannot be reached" in (await api("GET", "/")).content.decode()


@pytest.mark.asyncio
async def test_readiness_sees_every_loop_of_a_node_and_the_heartbeat(database: Database) -> None:
    node = Node(Settings(), database, roles=["scheduler", "worker"])
    async with serve(database, Settings(), node) as api:
        assert (await api("GET", "/readyz")).status == 503
        await node.start()
        try:
            assert node.worker is not None
            await node.worker.joined()
            states = {each["name"]: each["healthy"] for each in (await api("GET", "/readyz")).json()["loops"]}
            assert set(states) == {
                "scheduler", "leadership", "listener", "sweeper", "housekeeper", "replanner", "sealer",
                "activity", "claimer", "outcome_writer", "watcher", "heartbeat", "dead_letter_sender",
                "descriptors",
            }  # fmt: skip
            assert states["heartbeat"]
            await node.worker.heartbeat.stop()
            reply = await api("GET", "/readyz")
            assert reply.status == 503
            assert {"name": "heartbeat", "healthy": False} in reply.json()["loops"]
        finally:
            await node.stop()


def test_the_page_names_a_command_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "python"))
    assert program_here() == "sexton"  # nowhere to be found: its name is the best there is
    beside = tmp_path / ".venv" / "sexton"
    beside.parent.mkdir()
    beside.touch(mode=0o755)
    assert program_here() == str(beside)
    (tmp_path / "sexton").touch(mode=0o755)
    assert program_here() == "sexton"


def test_no_job_has_the_name_of_another_path() -> None:
    words = {found[1] for one in operations() if (found := re.match(r"/jobs/([^{/]+)", one.path))}
    assert words == set(WORDS_OF_PATHS)


@pytest.mark.asyncio
async def test_null_is_no_body_where_a_body_may_be_left_out(api: Api) -> None:
    await api("POST", "/jobs", {"name": "hourly", "schedule": "0 * * * *"})
    json_type = {"Content-Type": "application/json"}
    optional = [one for one in operations() if one.body_optional]
    assert len(optional) > 4
    for one in optional:
        path = re.sub(r"\{\w+\}", "hourly", one.template)
        without = await api(one.method, path)
        null = await api(one.method, path, data=b" null\n", headers=json_type)
        assert null.status == without.status, one.name
    refused = await api("POST", "/jobs", data=b"null", headers=json_type)
    assert (refused.status, refused.code) == (422, "bad_type")


@pytest.mark.parametrize("path", ["/jobs/none", "/nothing", "/jobs?limit=0", "/sign-in?x=1"])
async def test_no_refusal_is_kept_on_its_way(api: Api, path: str) -> None:
    """Browsers and proxies may keep a 404 that does not say so."""
    reply = await api("GET", path)
    assert reply.status in (404, 422)
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ["a%41", "a/b", "a?b#c", "ü"])
async def test_the_next_page_is_of_the_same_path(api: Api, name: str) -> None:
    path = f"/jobs/{quote(name, safe='')}"
    assert (await api("POST", "/jobs", {"name": name, "schedule": "0 0 1 1 *"})).status == 201
    for _ in range(2):
        assert (await api("POST", f"{path}/run")).status == 201
    first = await api("GET", f"{path}/runs?limit=1")
    assert first.next is not None
    [run] = (await api("GET", first.next)).json()
    assert run["job_name"] == name
    assert run["run_id"] != first.json()[0]["run_id"]
