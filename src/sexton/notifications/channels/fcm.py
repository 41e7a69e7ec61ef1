"""Firebase Cloud Messaging, HTTP v1. A signed assertion is exchanged for a token that is valid for an
hour."""

from __future__ import annotations

import asyncio
from typing import Annotated
from urllib.parse import urlencode

import jwt
import msgspec

from sexton import clock
from sexton.errors import SextonError
from sexton.notifications.channels.base import (
    Accepted,
    Failed,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import (
    FORM,
    HttpProvider,
    at_path,
    check_url,
    json_of,
    judged,
)
from sexton.refusal import about
from sexton.targets.http.outbound import Reply

HOST = "https://fcm.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION_SECONDS = 3600
# A token is renewed this long before its end.
MARGIN_SECONDS = 120
GONE = frozenset({"UNREGISTERED", "SENDER_ID_MISMATCH"})


class ServiceAccount(msgspec.Struct, frozen=True):
    """The fields of the service account file that are used."""

    project_id: str
    client_email: str
    private_key: str
    token_uri: str = "https://oauth2.googleapis.com/token"
    private_key_id: str | None = None


class FcmConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A project of Firebase."""

    service_account: Annotated[str, about("The JSON of its service account, as ${secret:name}.")]
    url: Annotated[str, about("Where the API is.")] = HOST

    def __post_init__(self) -> None:
        secret_only(self.service_account, "service_account")
        check_url(self.url, "config.url")


class FcmProvider(HttpProvider):
    channels = frozenset({"push"})
    device_kind = "fcm"
    config = FcmConfig

    def __init__(self, config: FcmConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._lock = asyncio.Lock()
        self._token: tuple[str, str, float] | None = None  # the account's text, the token, its end

    async def send_one(self, message: Outgoing) -> SendResult:
        device = message.address.get("token")
        if not isinstance(device, str) or not device:
            return Rejected("the device has no token", code="bad_device", gone=True)
        for last in (False, True):
            account, token = await self._sign_in()
            if not isinstance(token, str):
                return token
            reply = await self._post(account, token, device, message)
            if isinstance(reply, Reply) and reply.status == 401 and not last:
                self._token = None  # it has ended before its time
                continue
            return _result(reply) if isinstance(reply, Reply) else reply
        raise AssertionError("the last try returns")

    async def check(self) -> str | None:
        account, token = await self._sign_in()
        if not isinstance(token, str):
            raise SextonError("provider_unreachable", getattr(token, "reason", "no token"))
        return f"the project {account.project_id} gives tokens"

    async def _post(
        self, account: ServiceAccount, token: str, device: str, message: Outgoing
    ) -> Reply | SendResult:
        parts = message.parts
        shown = {name: parts[name] for name in ("title", "body") if name in parts}
        data = {name: text for name, text in parts.items() if name not in shown}
        content = {"message": {"token": device, "notification": shown, "data": {**data, "key": message.key}}}
        url = f"{self._config.url.rstrip('/')}/v1/projects/{account.project_id}/messages:send"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return await self.ask("POST", url, headers, msgspec.json.encode(content))

    async def _sign_in(self) -> tuple[ServiceAccount, str | SendResult]:
        """A valid token. All waiting messages share one request for it."""
        async with self._lock:
            text, account = await self._account()
            now = clock.now().timestamp()
            if self._token is not None and self._token[0] == text and self._token[2] > now:
                return account, self._token[1]
            found = await self._exchange(account, int(now))
            if isinstance(found, tuple):
                token, seconds = found
                self._token = (text, token, now + seconds - MARGIN_SECONDS)
                return account, token
            return account, found

    async def _account(self) -> tuple[str, ServiceAccount]:
        text = await self.secret(self._config.service_account, self._config.url)
        try:
            account = msgspec.json.decode(text, type=ServiceAccount)
            check_url(account.token_uri, "service_account")
            return text, account
        except (msgspec.DecodeError, SextonError):
            raise SextonError(
                "bad_key",
                "the secret of config.service_account is not the JSON of a service account",
                hint="store the file that Firebase gives: sexton secret set NAME < service-account.json",
            ) from None

    async def _exchange(self, account: ServiceAccount, now: int) -> tuple[str, float] | SendResult:
        claims = {
            "iss": account.client_email,
            "scope": SCOPE,
            "aud": account.token_uri,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        }
        headers = {"kid": account.private_key_id} if account.private_key_id else None
        try:
            assertion = jwt.encode(claims, account.private_key, algorithm="RS256", headers=headers)
        except (ValueError, TypeError, jwt.PyJWTError):
            return Failed("the private key of the service account cannot be read", code="bad_key")
        form = urlencode({"grant_type": GRANT, "assertion": assertion}).encode()
        reply = await self.ask("POST", account.token_uri, FORM, form)
        if not isinstance(reply, Reply):
            # Whatever became of this request, no message was in it.
            return Failed(reply.reason) if isinstance(reply, Unclear | Rejected) else reply
        data = json_of(reply)
        token, seconds = at_path(data, "access_token"), at_path(data, "expires_in")
        if reply.status != 200 or not isinstance(token, str):
            said = at_path(data, "error_description") or at_path(data, "error")
            wrong = judged(reply, said=str(said) if said else None)
            return Failed(f"no token: {wrong.reason}") if isinstance(wrong, Unclear | Rejected) else wrong
        lasts = float(seconds) if isinstance(seconds, int | float) else ASSERTION_SECONDS
        self.services.secrets.remember(token, 2 * lasts)
        return token, lasts


def _result(reply: Reply) -> SendResult:
    data = json_of(reply)
    if 200 <= reply.status < 300:
        name = at_path(data, "name")
        return Accepted(name if isinstance(name, str) else None)
    details = at_path(data, "error.details")
    codes = (
        [each.get("errorCode") for each in details if isinstance(each, dict)]
        if isinstance(details, list)
        else []
    )
    code = next((each for each in codes if isinstance(each, str)), None) or at_path(data, "error.status")
    said = at_path(data, "error.message")
    result = judged(reply, said=f"{code}: {said}" if said else None)
    if code in GONE:
        return Rejected(getattr(result, "reason", str(code)), code=str(code), gone=True)
    if isinstance(result, Rejected):
        gone = code == "INVALID_ARGUMENT" and "registration token" in str(said)
        return Rejected(result.reason, code=str(code or reply.status), gone=gone)
    return result
