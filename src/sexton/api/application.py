"""The HTTP API: `make_app` builds it around a database; uvicorn runs it inside the process of a node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from litestar import Litestar
from litestar.exceptions import NotFoundException
from litestar.types import ControllerRouterHandler, Scope

from sexton.api.console import agenda, calendar_feeds, events, exports, overview, pages, playground, search
from sexton.api.console.single_page import answer_missing
from sexton.api.content import adapters
from sexton.api.content import bulk as content_import
from sexton.api.content import feeds as content_feeds
from sexton.api.content import many as many_of_content
from sexton.api.content import reading as content_reading
from sexton.api.content import releases as content_releases
from sexton.api.content import schedules as content
from sexton.api.engine import system, workers
from sexton.api.jobs import actions, bulk, jobs, queues, targets
from sexton.api.notifications import actions as notification_actions
from sexton.api.notifications import campaigns, channels, inbox, recipients, recurring, templates
from sexton.api.notifications import many as many_of_notifications
from sexton.api.notifications import messages as notifications
from sexton.api.operation import SERVICES, SLASH, Operation, operations_of
from sexton.api.problems import answer_error
from sexton.api.request_id import REQUEST_ID_HEADER, set_request_id
from sexton.api.runs import actions as run_actions
from sexton.api.runs import dead, reports, runs
from sexton.api.security import access, audit, secrets, sessions, sign_in
from sexton.api.security.guard import RequestGuard
from sexton.api.security.limiter import ANSWER_HEADERS
from sexton.api.security.provider import IdentityProvider, open_provider
from sexton.api.services import Process, Services
from sexton.config import Settings
from sexton.content.adapters.table import adapters as load_adapters
from sexton.notifications.channels.table import load_channels
from sexton.postgres.database import Database
from sexton.postgres.replica import Replica
from sexton.targets.table import load_kinds

LATE_MODULES = (
    "anyio._backends._asyncio",
    "sexton.content.adapters.opened",
    "sexton.schedules.ics",
    "sexton.targets.renderer",
)

# The modules with operations, in the order of the documentation.
MODULES = (
    jobs,
    bulk,
    actions,
    run_actions,
    runs,
    reports,
    workers,
    dead,
    queues,
    targets,
    access,
    secrets,
    sessions,
    content,
    content_releases,
    adapters,
    content_reading,
    content_feeds,
    content_import,
    many_of_content,
    notification_actions,
    many_of_notifications,
    notifications,
    recipients,
    templates,
    channels,
    inbox,
    recurring,
    campaigns,
    audit,
    overview,
    agenda,
    calendar_feeds,
    exports,
    search,
    playground,
    events,
    system,
)


class App:
    """The ASGI application. It gives every request an id and every answer the required headers, answers
    preflight requests of browsers, and keeps `%2F` in a path apart from a slash: a job may be called
    `team/report`."""

    def __init__(self, routes: Litestar, services: Services, provider: IdentityProvider | None) -> None:
        self.site = services.guard.site
        self.claims = services.claims
        self.feed = services.feed
        self.inboxes = services.inboxes
        self._routes = routes
        self._services = services
        self._provider = provider

    def stop_waiting(self) -> None:
        """End the requests that wait for something to happen: the server is about to stop."""
        self.claims.stop()
        self.feed.stop()
        self.inboxes.stop()

    async def close(self) -> None:
        """Close what the requests used, after the last request."""
        await self.claims.close()
        await self.feed.close()
        await self._services.forecast.close()
        await self.inboxes.close()
        if self._provider is not None:
            await self._provider.close()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        http: Any = scope
        http["state"][SERVICES] = self._services
        if http["type"] == "http":
            asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in http["headers"]}
            request_id = set_request_id(http)
            origin = asked.get("origin")
            if http["method"] == "OPTIONS" and "access-control-request-method" in asked:
                granted = self.site.preflight(origin)
                if granted is not None:
                    await _answer_shortly(send, 204, {**granted, REQUEST_ID_HEADER: request_id})
                    return
            given = self.site.security_headers(asked.get("host", "")) | self.site.cross_origin_headers(origin)
            http["state"][ANSWER_HEADERS] = given = given | {REQUEST_ID_HEADER: request_id}
            send = _adding(given, send)
        raw: bytes | None = http.get("raw_path")
        if raw and b"%2f" in raw.lower():
            parts = raw.partition(b"?")[0].decode("latin-1").split("/")
            http["path"] = "/".join(unquote(part).replace("/", SLASH) for part in parts)
        await self._routes(scope, receive, send)


def _adding(given: Mapping[str, str], send: Any) -> Any:
    """Wrap `send`: it adds the headers that an answer does not have. `given` is read when the answer
    begins."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            more = _encoded(
                {name: value for name, value in given.items() if name.lower().encode() not in present}
            )
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


async def _answer_shortly(send: Any, status: int, headers: Mapping[str, str]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": b""})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


# The paths that a process without the api serves, if it has a metrics port.
WATCHED = ("/healthz", "/readyz", "/metrics")


def make_app(
    database: Database,
    settings: Settings,
    node: Process | None = None,
    replica: Replica | None = None,
    *,
    only: tuple[str, ...] | None = None,
) -> App:
    """The application, or `only` these paths of it. Raises an error if other machines could reach it without
    keys."""
    load_kinds(settings)
    if only is None:
        load_late_modules(settings)
    guard = RequestGuard(settings, database)
    provider = open_provider(settings)
    issuer = None if provider is None else provider.issuer
    followable = {one.template: one for one in operations() if one.renewed_by}
    services = Services(database, settings, guard, node, replica, issuer=issuer, followable=followable)
    return App(routes(only), services, provider)


def load_late_modules(settings: Settings) -> None:
    """Load now what is normally imported where it is used, so that other processes need not have it. This
    process serves requests for long: its files may be replaced or removed before a late import."""
    load_channels(settings)
    load_adapters()
    for name in LATE_MODULES:
        import_module(name)


@cache
def routes(only: tuple[str, ...] | None = None) -> Litestar:
    """The routes, made once for all applications of this process: Litestar takes a sixth of a second to
    register them."""
    every = (*operations(), *pages.operations(operations), *operations_of(sign_in))
    chosen: list[ControllerRouterHandler] = [one.route() for one in every if only is None or one.path in only]
    return Litestar(
        chosen,
        openapi_config=None,
        exception_handlers={Exception: answer_error, NotFoundException: answer_missing},
        logging_config=None,
    )


def operations() -> tuple[Operation, ...]:
    """All operations of the API, in the order of the documentation."""
    return tuple(one for module in MODULES for one in operations_of(module))
