"""The channel in_app: puts a message into the inbox of its recipient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from sexton.notifications.channels.base import (
    Accepted,
    ChannelProvider,
    NoSettings,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
)
from sexton.postgres.jsonb import json_text
from sexton.refusal import about

KEPT_DAYS = 90


class InAppConfig(NoSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long an inbox keeps what is in it."""

    retention_days: Annotated[
        Annotated[int, Meta(ge=1, le=3650)], about("A message leaves the inbox after so many days.")
    ] = KEPT_DAYS


class InAppProvider(ChannelProvider):
    channels = frozenset({"in_app"})
    config = InAppConfig
    # A message with the same key is in the inbox once.
    deduplicates = True

    def __init__(self, config: Any, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._days = config.retention_days

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        results: list[SendResult] = [Accepted(message.key) for message in batch]
        known = []
        for place, message in enumerate(batch):
            if user := message.user_id or (message.address if isinstance(message.address, str) else None):
                known.append((user, message))
            else:
                results[place] = Rejected(
                    "an inbox belongs to a recipient: name one by user_id", code="no_user"
                )
        if known:
            await self.services.database.execute(
                "inbox/put",
                namespace=self.services.namespace,
                user_ids=[user for user, _ in known],
                keys=[message.key for _, message in known],
                message_ids=[message.message_id for _, message in known],
                # PostgreSQL keeps no NUL.
                parts=[
                    json_text({name: text.replace("\0", "") for name, text in message.parts.items()})
                    for _, message in known
                ],
                topics=[message.topic for _, message in known],
                days=self._days,
                now=None,
            )
        return results

    async def close(self) -> None:
        """The database belongs to the process."""
