"""Which requests the API answers, and who calls.

A caller shows a key, or the cookie of a session; or, on loopback without keys, it is the user who runs the
server, by the word of the kernel. A key counts before a cookie. What a browser sends by itself (the cookie,
and its place on this machine) is not enough for a web page of another site to drive the API: see
`sexton.api.security.site`. With a cookie every request that changes something also needs the token that
belongs to the session, in `X-CSRF-Token`; and a body must be declared as JSON, which a form cannot do.
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
    is_reachable,
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
# Of the health of the process: answered without a credential, and in more words with one.
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
JSON_TYPES = ("application/json", "application/merge-patch+json")
# In the state of a request: what all requests of a connection share, such as the inode of its socket.
CONNECTION, INODE = "connection", "inode"
LINES_TYPES = ("application/x-ndjson", "application/jsonl", "application/json-lines", *JSON_TYPES)


class RequestGuard:
    """Checks every request; raises what is to be answered."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._keys = KeyCheck(require_keys(settings))
        self._owner = None if self._keys or is_reachable(settings) else OwnerCheck(settings)
        self._table = AccessTable(database, settings.secret_key)
        self._openid = settings.oidc_issuer is not None
        self.sessions = SessionTable(database, settings)
        self.site = Site(settings)

    @property
    def needs_keys(self) -> bool:
        """Whether the user who runs the server is not let in without a credential."""
        return self._owner is None

    async def check(
        self,
        request: Request[Any, Any, Any],
        *,
        tokened: bool = False,
        open_: bool = False,
        form: bool = False,
    ) -> Principal:
        """Who calls. `tokened`: the operation asks for the token of a run itself, and needs no key; `open_`:
        it needs no credential at all. `form`: its body has the token of the session, see `check_csrf`. Sets
        in the request's state `session`, and `trusted`: whether the caller may see what is wrong inside."""
        state = request.state  # made anew each time it is asked for
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
        """With a cookie, a request that changes something shows the token of its session: another page can
        make the browser send the cookie, but cannot know the token."""
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
        """The session of the cookie, if there is one that has not ended. One that began on this machine is
        good for connections of the same user only: browsers show cookies to all ports of a host, so also to
        what other users run there."""
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
        """Where a sign-in comes from."""
        return Visitor(address_of(request), request.headers.get("user-agent"), self._user(request))

    async def namespace(self, request: Request[Any, Any, Any], caller: Principal) -> str:
        """The namespace of a call: that of the header, or the one that the credential has."""
        chosen = caller.choose(request.headers.get(NAMESPACE_HEADER.lower()))
        if chosen != NAMESPACE:
            await self._table.refresh()
            if chosen not in self._table.namespaces:
                raise not_found("namespace", chosen)
        return chosen

    async def _caller(self, request: Request[Any, Any, Any]) -> Principal:
        """A key that is shown counts, also for the user who runs the server and for people who are signed
        in."""
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
        """Who holds the key in the Authorization header: one of the configuration, or one that was made."""
        header = request.headers.get("authorization", "")
        if (found := self._keys.find(header)) is not None:
            return owner("configured key", CONFIGURED + found)
        return await self._made(header) or self._keys.refuse(header, address_of(request))

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
        """Keys, namespaces or sessions were changed by this process: they count at once."""
        self._table.forget()
        self.sessions.forget()

    def _check_owner(self, owner: OwnerCheck, request: Request[Any, Any, Any]) -> None:
        """The user is looked up once per connection."""
        if is_forwarded(request):
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
        return self._owner is None or self.site.origin_of(request) is not None

    def _user(self, request: Request[Any, Any, Any]) -> int | None:
        """The user of this machine who has made the connection; None if it comes from elsewhere, or through a
        proxy. It is looked up once per connection."""
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
    """A body must say that it is JSON: a web form cannot, without asking first."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise SextonError(
            "wrong_content_type",
            f"the body is declared as {given}" if given else "the body is not declared",
            hint=f"send Content-Type: {accepted[0]}",
        )
