"""The HTTP target against a server that misbehaves: what becomes of the run, and that the worker goes on."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import struct
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.binding import Binding
from sexton.security.secrets import keep, new_key
from sexton.targets.http.step import new_secret
from tests.seeding import (
    NOW,
    QUIET,
    Store,
    claim,
    settled,
    working,
)
from tests.targets.services import Script, make_authority, misbehaving, serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def send(store: Store, target: dict[str, Any], runs: int = 1, **changes: Any) -> list[int]:
    """Claim and carry out some runs of a job with this target."""
    job = await store.job(target={"http": target}, payload={"n": 1}, **changes.pop("job", {}))
    lane = await store.lane(target="http")
    made = [await store.run(job, lane=lane) for _ in range(runs)]
    async with working(store.database, {}, **changes) as worker:
        await claim(worker, [lane], runs)
        await settled(worker)
    return made


async def result(store: Store, run: int) -> Any:
    return msgspec.json.decode((await store.history(run))["result"])


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes the request and says nothing until the other side has had enough."""
    await reader.read()


async def _slow_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-")
    await writer.drain()
    await reader.read()


async def _slow_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 100\r\n\r\nsome of it")
    await writer.drain()
    await reader.read()


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _cut_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 100\r\n\r\nhalf of it")
    await writer.drain()


async def _bad_chunk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense\r\n")
    await writer.drain()


async def _nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await writer.drain()


async def _long_header(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"X-Long: " + b"x" * 200_000 + b"\r\n\r\n")
    await writer.drain()


async def _two_lengths(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")
    await writer.drain()


async def _longer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"Content-Length: 5\r\nConnection: close\r\n\r\nhello and more")
    await writer.drain()


@pytest.mark.parametrize("script", [_silent, _slow_headers, _slow_body])
async def test_a_service_that_says_nothing_is_a_timeout(store: Store, script: Script) -> None:
    async with misbehaving(script) as url:
        [run] = await send(store, {"url": url, "read_timeout_seconds": 0.1})
    live = await store.live(run)
    assert (live["state"], live["attempt"]) == ("failed", 1)
    assert live["error"] == f"timeout: {url}: no data for 0.1 seconds"
    [attempt] = await store.fetch("select * from sexton.attempts")
    assert attempt["outcome"] == "timeout"


@pytest.mark.parametrize(
    "script", [_hang_up, _reset, _cut_short, _bad_chunk, _nonsense, _long_header, _two_lengths, _longer]
)
async def test_an_answer_that_is_none_is_tried_again(store: Store, script: Script) -> None:
    async with misbehaving(script) as url:
        [run] = await send(store, {"url": url})
    live = await store.live(run)
    assert (live["state"], live["attempt"]) == ("failed", 1)
    assert live["available_at"] == NOW + timedelta(seconds=60)
    assert url in live["error"]


async def test_a_body_without_an_end_is_cut(store: Store) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
                await writer.drain()

    async with misbehaving(endless) as url:
        [run] = await send(store, {"url": url, "capture_bytes": 2000})
    assert await result(store, run) == {"status": 200, "body": "x" * 2000, "truncated": True}


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_may_be_a_date(store: Store, status: int) -> None:
    at = clock.now() + timedelta(hours=2)
    async with serving() as service:
        headers = {"Retry-After": format_datetime(at, usegmt=True)}
        service.answer = lambda: web.Response(status=status, headers=headers)
        [run] = await send(store, {"url": service.url})
    wait = (await store.live(run))["available_at"] - NOW
    assert timedelta(minutes=90) < wait <= timedelta(hours=2)


async def test_the_answer_is_kept_as_asked(store: Store) -> None:
    async with serving() as service:
        headers = {"X-Request-Id": "7", "X-Other": "no"}
        service.answer = lambda: web.Response(text="grüße", headers=headers)
        target = {"url": service.url, "capture_headers": ["X-Request-ID", "X-Absent"]}
        [with_headers] = await send(store, target)
        [without] = await send(store, {"url": service.url, "capture": False})
        [short] = await send(store, {"url": service.url, "capture_bytes": 2})
    kept = {"status": 200, "headers": {"x-request-id": "7"}, "body": "grüße"}
    assert await result(store, with_headers) == kept
    assert await result(store, without) == {"status": 200}
    assert await result(store, short) == {"status": 200, "body": "gr", "truncated": True}


async def test_without_capture_an_error_does_not_quote_the_answer(store: Store) -> None:
    async with serving() as service:
        service.answer = lambda: web.Response(status=500, text="a customer's secret")
        [run] = await send(store, {"url": service.url, "capture": False})
    assert (await store.live(run))["error"] == "HTTP 500"


async def test_redirects_that_are_asked_for_are_followed(store: Store) -> None:
    async with serving() as service:
        answers = [web.Response(status=307, headers={"Location": "/there"}), web.Response(text="here")]
        service.answer = lambda: answers.pop(0)
        [run] = await send(store, {"url": service.url, "redirects": 1})
        assert [request.path for request, _ in service.requests] == ["/", "/there"]
    assert await result(store, run) == {"status": 200, "body": "here"}


async def test_a_redirect_to_a_metadata_address_is_permanent(store: Store) -> None:
    async with serving() as service:
        where = "http://169.254.169.254/latest"
        service.answer = lambda: web.Response(status=303, headers={"Location": where})
        [run] = await send(store, {"url": service.url, "redirects": 5})
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("dead", "permanent")
    assert "refused: 169.254.169.254" in ended["error"]


async def test_private_addresses_are_refused_for_good_where_they_are_not_allowed(store: Store) -> None:
    async with serving() as service:
        [run] = await send(store, {"url": service.url}, egress_private="refuse")
        assert service.requests == []
    ended = await store.history(run)
    assert (ended["status"], ended["reason"]) == ("dead", "permanent")
    assert "egress_private" in ended["error"]


async def test_a_body_that_grows_out_of_hand_is_not_made(store: Store) -> None:
    async with serving() as service:
        target = {"url": service.url, "body": "{{payload}}" * 1000}
        job = await store.job(target={"http": target}, payload="x" * 10_000)
        run = await store.run(job, lane=await store.lane(target="http"))
        async with working(store.database, {}) as worker:
            node = await worker.joined()
            lanes = [await store.lane(target="http")]
            worker.runner.take(await worker.queue.claim(node, lanes, 1, now=NOW), node)
            await settled(worker)
        assert service.requests == []
    assert (await store.history(run))["reason"] == "permanent"


async def test_a_certificate_of_an_unknown_authority_is_tried_again(store: Store, tmp_path: Path) -> None:
    async with serving(tls=make_authority(tmp_path).context()) as service:
        [run] = await send(store, {"url": service.url})
        assert service.requests == []
    assert "certificate" in (await store.live(run))["error"].lower()


async def test_mutual_tls(store: Store, tmp_path: Path) -> None:
    files = make_authority(tmp_path)
    async with serving(tls=files.context(client_needed=True)) as service:
        [stranger] = await send(
            store, {"url": service.url, "tls": {"ca": str(files.ca)}}, target_files=tmp_path
        )
        tls = {"ca": str(files.ca), "cert": str(files.client), "key": str(files.client)}
        [known] = await send(store, {"url": service.url, "tls": tls}, target_files=tmp_path)
        [lost] = await send(
            store, {"url": service.url, "tls": {"ca": str(tmp_path / "none.pem")}}, target_files=tmp_path
        )
    assert (await store.live(stranger))["state"] == "failed"
    assert (await store.history(known))["status"] == "success"
    assert "none.pem" in (await store.live(lost))["error"]


async def test_secrets_are_put_in_where_they_are_named_and_nowhere_shown(
    store: Store, tmp_path: Path
) -> None:
    files = make_authority(tmp_path)
    settings = msgspec.structs.replace(QUIET, secret_key=base64.b64encode(b"k" * 32).decode())
    values = {"api": "s3cret-value", "pem": files.client.read_text(), "ca": files.ca.read_text()}
    for name, value in values.items():
        await keep(Context(store.database), settings, name, value)
    async with serving(tls=files.context(client_needed=True)) as service:
        service.answer = lambda: web.Response(text="you said s3cret-value")
        [run] = await send(
            store,
            {
                "url": f"{service.url}/${{secret:api}}",
                "headers": {"Authorization": "Bearer ${secret:api}"},
                "body": "${secret:api} {{payload}}",
                "tls": {"cert": "${secret:pem}", "ca": "${secret:ca}"},
            },
            settings=settings,
        )
        [(request, body)] = service.requests
    assert request.path == "/s3cret-value"
    assert request.headers["Authorization"] == "Bearer s3cret-value"
    assert body == b's3cret-value {"n": 1}'
    assert await result(store, run) == {"status": 200, "body": "you said •••"}


async def test_a_secret_does_not_go_to_a_host_that_it_is_not_for(store: Store) -> None:
    key = new_key()
    bound = Binding(("crm.example.com",))
    await keep(Context(store.database), Settings(secret_key=key), "crm", "s3cret-value", bound)
    async with serving() as service:
        target = {"url": service.url, "headers": {"Authorization": "${secret:crm}"}}
        [run] = await send(store, target, secret_key=key)
        assert service.requests == []
    assert "the secret crm is for hosts crm.example.com" in (await store.live(run))["error"]


async def test_a_request_may_be_signed_with_a_secret_of_its_own(store: Store) -> None:
    key, secret = new_key(), new_secret()
    context, settings = Context(store.database), Settings(secret_key=key)
    await keep(context, settings, "hook", secret)
    await keep(context, settings, "other", "no-base64!")
    async with serving() as service:
        await send(store, {"url": service.url, "sign_with": "hook"}, secret_key=key)
        [(request, body)] = service.requests
        assert Webhook(secret).verify(body.decode(), dict(request.headers)) == {"n": 1}
        [run] = await send(store, {"url": service.url, "sign_with": "other"}, secret_key=key)
    assert "cannot be signed: the secret other is not whsec_" in (await store.live(run))["error"]


async def test_a_secret_that_is_not_there_is_tried_again(store: Store) -> None:
    [run] = await send(store, {"url": "http://127.0.0.1:1/", "headers": {"X": "${secret:nobody}"}})
    assert "no secret nobody" in (await store.live(run))["error"]


async def test_while_a_circuit_is_open_runs_go_back_uncharged(store: Store) -> None:
    async with serving() as service:
        service.answer = lambda: web.Response(status=500)
        runs = await send(
            store,
            {"url": service.url},
            runs=5,
            http_breaker_failures=3,
            http_breaker_seconds=30,
            http_per_host=1,
        )
        assert len(service.requests) == 3
    live = [await store.live(run) for run in runs]
    charged = [row for row in live if row["attempt"] == 1]
    back = [row for row in live if row["attempt"] == 0]
    assert (len(charged), len(back)) == (3, 2)
    assert {row["state"] for row in back} == {"pending"}
    for row in back:
        assert "3 in a row failed" in row["error"]
        assert timedelta(seconds=30) <= row["available_at"] - NOW <= timedelta(seconds=36)
    assert len(await store.fetch("select from sexton.attempts")) == 3


def job(**http: Any) -> dict[str, Any]:
    target = {"http": {"url": "https://example.test/", **http}}
    return {"name": "n", "schedule": "@daily", "target": target}


@pytest.mark.parametrize(
    ("http", "field"),
    [
        ({"capture_bytes": 100_000}, "capture_bytes"),
        ({"capture_bytes": -1}, "capture_bytes"),
        ({"redirects": 11}, "redirects"),
        ({"connect_timeout_seconds": 0}, "connect_timeout_seconds"),
        ({"read_timeout_seconds": 0}, "read_timeout_seconds"),
        ({"capture_headers": ["a b"]}, "capture_headers"),
        ({"tls": {"cert": "client.pem"}}, "tls.cert"),
        ({"tls": {"key": "/etc/key.pem"}}, "tls.cert"),
        ({"tls": {"ca": "/etc/ca.pem"}, "url": "http://example.test/"}, "tls"),
        ({"redirect": 1}, "redirect"),
        ({"headers": {"X-Key": "${secret:no such}"}}, "headers.X-Key"),
        ({"url": "https://example.test/${secret:}"}, "url"),
        ({"capture": "yes"}, "capture"),
    ],
)
def test_what_cannot_work_is_refused_when_the_job_is_made(http: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_spec(job(**http))
    assert refused.value.field == f"target.http.{field}"
    assert refused.value.hint


def test_what_can_work_is_kept() -> None:
    tls = {"cert": "/etc/c.pem", "ca": "/etc/ca.pem"}
    spec = read_spec(job(redirects=3, capture=False, read_timeout_seconds=2.5, tls=tls))
    assert msgspec.to_builtins(spec)["target"]["http"]["tls"] == tls
