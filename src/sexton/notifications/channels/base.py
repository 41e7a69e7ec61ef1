"""The contract of a provider: it sends a batch of messages, and returns a result for each.

`sexton.testing.channels.check_channel` tests a provider against this contract. The dispatcher decides which
provider gets a message, how many at a time, and what happens after a failure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sexton.notifications.channels.report import BadSignature, DeliveryEvent, IncomingReport

if TYPE_CHECKING:
    from sexton.config import Settings
    from sexton.postgres.database import Database
    from sexton.security.secrets import Secrets
    from sexton.targets.http.outbound import Outbound

#: The kind of target to which secrets of providers are bound.
SECRET_KIND = "notification"
NOTHING: Mapping[str, str] = {}


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send.

    `address` is the recipient's on the channel: a text for email and sms, a device (an object) for push, the
    `user_id` for in_app. `parts` are the rendered texts: subject, text, html; title, body, link; …"""

    message_id: int
    #: Stays the same however often the message is sent; goes to the provider.
    key: str
    address: Any
    parts: Mapping[str, str]
    user_id: str | None = None
    topic: str | None = None
    locale: str | None = None
    #: `List-Unsubscribe` and others that the channel can carry.
    headers: Mapping[str, str] = NOTHING


class Accepted(msgspec.Struct, frozen=True):
    """The provider accepted the message. `provider_id` identifies the message in later reports."""

    provider_id: str | None = None


class Rejected(msgspec.Struct, frozen=True):
    """The message cannot be sent. `code` is that of the provider. `gone`: the address no longer exists; the
    dispatcher removes or suppresses it."""

    reason: str
    code: str | None = None
    gone: bool = False


class Failed(msgspec.Struct, frozen=True):
    """The message was certainly not sent, and can be sent later or by another provider. `retry_after`: the
    seconds that the provider asks to wait. `code` is that of the provider. `ours`: the failure concerns only
    this message, such as a full mailbox, and says nothing about the health of the provider."""

    reason: str
    retry_after: float | None = None
    code: str | None = None
    ours: bool = False


class Unclear(msgspec.Struct, frozen=True):
    """The message may have been sent: the answer was lost."""

    reason: str


class Deferred(msgspec.Struct, frozen=True):
    """The message was not tried, because of a rate, a limit or an open circuit. It is tried after `seconds`,
    and no attempt is counted. `stays`: it waits for this provider, and does not go to the next one."""

    reason: str
    seconds: float
    stays: bool = False


SendResult = Accepted | Rejected | Failed | Unclear | Deferred


class NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of a provider that needs none."""


@dataclass(frozen=True, slots=True)
class ProviderServices:
    """The services of a process for a provider. `namespace` and `name` are those of its configuration."""

    namespace: str
    name: str
    #: The channel that it is configured for.
    channel: str
    #: Requests or connections at a time, in this process; None: as the kind has it.
    concurrency: int | None
    settings: Settings
    database: Database
    #: The HTTP client that refuses forbidden addresses; other clients use its guard.
    outbound: Outbound
    secrets: Secrets


class ChannelProvider(ABC):
    """Sends messages of a channel."""

    #: The channels that it can serve; none named: all.
    channels: ClassVar[frozenset[str]] = frozenset()
    #: A msgspec struct with a description of each field. Its `__post_init__` may refuse values.
    config: ClassVar[type[Any]] = NoSettings
    #: Whether the provider recognises a message by its key. Then a message that may have been sent is sent
    #: again.
    deduplicates: ClassVar[bool] = False
    #: Whether delivery is reported later, under the `provider_id` of `Accepted`.
    reports: ClassVar[bool] = False
    #: Of a push provider: the `kind` of the devices that it can send to; None: it takes every address.
    device_kind: ClassVar[str | None] = None
    #: Whether the headers of a message are of any use to it: the link that unsubscribes is made for them.
    headed: ClassVar[bool] = True

    def __init__(self, config: Any, services: ProviderServices) -> None:
        """Called once per configuration and process. Open connections at the first use, not here."""
        self.services = services

    @classmethod
    def takes(cls, address: Any) -> bool:
        """Whether it can send to this address."""
        return cls.device_kind is None or (
            isinstance(address, dict) and address.get("kind") == cls.device_kind
        )

    @abstractmethod
    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        """Send all messages; return one result for each, in order. An exception counts as `Unclear` for the
        whole batch, so catch the errors that you know."""

    async def read_report(self, report: IncomingReport) -> Sequence[DeliveryEvent]:
        """The events in a signed report. Raises `BadSignature`, or `InvalidField` if it cannot be read."""
        raise BadSignature("this provider reports nothing")

    async def check(self) -> str | None:
        """Connect to the provider without sending a message. Returns a remark, or raises the error."""
        return None

    @abstractmethod
    async def close(self) -> None:
        """Close what was opened. A second call does nothing."""
