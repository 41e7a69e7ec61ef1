"""The target, as JSON, that receives all dead letters of a namespace."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.postgres.setting import set_setting
from sexton.postgres.transaction import Context

NAME = "dead_letter_target"


async def dead_letter_target(context: Context) -> dict[str, Any] | None:
    value = await context.fetchval("cluster/get_setting", name=f"{NAME}/{context.namespace}")
    return None if value is None else msgspec.json.decode(value, type=dict[str, Any] | None)


async def set_dead_letter_target(context: Context, target: dict[str, Any] | None) -> None:
    """Set the target for the letters of runs that die from now on."""
    namespace = context.namespace
    await set_setting(context, f"{NAME}/{namespace}", target, namespace=namespace, called=NAME)
