"""Schedules explained without a credential: words, times, clock changes, differences; bounded."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve
from tests.api.security.test_access import CONFIGURED

BERLIN = {"schedule": "30 2 * * *", "timezone": "Europe/Berlin"}


async def test_anyone_is_told_what_a_schedule_means(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        reply = await api("POST", "/explain", {**BERLIN, "count": 3})
        assert reply.status == 200, reply.content
        shown = reply.json()
        assert "02:30" in shown["explanation"]
        assert (len(shown["occurrences"]), shown["timezone"]) == (3, "Europe/Berlin")
        assert len(shown["clock_changes"]) in (2, 3)
        assert shown["difference"] is None
        zones = (await api("GET", "/zones?search=berlin")).json()
        assert [each["zone"] for each in zones] == ["Europe/Berlin"]


async def test_two_schedules_are_compared(api: Api) -> None:
    other = {"schedule": "30 2 * * 1-5", "timezone": "Europe/Berlin"}
    shown = (await api("POST", "/explain", {**BERLIN, "compare": other})).json()
    found = shown["difference"]
    assert {each["only_in"] for each in found["differences"]} == {"first"}
    assert (found["only_in_second"], 0 < len(found["differences"]) <= 50) == (0, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "schedule"),
        ({"schedule": "evry 5s"}, "schedule"),
        ({"schedule": ""}, "schedule"),
        ({"schedule": "x" * 1001}, "schedule"),
        ({**BERLIN, "timezone": "Mars/Olympus"}, "timezone"),
        ({**BERLIN, "count": 101}, "count"),
        ({**BERLIN, "count": 0}, "count"),
        ({**BERLIN, "name": "x"}, "name"),
        ({**BERLIN, "compare": {"schedule": "61 * * * *"}}, "compare.schedule"),
    ],
    ids=str,
)
async def test_what_makes_no_sense_is_refused_with_a_hint(api: Api, body: dict[str, Any], field: str) -> None:
    reply = await api("POST", "/explain", body)
    assert (reply.status, reply.json()["field"]) == (422, field)
    assert reply.json()["hint"]


@pytest.mark.parametrize("query", ["", "?search=", f"?search={'x' * 101}", "?find=berlin"])
async def test_a_search_for_zones_is_bounded(api: Api, query: str) -> None:
    assert (await api("GET", f"/zones{query}")).status == 422


async def test_zones_are_at_most_twenty(api: Api) -> None:
    assert len((await api("GET", "/zones?search=america")).json()) == 20
    assert (await api("GET", "/zones?search=atlantis")).json() == []
