"""By which names browsers reach this server, and which pages may use it.

A web page in the browser of a person must not be able to drive the API with that person's cookie, or with
the word of the kernel that the person runs the server. One function, `Site.check`, decides it for every
request: the Host header must name this server (a page whose name was rebound to 127.0.0.1 names its own
host), an Origin must be the server's own or one of `cors_origins`, and `Sec-Fetch-Site` must not name another
site.

The server speaks HTTP. People reach it over https through a proxy, at `public_url`; the headers of
proxies are not believed, since every caller could send them: the name in the Host header tells whether it is
https.
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

# What proxies add: the connection is theirs, and does not tell whose request it is.
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
        """Where the browser thinks it is: the public origin, or this machine without a proxy between. None:
        under a name that is not this server's; people cannot sign in there."""
        host = request.headers.get("host", "")
        if self._is_public(host):
            return self.public
        return f"http://{host.lower()}" if _is_here(host) and not is_forwarded(request) else None

    def check(self, request: AnyRequest, *, named: bool) -> None:
        """Raises `bad_host` or `cross_origin`. `named`: the credential is one that browsers send by
        themselves, so the Host must be a name of this server."""
        host = request.headers.get("host", "")
        if named and not self._is_public(host) and not _is_here(host):
            raise SextonError(
                "bad_host",
                f"this server has another name than {host}" if host else "the request names no host",
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
        """A cookie that scripts cannot read and other sites do not send along, except with a link that a
        person follows. Over https its name begins with `__Host-`: no other host can set it."""
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
        """What tells the browser that a page of another origin may read the answer."""
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
        """The answer to a browser that asks whether a page may send a request; None: it may not."""
        if origin not in self._pages:
            return None
        return {
            **self.cross_origin_headers(origin),
            "Access-Control-Allow-Methods": ALLOWED_METHODS,
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        }

    def security_headers(self, host: str) -> Headers:
        """What every answer has, unless it has its own."""
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
    headers = request.headers  # made anew each time it is asked for
    return any(name in headers for name in FORWARDED)


@lru_cache(maxsize=1024)
def _is_here(host: str) -> bool:
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and (parts.port or 80) > 0
    except ValueError:  # such as "[", or a port that is no number
        return False


def _own_page(request: AnyRequest) -> bool:
    """What browsers say of where a request comes from. A link from elsewhere may be followed: the page that
    has it does not see the answer."""
    site = request.headers.get("sec-fetch-site", "none")
    followed = (
        request.method in ("GET", "HEAD")
        and request.headers.get("sec-fetch-mode") == "navigate"
        and request.headers.get("sec-fetch-dest") == "document"
    )
    return site in ("none", "same-origin") or followed


@lru_cache(maxsize=1024)
def _cookie_name(name: str, origin: str) -> str:
    """Browsers give cookies to every port of a host, so those of this machine have the port in the name."""
    if origin.startswith("https:"):
        return f"__Host-{name}"
    return f"{name}_{urlsplit(origin).port or 80}"
