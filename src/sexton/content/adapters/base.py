"""The contract of an adapter, which reads and changes entities in the system that stores them.

`sexton.testing.check_adapter` tests an adapter against this contract.
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
    """The change is impossible. It is not tried again."""


class NotNow(Exception):
    """No request was made. Try again after `seconds`; this does not count as an attempt."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class NoConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of an adapter that needs none; it is used under the name of its kind."""


@dataclass(frozen=True, slots=True)
class AdapterServices:
    """The services of a process for its adapters."""

    settings: Settings
    #: The HTTP client that refuses forbidden addresses.
    outbound: Outbound
    secrets: Secrets


class Adapter(ABC):
    """Has four methods. `context` has the namespace of the entities."""

    #: Whether `apply` writes only through the open transaction of its context. Then the change and the end of
    #: its run are committed together, and a release is carried out whole or not at all.
    transactional: ClassVar[bool] = False
    #: A msgspec struct with a description of each field. Its `__post_init__` may refuse values.
    config: ClassVar[type[Any]] = NoConfig

    def __init__(self, config: Any, services: Any) -> None:
        """Called once per configuration and process. Open connections at the first use, not here. `services`
        are `AdapterServices`; None for an adapter without configuration that only reads."""
        self.services = services

    @classmethod
    def served(cls) -> bool:
        """Whether this process can carry out actions with it."""
        return True

    @abstractmethod
    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        """The states of these entities; an entity that does not exist is left out."""

    @abstractmethod
    async def apply(self, context: Context, change: ContentChange) -> Applied:
        """Make the change. If the entity already has the wanted state, this is a success with the effect
        `no_op`. Raises `NotPossible` if a retry would fail again, `NotNow` if no request was made, another
        exception if a retry may succeed."""

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        """The problems of these changes that can be found before their time."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Close what was opened. A second call does nothing."""
