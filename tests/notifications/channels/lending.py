"""What a process lends to providers, and messages to send with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from sexton.config import Settings
from sexton.notifications.channels.base import Outgoing, ProviderServices
from sexton.postgres.database import Database
from sexton.security.binding import ANYWHERE, Binding
from sexton.security.secrets import SecretError, Secrets
from sexton.targets.http.outbound import Outbound

NO_DATABASE = cast(Database, None)


class KnownSecrets(Secrets):
    """As if they were stored: most of these tests need no database."""

    def __init__(self, values: Mapping[str, str], binding: Binding = ANYWHERE) -> None:
        super().__init__(NO_DATABASE, Settings())
        self._known = values
        self._binding = binding

    async def _find(self, namespace: str, name: str) -> tuple[str, Binding]:
        assert namespace == "default"
        if name not in self._known:
            raise SecretError("no_secret", f"there is no secret {name}")
        self._mask.remember(self._known[name])
        return self._known[name], self._binding


@asynccontextmanager
async def lending(
    *,
    channel: str = "email",
    secrets: Mapping[str, str] | None = None,
    binding: Binding = ANYWHERE,
    concurrency: int | None = None,
    database: Database = NO_DATABASE,
    **settings: Any,
) -> AsyncIterator[ProviderServices]:
    known = Settings(**settings)
    outbound = Outbound(known)
    try:
        yield ProviderServices(
            namespace="default",
            name="tested",
            channel=channel,
            concurrency=concurrency,
            settings=known,
            database=database,
            outbound=outbound,
            secrets=KnownSecrets(secrets or {}, binding),
        )
    finally:
        await outbound.close()


def outgoing(number: int = 1, address: Any = "ann@example.com", **more: Any) -> Outgoing:
    parts = more.pop("parts", {"subject": f"Hello {number}", "text": f"How are you, {number}?"})
    return Outgoing(
        message_id=number, key=more.pop("key", f"n_{number}"), address=address, parts=parts, **more
    )
