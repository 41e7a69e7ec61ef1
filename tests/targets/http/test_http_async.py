"""The asynchronous mode of the http target: a real service, a real worker and the real API between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from aiohttp import web

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.model import encode_id
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve
from tests.seeding import (
    NOW,
    Store,
    claim,
    settled,
    working,
)
from tests.targets.services import Service, serving


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    async with serving() as service:
        service.answer = lambda: web.Response(status=202)
        yield service


@pytest_asyncio.fixture
async def api(database: Database) -> AsyncIterator[Api]:
    async with serve(database, Settings()) as api:
        yield api


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def send(store: Store, target: dict[str, Any], runs: int = 1, **job: Any) -> list[int]:
    number, lane = await store.job(target={"http": target}, **job), await store.lane(target="http")
    made = [await store.run(number, lane=lane) for _ in range(runs)]
    async with working(store.database, {}) as worker:
        await claim(worker, [lane], runs)
        await settled(worker)
        assert worker.state.in_hand == 0
    return made


async def test_the_service_reports_with_what_it_was_sent(store: Store, service: Service, api: Api) -> None:
    [run] = await send(store, {"url": service.url, "mode": "async", "wait_seconds": 900})
    live = await store.live(run)
    assert (live["state"], live["deadline_at"]) == ("waiting", NOW + timedelta(seconds=900))
    [(request, _)] = service.requests
    number, token = request.headers["Sexton-Run-Id"], request.headers["Sexton-Run-Token"]
    assert number == encode_id("r", run)
    headers = {"Sexton-Run-Token": token}
    reply = await api("POST", f"/runs/{number}/complete", {"result": {"ok": True}}, headers=headers)
    assert reply.status == 200
    ended = await store.history(run)
    assert (ended["status"], msgspec.json.decode(ended["result"])) == ("success", {"ok": True})


async def test_a_service_that_is_faster_than_its_own_answer(store: Store, service: Service, api: Api) -> None:
    async def report() -> None:
        request, _ = service.requests[-1]
        number, token = request.headers["Sexton-Run-Id"], request.headers["Sexton-Run-Token"]
        url = f"{api.base}/api/v1/runs/{number}/complete"
        headers = {"Sexton-Run-Token": token}
        async with aiohttp.ClientSession() as session, session.post(url, headers=headers) as response:
            assert response.status == 200

    service.before = report
    [run] = await send(store, {"url": service.url, "mode": "async"})
    assert (await store.history(run))["status"] == "success"


async def test_waiting_lasts_as_long_as_an_attempt_may(store: Store, service: Service) -> None:
    [run] = await send(store, {"url": service.url, "mode": "async"}, timeout_seconds=77)
    assert (await store.live(run))["deadline_at"] == NOW + timedelta(seconds=77)


async def test_many_wait_at_no_more_cost_than_one(store: Store, service: Service) -> None:
    runs = await send(store, {"url": service.url, "mode": "async"}, runs=50)
    tokens = {request.headers["Sexton-Run-Token"] for request, _ in service.requests}
    assert len(tokens) == len(runs) == 50
    [row] = await store.fetch("select count(*) from sexton.runs where state = 'waiting'")
    assert row[0] == 50


@pytest.mark.parametrize(("status", "fate"), [(200, "success"), (400, "dead")])
async def test_any_other_answer_is_the_end_of_the_attempt(
    store: Store, service: Service, status: int, fate: str
) -> None:
    service.answer = lambda: web.Response(status=status)
    [run] = await send(store, {"url": service.url, "mode": "async"})
    assert (await store.history(run))["status"] == fate


async def test_without_the_mode_202_is_a_success_and_no_token_is_sent(store: Store, service: Service) -> None:
    [run] = await send(store, {"url": service.url, "headers": {"sexton-run-token": "forged"}})
    assert (await store.history(run))["status"] == "success"
    assert "Sexton-Run-Token" not in service.requests[0][0].headers


async def test_the_token_is_not_for_whom_the_service_points_to(store: Store, service: Service) -> None:
    async with serving() as other:
        service.answer = lambda: web.Response(status=307, headers={"Location": other.url})
        await send(store, {"url": service.url, "method": "GET", "mode": "async", "redirects": 1})
        [(request, _)] = other.requests
    assert "Sexton-Run-Token" in service.requests[0][0].headers
    assert "Sexton-Run-Token" not in request.headers
    assert "webhook-signature" in service.requests[0][0].headers
    assert "webhook-signature" not in request.headers


@pytest.mark.parametrize("status", [307, 308])
async def test_the_body_is_not_for_whom_the_service_points_to(
    store: Store, service: Service, status: int
) -> None:
    async with serving() as other:
        service.answer = lambda: web.Response(status=status, headers={"Location": other.url})
        [run] = await send(store, {"url": service.url, "redirects": 1}, payload={"card": "1234"})
        assert other.requests == []
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("dead", "permanent")
    assert f"redirected with {status} to another host" in ended["error"]


@pytest.mark.parametrize(
    ("http", "field"),
    [
        ({"wait_seconds": 10}, "wait_seconds"),
        ({"mode": "async", "wait_seconds": 0}, "wait_seconds"),
        ({"mode": "later"}, "mode"),
    ],
)
def test_what_cannot_work_is_refused(http: dict[str, Any], field: str) -> None:
    target = {"http": {"url": "https://example.test/", **http}}
    with pytest.raises(InvalidField) as refused:
        read_spec({"name": "n", "schedule": "@daily", "target": target})
    assert refused.value.field == f"target.http.{field}"
