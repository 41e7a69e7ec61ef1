"""Reports over HTTP: a run's token is all they need, and all they get is that run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.model import encode_id
from sexton.postgres.database import Database
from tests.api.conftest import Api, Reply, serve
from tests.seeding import Store

KEY = "a-key-that-is-long-enough"


class Outside:
    """A service that was sent a run."""

    def __init__(self, api: Api, run: int, token: str) -> None:
        self.api = api
        self.run = encode_id("r", run)
        self.token = token

    async def say(self, what: str, body: object = None, token: str | None = None, **options: object) -> Reply:
        headers = {"Sexton-Run-Token": self.token if token is None else token}
        return await self.api("POST", f"/runs/{self.run}/{what}", body, headers=headers)


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


@pytest_asyncio.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings(api_keys=KEY)) as api:
        yield api


@pytest_asyncio.fixture
async def outside(api: Api, store: Store, database: Database) -> Outside:
    moment = await store.value("select clock_timestamp()")
    run = await store.run(
        state="waiting", node=await store.node(), claim=1, attempt=1, claimed_at=moment, deadline_at=moment
    )
    return Outside(api, run, await store.token(run))


async def test_the_token_is_enough_and_nothing_else_is(outside: Outside) -> None:
    assert (await outside.api("GET", f"/runs/{outside.run}")).status == 401
    for what in ("complete", "fail", "heartbeat"):
        body = {"error": "no"} if what == "fail" else None
        reply = await outside.say(what, body, token="1.nonsense")
        assert (reply.status, reply.code) == (401, "bad_token")
        key = {"Authorization": f"Bearer {KEY}"}
        reply = await outside.api("POST", f"/runs/{outside.run}/{what}", body, headers=key)
        assert (reply.status, reply.code) == (401, "no_token")


async def test_a_life_told_from_outside(outside: Outside, store: Store) -> None:
    reply = await outside.say("heartbeat", {"fraction": 0.5, "text": "half", "seconds": 600})
    beat = reply.json()
    assert (reply.status, beat["status"], beat["cancel_requested"]) == (200, "waiting", False)
    for _ in range(2):
        reply = await outside.say("complete", {"result": [1, 2]})
        assert (reply.status, reply.json()) == (200, {"run_id": outside.run, "status": "success"})
    reply = await outside.say("heartbeat")
    assert (reply.status, reply.code) == (409, "run_ended")
    reply = await outside.api("GET", f"/runs/{outside.run}", headers={"Authorization": f"Bearer {KEY}"})
    assert (reply.json()["status"], reply.json()["result"]) == ("success", [1, 2])


async def test_a_failure_told_from_outside(outside: Outside) -> None:
    reply = await outside.say("fail", {"error": "no disk", "retry_after": 5})
    assert (reply.status, reply.json()) == (200, {"run_id": outside.run, "status": "failed"})
    reply = await outside.say("complete")
    assert (reply.status, reply.code) == (409, "not_waiting")


async def test_what_is_reported_is_counted_once(database: Database, store: Store) -> None:
    class Process:
        loops = ()
        telemetry = Telemetry()

    moment = await store.value("select clock_timestamp()")
    columns = {"state": "waiting", "claim": 1, "attempt": 1, "claimed_at": moment, "deadline_at": moment}
    runs = [await store.run(node=await store.node(), **columns) for _ in range(3)]
    tokens = [await store.token(run) for run in runs]
    async with serve(database, Settings(), Process()) as api:
        done, failed, dead = (Outside(api, run, token) for run, token in zip(runs, tokens, strict=True))
        for _ in range(2):
            await done.say("complete")
            await failed.say("fail", {"error": "x"})
            await dead.say("fail", {"error": "x", "permanent": True})
    value = Process.telemetry.registry.get_sample_value
    assert value("sexton_runs_ended_total", {"status": "success"}) == 1
    assert value("sexton_runs_ended_total", {"status": "dead"}) == 1
    assert value("sexton_attempts_failed_total", {"outcome": "failed"}) == 1


async def test_a_later_attempt_has_another_token(outside: Outside, store: Store) -> None:
    await store.execute("update sexton.runs set claim = 2")
    reply = await outside.say("complete")
    assert (reply.status, reply.code) == (409, "stale_token")


async def test_an_empty_body_is_enough_to_complete(outside: Outside) -> None:
    assert (await outside.say("complete")).json()["status"] == "success"


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("complete", {"results": 1}, "results"),
        ("fail", {}, "error"),
        ("fail", {"error": ""}, "error"),
        ("fail", {"error": "x", "permanent": "yes"}, "permanent"),
        ("fail", {"error": "x", "retry_after": -1}, "retry_after"),
        ("heartbeat", {"fraction": 2}, "fraction"),
        ("heartbeat", {"seconds": -1}, "seconds"),
    ],
)
async def test_what_is_not_understood_is_refused(
    outside: Outside, store: Store, what: str, body: object, field: str
) -> None:
    reply = await outside.say(what, body)
    assert (reply.status, reply.json()["field"]) == (422, field)
    assert await store.value("select state from sexton.runs") == "waiting"


async def test_an_unknown_run_is_not_told_apart_without_its_token(outside: Outside) -> None:
    outside.run = "r_zzzz"
    assert (await outside.say("complete")).status == 401
    outside.run = "nonsense"
    assert (await outside.say("complete")).status == 404


async def test_a_repeated_request_gets_the_same_answer(outside: Outside) -> None:
    headers = {"Sexton-Run-Token": outside.token, "Idempotency-Key": "once"}
    first = await outside.api("POST", f"/runs/{outside.run}/complete", {"result": 1}, headers=headers)
    second = await outside.api("POST", f"/runs/{outside.run}/complete", {"result": 1}, headers=headers)
    assert (first.status, first.content) == (second.status, second.content)
    assert second.headers["Idempotent-Replayed"] == "true"


async def test_the_document_says_that_no_key_is_needed(outside: Outside) -> None:
    document = (await outside.api("GET", "/openapi.json", headers={"Authorization": f"Bearer {KEY}"})).json()
    described = document["paths"]["/api/v1/runs/{run}/complete"]["post"]
    assert described["security"] == []
    assert {each["name"] for each in described["parameters"] if each.get("required")} == {
        "run",
        "Sexton-Run-Token",
    }


async def test_keys_of_reports_of_one_run_do_not_meet_those_of_another(
    outside: Outside, api: Api, store: Store
) -> None:
    """Services of all namespaces report; each counts its requests as it likes."""
    moment = await store.value("select clock_timestamp()")
    columns = {"state": "waiting", "claim": 1, "attempt": 1, "claimed_at": moment, "deadline_at": moment}
    run = await store.run(namespace="billing", node=await store.node(), **columns)
    other = Outside(api, run, await store.token(run))
    for each in (outside, other):
        for again in (None, "true"):
            headers = {"Sexton-Run-Token": each.token, "Idempotency-Key": "1"}
            reply = await api("POST", f"/runs/{each.run}/complete", headers=headers)
            assert (reply.status, reply.headers.get("Idempotent-Replayed")) == (200, again)
            assert reply.json()["run_id"] == each.run
