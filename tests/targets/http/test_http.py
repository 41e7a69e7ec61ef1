"""The HTTP target against a real server: what it sends, and what it makes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from standardwebhooks.webhooks import Webhook

from sexton import clock
from sexton.model import Failure, Success, encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.secrets import WEBHOOK_SECRET, SecretError, new_key, rekey, unreadable
from sexton.targets.http.kind import HttpTarget
from sexton.targets.http.outbound import Reply
from sexton.targets.http.step import (
    judge,
    new_secret,
    read_secrets,
    rotate_signing_secret,
    seconds_to_wait,
    signature_headers,
    signing_secret,
)
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
        yield service


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def send(store: Store, target: dict[str, Any], **job: Any) -> int:
    run = await store.run(
        await store.job(target={"http": target}, **job),
        lane=await store.lane(target="http"),
        trigger="catch_up",
    )
    async with working(store.database, {}) as worker:
        await claim(worker, [await store.lane(target="http")], 10)
        await settled(worker)
    return run


async def test_a_job_without_a_payload_sends_no_body(store: Store, service: Service) -> None:
    await send(store, {"url": service.url})
    [(request, body)] = service.requests
    assert (request.method, body) == ("POST", b"")


async def test_the_request_says_everything_and_is_signed(store: Store, service: Service) -> None:
    run = await send(
        store,
        {"url": f"{service.url}/hook?a=1", "headers": {"X-Own": "yes", "sexton-run-id": "forged"}},
        payload={"n": 1},
    )
    [(request, body)] = service.requests
    headers = request.headers
    job = (await store.history(run))["job_id"]
    assert (request.method, request.path_qs) == ("POST", "/hook?a=1")
    assert msgspec.json.decode(body) == {"n": 1}
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == f"{encode_id('j', job)}:{int(NOW.timestamp())}"
    assert headers.getall("Sexton-Run-Id") == [encode_id("r", run)]
    assert headers["Sexton-Job-Id"] == encode_id("j", job)
    assert (headers["Sexton-Attempt"], headers["Sexton-Trigger"], headers["Sexton-Missed"]) == (
        "1",
        "catch_up",
        "false",
    )
    assert headers["Sexton-Scheduled-At"] == "2030-05-01T12:00:00Z"
    assert headers["X-Own"] == "yes"
    secret = await signing_secret(store.database)
    assert Webhook(secret).verify(body.decode(), dict(headers)) == {"n": 1}
    ended = await store.history(run)
    assert (ended["status"], ended["result"]) == ("success", '{"body": "thanks", "status": 200}')


async def test_the_secret_is_made_once(store: Store) -> None:
    first = await signing_secret(store.database)
    assert first.startswith("whsec_")
    assert await signing_secret(store.database) == first


async def test_with_a_key_the_secret_is_kept_encrypted(store: Store) -> None:
    """One that was made without a key is encrypted as soon as there is one."""
    key = new_key()
    for first in (None, key):
        secret = await signing_secret(store.database, first)
        assert await signing_secret(store.database, key) == secret
        kept = await store.database.fetchval("cluster/get_setting", name=WEBHOOK_SECRET)
        assert "whsec_" not in kept
        with pytest.raises(SecretError) as refused:
            await signing_secret(store.database, new_key())
        assert refused.value.code == "wrong_key"
        with pytest.raises(SecretError):
            await signing_secret(store.database)
        rotated = await rotate_signing_secret(Context(store.database), key)
        assert (rotated[1], await signing_secret(store.database, key)) == (secret, rotated)
        assert "whsec_" not in await store.database.fetchval("cluster/get_setting", name=WEBHOOK_SECRET)
        await store.database.execute("cluster/remove_setting", name=WEBHOOK_SECRET)


async def test_another_key_signs_the_same_after_a_change_of_keys(store: Store) -> None:
    context, old, new = Context(store.database), new_key(), new_key()
    secret = await signing_secret(store.database, old)
    assert await unreadable(context, new) == [WEBHOOK_SECRET]
    with pytest.raises(SecretError):
        await rekey(context, new_key(), new)
    assert await rekey(context, old, new) == (0, [])
    assert (await signing_secret(store.database, new), await unreadable(context, new)) == (secret, [])
    assert await rekey(context, None, old, forget=True) == (0, [WEBHOOK_SECRET])
    assert await signing_secret(store.database, old) != secret


async def test_workers_that_make_the_secret_at_once_get_the_same(store: Store) -> None:
    """The second one waits for the first, and signs with its secret."""
    database, made = store.database, f'"{new_secret()}"'
    async with database.connection() as first, database.connection() as watch:
        transaction = first.transaction()
        await transaction.start()
        await database.execute("cluster/keep_setting", on=first, name=WEBHOOK_SECRET, value=made)
        second = asyncio.create_task(signing_secret(database))
        while not await watch.fetchval("select exists (select from pg_locks where not granted)"):
            assert not second.done()
        await transaction.commit()
        assert f'"{await second}"' == made


def test_while_a_secret_is_rotated_both_verify() -> None:
    old, new = new_secret(), new_secret()
    body, now = b'{"a":1}', int(clock.now().timestamp())
    headers = signature_headers("r_1", now, body, read_secrets([new, old]))
    for secret in (old, new):
        assert Webhook(secret).verify(body.decode(), headers) == {"a": 1}


async def test_a_body_of_ones_own_is_filled_in(store: Store, service: Service) -> None:
    run = await send(
        store,
        {
            "url": service.url,
            "method": "PUT",
            "headers": {"content-type": "text/plain"},
            "body": "{{payload}} {{ run_id }} {{attempt}} {{unknown}}",
        },
        payload=[1],
    )
    [(request, body)] = service.requests
    assert body.decode() == f"[1] {encode_id('r', run)} 1 {{{{unknown}}}}"
    assert request.headers.getall("Content-Type") == ["text/plain"]


async def test_a_get_has_no_body(store: Store, service: Service) -> None:
    await send(store, {"url": service.url, "method": "GET"}, payload={"n": 1})
    [(request, body)] = service.requests
    assert (request.method, body) == ("GET", b"")


@pytest.mark.parametrize(
    ("status", "after", "fate"),
    [
        (500, None, "failed"),
        (503, "7", "failed"),
        (429, "120", "failed"),
        (408, None, "failed"),
        (425, None, "failed"),
        (404, None, "dead"),
        (410, "5", "dead"),
        (302, None, "failed"),
        (204, None, "success"),
    ],
)
async def test_what_an_answer_means(
    store: Store, service: Service, status: int, after: str | None, fate: str
) -> None:
    headers = {"Retry-After": after} if after else {}
    if status == 302:
        headers["Location"] = f"{service.url}/elsewhere"
    service.answer = lambda: web.Response(status=status, headers=headers)
    run = await send(store, {"url": service.url})
    assert len(service.requests) == 1
    if fate != "failed":
        assert (await store.history(run))["status"] == fate
        return
    live = await store.live(run)
    assert (live["state"], live["error"].startswith(f"HTTP {status}")) == ("failed", True)
    assert live["available_at"] == NOW + timedelta(seconds=int(after or 60))


async def test_a_long_answer_is_cut(store: Store, service: Service) -> None:
    service.answer = lambda: web.Response(body=b"\0x" * 1_000_000)
    run = await send(store, {"url": service.url})
    result = msgspec.json.decode((await store.history(run))["result"])
    assert (result["status"], result["truncated"], len(result["body"])) == (200, True, 16_384)


async def test_a_refused_connection_is_tried_again(store: Store) -> None:
    run = await send(store, {"url": "http://127.0.0.1:1/"})
    live = await store.live(run)
    assert live["state"] == "failed"
    assert "127.0.0.1:1" in live["error"]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/"]
)
async def test_metadata_addresses_are_refused_for_good(store: Store, url: str) -> None:
    run = await send(store, {"url": url})
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("dead", "permanent")
    assert "refused" in ended["error"]


@pytest.mark.parametrize("url", ["ftp://example.test/", "nonsense", "http://"])
async def test_an_address_that_cannot_be_used_is_permanent(store: Store, url: str) -> None:
    run = await send(store, {"url": url})
    assert (await store.history(run))["reason"] == "permanent"


def answer(status: int) -> Reply:
    return Reply(status, CIMultiDictProxy(CIMultiDict()), b"", False)


def test_success_codes_are_the_jobs_choice() -> None:
    target = HttpTarget(url="http://example.test", success_codes=[404])
    assert isinstance(judge(target, answer(404)), Success)
    outcome = judge(target, answer(200))
    assert isinstance(outcome, Failure)
    assert not outcome.permanent


def test_retry_after_is_seconds_or_a_date() -> None:
    assert seconds_to_wait(None) is None
    assert seconds_to_wait(" 15 ") == 15
    assert seconds_to_wait("soon") is None
    assert seconds_to_wait("-5") is None
    later = seconds_to_wait(format_datetime(clock.now() + timedelta(hours=1), usegmt=True))
    assert later is not None
    assert 3000 < later <= 3600
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0
