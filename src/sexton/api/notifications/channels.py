"""Channels over HTTP: providers, their health and their reports, suppressions, unsubscribing."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from html import escape
from typing import Any

from sexton.api.console import html
from sexton.api.notifications import channel_routes as routes
from sexton.api.operation import Answer, Call, operation
from sexton.errors import NotFound
from sexton.notifications.channels import configured
from sexton.notifications.channels.configured import ProviderView
from sexton.notifications.channels.file import written
from sexton.notifications.channels.health import ChannelHealth, list_channels
from sexton.notifications.channels.opened import opened_providers
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.channels.report import BadSignature, IncomingReport
from sexton.notifications.channels.trial import ProviderTrial, try_provider
from sexton.notifications.recipients.suppression import (
    SuppressionSpec,
    SuppressionView,
    delete_suppression,
    list_suppressions,
    put_suppression,
)
from sexton.notifications.recipients.unsubscribe import Unsubscription, read_link, unsubscribe
from sexton.notifications.sending.delivery import ReportTaken, take_report
from sexton.printable import printable
from sexton.refusal import not_found
from sexton.security.secrets import SecretError

log = logging.getLogger("sexton.api")

FORM = "application/x-www-form-urlencoded"
PROVIDER_REQUEST: dict[str, Any] = {
    "channel": "email",
    "kind": "smtp",
    "config": {
        "url": "smtp://shop:${secret:mail}@mail.example.com:587",
        "sender": "Shop <hello@shop.example.com>",
    },
    "priority": 10,
    "rate": 50.0,
}
PROVIDER: dict[str, Any] = {
    "name": "mail",
    **PROVIDER_REQUEST,
    "concurrency": None,
    "on_doubt": None,
    "enabled": True,
    "revision": 1,
    "changed_by": "ann",
    "changed_at": "2027-03-01T12:00:00Z",
}
HEALTH: dict[str, Any] = {
    "channel": "email",
    "state": "good",
    "note": None,
    "providers": [
        {
            "name": "mail", "kind": "smtp", "configured": True, "enabled": True, "state": "good",
            "open_until": None, "reason": None, "accepted": 1200, "rejected": 3, "failed": 1, "unclear": 0,
            "deferred": 0, "accepted_at": "2027-03-01T12:00:00Z", "failed_at": "2027-03-01T09:00:00Z",
        }
    ],
}  # fmt: skip
SUPPRESSION: dict[str, Any] = {
    "channel": "email",
    "address": "ann@example.com",
    "reason": "bounced: 550 5.1.1 no such user",
    "since": "2027-03-01T12:00:00Z",
}
WRITTEN: dict[str, Any] = {
    "at": "2027-03-01T12:00:00Z",
    "channel": "sms",
    "namespace": "default",
    "message_id": 1,
    "key": "n_1",
    "address": "+15550100",
    "parts": {"text": "Your appointment is tomorrow at nine."},
    "user_id": "ann",
    "topic": None,
    "locale": "en",
    "headers": {},
}


@operation(routes.LIST_CHANNELS, answer=list[ChannelHealth], answer_example=[HEALTH])
async def list_channel_health(call: Call) -> Answer:
    """What each provider of the namespace has sent, and whether it is in use now."""
    return Answer(await list_channels(call.reading, call.services.settings))


@operation(routes.LIST_OUTBOX, lists=True, answer=list[dict[str, Any]], answer_example=[WRITTEN])
async def list_outbox(call: Call) -> Answer:
    """What providers of the kind `file` have written on this machine, the latest first."""
    limit = call.query(routes.OutboxQuery).limit
    settings, namespace = call.services.settings, call.context.namespace
    return Answer(await asyncio.to_thread(written, settings, namespace, limit=limit))


@operation(
    routes.PUT_PROVIDER, answer=ProviderView, errors=(409,), example=PROVIDER_REQUEST, answer_example=PROVIDER
)
async def put_provider(call: Call) -> Answer:
    """Say who sends the messages of a channel. A change applies from the next message. Passwords are secrets,
    written as `${secret:name}`."""
    return Answer(await configured.put_provider(call.context, call.path("provider"), call.json(ProviderSpec)))


@operation(routes.LIST_PROVIDERS, answer=list[ProviderView], answer_example=[PROVIDER])
async def list_providers(call: Call) -> Answer:
    """By channel, in the order in which they are tried."""
    return Answer(await configured.list_providers(call.reading))


@operation(routes.GET_PROVIDER, answer=ProviderView, answer_example=PROVIDER)
async def get_provider(call: Call) -> Answer:
    """Its configuration; secrets are shown by name."""
    return Answer(await configured.get_provider(call.context, call.path("provider")))


@operation(routes.DELETE_PROVIDER, status=204)
async def delete_provider(call: Call) -> Answer:
    """Its messages go to the next provider of the channel."""
    await configured.delete_provider(call.context, call.path("provider"))
    return Answer()


@operation(
    routes.TEST_PROVIDER, answer=ProviderTrial, kept=False, heavy=True,
    example={"address": "ann@example.com"},
    answer_example={"success": True, "outcome": "accepted", "detail": ""},
)  # fmt: skip
async def test_provider(call: Call) -> Answer:
    """Connect to the provider, or send a test message to an address; done by the process that answers. Only
    the fact of the test is recorded."""
    wish = call.json(routes.ProviderTest, optional=True)
    found = await try_provider(call.context, call.services.settings, call.path("provider"), wish.address)
    return Answer(found)


async def _authorise_report(call: Call) -> None:
    """The signature is the credential: it must be made by the provider that the path names. Without it the
    answer is the same whether there is such a provider, and whatever it lacks; the log tells that."""
    query = call.query(routes.ReportQuery)
    settings, request = call.services.settings, call.request
    origin = settings.public_origin() or f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    asked = request.scope["query_string"].decode("latin-1")
    report = IncomingReport(
        url=f"{origin}{request.scope['path']}" + (f"?{asked}" if asked else ""),
        query={name: value for name, value in (("key", query.key),) if value is not None},
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
    )
    try:
        async with opened_providers(call.database, settings) as providers:
            found = await providers.find(query.namespace, call.path("provider"))
            request.state.report = (query.namespace, await found.provider.read_report(report))
    except (BadSignature, NotFound, SecretError) as error:
        name = f"{query.namespace}/{call.path('provider')}"
        log.info("refused a report for the provider %s: %s", printable(name), printable(str(error)))
        raise call.wrong_token(BadSignature("the report is not signed by a provider of this name")) from None


@operation(
    routes.TAKE_REPORT, answer=ReportTaken, errors=(400,), authorise=_authorise_report, kept=False,
    body_types=("application/json", FORM), answer_example={"events": 1, "matched": 1, "noted": 1},
)  # fmt: skip
async def take_provider_report(call: Call) -> Answer:
    """What became of messages, reported and signed by the provider itself: as Twilio signs, or as in Standard
    Webhooks, with the secret of the provider's configuration."""
    namespace, events = call.request.state.report
    context = replace(call.context, namespace=namespace, actor=f"provider {call.path('provider')}")
    return Answer(await take_report(context, call.path("provider"), events))


async def _authorise_link(call: Call) -> None:
    pepper = await call.services.guard.sessions.pepper()
    link = read_link(call.path("token"), pepper)
    if link is None:
        raise call.wrong_token(not_found("unsubscribe link", "with this text"))
    call.request.state.link = link


def _card(title: str, text: str, *, button: bool = False) -> Answer:
    form = '<form method="post"><button type="submit">Unsubscribe</button></form>' if button else ""
    return Answer(html.card(title, f"<p>{escape(text)}</p>{form}"), headers=html.HEADERS)


@operation(
    routes.READ_UNSUBSCRIBE, answer=str, authorise=_authorise_link, media_type="text/html",
    answer_example="<!doctype html>…",
)  # fmt: skip
async def show_unsubscribe(call: Call) -> Answer:
    """A page with a button. Opening it changes nothing: mail programs open links by themselves."""
    link: Unsubscription = call.request.state.link
    return _card("Unsubscribe", f"Do you want no more {link.subject}?", button=True)


@operation(
    routes.UNSUBSCRIBE, answer=str, authorise=_authorise_link, media_type="text/html",
    answer_example="<!doctype html>…", body_types=(FORM, "multipart/form-data"), kept=False,
)  # fmt: skip
async def unsubscribe_by_link(call: Call) -> Answer:
    """The target of one-click unsubscribing (RFC 8058) and of the button of the page. Repeating it changes
    nothing."""
    link: Unsubscription = call.request.state.link
    await unsubscribe(replace(call.context, namespace=link.namespace, actor="the recipient"), link)
    return _card("Unsubscribed", f"You get no more {link.subject}.")


@operation(routes.LIST_SUPPRESSIONS, lists=True, answer=list[SuppressionView], answer_example=[SUPPRESSION])
async def list_suppressed(call: Call) -> Answer:
    """By channel and address: hard bounces, complaints, and addresses that unsubscribed."""
    return call.paged(await list_suppressions(call.reading, **call.filters(routes.SuppressionsQuery)))


@operation(
    routes.PUT_SUPPRESSION, answer=SuppressionView, example={"reason": "asked by phone"},
    answer_example={**SUPPRESSION, "reason": "asked by phone"},
)  # fmt: skip
async def suppress(call: Call) -> Answer:
    """Messages to this address are not sent; they say why."""
    spec = call.json(SuppressionSpec, optional=True)
    return Answer(await put_suppression(call.context, call.path("channel"), call.path("address"), spec))


@operation(routes.DELETE_SUPPRESSION, status=204)
async def release_suppression(call: Call) -> Answer:
    """Messages are sent to this address again."""
    await delete_suppression(call.context, call.path("channel"), call.path("address"))
    return Answer()
