"""Plans that contradict each other, found when one is made."""

from __future__ import annotations

import asyncpg

from sexton.clock import iso
from sexton.content.adapters.table import adapters
from sexton.content.model import Action, Entity, EntityState, Standing
from sexton.content.plan import PlannedAction
from sexton.errors import Conflict
from sexton.model import encode_id
from sexton.postgres import locks
from sexton.postgres.transaction import Context

MOST_PLANS = 1000


class ContradictingPlans(Conflict):
    """It clashes with another plan: `schedule_id` is that one, if there is one."""

    def __init__(self, message: str, schedule_id: str | None = None) -> None:
        super().__init__("content_conflict", message, hint='plan it all the same with "force": true')
        self.schedule_id = schedule_id

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "schedule_id": self.schedule_id}


async def hold_entity(context: Context, entity: Entity) -> None:
    """Until the end of the transaction, no other plan for the entity is made."""
    await context.fetchval(
        "content/hold_entity",
        seed=locks.CONTENT_ENTITY_SEED,
        entity=f"{context.namespace}/{entity}",
    )


async def check_conflicts(context: Context, plan: PlannedAction, *, besides: int | None = None) -> None:
    """Refuse a plan that contradicts the others for its entity; `besides` is the action that it replaces."""
    rows = await context.fetch(
        "content/list_pending",
        namespace=context.namespace,
        entity_type=plan.entity.type,
        entity_id=plan.entity.id,
        limit=MOST_PLANS,
    )
    others = [row for row in rows if row["id"] != besides and row["window_id"] != (besides or -1)]
    at = plan.moment.at
    for row in others:
        if row["at"] == at:
            raise _contradiction(row, f"{row['action']} of {plan.entity} is planned for the same instant")
        if row["at"] < at and row["action"] == Action.ARCHIVE and plan.action != Action.ARCHIVE:
            raise _contradiction(row, f"{plan.entity} is to be archived before, {iso(row['at'])}")
        if plan.action == Action.ARCHIVE and row["at"] > at and row["action"] != Action.ARCHIVE:
            raise _contradiction(
                row, f"{row['action']} of {plan.entity} is planned after it, {iso(row['at'])}"
            )
    if plan.action == Action.UNPUBLISH:
        before = [row for row in others if row["at"] < at]
        if not any(row["action"] == Action.PUBLISH for row in before):
            standing = await _standing(context, plan)
            if standing is not None and standing.state != EntityState.PUBLISHED:
                raise ContradictingPlans(
                    f"{plan.entity} is not published, and no publication is planned before {iso(at)}"
                )


async def _standing(context: Context, plan: PlannedAction) -> Standing | None:
    """How an entity of PostgreSQL is; others would have to be asked over the network."""
    adapter = adapters()[plan.adapter]
    if not adapter.transactional:
        return None
    return (await adapter().state(context, [plan.entity])).get(plan.entity)


def _contradiction(row: asyncpg.Record, message: str) -> ContradictingPlans:
    schedule_id = encode_id("c", row["id"])
    return ContradictingPlans(f"{message} ({schedule_id})", schedule_id)
