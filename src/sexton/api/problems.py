"""Every error as `application/problem+json`: a stable code, the field at fault, and what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

import asyncpg
import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from msgspec import Meta

from sexton.api.console import html
from sexton.api.request_id import request_id_of
from sexton.errors import Conflict, InvalidField, NotFound, SextonError, Unavailable
from sexton.postgres.database import NOT_NOW

log = logging.getLogger("sexton.api")

MEDIA_TYPE = "application/problem+json"

# Codes whose status differs from that of their class of error.
STATUSES = {
    "bad_form": HTTPStatus.BAD_REQUEST,
    "bad_id_token": HTTPStatus.UNAUTHORIZED,
    "bad_json": HTTPStatus.BAD_REQUEST,
    "bad_host": HTTPStatus.MISDIRECTED_REQUEST,
    "body_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "cross_origin": HTTPStatus.FORBIDDEN,
    "forwarded": HTTPStatus.FORBIDDEN,
    "forbidden": HTTPStatus.FORBIDDEN,
    "bad_csrf_token": HTTPStatus.FORBIDDEN,
    "bad_key": HTTPStatus.UNAUTHORIZED,
    "bad_session": HTTPStatus.UNAUTHORIZED,
    "bad_sign_in": HTTPStatus.UNAUTHORIZED,
    "bad_link": HTTPStatus.UNAUTHORIZED,
    "bad_signature": HTTPStatus.UNAUTHORIZED,
    "bad_token": HTTPStatus.UNAUTHORIZED,
    "no_key": HTTPStatus.UNAUTHORIZED,
    "insecure": HTTPStatus.FORBIDDEN,
    "no_role": HTTPStatus.FORBIDDEN,
    "no_token": HTTPStatus.UNAUTHORIZED,
    "other_user": HTTPStatus.FORBIDDEN,
    "payload_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "too_many_keys": HTTPStatus.TOO_MANY_REQUESTS,
    "too_many_sign_ins": HTTPStatus.TOO_MANY_REQUESTS,
    "too_many_requests": HTTPStatus.TOO_MANY_REQUESTS,
    "too_many_lists": HTTPStatus.TOO_MANY_REQUESTS,
    "too_many_under_way": HTTPStatus.TOO_MANY_REQUESTS,
    "too_many_feeds": HTTPStatus.TOO_MANY_REQUESTS,
    "provider_unavailable": HTTPStatus.BAD_GATEWAY,
    "precondition_required": HTTPStatus.PRECONDITION_REQUIRED,
    "revision_conflict": HTTPStatus.PRECONDITION_FAILED,
    "wrong_content_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}

# Errors that the framework raises.
CODES = {400: "bad_request", 404: "no_such_path", 405: "wrong_method", 413: "body_too_large"}
HINTS = {
    404: "/docs lists every path",
    405: "/docs lists what each path takes",
    413: "payloads may have 256 KiB; POST /api/v1/jobs/bulk takes many jobs, one per line",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error."""

    type: Annotated[str, Meta(description="`urn:sexton:error:` and the code.")]
    title: Annotated[str, Meta(description="The HTTP status in words.")]
    status: Annotated[int, Meta(description="The HTTP status.")]
    detail: Annotated[str, Meta(description="What happened and why.")]
    code: Annotated[str, Meta(description="Stable: programs may rely on it.")]
    field: Annotated[str | None, Meta(description="The field or parameter at fault.")] = None
    hint: Annotated[str | None, Meta(description="What to do about it.")] = None
    position: Annotated[int | None, Meta(description="Where in the schedule's text, counted from 0.")] = None
    request_id: Annotated[str | None, Meta(description="The `X-Request-Id` of the call.")] = None


class LineError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A refused line of a bulk request."""

    line: Annotated[int, Meta(description="Counted from 1.")]
    code: Annotated[str, Meta(description="Stable: programs may rely on it.")]
    detail: Annotated[str, Meta(description="What happened and why.")]
    field: Annotated[str | None, Meta(description="The field at fault.")] = None
    hint: Annotated[str | None, Meta(description="What to do about it.")] = None


def status_of(error: SextonError) -> int:
    if error.code in STATUSES:
        return STATUSES[error.code]
    match error:
        case NotFound():
            return HTTPStatus.NOT_FOUND
        case Conflict():
            return HTTPStatus.CONFLICT
        case Unavailable():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case InvalidField():
            return HTTPStatus.UNPROCESSABLE_ENTITY
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


def problem_of(error: SextonError, **more: Any) -> Response[bytes]:
    known = {name: value for name, value in error.to_dict().items() if name not in ("code", "message")}
    headers = {"Retry-After": "1"} if isinstance(error, Unavailable) else {}
    if error.code in ("no_key", "bad_key", "bad_session"):
        headers["WWW-Authenticate"] = "Bearer"
    if error.code in ("too_many_keys", "too_many_sign_ins"):
        headers["Retry-After"] = "60"
    if error.code in ("too_many_lists", "too_many_under_way"):
        headers["Retry-After"] = "1"
    return problem(status_of(error), error.code, error.message, headers=headers, **known, **more)


def problem(
    status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response[bytes]:
    body = {
        "type": f"urn:sexton:error:{code}",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
        **{name: value for name, value in more.items() if value is not None},
    }
    return Response(
        msgspec.json.encode(body),
        status_code=status,
        media_type=MEDIA_TYPE,
        # Else a browser or a proxy may keep some of them, such as 404.
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The exception handler of the whole application."""
    answer = with_request_id(_answer(request, error), request_id_of(request))
    if getattr(request.state, "page", False):
        said = msgspec.json.decode(answer.content)
        shown = html.refusal(_heading(request, answer), said["detail"], said.get("hint"))
        headers = {**answer.headers, **html.HEADERS}
        answer = Response(shown, status_code=answer.status_code, headers=headers, media_type="text/html")
    if not getattr(request.state, "trusted", False):
        # A refused caller gets one request per connection: many at once would delay other callers.
        answer.headers["Connection"] = "close"
    return answer


def _heading(request: Request[Any, Any, Any], answer: Response[bytes]) -> str:
    if (answer.status_code or 500) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "Sexton cannot do this now"
    signing_in = request.scope["path"].startswith("/sign-in")
    return "Signing in did not work" if signing_in else "This is not possible"


def with_request_id(answer: Response[bytes], request_id: str | None) -> Response[bytes]:
    if request_id is not None:
        answer.content = answer.content[:-1] + b',"request_id":' + msgspec.json.encode(request_id) + b"}"
    return answer


def _answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    if isinstance(error, NOT_NOW):
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        error = Unavailable("database_busy", f"the database cannot do this now: {said}", hint="try again")
    match error:
        case Unavailable() if not getattr(request.state, "trusted", False):
            # The message may name hosts, users and files.
            return problem_of(Unavailable(error.code, "the database is not available", hint="try again"))
        case SextonError():
            return problem_of(error)
        case HTTPException():
            status = error.status_code
            return problem(
                status,
                CODES.get(status, HTTPStatus(status).name.lower()),
                error.detail or HTTPStatus(status).phrase,
                hint=HINTS.get(status),
                headers=error.headers or {},
            )
        case asyncpg.DataError():
            return problem_of(
                InvalidField(
                    "bad_value",
                    f"the database cannot hold a value of this request: {error}",
                    field="body",
                    hint="change that value",
                )
            )
    log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return problem(
        500, "internal_error", "something went wrong inside Sexton", hint="see the log of the server"
    )
