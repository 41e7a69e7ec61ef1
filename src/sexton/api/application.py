"""The HTTP API: `make_app` builds it around a database; uvicorn runs it inside the process of a node."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

from litestar import Litestar
from litestar.types import ControllerRouterHandler, LifeSpanScope, Scope

from sexton.api import access, bulk, dead, jobs, pages, queues, reports, runs, system, targets
from sexton.api.guard import RequestGuard
from sexton.api.operation import SLASH, Operation, Process, Services
from sexton.api.problems import answer_error
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.postgres.replica import Replica
from sexton.targets.table import load_kinds


class App(Litestar):
    """Keeps `%2F` in a path from being taken for a slash: a job may be called `team/report`."""

    async def __call__(self, scope: Scope | LifeSpanScope, receive: Any, send: Any) -> None:
        raw: Any = scope.get("raw_path")
        if raw and b"%2f" in raw.lower():
            parts = raw.partition(b"?")[0].decode("latin-1").split("/")
            cast("Any", scope)["path"] = "/".join(unquote(part).replace("/", SLASH) for part in parts)
        await super().__call__(scope, receive, send)


# What a process without the api shows of itself, if it is asked to.
WATCHED = ("/healthz", "/readyz", "/metrics")


def make_app(
    database: Database,
    settings: Settings,
    node: Process | None = None,
    replica: Replica | None = None,
    *,
    only: tuple[str, ...] | None = None,
) -> Litestar:
    """The application, or `only` these paths of it. Refuses to be open to other machines without keys."""
    load_kinds(settings)
    services = Services(database, settings, RequestGuard(settings, database), node, replica)
    every = (*operations(), *pages.operations(operations))
    routes: list[ControllerRouterHandler] = [
        one.route(services) for one in every if only is None or one.path in only
    ]
    return App(
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
        *reports.OPERATIONS,
        *dead.OPERATIONS,
        *queues.OPERATIONS,
        *targets.OPERATIONS,
        *access.OPERATIONS,
        *system.OPERATIONS,
    )
