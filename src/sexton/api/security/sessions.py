"""Sessions over HTTP: who the caller is, its sessions, signing out, and sign-in links."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec

from sexton.api.operation import Answer, Call, operation
from sexton.api.security import routes
from sexton.api.security.guard import COOKIE
from sexton.api.security.routes import EndSessionsQuery, SessionsQuery
from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.refusal import about, not_found
from sexton.security import sessions
from sexton.security.role import EVERY_NAMESPACE, Role
from sexton.security.session_table import KnownSession
from sexton.security.sessions import SIGN_IN_PATH, SessionView


class CallerView(msgspec.Struct, frozen=True, kw_only=True):
    """The caller, and what it may do."""

    name: Annotated[str, about("As the audit has it: `person:…`, `key:…`, `user:…`.")]
    method: Annotated[
        Literal["openid", "link", "key", "owner"],
        about("What tells it: a session that began with `openid` or a `link`; a `key`; or the connection, of "
              "the user who runs the server (`owner`)."),
    ]  # fmt: skip
    roles: Annotated[dict[str, Role], about("The role in each namespace; `*`: in all of them.")]
    csrf_token: Annotated[
        str | None,
        about("With a session: what goes into `X-CSRF-Token` of every POST, PUT, PATCH and DELETE."),
    ] = None
    session_id: Annotated[str | None, about("The session, `s_…`, if there is one.")] = None
    created_at: Annotated[datetime | None, about("When it began.")] = None
    expires_at: Annotated[datetime | None, about("When it ends at the latest.")] = None
    idle_expires_at: Annotated[datetime | None, about("When it ends unless it is used.")] = None


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that lets a browser sign in, once."""

    url: Annotated[str, about("What to open. Its secret is behind the #, which browsers do not send.")]
    expires_at: Annotated[datetime, about("Until when it is good.")]


class EndedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions were ended."""

    ended: Annotated[int, about("How many sessions were ended.")]


CALLER: dict[str, Any] = {
    "name": "person:kim@example.com",
    "method": "openid",
    "roles": {"default": "editor", "billing": "viewer"},
    "csrf_token": "t2yTXr1mJxVQ0dSx2FJ9zq0b1kqkA7bDqE7pZk3x5nA",
    "session_id": "s_1",
    "created_at": "2026-06-01T13:00:00Z",
    "expires_at": "2026-06-02T01:00:00Z",
    "idle_expires_at": "2026-06-01T15:00:00Z",
}
SESSION: dict[str, Any] = {
    "session_id": "s_1",
    "name": "person:kim@example.com",
    "method": "openid",
    "address": "192.0.2.7",
    "agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    "created_at": "2026-06-01T13:00:00Z",
    "used_at": "2026-06-01T13:10:00Z",
    "expires_at": "2026-06-02T01:00:00Z",
    "current": True,
}
LINK = {
    "url": "https://sexton.example.com/sign-in#0J3v1mO4cV8…",
    "expires_at": "2026-06-01T13:10:00Z",
}


@operation(routes.GET_SESSION, answer=CallerView, answer_example=CALLER)
async def get_session(call: Call) -> Answer:
    """For every kind of credential. Without one the answer is 401: people sign in at `/sign-in`."""
    session: KnownSession | None = call.request.state.session
    caller = call.caller
    if session is None:
        method: Any = "owner" if caller.credential.startswith("user:") else "key"
        return Answer(CallerView(name=caller.name, method=method, roles=dict(caller.grants)))
    idle = timedelta(seconds=call.services.settings.session_idle_seconds)
    return Answer(
        CallerView(
            name=caller.name,
            method=session.method,
            roles=dict(caller.grants),
            csrf_token=session.csrf_token,
            session_id=encode_id("s", caller.session_id or 0),
            created_at=session.created_at,
            expires_at=session.expires_at,
            idle_expires_at=min(session.expires_at, session.used_at + idle),
        )
    )


@operation(routes.END_SESSION, status=204)
async def end_session(call: Call) -> Answer:
    """Ends the session of the cookie and removes the cookie. Other sessions of the person stay."""
    return await sign_out(call)


@operation(routes.LIST_SESSIONS, answer=list[SessionView], answer_example=[SESSION])
async def list_sessions(call: Call) -> Answer:
    """The caller's own sessions that have not ended, the latest first. A session that began with a link
    belongs to the key, or to the user, that made the link."""
    query = call.query(SessionsQuery)
    if query.every:
        call.caller.require(Role.ADMIN, EVERY_NAMESPACE, cluster=True)
    found = await sessions.list_sessions(
        call.context,
        call.services.settings,
        call.caller,
        every=query.every,
        before=query.cursor,
        limit=query.limit + 1,
    )
    page = found[: query.limit]
    more = call.next_link(cursor=page[-1].session_id) if len(found) > len(page) else {}
    return Answer(page, headers=more)


@operation(routes.END_SESSIONS, answer=EndedSessions, answer_example={"ended": 3})
async def end_sessions(call: Call) -> Answer:
    """Every session of the caller, or of the person with this `name`. Every process refuses them within two
    seconds."""
    query = call.query(EndSessionsQuery)
    if query.name is None:
        ended = await sessions.end_sessions(call.context, credential=call.caller.credential)
    else:
        call.caller.require(Role.ADMIN, EVERY_NAMESPACE, cluster=True)
        ended = await sessions.end_sessions(call.context, name=query.name)
    call.services.guard.access_changed()
    return Answer(EndedSessions(ended=ended))


@operation(routes.END_ONE_SESSION, status=204)
async def end_one_session(call: Call) -> Answer:
    """One of the caller's own sessions; an admin of all namespaces may end any session."""
    role = call.caller.everywhere()
    any_ = role is not None and role.allows(Role.ADMIN)
    await sessions.end_session(call.context, call.path("session"), call.caller, any_=any_)
    call.services.guard.access_changed()
    return Answer()


@operation(routes.MAKE_LINK, status=201, answer=SignInLink, kept=False, answer_example=LINK)
async def make_link(call: Call) -> Answer:
    """Valid once, for ten minutes. Its session has the permissions of the caller, and ends with the caller's
    key. A session cannot make links."""
    site = call.services.guard.site
    origin = site.public or site.origin_of(call.request)
    if origin is None:
        raise InvalidField(
            "no_public_url",
            "sign-in needs https, or a browser on the machine of the server; this server has no public_url",
            field="public_url",
            hint="set SEXTON_PUBLIC_URL where the server runs: https://sexton.example.com",
        )
    made = await sessions.make_link(call.context, call.caller, call.services.settings.secret_key)
    return Answer(SignInLink(url=f"{origin}{SIGN_IN_PATH}#{made.token}", expires_at=made.expires_at))


async def sign_out(call: Call, *, everywhere: bool = False) -> Answer:
    """End the session of the cookie, or all sessions of its person."""
    caller, guard = call.caller, call.services.guard
    if caller.session_id is None:
        raise not_found("session", "in this request: it has no session cookie")
    if everywhere:
        await sessions.end_sessions(call.context, credential=caller.credential)
    else:
        await sessions.end_session(call.context, encode_id("s", caller.session_id), caller)
    guard.access_changed()
    origin = guard.site.origin_of(call.request)
    gone = () if origin is None else (guard.site.cookie(COOKIE, origin, "", 0),)
    return Answer(cookies=gone)
