"""Which requests the API answers.

Bound to loopback it needs no key from the user who runs it, but a web page in that user's browser must not be
able to drive it. So the Host header must name this machine (a page whose name was rebound to 127.0.0.1 names
its own host), an Origin must be the API's own, `Sec-Fetch-Site` must not name another site, and a body must
be declared as JSON, which a form cannot do. On any other address every request needs a key
(`security.access`).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from litestar import Request

from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import SextonError
from sexton.security.access import KeyCheck, OwnerCheck, require_keys

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
JSON_TYPES = ("application/json", "application/merge-patch+json")
# In the state of a request: what all requests of a connection share, such as the inode of its socket.
CONNECTION, INODE = "connection", "inode"
# What proxies add: the connection is theirs, and does not tell whose request it is.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
LINES_TYPES = ("application/x-ndjson", "application/jsonl", "application/json-lines", *JSON_TYPES)


class RequestGuard:
    """Checks every request; raises what is to be answered."""

    def __init__(self, settings: Settings) -> None:
        self._keys = KeyCheck(require_keys(settings))
        self._owner = None if self._keys else OwnerCheck(settings)
        self._host = settings.host

    @property
    def needs_keys(self) -> bool:
        return bool(self._keys)

    def check(self, request: Request[Any, Any, Any], *, tokened: bool = False) -> None:
        """`tokened`: the operation asks for the token of a run itself, and needs no key. Sets `trusted` in
        the request's state: whether the caller may see what is wrong inside."""
        request.state.trusted = False
        if request.scope["path"] in OPEN_PATHS:
            request.state.trusted = self._may_see(request)
            return
        host = request.headers.get("host", "")
        if self._keys:
            if not tokened:
                self._keys.check(request.headers.get("authorization", ""), _address(request))
        elif not self._is_here(host):
            raise SextonError(
                "bad_host", f"this server is not {host or 'nameless'}", hint="use http://127.0.0.1"
            )
        origin = request.headers.get("origin")
        if origin is not None and _authority(origin) != host.lower():
            raise SextonError(
                "cross_origin", f"a page of {origin} may not use this API", hint="call it from a program"
            )
        if not _own_page(request):
            raise SextonError(
                "cross_origin", "a page of another site may not use this API", hint="call it from a program"
            )
        if self._owner is not None and not tokened:
            self._check_owner(self._owner, request)
        request.state.trusted = not tokened

    def _check_owner(self, owner: OwnerCheck, request: Request[Any, Any, Any]) -> None:
        """The user is looked up once per connection."""
        if any(name in request.headers for name in FORWARDED):
            raise SextonError(
                "forwarded",
                "behind a proxy this server cannot tell who asks, so it needs an API key",
                hint="set SEXTON_API_KEYS where it runs and send a key",
            )
        known: dict[str, Any] = request.scope["state"].get(CONNECTION, {})
        header = request.headers.get("authorization", "")
        if "owner" not in known or not owner.by_user:
            client, server = request.scope["client"], request.scope["server"]
            here = None if server is None or server[1] is None else (server[0], server[1])
            known["owner"] = owner.is_owner(client, here, known.get(INODE), header)
        if not known["owner"]:
            raise SextonError(
                "other_user",
                "without an API key this server answers only the user who runs it",
                hint="set SEXTON_API_KEYS where it runs and send a key, or start your own: sexton up",
            )

    def _may_see(self, request: Request[Any, Any, Any]) -> bool:
        header = request.headers.get("authorization")
        try:
            if self._owner is not None:
                self._check_owner(self._owner, request)
            else:
                self._keys.check(header or "", _address(request))
        except SextonError:
            if header is not None and self._keys:
                raise
            return False
        return self._owner is None or self._is_here(request.headers.get("host", ""))

    def _is_here(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # such as "["
            return False
        return name == self._host or is_loopback(name)


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _own_page(request: Request[Any, Any, Any]) -> bool:
    """What browsers say of where a request comes from. A link from elsewhere may be followed: the page that
    has it does not see the answer."""
    site = request.headers.get("sec-fetch-site", "none")
    followed = (
        request.method in ("GET", "HEAD")
        and request.headers.get("sec-fetch-mode") == "navigate"
        and request.headers.get("sec-fetch-dest") == "document"
    )
    return site in ("none", "same-origin") or followed


def _address(request: Request[Any, Any, Any]) -> str:
    return request.client.host if request.client else "an unknown address"


def check_content_type(request: Request[Any, Any, Any], accepted: tuple[str, ...]) -> None:
    """A body must say that it is JSON: a web form cannot, without asking first."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise SextonError(
            "wrong_content_type",
            f"the body is declared as {given}" if given else "the body is not declared",
            hint=f"send Content-Type: {accepted[0]}",
        )
