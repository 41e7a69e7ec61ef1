"""Apple's push service: HTTP/2, a signed token, and what its answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sexton.notifications.channels import apns
from sexton.notifications.channels.apns import ApnsConfig, ApnsProvider
from sexton.notifications.channels.base import Accepted, Failed, Rejected, Unclear
from tests.notifications.channels.apple import Apple, Reply, apple
from tests.notifications.channels.lending import lending, outgoing

KEY = ec.generate_private_key(ec.SECP256R1())
P8 = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
DEVICE = {"kind": "apns", "token": "ab12"}


@asynccontextmanager
async def providing(**more: Any) -> AsyncIterator[tuple[ApnsProvider, Apple]]:
    async with apple() as server, lending(channel="push", secrets={"p8": P8}, **more) as services:
        config = ApnsConfig(
            key="${secret:p8}", key_id="K1", team_id="T1", topic="com.example.shop", url=server.url
        )
        provider = ApnsProvider(config, services)
        yield provider, server
        await provider.close()


def push(number: int = 1) -> Any:
    return outgoing(number, DEVICE, parts={"title": "Hello", "body": "How are you?", "link": "app://1"})


async def test_messages_share_a_connection_and_a_token() -> None:
    async with providing() as (provider, server):
        results = await provider.send([push(number) for number in range(20)])
        assert {type(each) for each in results} == {Accepted}
        await provider.send([push(21)])
        assert server.connections == 1
        headers, body = server.requests[0]
        assert headers[":path"] == "/3/device/ab12"
        assert headers["apns-topic"] == "com.example.shop"
        signed = headers["authorization"].removeprefix("bearer ")
        assert jwt.get_unverified_header(signed)["kid"] == "K1"
        assert jwt.decode(signed, KEY.public_key(), algorithms=["ES256"])["iss"] == "T1"
        assert len({each["authorization"] for each, _ in server.requests}) == 1
        content = msgspec.json.decode(body)
        assert content["aps"]["alert"] == {"title": "Hello", "body": "How are you?"}
        assert content["link"] == "app://1"
        assert results[0] == Accepted(headers["apns-id"])


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            (410, {"reason": "Unregistered"}, {}),
            Rejected("HTTP 410: Unregistered", "Unregistered", gone=True),
        ),
        (
            (400, {"reason": "BadDeviceToken"}, {}),
            Rejected("HTTP 400: BadDeviceToken", "BadDeviceToken", gone=True),
        ),
        ((413, {"reason": "PayloadTooLarge"}, {}), Rejected("HTTP 413: PayloadTooLarge", "PayloadTooLarge")),
        (
            (429, {"reason": "TooManyRequests"}, {"retry-after": "5"}),
            Failed("HTTP 429: TooManyRequests", 5, "TooManyRequests", ours=True),
        ),
        ((503, {"reason": "Shutdown"}, {"retry-after": "6"}), Failed("HTTP 503: Shutdown", 6, "Shutdown")),
        ((500, None, {}), Failed("HTTP 500: no reason")),
    ],
)
async def test_what_an_answer_means(reply: Reply, expected: Any) -> None:
    async with providing() as (provider, server):
        server.replies = [reply]
        assert await provider.send([push()]) == [expected]
        # The connection is good for the next.
        assert isinstance((await provider.send([push()]))[0], Accepted)


async def test_a_token_that_apple_refuses_is_tried_once_more() -> None:
    async with providing() as (provider, server):
        server.replies = [(403, {"reason": "ExpiredProviderToken"}, {})]
        assert isinstance((await provider.send([push()]))[0], Accepted)
        server.replies = [(403, {"reason": "InvalidProviderToken"}, {})] * 2
        [result] = await provider.send([push()])
        assert isinstance(result, Failed)
        assert len(server.requests) == 4


@pytest.mark.parametrize("fault", ["reset", "half", "slow"])
async def test_an_answer_that_is_lost_leaves_it_unclear(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with providing() as (provider, server):
        if fault == "slow":
            await provider.send([push()])
            monkeypatch.setattr(apns, "TIMEOUT_SECONDS", 0.2)
        server.replies = [fault]
        [result] = await provider.send([push(2)])
        assert isinstance(result, Unclear)
        assert P8.splitlines()[1] not in repr(result)


async def test_addresses_that_may_not_be_reached_are_not_dialled() -> None:
    async with providing(egress_private="refuse") as (provider, server):
        [result] = await provider.send([push()])
        assert isinstance(result, Failed)
        assert "private address" in result.reason
        assert server.connections == 0


async def test_devices_of_others_are_not_taken() -> None:
    assert ApnsProvider.takes(DEVICE)
    assert not ApnsProvider.takes({"kind": "fcm"})
    async with providing() as (provider, server):
        [result] = await provider.send([outgoing(1, {"kind": "apns", "token": "../x"})])
        assert isinstance(result, Rejected)
        assert server.requests == []
