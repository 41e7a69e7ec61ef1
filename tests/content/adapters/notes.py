"""An adapter of another package, with a configuration: entities are files, `name.draft` or `name.out`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from sexton.content.adapters.base import Adapter, AdapterServices, NotPossible
from sexton.content.model import AFTER, Applied, ContentChange, Entity, EntityState, Standing
from sexton.postgres.transaction import Context
from sexton.refusal import about


class NotesConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    folder: Annotated[str, about("Where the notes are.")]


class NotesAdapter(Adapter):
    config = NotesConfig

    def __init__(self, config: NotesConfig, services: AdapterServices) -> None:
        super().__init__(config, services)
        self._folder = Path(config.folder)

    async def state(self, context: Context, entities: Sequence[Entity]) -> Mapping[Entity, Standing]:
        found = {entity: self._state(entity) for entity in entities}
        return {entity: Standing(state) for entity, state in found.items() if state is not None}

    async def apply(self, context: Context, change: ContentChange) -> Applied:
        before, after = self._state(change.entity), AFTER[change.action]
        if before is None:
            raise NotPossible(f"there is no {change.entity}")
        if before != after:
            self._file(change.entity, before).rename(self._file(change.entity, after))
        return Applied(
            effect="no_op" if before == after else "changed", state_before=before, state_after=after
        )

    async def close(self) -> None:
        """Nothing was opened."""

    def _file(self, entity: Entity, state: EntityState) -> Path:
        return self._folder / f"{entity.id}.{state}"

    def _state(self, entity: Entity) -> EntityState | None:
        return next((state for state in EntityState if self._file(entity, state).exists()), None)
