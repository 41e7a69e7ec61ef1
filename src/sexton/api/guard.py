"""Which requests the API answers.

Bound to loopback it needs no key, but a web page in a browser on the same machine must not be able to
drive it. So the Host header must name this machine (a page whose name was rebound to 127.0.0.1 names its
own host), an Origin must be the API's own, and a body must be declared as JSON, which a form cannot do. On
any other address every request needs a key (`security.access`).
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from litestar import Request

from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import SextonError
from sexton.security.access import require_keys

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
JSON_TYPES = ("application/json", "application/merge-patch+json")
LINES_TYPES = ("application/x-ndjson", "application/jsonl", "application/json-lines", *JSON_TYPES)


class RequestGuard:
    """Checks every request; raises what is to be answered."""

    def __init__(self, settings: Settings) -> None:
        self._keys = [sha256(key.encode()).digest() for key in require_keys(settings)]
        self._host = settings.host

    @property
    def needs_keys(self) -> bool:
        return bool(self._keys)

    def check(self, request: Request[Any, Any, Any], *, tokened: bool = False) -> None:
        """`tokened`: the operation asks for the token of a run itself, and needs no key."""
        if request.url.path in OPEN_PATHS:
            return
        host = request.headers.get("host", "")
        if self._keys:
            if not tokened:
                self._check_key(request.headers.get("authorization", ""))
        elif not self._is_here(host):
            raise SextonError(
                "bad_host", f"this server is not {host or 'nameless'}", hint="use http://127.0.0.1"
            )
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise SextonError(
                "cross_origin", f"a page of {origin} may not use this API", hint="call it from a program"
            )

    def _check_key(self, header: str) -> None:
        scheme, _, token = header.partition(" ")
        given = sha256(token.strip().encode()).digest()
        # Every key is compared, so that the time says nothing about which one was near.
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        if scheme.lower() == "bearer" and token.strip() and not any(matches):
            raise SextonError(
                "bad_key",
                "this API key is not one of this server's",
                hint="send another one in Authorization: Bearer KEY (SEXTON_API_KEY)",
            )
        if not any(matches) or scheme.lower() != "bearer":
            raise SextonError(
                "no_key",
                "this server needs an API key",
                hint="send Authorization: Bearer KEY (SEXTON_API_KEY)",
            )

    def _is_here(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname or ""
        return name == self._host or is_loopback(name)


def check_content_type(request: Request[Any, Any, Any], accepted: tuple[str, ...]) -> None:
    """A body must say that it is JSON: a web form cannot, without asking first."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise SextonError(
            "wrong_content_type",
            f"the body is declared as {given}" if given else "the body is not declared",
            hint=f"send Content-Type: {accepted[0]}",
        )
