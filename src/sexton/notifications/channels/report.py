"""Signed reports of providers about messages that they accepted.

A provider with reports has `read_report`, which checks the signature and reads its format. The standard
format is JSON, signed as in Standard Webhooks:

    {"events": [{"event": "delivered", "key": "n_1", "at": "2027-03-01T09:00:00Z"}]}
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.errors import SextonError
from sexton.refusal import about, aware, decoded

TOLERANCE_SECONDS = 300.0
MOST_EVENTS = 1000
PREFIX = "whsec_"

ReportKind = Literal["delivered", "bounced", "complained", "opened", "failed", "unsubscribed"]


class DeliveryEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An event of one message, which is identified by its key or by the id of the provider."""

    event: Annotated[ReportKind, about("What happened to the message.")]
    key: Annotated[Annotated[str, Meta(max_length=500)] | None, about("The key of the message.")] = None
    provider_id: Annotated[Annotated[str, Meta(max_length=500)] | None, about("The provider's id.")] = None
    at: Annotated[datetime | None, about("When it happened; null: now.")] = None
    code: Annotated[
        Annotated[str, Meta(max_length=100)] | None, about("The provider's code, such as 5.1.1.")
    ] = None
    reason: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, about("Why, in the provider's words.")
    ] = None


class DeliveryReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A list of events."""

    events: Annotated[list[DeliveryEvent], Meta(min_length=1, max_length=MOST_EVENTS)]


class IncomingReport(msgspec.Struct, frozen=True):
    """A request with a report. `url` is the public URL that the provider called; names of headers are in
    lower case."""

    url: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class BadSignature(SextonError):
    """The report is not signed by the provider, or is too old."""

    def __init__(self, why: str) -> None:
        super().__init__("bad_signature", why, hint="sign it with the secret of the provider's configuration")


def read_standard_report(report: IncomingReport, secrets: Sequence[str]) -> list[DeliveryEvent]:
    """The events of a report that is signed as in Standard Webhooks, with one of these secrets."""
    check_standard_signature(report, secrets)
    found = decoded(report.body, DeliveryReport, code="bad_value").events
    for number, each in enumerate(found):
        if each.at is not None:
            aware(each.at, f"events[{number}].at")
    return found


def check_standard_signature(report: IncomingReport, secrets: Sequence[str]) -> None:
    """Raises `BadSignature`."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    number, timestamp, listed = (report.headers.get(name, "") for name in names)
    if not (number and timestamp and listed):
        raise BadSignature(f"the report lacks one of the headers {', '.join(names)}")
    if not timestamp.isdigit() or len(timestamp) > 12:
        raise BadSignature("webhook-timestamp is not a number of seconds")
    if abs(int(timestamp) - clock.now().timestamp()) > TOLERANCE_SECONDS:
        raise BadSignature(f"the report is more than {TOLERANCE_SECONDS:.0f} seconds old, or from the future")
    signed = f"{number}.{timestamp}.".encode() + report.body
    right = [
        base64.b64encode(hmac.digest(_key(secret), signed, sha256)).decode() for secret in secrets if secret
    ]
    given = [each.partition(",")[2] for each in listed.split()[:20] if each.startswith("v1,")]
    if not any(hmac.compare_digest(one.encode(), other.encode()) for one in given for other in right):
        raise BadSignature("the signature of the report is wrong")


def _key(secret: str) -> bytes:
    """The key of a secret: base64 after `whsec_`, or the text itself."""
    if secret.startswith(PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()
