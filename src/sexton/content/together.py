"""Applies several changes with one adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.model import Applied, ContentChange
from sexton.postgres.transaction import Context


@runtime_checkable
class AppliesTogether(Protocol):
    """An optional method of adapters that write to PostgreSQL, to need fewer statements."""

    async def apply_all(
        self, context: Context, changes: Sequence[ContentChange]
    ) -> list[Applied | NotPossible]:
        """Make the changes one after another. Returns an error for each that is impossible."""
        ...


async def apply_all(
    adapter: Adapter, context: Context, changes: Sequence[ContentChange]
) -> list[Applied | NotPossible]:
    if isinstance(adapter, AppliesTogether):
        return await adapter.apply_all(context, changes)
    made: list[Applied | NotPossible] = []
    for change in changes:
        try:
            made.append(await adapter.apply(context, change))
        except NotPossible as why:
            made.append(why)
    return made
