"""Sessions of people in browsers, and the links that begin one.

A link is made with a credential (a key, or the user who runs the server) and gives a session with the same
roles; it works once, within ten minutes. A sign-in with OpenID Connect gives a session with the roles of the
person's groups. A session ends at its time, after too long without use, when its person signs out, and with
the API key that it came from. Its token is in a cookie; the database keeps only a keyed hash of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from asyncpg import Record

from sexton.config import Settings
from sexton.errors import SextonError
from sexton.model import encode_id
from sexton.postgres.page import number_in_cursor
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import SHARED, Context, command
from sexton.refusal import about, not_found
from sexton.security.keys import read_pepper
from sexton.security.principal import Principal
from sexton.security.role import Role
from sexton.security.token import is_token, new_token, token_hash

LINK, SESSION = "link", "session"
# The path of links. The secret of a link stands behind the #, which browsers do not send.
SIGN_IN_PATH = "/sign-in"
LINK_SECONDS = 600.0
LONGEST_NAME = 200
LONGEST_AGENT = 200
# Beyond every id: where a list begins.
FIRST = 2**63 - 1
# Of sessions that end together, this many have their own entry in the audit; the others are counted.
MOST_TOLD = 100

Method = Literal["openid", "link"]


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a person."""

    session_id: Annotated[str, about("The id of the session, `s_…`.")]
    name: Annotated[str, about("Who is signed in: `person:…`, `key:…` or `user:…`.")]
    method: Annotated[
        Method, about("How the session began: with `openid`, or with a `link` of `sexton login`.")
    ]
    address: Annotated[
        str | None, about("The address that signed in; behind a proxy, the address of the proxy.")
    ]
    agent: Annotated[str | None, about("The browser, as it names itself.")]
    created_at: Annotated[datetime, about("When it began.")]
    used_at: Annotated[datetime, about("When it was used last, to the minute.")]
    expires_at: Annotated[datetime, about("When it ends at the latest.")]
    current: Annotated[bool, about("Whether this request belongs to the session.")] = False


class NewLink(NamedTuple):
    token: str
    expires_at: datetime


class NewSession(NamedTuple):
    token: str
    view: SessionView


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a sign-in comes from. `user_id` is the user of this machine, told by the kernel, if it is one."""

    address: str | None = None
    agent: str | None = None
    user_id: int | None = None


@command
async def make_link(context: Context, caller: Principal, source: str | None = None) -> NewLink:
    """Make a link that gives a session with the roles of the caller, once. `source` is the key for
    secrets."""
    if caller.session_id is not None:
        raise SextonError(
            "forbidden",
            "a session cannot make a sign-in link: the new session would outlive it",
            hint="use an API key, or run sexton login where the server runs",
        )
    pepper = await read_pepper(context.database, source, context.connection)
    token = new_token(LINK, pepper)
    expires_at = await context.fetchval(
        "access/make_link",
        hash=token_hash(token, LINK, pepper),
        name=caller.name,
        credential=caller.credential,
        key_id=caller.key_id,
        grants=_encoded(caller.grants),
        seconds=LINK_SECONDS,
        now=context.now,
    )
    context.changed("sign_in_link.created", after={"expires_at": expires_at}, namespace=SHARED)
    return NewLink(token, expires_at)


@command
async def sign_in_with_link(
    context: Context, token: str, visitor: Visitor, settings: Settings
) -> NewSession | None:
    """The session that a link gives; None if the link was used, is too old or was made up."""
    pepper = await read_pepper(context.database, settings.secret_key, context.connection)
    if not is_token(token, LINK, pepper):
        return None
    row = await context.fetchrow("access/take_link", hash=token_hash(token, LINK, pepper), now=context.now)
    if row is None:
        return None
    caller = Principal(row["name"], decoded(row["grants"]), row["key_id"], row["credential"])
    return await _open(context, caller, "link", visitor, settings)


@command
async def sign_in_person(
    context: Context, person: Principal, visitor: Visitor, settings: Settings
) -> NewSession:
    """A session for a person whom the provider of OpenID Connect has named."""
    return await _open(context, person, "openid", visitor, settings)


async def _open(
    context: Context, caller: Principal, method: Method, visitor: Visitor, settings: Settings
) -> NewSession:
    """The token is always new: a token that the browser sends never becomes a session."""
    pepper = await read_pepper(context.database, settings.secret_key, context.connection)
    token = new_token(SESSION, pepper)
    row = await context.fetchrow(
        "access/open_session",
        hash=token_hash(token, SESSION, pepper),
        name=caller.name,
        credential=caller.credential,
        key_id=caller.key_id,
        grants=_encoded(caller.grants),
        method=method,
        address=visitor.address,
        agent=visitor.agent and visitor.agent[:LONGEST_AGENT],
        user_id=visitor.user_id,
        seconds=settings.session_seconds,
        now=context.now,
    )
    assert row is not None
    made = _view(row)
    context.changed(
        "session.opened",
        made.session_id,
        caller.name,
        after={"method": method, "roles": dict(caller.grants), "expires_at": made.expires_at},
        namespace=SHARED,
        actor=caller.name,
        detail={"agent": made.agent},
    )
    return NewSession(token, made)


async def list_sessions(
    context: Context,
    settings: Settings,
    caller: Principal,
    *,
    every: bool = False,
    before: str | None = None,
    limit: int = 100,
) -> list[SessionView]:
    """The caller's own sessions, or with `every` those of all; the latest first."""
    rows = await context.fetch(
        "access/list_sessions",
        credential=None if every else caller.credential,
        idle_seconds=settings.session_idle_seconds,
        before=FIRST if before is None else number_in_cursor(before, "s"),
        limit=limit,
        now=context.now,
    )
    return [_view(row, current=row["id"] == caller.session_id) for row in rows]


@command
async def end_session(context: Context, session_id: str, caller: Principal, *, any_: bool = False) -> None:
    """End one of the caller's own sessions, or with `any_` one of all."""
    number = number_of("s", session_id, "session")
    if not await _end(context, session_id=number, credential=None if any_ else caller.credential):
        raise not_found("session", session_id)


@command
async def end_sessions(context: Context, *, credential: str | None = None, name: str | None = None) -> int:
    """End all sessions of a credential, or of a name; returns how many. Every process refuses them within two
    seconds."""
    if credential is None and name is None:
        raise ValueError("give a credential or a name")
    return len(await _end(context, credential=credential, name=name))


async def _end(
    context: Context,
    *,
    credential: str | None = None,
    name: str | None = None,
    session_id: int | None = None,
) -> list[Record]:
    ended = await context.fetch(
        "access/end_sessions", credential=credential, name=name, session_id=session_id, now=context.now
    )
    for row in ended[:MOST_TOLD]:
        context.changed("session.ended", encode_id("s", row["id"]), row["name"], namespace=SHARED)
    if len(ended) > MOST_TOLD:
        more = {"count": len(ended) - MOST_TOLD}
        context.changed("session.ended", None, name, namespace=SHARED, detail=more)
    return ended


def decoded(grants: str) -> dict[str, Role]:
    return {name: Role(role) for name, role in msgspec.json.decode(grants).items()}


def _encoded(grants: Mapping[str, Role]) -> str:
    return msgspec.json.encode(dict(grants)).decode()


def _view(row: Record | Mapping[str, Any], *, current: bool = False) -> SessionView:
    return from_row(SessionView, row, session_id=encode_id("s", row["id"]), current=current)
