"""The contract of a channel: Sexton's own providers keep it, and one that does not is found out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import http_ece  # type: ignore[import-untyped]
import msgspec
import pytest
import pytest_asyncio
from aiohttp import web

from sexton.notifications.channels.apprise import AppriseConfig, AppriseProvider
from sexton.notifications.channels.base import (
    Accepted,
    ChannelProvider,
    NoSettings,
    Outgoing,
    ProviderServices,
    SendResult,
)
from sexton.notifications.channels.file import FileConfig, FileProvider, written
from sexton.notifications.channels.http_template import HttpTemplateConfig, HttpTemplateProvider
from sexton.notifications.channels.in_app import InAppConfig, InAppProvider
from sexton.notifications.channels.null import NullProvider
from sexton.notifications.channels.smtp import SmtpConfig, SmtpProvider
from sexton.notifications.channels.twilio import TwilioConfig, TwilioProvider
from sexton.notifications.channels.webhook import WebhookConfig, WebhookProvider
from sexton.postgres.database import Database
from sexton.testing.channels import CHANNEL_CHECKS, PARTS, ChannelSubject, check_channel
from tests.notifications.channels import test_apns, test_fcm, test_web_push
from tests.notifications.channels.api_server import answering, api_server
from tests.notifications.channels.lending import lending
from tests.notifications.channels.mail_server import mail_server

Make = Callable[[AsyncExitStack, Any], Awaitable[ChannelSubject]]


class Subject(ChannelSubject):
    """Put together by a function."""

    def __init__(
        self, make: Callable[[], ChannelProvider], keys: Callable[[], Awaitable[Sequence[str]]], address: Any
    ) -> None:
        super().__init__()
        self._make, self._keys, self.address = make, keys, address

    def provider(self) -> ChannelProvider:
        return self._make()

    async def received(self) -> Sequence[str]:
        return await self._keys()


async def smtp(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    server = await stack.enter_async_context(mail_server())
    services = await stack.enter_async_context(lending())
    server.refuse["gone@example.com"] = "550 5.1.1 no such user"
    config = SmtpConfig(url=f"smtp://127.0.0.1:{server.port}", sender="a@example.com")

    async def keys() -> list[str]:
        return [mail["Message-ID"].strip("<>").partition("@")[0] for mail in server.mails]

    subject = Subject(lambda: SmtpProvider(config, services), keys, "ann@example.com")
    subject.gone = "gone@example.com"
    return subject


async def file(stack: AsyncExitStack, parts: tuple[Path, Database]) -> ChannelSubject:
    services = await stack.enter_async_context(lending(channel="fax", data=parts[0]))

    async def keys() -> list[str]:
        return [each["key"] for each in written(services.settings, "default", limit=1000)]

    return Subject(lambda: FileProvider(FileConfig(), services), keys, {"fax": 1})


async def in_app(stack: AsyncExitStack, parts: tuple[Path, Database]) -> ChannelSubject:
    services = await stack.enter_async_context(lending(channel="in_app", database=parts[1]))

    async def keys() -> list[str]:
        async with parts[1].connection() as connection:
            return [row["key"] for row in await connection.fetch("select key from sexton.inbox")]

    return Subject(lambda: InAppProvider(InAppConfig(), services), keys, {"of": "the recipient"})


async def webhook(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    server = await stack.enter_async_context(api_server())
    secrets = {"hook": "whsec_c2VjcmV0IG9mIHRoZSBob29r"}
    services = await stack.enter_async_context(lending(channel="webhook", secrets=secrets))

    async def keys() -> list[str]:
        # A receiver knows a webhook by its id.
        return list(dict.fromkeys(request.headers["webhook-id"] for request, _ in server.requests))

    config = WebhookConfig(secret="${secret:hook}")
    return Subject(lambda: WebhookProvider(config, services), keys, server.url)


async def twilio(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    server = await stack.enter_async_context(api_server())
    services = await stack.enter_async_context(lending(channel="sms", secrets={"token": "the-token"}))
    server.answer = answering(201, {"sid": "SM1"})
    config = TwilioConfig(account_sid="AC1", auth_token="${secret:token}", sender="+1", url=server.url)

    async def keys() -> list[str]:
        return [request.headers["I-Twilio-Idempotency-Token"] for request, _ in server.requests]

    return Subject(lambda: TwilioProvider(config, services), keys, "+15550100")


async def http(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    server = await stack.enter_async_context(api_server())
    services = await stack.enter_async_context(lending(channel="sms"))
    config = HttpTemplateConfig(
        url=server.url, json={"key": "{{key}}", "text": "{{text}}", "to": "{{address}}"}
    )

    async def keys() -> list[str]:
        return [msgspec.json.decode(body)["key"] for _, body in server.requests]

    return Subject(lambda: HttpTemplateProvider(config, services), keys, "+15550100")


async def web_push(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    provider, server = await stack.enter_async_context(test_web_push.providing())

    async def answer(request: web.Request, body: bytes) -> web.StreamResponse:
        return web.json_response(None, status=410 if request.path == "/gone" else 201)

    async def keys() -> list[str]:
        # As the browser reads them.
        secrets = {"private_key": test_web_push.BROWSER, "auth_secret": test_web_push.AUTH}
        return [
            msgspec.json.decode(http_ece.decrypt(body, version="aes128gcm", **secrets))["key"]
            for request, body in server.requests
            if request.path != "/gone"
        ]

    server.answer = answer
    subject = Subject(lambda: provider, keys, test_web_push.device(f"{server.url}/ann"))
    subject.gone = test_web_push.device(f"{server.url}/gone")
    return subject


async def fcm(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    provider, firebase = await stack.enter_async_context(test_fcm.providing())

    async def keys() -> list[str]:
        return [each["message"]["data"]["key"] for each in firebase.sent]

    return Subject(lambda: provider, keys, test_fcm.DEVICE)


async def apns(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    provider, server = await stack.enter_async_context(test_apns.providing())

    async def keys() -> list[str]:
        return [msgspec.json.decode(body)["key"] for _, body in server.requests]

    return Subject(lambda: provider, keys, test_apns.DEVICE)


class WordySubject(Subject):
    """The other side is given texts alone: each says its key."""

    def message(self, address: Any = None, parts: Mapping[str, str] = PARTS, **more: Any) -> Outgoing:
        made = super().message(address, parts, **more)
        return msgspec.structs.replace(made, parts={**parts, "body": made.key}) if parts is PARTS else made


async def apprise(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    """Slack, Discord, Telegram and the others go this way; `json://` is one whose server we can be."""
    server = await stack.enter_async_context(api_server())
    services = await stack.enter_async_context(lending(channel="chat"))

    async def keys() -> list[str]:
        return [msgspec.json.decode(body)["message"] for _, body in server.requests]

    address = server.url.replace("http://", "json://")
    return WordySubject(lambda: AppriseProvider(AppriseConfig(), services), keys, address)


async def null(stack: AsyncExitStack, _: Any) -> ChannelSubject:
    services = await stack.enter_async_context(lending())
    got: dict[str, None] = {}

    class WatchedNull(NullProvider):
        async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
            got.update(dict.fromkeys(message.key for message in batch))
            return await super().send(batch)

    async def keys() -> list[str]:
        return list(got)

    return Subject(lambda: WatchedNull(NoSettings(), services), keys, {"to": "nowhere"})


@pytest_asyncio.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


@pytest.mark.parametrize(
    "make", [smtp, file, in_app, webhook, twilio, http, web_push, fcm, apns, apprise, null]
)
async def test_our_own_keep_it(make: Make, stack: AsyncExitStack, tmp_path: Path, database: Database) -> None:
    await check_channel(await make(stack, (tmp_path, database)))


class CarelessProvider(ChannelProvider):
    """Forgets one result, says that it knows keys, and doubles what has a line end in it."""

    deduplicates = True
    got: list[str]

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        for message in batch:
            self.got += [message.key] * (2 if any("\n" in text for text in message.headers.values()) else 1)
        return [Accepted() for _ in batch][: 3 if len(batch) > 3 else None]

    async def close(self) -> None:
        """Nothing."""


async def test_one_that_does_not_is_found_out() -> None:
    got: list[str] = []

    def make() -> ChannelProvider:
        services: Any = None
        provider = CarelessProvider(NoSettings(), services)
        provider.got = got
        return provider

    async def keys() -> list[str]:
        return got

    with pytest.raises(ExceptionGroup) as caught:
        await check_channel(Subject(make, keys, "x"))
    named = {note.rpartition(" ")[2] for error in caught.value.exceptions for note in error.__notes__}
    assert named == {
        "a_batch_has_a_result_for_each",
        "batches_at_once_do_not_meet",
        "the_same_key_twice_is_once_if_it_says_so",
        "what_a_message_holds_stays_in_its_place",
        "what_cannot_be_an_address_is_refused",
    }
    assert len(CHANNEL_CHECKS) == 8
    assert ProviderServices.__slots__
