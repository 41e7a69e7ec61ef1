"""Stores entities with versions and states in PostgreSQL.

One transaction changes the entity, records the change and ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import asyncpg

from sexton.content.adapters.base import Adapter, AdapterServices, NoConfig, NotPossible
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

NOTHING = NoConfig()


class BuiltinAdapter(Adapter):
    transactional = True

    def __init__(self, config: NoConfig = NOTHING, services: AdapterServices | None = None) -> None:
        """Uses only the context of each call."""

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        rows = await context.fetch(
            "content/read_states",
            types=[entity.type for entity in entities],
            ids=[entity.id for entity in entities],
        )
        return {Entity.of(row): _standing(row) for row in rows}

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        [made] = await self.apply_all(context, [change])
        if isinstance(made, NotPossible):
            raise made
        return made

    async def apply_all(
        self, context: Context, changes: Sequence[ContentChange]
    ) -> list[Applied | NotPossible]:
        """Make changes of one namespace, one after another. Returns an error for each that is impossible."""
        entities = sorted({change.entity for change in changes})
        namespace = changes[0].namespace
        rows = await context.fetch(
            "content/lock_entities",
            namespace=namespace,
            types=[entity.type for entity in entities],
            ids=[entity.id for entity in entities],
        )
        known = {Entity.of(row): _standing(row) for row in rows}
        before = dict(known)
        made: list[Applied | NotPossible] = []
        for change in changes:
            try:
                applied = _apply(change, known.get(change.entity))
            except NotPossible as why:
                made.append(why)
                continue
            made.append(applied)
            state = EntityState(applied.state_after or "")
            known[change.entity] = replace(
                known[change.entity], state=state, published_version=applied.version
            )
        changed = [entity for entity in known if known[entity] != before[entity]]
        if changed:
            await context.execute(
                "content/set_states",
                namespace=namespace,
                types=[entity.type for entity in changed],
                ids=[entity.id for entity in changed],
                states=[known[entity].state.value for entity in changed],
                versions=[known[entity].published_version for entity in changed],
            )
        return made

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


def _standing(row: asyncpg.Record) -> Standing:
    return Standing(EntityState(row["state"]), row["published_version"], row["latest_version"])


def _apply(change: ContentChange, standing: Standing | None) -> Applied:
    if standing is None:
        raise NotPossible(f"there is no {change.entity}")
    before, after = standing.state, AFTER[change.action]
    version = _version(change, standing)
    if before == after and (after != EntityState.PUBLISHED or version == standing.published_version):
        return Applied(effect="no_op", state_before=before, state_after=after, version=version)
    if before == EntityState.ARCHIVED:
        raise NotPossible(f"{change.entity} is archived")
    return Applied(effect="changed", state_before=before, state_after=after, version=version)


def _version(change: ContentChange, standing: Standing) -> int | None:
    """The published version after the change."""
    latest = standing.latest_version or 0
    if change.action != Action.PUBLISH:
        return standing.published_version
    if change.version is None:
        return latest
    if change.version > latest:
        raise NotPossible(f"{change.entity} has no version {change.version}")
    return change.version
