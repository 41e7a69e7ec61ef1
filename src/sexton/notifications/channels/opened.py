"""The providers of a process, created from their configurations at the first use."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.errors import SextonError
from sexton.notifications.channels.base import ChannelProvider, ProviderServices
from sexton.notifications.channels.circuit import ProviderCircuit
from sexton.notifications.channels.configured import read_config
from sexton.notifications.channels.table import load_channels, provider_kinds
from sexton.postgres.database import Database
from sexton.refusal import not_found
from sexton.security.secrets import Secrets
from sexton.targets.http.outbound import Outbound

log = logging.getLogger("sexton")

MOST_PROVIDERS = 50
#: In development, messages of these channels are written to files if no provider is configured.
WRITTEN = ("email", "sms", "push")


@dataclass
class OpenProvider:
    """A provider, with its state in this process."""

    namespace: str
    name: str
    channel: str
    kind: str
    provider: ChannelProvider
    circuit: ProviderCircuit
    revision: int = 0
    rate: float | None = None
    on_doubt: str | None = None
    #: Why this provider is used although it is not configured, for `why`.
    note: str | None = None
    users: int = 0
    replaced: bool = False
    #: Counts of results that are not written yet.
    counts: dict[str, int] = field(default_factory=dict)
    failure: str | None = None

    @property
    def doubt(self) -> str:
        """What to do with a message that may have been sent: `resend` or `hold`."""
        return self.on_doubt or ("resend" if self.provider.deduplicates else "hold")


class OpenProviders:
    """Keeps one provider per configuration of a namespace, and those without a configuration."""

    def __init__(self, settings: Settings, database: Database, outbound: Outbound, secrets: Secrets) -> None:
        load_channels(settings)
        self._settings = settings
        self._database = database
        self._outbound = outbound
        self.secrets = secrets
        self._opened: dict[tuple[str, str, str], OpenProvider] = {}
        self._replaced: list[OpenProvider] = []
        self._told: set[tuple[str, str]] = set()

    async def get(self, namespace: str, channel: str) -> list[OpenProvider]:
        """The providers of a channel, in the order of their priority."""
        rows = await self._database.fetch(
            "providers/list_of_channel", namespace=namespace, channel=channel, now=None, limit=MOST_PROVIDERS
        )
        await self._close_replaced()
        if not rows:
            return self._unconfigured(namespace, channel)
        found = []
        for row in rows:
            try:
                found.append(self._configured(namespace, channel, row))
            except SextonError as error:
                log.error(
                    "the provider %s of the namespace %s cannot be used: %s", row["name"], namespace, error
                )
        return found

    async def find(self, namespace: str, name: str) -> OpenProvider:
        """The provider with this name, enabled or not."""
        row = await self._database.fetchrow("providers/get", namespace=namespace, name=name)
        if row is None:
            raise not_found("provider", name)
        config = read_config(row["kind"], msgspec.json.decode(row["config"]))
        found = self._open(namespace, row["channel"], name, row["kind"], config, row["concurrency"])
        self._replaced.append(found)
        return found

    def all(self) -> list[OpenProvider]:
        return [*self._opened.values(), *self._replaced]

    async def close(self) -> None:
        for each in self.all():
            await each.provider.close()
        self._opened.clear()
        self._replaced.clear()

    def _configured(self, namespace: str, channel: str, row: asyncpg.Record) -> OpenProvider:
        key = (namespace, channel, row["name"])
        known = self._opened.get(key)
        if known is None or known.revision != row["revision"]:
            if known is not None:
                # Another task may be using it now.
                known.replaced = True
                self._replaced.append(known)
            config = read_config(row["kind"], msgspec.json.decode(row["config"]))
            known = self._open(namespace, channel, row["name"], row["kind"], config, row["concurrency"])
            known.revision = row["revision"]
            known.rate, known.on_doubt = row["rate"], row["on_doubt"]
            self._opened[key] = known
        now = clock.monotonic()
        if (row["open_seconds"] or 0) > 0 and not known.circuit.left(now):
            # Another process has opened the circuit.
            known.circuit.open(now, row["open_seconds"], row["open_reason"])
        return known

    def _unconfigured(self, namespace: str, channel: str) -> list[OpenProvider]:
        found = []
        for name, kind, config, note in unconfigured(self._settings, channel):
            key = (namespace, channel, name)
            if key not in self._opened:
                self._opened[key] = self._open(namespace, channel, name, kind, config, None)
                self._opened[key].note = note
            found.append(self._opened[key])
            if note is not None and (namespace, channel) not in self._told:
                self._told.add((namespace, channel))
                log.warning("%s of the namespace %s: %s", channel, namespace, note)
        return found

    def _open(
        self, namespace: str, channel: str, name: str, kind: str, config: Any, concurrency: int | None
    ) -> OpenProvider:
        services = ProviderServices(
            namespace=namespace,
            name=name,
            channel=channel,
            concurrency=concurrency,
            settings=self._settings,
            database=self._database,
            outbound=self._outbound,
            secrets=self.secrets,
        )
        circuit = ProviderCircuit(self._settings.http_breaker_failures, self._settings.http_breaker_seconds)
        return OpenProvider(namespace, name, channel, kind, provider_kinds()[kind](config, services), circuit)

    async def _close_replaced(self) -> None:
        idle = [each for each in self._replaced if not each.users]
        self._replaced = [each for each in self._replaced if each.users]
        for each in idle:
            await each.provider.close()


def unconfigured(settings: Settings, channel: str) -> Sequence[tuple[str, str, Any, str | None]]:
    """The providers of a channel for a namespace that has configured none: name, kind, configuration, and a
    note."""
    from sexton.notifications.channels.file import FileConfig
    from sexton.notifications.channels.smtp import installation_configs

    if channel == "email" and settings.smtp_url:
        configs = installation_configs(settings)
        return [
            ("smtp" if not number else f"smtp-{number + 1}", "smtp", config, None)
            for number, config in enumerate(configs)
        ]
    kind = provider_kinds().get(channel)
    if kind is not None and not _required(kind.config):
        return [(channel, channel, kind.config(), None)]
    if channel in WRITTEN and (settings.outbox is not None or settings.database_url is None):
        note = (
            "no provider is configured, so messages are written to the folder outbox of the data directory; "
            "configure one: sexton providers set"
        )
        return [("file", "file", FileConfig(), note)]
    return []


def _required(config: Any) -> bool:
    """Whether a configuration has required fields."""
    return any(field.required for field in msgspec.structs.fields(config))


@asynccontextmanager
async def opened_providers(database: Database, settings: Settings) -> AsyncIterator[OpenProviders]:
    """Providers for a process that is not a worker; closed at the end of the block."""
    outbound = Outbound(settings)
    opened = OpenProviders(settings, database, outbound, Secrets(database, settings))
    try:
        yield opened
    finally:
        await opened.close()
        await outbound.close()
