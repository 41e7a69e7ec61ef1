"""Problems of a plan that are known when it is made.

They do not refuse the plan: what is missing may come before its time.

Only `builtin` is asked: its entities are in this database, so it answers in the transaction of the plan. Any
other adapter is asked over the network, for which no transaction may wait; releases ask it after theirs.
"""

from __future__ import annotations

import msgspec

from sexton.content.adapters.builtin import BuiltinAdapter
from sexton.content.model import ContentChange
from sexton.content.plan import PlannedAction
from sexton.content.read import ScheduleView
from sexton.postgres.transaction import Context

BUILTIN = "builtin"


async def warned(context: Context, plan: PlannedAction, made: ScheduleView) -> ScheduleView:
    """The view of a plan that was made, with why it would fail if nothing changes."""
    if plan.adapter != BUILTIN:
        return made
    change = ContentChange(
        namespace=context.namespace,
        entity=plan.entity,
        action=plan.action,
        version=plan.version,
        key="",
        scheduled_at=plan.moment.at,
        actor=plan.created_by,
    )
    found = await BuiltinAdapter().check(context, [change])
    return msgspec.structs.replace(made, warnings=[each.message for each in found])
