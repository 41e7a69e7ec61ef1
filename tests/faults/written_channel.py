"""A provider that writes down the key of each message that it gets, in a file.

`forgetful` knows no keys, so nothing may come twice; with `mindful` the same key is the same message.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from sexton.notifications.channels.base import Accepted, ChannelProvider, Outgoing, SendResult

VARIABLE = "WRITTEN_CHANNEL"


class ForgetfulProvider(ChannelProvider):
    deduplicates = False

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        lines = "".join(f"{message.key}\n" for message in batch).encode()
        handle = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, lines)
        finally:
            os.close(handle)
        return [Accepted() for _ in batch]

    async def close(self) -> None:
        """Nothing stays open."""


class MindfulProvider(ForgetfulProvider):
    deduplicates = True
