"""Plans that contradict each other, found when one is made."""

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
    """It clashes with another plan: `schedule_id` is that one, if there is one."""

    def __init__(self, message: str, schedule_id: str | None = None) -> None:
        super().__init__("content_conflict", message, hint='plan it all the same with "force": true')
        self.schedule_id = schedule_id

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "schedule_id": self.schedule_id}


async def hold_entity(context: Context, entity: Entity) -> None:
    """Until the end of the transaction, no other plan for the entity is made."""
    await hold_entities(context, [entity])


async def hold_entities(context: Context, entities: Sequence[Entity]) -> None:
    """The same for many, always in one order, so that no two wait for each other."""
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
    """Refuse a plan that contradicts the others for its entity. `besides` is the action, `release` the
    release that it replaces; `also` is what it does beside its own times. Series are followed for a year."""
    others = await coming(context, plan.entity, besides=besides, release=release)
    times = [*times_of(plan, await context.time()), *also]
    if needs_publication(plan, others, times):
        refuse_unpublished(plan, await _standing(context, plan))


def needs_publication(
    plan: PlannedAction,
    others: Sequence[Mapping[str, Any]],
    times: Sequence[tuple[datetime, Action]] | None = None,
) -> bool:
    """Whether an entity has to be published now for a plan to make sense; raises `ContradictingPlans` if one
    of the `others`, each with `id`, `action` and `at`, contradicts what it does at its `times`: once, if they
    are not given."""
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
    """An entity that is known not to be published cannot be unpublished."""
    if standing is not None and standing.state != EntityState.PUBLISHED:
        raise ContradictingPlans(
            f"{plan.entity} is not published, and no publication is planned before {iso(plan.moment.at)}"
        )


async def _standing(context: Context, plan: PlannedAction) -> Standing | None:
    """How an entity of PostgreSQL is; others would have to be asked over the network."""
    adapter = make_plain(plan.adapter)
    if adapter is None or not adapter.transactional:
        return None
    return (await adapter.state(context, [plan.entity])).get(plan.entity)


def contradiction(row: Mapping[str, Any], message: str) -> ContradictingPlans:
    """An import names the line of the other plan, if that is not made yet."""
    if (line := row.get("line")) is not None:
        return ContradictingPlans(f"{message} (line {line})")
    schedule_id = encode_id("c", row["id"])
    within = f" of {encode_id(RELEASE, row['release_id'])}" if row.get("release_id") else ""
    return ContradictingPlans(f"{message} ({schedule_id}{within})", schedule_id)
