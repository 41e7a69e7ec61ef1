"""Queues over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve

JOB = {"name": "hello", "schedule": "@yearly", "target": {"handler": "work"}, "queue": "mail"}
CONFIGURED = "a-key-of-the-configuration"


async def test_limits_are_set_shown_changed_and_removed(api: Api) -> None:
    await api("POST", "/jobs", JOB)
    reply = await api("PUT", "/queues/mail", {"concurrency": 5, "rate": 0.5})
    assert reply.status == 200
    shown = reply.json()
    assert (shown["concurrency"], shown["rate"], shown["running"], shown["warnings"]) == (5, 0.5, 0, [])
    shown = (await api("PATCH", "/queues/mail", {"rate": None, "key_concurrency": 2})).json()
    assert (shown["concurrency"], shown["key_concurrency"], shown["rate"]) == (5, 2, None)
    passed = {"arrival_per_second": 0, "drain_per_second": 0, "hour": None}
    assert (await api("GET", "/queues/mail")).json() == {**shown, **passed, "messages": None}
    assert [each["name"] for each in (await api("GET", "/queues")).json()] == ["mail"]
    shown = (await api("PUT", "/queues/mail", {})).json()
    assert (shown["concurrency"], shown["key_concurrency"]) == (None, None)


async def test_what_comes_in_per_second_and_by_minute(api: Api) -> None:
    await api("POST", "/jobs", JOB)
    await api("POST", "/jobs/hello/run")
    [shown] = (await api("GET", "/queues?expand=hour")).json()
    assert 1 / 120 <= shown["arrival_per_second"] <= 1 / 60 + 0.001
    assert (sum(shown["hour"]["fired"]), len(shown["hour"]["ended"]), shown["drain_per_second"]) == (1, 60, 0)


async def test_pause_and_resume(api: Api) -> None:
    await api("POST", "/jobs", JOB)
    run = (await api("POST", "/jobs/hello/run")).json()["run_id"]
    paused = (await api("POST", "/queues/mail/pause", {"reason": "it moves"})).json()
    assert (paused["paused"], paused["paused_reason"], paused["waiting"]) == (True, "it moves", 1)
    waiting = (await api("GET", f"/runs/{run}")).json()["waiting_for"]
    assert waiting == "the queue mail is paused (it moves)"
    headers = {"Idempotency-Key": "once"}
    resumed = await api("POST", "/queues/mail/resume", headers=headers)
    assert (resumed.status, resumed.json()["paused"]) == (200, False)
    await api("POST", "/queues/mail/pause")
    again = await api("POST", "/queues/mail/resume", headers=headers)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await api("GET", "/queues/mail")).json()["paused"] is True


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/queues/nobody", None, 404, "queue_not_found"),
        ("PUT", "/queues/mail", {"concurrency": 0}, 422, "out_of_range"),
        ("PATCH", "/queues/mail", {"rate": -1}, 422, "out_of_range"),
        ("PUT", "/queues/mail", {"burst": 3}, 422, "needs_rate"),
        ("PUT", "/queues/mail", {"concurrency": "many"}, 422, "bad_value"),
        ("PUT", "/queues/mail", {"limit": 3}, 422, "unknown_field"),
        ("PUT", f"/queues/{'x' * 101}", {"concurrency": 3}, 422, "too_long"),
        ("POST", "/queues/mail/pause", {"why": "so"}, 422, "unknown_field"),
    ],
)
async def test_refusals(api: Api, method: str, path: str, body: Any, status: int, code: str) -> None:
    reply = await api(method, path, body)
    assert (reply.status, reply.json()["code"]) == (status, code)


async def test_each_namespace_has_its_own_queues(database: Database) -> None:
    admin = {"Authorization": f"Bearer {CONFIGURED}"}
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        keys = {}
        for name in ("a", "b"):
            await api("POST", "/namespaces", {"name": name}, headers=admin)
            made = await api(
                "POST", "/keys", {"name": name, "role": "editor", "namespace": name}, headers=admin
            )
            keys[name] = {"Authorization": f"Bearer {made.json()['key']}"}
            await api("POST", "/jobs", JOB, headers=keys[name])
        limited = await api("PUT", "/queues/mail", {"concurrency": 5}, headers=keys["a"])
        assert (limited.status, limited.json()["warnings"]) == (200, [])
        await api("POST", "/queues/mail/pause", {"reason": "it moves"}, headers=keys["a"])
        await api("PUT", "/queues/own", {"concurrency": 1}, headers=keys["a"])
        theirs = (await api("GET", "/queues", headers=keys["b"])).json()
        assert [(each["name"], each["paused"], each["concurrency"]) for each in theirs] == [
            ("mail", False, None)
        ]
        assert (await api("GET", "/queues/own", headers=keys["b"])).code == "queue_not_found"
        run = (await api("POST", "/jobs/hello/run", headers=keys["b"])).json()["run_id"]
        waiting = (await api("GET", f"/runs/{run}", headers=keys["b"])).json()["waiting_for"]
        assert waiting == "no worker is running"
        mine = (await api("GET", "/queues/mail", headers=keys["a"])).json()
        assert (mine["paused"], mine["waiting"]) == (True, 0)
        assert (await api("GET", "/queues/mail", headers={**admin, "Sexton-Namespace": "b"})).json()[
            "waiting"
        ] == 1
