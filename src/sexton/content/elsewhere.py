"""The states of entities outside of `builtin`: asks their adapters, a few at a time, with a time limit.

A site that does not answer does not block the others: its entities are shown with an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec

from sexton.config import Settings
from sexton.content.adapters.base import Adapter
from sexton.content.model import Entity, EntityState
from sexton.postgres.transaction import Context
from sexton.refusal import about
from sexton.targets.run import describe

#: How long all questions of one call may take together.
SECONDS = 10.0
AT_A_TIME = 8
NEWLINE = "\n"


class EntityStanding(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an entity in the system that stores it."""

    adapter: Annotated[str, about("Where it lives.")]
    state: Annotated[
        EntityState | None, about("draft, published, unpublished or archived; null: see `error`.")
    ] = None
    published_version: Annotated[int | None, about("The version that is out, if that is known.")] = None
    latest_version: Annotated[int | None, about("The latest version, if that is known.")] = None
    error: Annotated[str | None, about("Why its state is not known.")] = None


async def ask_standings(
    context: Context, settings: Settings, asked: Sequence[tuple[str, Entity]]
) -> list[EntityStanding]:
    """The state of each entity by the adapter before it, in the same order. Holds no database connection."""
    if not asked:
        return []
    # Import HTTP clients only when they are needed.
    from sexton.content.adapters.opened import opened_adapters

    slots = asyncio.Semaphore(AT_A_TIME)
    async with opened_adapters(context.database, settings) as opened:
        mask = opened.services.secrets.mask
        found: dict[str, Adapter | str] = {}
        for name in {name for name, _ in asked}:
            try:
                found[name] = await opened.get(context, name)
            except Exception as error:
                found[name] = _unknown(name, mask(describe(error)))

        async def ask(name: str, entity: Entity) -> EntityStanding:
            adapter = found[name]
            if isinstance(adapter, str):
                return EntityStanding(adapter=name, error=adapter)
            try:
                async with slots:
                    return await _ask(context, adapter, name, entity)
            except Exception as error:
                return EntityStanding(adapter=name, error=_unknown(name, mask(describe(error))))

        tasks = [asyncio.create_task(ask(*each)) for each in asked]
        try:
            await asyncio.wait(tasks, timeout=SECONDS)
            late = f"did not answer within {SECONDS:g} seconds"
            return [
                task.result() if task.done() else EntityStanding(adapter=name, error=f"{name} {late}")
                for task, (name, _) in zip(tasks, asked, strict=True)
            ]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(context: Context, adapter: Adapter, name: str, entity: Entity) -> EntityStanding:
    standing = (await adapter.state(context, [entity])).get(entity)
    if standing is None:
        return EntityStanding(adapter=name, error=f"there is no {entity}")
    return EntityStanding(
        adapter=name,
        state=standing.state,
        published_version=standing.published_version,
        latest_version=standing.latest_version,
    )


def _unknown(name: str, why: str) -> str:
    return f"{name} cannot be reached: {why.partition(NEWLINE)[0]}"
