"""The HTTP API: `make_app` builds it around a database; uvicorn runs it inside the process of a node."""

from __future__ import annotations

from litestar import Litestar
from litestar.types import ControllerRouterHandler

from sexton.api import bulk, dead, jobs, pages, runs, system
from sexton.api.guard import Guard
from sexton.api.operation import Node, Operation, Services
from sexton.api.problems import answer_error
from sexton.config import Settings
from sexton.postgres.database import Database


def make_app(database: Database, settings: Settings, node: Node | None = None) -> Litestar:
    """The application. Refuses settings under which anybody could use it."""
    services = Services(database, settings, Guard(settings), node)
    routes: list[ControllerRouterHandler] = [
        one.route(services) for one in (*operations(), *pages.operations(operations))
    ]
    return Litestar(
        routes,
        openapi_config=None,
        exception_handlers={Exception: answer_error},
        logging_config=None,
    )


def operations() -> tuple[Operation, ...]:
    """Everything that the API can do, in the order of the documentation."""
    return (
        *jobs.OPERATIONS,
        *bulk.OPERATIONS,
        *runs.OPERATIONS,
        *dead.OPERATIONS,
        *system.OPERATIONS,
    )
