"""Who a request comes from and why, for the audit."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from litestar import Request

from sexton.api.route import AGENT, REASON_HEADER, Route
from sexton.errors import InvalidField
from sexton.postgres.audit_entry import LONGEST_REASON, Face, Source
from sexton.refusal import check_text
from sexton.security.principal import Principal


def source_of(request: Request[Any, Any, Any], caller: Principal, route: Route) -> Source:
    """The source of a request for the audit: the interface, as the request names it, and the address."""
    agent = request.headers.get("user-agent", "")
    face: Face = "cli" if agent.startswith(AGENT) else "console" if route.tag == "pages" else "api"
    return Source(caller.face or face, request.client.host if request.client else None)


def reason_of(request: Request[Any, Any, Any]) -> str | None:
    """The reason that the caller gives for the audit."""
    header = request.headers.get(REASON_HEADER.lower(), "").strip()
    if not header:
        return None
    try:
        return check_text(unquote(header, errors="strict"), REASON_HEADER, LONGEST_REASON)
    except UnicodeDecodeError:
        raise InvalidField(
            "bad_text",
            f"{REASON_HEADER} is not percent-encoded UTF-8",
            field=REASON_HEADER,
            hint="encode all that is not ASCII, as in a URL",
        ) from None
