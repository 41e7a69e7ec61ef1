"""The pages for people and the OpenAPI document; they are no part of it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sexton.api import openapi
from sexton.api.console import html
from sexton.api.console import single_page as console
from sexton.api.operation import Answer, Call, Operation, operation, operations_of
from sexton.api.route import Query, Route
from sexton.engine.cluster.status import get_cluster
from sexton.errors import Unavailable
from sexton.security.role import Role
from sexton.security.session_table import KnownSession

HOME = Route("GET", "/", "pages", "The console", None, query=Query, root=True)
DOCS = Route("GET", "/docs", "pages", "The API", None, root=True)
OPENAPI = Route("GET", "/openapi.json", "pages", "The API as OpenAPI", None, root=True)


def program_here() -> str:
    """What to type on this machine for the command: it may be in an environment that is not on the path."""
    beside = Path(sys.executable).with_name("sexton")
    return "sexton" if shutil.which("sexton") or not beside.exists() else str(beside)


def operations(all_operations: Callable[[], tuple[Operation, ...]]) -> tuple[Operation, ...]:
    """`/`, `/docs` and `/openapi.json` for these operations."""

    @cache
    def document(keys: bool) -> dict[str, Any]:
        return openapi.document(all_operations(), keys=keys)

    @operation(HOME, media_type="text/html")
    async def home(call: Call) -> Answer:
        """The console; what runs and what to do next where it was not built."""
        page = console.built()
        if page is not None:
            return console.shown(page)
        everywhere = call.caller.everywhere()
        sees_all = everywhere is not None and everywhere.allows(Role.VIEWER)
        state = await call.services.database_check.state()
        try:
            cluster = await get_cluster(call.context) if sees_all and state == "reachable" else None
        except Unavailable as error:
            cluster, state = None, error.message
        guard = call.services.guard
        base = guard.site.origin_of(call.request) or f"http://{call.request.headers.get('host', '127.0.0.1')}"
        program = "sexton" if guard.needs_keys else program_here()
        roles = None if sees_all else dict(call.caller.grants)
        shown = html.home(base, cluster, state, program=program, account=_account(call), roles=roles)
        return Answer(shown, headers=html.HEADERS)

    @operation(DOCS, media_type="text/html")
    async def docs(call: Call) -> Answer:
        shown = html.documentation(document(call.services.guard.needs_keys), _account(call))
        return Answer(shown, headers=html.HEADERS)

    @operation(OPENAPI)
    async def openapi_json(call: Call) -> Answer:
        return Answer(document(call.services.guard.needs_keys))

    return home, docs, openapi_json, *operations_of(console)


def _account(call: Call) -> html.PageUser:
    session: KnownSession | None = call.request.state.session
    return html.PageUser(call.caller.name, None if session is None else session.csrf_token)
