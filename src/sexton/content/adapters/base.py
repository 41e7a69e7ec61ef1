"""The contract of an adapter: where entities live, and how they are published there.

`sexton.testing.check_adapter` tries an adapter against it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sexton.content.model import Applied, ContentChange, ContentFinding, Entity, Standing
from sexton.postgres.transaction import Context

if TYPE_CHECKING:
    from sexton.config import Settings
    from sexton.security.secrets import Secrets
    from sexton.targets.http.outbound import Outbound


class NotPossible(Exception):
    """The change cannot be made, now or later: it is not tried again."""


class NotNow(Exception):
    """Nothing was asked yet: come back after `seconds`. This does not count as a try."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class NoConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An adapter that needs no configuration is used under the name of its kind."""


@dataclass(frozen=True, slots=True)
class AdapterServices:
    """What a process lends to its adapters."""

    settings: Settings
    #: The guarded way out, for requests over HTTP.
    outbound: Outbound
    secrets: Secrets


class Adapter(ABC):
    """Four methods. `context` is that of the namespace of the entities."""

    #: Whether `apply` writes only through the open transaction of its context: then the change and the end of
    #: its run are committed together, and a release is all or nothing.
    transactional: ClassVar[bool] = False
    #: A msgspec struct, each field with a description. Its `__post_init__` may refuse values.
    config: ClassVar[type[Any]] = NoConfig

    def __init__(self, config: Any, services: Any) -> None:
        """Called once for each configuration in a process; what costs is opened at the first use.
        `services` are `AdapterServices`; None for an adapter without configuration that is only asked."""
        self.services = services

    @classmethod
    def served(cls) -> bool:
        """Whether this process can carry actions out with it."""
        return True

    @abstractmethod
    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        """How these entities are; one that is not there is left out."""

    @abstractmethod
    async def apply(self, context: Context, change: ContentChange) -> Applied:
        """Make the change. What is so already is a success without effect (`no_op`). Raises `NotPossible` for
        what would fail again, `NotNow` if nothing was asked, anything else for what is worth another try."""

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        """What would go wrong, as far as it can be told before the time."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Let go of what was opened. Twice is harmless."""
