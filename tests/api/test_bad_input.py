"""Nothing that a caller can send makes the server fail: the answer to bad input is a refusal."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from sexton.api.application import operations
from sexton.api.operation import Operation
from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.errors import InvalidField
from sexton.postgres.database import Database
from sexton.postgres.page import Number, decode_cursor, encode_cursor, number_in_cursor
from sexton.refusal import types_at
from sexton.security.access import WRONG_KEYS
from tests.api.conftest import Api, serve

JOB = {"name": "hourly", "schedule": "0 * * * *"}
KEY = "a-key-of-sixteen-or-more"
FIRST, LAST = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"


def cursor(*place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).rstrip(b"=").decode()


CURSORS = (
    cursor(2**63),
    cursor(FIRST, 1, FIRST),
    cursor(LAST, 2**63, LAST),
    cursor("2026-01-01T00:00:00", 1, "2026-01-01T00:00:00"),
    cursor("2026-01-01T00:00:00Z", 2**63),
    cursor(FIRST, 1),
    "j_zzzzzzzzzzzzz",
)


def bad_values(name: str, kinds: list[inspect.Type]) -> Iterator[Any]:
    """Values of the right type that a store, a clock or a division may stumble over."""
    if name == "cursor":
        yield from CURSORS
    for kind in kinds:
        plain = kind.type if isinstance(kind, inspect.Metadata) else kind
        match plain:
            case inspect.StrType() | inspect.AnyType():
                yield "a\0b"
            case inspect.DateTimeType():
                yield from (FIRST, "9999-12-31T23:59:59Z", LAST)
            case inspect.FloatType() | inspect.IntType():
                yield from (2e-184, 1e308, 2**63)
            case inspect.DictType() | inspect.ListType():
                yield from ({"a\0": "b"}, ["a\0b"])


def requests(one: Operation) -> Iterator[tuple[str, Any]]:
    """An operation with each of its parts made bad, one at a time."""
    good = one.template.replace("{run}", "r_1")
    for name in ("job", "name", "node", "queue"):
        good = good.replace("{" + name + "}", "hourly")
    if "{" in one.template:
        for bad in ("a\0b", "r_zzzzzzzzzzzzz"):
            yield good.replace("hourly", quote(bad)).replace("r_1", quote(bad)), one.example
    for field in () if one.query is None else msgspec.structs.fields(one.query):
        for bad in bad_values(field.name, types_at(one.query, field.name)):
            yield f"{good}?{field.name}={quote(str(bad))}", one.example
    if one.body is not None and not one.streams and hasattr(one.body, "__struct_fields__"):
        for field in msgspec.structs.fields(one.body):
            for bad in bad_values(field.name, types_at(one.body, field.name)):
                yield good, {**(one.example or {}), field.name: bad}


@pytest.mark.asyncio
@pytest.mark.parametrize("tag", sorted({one.tag for one in operations()}))
async def test_no_input_makes_the_server_fail(api: Api, tag: str) -> None:
    await api("POST", "/jobs", JOB)
    failed = []
    for one in operations():
        for path, body in requests(one) if one.tag == tag else ():
            reply = await api(one.method, path, body, headers={"Sexton-Run-Token": "1.x"})
            if reply.status >= 500:
                failed.append((one.method, path, body, reply.content))
    assert not failed


def test_a_cursor_names_the_place_it_was_made_of() -> None:
    at = datetime(2026, 6, 8, tzinfo=UTC)
    for place, form in (((2**63 - 1,), tuple[Number]), ((at, 0, at), tuple[datetime, Number, datetime])):
        assert decode_cursor(encode_cursor(*place), tuple[Number, Number], form) == place


@pytest.mark.parametrize("bad", CURSORS)
def test_a_cursor_that_was_not_given_out_is_refused(bad: str) -> None:
    with pytest.raises(InvalidField) as refused:
        decode_cursor(bad, tuple[Number])
    assert refused.value.code == "bad_cursor"


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode())
)
def test_any_text_as_a_cursor_is_refused_or_names_a_place(text: str) -> None:
    refusals = []
    for read in (lambda: decode_cursor(text, tuple[Number]), lambda: number_in_cursor(text, "j")):
        try:
            read()
        except InvalidField as refused:
            refusals.append((refused.code, refused.field))
    assert set(refusals) <= {("bad_cursor", "cursor")}


@pytest.mark.asyncio
@pytest.mark.parametrize("host", ["x:99999", "[", "[::1", "127.0.0.1:99999", "127.0.0.1:x", "\xff"])
@pytest.mark.parametrize("keys", [None, KEY])
async def test_a_host_that_is_none_is_refused_without_a_traceback(
    database: Database, caplog: pytest.LogCaptureFixture, host: str, keys: str | None
) -> None:
    async with serve(database, Settings(api_keys=keys)) as api:
        port = int(api.base.rsplit(":", 1)[1])
        for path in ("/", "/healthz", "/api/v1/jobs", "/nowhere"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://[\r\nConnection: close\r\n\r\n"
            writer.write(head.encode("latin-1"))
            answer = await reader.read()
            assert int(answer.split()[1]) < 500, answer
            writer.close()
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


@pytest.mark.asyncio
async def test_head_is_answered_where_get_is(api: Api) -> None:
    await api("POST", "/jobs", JOB)
    for path in ("/", "/docs", "/openapi.json", "/healthz", "/jobs", "/jobs/hourly", "/metrics"):
        head, got = await api("HEAD", path), await api("GET", path)
        assert (head.status, head.content) == (200, b"")
        assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert (await api("HEAD", "/jobs/nothing")).status == 404


@pytest.mark.asyncio
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_browser_says_which_site_a_request_comes_from(api: Api, site: str) -> None:
    """A page on another port of this machine is of the same site."""
    reply = await api("GET", "/jobs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
    assert (reply.status, reply.code) == (403, "cross_origin")
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert (await api("GET", "/docs", headers=link)).status == 200
    assert (await api("POST", "/jobs", JOB, headers=link)).status == 403
    assert (await api("GET", "/docs", headers={**link, "Sec-Fetch-Dest": "iframe"})).status == 403
    for own in ("same-origin", "none"):
        assert (await api("GET", "/jobs", headers={"Sec-Fetch-Site": own})).status == 200


class Counting:
    loops = ()

    def __init__(self) -> None:
        self.telemetry = Telemetry()

    def warnings(self) -> list[str]:
        return ["the broker at redis://inside cannot be reached"]


@pytest.mark.asyncio
async def test_wrong_keys_are_throttled_logged_and_counted(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    node = Counting()
    async with serve(database, Settings(api_keys=KEY), node) as api:
        wrong = {"Authorization": "Bearer not-the-right-one"}
        for _ in range(WRONG_KEYS):
            assert (await api("GET", "/jobs", headers=wrong)).code == "bad_key"
        reply = await api("GET", "/jobs", headers=wrong)
        assert (reply.status, reply.code, reply.headers["Retry-After"]) == (429, "too_many_keys", "60")
        assert (await api("GET", "/jobs", headers={"Authorization": f"Bearer {KEY}"})).status == 200
    lines = [each.getMessage() for each in caplog.records if "wrong API key" in each.getMessage()]
    assert len(lines) == 2
    assert "127.0.0.1" in lines[0]
    counted = node.telemetry.registry.get_sample_value
    assert counted("sexton_api_denied_total", {"code": "bad_key"}) == WRONG_KEYS
    assert counted("sexton_api_denied_total", {"code": "too_many_keys"}) == 1


@pytest.mark.asyncio
async def test_wrong_keys_are_counted_by_where_they_come_from(database: Database) -> None:
    """What a caller says of its address does not count."""
    async with serve(database, Settings(api_keys=KEY)) as api:
        for number in range(WRONG_KEYS + 1):
            headers = {"Authorization": "Bearer not-the-right-one", "X-Forwarded-For": f"10.0.0.{number}"}
            reply = await api("GET", "/jobs", headers=headers)
        assert reply.code == "too_many_keys"


@pytest.mark.asyncio
async def test_only_callers_with_a_key_see_what_is_wrong_inside(server_url: str) -> None:
    lost = await Database.open(server_url, size=1)
    async with serve(lost, Settings(api_keys=KEY), Counting()) as api:
        await lost.close()
        for path in ("/readyz", "/runs/r_1/complete"):
            method = "GET" if path == "/readyz" else "POST"
            reply = await api(method, path, headers={"Sexton-Run-Token": "1.x"})
            assert reply.status == 503
            assert b"closed" not in reply.content
            assert b"redis" not in reply.content
        shown = await api("GET", "/readyz", headers={"Authorization": f"Bearer {KEY}"})
        assert shown.json()["warnings"] == Counting().warnings()
        assert "closed" in shown.json()["database"]


# Anything at all. Hypothesis cannot drive a server that runs in the loop of the test: examples from a seed.

NAMES = (
    "Authorization", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding", "Cookie", "Origin",
    "Idempotency-Key", "If-Match", "If-None-Match", "Range", "X-Request-Id", "Sexton-Reason",
    "Sexton-Namespace", "Sexton-Run-Token", "X-CSRF-Token", "Sec-Fetch-Site", "X-Forwarded-For", "Forwarded",
    "Last-Event-ID", "User-Agent", "Referer", "Expect", "TE", "Upgrade", "X-HTTP-Method-Override",
)  # fmt: skip
WORDS = (
    "", " ", ",", ";", "=", '"', "%", "%00", "%FF", "Bearer", "Basic", "sxn_", "null", "*", "-1", "0",
    "2" * 20, 'W/"1"',
    "bytes=0-", "gzip", "utf-7", "a" * 3000, "é", "application/json", "../", "http://[", "r_1",
)  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(2))
async def test_no_header_makes_the_server_fail(api: Api, seed: int) -> None:
    chance = random.Random(seed)
    await api("POST", "/jobs", JOB)
    for _ in range(150):
        headers = {
            chance.choice(NAMES): "".join(chance.choices(WORDS, k=chance.randint(1, 3))).strip()
            for _ in range(chance.randint(1, 4))
        }
        method, path, body = chance.choice(
            [("GET", "/jobs", None), ("GET", "/runs?limit=2", None), ("POST", "/jobs/hourly/run", {}),
             ("PATCH", "/jobs/hourly", {"owner": "ann"}), ("POST", "/preview", {"schedule": "every 1h"}),
             ("GET", "/inbox/x", None), ("POST", "/notifications/unsubscribe/x", {})]
        )  # fmt: skip
        try:
            reply = await api(method, path, body, headers=headers)
        except (aiohttp.ClientError, ValueError, UnicodeError):
            continue  # the client does not send such a thing
        assert reply.status < 500, (method, path, headers, reply.content)


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(2))
async def test_any_payload_comes_back_as_it_was_or_is_refused(api: Api, seed: int) -> None:
    chance = random.Random(seed)
    await api("POST", "/jobs", JOB)

    def made(depth: int) -> Any:
        kind = chance.randrange(9 if depth < 4 else 6)
        if kind > 6:
            return {f"{made(9)}"[:20]: made(depth + 1) for _ in range(chance.randint(0, 3))}
        return [
            None, chance.random() < 0.5, chance.randint(-(2**70), 2**70), chance.uniform(-1e9, 1e9),
            chance.choice(WORDS), "".join(chr(chance.randint(0, 0xD7FF)) for _ in range(5)),
            [made(depth + 1) for _ in range(chance.randint(0, 3))] if depth < 4 else 5,
        ][kind]  # fmt: skip

    for _ in range(60):
        payload = made(0)
        reply = await api("POST", "/jobs/hourly/run", {"payload": payload})
        assert reply.status in (201, 422), (payload, reply.content)
        if reply.status == 201:
            shown = await api("GET", f"/runs/{reply.json()['run_id']}")
            assert shown.json()["payload"] == payload
