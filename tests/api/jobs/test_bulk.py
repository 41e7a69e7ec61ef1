"""Many jobs in one request."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sexton.api.lines import chunks_of
from tests.api.conftest import Api, Reply

pytestmark = pytest.mark.asyncio

LINES = {"Content-Type": "application/x-ndjson"}


def jobs(*names: str, **more: Any) -> bytes:
    return b"".join(
        json.dumps({"name": name, "schedule": "every 1m", **more}).encode() + b"\n" for name in names
    )


async def send(api: Api, data: bytes, query: str = "", **headers: str) -> Reply:
    return await api("POST", f"/jobs/bulk{query}", data=io.BytesIO(data), headers={**LINES, **headers})


async def test_every_line_is_a_job(api: Api) -> None:
    reply = await send(api, jobs(*(f"job-{index}" for index in range(2500))), "?chunk=1000&ids=true")
    assert reply.status == 201
    answer = reply.json()
    assert (answer["lines"], answer["created"], len(set(answer["job_ids"]))) == (2500, 2500, 2500)
    last = (await api("GET", f"/jobs/{answer['job_ids'][-1]}")).json()
    assert last["name"] == "job-2499"


async def test_a_chunk_is_made_whole_or_not_at_all(api: Api) -> None:
    data = (
        jobs("a", "b") + b"\n" + jobs("c") + b'{"name": "d"}\n' + jobs("e") + b"not json\n" + jobs("f", "a")
    )
    reply = await send(api, data, "?chunk=2")
    assert (reply.status, reply.code) == (422, "lines_refused")
    problem = reply.json()
    assert (problem["lines"], problem["created"]) == (8, 2)
    assert [(each["line"], each["code"], each.get("field")) for each in problem["errors"]] == [
        (5, "missing_field", "schedule"),
        (7, "bad_json", "body"),
        (9, "name_taken", "name"),
    ]
    assert {job["name"] for job in (await api("GET", "/jobs")).json()} == {"a", "b"}


async def test_an_import_that_broke_off_can_be_sent_again(api: Api) -> None:
    key = {"Idempotency-Key": "import-1"}
    first = await send(api, jobs("a", "b"), "?chunk=2&ids=true", **key)
    again = await send(api, jobs("a", "b", "c"), "?chunk=2&ids=true", **key)
    assert again.status == 201
    assert again.json()["job_ids"][:2] == first.json()["job_ids"]
    other = await send(api, jobs("x", "y"), "?chunk=2", **key)
    assert (other.status, other.code) == (409, "idempotency_key_reused")


async def test_existing_jobs_are_replaced_if_asked(api: Api) -> None:
    query = "?existing=replace&results=true"
    await send(api, jobs("a", "b"))
    assert (await send(api, jobs("a"))).code == "lines_refused"
    answer = (await send(api, jobs("a") + b"\n" + jobs("b", priority=1) + jobs("c"), query)).json()
    assert [answer[name] for name in ("lines", "created", "changed", "unchanged")] == [3, 1, 1, 1]
    assert [(each["line"], each["result"]) for each in answer["results"]] == [
        (1, "unchanged"),
        (3, "changed"),
        (4, "created"),
    ]
    assert (await api("GET", "/jobs/b")).json()["priority"] == 1
    refused = await send(api, jobs("a", priority=2) + jobs("d", "d"), query)
    assert [(each["line"], each["code"]) for each in refused.json()["errors"]] == [(3, "name_taken")]
    assert (await api("GET", "/jobs/a")).json()["revision"] == 1
    never = await send(api, jobs("a") + jobs("b", schedule="2020-01-01T00:00:00Z"), query)
    assert [each["line"] for each in never.json()["errors"]] == [2]


@pytest.mark.parametrize("existing", ["refuse", "replace"])
async def test_other_readings_of_a_schedule_are_told(api: Api, existing: str) -> None:
    query = f"?existing={existing}&results=true"
    lines = jobs("a", schedule="0 9 * * * 0") + jobs("b")
    first, second = (await send(api, lines, query)).json()["results"]
    assert "croniter takes the last one as the seconds" in first["warnings"][0]
    assert "warnings" not in second
    query = "?existing=replace&results=true"
    lines = jobs("a", schedule="0 9 * * * 0") + jobs("b", schedule="*/90 * * * *")
    same, changed = (await send(api, lines, query)).json()["results"]
    assert "warnings" not in same
    assert "every 90m" in changed["warnings"][0]


async def test_what_is_refused_at_once(api: Api) -> None:
    plain = await api("POST", "/jobs/bulk", data=jobs("a"), headers={"Content-Type": "text/plain"})
    assert (plain.status, plain.code) == (415, "wrong_content_type")
    long = await send(api, b"x" * 600_000)
    assert (long.status, long.code) == (413, "body_too_large")
    assert (await send(api, b"")).json() == {"lines": 0, "created": 0}
    assert (await send(api, jobs("a"), "?chunk=0")).code == "bad_value"


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_lines_are_found_wherever_the_stream_is_cut(size: int) -> None:
    data = b"one\n\n two \r\nthree\nfour"

    async def stream() -> AsyncIterator[bytes]:
        for start in range(0, len(data), size):
            yield data[start : start + size]

    found = [chunk async for chunk in chunks_of(stream(), 2)]
    assert found == [[(1, b"one"), (3, b" two \r")], [(4, b"three"), (5, b"four")]]
