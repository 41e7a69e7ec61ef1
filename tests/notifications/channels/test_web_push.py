"""Web Push: what the browser can read, what the push service can check, and what its answers mean."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import http_ece  # type: ignore[import-untyped]
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sexton.notifications.channels.base import Accepted, Deferred, Rejected
from sexton.notifications.channels.push_crypto import LARGEST_CONTENT, encrypt, padless, public_point
from sexton.notifications.channels.web_push import WebPushConfig, WebPushProvider
from tests.notifications.channels.api_server import ApiServer, answering, api_server
from tests.notifications.channels.lending import lending, outgoing

OWN = ec.generate_private_key(ec.SECP256R1())
PEM = OWN.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
BROWSER = ec.generate_private_key(ec.SECP256R1())
AUTH = os.urandom(16)


def device(endpoint: str) -> dict[str, Any]:
    keys = {"p256dh": padless(public_point(BROWSER)), "auth": padless(AUTH)}
    return {"kind": "web_push", "endpoint": endpoint, "keys": keys}


@asynccontextmanager
async def providing(key: str = PEM) -> AsyncIterator[tuple[WebPushProvider, ApiServer]]:
    async with api_server() as server, lending(channel="push", secrets={"vapid": key}) as services:
        config = WebPushConfig(private_key="${secret:vapid}", subject="mailto:ops@example.com")
        server.answer = answering(201, None, Location="https://push.example.com/m/1")
        yield WebPushProvider(config, services), server


@pytest.mark.parametrize(
    "key", [PEM, padless(OWN.private_numbers().private_value.to_bytes(32, "big"))], ids=["pem", "base64"]
)
async def test_the_browser_reads_it_and_the_push_service_knows_the_sender(key: str) -> None:
    async with providing(key) as (provider, server):
        message = outgoing(1, device(server.url + "/push/abc"), parts={"title": "Grüße", "body": "Hallo"})
        assert await provider.send([message]) == [Accepted("https://push.example.com/m/1")]
        [(request, body)] = server.requests
        assert padless(public_point(OWN)) in str(await provider.check())
    # As a browser does, by another implementation.
    content = http_ece.decrypt(body, private_key=BROWSER, auth_secret=AUTH, version="aes128gcm")
    assert msgspec.json.decode(content) == {"title": "Grüße", "body": "Hallo", "key": "n_1"}
    assert request.headers["Content-Encoding"] == "aes128gcm"
    assert request.headers["TTL"] == "86400"
    # As a push service does.
    scheme, _, rest = request.headers["Authorization"].partition(" ")
    fields = dict(each.strip().split("=", 1) for each in rest.split(","))
    assert scheme == "vapid"
    assert fields["k"] == padless(public_point(OWN))
    claims = jwt.decode(fields["t"], OWN.public_key(), algorithms=["ES256"], audience=server.url)
    assert claims["sub"] == "mailto:ops@example.com"


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_has_unsubscribed_is_gone(status: int) -> None:
    async with providing() as (provider, server):
        server.answer = answering(status)
        [result] = await provider.send([outgoing(1, device(server.url))])
    assert isinstance(result, Rejected)
    assert result.gone


async def test_other_answers_and_other_devices() -> None:
    async with providing() as (provider, server):
        server.answer = answering(429, None, **{"Retry-After": "60"})
        assert await provider.send([outgoing(1, device(server.url))]) == [Deferred("HTTP 429: null", 60)]
        bad = {**device(server.url), "keys": {"p256dh": "AAAA", "auth": "AAAA"}}
        large = outgoing(3, device(server.url), parts={"body": "x" * 5000})
        results = await provider.send([outgoing(2, bad), large, outgoing(4, {"kind": "web_push"})])
        assert {type(each) for each in results} == {Rejected}
        assert len(server.requests) == 1
    assert WebPushProvider.takes(device("https://x"))
    assert not WebPushProvider.takes({"kind": "fcm", "token": "x"})


def test_what_just_fits_is_one_record() -> None:
    body = encrypt(b"x" * LARGEST_CONTENT, padless(public_point(BROWSER)), padless(AUTH))
    assert len(body) <= 4096
    assert http_ece.decrypt(body, private_key=BROWSER, auth_secret=AUTH, version="aes128gcm") == (
        b"x" * LARGEST_CONTENT
    )


async def test_a_key_that_is_none_is_told_without_showing_it() -> None:
    async with providing("not-a-key-at-all!") as (provider, server):
        [result] = await provider.send([outgoing(1, device(server.url))])
        assert "not-a-key" not in repr(result)
        assert server.requests == []
