"""Web Push: sends messages to browsers by their push services, encrypted for the browser."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated
from urllib.parse import urlsplit

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Meta

from sexton import clock
from sexton.errors import InvalidField, SextonError
from sexton.notifications.channels.base import (
    SECRET_KIND,
    Accepted,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
)
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import HttpProvider, judged
from sexton.notifications.channels.push_crypto import encrypt, padless, public_point, read_private_key
from sexton.refusal import about
from sexton.security.binding import Use
from sexton.targets.http.outbound import Reply

# Push services accept at most a day.
TOKEN_SECONDS = 12 * 3600
RENEW_SECONDS = 3600
MOST_TOKENS = 1000
GONE = frozenset({404, 410})


class WebPushConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who we are to push services (VAPID)."""

    private_key: Annotated[str, about("The VAPID key, PEM or base64, as ${secret:name}.")]
    subject: Annotated[
        str, Meta(max_length=200, description="The contact for push services: mailto:ops@example.com.")
    ]
    ttl_seconds: Annotated[
        int,
        Meta(
            ge=0, le=2_419_200, description="For how long a push service keeps it for a browser that is off."
        ),
    ] = 86_400

    def __post_init__(self) -> None:
        secret_only(self.private_key, "private_key")
        if not self.subject.startswith(("mailto:", "https://")):
            raise InvalidField(
                "bad_value",
                f"{self.subject!r} is not an address that a push service may write to",
                field="config.subject",
                hint="write mailto:ops@example.com, or an https address",
            )


class WebPushProvider(HttpProvider):
    channels = frozenset({"push"})
    device_kind = "web_push"
    config = WebPushConfig

    def __init__(self, config: WebPushConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._tokens: dict[str, tuple[str, float]] = {}
        self._key: tuple[str, ec.EllipticCurvePrivateKey] | None = None

    async def send_one(self, message: Outgoing) -> SendResult:
        device = message.address
        endpoint, keys = device.get("endpoint"), device.get("keys")
        if not isinstance(endpoint, str) or not endpoint.startswith(("https://", "http://")):
            return Rejected("the subscription has no endpoint", code="bad_device", gone=True)
        if not isinstance(keys, dict):
            return Rejected("the subscription has no keys", code="bad_device", gone=True)
        try:
            content = encrypt(
                msgspec.json.encode({**message.parts, "key": message.key}),
                str(keys.get("p256dh", "")),
                str(keys.get("auth", "")),
            )
        except ValueError as error:
            return Rejected(str(error), code="bad_device")
        key = await self._private_key()
        headers = {
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(self._config.ttl_seconds),
            "Urgency": "normal",
            # The push service keeps only one of several waiting messages with the same topic.
            "Topic": padless(sha256(message.key.encode()).digest()[:24]),
            "Authorization": f"vapid t={self._token(endpoint, key)}, k={padless(public_point(key))}",
        }
        reply = await self.ask("POST", endpoint, headers, content)
        if not isinstance(reply, Reply):
            return reply
        if 200 <= reply.status < 300:
            return Accepted((reply.headers.get("Location") or "")[:500] or None)
        if reply.status in GONE:
            return Rejected(
                f"HTTP {reply.status}: the browser has unsubscribed", str(reply.status), gone=True
            )
        return judged(reply)

    async def check(self) -> str | None:
        key = await self._private_key()
        return f"the key that browsers subscribe with (applicationServerKey): {padless(public_point(key))}"

    async def _private_key(self) -> ec.EllipticCurvePrivateKey:
        """The private key. It is used here and never sent."""
        use = Use(SECRET_KIND, (), self.services.namespace)
        text = await self.services.secrets.reveal(self._config.private_key, use)
        if self._key is None or self._key[0] != text:
            try:
                self._key = (text, read_private_key(text))
            except ValueError as error:
                raise SextonError(
                    "bad_key", str(error), hint="make one: npx web-push generate-vapid-keys"
                ) from None
            self._tokens.clear()
        return self._key[1]

    def _token(self, endpoint: str, key: ec.EllipticCurvePrivateKey) -> str:
        """A token for the push service of an endpoint, cached for an hour."""
        parts = urlsplit(endpoint)
        audience = f"{parts.scheme}://{parts.netloc}"
        now = clock.now().timestamp()
        known = self._tokens.get(audience)
        if known is None or known[1] <= now:
            if len(self._tokens) >= MOST_TOKENS:
                self._tokens.clear()
            claims = {"aud": audience, "exp": int(now) + TOKEN_SECONDS, "sub": self._config.subject}
            known = (jwt.encode(claims, key, algorithm="ES256"), now + RENEW_SECONDS)
            self._tokens[audience] = known
        return known[0]
