"""What the operations of a process share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from prometheus_client import CollectorRegistry

from sexton.api.console.feed import Feed
from sexton.api.database_check import DatabaseCheck
from sexton.api.route import Route
from sexton.api.security.gate import EXPORTS, EXPORTS_OF_ONE, EXPORTS_OF_SCOPE, PLACES_OF_SCOPE, Gate
from sexton.api.security.guard import RequestGuard
from sexton.api.security.limiter import Limiter
from sexton.api.shared import SharedAnswers
from sexton.config import Settings
from sexton.engine.loop import Vital
from sexton.engine.overview import OverviewReader
from sexton.engine.remote.claim import RemoteClaims
from sexton.engine.telemetry import Telemetry
from sexton.jobs.upcoming import Forecast
from sexton.notifications.recipients.inbox_feed import InboxFeed
from sexton.postgres.database import Database
from sexton.postgres.replica import Replica
from sexton.runs.completion import RunTokens
from sexton.runs.planned_hours import PlannedHours
from sexton.security.failures import Failures
from sexton.security.issuer import Issuer

# How many sign-ins may fail in a minute, from one address and in all, before further ones must wait.
WRONG_SIGN_INS, MOST_WRONG_SIGN_INS = 20, 200


class Process(Protocol):
    """What the API needs of the process it runs in."""

    @property
    def loops(self) -> Iterable[Vital]: ...

    @property
    def telemetry(self) -> Telemetry: ...

    def warnings(self) -> list[str]: ...


@dataclass(frozen=True)
class Services:
    """What the operations use."""

    database: Database
    settings: Settings
    guard: RequestGuard
    node: Process | None = None
    replica: Replica | None = None
    tokens: RunTokens = field(default_factory=RunTokens)
    #: The provider of OpenID Connect, if people sign in with one.
    issuer: Issuer | None = None
    #: The operations whose answers consoles may follow, by path.
    followable: Mapping[str, Route] = field(default_factory=dict)
    #: Sign-ins that failed.
    sign_ins: Failures = field(default_factory=lambda: Failures(WRONG_SIGN_INS, MOST_WRONG_SIGN_INS))
    #: Wrong tokens and signatures: of feeds, inboxes, unsubscribe links and reports.
    wrong_tokens: Failures = field(default_factory=lambda: Failures(WRONG_SIGN_INS))
    gate: Gate = field(default_factory=lambda: Gate(of_scope=PLACES_OF_SCOPE))
    #: For streamed answers.
    exports: Gate = field(
        default_factory=lambda: Gate(EXPORTS, EXPORTS_OF_ONE, of_scope=EXPORTS_OF_SCOPE, what="export")
    )

    @cached_property
    def overviews(self) -> OverviewReader:
        return OverviewReader()

    @cached_property
    def feed(self) -> Feed:
        """Changes, for all consoles of this process."""
        return Feed(self.database, self.overviews)

    @cached_property
    def shared(self) -> SharedAnswers:
        return SharedAnswers(self.feed.told)

    @cached_property
    def inboxes(self) -> InboxFeed:
        """New items of inboxes, for all callers that watch one through this process."""
        return InboxFeed(self.database)

    @cached_property
    def forecast(self) -> Forecast:
        return Forecast(self.database)

    @cached_property
    def planned_hours(self) -> PlannedHours:
        return PlannedHours()

    @cached_property
    def claims(self) -> RemoteClaims:
        """Claims of workers over HTTP."""
        return RemoteClaims(self.database, self.settings)

    @cached_property
    def limiter(self) -> Limiter:
        return Limiter(self.settings)

    @cached_property
    def database_check(self) -> DatabaseCheck:
        return DatabaseCheck(self.database)

    def loops(self) -> list[Vital]:
        return list(self.node.loops) if self.node else []

    def warnings(self) -> list[str]:
        return self.node.warnings() if self.node else []

    def count_denied(self, code: str) -> None:
        if self.node is not None:
            self.node.telemetry.denied.labels(code).inc()

    def registries(self) -> list[CollectorRegistry]:
        return [self.node.telemetry.registry] if self.node else []
