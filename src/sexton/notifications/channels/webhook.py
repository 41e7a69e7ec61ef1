"""Sends a message as a webhook, to the address of the recipient or of the configuration, signed as in
Standard Webhooks. The id of the webhook is the key of the message, by which a receiver recognises a
repetition."""

from __future__ import annotations

from typing import Annotated

import msgspec

from sexton import clock
from sexton.notifications.channels.base import Accepted, Outgoing, ProviderServices, Rejected, SendResult
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import HttpProvider, check_url, judged
from sexton.refusal import about
from sexton.targets.http.outbound import Reply
from sexton.targets.http.step import read_secrets, signature_headers, signing_secret

GONE = 410


class WebhookConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where messages are posted, and what signs them."""

    url: Annotated[str | None, about("The URL; null: the address of the recipient is the URL.")] = None
    secret: Annotated[
        str | None, about("What signs them, as ${secret:name}, whsec_…; null: the installation's secret.")
    ] = None

    def __post_init__(self) -> None:
        if self.url is not None:
            check_url(self.url, "config.url")
        if self.secret is not None:
            secret_only(self.secret, "secret")


class WebhookProvider(HttpProvider):
    config = WebhookConfig
    deduplicates = True

    def __init__(self, config: WebhookConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._keys: list[bytes] = []

    async def send_one(self, message: Outgoing) -> SendResult:
        url = self._config.url or (message.address if isinstance(message.address, str) else "")
        if not url.startswith(("http://", "https://")):
            return Rejected(f"{url[:100]!r} is not an http or https address", code="bad_address")
        body = msgspec.json.encode(
            {
                "type": "notification",
                "timestamp": clock.iso(clock.now()),
                "data": {
                    "key": message.key,
                    "user_id": message.user_id,
                    "channel": self.services.channel,
                    "topic": message.topic,
                    "locale": message.locale,
                    "address": None if self._config.url is None else message.address,
                    "parts": dict(message.parts),
                },
            }
        )
        keys = await self._signing_keys(url)
        signature = signature_headers(message.key, int(clock.now().timestamp()), body, keys)
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.key, **signature}
        reply = await self.ask("POST", url, headers, body)
        if not isinstance(reply, Reply):
            return reply
        if 200 <= reply.status < 300:
            return Accepted()
        if reply.status == GONE:
            return Rejected("HTTP 410: the receiver is gone", code="410", gone=self._config.url is None)
        return judged(reply)

    async def _signing_keys(self, url: str) -> list[bytes]:
        if self._config.secret is not None:
            return read_secrets(await self.secret(self._config.secret, url))
        if not self._keys:
            secret = await signing_secret(self.services.database, self.services.settings.secret_key)
            self._keys = read_secrets(secret)
        return self._keys
