"""Decides which requests the API answers, and who the caller is.

A caller shows a key or the cookie of a session; or, on loopback without keys, the kernel says that it is the
user who runs the server. A key counts before a cookie. What a browser sends by itself (the cookie, the
loopback connection) must not let a web page of another site use the API: see `sexton.api.security.site`. With
a cookie, every request that changes something also needs the token of the session in `X-CSRF-Token`, and a
body must be declared as JSON, which a form cannot do.
"""

from __future__ import annotations

import hmac
from typing import Any

from litestar import Request

from sexton.api.security.site import CSRF_HEADER, SAFE, Site, is_forwarded
from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.errors import SextonError, Unavailable
from sexton.postgres.database import Database
from sexton.postgres.transaction import NAMESPACE
from sexton.refusal import not_found
from sexton.security.access import (
    KeyCheck,
    OwnerCheck,
    bearer,
    own_name,
    own_user,
    peer_user,
    require_keys,
)
from sexton.security.access_table import FRESH_FOR_UNKNOWN_SECONDS, AccessTable
from sexton.security.keys import PREFIX as KEY_PREFIX
from sexton.security.keys import well_formed
from sexton.security.peer import can_tell
from sexton.security.principal import ANYONE, NAMESPACE_HEADER, Principal, owner
from sexton.security.session_table import KnownSession, SessionTable
from sexton.security.sessions import Visitor

COOKIE = "sexton_session"
CONFIGURED = "configured:"
# The health of the process: answered without a credential, and with more detail with one.
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
JSON_TYPES = ("application/json", "application/merge-patch+json")
# Keys in the state of a request: what all requests of a connection share, such as the inode of its socket.
CONNECTION, INODE = "connection", "inode"
LINES_TYPES = ("application/x-ndjson", "application/jsonl", "application/json-lines", *JSON_TYPES)


class RequestGuard:
    """Checks every request; raises the error to answer."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._keys = KeyCheck(require_keys(settings))
        self._owner = None if self._keys or settings.is_reachable() else OwnerCheck(settings)
        self._table = AccessTable(database, settings.secret_key)
        self._openid = settings.oidc_issuer is not None
        self.sessions = SessionTable(database, settings)
        self.site = Site(settings)

    @property
    def needs_keys(self) -> bool:
        """Whether even the user who runs the server needs a credential."""
        return self._owner is None

    async def check(
        self,
        request: Request[Any, Any, Any],
        *,
        tokened: bool = False,
        open_: bool = False,
        form: bool = False,
    ) -> Principal:
        """Who calls. `tokened`: the operation itself checks a token, and no key is needed. `open_`: no
        credential is needed. `form`: the token of the session is in the body, see `check_csrf`. Sets
        `session` and `trusted` in the state of the request; `trusted` callers may see internal errors."""
        state = request.state  # a new object at each access
        state.trusted, state.session = False, None
        if request.scope["path"] in HEALTH_PATHS:
            state.trusted = await self._may_see(request)
            return ANYONE
        has_cookie = self.site.read_cookie(request, COOKIE) is not None
        self.site.check(request, named=self._owner is not None or has_cookie or open_)
        if tokened or open_:
            return ANYONE
        caller = await self._caller(request)
        state.trusted = True
        if not form:
            self.check_csrf(request, request.headers.get(CSRF_HEADER.lower(), ""))
        return caller

    def check_csrf(self, request: Request[Any, Any, Any], given: str) -> None:
        """With a cookie, a request that changes something must show the token of its session: another page
        can make the browser send the cookie, but cannot know the token."""
        session: KnownSession | None = request.state.session
        if session is None or request.method in SAFE:
            return
        if not hmac.compare_digest(given.encode(), session.csrf_token.encode()):
            raise SextonError(
                "bad_csrf_token",
                f"the header {CSRF_HEADER} is missing"
                if not given
                else f"{CSRF_HEADER} is of another session",
                hint=f"send {CSRF_HEADER} with csrf_token of GET /api/v1/session",
            )

    async def session_of(self, request: Request[Any, Any, Any]) -> KnownSession | None:
        """The session of the cookie, if it has not ended. A session that began on this machine is valid only
        for connections of the same user: browsers send cookies to all ports of a host, so also to servers of
        other users."""
        token = self.site.read_cookie(request, COOKIE)
        if token is None:
            return None
        found = await self.sessions.find(token)
        if found is None:
            return None
        credential = found.principal.credential
        if (
            credential.startswith(CONFIGURED)
            and credential.removeprefix(CONFIGURED) not in self._keys.names()
        ):
            return None
        if found.user_id is not None and self._user(request) != found.user_id:
            return None
        return found

    def visitor(self, request: Request[Any, Any, Any]) -> Visitor:
        """The address, browser and user of a sign-in."""
        return Visitor(address_of(request), request.headers.get("user-agent"), self._user(request))

    async def namespace(self, request: Request[Any, Any, Any], caller: Principal) -> str:
        """The namespace of a call: from the header, or that of the credential."""
        chosen = caller.choose(request.headers.get(NAMESPACE_HEADER.lower()))
        if chosen != NAMESPACE:
            await self._table.refresh()
            if chosen not in self._table.namespaces:
                await self._table.refresh(FRESH_FOR_UNKNOWN_SECONDS)
            if chosen not in self._table.namespaces:
                raise not_found("namespace", chosen)
        return chosen

    async def _caller(self, request: Request[Any, Any, Any]) -> Principal:
        """A key counts first, also for the user who runs the server and for people who are signed in."""
        header = request.headers.get("authorization", "")
        shown = bearer(header) if self._owner is None or bearer(header).startswith(KEY_PREFIX) else ""
        if shown:
            return await self._holder(request)
        request.state.session = session = await self.session_of(request)
        if session is not None:
            return session.principal
        if self._owner is not None:
            self._check_owner(self._owner, request)
            return owner(f"user:{own_name()}", f"user:{own_user()}", rate=0)
        if self.site.read_cookie(request, COOKIE) is not None:
            raise SextonError("bad_session", "this session has ended", hint="sign in again: /sign-in")
        return self._keys.refuse(header, address_of(request), signs_in=self._openid)

    async def _holder(self, request: Request[Any, Any, Any]) -> Principal:
        """The holder of the key in the Authorization header: a configured key, or one that was created."""
        header = request.headers.get("authorization", "")
        if (found := self._keys.find(header)) is not None:
            return owner("configured key", CONFIGURED + found)
        return await self._made(header) or self._keys.refuse(header, address_of(request))

    async def _made(self, header: str) -> Principal | None:
        """The holder of a created key that has not expired."""
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
        """Forget cached keys, namespaces and sessions: this process has changed some."""
        self._table.forget()
        self.sessions.forget()

    def _check_owner(self, owner: OwnerCheck, request: Request[Any, Any, Any]) -> None:
        """Check that the caller is the user who runs the server; looked up once per connection."""
        if is_forwarded(request):
            raise SextonError(
                "forwarded",
                "the request came through a proxy, so the server cannot tell which user sent it",
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
        """For paths that need no key: whether this caller may see internal errors."""
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
        return self._owner is None or self.site.origin_of(request) is not None

    def _user(self, request: Request[Any, Any, Any]) -> int | None:
        """The user of this machine who made the connection, looked up once per connection. None: it comes
        from another machine, or through a proxy."""
        client, server = request.scope["client"], request.scope["server"]
        if not can_tell() or client is None or not is_loopback(client[0]) or is_forwarded(request):
            return None
        known: dict[str, Any] = request.scope["state"].get(CONNECTION, {})
        if "user" not in known:
            known["user"] = peer_user(client, server, known.get(INODE))
        user: int | None = known["user"]
        return user


def address_of(request: Request[Any, Any, Any]) -> str:
    return request.client.host if request.client else "an unknown address"


def check_content_type(request: Request[Any, Any, Any], accepted: tuple[str, ...]) -> None:
    """Require that the body is declared as JSON: a web form cannot do that without a preflight request."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise SextonError(
            "wrong_content_type",
            f"the body is declared as {given}" if given else "the body is not declared",
            hint=f"send Content-Type: {accepted[0]}",
        )
