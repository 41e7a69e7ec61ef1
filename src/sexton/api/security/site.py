"""The names of this server for browsers, and the pages that may use its API.

A web page must not be able to use the API with the cookie of the person who opens it, or by being opened on
the machine of the user who runs the server. `Site.check` decides this for every request: the Host header must
name this server (a page whose name was rebound to 127.0.0.1 sends its own host), an Origin must be the
server's own or one of `cors_origins`, and `Sec-Fetch-Site` must not name another site.

The server speaks HTTP. People reach it over https through a proxy, at `public_url`. Headers of proxies are
ignored, since every caller could send them: the name in the Host header tells whether it is https.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from litestar import Request
from litestar.datastructures import Cookie

from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import SextonError

# Headers that proxies add. Then the connection is the proxy's, and does not tell who sent the request.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
CSRF_HEADER = "X-CSRF-Token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What a page of another origin may send and read.
ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match, Sexton-Namespace, X-CSRF-Token"
EXPOSED_HEADERS = "ETag, Idempotent-Replayed, Link, Location, Retry-After"
ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
PREFLIGHT_SECONDS = 600
YEAR_SECONDS = 31_536_000

AnyRequest = Request[Any, Any, Any]
Headers = dict[str, str]


class Site:
    """The names of this server, and its cookies."""

    def __init__(self, settings: Settings) -> None:
        self.public = settings.public_origin()
        self._authority = None if self.public is None else urlsplit(self.public).netloc
        self._pages = frozenset(settings.page_origins())

    def origin_of(self, request: AnyRequest) -> str | None:
        """The origin that the browser uses: the public origin, or this machine without a proxy in between.
        None: a name that is not this server's; people cannot sign in under it."""
        host = request.headers.get("host", "")
        if self._is_public(host):
            return self.public
        return f"http://{host.lower()}" if _is_here(host) and not is_forwarded(request) else None

    def check(self, request: AnyRequest, *, named: bool) -> None:
        """Raises `bad_host` or `cross_origin`. `named`: browsers send the credential by themselves, so the
        Host must be a name of this server."""
        host = request.headers.get("host", "")
        if named and not self._is_public(host) and not _is_here(host):
            raise SextonError(
                "bad_host",
                f"{host} is not a name of this server" if host else "the request has no Host header",
                hint=f"use {self.public or 'http://127.0.0.1'}",
            )
        origin = request.headers.get("origin")
        if origin in self._pages:
            return
        own_page = request.headers.get("sec-fetch-site") == "same-origin"
        # A page without referrers sends its forms with the Origin null.
        if origin is not None and not self._is_own(origin, host) and not (origin == "null" and own_page):
            raise SextonError(
                "cross_origin", f"a page of {origin} may not use this API", hint="call it from a program"
            )
        if not _own_page(request):
            raise SextonError(
                "cross_origin", "a page of another site may not use this API", hint="call it from a program"
            )

    def cookie(self, name: str, origin: str, value: str, seconds: float) -> Cookie:
        """A cookie that scripts cannot read, and that requests from other sites do not carry, except when a
        person follows a link. Over https its name begins with `__Host-`, so that no other host can set it."""
        secure = origin.startswith("https:")
        return Cookie(
            _cookie_name(name, origin),
            value=value,
            max_age=int(seconds),
            path="/",
            httponly=True,
            secure=True if secure else None,
            samesite="lax",
        )

    def read_cookie(self, request: AnyRequest, name: str) -> str | None:
        origin = self.origin_of(request)
        return None if origin is None else request.cookies.get(_cookie_name(name, origin))

    def cross_origin_headers(self, origin: str | None) -> Headers:
        """The headers that let a page of an allowed origin read the answer."""
        if not self._pages:
            return {}
        if origin not in self._pages:
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin or "",
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Expose-Headers": EXPOSED_HEADERS,
        }

    def preflight(self, origin: str | None) -> Headers | None:
        """The answer to a preflight request; None: the page may not send the request."""
        if origin not in self._pages:
            return None
        return {
            **self.cross_origin_headers(origin),
            "Access-Control-Allow-Methods": ALLOWED_METHODS,
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        }

    def security_headers(self, host: str) -> Headers:
        """Headers of every answer that does not set its own."""
        headers = {
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        if self._is_public(host) and self.public is not None and self.public.startswith("https:"):
            headers["Strict-Transport-Security"] = f"max-age={YEAR_SECONDS}"
        return headers

    def _is_public(self, host: str) -> bool:
        usual = ":443" if (self.public or "").startswith("https:") else ":80"
        return self._authority is not None and host.lower().removesuffix(usual) == self._authority

    def _is_own(self, origin: str, host: str) -> bool:
        if self._is_public(host):
            return origin == self.public
        try:
            return urlsplit(origin).netloc.lower() == host.lower()
        except ValueError:
            return False


def is_forwarded(request: AnyRequest) -> bool:
    headers = request.headers  # a new object at each access
    return any(name in headers for name in FORWARDED)


@lru_cache(maxsize=1024)
def _is_here(host: str) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and (parts.port or 80) > 0
    except ValueError:  # such as "[", or a port that is not a number
        return False


def _own_page(request: AnyRequest) -> bool:
    """Whether the request comes from no page or from a page of this server, as browsers declare it. Following
    a link from another site is allowed: that site does not see the answer."""
    site = request.headers.get("sec-fetch-site", "none")
    followed = (
        request.method in ("GET", "HEAD")
        and request.headers.get("sec-fetch-mode") == "navigate"
        and request.headers.get("sec-fetch-dest") == "document"
    )
    return site in ("none", "same-origin") or followed


@lru_cache(maxsize=1024)
def _cookie_name(name: str, origin: str) -> str:
    """Browsers send cookies to every port of a host, so on this machine the name includes the port."""
    if origin.startswith("https:"):
        return f"__Host-{name}"
    return f"{name}_{urlsplit(origin).port or 80}"
