"""Lists are cut into pages by their bytes as well as by their rows, and keys have a bound."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.api import body
from sexton.postgres.database import Database
from sexton.postgres.page import MOST_BYTES, Page, make_page
from sexton.postgres.transaction import Context
from sexton.runs.dead_letters import list_dead
from sexton.runs.read import list_runs
from tests.api.conftest import Api

LARGE = {"text": "x" * 200_000}


def job(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "schedule": "0 * * * *", **fields}


@pytest.mark.asyncio
async def test_a_page_of_large_jobs_ends_early_and_names_the_next(api: Api) -> None:
    names = [f"large-{number:02}" for number in range(30)]
    for name in names:
        assert (await api("POST", "/jobs", job(name, payload=LARGE))).status == 201
    first = await api("GET", "/jobs?limit=1000")
    assert len(first.content) <= MOST_BYTES + 200_000
    found = [each["name"] for each in first.json()]
    assert 1 < len(found) < len(names)
    assert first.next is not None
    second = await api("GET", first.next)
    assert found + [each["name"] for each in second.json()] == names
    assert second.next is None


def test_a_page_has_at_least_one_row_and_no_more_bytes_than_it_may() -> None:
    huge = [(str(number), "x" * (MOST_BYTES - 10)) for number in range(3)]
    page = make_page(huge, 2)
    assert (len(page.items), page.cursor) == (1, "0")
    small = [(str(number), "x") for number in range(3)]
    assert (make_page(small, 2).items, make_page(small, 2).cursor) == (["x", "x"], "1")
    assert (make_page(small, 3).items, make_page(small, 3).cursor) == (["x"] * 3, None)
    assert make_page([], 3).cursor is None


@pytest.mark.asyncio
async def test_lists_of_runs_and_dead_letters_are_cut_alike(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def watched(found: Any, limit: int) -> Page[Any]:
        asked.append(limit)
        return make_page(found, limit)

    for name in ("runs.read", "runs.dead_letters"):
        monkeypatch.setattr(f"sexton.{name}.make_page", watched)
    await list_runs(Context(database), limit=7)
    await list_dead(Context(database), limit=8)
    assert asked == [7, 8]


@pytest.mark.asyncio
async def test_a_long_list_is_encoded_in_slices() -> None:
    for length in (0, 1, body.SLICE, body.SLICE + 1, 3 * body.SLICE):
        numbers = list(range(length))
        assert await body.encoded(numbers) == str(numbers).replace(" ", "").encode()


@pytest.mark.asyncio
async def test_an_idempotency_key_has_at_most_500_characters(api: Api) -> None:
    template = "{{payload.text}}"
    made = await api(
        "POST", "/jobs", job("a", idempotency_key_template=template, payload={"text": "x" * 500})
    )
    assert made.status == 201
    refused = await api(
        "POST", "/jobs", job("b", idempotency_key_template=template, payload={"text": "x" * 501})
    )
    assert (refused.status, refused.code) == (422, "key_too_long")
    assert refused.json()["field"] == "idempotency_key_template"
    reply = await api("POST", "/jobs/a/run", {"payload": LARGE})
    assert (reply.status, reply.code) == (422, "key_too_long")
    many = await api("PATCH", "/jobs/a", {"idempotency_key_template": "{{payload.text}}" * 30})
    assert (many.status, many.code) == (422, "key_too_long")


@pytest.mark.asyncio
async def test_a_refused_concurrency_key_is_no_wrong_api_key(api: Api) -> None:
    refused = await api(
        "POST", "/jobs", job("a", concurrency_key="{{payload.text}}", payload={"text": "x" * 201})
    )
    assert (refused.status, refused.code) == (422, "bad_concurrency_key")
