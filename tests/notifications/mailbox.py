"""A provider that keeps what it gets, and answers as a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sexton.notifications.channels.base import Accepted, ChannelProvider, Outgoing, SendResult

Answering = Callable[[Outgoing], SendResult]


@dataclass
class Mailbox:
    """What has arrived. `answer` decides about each message; `before` is called with each batch."""

    got: list[Outgoing] = field(default_factory=list)
    answer: Answering = lambda message: Accepted()
    before: Callable[[Sequence[Outgoing]], None] = lambda batch: None

    @property
    def users(self) -> list[str]:
        return [message.user_id or "" for message in self.got]

    def provider(self, *, deduplicates: bool = True) -> type[ChannelProvider]:
        box, known = self, deduplicates

        class MailboxProvider(ChannelProvider):
            async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
                box.before(batch)
                answers = [box.answer(message) for message in batch]
                box.got += [
                    message
                    for message, said in zip(batch, answers, strict=True)
                    if isinstance(said, Accepted)
                ]
                return answers

            async def close(self) -> None:
                """Nothing was opened."""

        MailboxProvider.deduplicates = known
        return MailboxProvider
