"""Accepts every message and sends none, for benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from sexton.notifications.channels.base import Accepted, ChannelProvider, Outgoing, SendResult

ACCEPTED = Accepted()


class NullProvider(ChannelProvider):
    # A repeated message is harmless.
    deduplicates = True
    headed = False

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        return [ACCEPTED] * len(batch)

    async def close(self) -> None:
        """Nothing was opened."""
