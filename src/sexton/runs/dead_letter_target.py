"""Where all dead letters of a namespace go beside their table."""

from __future__ import annotations

import msgspec

from sexton.postgres.transaction import Context
from sexton.targets.spec import Target

NAME = "dead_letter_target/"


async def dead_letter_target(context: Context) -> Target | None:
    value = await context.fetchval("cluster/get_setting", name=NAME + context.namespace)
    return None if value is None else msgspec.json.decode(value, type=Target | None)


async def set_dead_letter_target(context: Context, target: Target | None) -> None:
    """For the letters of runs that die from now on."""
    value = msgspec.json.encode(target).decode()
    await context.execute("cluster/set_setting", name=NAME + context.namespace, value=value)
