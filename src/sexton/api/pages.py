"""The pages for people and the OpenAPI document; they are no part of it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sexton.api import html, openapi
from sexton.api.operation import Answer, Call, Operation, operation
from sexton.api.routes import Route
from sexton.engine.cluster.status import get_cluster
from sexton.errors import Unavailable
from sexton.security.role import Role

HOME = Route("GET", "/", "pages", "Status and next steps", Role.VIEWER, root=True, cluster=True)
DOCS = Route("GET", "/docs", "pages", "The API", Role.VIEWER, root=True)
OPENAPI = Route("GET", "/openapi.json", "pages", "The API as OpenAPI", Role.VIEWER, root=True)


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
        state = await call.services.database_check.state()
        try:
            cluster = await get_cluster(call.context) if state == "reachable" else None
        except Unavailable as error:
            cluster, state = None, error.message
        host = call.request.headers.get("host", "127.0.0.1")
        program = "sexton" if call.services.guard.needs_keys else program_here()
        return Answer(html.home(f"http://{host}", cluster, state, program=program), headers=html.HEADERS)

    @operation(DOCS, media_type="text/html")
    async def docs(call: Call) -> Answer:
        return Answer(html.documentation(document(call.services.guard.needs_keys)), headers=html.HEADERS)

    @operation(OPENAPI)
    async def openapi_json(call: Call) -> Answer:
        return Answer(document(call.services.guard.needs_keys))

    return home, docs, openapi_json
