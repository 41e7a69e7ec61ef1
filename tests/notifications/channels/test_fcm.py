"""Firebase Cloud Messaging: assertion, token, message; and a service that misbehaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import jwt
import msgspec
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, Unclear
from sexton.notifications.channels.fcm import GRANT, SCOPE, FcmConfig, FcmProvider
from tests.notifications.channels.api_server import ApiServer, Handler, answering, api_server, half, reset
from tests.notifications.channels.lending import lending, outgoing

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
DEVICE = {"kind": "fcm", "token": "device-1"}
PUSH = {"title": "Hello", "body": "How are you?", "link": "https://shop.example.com"}


class Firebase(ApiServer):
    """Gives tokens, and takes messages from those who have one."""

    tokens: list[str]
    sent: list[Any]
    faults_of_sending: list[Handler]
    faults_of_tokens: list[Handler]


@asynccontextmanager
async def providing() -> AsyncIterator[tuple[FcmProvider, Firebase]]:
    async with api_server() as server:
        firebase = server
        firebase.__class__ = Firebase
        assert isinstance(firebase, Firebase)
        firebase.tokens, firebase.sent = [], []
        firebase.faults_of_sending, firebase.faults_of_tokens = [], []

        async def answer(request: web.Request, body: bytes) -> web.StreamResponse:
            if request.path == "/token":
                if firebase.faults_of_tokens:
                    return await firebase.faults_of_tokens.pop(0)(request, body)
                form = parse_qs(body.decode())
                assert form["grant_type"] == [GRANT]
                claims = jwt.decode(
                    form["assertion"][0],
                    KEY.public_key(),
                    algorithms=["RS256"],
                    audience=server.url + "/token",
                )
                assert (claims["iss"], claims["scope"]) == ("push@shop.example.com", SCOPE)
                token = f"token-{len(firebase.tokens)}"
                firebase.tokens.append(token)
                return web.json_response({"access_token": token, "expires_in": 3600})
            if firebase.faults_of_sending:
                return await firebase.faults_of_sending.pop(0)(request, body)
            assert request.headers["Authorization"] == f"Bearer {firebase.tokens[-1]}"
            assert request.path == "/v1/projects/shop/messages:send"
            firebase.sent.append(msgspec.json.decode(body))
            return web.json_response({"name": f"projects/shop/messages/{len(firebase.sent)}"})

        server.answer = answer
        account = {
            "type": "service_account",
            "project_id": "shop",
            "client_email": "push@shop.example.com",
            "private_key": PEM,
            "token_uri": server.url + "/token",
        }
        secrets = {"fcm": msgspec.json.encode(account).decode()}
        async with lending(channel="push", secrets=secrets) as services:
            yield FcmProvider(FcmConfig(service_account="${secret:fcm}", url=server.url), services), firebase


def push(number: int = 1, **more: Any) -> Any:
    return outgoing(number, more.pop("device", DEVICE), parts=PUSH)


async def test_many_messages_share_a_token() -> None:
    async with providing() as (provider, firebase):
        results = await provider.send([push(number) for number in range(30)])
        assert {type(each) for each in results} == {Accepted}
        assert len(firebase.tokens) == 1
        assert len(firebase.sent) == 30
        assert firebase.sent[0]["message"]["token"] == "device-1"
        assert firebase.sent[0]["message"]["notification"] == {"title": "Hello", "body": "How are you?"}
        assert firebase.sent[0]["message"]["data"]["link"] == "https://shop.example.com"


async def test_a_token_that_has_ended_is_asked_for_again_once() -> None:
    async with providing() as (provider, firebase):
        firebase.faults_of_sending = [answering(401, {"error": {"status": "UNAUTHENTICATED"}})]
        [result] = await provider.send([push()])
        assert isinstance(result, Accepted)
        assert len(firebase.tokens) == 2
        firebase.faults_of_sending = [answering(401), answering(401)]
        [result] = await provider.send([push()])
        assert isinstance(result, Failed)


def error(status: str, message: str, code: str | None = None) -> dict[str, Any]:
    details = [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}]
    return {"error": {"status": status, "message": message, "details": details if code else []}}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (answering(404, error("NOT_FOUND", "gone", "UNREGISTERED")), (Rejected, True)),
        (answering(403, error("PERMISSION_DENIED", "other", "SENDER_ID_MISMATCH")), (Rejected, True)),
        (
            answering(
                400, error("INVALID_ARGUMENT", "The registration token is not valid", "INVALID_ARGUMENT")
            ),
            (Rejected, True),
        ),
        (answering(400, error("INVALID_ARGUMENT", "title too long")), (Rejected, False)),
        (answering(429, error("RESOURCE_EXHAUSTED", "slowly"), **{"Retry-After": "11"}), (Deferred, 11)),
        (answering(503, error("UNAVAILABLE", "later"), **{"Retry-After": "12"}), (Failed, 12)),
        (answering(500, error("INTERNAL", "oops")), (Failed, None)),
        (reset, (Unclear, None)),
        (half, (Unclear, None)),
    ],
)
async def test_what_an_answer_means(fault: Handler, expected: tuple[type, Any]) -> None:
    async with providing() as (provider, firebase):
        firebase.faults_of_sending = [fault]
        [result] = await provider.send([push()])
    kind, more = expected
    assert type(result) is kind
    match result:
        case Rejected(gone=gone):
            assert gone is more
        case Deferred(seconds=seconds):
            assert seconds == more
        case Failed(retry_after=after):
            assert after == more


@pytest.mark.parametrize("fault", [answering(500), answering(400, {"error": "invalid_grant"}), reset, half])
async def test_without_a_token_nothing_was_sent(fault: Handler) -> None:
    """Whatever happened to the request for the token, no message was in it."""
    async with providing() as (provider, firebase):
        firebase.faults_of_tokens = [fault, fault]
        [result] = await provider.send([push()])
        assert isinstance(result, Failed)
        assert firebase.sent == []
        assert PEM.splitlines()[1] not in repr(result)
