"""What is refused of an http target when its job is made."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from sexton.errors import InvalidField
from sexton.refusal import check_text
from sexton.security.placeholder import secret_names
from sexton.targets.spec import HttpTarget, HttpTls

LARGEST_BODY = 64 * 1024
# What the template of a body may name. Anything else in braces is sent as it is: it may be meant for others.
BODY_PLACE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
BODY_PLACES = (
    "payload", "job_id", "job_name", "run_id", "attempt", "scheduled_at", "idempotency_key", "trigger",
)  # fmt: skip
# The smallest and the largest value of every number.
HTTP_RANGES = {
    "capture_bytes": (0, 49_152),
    "redirects": (0, 10),
    "connect_timeout_seconds": (0.1, 300),
    "read_timeout_seconds": (0.1, 30 * 86_400),
    "wait_seconds": (1, 366 * 86_400),
}

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_http(http: HttpTarget, field: str) -> None:
    check_text(http.url, f"{field}.url", 2048)
    if re.search(r"[\s\\]", http.url):
        raise InvalidField(
            "bad_url",
            "the URL has a space, a line end or a backslash",
            field=f"{field}.url",
            hint="encode it as %20",
        )
    try:
        parts = urlsplit(http.url)
        valid = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidField(
            "bad_url",
            f"{http.url!r} is not an http or https URL",
            field=f"{field}.url",
            hint="write https://host/path",
        )
    if _is_never_reached(parts.hostname or ""):
        raise InvalidField(
            "bad_url",
            f"{parts.hostname} is an address that is never reached: link-local, metadata or multicast",
            field=f"{field}.url",
            hint="name the host of a service",
        )
    for name, value in http.headers.items():
        if not _HEADER.fullmatch(name) or re.search(r"[\r\n\0]", value):
            raise InvalidField(
                "bad_header",
                f"{name!r} is not a header",
                field=f"{field}.headers",
                hint="no line ends, no spaces",
            )
        if name.lower() in ("content-length", "transfer-encoding", "connection", "idempotency-key"):
            raise InvalidField(
                "bad_header", f"{name} is set by Sexton", field=f"{field}.headers", hint="leave it out"
            )
    if http.body is not None and (len(http.body) > LARGEST_BODY or "\0" in http.body):
        raise InvalidField(
            "bad_body",
            f"the body template is longer than {LARGEST_BODY} characters or contains a NUL character",
            field=f"{field}.body",
            hint="use the payload instead",
        )
    codes = http.success_codes
    if codes is not None and (not codes or not all(100 <= code <= 599 for code in codes)):
        raise InvalidField(
            "out_of_range",
            f"success_codes is {codes}",
            field=f"{field}.success_codes",
            hint="list HTTP statuses, for example [200, 204], or leave it out for 2xx",
        )
    for name, (least, most) in HTTP_RANGES.items():
        number = getattr(http, name)
        if number is not None and not least <= number <= most:
            raise InvalidField(
                "out_of_range",
                f"{name} is {number:g}",
                field=f"{field}.{name}",
                hint=f"give a number from {least:g} to {most:g}",
            )
    if len(http.capture_headers) > 50 or not all(map(_HEADER.fullmatch, http.capture_headers)):
        raise InvalidField(
            "bad_header",
            "capture_headers has more than 50 names, or one that is not the name of a header",
            field=f"{field}.capture_headers",
            hint='write for example ["content-type", "x-request-id"]',
        )
    for name, text in (("url", http.url), ("body", http.body or "")):
        secret_names(text, f"{field}.{name}")
    for name, text in http.headers.items():
        secret_names(text, f"{field}.headers.{name}")
    if http.wait_seconds is not None and http.mode != "async":
        raise InvalidField(
            "bad_mode",
            "wait_seconds is for the asynchronous mode",
            field=f"{field}.wait_seconds",
            hint='add "mode": "async", or leave it out',
        )
    if http.tls is not None:
        _check_tls(http, http.tls, f"{field}.tls")


def strange_places(http: HttpTarget) -> list[str]:
    """What stands in braces in the body and is not filled in."""
    return [name for name in BODY_PLACE.findall(http.body or "") if name not in BODY_PLACES]


def _is_never_reached(host: str) -> bool:
    """Whether it is such an address itself; names are looked up when a request is sent."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_link_local or address.is_multicast or address.is_unspecified


def _check_tls(http: HttpTarget, tls: HttpTls, field: str) -> None:
    if not http.url.lower().startswith("https:"):
        raise InvalidField(
            "bad_tls",
            "tls is for https URLs",
            field=field,
            hint="write https://, or leave tls out",
        )
    for name in tls.__struct_fields__:
        path, place = getattr(tls, name), f"{field}.{name}"
        if path is None:
            continue
        if not check_text(path, place, 1000).startswith("/") and not secret_names(path, place):
            raise InvalidField(
                "bad_tls",
                f"{path!r} is not the path of a file",
                field=place,
                hint="write the whole path on the worker's machine, beginning with /, or ${secret:name}",
            )
    if tls.key is not None and tls.cert is None:
        raise InvalidField(
            "bad_tls",
            "there is a key without a certificate",
            field=f"{field}.cert",
            hint="add the certificate that the key belongs to",
        )
