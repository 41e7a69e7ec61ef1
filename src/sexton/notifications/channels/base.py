"""The contract of a channel: a provider takes a batch of messages, and says of each what became of it.

`sexton.testing.channels.check_channel` tries a provider against it. Which provider gets a message, how many
at a time and what follows a failure is decided by the dispatcher, not by the provider.
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

#: What secrets that a provider names are bound to, as their kind of target.
SECRET_KIND = "notification"
NOTHING: Mapping[str, str] = {}


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is sent.

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
    """The provider has the message. `provider_id`: how it calls it in later reports."""

    provider_id: str | None = None


class Rejected(msgspec.Struct, frozen=True):
    """It will not be sent, now or later. `code` is the provider's own. `gone`: there is no such address any
    more; the dispatcher removes or suppresses it."""

    reason: str
    code: str | None = None
    gone: bool = False


class Failed(msgspec.Struct, frozen=True):
    """It was certainly not sent, and may be sent later, or by another provider. `retry_after`: seconds that
    the provider asks to wait. `code` is the provider's own. `ours`: about this one message, such as a full
    mailbox; it says nothing about the provider's health."""

    reason: str
    retry_after: float | None = None
    code: str | None = None
    ours: bool = False


class Unclear(msgspec.Struct, frozen=True):
    """It may have been sent: the answer was lost."""

    reason: str


class Deferred(msgspec.Struct, frozen=True):
    """Nothing was tried: a rate, a limit or an open circuit. Come back after `seconds`; no attempt is
    charged. `stays`: it waits for this provider, and does not go to the next."""

    reason: str
    seconds: float
    stays: bool = False


SendResult = Accepted | Rejected | Failed | Unclear | Deferred


class NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider that needs to know nothing."""


@dataclass(frozen=True, slots=True)
class ProviderServices:
    """What a process lends to a provider: `namespace` and `name` are those of its configuration."""

    namespace: str
    name: str
    #: The channel that it is configured for.
    channel: str
    #: Requests or connections at a time, in this process; None: as the kind has it.
    concurrency: int | None
    settings: Settings
    database: Database
    #: The guarded way out, for requests over HTTP; other clients take addresses and sockets from its guard.
    outbound: Outbound
    secrets: Secrets


class ChannelProvider(ABC):
    """One method sends."""

    #: The channels that it can serve; none named: all.
    channels: ClassVar[frozenset[str]] = frozenset()
    #: A msgspec struct, each field with a description. Its `__post_init__` may refuse values.
    config: ClassVar[type[Any]] = NoSettings
    #: Whether the other side knows a message that it has had under the same key: then one that may have been
    #: sent is sent again.
    deduplicates: ClassVar[bool] = False
    #: Whether delivery is reported later, under the `provider_id` of `Accepted`.
    reports: ClassVar[bool] = False
    #: Of a push provider: the `kind` of the devices that it can send to; None: it takes every address.
    device_kind: ClassVar[str | None] = None
    #: Whether the headers of a message are of any use to it: the link that unsubscribes is made for them.
    headed: ClassVar[bool] = True

    def __init__(self, config: Any, services: ProviderServices) -> None:
        """Called once for each configuration in a process; what costs is opened at the first use."""
        self.services = services

    @classmethod
    def takes(cls, address: Any) -> bool:
        """Whether it can send to this address."""
        return cls.device_kind is None or (
            isinstance(address, dict) and address.get("kind") == cls.device_kind
        )

    @abstractmethod
    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        """Send all of them; one result for each, in their order. What is raised counts as `Unclear` for the
        whole batch, so catch what you can tell."""

    async def read_report(self, report: IncomingReport) -> Sequence[DeliveryEvent]:
        """What a signed report says. Raises `BadSignature`, or `InvalidField` for what cannot be read."""
        raise BadSignature("this provider reports nothing")

    async def check(self) -> str | None:
        """Reach the other side without sending anything; what there is to say of it. Raises what is wrong."""
        return None

    @abstractmethod
    async def close(self) -> None:
        """Let go of what was opened. Twice is harmless."""
