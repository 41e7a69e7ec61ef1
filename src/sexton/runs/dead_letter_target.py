"""Where all dead letters of a namespace go beside their table."""

from __future__ import annotations

import msgspec

from sexton.postgres.database import Database
from sexton.targets.spec import Target

NAME = "dead_letter_target/"


async def dead_letter_target(database: Database, *, namespace: str = "default") -> Target | None:
    row = await database.fetchrow("get_setting", NAME + namespace)
    return None if row is None else msgspec.json.decode(row["value"], type=Target | None)


async def set_dead_letter_target(
    database: Database, target: Target | None, *, namespace: str = "default"
) -> None:
    """For the letters of runs that die from now on."""
    await database.fetch("set_setting", NAME + namespace, msgspec.json.encode(target).decode())
