"""`X-Request-Id`: every request has one, from the caller or new. It is in the answer, in the log lines of the
request, and in the audit of its changes."""

from __future__ import annotations

import re
import uuid
from typing import Any

from litestar import Request

from sexton.engine.logs import logged_request

REQUEST_ID_HEADER = "X-Request-Id"
WELL_FORMED = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
STATE = "request_id"


def set_request_id(scope: dict[str, Any]) -> str:
    """Set the id of a request in its state and for its log lines."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    request_id: str = given.decode() if WELL_FORMED.fullmatch(given) else str(uuid.uuid4())
    scope["state"][STATE] = request_id
    logged_request.set(request_id)
    return request_id


def request_id_of(request: Request[Any, Any, Any]) -> str | None:
    found: str | None = request.scope["state"].get(STATE)
    return found
