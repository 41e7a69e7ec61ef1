"""The adapters of a process, created from their configurations at the first use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from sexton.config import Settings
from sexton.content.adapters.base import Adapter, AdapterServices, NoConfig
from sexton.content.adapters.configured import UnknownAdapter, needs_config, read_config
from sexton.content.adapters.table import adapters
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.secrets import Secrets
from sexton.targets.http.outbound import Outbound


class OpenAdapters:
    """Keeps one adapter per kind without configuration, and one per configuration of a namespace."""

    def __init__(self, services: AdapterServices) -> None:
        self.services = services
        self._plain: dict[str, Adapter] = {}
        self._configured: dict[tuple[str, str], tuple[int, Adapter]] = {}
        self._replaced: list[Adapter] = []

    async def get(self, context: Context, name: str) -> Adapter:
        """The adapter with this name in the namespace, with its present configuration."""
        kind = adapters().get(name)
        if kind is not None and not needs_config(kind):
            if name not in self._plain:
                self._plain[name] = kind(NoConfig(), self.services)
            return self._plain[name]
        row = await context.database.fetchrow("adapters/get", namespace=context.namespace, name=name)
        if row is None or row["kind"] not in adapters():
            raise UnknownAdapter(name)
        key = (context.namespace, name)
        known = self._configured.get(key)
        if known is not None and known[0] == row["revision"]:
            return known[1]
        made = adapters()[row["kind"]](
            read_config(row["kind"], msgspec.json.decode(row["config"])), self.services
        )
        if known is not None:
            # Another task may be using it now.
            self._replaced.append(known[1])
        self._configured[key] = (row["revision"], made)
        return made

    async def close(self) -> None:
        for adapter in (*self._plain.values(), *(each for _, each in self._configured.values())):
            await adapter.close()
        for adapter in self._replaced:
            await adapter.close()


@asynccontextmanager
async def opened_adapters(database: Database, settings: Settings) -> AsyncIterator[OpenAdapters]:
    """Adapters for a process that is not a worker; closed at the end of the block."""
    outbound = Outbound(settings)
    opened = OpenAdapters(AdapterServices(settings, outbound, Secrets(database, settings)))
    try:
        yield opened
    finally:
        await opened.close()
        await outbound.close()
