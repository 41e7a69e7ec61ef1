"""The operations of the API, as a table: each carries its documentation.

A handler gets a `Call` and returns an `Answer`. Authorisation, reading the query and the body,
`Idempotency-Key` and errors are handled here, once.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import asyncpg
from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from sexton import clock
from sexton.api.body import encoded
from sexton.api.console.change import Kind
from sexton.api.replay import StoredAnswer, check_key, fingerprint, once
from sexton.api.request_id import request_id_of
from sexton.api.request_source import reason_of, source_of
from sexton.api.route import Query, Route
from sexton.api.security.gate import RequestCaller, until_end
from sexton.api.security.guard import JSON_TYPES, address_of, check_content_type
from sexton.api.services import WRONG_SIGN_INS, Services
from sexton.api.shared import accepted_age
from sexton.errors import InvalidField, NotFound, SextonError, Unavailable
from sexton.postgres.database import Database
from sexton.postgres.page import Page
from sexton.postgres.replica import Replica
from sexton.postgres.transaction import NAMESPACE, Context
from sexton.refusal import aware, converted, decoded, refuse_nul
from sexton.security.principal import ANYONE, Principal
from sexton.security.role import Role

# The key of the `Services` in the state of a request.
SERVICES = "services"
# Replaces a slash inside a job's name while the path is split; no name contains it.
SLASH = "\0"
JSON = "application/json"
HTML = "text/html"
EVENTS = "text/event-stream"
LARGEST_BODY = 1024 * 1024
# Fields in the form of a page.
MOST_FIELDS = 10
# Errors that redirect a person who opens a page to sign in.
SIGNED_OUT = frozenset({"no_key", "bad_session", "other_user", "forwarded"})
# The credential of the caller, known up to a second late, is checked so often while an answer is streamed.
CHECK_SECONDS = 1.0

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """`body` is encoded as JSON, unless it is bytes. An iterator of bytes is streamed."""

    body: Any = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[Cookie, ...] = ()


@dataclass
class Call:
    """One request."""

    request: Request[Any, Any, Any]
    services: Services
    operation: Operation
    #: For commands. With an Idempotency-Key, it has the transaction that also stores the answer.
    context: Context
    caller: Principal
    body: bytes = b""
    #: The replica that this call may read from, if one answers.
    replica: Database | None = None

    @property
    def database(self) -> Database:
        return self.services.database

    @property
    def reading(self) -> Context:
        """For lists, history and counts: may lag behind the latest writes."""
        return self.context if self.replica is None else replace(self.context, database=self.replica)

    def path(self, name: str) -> str:
        return str(self.request.path_params[name]).replace(SLASH, "/")

    def check_path(self) -> None:
        if b"%00" in self.request.scope.get("raw_path", b""):
            refuse_nul("\0", "path")

    @cached_property
    def parameters(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in self.request.query_params.multi_items():
            if name in found:
                raise InvalidField(
                    "duplicate_parameter", f"{name} is given twice", field=name, hint="give it once"
                )
            refuse_nul(name, "parameters")
            refuse_nul(value, name)
            found[name] = value
        return found

    def query(self, type_: type[T]) -> T:
        return converted(self.parameters, type_, strict=False, what="parameter", code="bad_value")

    def json(self, type_: type[T], *, optional: bool = False) -> T:
        """The body as a value. With `optional`, an empty body and null mean {}."""
        body = b"{}" if optional and self.body.strip() in (b"", b"null") else self.body
        if rb"\u0000" in body:
            refuse_nul(decoded(body, object), "body")
        return decoded(body, type_, code="bad_value")

    @cached_property
    def form(self) -> dict[str, str]:
        """The fields of a form."""
        try:
            return dict(parse_qsl(self.body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError as error:
            raise InvalidField(
                "bad_form",
                f"the body is not a form: {error}",
                field="body",
                hint="send name=value&name=value",
            ) from None

    @property
    def expected_revision(self) -> int | None:
        """The revision in If-Match, if any."""
        header = self.request.headers.get("if-match", "").strip()
        if header in ("", "*"):
            return None
        match = re.fullmatch(r'(?:W/)?"(\d{1,9})"', header)
        if match is None:
            raise InvalidField(
                "bad_etag", f"If-Match {header} is not an ETag of a job", field="If-Match", hint='such as "3"'
            )
        return int(match[1])

    def wrong_token(
        self, error: SextonError, hint: str = "correct the address or the signature"
    ) -> SextonError:
        """The error for a wrong token, link or signature. After many of them an address is told to wait. A
        right token is always accepted: behind a proxy all callers share one address."""
        address, wrong = address_of(self.request), self.services.wrong_tokens
        wrong.note(address)
        if not wrong.too_many(address):
            return error
        return SextonError(
            "too_many_keys",
            f"more than {WRONG_SIGN_INS} wrong tokens or signatures came from {address} within a minute",
            hint=f"{hint}, and wait a minute",
        )

    def filters(self, query: type[Query]) -> dict[str, Any]:
        """The filters of a list by name, with its limit and cursor; instants must have a zone."""
        asked = self.query(query)
        given = {name: getattr(asked, name) for name in asked.__struct_fields__}
        return {
            name: aware(value, name) if isinstance(value, datetime) else value
            for name, value in given.items()
        }

    def paged(self, page: Page[Any], headers: Mapping[str, str] | None = None) -> Answer:
        """A page of a list, with a link to the next one."""
        link = self.next_link(cursor=page.cursor) if page.cursor else {}
        return Answer(page.items, headers={**link, **(headers or {})})

    def next_link(self, **changes: str) -> dict[str, str]:
        """The `Link` header to the next page: this request with changed parameters."""
        query = urlencode({**self.parameters, **changes})
        return {"Link": f'<{path_of(self.request)}?{query}>; rel="next"'}


@dataclass(frozen=True, kw_only=True)
class Operation(Route):
    """A route with its handler and its documentation."""

    handler: Callable[[Call], Awaitable[Answer]]
    description: str
    status: int = 200
    #: Other statuses with the same type of answer.
    also: tuple[int, ...] = ()
    #: Other paths of the same operation.
    aliases: tuple[str, ...] = ()
    #: The type of the answer; None where there is none.
    answer: Any = None
    media_type: str = JSON
    #: Other media types that a caller can ask for, with an example of each.
    other_answers: Mapping[str, Any] = field(default_factory=dict)
    body_types: tuple[str, ...] = JSON_TYPES
    #: Checks the token of a run or of an address, which authorises the call instead of an API key.
    authorise: Callable[[Call], Awaitable[None]] | None = None
    #: Whether the answer to a request with an Idempotency-Key is stored, in the transaction of its effect.
    kept: bool = True
    streams: bool = False
    #: Whether its body is the form of a page, with the token of the session in a field.
    form: bool = False
    lists: bool = False
    #: Whether it needs a place at the gate, as lists do.
    heavy: bool = False
    #: Whether callers with the same rights may share the answer: see `sexton.api.shared`.
    shared: bool = False
    #: By which changes its answer gets old: consoles may follow it, see `sexton.api.console.followed`.
    renewed_by: tuple[Kind, ...] = ()
    #: Statuses of its refusals, beside those that all such operations have: see `openapi.refusals`.
    errors: tuple[int, ...] = ()
    example: Any = None
    answer_example: Any = None

    @property
    def tokened(self) -> bool:
        return self.authorise is not None

    @property
    def page(self) -> bool:
        return self.media_type == HTML

    @property
    def name(self) -> str:
        return self.handler.__name__

    def route(self) -> HTTPRouteHandler:
        async def answer(request: Request[Any, Any, Any]) -> Response[Any]:
            return await _respond(self, request.scope["state"][SERVICES], request)

        return HTTPRouteHandler(
            [path.replace("}", ":str}") for path in (self.template, *self.aliases)],
            http_method=["GET", "HEAD"] if self.method == "GET" else self.method,
            status_code=200,  # the answer has its own
            name=self.name,
            include_in_schema=False,
            request_max_body_size=None if self.streams else LARGEST_BODY,
        )(answer)


def operation(route: Route, **more: Any) -> Callable[[Callable[[Call], Awaitable[Answer]]], Operation]:
    """Make a handler the operation of a route; its docstring is the description."""

    def make(handler: Callable[[Call], Awaitable[Answer]]) -> Operation:
        description = " ".join((handler.__doc__ or "").split())
        return Operation(**vars(route), handler=handler, description=description, **more)

    return make


def operations_of(module: ModuleType) -> tuple[Operation, ...]:
    """The operations that a module defines, in order."""
    return tuple(
        one
        for one in vars(module).values()
        if isinstance(one, Operation) and one.handler.__module__ == module.__name__
    )


async def _respond(
    operation: Operation, services: Services, request: Request[Any, Any, Any]
) -> Response[Any]:
    request.state.page = operation.page
    try:
        caller = await services.guard.check(
            request, tokened=operation.tokened, open_=operation.open, form=operation.form
        )
        if not operation.tokened:
            services.limiter.check(request, caller)
        namespace = await _authorised(operation, services, request, caller)
    except SextonError as error:
        services.count_denied(error.code)
        if not request.state.trusted and error.code != "too_many_requests":
            services.limiter.check(request, ANYONE)
        if operation.page and error.code in SIGNED_OUT and services.guard.site.origin_of(request):
            return _to_sign_in(request)
        raise
    context = Context(
        services.database,
        namespace,
        actor=caller.name,
        source=source_of(request, caller, operation),
        request_id=request_id_of(request),
        reason=reason_of(request),
    )
    call = Call(request, services, operation, context, caller)
    # How many workers wait for runs has a bound of its own, and the user of this machine has none. Health and
    # the sign-in must be answered to all, who may share an address.
    held = bool(caller.credential) or operation.tokened or operation.heavy or operation.lists
    if not held or operation.role is Role.WORKER or caller.rate == 0:
        return await _answered(call)
    with services.limiter.under_way(caller_of(call)):
        return await _answered(call)


async def _answered(call: Call) -> Response[Any]:
    """The answer to a request that its caller may send; a streamed one may still have to be read."""
    operation, services, request = call.operation, call.services, call.request
    if operation.authorise is not None:
        try:
            await operation.authorise(call)
        except SextonError:
            services.limiter.check(request, ANYONE)
            raise
    call.check_path()
    if operation.query is None and call.parameters:
        name = next(iter(call.parameters))
        raise InvalidField(
            "unknown_parameter",
            f"there is no parameter {name}",
            field=name,
            hint="leave it out: this call takes no parameters",
        )
    if operation.streams:
        check_content_type(request, operation.body_types)
    elif operation.method in ("POST", "PUT", "PATCH"):
        call.body = await request.body()
        if call.body or (operation.body is not None and not operation.body_optional):
            check_content_type(request, operation.body_types)
    if operation.form:
        services.guard.check_csrf(request, call.form.get("csrf_token", ""))
    if operation.shared and services.replica is None and (age := accepted_age(request.headers)):
        return _response(await shared_answer(call, age), operation)
    try:
        if operation.lists or operation.heavy:
            return await _respond_at_gate(call)
        return await _carried_out(call)
    finally:
        # Workers claim and report all the time: the feed tells of their changes.
        if operation.method != "GET" and operation.role is not Role.WORKER:
            services.shared.changed(call.context.namespace)


async def shared_answer(call: Call, age: float) -> StoredAnswer:
    """An answer that another caller has got, or is waiting for; read from the primary."""

    async def make() -> StoredAnswer:
        async with AsyncExitStack() as stack:
            if call.operation.lists or call.operation.heavy:
                await stack.enter_async_context(call.services.gate.place(caller_of(call)))
            return await _stored(call.operation, await call.operation.handler(call))

    return await call.services.shared.answer(call.context.namespace, depends_on(call), age, make)


def depends_on(call: Call) -> Hashable:
    """Everything that a shared answer depends on, except the namespace."""
    scope, rights = call.request.scope, frozenset(call.caller.grants.items())
    return call.operation.name, scope["path"], scope["query_string"], rights


def caller_of(call: Call) -> RequestCaller:
    """Whose places and shares the call takes."""
    return RequestCaller(call.caller.credential or address_of(call.request), call.caller.scope)


async def _respond_at_gate(call: Call) -> Response[Any]:
    """Hold a place at the gate until the answer is complete; a streamed answer holds one for each part."""
    services = call.services
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(services.gate.place(caller_of(call)))
        if call.operation.lists and services.replica is not None:
            return await _respond_from_replica(call, services.replica)
        return await _carried_out(call, stack)


async def _carried_out(call: Call, stack: AsyncExitStack | None = None) -> Response[Any]:
    """Call the handler. `stack` holds the place of the call at the gate, if it needs one."""
    operation, request, services = call.operation, call.request, call.services
    key = request.headers.get("idempotency-key")
    if key is None or operation.method != "POST" or operation.streams or not operation.kept:
        answer = await operation.handler(call)
        if isinstance(answer.body, AsyncIterator):
            body = answer.body
            if stack is not None and request.method != "HEAD":
                await stack.aclose()
                await stack.enter_async_context(services.exports.place(caller_of(call)))
                body = until_end(services.gate.in_turn(body, caller_of(call)), stack.pop_all())
            body = _while_allowed(body, call)
            return _streamed(replace(answer, body=body), operation, request.method)
        return _response(await _stored(operation, answer), operation, cookies=answer.cookies)

    async def effect(context: Context) -> StoredAnswer:
        call.context = context
        return await _stored(operation, await operation.handler(call))

    path, asked = request.scope["path"], request.scope["query_string"].decode("latin-1")
    print_ = fingerprint(operation.method, f"{path}?{asked}", call.body)
    # Tokens are of any namespace: the keys of one holder must not meet those of others.
    key = fingerprint("", path, check_key(key).encode()) if operation.tokened else check_key(key)
    stored, repeated = await once(call.context, key, print_, effect)
    return _response(stored, operation, {"Idempotent-Replayed": "true"} if repeated else {})


def path_of(request: Request[Any, Any, Any]) -> str:
    """The path of a request, encoded."""
    return quote(request.scope["path"], safe="/").replace("%00", "%2F")


def _to_sign_in(request: Request[Any, Any, Any]) -> Response[Any]:
    path, query = path_of(request), request.scope["query_string"].decode("latin-1")
    following = f"{path}?{query}" if query else path
    more = "" if following == "/" else f"?{urlencode({'next': following})}"
    headers = {"Location": f"/sign-in{more}", "Cache-Control": "no-store", "Connection": "close"}
    return Response(None, status_code=303, headers=headers)


async def _authorised(
    operation: Operation, services: Services, request: Request[Any, Any, Any], caller: Principal
) -> str:
    """The namespace of a call, once the caller is known to have the role there that the route requires."""
    if operation.role is None or operation.tokened:
        return NAMESPACE
    namespace = await services.guard.namespace(request, caller)
    caller.require(operation.role, namespace, cluster=operation.cluster)
    return namespace


async def _respond_from_replica(call: Call, replica: Replica) -> Response[Any]:
    """Answer from the replica, with its lag; from the primary if that fails."""
    found = await replica.reading()
    if found is not None:
        call.replica = found.database
        headers = {"Sexton-Read-From": "replica", "Sexton-Replica-Lag": f"{found.lag_seconds:.1f}"}
        try:
            answer = await call.operation.handler(call)
            return _response(await _stored(call.operation, answer), call.operation, headers)
        except NotFound:
            call.replica = None  # it may be too new for the replica
        except (Unavailable, asyncpg.PostgresError) as error:
            replica.failed(error)
            call.replica = None
    answer = await call.operation.handler(call)
    return _response(await _stored(call.operation, answer), call.operation, {"Sexton-Read-From": "primary"})


async def _stored(operation: Operation, answer: Answer) -> StoredAnswer:
    body = await encoded(answer.body)
    return StoredAnswer(answer.status or operation.status, dict(answer.headers), body)


async def _while_allowed(parts: AsyncIterator[bytes], call: Call) -> AsyncIterator[bytes]:
    """Stop a streamed answer when the credential of its caller has expired or lost its role. A feed just
    ends; an export fails, so that it does not look complete."""
    operation, services, request = call.operation, call.services, call.request
    checked = clock.monotonic()
    async for part in parts:
        old = clock.monotonic() - checked >= CHECK_SECONDS
        if old and not operation.tokened and operation.role is not None:
            try:
                caller = await services.guard.check(request)
                caller.require(operation.role, call.context.namespace, cluster=operation.cluster)
            except SextonError:
                if operation.media_type == EVENTS:
                    return  # a feed may end at any time
                raise
            checked = clock.monotonic()
        yield part


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def _streamed(answer: Answer, operation: Operation, method: str) -> Response[Any]:
    body = answer.body if method != "HEAD" else _nothing()
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **answer.headers}
    media_type = _media_type(headers, operation)
    return Stream(body, status_code=answer.status or operation.status, headers=headers, media_type=media_type)


def _media_type(headers: dict[str, str], operation: Operation) -> str:
    """Taken out of the headers. Litestar adds the charset of a text, also where it stands already."""
    media_type = headers.pop("Content-Type", operation.media_type)
    return media_type.removesuffix("; charset=utf-8") if media_type.startswith("text/") else media_type


def _response(
    stored: StoredAnswer,
    operation: Operation,
    more: Mapping[str, str] | None = None,
    cookies: tuple[Cookie, ...] = (),
) -> Response[Any]:
    headers = {"Cache-Control": "no-store", **stored.headers, **(more or {})}
    return Response(
        stored.body or None,
        status_code=stored.status,
        headers=headers,
        cookies=list(cookies),
        media_type=_media_type(headers, operation),
    )
