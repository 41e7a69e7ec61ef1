"""Entities with versions and states in PostgreSQL: works with nothing else.

The change of an entity, the record of it and the end of its run are one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


class BuiltinAdapter(Adapter):
    transactional = True

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        rows = await context.fetch(
            "content/read_states",
            namespace=context.namespace,
            types=[entity.type for entity in entities],
            ids=[entity.id for entity in entities],
        )
        return {
            Entity(row["entity_type"], row["entity_id"]): Standing(
                EntityState(row["state"]), row["published_version"], row["latest_version"]
            )
            for row in rows
        }

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        row = await context.fetchrow(
            "content/lock_entity",
            namespace=change.namespace,
            entity_type=change.entity.type,
            entity_id=change.entity.id,
        )
        if row is None:
            raise NotPossible(f"there is no {change.entity}")
        before = EntityState(row["state"])
        version = self._version(change, row["latest_version"], row["published_version"])
        after = AFTER[change.action]
        if before == after and (after != EntityState.PUBLISHED or version == row["published_version"]):
            return Applied(effect="no_op", state_before=before, state_after=after, version=version)
        if before == EntityState.ARCHIVED:
            raise NotPossible(f"{change.entity} is archived")
        await context.execute(
            "content/set_state",
            namespace=change.namespace,
            entity_type=change.entity.type,
            entity_id=change.entity.id,
            state=after.value,
            version=version,
            now=context.now,
        )
        return Applied(effect="changed", state_before=before, state_after=after, version=version)

    async def check(self, context: Context, changes: Sequence[ContentChange]) -> list[ContentFinding]:
        known = await self.state(context, [change.entity for change in changes])
        found: list[ContentFinding] = []
        for change in changes:
            standing = known.get(change.entity)
            if standing is None:
                found.append(ContentFinding(change.entity, "no_entity", f"there is no {change.entity}"))
            elif change.version is not None and change.version > (standing.latest_version or 0):
                text = f"{change.entity} has no version {change.version}"
                found.append(ContentFinding(change.entity, "no_version", text))
            elif standing.state == EntityState.ARCHIVED and change.action != Action.ARCHIVE:
                found.append(ContentFinding(change.entity, "archived", f"{change.entity} is archived"))
        return found

    async def close(self) -> None:
        """Nothing was opened."""

    def _version(self, change: ContentChange, latest: int, published: int | None) -> int | None:
        """The version that is out afterwards."""
        if change.action != Action.PUBLISH:
            return published
        if change.version is None:
            return latest
        if change.version > latest:
            raise NotPossible(f"{change.entity} has no version {change.version}")
        return change.version
