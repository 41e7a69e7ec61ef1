"""Finds plans that contradict each other when one is created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sexton.clock import iso
from sexton.content.adapters.table import make_plain
from sexton.content.calendar.timeline import coming, times_of
from sexton.content.model import RELEASE, Action, Entity, EntityState, Standing
from sexton.content.plan import PlannedAction
from sexton.errors import Conflict
from sexton.model import encode_id
from sexton.postgres import locks
from sexton.postgres.transaction import Context


class ContradictingPlans(Conflict):
    """The plan contradicts another plan, or the state of the entity. `schedule_id` is the other plan."""

    def __init__(self, message: str, schedule_id: str | None = None) -> None:
        super().__init__("content_conflict", message, hint='to plan it anyway, give "force": true')
        self.schedule_id = schedule_id

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "schedule_id": self.schedule_id}


async def hold_entity(context: Context, entity: Entity) -> None:
    """Lock the plans for an entity until the end of the transaction."""
    await hold_entities(context, [entity])


async def hold_entities(context: Context, entities: Sequence[Entity]) -> None:
    """The same for many entities, in a fixed order, so that two transactions cannot deadlock."""
    await context.fetch(
        "content/hold_entities",
        seed=locks.CONTENT_ENTITY_SEED,
        entities=[f"{context.namespace}/{entity}" for entity in entities],
    )


async def check_conflicts(
    context: Context,
    plan: PlannedAction,
    *,
    besides: int | None = None,
    release: int | None = None,
    also: Sequence[tuple[datetime, Action]] = (),
) -> None:
    """Refuse a plan that contradicts other plans for its entity. It replaces the action `besides` or the
    release `release`; `also` are further times and actions of it. Series are expanded for a year."""
    others = await coming(context, plan.entity, besides=besides, release=release)
    times = [*times_of(plan, await context.time()), *also]
    if needs_publication(plan, others, times):
        refuse_unpublished(plan, await _standing(context, plan))


def needs_publication(
    plan: PlannedAction,
    others: Sequence[Mapping[str, Any]],
    times: Sequence[tuple[datetime, Action]] | None = None,
) -> bool:
    """Whether the plan is valid only if the entity is published now. Raises `ContradictingPlans` if one of
    the `others`, each with `id`, `action` and `at`, contradicts the plan at its `times`; the default is its
    own time."""
    entity, times = plan.entity, [(plan.moment.at, plan.action)] if times is None else times
    by_instant = {row["at"]: row for row in others}
    archived = min((row["at"] for row in others if row["action"] == Action.ARCHIVE), default=None)
    for at, action in times:
        if (row := by_instant.get(at)) is not None:
            raise contradiction(row, f"{row['action']} of {entity} is planned for the same instant")
        if action != Action.ARCHIVE:
            if archived is not None and archived < at:
                raise contradiction(
                    by_instant[archived], f"{entity} is to be archived before, {iso(archived)}"
                )
            continue
        later = (row for row in others if row["at"] > at and row["action"] != Action.ARCHIVE)
        if (after := next(later, None)) is not None:
            raise contradiction(
                after, f"{after['action']} of {entity} is planned after it, {iso(after['at'])}"
            )
    ends = [at for at, action in times if action == Action.UNPUBLISH]
    starts = [at for at, action in times if action == Action.PUBLISH]
    starts += [row["at"] for row in others if row["action"] == Action.PUBLISH]
    return bool(ends) and min(starts, default=max(ends)) >= min(ends)


def refuse_unpublished(plan: PlannedAction, standing: Standing | None) -> None:
    """Refuse to unpublish an entity that is known not to be published."""
    if standing is not None and standing.state != EntityState.PUBLISHED:
        raise ContradictingPlans(
            f"{plan.entity} is not published, and no publication is planned before {iso(plan.moment.at)}"
        )


async def _standing(context: Context, plan: PlannedAction) -> Standing | None:
    """The state of an entity in PostgreSQL; None for other adapters, which would need the network."""
    adapter = make_plain(plan.adapter)
    if adapter is None or not adapter.transactional:
        return None
    return (await adapter.state(context, [plan.entity])).get(plan.entity)


def contradiction(row: Mapping[str, Any], message: str) -> ContradictingPlans:
    """The error for a plan that contradicts `row`. In an import the other plan may be a line."""
    if (line := row.get("line")) is not None:
        return ContradictingPlans(f"{message} (line {line})")
    schedule_id = encode_id("c", row["id"])
    within = f" of {encode_id(RELEASE, row['release_id'])}" if row.get("release_id") else ""
    return ContradictingPlans(f"{message} ({schedule_id}{within})", schedule_id)
