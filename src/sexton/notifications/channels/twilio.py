"""SMS by Twilio, and by services with the same API. Deliveries are reported, signed with the token of the
account."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from hashlib import sha1
from typing import Annotated
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from msgspec import Meta

from sexton.errors import InvalidField
from sexton.notifications.channels.base import Accepted, Outgoing, ProviderServices, Rejected, SendResult
from sexton.notifications.channels.configured import secret_only
from sexton.notifications.channels.http_provider import FORM, HttpProvider, check_url, json_of, judged
from sexton.notifications.channels.report import BadSignature, DeliveryEvent, IncomingReport, ReportKind
from sexton.refusal import about
from sexton.targets.http.outbound import Reply

HOST = "https://api.twilio.com"
MOST_FIELDS = 100
#: Codes for numbers that cannot get messages: not a number, no mobile, unsubscribed.
GONE = frozenset({21211, 21214, 21217, 21610, 21614})
STATUSES: dict[str, ReportKind] = {
    "delivered": "delivered",
    "read": "opened",
    "undelivered": "bounced",
    "failed": "failed",
}


class TwilioConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An account at Twilio, or at what speaks like it."""

    account_sid: Annotated[
        str, Meta(max_length=100, pattern="^[A-Za-z0-9]+$", description="The account, `AC…`.")
    ]
    auth_token: Annotated[str, about("Its token, as ${secret:name}.")]
    sender: Annotated[
        Annotated[str, Meta(max_length=100)] | None, about("The number or name it comes from.")
    ] = None
    messaging_service_sid: Annotated[
        Annotated[str, Meta(max_length=100)] | None, about("Instead of a sender: a messaging service, `MG…`.")
    ] = None
    url: Annotated[str, about("Where the API is.")] = HOST

    def __post_init__(self) -> None:
        secret_only(self.auth_token, "auth_token")
        check_url(self.url, "config.url")
        if (self.sender is None) == (self.messaging_service_sid is None):
            raise InvalidField(
                "missing_field",
                "give either config.sender or config.messaging_service_sid",
                field="config.sender",
                hint='write "sender": "+15550100"',
            )


class TwilioProvider(HttpProvider):
    channels = frozenset({"sms"})
    config = TwilioConfig
    reports = True

    def __init__(self, config: TwilioConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config

    async def send_one(self, message: Outgoing) -> SendResult:
        config = self._config
        base = config.url.rstrip("/")
        form = {"To": str(message.address), "Body": message.parts.get("text", "")}
        if config.sender is not None:
            form["From"] = config.sender
        else:
            form["MessagingServiceSid"] = config.messaging_service_sid or ""
        if (callback := self._callback(message)) is not None:
            form["StatusCallback"] = callback
        token = await self.secret(config.auth_token, base)
        login = base64.b64encode(f"{config.account_sid}:{token}".encode()).decode()
        url = f"{base}/2010-04-01/Accounts/{config.account_sid}/Messages.json"
        headers = {**FORM, "Authorization": f"Basic {login}", "I-Twilio-Idempotency-Token": message.key}
        reply = await self.ask("POST", url, headers, urlencode(form).encode())
        return _result(reply) if isinstance(reply, Reply) else reply

    async def read_report(self, report: IncomingReport) -> Sequence[DeliveryEvent]:
        token = await self.secret(self._config.auth_token, self._config.url)
        try:
            form = parse_qsl(report.body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            raise BadSignature("the report is not a form") from None
        signed = report.url + "".join(f"{name}{value}" for name, value in sorted(form))
        right = base64.b64encode(hmac.digest(token.encode(), signed.encode(), sha1)).decode()
        if not hmac.compare_digest(right.encode(), report.headers.get("x-twilio-signature", "").encode()):
            raise BadSignature("X-Twilio-Signature is wrong")
        fields = dict(form)
        kind = STATUSES.get(fields.get("MessageStatus", fields.get("SmsStatus", "")))
        if kind is None:
            return []  # queued, sent: nothing new
        code = fields.get("ErrorCode") or None
        return [
            DeliveryEvent(
                event=kind,
                key=report.query.get("key"),
                provider_id=fields.get("MessageSid"),
                code=code,
                reason=fields.get("ErrorMessage") or (f"Twilio's error {code}" if code else None),
            )
        ]

    def _callback(self, message: Outgoing) -> str | None:
        """The URL for reports of delivery; None if this installation has no public address."""
        origin = self.services.settings.public_origin()
        if origin is None:
            return None
        query = urlencode({"namespace": self.services.namespace, "key": message.key})
        return f"{origin}/api/v1/notifications/providers/{quote(self.services.name)}/events?{query}"


def _result(reply: Reply) -> SendResult:
    data = json_of(reply)
    found = data if isinstance(data, dict) else {}
    if 200 <= reply.status < 300:
        sid = found.get("sid")
        # A 2xx with a truncated body has still accepted the message.
        return Accepted(sid if isinstance(sid, str) else None)
    said, code = found.get("message"), found.get("code")
    result = judged(reply, said=f"{code}: {said}" if said else None)
    if isinstance(result, Rejected):
        return Rejected(result.reason, code=str(code or reply.status), gone=code in GONE)
    return result
