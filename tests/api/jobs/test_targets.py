"""Sending a test over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from tests.api.conftest import Api, serve
from tests.seeding import Store


async def test_what_a_run_would_send_is_sent_and_nothing_kept(database: Database, api: Api) -> None:
    target = {"http": {"url": f"{api.base}/healthz", "method": "GET"}}
    reply = await api("POST", "/targets/test", {"target": target})
    assert reply.status == 200
    told = reply.json()
    assert (told["success"], told["outcome"], told["error"]) == (True, "success", None)
    assert told["result"]["status"] == 200
    assert (
        await Store(database).fetch("select 1 from sexton.runs union all select 1 from sexton.history") == []
    )


async def test_the_target_of_a_job_is_tried_with_its_payload(database: Database) -> None:
    settings = Settings(allow_shell=True, shell_commands="cat")
    async with serve(database, settings) as api:
        job = {"name": "a/b", "schedule": "@yearly", "target": {"shell": {"command": ["cat"]}}, "payload": 7}
        assert (await api("POST", "/jobs", job)).status == 201
        told = (await api("POST", "/targets/test", {"job": "a/b"})).json()
        assert told["result"] == {"exit_code": 0, "output": "7"}
        assert told["log"] == ["7"]
        told = (await api("POST", "/targets/test", {"job": "a/b", "payload": 8})).json()
        assert told["result"]["output"] == "8"


async def test_a_failure_is_an_answer_and_says_what_a_run_would_become(api: Api) -> None:
    target = {"http": {"url": f"{api.base}/nowhere", "method": "GET"}}
    told = (await api("POST", "/targets/test", {"target": target})).json()
    assert (told["success"], told["outcome"]) == (False, "dead")
    assert told["error"].startswith("HTTP 404")
    target = {"message": {"broker": "redis", "url": "redis://127.0.0.1:1/0", "topic": "a"}}
    told = (await api("POST", "/targets/test", {"target": target})).json()
    assert (told["success"], told["outcome"]) == (False, "failed")


async def test_what_takes_too_long_is_a_timeout(database: Database) -> None:
    settings = Settings(allow_shell=True, shell_commands="sleep")
    body = {"target": {"shell": {"command": ["sleep", "60"]}}, "timeout_seconds": 0.5}
    async with serve(database, settings) as api:
        told = (await api("POST", "/targets/test", body)).json()
    assert (told["outcome"], told["error"]) == ("failed", "timeout: no end after 0.5 seconds")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "bad_target", "target"),
        ({"target": {"handler": "sexton.noop"}}, "no_trial", "target.handler"),
        ({"target": {"shell": {"command": ["cat"]}}}, "not_served", "target"),
        ({"target": {"http": {"url": "gopher://x"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"uri": "http://x"}}}, "unknown_field", "target.http.uri"),
        ({"target": {}, "job": "a"}, "bad_target", "target"),
    ],
)
async def test_what_cannot_be_tried_is_refused(api: Api, body: dict[str, Any], code: str, field: str) -> None:
    reply = await api("POST", "/targets/test", body)
    assert (reply.status, reply.code) == (422, code)
    assert reply.json()["field"] == field


async def test_a_missing_client_is_named_with_what_to_install(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.targets.message.step.is_installed", lambda broker: False)
    target = {"message": {"broker": "nats", "url": "nats://127.0.0.1:1", "topic": "a"}}
    reply = await api("POST", "/targets/test", {"target": target})
    assert reply.code == "not_served"
    assert "pip install 'sexton[nats]'" in reply.content.decode()


async def test_no_answer_tells_a_secret(database: Database) -> None:
    settings = Settings(
        allow_shell=True, shell_commands="/bin/sh", shell_variables="T", secret_key=secrets.new_key()
    )
    await secrets.keep(Context(database), settings, "token", "hunter22")
    shell = {"script": "echo $T; exit 1", "environment": {"T": "${secret:token}"}}
    async with serve(database, settings) as api:
        reply = await api("POST", "/targets/test", {"target": {"shell": shell}})
        assert reply.json()["error"] == "exit code 1: •••"
        job = {"name": "a", "schedule": "@yearly", "target": {"shell": shell}}
        made = await api("POST", "/jobs", job)
        shown = await api("GET", "/jobs/a")
    for each in (reply, made, shown):
        assert b"hunter22" not in each.content
