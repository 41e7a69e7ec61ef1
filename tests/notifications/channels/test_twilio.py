"""SMS by Twilio: what its answers mean, what happens if it misbehaves, and its signed reports."""

from __future__ import annotations

import base64
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha1
from typing import Any
from urllib.parse import parse_qs, urlencode

import msgspec
import pytest

from sexton.errors import InvalidField
from sexton.notifications.channels import http_provider
from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, Unclear
from sexton.notifications.channels.report import BadSignature, DeliveryEvent, IncomingReport
from sexton.notifications.channels.twilio import TwilioConfig, TwilioProvider
from sexton.security.binding import Binding
from tests.notifications.channels.api_server import ApiServer, answering, api_server, half, reset
from tests.notifications.channels.lending import lending, outgoing

TOKEN = "0123456789abcdef-token"
SMS = {"text": "Your appointment is tomorrow."}


@asynccontextmanager
async def providing(**more: Any) -> AsyncIterator[tuple[TwilioProvider, ApiServer]]:
    async with api_server() as server, lending(channel="sms", secrets={"twilio": TOKEN}, **more) as services:
        config = TwilioConfig(
            account_sid="AC1", auth_token="${secret:twilio}", sender="+15550199", url=server.url
        )
        server.answer = answering(201, {"sid": "SM1"})
        provider = TwilioProvider(config, services)
        yield provider, server
        await provider.close()


async def test_a_message_is_a_form_with_the_accounts_token() -> None:
    async with providing(public_url="https://sexton.example.com", egress_private="allow") as (
        provider,
        server,
    ):
        assert await provider.send([outgoing(1, "+15550100", parts=SMS)]) == [Accepted("SM1")]
        [(request, body)] = server.requests
    assert request.path == "/2010-04-01/Accounts/AC1/Messages.json"
    assert request.headers["Authorization"] == "Basic " + base64.b64encode(f"AC1:{TOKEN}".encode()).decode()
    assert parse_qs(body.decode()) == {
        "To": ["+15550100"],
        "From": ["+15550199"],
        "Body": ["Your appointment is tomorrow."],
        "StatusCallback": [
            "https://sexton.example.com/api/v1/notifications/providers/tested/events?namespace=default&key=n_1"
        ],
    }


def said(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        (
            answering(429, said(20429, "slowly"), **{"Retry-After": "7"}),
            Deferred("HTTP 429: 20429: slowly", 7),
        ),
        (answering(503, None, **{"Retry-After": "9"}), Failed("HTTP 503: null", 9, "503")),
        (answering(500, {"message": "oops"}), Failed("HTTP 500: None: oops", None, "500")),
        (answering(401, said(20003, "who?")), Failed("HTTP 401: 20003: who?", None, "401")),
        (answering(502), Unclear("HTTP 502: null")),
        (
            answering(400, said(21211, "no number")),
            Rejected("HTTP 400: 21211: no number", "21211", gone=True),
        ),
        (answering(400, said(21617, "too long")), Rejected("HTTP 400: 21617: too long", "21617")),
        (answering(302), Failed("HTTP 302: null; redirects are not followed", None, "302")),
    ],
)
async def test_what_an_answer_means(fault: Any, result: Any) -> None:
    async with providing() as (provider, server):
        server.faults.append(fault)
        assert await provider.send([outgoing(1, "+15550100", parts=SMS)]) == [result]
        assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [reset, half])
async def test_an_answer_that_is_lost_leaves_it_unclear(fault: Any) -> None:
    """The request was read: the message may be on its way, so it is not sent again by itself."""
    async with providing() as (provider, server):
        server.faults.append(fault)
        [result] = await provider.send([outgoing(1, "+15550100", parts=SMS)])
        assert isinstance(result, Unclear)
        assert len(server.requests) == 1
        assert TOKEN not in repr(result)


async def test_a_slow_answer_leaves_it_unclear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_provider, "TIMEOUT_SECONDS", 0.2)
    async with providing() as (provider, server):

        async def slow(*_: Any) -> Any:
            await server.released.wait()

        server.faults.append(slow)
        [result] = await provider.send([outgoing(1, "+15550100", parts=SMS)])
    assert isinstance(result, Unclear)


async def test_a_service_that_is_not_there_fails() -> None:
    async with providing() as (_, server):
        pass
    async with lending(channel="sms", secrets={"twilio": TOKEN}) as services:
        config = TwilioConfig(account_sid="AC1", auth_token="${secret:twilio}", sender="x", url=server.url)
        [result] = await TwilioProvider(config, services).send([outgoing(1, "+15550100", parts=SMS)])
    assert isinstance(result, Failed)


async def test_a_secret_goes_only_where_it_may() -> None:
    async with providing(binding=Binding(hosts=("api.twilio.com",))) as (provider, server):
        [result] = await provider.send([outgoing(1, "+15550100", parts=SMS)])
        assert isinstance(result, Failed)
        assert result.code == "secret_bound"
        assert server.requests == []


def signed(fields: dict[str, str], url: str, token: str = TOKEN) -> IncomingReport:
    text = url + "".join(name + fields[name] for name in sorted(fields))
    signature = base64.b64encode(hmac.digest(token.encode(), text.encode(), sha1)).decode()
    return IncomingReport(url, {"key": "n_1"}, {"x-twilio-signature": signature}, urlencode(fields).encode())


async def test_reports_are_believed_if_they_are_signed() -> None:
    url = "https://sexton.example.com/api/v1/notifications/providers/tested/events?namespace=default&key=n_1"
    fields = {"MessageSid": "SM1", "MessageStatus": "undelivered", "ErrorCode": "30003"}
    async with providing() as (provider, _):
        assert await provider.read_report(signed(fields, url)) == [
            DeliveryEvent(
                event="bounced", key="n_1", provider_id="SM1", code="30003", reason="Twilio's error 30003"
            )
        ]
        assert await provider.read_report(signed({**fields, "MessageStatus": "sent"}, url)) == []
        report = signed(fields, url)
        for forged in (
            signed(fields, url, token="another"),
            msgspec.structs.replace(report, url=url + "2"),
            msgspec.structs.replace(report, body=report.body + b"&x=1"),
            msgspec.structs.replace(report, headers={}),
        ):
            with pytest.raises(BadSignature):
                await provider.read_report(forged)


def test_the_token_is_a_secret() -> None:
    with pytest.raises(InvalidField) as caught:
        TwilioConfig(account_sid="AC1", auth_token=TOKEN, sender="x")
    assert caught.value.field == "config.auth_token"
    assert TOKEN not in str(caught.value)
