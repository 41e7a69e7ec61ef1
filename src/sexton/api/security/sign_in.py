"""The pages on which people sign in and out.

A link of `sexton login` leads to `/sign-in`, with its secret after the #: browsers do not send that part, so
it is in no log. A script moves it into the form and out of the browser's history, and the form is posted.
Opening the page alone does not use the link up.

With OpenID Connect the browser goes to the provider and returns with a code. State, nonce and PKCE verifier
are derived from one secret, which the browser keeps in a cookie of its own. So the answer is valid only in
the browser that began the sign-in, and the server stores nothing.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.api.console import html
from sexton.api.console.assets import assets
from sexton.api.operation import HTML, Answer, Call, operation
from sexton.api.route import Query, Route
from sexton.api.security.guard import COOKIE, address_of
from sexton.api.security.sessions import sign_out as sign_out_session
from sexton.errors import NotFound, SextonError
from sexton.model import encode_id
from sexton.postgres.transaction import SHARED
from sexton.refusal import not_found
from sexton.security import sessions
from sexton.security.audit import record
from sexton.security.issuer import Issuer
from sexton.security.openid import person_of
from sexton.security.principal import Principal
from sexton.security.sessions import LINK, SIGN_IN_PATH, Method, NewSession
from sexton.security.token import derive, is_token, seal, unseal

log = logging.getLogger("sexton.api")

FORM = ("application/x-www-form-urlencoded",)
CALLBACK = f"{SIGN_IN_PATH}/callback"
# The cookie of a sign-in that has begun.
ATTEMPT = "sexton_sign_in"
ATTEMPT_SECONDS = 600.0
LONGEST_SHOWN = 200
# How long a file with its hash in its name may be kept.
YEAR = "public, max-age=31536000, immutable"


class SignInAttempt(msgspec.Struct, frozen=True, array_like=True):
    """A sign-in in progress, as the browser keeps it."""

    seed: str
    started_at: float
    next: str

    def secrets(self, pepper: bytes) -> tuple[str, str, str]:
        """State, nonce and verifier."""
        state, nonce, verifier = (derive(self.seed, each, pepper) for each in ("state", "nonce", "verifier"))
        return state, nonce, verifier


class SignInQuery(Query, frozen=True, kw_only=True):
    next: Annotated[str, Meta(description="The path to continue with.")] = "/"


SIGN_IN = Route("GET", SIGN_IN_PATH, "pages", "Sign in", None, query=SignInQuery, root=True, open=True)
USE_LINK = Route("POST", SIGN_IN_PATH, "pages", "Use a sign-in link", None, root=True, open=True)
START_OPENID = Route(
    "GET", f"{SIGN_IN_PATH}/openid", "pages", "Go to the provider", None,
    query=SignInQuery, root=True, open=True,
)  # fmt: skip
OPENID_ANSWER = Route(
    "GET", CALLBACK, "pages", "Come back from the provider", None, query=Query, root=True, open=True
)
SIGN_OUT = Route("POST", "/sign-out", "pages", "Sign out", None, root=True)
ASSET = Route("GET", "/assets/{name}", "pages", "What pages load", None, root=True, open=True)


@operation(SIGN_IN, media_type=HTML)
async def sign_in(call: Call) -> Answer:
    """How to sign in here, or who is signed in."""
    found = await call.services.guard.session_of(call.request)
    following = local_path(call.query(SignInQuery).next)
    if found is not None:
        body = (
            f"<h1>You are signed in</h1><p>as {escape(found.principal.name)}</p>"
            f'<a class="button" href="{escape(following)}">Go on</a>'
            + html.sign_out_form(found.csrf_token, "Sign out", "button plain")
            + html.sign_out_form(found.csrf_token, "Sign out everywhere", "button plain", everywhere=True)
        )
        hidden = _link_form(following, hidden=True)
        return Answer(html.card("Signed in", body + hidden, script=True), headers=html.HEADERS)
    issuer = call.services.issuer
    if issuer is not None:
        start = f"{START_OPENID.path}?{urlencode({'next': following})}"
        button = f'<a class="button" href="{escape(start)}">Continue with {escape(issuer.host)}</a>'
        other = f'<p class="or">or with a link</p>{_link_form(following, plain=True)}'
        body = f"<h1>Sign in</h1>{button}{other}"
    else:
        body = f"<h1>Sign in</h1>{_link_form(following)}"
    return Answer(html.card("Sign in", body, script=True), headers=html.HEADERS)


@operation(USE_LINK, media_type=HTML, body_types=FORM)
async def use_link(call: Call) -> Answer:
    """Exchange a link for a session. After some wrong links, an address is told to wait."""
    fields, guard = call.form, call.services.guard
    origin, token = _origin(call), fields.get("token", "").strip()
    made = None
    if is_token(token, LINK, await guard.sessions.pepper()):
        made = await sessions.sign_in_with_link(
            call.context, token, guard.visitor(call.request), call.services.settings
        )
    if made is None:
        refused = SextonError(
            "bad_link",
            "this sign-in link is wrong, was used already, or is older than ten minutes",
            hint="make a new one: `sexton login`",
        )
        if not await _note_refusal(call, "link", refused):
            raise too_many_sign_ins()
        raise refused
    return await begin(call, made, origin, local_path(fields.get("next", "/")))


@operation(START_OPENID, media_type=HTML)
async def start_openid(call: Call) -> Answer:
    """Redirect to the provider, with a cookie that the answer is checked against."""
    issuer, origin = _openid(call)
    pepper = await call.services.guard.sessions.pepper()
    attempt = SignInAttempt(
        secrets.token_urlsafe(32), clock.now().timestamp(), local_path(call.query(SignInQuery).next)
    )
    cookie = seal(ATTEMPT, msgspec.json.encode(attempt), pepper)
    state, nonce, verifier = attempt.secrets(pepper)
    with _told_in_the_log(address_of(call.request)):
        url = await issuer.sign_in_url(f"{origin}{CALLBACK}", state, nonce, verifier)
    kept = call.services.guard.site.cookie(ATTEMPT, origin, cookie, ATTEMPT_SECONDS)
    return Answer(status=303, headers={"Location": url}, cookies=(kept,))


@operation(OPENID_ANSWER, media_type=HTML)
async def openid_answer(call: Call) -> Answer:
    """The answer of the provider becomes a session, if this browser began the sign-in and the groups of the
    person give a role."""
    issuer, origin = _openid(call)
    address = address_of(call.request)
    if call.services.sign_ins.too_many(address):
        raise too_many_sign_ins()
    with _told_in_the_log(address):
        try:
            attempt, person = await _identify(call, issuer, origin)
        except SextonError as error:
            await _note_refusal(call, "openid", error)
            raise
    guard = call.services.guard
    made = await sessions.sign_in_person(
        call.context, person, guard.visitor(call.request), call.services.settings
    )
    answer = await begin(call, made, origin, attempt.next)
    gone = guard.site.cookie(ATTEMPT, origin, "", 0)
    return replace(answer, cookies=(*answer.cookies, gone))


async def _identify(call: Call, issuer: Issuer, origin: str) -> tuple[SignInAttempt, Principal]:
    """The person who has signed in at the provider."""
    guard, given = call.services.guard, call.parameters
    pepper = await guard.sessions.pepper()
    sealed = unseal(ATTEMPT, guard.site.read_cookie(call.request, ATTEMPT) or "", pepper)
    attempt = msgspec.json.decode(sealed or b'["", 0, "/"]', type=SignInAttempt)
    if attempt.started_at + ATTEMPT_SECONDS < clock.now().timestamp():
        raise _bad_sign_in("this browser has begun no sign-in within the last ten minutes")
    state, nonce, verifier = attempt.secrets(pepper)
    if not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
        raise _bad_sign_in("the answer belongs to another sign-in")
    await issuer.check_answer(given)
    if "error" in given:
        said = given.get("error_description") or given["error"]
        raise _bad_sign_in(f"the provider says: {said[:LONGEST_SHOWN]}")
    if not given.get("code"):
        raise _bad_sign_in("the provider has sent no code")
    claims = await issuer.claims(given["code"], f"{origin}{CALLBACK}", verifier, nonce)
    return attempt, person_of(claims, issuer.openid)


@operation(SIGN_OUT, media_type=HTML, body_types=FORM, form=True)
async def sign_out(call: Call) -> Answer:
    """End the session of the cookie, or all sessions of its person."""
    answer = await sign_out_session(call, everywhere=call.form.get("everywhere") == "true")
    return Answer(status=303, headers={"Location": SIGN_IN_PATH}, cookies=answer.cookies)


@operation(ASSET)
async def asset(call: Call) -> Answer:
    """A style sheet, a script or an icon of the pages."""
    found = assets().get(call.path("name"))
    if found is None:
        raise not_found("page", call.path("name"))
    content, encoding = found.encoded(call.request.headers.get("accept-encoding", ""))
    headers = {"Content-Type": found.media_type, "Cache-Control": YEAR, "Vary": "Accept-Encoding"}
    return Answer(content, headers=headers if encoding is None else {**headers, "Content-Encoding": encoding})


async def begin(call: Call, made: NewSession, origin: str, following: str) -> Answer:
    """Give the browser its new session; its previous session ends."""
    guard = call.services.guard
    before = await guard.session_of(call.request)
    if before is not None and before.principal.session_id is not None:
        person = before.principal
        with suppress(NotFound):  # it has ended meanwhile
            await sessions.end_session(
                replace(call.context, actor=person.name), encode_id("s", before.principal.session_id), person
            )
    guard.access_changed()
    cookie = guard.site.cookie(COOKIE, origin, made.token, call.services.settings.session_seconds)
    return Answer(status=303, headers={"Location": following}, cookies=(cookie,))


def local_path(path: str) -> str:
    """A path of this server. Anything that a browser could take for another host becomes `/`."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain and path.isascii() and "\\" not in path else "/"


async def _note_refusal(call: Call, method: Method, error: SextonError) -> bool:
    """Count a failed sign-in and record it in the audit. False: there were too many, so it is only counted;
    callers must not be able to fill the audit."""
    failures, address = call.services.sign_ins, address_of(call.request)
    failures.note(address)
    if failures.too_many(address):
        return False
    detail = {"method": method, "code": error.code, "why": error.message}
    await record(call.context, "sign_in.refused", namespace=SHARED, detail=detail)
    return True


def _openid(call: Call) -> tuple[Issuer, str]:
    """The provider, and the origin that it redirects to."""
    if call.services.issuer is None:
        raise not_found("page", call.request.scope["path"])
    return call.services.issuer, _origin(call)


def _origin(call: Call) -> str:
    """The origin of the browser; people can sign in only under a name of this server."""
    found = call.services.guard.site.origin_of(call.request)
    if found is None:
        raise SextonError(
            "bad_host",
            "people cannot sign in under the host name of this request",
            hint="use the https address of the server; its proxy must pass the Host header on",
        )
    return found


@contextmanager
def _told_in_the_log(address: str) -> Iterator[None]:
    """Log why a sign-in is refused. The browser does not learn what is wrong with the provider."""
    try:
        yield
    except SextonError as error:
        log.warning("refused a sign-in from %s: %s", address, error.message)
        if error.code == "provider_unavailable":
            error.message = "the sign-in provider cannot be used now"
        raise


def _bad_sign_in(why: str) -> SextonError:
    return SextonError("bad_sign_in", why, hint="sign in again")


def too_many_sign_ins() -> SextonError:
    return SextonError(
        "too_many_sign_ins", "too many sign-ins have failed within a minute", hint="wait a minute"
    )


def _link_form(following: str, *, hidden: bool = False, plain: bool = False) -> str:
    """`hidden`: only for the script. `plain`: there is another way to sign in."""
    shown = (
        '<input type="hidden" id="token" name="token">'
        if hidden
        else "<p>Open the link that <code>sexton login</code> prints, or paste what stands behind its #.</p>"
        '<label for="token">One-time code</label>'
        '<input type="password" id="token" name="token" autocomplete="off" required>'
        f'<button class="button{" plain" if plain else ""}">Sign in</button>'
    )
    return (
        f'<form method="post" action="{SIGN_IN_PATH}">'
        f'<input type="hidden" name="next" value="{escape(following)}">{shown}</form>'
    )
