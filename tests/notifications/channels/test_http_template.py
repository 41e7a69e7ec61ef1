"""Messages through any HTTP API, described by a template."""

from __future__ import annotations

import msgspec
import pytest

from sexton.clock import now
from sexton.errors import InvalidField
from sexton.notifications.channels.base import Accepted, Rejected
from sexton.notifications.channels.http_template import HttpTemplateConfig, HttpTemplateProvider
from sexton.notifications.channels.report import BadSignature, IncomingReport
from sexton.targets.http.step import signature_headers
from tests.notifications.channels.api_server import answering, api_server
from tests.notifications.channels.lending import lending, outgoing


async def test_a_message_fills_the_template_and_is_never_a_template_itself() -> None:
    async with api_server() as server, lending(channel="sms", secrets={"sms": "s3cret-key"}) as services:
        config = HttpTemplateConfig(
            url=f"{server.url}/send/{{{{address}}}}",
            headers={"Authorization": "Bearer ${secret:sms}", "X-Topic": "{{topic}}"},
            json={"to": "{{address}}", "messages": [{"text": "{{text}}", "ref": "{{key}}"}], "n": 1},
            id_path="messages.0.id",
        )
        server.answer = answering(200, {"messages": [{"id": 77}]})
        provider = HttpTemplateProvider(config, services)
        text = '"quoted" {{key}} ${secret:sms}'
        message = outgoing(1, "+1 555/01", parts={"text": text}, topic="a\r\nX-Evil: 1")
        assert await provider.send([message]) == [Accepted("77")]
        [(request, body)] = server.requests
    assert request.raw_path == "/send/%2B1%20555%2F01"
    assert request.headers["Authorization"] == "Bearer s3cret-key"
    assert request.headers["X-Topic"] == "a  X-Evil: 1"
    assert "X-Evil" not in request.headers
    assert request.headers["Idempotency-Key"] == "n_1"
    assert msgspec.json.decode(body) == {
        "to": "+1 555/01",
        "messages": [{"text": text, "ref": "n_1"}],
        "n": 1,
    }


async def test_statuses_may_say_that_an_address_is_gone() -> None:
    async with api_server() as server, lending(channel="sms") as services:
        config = HttpTemplateConfig(url=server.url, form={"to": "{{address}}"}, gone_codes=[404])
        server.answer = answering(404, {"error": "no such number"})
        [result] = await HttpTemplateProvider(config, services).send([outgoing(1, "+1")])
    assert result == Rejected('HTTP 404: {"error": "no such number"}', "404", gone=True)


async def test_reports_are_signed_as_standard_webhooks_has_it() -> None:
    async with lending(channel="sms", secrets={"events": "whsec_c2VjcmV0IG9mIGV2ZW50cw=="}) as services:
        config = HttpTemplateConfig(url="https://sms.example.com/", events_secret="${secret:events}")
        provider = HttpTemplateProvider(config, services)
        body = b'{"events": [{"event": "delivered", "key": "n_1"}]}'
        at = int(now().timestamp())
        headers = signature_headers("m1", at, body, [b"secret of events"])
        [event] = await provider.read_report(IncomingReport("https://x", {}, headers, body))
        assert (event.event, event.key) == ("delivered", "n_1")
        old = signature_headers("m1", at - 3600, body, [b"secret of events"])
        other = signature_headers("m1", at, body, [b"another secret"])
        for wrong, content in ((old, body), (other, body), (headers, body + b" "), ({}, body)):
            with pytest.raises(BadSignature):
                await provider.read_report(IncomingReport("https://x", {}, wrong, content))


def test_the_host_cannot_be_a_placeholder() -> None:
    with pytest.raises(InvalidField):
        HttpTemplateConfig(url="https://{{address}}/")
    with pytest.raises(InvalidField):
        HttpTemplateConfig(url="https://${secret:x}.example.com/")
