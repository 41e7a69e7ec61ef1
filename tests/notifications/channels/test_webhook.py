"""A message as a signed webhook."""

from __future__ import annotations

import msgspec
from standardwebhooks.webhooks import Webhook

from sexton.notifications.channels.base import Accepted, Rejected
from sexton.notifications.channels.webhook import WebhookConfig, WebhookProvider
from tests.notifications.channels.api_server import answering, api_server
from tests.notifications.channels.lending import lending, outgoing

SECRET = "whsec_c2VjcmV0IG9mIHRoZSBob29r"


async def test_the_receiver_can_verify_it() -> None:
    async with api_server() as server, lending(channel="webhook", secrets={"hook": SECRET}) as services:
        provider = WebhookProvider(WebhookConfig(secret="${secret:hook}"), services)
        assert await provider.send([outgoing(1, server.url + "/in", user_id="ann")]) == [Accepted()]
        server.answer = answering(410)
        [gone] = await provider.send([outgoing(2, server.url + "/in")])
        [(request, body), _] = server.requests
    assert gone == Rejected("HTTP 410: the receiver is gone", "410", gone=True)
    content = Webhook(SECRET).verify(body, dict(request.headers))
    assert content == msgspec.json.decode(body)
    assert content["data"]["user_id"] == "ann"
    assert request.headers["webhook-id"] == "n_1"


async def test_a_recipient_cannot_lead_to_addresses_that_are_never_reached() -> None:
    async with lending(channel="webhook", secrets={"hook": SECRET}) as services:
        provider = WebhookProvider(WebhookConfig(secret="${secret:hook}"), services)
        batch = [
            outgoing(1, "http://169.254.169.254/latest"),
            outgoing(2, "file:///etc/passwd"),
            outgoing(3, 7),
        ]
        results = await provider.send(batch)
    assert {type(result) for result in results} == {Rejected}
