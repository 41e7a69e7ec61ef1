"""Apple's push service, by HTTP/2, with a token that is renewed every fifty minutes.

httpx makes the connection; its sockets connect only to addresses that the guard has checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import NAMESPACE_URL, uuid5

import jwt
import msgspec
from msgspec import Meta

from sexton import clock
from sexton.errors import SextonError
from sexton.notifications.channels.base import (
    SECRET_KIND,
    Accepted,
    ChannelProvider,
    Failed,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import TIMEOUT_SECONDS, check_url
from sexton.notifications.channels.push_crypto import read_private_key
from sexton.refusal import UNREADABLE, about
from sexton.security.binding import Use, hosts_of
from sexton.targets.http.step import seconds_to_wait
from sexton.targets.run import clean

if TYPE_CHECKING:
    import httpx

HOSTS = {"production": "https://api.push.apple.com", "sandbox": "https://api.sandbox.push.apple.com"}
STREAMS = 100
# Apple refuses tokens older than an hour, and renewals within twenty minutes.
TOKEN_SECONDS = 50 * 60
GONE = frozenset({"BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"})
#: Errors about our token: it is renewed once.
BAD_TOKEN = frozenset({"ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken"})


class ApnsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A key of an account of Apple's, and the app that is sent to."""

    key: Annotated[str, about("The .p8 key, as ${secret:name}.")]
    key_id: Annotated[str, Meta(max_length=100, description="The id of the key.")]
    team_id: Annotated[str, Meta(max_length=100, description="The id of the team.")]
    topic: Annotated[str, Meta(max_length=200, description="The bundle id of the app.")]
    environment: Annotated[Literal["production", "sandbox"], about("Which of Apple's services.")] = (
        "production"
    )
    url: Annotated[str | None, about("Another address of the service.")] = None
    ttl_seconds: Annotated[
        int, Meta(ge=0, le=2_419_200, description="For how long it is kept for a device that is off.")
    ] = 86_400

    def __post_init__(self) -> None:
        secret_only(self.key, "key")
        if self.url is not None:
            check_url(self.url, "config.url")


class ApnsProvider(ChannelProvider):
    channels = frozenset({"push"})
    device_kind = "apns"
    config = ApnsConfig

    def __init__(self, config: ApnsConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._url = (config.url or HOSTS[config.environment]).rstrip("/")
        self._slots = asyncio.Semaphore(services.concurrency or STREAMS)
        self._client: httpx.AsyncClient | None = None
        self._token: tuple[str, str, float] | None = None  # the key's text, the token, its end

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        return await asyncio.gather(*(self._send_one(message) for message in batch))

    async def check(self) -> str | None:
        await self._sign(renew=False)
        return f"the key {self._config.key_id} signs"

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _send_one(self, message: Outgoing) -> SendResult:
        token = message.address.get("token")
        if not isinstance(token, str) or not token.isalnum():
            return Rejected("the device has no token", code="bad_device", gone=True)
        async with self._slots:
            try:
                for last in (False, True):
                    result, reason = await self._post(message, token, renew=last)
                    if reason not in BAD_TOKEN or last:
                        return result
            except SextonError as error:
                return Failed(str(error), code=error.code)
        raise AssertionError("the last try returns")

    async def _post(self, message: Outgoing, device: str, *, renew: bool) -> tuple[SendResult, str | None]:
        import httpx

        headers = {
            "authorization": f"bearer {await self._sign(renew=renew)}",
            "apns-id": str(uuid5(NAMESPACE_URL, message.key)),
            "apns-topic": self._config.topic,
            "apns-push-type": "alert",
            "apns-expiration": str(int(clock.now().timestamp()) + self._config.ttl_seconds),
            # A second message with the same id replaces the first on the device.
            "apns-collapse-id": sha256(message.key.encode()).hexdigest(),
        }
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                reply = await self._open().post(
                    f"{self._url}/3/device/{device}", headers=headers, content=_content(message)
                )
        except (
            httpx.ConnectError,
            httpx.ConnectTimeout,
            httpx.PoolTimeout,
            httpx.UnsupportedProtocol,
        ) as error:
            return Failed(f"no connection to Apple: {clean(str(error) or type(error).__name__, 300)}"), None
        except TimeoutError:
            return Unclear(f"Apple gave no complete answer within {TIMEOUT_SECONDS:.0f} seconds"), None
        except (httpx.HTTPError, OSError) as error:
            return Unclear(f"Apple's answer was lost: {clean(str(error) or type(error).__name__, 300)}"), None
        return _result(reply)

    async def _sign(self, *, renew: bool) -> str:
        use = Use(SECRET_KIND, hosts_of(self._url), self.services.namespace)
        text = await self.services.secrets.reveal(self._config.key, use)
        now = clock.now().timestamp()
        known = self._token
        if (
            known is None
            or known[0] != text
            or known[2] <= now
            or (renew and known[2] < now + TOKEN_SECONDS - 60)
        ):
            try:
                key = read_private_key(text)
            except ValueError as error:
                raise SextonError("bad_key", str(error), hint="store the .p8 file that Apple gives") from None
            claims = {"iss": self._config.team_id, "iat": int(now)}
            signed = jwt.encode(claims, key, algorithm="ES256", headers={"kid": self._config.key_id})
            self.services.secrets.remember(signed, 2 * TOKEN_SECONDS)
            known = self._token = (text, signed, now + TOKEN_SECONDS)
        return known[1]

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            from sexton.notifications.channels.http2 import guarded_transport

            self._client = httpx.AsyncClient(
                transport=guarded_transport(self.services.outbound.guard),
                timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=10),
                follow_redirects=False,
            )
        return self._client


def _content(message: Outgoing) -> bytes:
    parts = message.parts
    alert = {name: parts[name] for name in ("title", "subtitle", "body") if name in parts}
    rest = {name: text for name, text in parts.items() if name not in alert}
    return msgspec.json.encode({"aps": {"alert": alert, "sound": "default"}, **rest, "key": message.key})


def _result(reply: httpx.Response) -> tuple[SendResult, str | None]:
    if reply.status_code == 200:
        return Accepted(reply.headers.get("apns-id")), None
    reason = _reason(reply.content)
    words = f"HTTP {reply.status_code}: {reason or 'no reason'}"
    wait = seconds_to_wait(reply.headers.get("Retry-After"))
    if reply.status_code == 410 or reason in GONE:
        return Rejected(words, code=reason, gone=True), reason
    if reply.status_code >= 500 or reason in BAD_TOKEN or reply.status_code in (403, 405):
        return Failed(words, wait, code=reason), reason
    if reply.status_code == 429:
        # Too many messages to this device.
        return Failed(words, wait, code=reason, ours=True), reason
    return Rejected(words, code=reason), reason


def _reason(body: bytes) -> str | None:
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE:
        return None
    reason = found.get("reason") if isinstance(found, dict) else None
    return clean(reason, 100) if isinstance(reason, str) else None
