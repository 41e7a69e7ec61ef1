"""The contract of an adapter: where entities live, and how they are published there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from sexton.content.model import Applied, ContentChange, ContentFinding, Entity, Standing
from sexton.postgres.transaction import Context


class NotPossible(Exception):
    """The change cannot be made, now or later: it is not tried again."""


class Adapter(ABC):
    """Four methods. `context` is that of the action's namespace."""

    #: Whether `apply` writes only through the open transaction of its context: then the change and the end of
    #: its run are committed together, and a release is all or nothing.
    transactional: ClassVar[bool] = False

    @abstractmethod
    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        """How these entities are; one that is not there is left out."""

    @abstractmethod
    async def apply(self, context: Context, change: ContentChange) -> Applied:
        """Make the change. What is so already is a success without effect (`no_op`). Raises `NotPossible` for
        what would fail again, anything else for what is worth another try."""

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        """What would go wrong, as far as it can be told before the time."""
        return []

    @abstractmethod
    async def close(self) -> None:
        """Let go of what was opened."""
