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
from sexton.errors import SextonError, Unavailable
from sexton.postgres.database import Database
from sexton.postgres.transaction import NAMESPACE
from sexton.refusal import not_found
from sexton.security.access import KeyCheck, OwnerCheck, bearer, own_name, require_keys
from sexton.security.access_table import FRESH_FOR_UNKNOWN_SECONDS, AccessTable
from sexton.security.keys import PREFIX as KEY_PREFIX
from sexton.security.keys import well_formed
from sexton.security.principal import ANYONE, NAMESPACE_HEADER, Principal, owner

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
JSON_TYPES = ("application/json", "application/merge-patch+json")
# In the state of a request: what all requests of a connection share, such as the inode of its socket.
CONNECTION, INODE = "connection", "inode"
# What proxies add: the connection is theirs, and does not tell whose request it is.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
LINES_TYPES = ("application/x-ndjson", "application/jsonl", "application/json-lines", *JSON_TYPES)


class RequestGuard:
    """Checks every request; raises what is to be answered."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._keys = KeyCheck(require_keys(settings))
        self._owner = None if self._keys else OwnerCheck(settings)
        self._host = settings.host
        self._table = AccessTable(database)

    @property
    def needs_keys(self) -> bool:
        return bool(self._keys)

    async def check(self, request: Request[Any, Any, Any], *, tokened: bool = False) -> Principal:
        """Who calls. `tokened`: the operation asks for the token of a run itself, and needs no key. Sets
        `trusted` in the request's state: whether the caller may see what is wrong inside."""
        request.state.trusted = False
        if request.scope["path"] in OPEN_PATHS:
            request.state.trusted = await self._may_see(request)
            return ANYONE
        host = request.headers.get("host", "")
        caller = None
        if self._keys:
            if not tokened:
                caller = await self._holder(request)
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
            caller = await self._holder_or_owner(self._owner, request)
        request.state.trusted = caller is not None
        return caller or ANYONE

    async def namespace(self, request: Request[Any, Any, Any], caller: Principal) -> str:
        """The namespace of a call: that of the header, or the one that the credential has."""
        chosen = caller.choose(request.headers.get(NAMESPACE_HEADER.lower()))
        if chosen != NAMESPACE:
            await self._table.refresh()
            if chosen not in self._table.namespaces:
                raise not_found("namespace", chosen)
        return chosen

    async def _holder(self, request: Request[Any, Any, Any]) -> Principal:
        """Who holds the key in the Authorization header: one of the configuration, or one that was made."""
        header = request.headers.get("authorization", "")
        if self._keys.holds(header):
            return owner("configured key")
        return await self._made(header) or self._keys.refuse(header, _address(request))

    async def _holder_or_owner(self, check: OwnerCheck, request: Request[Any, Any, Any]) -> Principal:
        """A key that is shown counts, also for the user who runs the server."""
        header = request.headers.get("authorization", "")
        if bearer(header).startswith(KEY_PREFIX):
            return await self._made(header) or self._keys.refuse(header, _address(request))
        self._check_owner(check, request)
        return owner(f"user:{own_name()}")

    async def _made(self, header: str) -> Principal | None:
        """Who holds this key, if it is one that was made and has not ended."""
        text = bearer(header)
        if not well_formed(text):
            return None
        await self._table.refresh()
        found = self._table.find(text)
        if found is None:
            await self._table.refresh(FRESH_FOR_UNKNOWN_SECONDS)
            found = self._table.find(text)
        return found

    def access_changed(self) -> None:
        """Keys or namespaces were changed by this process: they count at once."""
        self._table.forget()

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

    async def _may_see(self, request: Request[Any, Any, Any]) -> bool:
        """Of the pages that need no key: whether this caller may see what is wrong inside."""
        header = request.headers.get("authorization")
        try:
            if self._owner is not None:
                self._check_owner(self._owner, request)
            else:
                await self._holder(request)
        except Unavailable:
            return False
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
