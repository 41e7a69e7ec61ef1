"""Channels for tests: they keep what was sent, and answer what they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sexton.notifications.channels.base import Accepted, Outgoing, SendResult
from sexton.notifications.recipients.unsubscribe import UnsubscribeLinks


@dataclass(frozen=True)
class Said:
    provider: str | None
    result: SendResult
    note: str | None = None


@dataclass
class Outbox:
    """What all workers of a test share."""

    #: Every message that a provider has accepted: channel and message.
    sent: list[tuple[str, Outgoing]] = field(default_factory=list)
    #: Every message that was given to a channel, with its size of batch.
    tried: list[tuple[str, Outgoing]] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    #: What is said of the next messages of a channel; then they are accepted.
    answers: dict[str, list[SendResult]] = field(default_factory=dict)
    #: Of channels whose providers know what they have had.
    known: set[str] = field(default_factory=set)
    #: Called before a batch is sent.
    before: Callable[[], Any] | None = None
    note: str | None = None

    def __call__(self, services: Any) -> Outbox:
        """As the dispatcher of a process."""
        return self

    async def dispatch(self, namespace: str, channel: str, batch: Sequence[Outgoing]) -> list[Said]:
        if self.before is not None:
            await self.before()
        self.batches.append(len(batch))
        said = []
        for message in batch:
            self.tried.append((channel, message))
            answers = self.answers.get(channel)
            result = answers.pop(0) if answers else Accepted()
            if isinstance(result, Accepted):
                self.sent.append((channel, message))
            said.append(Said(f"{channel}-1", result, self.note))
        return said

    async def links(self) -> UnsubscribeLinks | None:
        return UnsubscribeLinks("https://sexton.example.com", b"pepper")

    async def doubt(self, namespace: str, channel: str) -> str:
        return "resend" if channel in self.known else "hold"

    async def close(self) -> None:
        """Nothing was opened."""

    @property
    def texts(self) -> list[str]:
        return [message.parts["text"] for _, message in self.sent]

    @property
    def users(self) -> list[str | None]:
        return [message.user_id for _, message in self.sent]
