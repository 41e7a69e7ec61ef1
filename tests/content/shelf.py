"""An adapter without transactions, for tests: it keeps its entities in memory, and can be told to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.model import (
    AFTER,
    Action,
    Applied,
    ContentChange,
    ContentFinding,
    Entity,
    EntityState,
    Standing,
)
from sexton.postgres.transaction import Context


@dataclass
class Shelf:
    """What all adapters of a test share."""

    entities: dict[Entity, Standing] = field(default_factory=dict)
    #: Every change that was really made, with its key.
    made: list[tuple[str, Entity, Action]] = field(default_factory=list)
    #: How often a change of an entity still fails, and whether for good.
    failing: dict[Entity, int] = field(default_factory=dict)
    impossible: set[Entity] = field(default_factory=set)
    unreadable: set[Entity] = field(default_factory=set)
    #: Whether a check gets no answer.
    silent: bool = False

    def put(self, *ids: str) -> None:
        for each in ids:
            self.entities[Entity("post", each)] = Standing(EntityState.DRAFT, None, 1)

    def state(self, number: str) -> str:
        return self.entities[Entity("post", number)].state.value

    def adapter(self) -> type[Adapter]:
        shelf = self

        class ShelfAdapter(Adapter):
            def __init__(self, *given: Any) -> None:
                """Whatever a process lends to it."""

            async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
                if shelf.unreadable & set(entities):
                    raise ConnectionError("it cannot be read")
                return {entity: shelf.entities[entity] for entity in entities if entity in shelf.entities}

            async def apply(self, context: Context, change: ContentChange) -> Applied:
                return shelf.apply(change)

            async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
                if shelf.silent:
                    await asyncio.Event().wait()
                return [
                    ContentFinding(each.entity, "no_entity", f"there is no {each.entity}")
                    for each in changes
                    if each.entity not in shelf.entities
                ]

            async def close(self) -> None:
                """Nothing was opened."""

        return ShelfAdapter

    def apply(self, change: ContentChange) -> Applied:
        entity = change.entity
        if entity in self.impossible:
            raise NotPossible(f"{entity} is stuck")
        if self.failing.get(entity, 0) > 0:
            self.failing[entity] -= 1
            raise ConnectionError(f"{entity} cannot be reached")
        if entity not in self.entities:
            raise NotPossible(f"there is no {entity}")
        before, after = self.entities[entity], AFTER[change.action]
        named = {"state_before": before.state.value, "state_after": after.value}
        if before.state == after:
            return Applied(effect="no_op", version=before.published_version, **named)
        version = 1 if change.action == Action.PUBLISH else before.published_version
        self.entities[entity] = replace(before, state=after, published_version=version)
        self.made.append((change.key, entity, change.action))
        return Applied(effect="changed", version=version, **named)
